//! Expressions that a definition keeps, of CHECK constraints and of generated columns: what may stand in them, and the text in which
//! they are kept. The text says the same to every session: names are those of the columns, and literals name their character set.

use engine::{ColumnDef, IndexDef};
use types::SqlError;
use types::error::codes;

use super::keys::column_index;
use crate::context::parse_error;
use sql_expr::func;
use sql_expr::func::json_list;
use sql_parser::ast::{self, CastType, Expr, IntroducedLit, LiteralForm};
use sql_parser::{Options, parse_expr};
use types::depth::room::within_a_thread;

/// The character set of literals as they are kept, and of what is made text.
const LITERALS: &str = "utf8mb4";

/// What an expression belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner<'a> {
    /// The CHECK constraint of this name.
    Check(&'a str),
    /// The generated column of this name.
    Column(&'a str),
    /// A functional part of the index of this name.
    Index(&'a str),
}

/// An expression as it is kept.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    /// Its text.
    pub text: String,
    /// The columns that it reads, each once.
    pub columns: Vec<usize>,
}

impl<'a> Owner<'a> {
    fn error(self, check: (u16, &str), column: (u16, &str)) -> SqlError {
        let index = (
            codes::ER_FUNCTIONAL_INDEX_FUNCTION_IS_NOT_ALLOWED,
            "Expression of functional index '{}' contains a disallowed function.",
        );
        let ((code, text), name) = match self {
            Owner::Check(name) => (check, name),
            Owner::Column(name) => (column, name),
            Owner::Index(name) => (index, name),
        };
        SqlError::new(code, text.replacen("{}", name, 1))
    }

    /// What a generated column of a definition is: one of its own, or a part of an index.
    pub(super) fn of(columns: &'a [ColumnDef], at: usize, indexes: &'a [IndexDef]) -> Owner<'a> {
        if !columns[at].is_hidden() {
            return Owner::Column(&columns[at].name);
        }
        let has = |i: &&IndexDef| i.parts.iter().any(|p| usize::from(p.column) == at);
        Owner::Index(indexes.iter().find(has).map_or("", |i| &i.name))
    }

    /// It refers to the AUTO_INCREMENT column, whose value is not known when it is computed.
    pub(super) fn refers_to_number(self) -> SqlError {
        match self {
            Owner::Check(name) => SqlError::new(
                codes::ER_CHECK_CONSTRAINT_REFERS_AUTO_INCREMENT_COLUMN,
                format!("Check constraint '{name}' cannot refer to an auto-increment column."),
            ),
            Owner::Column(name) => SqlError::new(
                codes::ER_GENERATED_COLUMN_REF_AUTO_INC,
                format!("Generated column '{name}' cannot refer to auto-increment column."),
            ),
            Owner::Index(name) => SqlError::new(
                codes::ER_FUNCTIONAL_INDEX_REF_AUTO_INCREMENT,
                format!("Functional index '{name}' cannot refer to an auto-increment column."),
            ),
        }
    }

    fn disallowed(self) -> SqlError {
        self.error(
            (
                codes::ER_CHECK_CONSTRAINT_FUNCTION_IS_NOT_ALLOWED,
                "An expression of a check constraint '{}' contains disallowed function.",
            ),
            (
                codes::ER_GENERATED_COLUMN_FUNCTION_IS_NOT_ALLOWED,
                "Expression of generated column '{}' contains a disallowed function.",
            ),
        )
    }

    fn disallowed_function(self, function: &str) -> SqlError {
        let mut e = self.error(
            (
                codes::ER_CHECK_CONSTRAINT_NAMED_FUNCTION_IS_NOT_ALLOWED,
                "An expression of a check constraint '{}' contains disallowed function: ",
            ),
            (
                codes::ER_GENERATED_COLUMN_NAMED_FUNCTION_IS_NOT_ALLOWED,
                "Expression of generated column '{}' contains a disallowed function: ",
            ),
        );
        if !matches!(self, Owner::Index(_)) {
            e.message = format!("{}{function}.", e.message);
        }
        e
    }

    fn variable(self) -> SqlError {
        self.error(
            (
                codes::ER_CHECK_CONSTRAINT_VARIABLES,
                "An expression of a check constraint '{}' cannot refer to a user or system variable.",
            ),
            (
                codes::ER_GENERATED_COLUMN_VARIABLES,
                "Expression of generated column '{}' cannot refer user or system variables.",
            ),
        )
    }

    fn row_value(self) -> SqlError {
        if let Owner::Index(name) = self {
            return SqlError::new(
                codes::ER_FUNCTIONAL_INDEX_ROW_VALUE_IS_NOT_ALLOWED,
                format!("Expression of functional index '{name}' cannot refer to a row value."),
            );
        }
        self.error(
            (
                codes::ER_CHECK_CONSTRAINT_ROW_VALUE,
                "Check constraint '{}' cannot refer to a row value.",
            ),
            (
                codes::ER_GENERATED_COLUMN_ROW_VALUE,
                "Expression of generated column '{}' cannot refer to a row value.",
            ),
        )
    }

    fn unknown_column(self, column: &str) -> SqlError {
        match self {
            Owner::Check(name) => SqlError::new(
                codes::ER_CHECK_CONSTRAINT_REFERS_UNKNOWN_COLUMN,
                format!("Check constraint '{name}' refers to non-existing column '{column}'."),
            ),
            Owner::Column(_) => SqlError::unknown_column(column, "generated column function"),
            Owner::Index(_) => SqlError::unknown_column(column, "functional index"),
        }
    }
}

/// An expression as a definition of a table of these columns keeps it. `table` is its schema and name.
///
/// # Errors
/// 1054, 3820: a column that is not there; 3102, 3763, 3764, 3765, 3814 to 3817: what must not stand in it.
pub(super) fn keep(
    written: &Expr,
    owner: Owner<'_>,
    columns: &[ColumnDef],
    table: (&str, &str),
) -> Result<Kept, SqlError> {
    if let Expr::Row(_) = written {
        return Err(owner.row_value());
    }
    let mut expr = written.clone();
    let mut read = Vec::new();
    // A list is the whole of a key part.
    let mut list = match (&expr, owner) {
        (Expr::Cast(c), Owner::Index(_)) => c.array,
        _ => false,
    };
    expr.walk_mut::<SqlError>(&mut |e| {
        refuse(e, owner)?;
        match e {
            Expr::Str(bytes) if std::str::from_utf8(bytes).is_err() => {
                *e = Expr::Introduced(Box::new(IntroducedLit {
                    charset: "binary".into(),
                    bytes: bytes.clone(),
                    form: LiteralForm::Hex,
                }));
            }
            // What a session has for text that names no character set is the session's.
            Expr::Cast(cast) if cast.array && std::mem::take(&mut list) => {
                json_list::element_type(&cast.target)?;
                // Texts of a list have a collation of their own.
                if let CastType::Char { charset, .. } = &mut cast.target {
                    *charset = None;
                }
            }
            Expr::Cast(cast) if cast.array => {
                return Err(SqlError::not_supported(
                    "Use of CAST( .. AS .. ARRAY) outside of functional index in CREATE(non-SELECT)/ALTER TABLE or in general expressions",
                ));
            }
            Expr::Cast(cast) => {
                if let CastType::Char { charset, .. } = &mut cast.target {
                    charset.get_or_insert_with(|| LITERALS.into());
                }
            }
            e => {
                if let Some(c) = e.column_mut() {
                    read.push(resolve(c, owner, columns, table)?);
                }
            }
        }
        Ok(())
    })?;
    read.sort_unstable();
    read.dedup();
    let text = expr.deparse(Some(LITERALS)).to_string();
    // The text has more parentheses. Where it would be nested too deeply to be read again, no row could be written.
    let again = within_a_thread(|| parse_expr(text.as_bytes(), &Options::default()));
    again.map_err(|e| parse_error(&e))?;
    Ok(Kept {
        text,
        columns: read,
    })
}

/// As [`keep`], of what was kept.
///
/// # Errors
/// As [`keep`].
pub(super) fn keep_again(
    text: &str,
    owner: Owner<'_>,
    columns: &[ColumnDef],
) -> Result<Kept, SqlError> {
    let e = parse_expr(text.as_bytes(), &Options::default()).map_err(|e| parse_error(&e))?;
    keep(&e, owner, columns, ("", ""))
}

/// The names of the columns that an expression reads, of one that was kept.
pub(super) fn names_in(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    if let Ok(mut e) = parse_expr(text.as_bytes(), &Options::default()) {
        let said: Result<(), ()> = e.walk_mut(&mut |e| {
            names.extend(e.column_mut().map(|c| c.name.to_lowercase()));
            Ok(())
        });
        debug_assert!(said.is_ok());
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// Gives a reference the column's name as it is defined, alone; the column.
fn resolve(
    c: &mut ast::ColumnRef,
    owner: Owner<'_>,
    columns: &[ColumnDef],
    (schema, table): (&str, &str),
) -> Result<usize, SqlError> {
    let ours = c
        .qualifier
        .as_ref()
        .is_none_or(|q| *q.table == *table && q.schema.as_deref().is_none_or(|s| s == schema));
    let at = column_index(columns, &c.name).filter(|_| ours);
    let Some(at) = at else {
        return Err(owner.unknown_column(&sql_expr::bind::column_text(c)));
    };
    c.qualifier = None;
    c.name = columns[at].name.as_str().into();
    Ok(at)
}

/// Refuses what is not the same for one row in every session and at every time.
fn refuse(e: &Expr, owner: Owner<'_>) -> Result<(), SqlError> {
    match e {
        Expr::UserVar(_) | Expr::AssignUserVar(..) | Expr::SysVar(_) => Err(owner.variable()),
        Expr::Subquery(_)
        | Expr::Exists(_)
        | Expr::InSubquery(_)
        | Expr::Quantified(_)
        | Expr::Param(_) => Err(owner.disallowed()),
        Expr::Match(_) => Err(owner.disallowed_function("match")),
        Expr::DefaultOf(_) => Err(owner.disallowed_function("default")),
        Expr::Values(_) => Err(owner.disallowed_function("values")),
        Expr::Call(c) => {
            let name = c.name.to_ascii_lowercase();
            if c.schema.is_some() || func::find(&name).is_none() && !is_regexp(&name) {
                return Err(owner.disallowed_function(&format!("`{}`", c.name)));
            }
            match is_fixed(&name, c.args.len()) {
                true => Ok(()),
                false => Err(owner.disallowed_function(&name)),
            }
        }
        _ => Ok(()),
    }
}

/// These are not in the table of functions.
fn is_regexp(name: &str) -> bool {
    matches!(
        name,
        "regexp_like" | "regexp_instr" | "regexp_substr" | "regexp_replace"
    )
}

/// Whether a function says the same of the same arguments. Those that follow the session's time zone are allowed, as in MySQL.
fn is_fixed(name: &str, args: usize) -> bool {
    match name {
        "unix_timestamp" => args > 0,
        "from_unixtime" | "convert_tz" => true,
        "load_file" | "name_const" => false,
        _ => func::find(name).is_none_or(|f| f.foldable()),
    }
}

/// Whether MySQL takes an expression for a condition by its form.
pub(super) fn is_condition(e: &Expr) -> bool {
    use ast::BinaryOp as B;
    match e {
        Expr::Bool(_)
        | Expr::And(_)
        | Expr::Or(_)
        | Expr::Unary(ast::UnaryOp::Not, _)
        | Expr::IsNull { .. }
        | Expr::IsTruth { .. }
        | Expr::Between(_)
        | Expr::InList(_)
        | Expr::Like(_)
        | Expr::Regexp(_)
        | Expr::MemberOf(..) => true,
        Expr::Binary(op, ..) => matches!(
            op,
            B::Eq | B::NullSafeEq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge | B::Xor | B::SoundsLike
        ),
        Expr::Call(c) => matches!(
            c.name.to_ascii_lowercase().as_str(),
            "regexp_like"
                | "isnull"
                | "json_valid"
                | "json_contains"
                | "json_contains_path"
                | "json_overlaps"
                | "json_schema_valid"
                | "is_uuid"
                | "is_ipv4"
                | "is_ipv6"
                | "is_ipv4_compat"
                | "is_ipv4_mapped"
        ),
        _ => false,
    }
}
