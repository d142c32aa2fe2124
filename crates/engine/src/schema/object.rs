//! Stored objects that have no rows of their own: views and stored programs. What they mean is for whoever keeps them to say; here they are names and bytes.

use super::codec::{In, Out};
use crate::table_lock::{Announced, TableLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Version of the form on disk. A reader refuses a higher one.
const VERSION: u8 = 1;

/// What kind of object it is. A number stands for each on disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ObjectKind {
    /// A view: one name space with tables.
    View = 1,
    /// A procedure.
    Procedure = 2,
    /// A function.
    Function = 3,
}

impl ObjectKind {
    fn of_number(n: u8) -> Option<ObjectKind> {
        match n {
            1 => Some(ObjectKind::View),
            2 => Some(ObjectKind::Procedure),
            3 => Some(ObjectKind::Function),
            _ => None,
        }
    }
}

/// An object as the catalog keeps it.
#[derive(Clone, Debug)]
pub struct ObjectDef {
    /// What it is.
    pub kind: ObjectKind,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// What it means, in the form of whoever made it.
    pub body: Vec<u8>,
    state: ObjectState,
}

/// Who uses an object: what of it is no part of its definition.
#[derive(Clone, Default)]
struct ObjectState {
    /// Stays with it under all its definitions.
    lock: Arc<TableLock>,
    /// A newer definition took its place, or it was dropped.
    retired: Arc<AtomicBool>,
}

impl std::fmt::Debug for ObjectState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "lock {}", self.lock.number())
    }
}

impl PartialEq for ObjectDef {
    fn eq(&self, o: &ObjectDef) -> bool {
        (self.kind, &self.schema, &self.name, &self.body) == (o.kind, &o.schema, &o.name, &o.body)
    }
}

impl Eq for ObjectDef {}

impl ObjectDef {
    /// An object that nobody uses yet.
    pub fn new(kind: ObjectKind, schema: &str, name: &str, body: Vec<u8>) -> ObjectDef {
        ObjectDef {
            kind,
            schema: schema.to_owned(),
            name: name.to_owned(),
            body,
            state: ObjectState::default(),
        }
    }

    /// Tells its lock from others, those of tables included.
    pub fn lock_number(&self) -> u64 {
        self.state.lock.number()
    }

    /// Who changes its definition, by what they hold locks as.
    pub fn lock_holders(&self) -> Vec<(u64, crate::table_lock::TableLockMode)> {
        self.state.lock.holders()
    }

    pub(crate) fn lock(&self) -> &Arc<TableLock> {
        &self.state.lock
    }

    /// Takes the place of `old`: who waits for that one waits for this one.
    pub(crate) fn locked_as(&mut self, old: &ObjectDef) {
        self.state = ObjectState {
            lock: old.state.lock.clone(),
            retired: Arc::default(),
        };
    }

    /// Nobody is to use it any more.
    pub(crate) fn retire(&self) {
        self.state.retired.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.state.retired.load(Ordering::SeqCst)
    }

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
        let kind = ObjectKind::of_number(i.u8()?)?;
        let (schema, name) = (i.str()?, i.str()?);
        Some(ObjectDef::new(kind, &schema, &name, i.bytes()?.to_vec()))
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

/// Holds a view's definition until this is dropped.
pub(crate) struct ViewUse {
    pub(crate) view: Arc<ObjectDef>,
    counted: Announced,
}

impl ViewUse {
    /// Announces a use. The caller asks the view's lock afterwards and gives it back if that does not admit it.
    pub(crate) fn announce(view: &Arc<ObjectDef>) -> ViewUse {
        ViewUse {
            counted: view.lock().announce(false),
            view: view.clone(),
        }
    }
}

impl Drop for ViewUse {
    fn drop(&mut self) {
        self.view.lock().leave(self.counted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let o = ObjectDef::new(ObjectKind::View, "s", "v", vec![0, 1, 255]);
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
