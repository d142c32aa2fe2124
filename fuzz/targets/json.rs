//! Texts of JSON documents, and paths into them: what is read is written, and read again as the same; its key does not depend on how it is written; a
//! path leads to the same values in the text and in the tree.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sql_expr::json::{check, parse, paths_agree};
use types::json::write_order_key;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    // A path in front, where there is one.
    let (path, text) = text.split_once('\n').unwrap_or(("$**.*", &text));
    let read = parse(text);
    assert_eq!(check(text, false).is_ok(), read.is_ok(), "{text}");
    let Ok(doc) = read else {
        // What is no document has a key too.
        write_order_key(text.as_bytes(), &mut Vec::new());
        return;
    };
    let mut written = Vec::new();
    doc.write(&mut written).expect("a buffer without a limit");
    let written = String::from_utf8(written).expect("text");
    let again = parse(&written).expect("what was written");
    let mut twice = Vec::new();
    again.write(&mut twice).expect("a buffer without a limit");
    assert_eq!(written.as_bytes(), twice, "{text}");
    assert!(check(&written, true).is_ok(), "{written}");
    let (mut key, mut same) = (Vec::new(), Vec::new());
    write_order_key(written.as_bytes(), &mut key);
    write_order_key(&twice, &mut same);
    assert_eq!(key, same);
    assert!(paths_agree(text, false, path), "{path} {text}");
    assert!(paths_agree(&written, true, path), "{path} {written}");
});
