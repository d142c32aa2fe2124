//! Records of a log that was torn or damaged: taken apart without their checksum's protection.

#![no_main]

use base::Lsn;
use engine::record::Undo;
use libfuzzer_sys::fuzz_target;
use pager::Record;

fuzz_target!(|data: &[u8]| {
    if let Some(r) = Record::verify(data, Lsn(4096)) {
        r.ops().for_each(drop);
    }
    if let Some(r) = Record::parse(data) {
        let mut payload = 0;
        for op in r.ops() {
            payload += op.payload.len();
        }
        assert!(payload + r.undo().len() <= data.len());
        let _ = Undo::decode(r.undo());
    }
    let _ = Undo::decode(data);
});
