//! What a client sends after its login: packets in pieces of any size, and the commands in them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::Decoder;
use wire::command::Command;
use wire::param::{LongData, ParamTypes};

fuzz_target!(|data: &[u8]| {
    let Some((&[pieces, flags, count], bytes)) = data.split_first_chunk() else {
        return;
    };
    let capabilities = match flags & 1 {
        0 => wire::capability::SERVER,
        _ => wire::capability::SERVER & !wire::capability::QUERY_ATTRIBUTES,
    };
    let mut decoder = Decoder::new(1 << 16);
    let mut types = ParamTypes::default();
    let mut long = LongData::default();
    for piece in bytes.chunks(usize::from(pieces).max(1)) {
        decoder.feed(piece);
        loop {
            decoder.expect_command();
            let Ok(Some(packet)) = decoder.next_packet() else {
                break;
            };
            match Command::parse(packet, capabilities) {
                Ok(Command::StmtExecute(execute)) => {
                    let bound = types.bind(&execute, u16::from(count), &long, capabilities);
                    if let Ok(params) = bound {
                        params.for_each(drop);
                    }
                }
                Ok(Command::StmtSendLongData { param, data, .. }) => {
                    long.append(param, data, u16::from(count), 1 << 16)
                }
                Ok(Command::Query { attributes, .. }) => attributes.iter().for_each(drop),
                _ => {}
            }
        }
    }
});
