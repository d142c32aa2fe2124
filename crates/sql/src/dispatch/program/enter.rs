//! The settings and the rights that a program runs with: those of its making and of its definer, and the session's again afterwards.
//!
//! Source: MySQL 8.0's manual, "CREATE PROCEDURE and CREATE FUNCTION Statements", "Stored Object Access Control".

use std::sync::Arc;

use types::SqlError;

use crate::context::Session;
use crate::context::programs::Loaded;
use sql_access::context::no_such_definer;
use sql_access::{AccountId, SecurityContext};
use sql_expr::ExprType;
use sql_expr::vars::{self, Kept, VarInput};

/// What of a session is put back when a program has run.
pub(super) struct Entered {
    vars: Option<Kept>,
    database: Option<Option<String>>,
    /// The number of the settings outside, and of those inside.
    settings: (u64, u64),
    rights: Option<Rights>,
    types: Arc<[(u32, ExprType)]>,
}

/// Whose rights the session had.
struct Rights {
    security: Arc<SecurityContext>,
    seen: u64,
    definer: Option<AccountId>,
    user: String,
    roles: Vec<AccountId>,
    role: String,
}

/// Settings that programs have got are numbered from here on, far above those of sessions.
const INSIDE: u64 = 1 << 63;
/// Room between two of them for what a program sets itself.
const APART: u64 = 1 << 24;

impl Session {
    /// A program is about to run.
    ///
    /// # Errors
    /// 1449: its definer is gone.
    pub(super) fn enter_program(&mut self, loaded: &Arc<Loaded>) -> Result<Entered, SqlError> {
        let rights = self.take_rights(loaded)?;
        let vars = self.take_settings(loaded);
        let own = Some(loaded.object.schema.clone());
        let database = (self.facts.database != own).then(|| {
            self.process.set_db(own.as_deref());
            std::mem::replace(&mut self.facts.database, own)
        });
        let outside = self.settings;
        let inside = match vars.is_some() || database.is_some() {
            true => self.number_inside(loaded, outside),
            false => outside,
        };
        self.settings = inside;
        self.programs.running.push(Arc::clone(loaded));
        let types = Arc::clone(&loaded.expr_types);
        let types = std::mem::replace(&mut self.programs.types, types);
        Ok(Entered {
            vars,
            database,
            settings: (outside, inside),
            rights,
            types,
        })
    }

    /// The number of the settings that a program runs under: the same each time that it is called under the same ones.
    fn number_inside(&mut self, loaded: &Loaded, outside: u64) -> u64 {
        let mut known = loaded.settings.lock();
        match *known {
            Some((o, inside)) if o == outside => inside,
            _ => {
                self.programs.numbers += 1;
                let inside = INSIDE + self.programs.numbers.wrapping_mul(APART) % INSIDE;
                *known = Some((outside, inside));
                inside
            }
        }
    }

    /// Sets what the program was made under; `None` where that is what there is.
    fn take_settings(&mut self, loaded: &Loaded) -> Option<Kept> {
        let def = &loaded.def;
        let hot = self.vars.hot();
        let same = hot.sql_mode.bits() == def.sql_mode
            && *self.vars.text("character_set_client") == *def.charset
            && *self.vars.text("collation_connection") == *def.collation;
        if same {
            return None;
        }
        let mut kept = Kept::default();
        let texts = |t: &str| VarInput::Text(t.to_owned());
        for (name, value) in [
            ("sql_mode", VarInput::Uint(def.sql_mode)),
            ("character_set_client", texts(&def.charset)),
            ("collation_connection", texts(&def.collation)),
        ] {
            let Some(id) = vars::lookup(name) else {
                continue;
            };
            self.vars.keep(id, &mut kept);
            // They were valid when the program was made; what no longer is stays as it is.
            let _ = self.set_session_variable(name, &value);
        }
        Some(kept)
    }

    /// The program has its definer's rights from here on, unless it is to have those of who calls it.
    fn take_rights(&mut self, loaded: &Loaded) -> Result<Option<Rights>, SqlError> {
        let definer = &loaded.def.definer;
        if loaded.def.invoker {
            return Ok(None);
        }
        if self.instance.accounts.snapshot().find(definer).is_none() {
            return Err(no_such_definer(definer));
        }
        // Whoever holds the data directory may do everything.
        if self.security.is_server() || *self.security.account() == *definer {
            return Ok(None);
        }
        let version = self.instance.accounts.version();
        let known = loaded.rights.lock().clone();
        let made = match known {
            Some((v, made)) if v == version => made,
            _ => {
                let made = self.rights_of(definer);
                *loaded.rights.lock() = Some((version, Arc::clone(&made)));
                made
            }
        };
        let seen = self.accounts_seen;
        self.accounts_seen = version;
        let roles: Vec<String> = made.roles().iter().map(AccountId::ticked).collect();
        Ok(Some(Rights {
            security: std::mem::replace(&mut self.security, made),
            seen,
            definer: self.programs.definer.replace(definer.clone()),
            user: std::mem::replace(&mut self.facts.current_user, definer.plain()),
            roles: self.roles.clone(),
            role: std::mem::replace(&mut self.facts.current_role, roles.join(",")),
        }))
    }

    /// A program has run.
    pub(super) fn leave_program(&mut self, entered: Entered) {
        self.programs.running.pop();
        self.programs.types = entered.types;
        let (outside, inside) = entered.settings;
        if let Some(kept) = entered.vars {
            self.vars.put_back(kept);
            self.obey_variables();
        }
        if let Some(before) = entered.database {
            let there = before.filter(|name| self.find_schema(name).is_ok());
            self.process.set_db(there.as_deref());
            self.facts.database = there;
        }
        // What the program has set beside is set.
        self.settings = match self.settings == inside {
            true => outside,
            false => outside + 1,
        };
        if let Some(r) = entered.rights {
            self.security = r.security;
            self.accounts_seen = r.seen;
            self.programs.definer = r.definer;
            self.facts.current_user = r.user;
            self.roles = r.roles;
            self.facts.current_role = r.role;
            self.secure();
        }
    }
}
