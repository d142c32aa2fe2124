//! CREATE, ALTER and DROP VIEW.
//!
//! A view is bound once when it is made: that checks it, and writes its names out. What is kept depends on no setting of the session.

use std::collections::HashSet;
use std::sync::Arc;

use engine::{Catalog, Existing, ObjectDef, ObjectKind};
use types::depth::room::within_a_thread;
use types::error::codes;
use types::{Level, SqlError, Warning};

use super::identifier::check_identifier;
use crate::context::{Session, TableName, parse_error};
use crate::infoschema::Names;
use sql_access::AccountId;
use sql_access::context::no_such_definer;
use sql_access::statement::SET_DEFINER;
use sql_parser::ast::{self, CreateView, DropTables, Expr, Part, Query, SelectItem, ViewAlgorithm};
use sql_parser::{Options, parse_one};
use sql_plan::bind::expanded::could_be_written;
use sql_plan::bind::names::same_name;
use sql_plan::bind::view_def::{ViewDef, mergeable};
use sql_plan::bind::{self, BindCtx};
use sql_plan::sink::{ColumnMeta, Done};

/// CREATE VIEW and ALTER VIEW.
pub async fn create(s: &mut Session, stmt: &CreateView) -> Result<Done, SqlError> {
    let name = s.changeable_name(&stmt.name)?;
    s.implicit_commit().await?;
    check_identifier(&name.name, "table")?;
    let mut query = stmt.query.clone();
    refuse_clauses(&mut query)?;
    let old = old_definition(s, stmt, &name)?;
    let definer = definer(s, stmt, old.as_ref())?;
    let columns = frozen(s, &mut query)?;
    let names = column_names(stmt, &columns, &mut query)?;
    let text = query.to_string();
    let again = within_a_thread(|| parse_one(text.as_bytes(), &Options::default()));
    again.map_err(|e| parse_error(&e))?;
    let kept = old.as_ref();
    let mut def = ViewDef {
        algorithm: match (stmt.algorithm, kept) {
            (None | Some(ViewAlgorithm::Undefined), Some(old)) => old.algorithm,
            (given, _) => given.unwrap_or(ViewAlgorithm::Undefined),
        },
        definer,
        invoker: stmt.invoker.or(kept.map(|o| o.invoker)).unwrap_or_default(),
        check: stmt.check,
        columns: names,
        query: text,
        updatable: false,
        charset: s.vars.text("character_set_client").to_string(),
        collation: s.vars.connection_collation().name().to_owned(),
        created_us: s.instance().clock.wall_us(),
    };
    let catalog = Arc::clone(s.engine.catalog());
    reads_itself(&catalog, &def, &name)?;
    let tree = def.tree().map_err(|_| unwritable())?;
    if def.algorithm == ViewAlgorithm::Merge && mergeable(&tree).is_none() {
        s.warn(Warning::new(
            Level::Warning,
            codes::ER_WARN_VIEW_MERGE,
            "View merge algorithm can't be used here for now (assumed undefined algorithm)"
                .to_owned(),
        ));
        def.algorithm = ViewAlgorithm::Undefined;
    }
    let tempted = def.algorithm == ViewAlgorithm::Temptable;
    def.updatable = !tempted && could_be_written(&catalog, &tree);
    if def.check.is_some() && !def.updatable {
        return Err(SqlError::new(
            codes::ER_VIEW_NONUPD_CHECK,
            format!(
                "CHECK OPTION on non-updatable view '{}.{}'",
                name.schema, name.name
            ),
        ));
    }
    let existing = match (stmt.alter, stmt.or_replace) {
        (true, _) => Existing::Required,
        (false, true) => Existing::Replaced,
        (false, false) => Existing::Refused,
    };
    let body = def.encode();
    let object = ObjectDef::new(ObjectKind::View, &name.schema, &name.name, body);
    s.engine.put_view(object, existing).await?;
    Ok(Done::default())
}

/// What ALTER VIEW changes.
fn old_definition(
    s: &mut Session,
    stmt: &CreateView,
    name: &TableName,
) -> Result<Option<ViewDef>, SqlError> {
    if !stmt.alter {
        return Ok(None);
    }
    let catalog = s.engine.catalog();
    if let Some(view) = catalog.view(&name.schema, &name.name) {
        return ViewDef::of(view).map(Some);
    }
    if catalog.defines(&name.schema, &name.name) {
        return Err(not_a_view(name));
    }
    Err(catalog.why_no_table(&name.schema, &name.name))
}

/// Whose the view is to be. Who may not set that may make his own alone.
fn definer(
    s: &mut Session,
    stmt: &CreateView,
    old: Option<&ViewDef>,
) -> Result<AccountId, SqlError> {
    let own = s.security().account().clone();
    let definer = match (&stmt.definer, old) {
        (Some(account), _) => s.account_id(account)?,
        (None, Some(old)) => old.definer.clone(),
        (None, None) => own.clone(),
    };
    if definer == own {
        return Ok(definer);
    }
    s.security().require(SET_DEFINER)?;
    if s.instance().accounts().snapshot().find(&definer).is_none() {
        let e = no_such_definer(&definer);
        s.warn(Warning::new(Level::Note, e.code, e.message));
    }
    Ok(definer)
}

/// Refuses what a view may not depend on.
///
/// # Errors
/// 1350, 1351.
fn refuse_clauses(query: &mut Query) -> Result<(), SqlError> {
    if query.into.is_some() {
        return Err(SqlError::new(
            codes::ER_VIEW_SELECT_CLAUSE,
            "View's SELECT contains a 'INTO' clause",
        ));
    }
    let mut depends = false;
    query.walk_parts_mut(&mut |part| {
        if let Part::Expr(e) = part {
            depends |= matches!(
                e,
                Expr::UserVar(_) | Expr::AssignUserVar(..) | Expr::SysVar(_) | Expr::Param(_)
            );
        }
    });
    match depends {
        false => Ok(()),
        true => Err(SqlError::new(
            codes::ER_VIEW_SELECT_VARIABLE,
            "View's SELECT contains a variable or parameter",
        )),
    }
}

/// Binds the query and writes its names out; yields its columns.
fn frozen(s: &mut Session, query: &mut Query) -> Result<Vec<ColumnMeta>, SqlError> {
    let catalog = Arc::clone(s.engine.catalog());
    let schema = s.database().map(str::to_owned);
    let security = Arc::clone(s.security());
    let instance = Arc::clone(s.instance());
    let connection = s.facts.connection_id;
    s.with_ctx(Session::NO_PARAMS, |cx| {
        let names = Names::new(&instance, connection);
        let ctx = BindCtx {
            engine: &instance.engine,
            catalog: &catalog,
            names: &names,
            schema: schema.as_deref(),
            security: &security,
            locked: None,
            cx,
            values: cx,
        };
        bind::freeze(&ctx, query)
    })
}

/// The list of column names that the view keeps. Names that nobody wrote are made valid and different.
///
/// # Errors
/// 1353, 1060, 1166.
fn column_names(
    stmt: &CreateView,
    columns: &[ColumnMeta],
    query: &mut Query,
) -> Result<Vec<String>, SqlError> {
    let unique = |names: &[&str]| {
        for (i, n) in names.iter().enumerate() {
            if names[..i].iter().any(|o| same_name(o, n)) {
                return Err(SqlError::dup_column(n));
            }
        }
        Ok(())
    };
    if !stmt.columns.is_empty() {
        if stmt.columns.len() != columns.len() {
            return Err(SqlError::new(
                codes::ER_VIEW_WRONG_LIST,
                "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts",
            ));
        }
        let names: Vec<&str> = stmt.columns.iter().map(|n| &**n).collect();
        names
            .iter()
            .try_for_each(|n| check_identifier(n, "column"))?;
        unique(&names)?;
        return Ok(names.into_iter().map(str::to_owned).collect());
    }
    let written = written_names(&stmt.query);
    let mut names: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
    let by_itself = |i: usize| written.as_ref().is_some_and(|w| w.get(i) == Some(&true));
    for i in 0..names.len() {
        if !by_itself(i) {
            check_identifier(&names[i], "column")?;
            continue;
        }
        if check_identifier(&names[i], "column").is_err() {
            names[i] = format!("Name_exp_{}", i + 1);
        }
        let taken = |n: &str, names: &[String]| {
            let mut others = names.iter().enumerate().filter(|(j, _)| *j != i);
            others.any(|(_, o)| same_name(o, n))
        };
        let first = names[..i].iter().any(|o| same_name(o, &names[i]));
        let later = (i + 1..names.len()).any(|j| !by_itself(j) && same_name(&names[j], &names[i]));
        if first || later {
            let own = names[i].clone();
            let mut made = format!("My_exp_{own}");
            let mut n = 0;
            while taken(&made, &names) {
                n += 1;
                made = format!("My_exp_{n}_{own}");
            }
            names[i] = made.chars().take(64).collect();
        }
    }
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    unique(&all)?;
    rename_items(query, &names);
    Ok(Vec::new())
}

/// Of each item of a plain select list without `*`, whether it is an expression under no name of its own.
fn written_names(query: &Query) -> Option<Vec<bool>> {
    let items = match &query.body {
        ast::QueryBody::Select(s) => &s.items,
        ast::QueryBody::Nested(q) => return written_names(q),
        ast::QueryBody::Set(set) => match &set.first {
            ast::QueryBody::Select(s) => &s.items,
            _ => return None,
        },
        _ => return None,
    };
    let one = |i: &SelectItem| match i {
        SelectItem::Wildcard(_) => None,
        SelectItem::Expr { expr, aliased, .. } => {
            Some(!aliased && !matches!(expr, Expr::Column(_)))
        }
    };
    items.iter().map(one).collect()
}

/// Gives the items of the first SELECT other names.
fn rename_items(query: &mut Query, names: &[String]) {
    fn rename(body: &mut ast::QueryBody, names: &[String]) {
        match body {
            ast::QueryBody::Select(s) => {
                for (item, n) in s.items.iter_mut().zip(names) {
                    if let SelectItem::Expr { name, .. } = item {
                        *name = n.as_str().into();
                    }
                }
            }
            ast::QueryBody::Nested(q) => rename(&mut q.body, names),
            ast::QueryBody::Set(set) => rename(&mut set.first, names),
            _ => {}
        }
    }
    rename(&mut query.body, names);
}

/// Refuses a view that would read itself.
///
/// # Errors
/// 1146, as MySQL has it: while it is made there is none.
fn reads_itself(catalog: &Catalog, def: &ViewDef, own: &TableName) -> Result<(), SqlError> {
    let mut seen: HashSet<(String, String)> = HashSet::new();
    let mut waiting = def.tables();
    while let Some((schema, name)) = waiting.pop() {
        if schema == own.schema && name == own.name {
            return Err(SqlError::no_such_table(&schema, &name));
        }
        if let Some(view) = catalog.view(&schema, &name)
            && seen.insert((schema, name))
        {
            waiting.extend(ViewDef::of(view)?.tables());
        }
    }
    Ok(())
}

/// DROP VIEW: all of the views or, where one is missing, none.
pub async fn drop(s: &mut Session, stmt: &DropTables) -> Result<Done, SqlError> {
    s.implicit_commit().await?;
    let (mut found, mut missing, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for n in &stmt.names {
        let t = s.changeable_name(n)?;
        let catalog = s.engine.catalog();
        if catalog.defines(&t.schema, &t.name) {
            return Err(not_a_view(&t));
        }
        let list = match catalog.view(&t.schema, &t.name) {
            Some(_) => &mut found,
            None => &mut missing,
        };
        if !seen.insert((t.schema.clone(), t.name.clone())) {
            return Err(SqlError::new(
                codes::ER_NONUNIQ_TABLE,
                format!("Not unique table/alias: '{}'", t.name),
            ));
        }
        list.push((t.schema, t.name));
    }
    let shown = |(s, n): &(String, String)| format!("{s}.{n}");
    let names: Vec<String> = missing.iter().map(shown).collect();
    if !stmt.if_exists && !names.is_empty() {
        return Err(SqlError::bad_table(&names.join(",")));
    }
    for n in &names {
        let e = SqlError::bad_table(n);
        s.warn(Warning::new(Level::Note, e.code, e.message));
    }
    s.engine.drop_views(&found, stmt.if_exists).await?;
    Ok(Done::default())
}

/// 1347.
fn not_a_view(t: &TableName) -> SqlError {
    SqlError::new(
        codes::ER_WRONG_OBJECT,
        format!("'{}.{}' is not VIEW", t.schema, t.name),
    )
}

/// What is written of a query has to be read again.
fn unwritable() -> SqlError {
    SqlError::not_supported("a view of this query")
}
