//! What a view is: a query whose names are complete, and what CREATE VIEW said beside it. The engine keeps it as bytes.
//!
//! The text of the query depends on nothing: names are qualified, `*` is spelled out, and it is read with the default options.

use engine::ObjectDef;
use types::SqlError;

use sql_access::AccountId;
use sql_parser::ast::{self, CheckOption, Part, QueryBody, TableRef, ViewAlgorithm};
use sql_parser::{Options, parse_one};

/// Version of the form on disk. A reader refuses a higher one.
const VERSION: u8 = 1;

/// A view's definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewDef {
    /// How it is carried out.
    pub algorithm: ViewAlgorithm,
    /// Whose it is.
    pub definer: AccountId,
    /// What it reads is read with the rights of who uses it, not of its definer.
    pub invoker: bool,
    /// `WITH CHECK OPTION`.
    pub check: Option<CheckOption>,
    /// The list of column names, where one was written.
    pub columns: Vec<String>,
    /// The query, in MySQL's canonical form.
    pub query: String,
    /// It could be written through when it was made.
    pub updatable: bool,
    /// `character_set_client` when it was made.
    pub charset: String,
    /// `collation_connection` when it was made.
    pub collation: String,
    /// When it was made, in microseconds since 1970.
    pub created_us: i64,
}

impl ViewDef {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let algorithm = match self.algorithm {
            ViewAlgorithm::Undefined => 0,
            ViewAlgorithm::Merge => 1,
            ViewAlgorithm::Temptable => 2,
        };
        let check = match self.check {
            None => 0,
            Some(CheckOption::Local) => 1,
            Some(CheckOption::Cascaded) => 2,
        };
        let mut out = vec![VERSION, algorithm, check];
        out.extend([u8::from(self.invoker), u8::from(self.updatable)]);
        out.extend_from_slice(&self.created_us.to_le_bytes());
        let texts = [
            &*self.definer.user,
            &*self.definer.host,
            &self.query,
            &self.charset,
            &self.collation,
        ];
        let columns = self.columns.iter().map(String::as_str);
        for text in texts.into_iter().chain(columns) {
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        out
    }

    fn decode(bytes: &[u8]) -> Option<ViewDef> {
        let (head, rest) = bytes.split_first_chunk::<5>()?;
        let (created, mut rest) = rest.split_first_chunk::<8>()?;
        if head[0] > VERSION {
            return None;
        }
        let mut texts = Vec::new();
        while !rest.is_empty() {
            let (len, after) = rest.split_first_chunk::<4>()?;
            let (text, after) = after.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            texts.push(String::from_utf8(text.to_vec()).ok()?);
            rest = after;
        }
        let mut texts = texts.into_iter();
        let mut next = || texts.next();
        let (user, host) = (next()?, next()?);
        let (query, charset, collation) = (next()?, next()?, next()?);
        Some(ViewDef {
            algorithm: match head[1] {
                0 => ViewAlgorithm::Undefined,
                1 => ViewAlgorithm::Merge,
                2 => ViewAlgorithm::Temptable,
                _ => return None,
            },
            definer: AccountId::new(&user, &host),
            invoker: head[3] != 0,
            check: match head[2] {
                0 => None,
                1 => Some(CheckOption::Local),
                2 => Some(CheckOption::Cascaded),
                _ => return None,
            },
            columns: texts.collect(),
            query,
            updatable: head[4] != 0,
            charset,
            collation,
            created_us: i64::from_le_bytes(*created),
        })
    }

    /// Of a stored object that is a view.
    ///
    /// # Errors
    /// 1815: it cannot be read.
    pub fn of(object: &ObjectDef) -> Result<ViewDef, SqlError> {
        let unreadable = || SqlError::internal("a view whose definition cannot be read");
        ViewDef::decode(&object.body).ok_or_else(unreadable)
    }

    /// Its query. Its blocks have no numbers: they are none of the statement that reads it.
    ///
    /// # Errors
    /// 1815: it cannot be read.
    pub fn tree(&self) -> Result<ast::Query, SqlError> {
        let mut query = parsed(&self.query)
            .ok_or_else(|| SqlError::internal("a view whose query cannot be read"))?;
        query.walk_parts_mut(&mut |part| {
            if let Part::Select(s) = part {
                s.number = 0;
            }
        });
        Ok(query)
    }

    /// The query as it is shown, without the names of that schema where nothing else is read.
    pub fn shown_in(&self, schema: Option<&str>, own: &str) -> (String, bool) {
        let full = || (self.query.clone(), false);
        let Some(mut query) = parsed(&self.query).filter(|_| schema == Some(own)) else {
            return full();
        };
        if tables_of(&mut query).iter().any(|(s, _)| s != own) {
            return full();
        }
        query.walk_parts_mut(&mut |part| match part {
            Part::Table(t) => t.name.schema = None,
            Part::Expr(e) => {
                if let Some(q) = e.column_mut().and_then(|c| c.qualifier.as_mut()) {
                    q.schema = None;
                }
            }
            _ => {}
        });
        (query.to_string(), true)
    }

    /// The names of its columns, where the query says them.
    pub fn column_names(&self) -> Option<Vec<String>> {
        if !self.columns.is_empty() {
            return Some(self.columns.clone());
        }
        let query = parsed(&self.query)?;
        let name = |i: &ast::SelectItem| match i {
            ast::SelectItem::Expr { name, .. } => Some(name.to_string()),
            ast::SelectItem::Wildcard(_) => None,
        };
        first_select(&query.body)?.items.iter().map(name).collect()
    }

    /// The tables and views that it reads, by schema and name, each once.
    pub fn tables(&self) -> Vec<(String, String)> {
        parsed(&self.query).map_or_else(Vec::new, |mut q| tables_of(&mut q))
    }
}

/// The tables that a query with complete names reads. What has no schema is a common table expression.
fn tables_of(query: &mut ast::Query) -> Vec<(String, String)> {
    let mut tables = Vec::new();
    query.walk_parts_mut(&mut |part| {
        if let Part::Table(t) = part
            && let Some(schema) = &t.name.schema
        {
            let table = (schema.to_string(), t.name.name.to_string());
            if !tables.contains(&table) {
                tables.push(table);
            }
        }
    });
    tables
}

/// The SELECT that names the columns of a query.
fn first_select(body: &QueryBody) -> Option<&ast::Select> {
    match body {
        QueryBody::Select(s) => Some(s),
        QueryBody::Nested(q) => first_select(&q.body),
        QueryBody::Set(set) => first_select(&set.first),
        _ => None,
    }
}

fn parsed(text: &str) -> Option<ast::Query> {
    match parse_one(text.as_bytes(), &Options::default()) {
        Ok((ast::Statement::Query(q), _)) => Some(*q),
        _ => None,
    }
}

/// The SELECT of a query that can become part of the one around it, as the manual says under "View Processing Algorithms".
pub fn mergeable(query: &ast::Query) -> Option<&ast::Select> {
    if query.with.is_some() || query.limit.is_some() {
        return None;
    }
    let select = match &query.body {
        QueryBody::Select(s) => s,
        QueryBody::Nested(inner) => return mergeable(inner),
        _ => return None,
    };
    let plain = !select.options.distinct
        && select.group_by.is_empty()
        && select.having.is_none()
        && select.windows.is_empty()
        && !select.from.is_empty()
        && !aggregates(select);
    plain.then_some(select)
}

/// Whether an item is an aggregate, or has one.
fn aggregates(select: &ast::Select) -> bool {
    select.items.iter().any(|i| match i {
        ast::SelectItem::Expr { expr, .. } => {
            let mut found = false;
            // Looked at only: it is a copy.
            let _: Result<(), ()> = expr.clone().walk_mut(&mut |e| {
                found |= matches!(e, ast::Expr::Aggregate(_) | ast::Expr::Window(_));
                Ok(())
            });
            found
        }
        ast::SelectItem::Wildcard(_) => false,
    })
}

/// The tables of FROM, each by itself; `None` where one is not named.
pub(crate) fn named_tables(from: &[TableRef]) -> Option<Vec<&ast::TableFactor>> {
    let mut out = Vec::new();
    for r in from {
        match r {
            TableRef::Table(f) => out.push(&**f),
            TableRef::List(list) => out.extend(named_tables(list)?),
            TableRef::Join(j) => {
                out.extend(named_tables(std::slice::from_ref(&j.left))?);
                out.extend(named_tables(std::slice::from_ref(&j.right))?);
            }
            TableRef::Derived(_) | TableRef::JsonTable(_) => return None,
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let def = ViewDef {
            algorithm: ViewAlgorithm::Merge,
            definer: AccountId::new("u", "h"),
            invoker: true,
            check: Some(CheckOption::Local),
            columns: vec!["a".to_owned()],
            query: "select `s`.`t`.`x` AS `x` from `s`.`t`".to_owned(),
            updatable: true,
            charset: "utf8mb4".to_owned(),
            collation: "utf8mb4_0900_ai_ci".to_owned(),
            created_us: 7,
        };
        let bytes = def.encode();
        assert_eq!(ViewDef::decode(&bytes).as_ref(), Some(&def));
        for n in 0..bytes.len() {
            assert_ne!(ViewDef::decode(&bytes[..n]).as_ref(), Some(&def));
        }
        let (text, compact) = def.shown_in(Some("s"), "s");
        assert_eq!(text, "select `t`.`x` AS `x` from `t`");
        assert!(compact);
        assert!(!def.shown_in(Some("other"), "s").1);
    }
}
