//! Stored objects that have no rows of their own: views. What they mean is for whoever keeps them to say; here they are names and bytes.

use super::codec::{In, Out};

/// Version of the form on disk. A reader refuses a higher one.
const VERSION: u8 = 1;

/// What kind of object it is. A number stands for each on disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ObjectKind {
    /// A view: one name space with tables.
    View = 1,
}

impl ObjectKind {
    fn of_number(n: u8) -> Option<ObjectKind> {
        match n {
            1 => Some(ObjectKind::View),
            _ => None,
        }
    }
}

/// An object as the catalog keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectDef {
    /// What it is.
    pub kind: ObjectKind,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// What it means, in the form of whoever made it.
    pub body: Vec<u8>,
}

impl ObjectDef {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut o = Out(vec![VERSION, self.kind as u8]);
        o.str(&self.schema);
        o.str(&self.name);
        o.bytes(&self.body);
        o.0
    }

    /// From bytes; `None` if they are none.
    pub fn decode(b: &[u8]) -> Option<ObjectDef> {
        let mut i = In(b);
        if i.u8()? > VERSION {
            return None;
        }
        Some(ObjectDef {
            kind: ObjectKind::of_number(i.u8()?)?,
            schema: i.str()?,
            name: i.str()?,
            body: i.bytes()?.to_vec(),
        })
    }

    /// By what the catalog finds it.
    pub(crate) fn key(&self) -> Vec<u8> {
        // No name has a NUL.
        let mut key = vec![self.kind as u8];
        key.extend_from_slice(self.schema.as_bytes());
        key.push(0);
        key.extend_from_slice(self.name.as_bytes());
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let o = ObjectDef {
            kind: ObjectKind::View,
            schema: "s".to_owned(),
            name: "v".to_owned(),
            body: vec![0, 1, 255],
        };
        let bytes = o.encode();
        assert_eq!(ObjectDef::decode(&bytes), Some(o));
        assert_eq!(ObjectDef::decode(&bytes[..bytes.len() - 1]), None);
        let mut later = bytes.clone();
        later[0] = VERSION + 1;
        assert_eq!(ObjectDef::decode(&later), None);
        let mut other = bytes;
        other[1] = 200;
        assert_eq!(ObjectDef::decode(&other), None);
    }
}
