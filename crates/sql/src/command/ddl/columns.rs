//! Columns as statements write them; those of a table that is being made, from its statement and from its query.
//!
//! Must never do: look at keys or options.

use std::collections::HashSet;

use engine::{ColumnDef, ColumnDefault, GeneratedDef};
use types::error::codes;
use types::{CollationId, DataType, SqlError, Warning};

use sql_expr::EvalCtx;
use sql_parser::ast::{self, ColumnAttr, KeyPart, KeyPartKind, TypeKind};

use super::datatype::{self, TypeCtx};
use super::identifier::{check_identifier, comment};
use super::{default, generated};

/// What a definition is made from besides the statement's own words.
pub struct DefCtx<'a, 's> {
    /// Schema of the new table.
    pub schema: &'a str,
    /// Collation of that schema.
    pub collation: CollationId,
    /// The statement's context, for defaults.
    pub cx: &'a EvalCtx<'s>,
    /// `NO_ENGINE_SUBSTITUTION` is not on.
    pub substitute_engines: bool,
    /// Warnings of the statement.
    pub warnings: Vec<Warning>,
}

/// The columns of a table, and what their definitions say beyond them.
pub(super) struct Columns {
    pub(super) columns: Vec<ColumnDef>,
    pub(super) own_keys: Vec<ast::IndexDef>,
    pub(super) explicit_null: Vec<bool>,
    pub(super) expressions: Vec<Option<ast::Expr>>,
}

impl Columns {
    /// Those that only the statement has come first, then those of the query in its order; one that both have is as the statement says.
    pub(super) fn of(
        stmt: &ast::CreateTable,
        of_query: Vec<ColumnDef>,
        collation: CollationId,
        ctx: &mut DefCtx<'_, '_>,
    ) -> Result<Columns, SqlError> {
        let mut own_keys = Vec::new();
        let mut written: Vec<BuiltColumn> = Vec::with_capacity(stmt.columns.len());
        let mut names = HashSet::with_capacity(stmt.columns.len());
        for c in &stmt.columns {
            let mut built = column(c, collation, ctx)?;
            if !names.insert(built.def.name.to_lowercase()) {
                return Err(SqlError::dup_column(&built.def.name));
            }
            own_keys.append(&mut built.keys);
            written.push(built);
        }
        let mut of_both = Vec::with_capacity(of_query.len());
        for def in of_query {
            let same = |b: &BuiltColumn| b.def.is_named(&def.name);
            let at = match names.contains(&def.name.to_lowercase()) {
                true => written.iter().position(same),
                false => None,
            };
            of_both.push(match at {
                Some(at) => written.remove(at),
                None => BuiltColumn {
                    def,
                    explicit_null: false,
                    keys: Vec::new(),
                    expression: None,
                },
            });
        }
        written.append(&mut of_both);
        let mut all = Columns {
            columns: Vec::with_capacity(written.len()),
            own_keys,
            explicit_null: Vec::with_capacity(written.len()),
            expressions: Vec::with_capacity(written.len()),
        };
        for b in written {
            all.columns.push(b.def);
            all.explicit_null.push(b.explicit_null);
            all.expressions.push(b.expression);
        }
        Ok(all)
    }
}

/// A column with what its definition says beyond it.
pub struct BuiltColumn {
    /// The column.
    pub def: ColumnDef,
    /// `NULL` was written.
    pub explicit_null: bool,
    /// Keys that its attributes ask for.
    pub keys: Vec<ast::IndexDef>,
    /// The expression of a generated column, whose definition has no text yet.
    pub expression: Option<ast::Expr>,
}

fn own_key(kind: ast::IndexKind, column: &str) -> ast::IndexDef {
    ast::IndexDef {
        kind,
        constraint: None,
        name: None,
        parts: vec![KeyPart {
            what: KeyPartKind::Column {
                name: column.into(),
                length: None,
            },
            desc: false,
            asc: false,
        }],
        options: ast::IndexOptions::default(),
    }
}

/// The column that a definition describes.
///
/// # Errors
/// Those of types and defaults; 1063, 1235, 1629.
pub fn column(
    written: &ast::ColumnDef,
    collation: CollationId,
    ctx: &mut DefCtx<'_, '_>,
) -> Result<BuiltColumn, SqlError> {
    let name = written.name.as_ref();
    check_identifier(name, "column")?;
    let collate = written.attributes.iter().rev().find_map(|a| match a {
        ColumnAttr::Collate(c) => Some(c.as_ref()),
        _ => None,
    });
    let ty = datatype::resolve(
        name,
        &written.data_type,
        collate,
        &mut TypeCtx {
            collation,
            strict: ctx.cx.sql_mode.strict(),
            warnings: &mut ctx.warnings,
        },
    )?;
    let serial = written.data_type.kind == TypeKind::Serial;
    let mut b = BuiltColumn {
        def: ColumnDef {
            name: name.to_owned(),
            ty,
            nullable: !serial,
            default: ColumnDefault::None,
            fill: None,
            on_update_now: false,
            auto_increment: serial,
            comment: String::new(),
            generated: None,
            invisible: false,
        },
        explicit_null: false,
        keys: Vec::new(),
        expression: None,
    };
    if serial {
        b.keys.push(own_key(ast::IndexKind::Unique, name));
    }
    let mut given = None;
    for a in &written.attributes {
        attribute(&mut b, a, &mut given)?;
    }
    let def = &mut b.def;
    if b.keys.iter().any(|k| k.kind == ast::IndexKind::Primary) && !b.explicit_null {
        def.nullable = false;
    }
    if def.generated.is_some() {
        generated::refuse_beside(def, given.is_some())?;
    } else if let Some((expr, parenthesised)) = given {
        if def.auto_increment {
            return Err(SqlError::invalid_default(name));
        }
        def.default = default::resolve(name, &def.ty, def.nullable, expr, parenthesised, ctx.cx)?;
    } else if def.nullable && !def.auto_increment {
        def.default = ColumnDefault::Null;
    }
    if def.auto_increment {
        def.nullable = false;
        if !matches!(
            def.ty,
            DataType::Int { .. } | DataType::Float { .. } | DataType::Double { .. }
        ) {
            return Err(SqlError::new(
                codes::ER_WRONG_FIELD_SPEC,
                format!("Incorrect column specifier for column '{name}'"),
            ));
        }
    }
    if def.comment.chars().count() > 1024 {
        return Err(SqlError::new(
            codes::ER_TOO_LONG_FIELD_COMMENT,
            format!("Comment for field '{name}' is too long (max = 1024)"),
        ));
    }
    Ok(b)
}

fn attribute<'w>(
    b: &mut BuiltColumn,
    attr: &'w ColumnAttr,
    given: &mut Option<(&'w ast::Expr, bool)>,
) -> Result<(), SqlError> {
    let def = &mut b.def;
    match attr {
        ColumnAttr::Null => {
            def.nullable = true;
            b.explicit_null = true;
        }
        ColumnAttr::NotNull => {
            def.nullable = false;
            b.explicit_null = false;
        }
        ColumnAttr::Default {
            expr,
            parenthesised,
        } => *given = Some((expr, *parenthesised)),
        ColumnAttr::OnUpdateNow(fsp) => {
            default::check_on_update(&def.name, &def.ty, *fsp)?;
            def.on_update_now = true;
        }
        ColumnAttr::AutoIncrement => def.auto_increment = true,
        ColumnAttr::SerialDefaultValue => {
            def.auto_increment = true;
            def.nullable = false;
            b.keys.push(own_key(ast::IndexKind::Unique, &def.name));
        }
        ColumnAttr::Unique => b.keys.push(own_key(ast::IndexKind::Unique, &def.name)),
        ColumnAttr::PrimaryKey => b.keys.push(own_key(ast::IndexKind::Primary, &def.name)),
        ColumnAttr::Comment(c) => def.comment = comment(Some(c), "field", &def.name)?,
        ColumnAttr::Visible(v) => def.invisible = !v,
        ColumnAttr::Generated { expr, stored } => {
            let (stored, text) = (*stored, String::new());
            def.generated = Some(GeneratedDef {
                expr: text,
                stored,
                hidden: false,
                elements: None,
            });
            b.expression = Some(expr.clone());
        }
        ColumnAttr::Srid(_) => return Err(SqlError::not_supported("SRID")),
        // Storage hints without effect, and REFERENCES of a column, which MySQL parses and ignores too. Constraints are `checks`'.
        ColumnAttr::Check(_)
        | ColumnAttr::Collate(_)
        | ColumnAttr::References(_)
        | ColumnAttr::ColumnFormat(_)
        | ColumnAttr::Storage(_)
        | ColumnAttr::EngineAttribute(_)
        | ColumnAttr::NotSecondary => {}
    }
    Ok(())
}
