//! The stored programs of a session: those that it has compiled, with their plans, and those that are at work.
//!
//! Must never do: run one.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::lock::Mutex;
use engine::{ObjectDef, ObjectKind};
use types::{DataType, Value};

use super::prepared::Planned;
use super::routine_def::RoutineDef;
use sql_access::{AccountId, SecurityContext};
use sql_expr::memory::Charge;
use sql_expr::{Expr, ExprType};
use sql_parser::ast::ParamMode;
use sql_program::code::Program;

/// Programs that a session keeps compiled (MySQL's `stored_program_cache`).
const KEPT: usize = 256;

/// A parameter.
#[derive(Debug)]
pub(crate) struct Param {
    /// Which way it goes.
    pub mode: ParamMode,
    /// Its name.
    pub name: String,
}

/// An expression that was bound, and the number of the settings that it was bound under.
pub(crate) type BoundUnder = (u64, Arc<Expr>);

/// A program that is ready to run.
pub(crate) struct Loaded {
    /// What it was made of.
    pub object: Arc<ObjectDef>,
    /// What that says.
    pub def: RoutineDef,
    /// The code.
    pub program: Program,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The types of its variables; `None`: that of the value it has.
    pub types: Vec<Option<DataType>>,
    /// The same for those that bind its expressions, by place.
    pub expr_types: Arc<[(u32, ExprType)]>,
    /// Its expressions, bound.
    pub bound: Mutex<Vec<Option<BoundUnder>>>,
    /// The plans of its statements, and behind them of its cursors.
    pub plans: Mutex<Vec<Option<Planned>>>,
    /// The number of the settings that it runs under, by those that it is called under.
    pub settings: Mutex<Option<(u64, u64)>>,
    /// What its definer may do, by the version of the accounts.
    pub rights: Mutex<Option<(u64, Arc<SecurityContext>)>>,
    /// What it takes.
    #[expect(dead_code, reason = "held as long as the program is kept")]
    pub charge: Charge,
}

impl Loaded {
    /// `schema.name`, as errors name it.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.object.schema, self.def.name)
    }
}

/// Names of a program: its kind, schema and name.
type Key = (ObjectKind, String, String);

/// Stored programs of a session.
#[derive(Default)]
pub(crate) struct Programs {
    kept: BTreeMap<Key, Arc<Loaded>>,
    /// Those at work, the innermost last.
    pub running: Vec<Arc<Loaded>>,
    /// Types of the parameters of the statement at hand, where it is a program's: those of its variables.
    pub types: Arc<[(u32, ExprType)]>,
    /// For whom the program at work runs, where that is not the session's account.
    pub definer: Option<AccountId>,
    /// How many numbers of settings programs have got.
    pub numbers: u64,
    /// What a CALL has given to parameters of the statement that it is.
    pub given: Vec<Given>,
    /// The text of the statement at hand, where that makes a program.
    pub text: Option<Arc<[u8]>>,
}

/// What a procedure gives back for a parameter of its CALL.
pub(crate) struct Given {
    /// The statement's parameter.
    pub place: u32,
    /// The procedure's name for it.
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// The value.
    pub value: Value,
}

impl Programs {
    /// Forgets what is compiled.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.given.clear();
    }

    /// Whether one is at work.
    #[inline]
    pub fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// A program that is compiled, of that very definition.
    pub fn get(&self, object: &Arc<ObjectDef>) -> Option<Arc<Loaded>> {
        let key = (object.kind, object.schema.clone(), object.name.clone());
        let kept = self.kept.get(&key)?;
        Arc::ptr_eq(&kept.object, object).then(|| Arc::clone(kept))
    }

    /// Keeps a program.
    pub fn keep(&mut self, loaded: &Arc<Loaded>) {
        if self.kept.len() >= KEPT {
            self.kept.clear();
        }
        let o = &loaded.object;
        let key = (o.kind, o.schema.clone(), o.name.clone());
        self.kept.insert(key, Arc::clone(loaded));
    }

    /// How often a program is at work.
    pub fn depth_of(&self, loaded: &Loaded) -> usize {
        let o = &loaded.object;
        let same = |l: &&Arc<Loaded>| {
            l.object.kind == o.kind && l.object.schema == o.schema && l.object.name == o.name
        };
        self.running.iter().filter(same).count()
    }
}
