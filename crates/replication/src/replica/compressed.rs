//! The compressed events of MariaDB (`log_bin_compress`): each is the event of the same statement or rows, of which the last part is compressed. What an
//! event says of its size is not believed: it is no larger than the limit, and what comes out is as long as was said, or the event is damaged.
//!
//! ```text
//! 0x80 | algorithm << 4 | n   n bytes: the length, highest first   the bytes, compressed
//! ```
//!
//! Source: the MariaDB knowledge base, "Compressing Events to Reduce Size of the Binary Log", and MariaDB's `sql/log_event.cc`.

use std::borrow::Cow;
use std::io::Read;

use flate2::bufread::ZlibDecoder;
use wire::ProtocolError;
use wire::binlog::header::kind;
use wire::binlog::query::Query;
use wire::binlog::rows::{Change, Rows};
use wire::read::Reader;

/// The kind of the event that a compressed one stands for; `None`: it is not compressed.
const fn stands_for(of: u8) -> Option<u8> {
    Some(match of {
        kind::MARIA_QUERY_COMPRESSED => kind::QUERY,
        kind::MARIA_WRITE_ROWS_COMPRESSED_V1 => kind::WRITE_ROWS_V1,
        kind::MARIA_UPDATE_ROWS_COMPRESSED_V1 => kind::UPDATE_ROWS_V1,
        kind::MARIA_DELETE_ROWS_COMPRESSED_V1 => kind::DELETE_ROWS_V1,
        kind::MARIA_WRITE_ROWS_COMPRESSED => kind::WRITE_ROWS,
        kind::MARIA_UPDATE_ROWS_COMPRESSED => kind::UPDATE_ROWS,
        kind::MARIA_DELETE_ROWS_COMPRESSED => kind::DELETE_ROWS,
        _ => return None,
    })
}

/// An event's kind and body; those of the event that it stands for, of at most `largest` bytes, where it is a compressed one.
///
/// # Errors
/// [`ProtocolError::Malformed`]; [`ProtocolError::PacketTooLarge`].
pub(super) fn plain(
    of: u8,
    body: &[u8],
    largest: usize,
) -> Result<(u8, Cow<'_, [u8]>), ProtocolError> {
    let Some(kind) = stands_for(of) else {
        return Ok((of, Cow::Borrowed(body)));
    };
    let packed = match Change::by_kind(kind) {
        Some((change, second)) => Rows::read(change, second, body)?.rows,
        None => Query::read(body)?.statement,
    };
    let front = &body[..body.len() - packed.len()];
    let mut out = front.to_vec();
    unpack(packed, largest.saturating_sub(front.len()), &mut out)?;
    Ok((kind, Cow::Owned(out)))
}

/// Appends what comes out. Memory is taken as it comes.
fn unpack(packed: &[u8], largest: usize, out: &mut Vec<u8>) -> Result<(), ProtocolError> {
    if packed.is_empty() {
        // The end of a statement without rows.
        return Ok(());
    }
    let mut r = Reader::new(packed);
    let about = r.u8()?;
    let digits = usize::from(about & 0x07);
    // zlib is the only algorithm that there is.
    if about & 0xF0 != 0x80 || !(1..=4).contains(&digits) {
        return Err(ProtocolError::Malformed);
    }
    let length = r.read_bytes(digits)?;
    let length = length.iter().fold(0, |n, b| n << 8 | usize::from(*b));
    if length > largest {
        return Err(ProtocolError::PacketTooLarge);
    }
    let before = out.len();
    // One byte more, to see whether it goes on.
    let mut decoder = ZlibDecoder::new(r.take_rest()).take(length as u64 + 1);
    let read = decoder.read_to_end(out);
    match read {
        Ok(_) if out.len() - before == length => Ok(()),
        _ => Err(ProtocolError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::bufread::ZlibEncoder;
    use proptest::prelude::*;
    use wire::binlog::rows::put_front;

    fn packed(length: usize, plain: &[u8]) -> Vec<u8> {
        let bytes = (length as u32).to_be_bytes();
        let zeros = bytes.iter().take_while(|b| **b == 0).count().min(3);
        let mut out = vec![0x80 | (4 - zeros) as u8];
        out.extend(&bytes[zeros..]);
        let mut encoder = ZlibEncoder::new(plain, Compression::default());
        encoder.read_to_end(&mut out).unwrap();
        out
    }

    fn query(packed: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        let q = Query {
            database: b"d",
            statement: packed,
            ..Query::default()
        };
        q.write(&mut body);
        body
    }

    #[test]
    fn what_was_compressed_comes_out() {
        for n in [0, 1, 255, 256, 70_000] {
            let text: Vec<u8> = (0..n).map(|i| i as u8).collect();
            let body = query(&packed(n, &text));
            let (kind, out) = plain(kind::MARIA_QUERY_COMPRESSED, &body, 1 << 20).unwrap();
            assert_eq!((kind, &*out), (kind::QUERY, &query(&text)[..]));
        }
        let of = [
            (kind::MARIA_WRITE_ROWS_COMPRESSED, Change::Write),
            (kind::MARIA_UPDATE_ROWS_COMPRESSED, Change::Update),
            (kind::MARIA_DELETE_ROWS_COMPRESSED, Change::Delete),
        ];
        for (kind, change) in of {
            let mut front = Vec::new();
            let after = (change == Change::Update).then_some(&[true][..]);
            put_front(4, 1, &[true], after, &mut front);
            let mut expected = front.clone();
            expected.extend([7; 300]);
            front.extend(packed(300, &[7; 300]));
            let (kind, out) = plain(kind, &front, 1 << 20).unwrap();
            assert_eq!((kind, &*out), (change.kind(), &expected[..]));
        }
        // What is not compressed stays, however large it is.
        let other = query(b"x");
        assert!(matches!(
            plain(kind::QUERY, &other, 9),
            Ok((kind::QUERY, Cow::Borrowed(_)))
        ));
    }

    #[test]
    fn what_is_larger_than_it_may_be_or_than_it_says_is_refused() {
        let zeros = vec![0; 1 << 20];
        let of = |length, largest| {
            let body = query(&packed(length, &zeros));
            plain(kind::MARIA_QUERY_COMPRESSED, &body, largest).map(|p| p.0 == kind::QUERY)
        };
        assert_eq!(of(1 << 20, 2 << 20), Ok(true));
        assert_eq!(of(1 << 20, 1 << 20), Err(ProtocolError::PacketTooLarge));
        assert_eq!(
            of(u32::MAX as usize, 1 << 30),
            Err(ProtocolError::PacketTooLarge)
        );
        // A bomb, and one that says more than it has.
        assert_eq!(of(10, 2 << 20), Err(ProtocolError::Malformed));
        assert_eq!(of((1 << 20) + 1, 2 << 20), Err(ProtocolError::Malformed));
    }

    #[test]
    fn what_is_damaged_is_refused_without_panic() {
        let whole = query(&packed(100, &[3; 100]));
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut other = whole.clone();
                other[at] ^= 1 << bit;
                let _ = plain(kind::MARIA_QUERY_COMPRESSED, &other, 1 << 20);
            }
            let cut = plain(kind::MARIA_QUERY_COMPRESSED, &whole[..at], 1 << 20);
            // Without anything behind its front it is an empty statement.
            assert!(cut.is_err() || at == whole.len() - packed(100, &[3; 100]).len());
        }
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>, kind in 165u8..172) {
            let _ = plain(kind, &bytes, 1 << 16);
        }
    }
}
