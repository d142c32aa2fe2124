//! CONVERT TO CHARACTER SET: the type that a column gets.

use types::charset::convert;
use types::datatype::{Labels, LobSize};
use types::{CollationId, DataType};

/// The type with another collation, if it is one of characters: large enough for as many of them.
pub(super) fn recoded(ty: &DataType, to: CollationId) -> DataType {
    let wider = |from: CollationId| from.charset().max_len() < to.charset().max_len();
    match ty {
        DataType::Char { chars, .. } => DataType::Char {
            chars: *chars,
            collation: to,
        },
        DataType::VarChar { chars, .. } => DataType::VarChar {
            chars: *chars,
            collation: to,
        },
        DataType::Text { size, collation } => DataType::Text {
            size: match (wider(*collation), size) {
                (true, LobSize::Tiny) => LobSize::Normal,
                (true, LobSize::Normal) => LobSize::Medium,
                (true, LobSize::Medium) => LobSize::Long,
                _ => *size,
            },
            collation: to,
        },
        DataType::Enum(l) => DataType::Enum(relabelled(l, to).into()),
        DataType::Set(l) => DataType::Set(relabelled(l, to).into()),
        other => other.clone(),
    }
}

fn relabelled(l: &Labels, to: CollationId) -> Labels {
    let name = |n: &[u8]| {
        let mut out = Vec::with_capacity(n.len());
        convert(l.collation.charset(), to.charset(), n, &mut out);
        out.into_boxed_slice()
    };
    Labels {
        names: l.names.iter().map(|n| name(n)).collect(),
        collation: to,
    }
}
