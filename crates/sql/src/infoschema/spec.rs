//! How a virtual table is written down: its columns as one line of text, and the values rows are made of.

use engine::{Catalog, ObjectDef, Schema, Table, TableDef};
use std::sync::Arc;
use types::{CollationId, DataType, IntWidth, LobSize, Value};

use crate::context::Instance;
use sql_access::needs::Right;
use sql_access::{AccountState, Priv, SecurityContext};
use sql_plan::plan::{NameSpace, VirtualColumn, VirtualCtx};
use types::temporal::Zone;

/// `utf8mb3_bin`: names of schemas and tables compare exactly.
const NAMES: CollationId = CollationId(83);

/// A virtual table.
pub(super) struct Spec {
    /// Its name.
    pub name: &'static str,
    /// Its columns: `NAME type, NAME type, ..`, see [`columns`].
    pub columns: &'static str,
    /// Makes the rows.
    pub rows: fn(&View<'_>) -> Vec<Vec<Value>>,
}

/// No rows.
pub(super) fn no_rows(_: &View<'_>) -> Vec<Vec<Value>> {
    Vec::new()
}

/// Reads a list of columns. Types: `n64` a name, `v64` other text, `m` MEDIUMTEXT, `x` LONGTEXT, `b` MEDIUMBLOB, `i` INT, `u` INT UNSIGNED,
/// `I` BIGINT, `U` BIGINT UNSIGNED, `f` DOUBLE, `t` DATETIME, `t6` with fractions, `T6` TIME; `?` behind it for nullable.
pub(super) fn columns(spec: &str) -> Vec<VirtualColumn> {
    spec.split(',')
        .filter_map(|c| c.trim().rsplit_once(' '))
        .map(|(name, ty)| {
            let nullable = ty.ends_with('?');
            let ty = ty.trim_end_matches('?');
            let n = ty[1..].parse().unwrap_or(0);
            let ci = CollationId::UTF8MB3_GENERAL_CI;
            let data_type = match &ty[..1] {
                "n" => DataType::varchar(n, NAMES),
                "v" => DataType::varchar(n, ci),
                "m" => DataType::Text {
                    size: LobSize::Medium,
                    collation: ci,
                },
                "x" => DataType::Text {
                    size: LobSize::Long,
                    collation: ci,
                },
                "b" => DataType::Blob(LobSize::Medium),
                "i" => DataType::INT,
                "u" => DataType::int(IntWidth::Int, true),
                "I" => DataType::BIGINT,
                "U" => DataType::UBIGINT,
                "f" => DataType::DOUBLE,
                "T" => DataType::Time(n as u8),
                _ => DataType::DateTime(n as u8),
            };
            VirtualColumn::new(name.trim(), data_type, nullable)
        })
        .collect()
}

/// A name.
pub(super) fn name(s: &str) -> Value {
    Value::Str(s.as_bytes().to_vec(), NAMES)
}

/// Other text.
pub(super) fn text(s: &str) -> Value {
    Value::Str(s.as_bytes().to_vec(), CollationId::UTF8MB3_GENERAL_CI)
}

/// Text or NULL.
pub(super) fn text_or_null(s: Option<&str>) -> Value {
    s.map_or(Value::Null, text)
}

/// A signed number.
pub(super) fn int(n: i64) -> Value {
    Value::Int(n)
}

/// An unsigned number.
pub(super) fn uint(n: u64) -> Value {
    Value::UInt(n)
}

/// A moment in microseconds since 1970 as local time; NULL for 0.
pub(crate) fn moment(us: i64, zone: Zone) -> Value {
    if us == 0 {
        return Value::Null;
    }
    let local = zone.local(us).map(|d| d.with_fsp(0));
    local.map_or(Value::Null, Value::DateTime)
}

/// What rows are made from.
pub(super) struct View<'a> {
    pub(super) instance: &'a Instance,
    /// The schemas that are not stored.
    pub(super) names: &'a dyn NameSpace,
    pub(super) ctx: &'a VirtualCtx<'a>,
    pub(super) connection: u64,
    /// Gives the definitions of all virtual tables.
    pub(super) definitions: fn() -> Vec<TableDef>,
}

impl<'a> View<'a> {
    pub(super) fn new(
        (instance, names): (&'a Instance, &'a dyn NameSpace),
        ctx: &'a VirtualCtx<'a>,
        connection: u64,
        definitions: fn() -> Vec<TableDef>,
    ) -> View<'a> {
        View {
            instance,
            names,
            ctx,
            connection,
            definitions,
        }
    }

    /// The session's time zone.
    pub(super) fn zone(&self) -> Zone {
        self.ctx.cx.zone
    }

    pub(super) fn catalog(&self) -> &Catalog {
        self.ctx.catalog
    }

    /// What the session may see.
    pub(super) fn security(&self) -> &SecurityContext {
        self.ctx.security
    }

    /// The accounts.
    pub(super) fn accounts(&self) -> Arc<AccountState> {
        self.instance.accounts().snapshot()
    }

    /// Whether the session sees what other accounts' sessions do.
    pub(super) fn sees_all_processes(&self) -> bool {
        self.security().has_one(&[Right::Static(Priv::Process)])
    }

    /// Whether the session sees what other accounts have been granted.
    pub(super) fn sees_all_accounts(&self) -> bool {
        self.security().on_db("mysql").has(Priv::Select)
    }

    /// Stored schemas that the session may see.
    pub(super) fn schemas(&self) -> Vec<&Arc<Schema>> {
        self.catalog()
            .schemas()
            .filter(|s| self.security().lists_db(&s.def.name))
            .collect()
    }

    /// Views that the session may see.
    pub(super) fn views(&self) -> Vec<&Arc<ObjectDef>> {
        let all = self.catalog().schemas().flat_map(|s| s.views());
        all.filter(|o| self.security().sees_table(&o.schema, &o.name))
            .collect()
    }

    /// Stored tables that the session may see.
    pub(super) fn tables(&self) -> Vec<&Arc<Table>> {
        self.catalog()
            .schemas()
            .flat_map(|s| s.tables.values())
            .filter(|t| self.security().sees_table(&t.def.schema, &t.def.name))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read() {
        let c = columns("A n64, B v10?, C U, D t6?");
        assert_eq!(c.len(), 4);
        assert_eq!(c[0].name, "A");
        assert!(!c[0].nullable && c[1].nullable);
        assert_eq!(c[2].ty, DataType::UBIGINT);
        assert_eq!(c[3].ty, DataType::DateTime(6));
    }
}
