//! LOAD DATA [LOCAL] INFILE: the lines of a file as rows of INSERTs of many rows, all in one statement.
//!
//! Rows whose columns are plain fields go in by runs of [`RUN_ROWS`] through one plan with parameters; what needs more (user variables,
//! SET, a line that is too short) goes in row by row. Never here: a change of a row but through a plan.

mod lines;

use std::io::Read as _;
use std::sync::Arc;

use engine::{ColumnDef, Table};
use types::charset::to_utf8;
use types::error::codes;
use types::{Charset, CollationId, DataType, Level, SqlError, Value, Warning};

use self::lines::{Field, Read, Shape};
use crate::command::show::view_columns;
use crate::context::prologue::Rows;
use crate::context::{Session, TableName, parse_error};
use sql_access::needs::{self, Need};
use sql_access::{Authorized, Granted, Priv};
use sql_exec::server_file;
use sql_expr::vars::SqlMode;
use sql_expr::{Coercibility, ExprType, UserVar, Val};
use sql_parser::ast::{Expr, InsertSource, IntoVariable, LoadData, LoadDuplicates, Statement};
use sql_parser::{self};
use sql_plan::bind::names::same_name;
use sql_plan::plan::{Plan, PlanBody};
use sql_plan::sink::{Collector, Done, ResultSink};

/// Rows that are inserted at once.
const RUN_ROWS: usize = 256;
/// Bytes read at once from a file of this machine.
const CHUNK: usize = 1 << 20;

/// A name in backticks.
fn quoted(n: &str) -> String {
    format!("`{}`", n.replace('`', "``"))
}

/// Where a field goes.
enum Target {
    Column(String),
    Variable(String),
}

/// Where the bytes come from.
enum Source {
    Client,
    File(std::fs::File),
    /// What another server has sent, and how much of it was read.
    Applied(engine::TempFile, u64),
}

impl Source {
    /// The next bytes; none at the end.
    async fn next(&mut self, sink: &mut dyn ResultSink) -> Result<Option<Vec<u8>>, SqlError> {
        match self {
            // A piece is read while others wait: small enough for a disk, and a regular file waits for nothing else.
            Source::Client => sink.file_chunk().await,
            Source::File(f) => {
                let mut chunk = Vec::new();
                let mut part = f.take(CHUNK as u64);
                part.read_to_end(&mut chunk).map_err(|e| {
                    SqlError::new(codes::ER_ERROR_ON_READ, format!("Error reading file ({e})"))
                })?;
                Ok((!chunk.is_empty()).then_some(chunk))
            }
            Source::Applied(file, at) => {
                let left = file.len() - *at;
                if left == 0 {
                    return Ok(None);
                }
                let chunk = file.read(*at, left.min(CHUNK as u64) as usize).await?;
                *at += chunk.len() as u64;
                Ok(Some(chunk.to_vec()))
            }
        }
    }
}

/// A file being loaded.
struct Load<'l> {
    statement: &'l LoadData,
    /// The table that gets the rows.
    table: Arc<Table>,
    /// What the statement names: the table, or a view of it.
    name: TableName,
    /// The columns of what it names.
    columns: Vec<ColumnDef>,
    targets: Vec<Target>,
    collation: CollationId,
    ignore: bool,
    /// The plan of a whole run.
    run: Option<Authorized<Plan>>,
    /// Fields of rows that are not inserted yet.
    waiting: Vec<Value>,
    rows_waiting: usize,
    records: u64,
    affected: u64,
    first_id: Option<u64>,
}

impl Session {
    /// LOAD DATA.
    pub(crate) async fn load_data(
        &mut self,
        _: &Granted,
        statement: &LoadData,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let applied = self.applied_file.take();
        let charset = applied.as_ref().map(|(_, charset)| *charset);
        let mut load = self.prepare_load(statement, charset)?;
        let mode = self.vars.hot().sql_mode;
        let plain = mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
        let shape = Shape::of(&statement.format, plain)?;
        let local = statement.local && applied.is_none();
        let mut source = if let Some((file, _)) = applied {
            Source::Applied(file, 0)
        } else if statement.local {
            if !self.local_infile() {
                return Err(SqlError::fixed(codes::ER_CLIENT_LOCAL_FILES_DISABLED));
            }
            sink.ask_file(&statement.path).await?;
            Source::Client
        } else {
            Source::File(server_file::open(
                &statement.path,
                &self.vars.text("secure_file_priv"),
            )?)
        };
        let rows = match load.table.def.is_temporary() {
            true => Rows::TemporaryChanged,
            false => Rows::Changed,
        };
        let begun = self.begin_sharing_rows(rows);
        let outcome = match begun {
            Ok(()) => {
                let table = Arc::clone(&load.table);
                match self.engine.lock_auto_increment(&table, true).await {
                    Ok(locked) => {
                        let loaded = self.load_lines(&mut load, &shape, &mut source, sink).await;
                        if locked {
                            self.engine.unlock_auto_increment(&table);
                        }
                        loaded
                    }
                    Err(e) => Err(e),
                }
            }
            Err(_) => Ok(()),
        };
        self.rows_before = 0;
        if local {
            // The client sends all of it, whatever has become of the statement.
            while let Ok(Some(_)) = sink.file_chunk().await {}
        }
        begun?;
        self.end_statement(outcome).await?;
        let (records, affected) = (load.records, load.affected);
        let (deleted, skipped) = match statement.on_duplicate {
            LoadDuplicates::Replace => (affected.saturating_sub(records), 0),
            _ => (0, records.saturating_sub(affected)),
        };
        let warnings = self.diagnostics.packet_count();
        Ok(Done {
            affected,
            last_insert_id: load.first_id.unwrap_or(0),
            generated_id: load.first_id,
            info: format!(
                "Records: {records}  Deleted: {deleted}  Skipped: {skipped}  Warnings: {warnings}"
            )
            .into(),
            ..Done::default()
        })
    }

    fn local_infile(&self) -> bool {
        let on = self.instance.globals.value_by_name("local_infile");
        on.is_some_and(|v| v.as_u64() != 0)
    }

    /// `charset`: that of the file where the statement does not say.
    fn prepare_load<'l>(
        &mut self,
        l: &'l LoadData,
        charset: Option<Charset>,
    ) -> Result<Load<'l>, SqlError> {
        if l.xml {
            return Err(SqlError::not_supported("LOAD XML"));
        }
        if !l.partitions.is_empty() {
            return Err(SqlError::not_supported("PARTITION"));
        }
        let name = self.changeable_name(&l.table)?;
        let temporary = self.temporary_table(&name).is_some();
        if !temporary {
            self.check_may_change()?;
        }
        let view = self
            .engine
            .catalog()
            .view_seen(&name.schema, &name.name)
            .cloned();
        let columns = match &view {
            Some(view) => view_columns(self, view)?,
            None => self.find_table(&name)?.def.columns.clone(),
        };
        if let (Some(locked), false) = (&self.locked, temporary) {
            // The INSERTs are checked again; there may be none.
            locked.check_change(&name.schema, &name.name)?;
        }
        let charset = match &l.charset {
            // A file is in the character set of the database that the session uses.
            None => charset
                .or_else(|| Charset::by_name(&self.vars.text("character_set_database")))
                .unwrap_or(Charset::Utf8mb4),
            Some(name) => Charset::by_name(name).ok_or_else(|| {
                SqlError::new(
                    codes::ER_UNKNOWN_CHARACTER_SET,
                    format!("Unknown character set: '{name}'"),
                )
            })?,
        };
        let mut targets = Vec::new();
        for c in &l.columns {
            targets.push(match c {
                IntoVariable::User(name) => Target::Variable(name.to_string()),
                IntoVariable::Local(column) => Target::Column(column.name.to_string()),
            });
        }
        let lists_columns = !targets.is_empty();
        if targets.is_empty() {
            let visible = columns.iter().filter(|c| !c.invisible);
            let stored = visible.filter(|c| c.generated.is_none());
            targets.extend(stored.map(|c| Target::Column(c.name.clone())));
        }
        // Before the file is looked for; the INSERTs are checked again as they are planned.
        let named = targets.iter().filter_map(|t| match t {
            Target::Column(name) => Some(name.as_str()),
            Target::Variable(_) => None,
        });
        let assigned = l.assignments.iter().map(|a| &*a.column.name);
        let given = named.chain(assigned).collect();
        self.security.check(&Need::Columns {
            table: needs::table(&name.schema, &name.name),
            privilege: Priv::Insert,
            columns: given,
            named: lists_columns,
        })?;
        for t in &targets {
            if let Target::Column(name) = t
                && columns.iter().all(|c| !c.is_named(name))
            {
                return Err(SqlError::unknown_column(name, "field list"));
            }
        }
        let table = match view {
            Some(_) => self.table_behind(&name, &targets)?,
            None => self.find_table(&name)?,
        };
        Ok(Load {
            statement: l,
            table,
            name,
            columns,
            targets,
            collation: CollationId::default_of(charset),
            // A file that comes over the network cannot be stopped in its middle: what does not fit is passed over.
            ignore: l.on_duplicate == LoadDuplicates::Ignore
                || l.local && l.on_duplicate == LoadDuplicates::Default,
            run: None,
            waiting: Vec::new(),
            rows_waiting: 0,
            records: 0,
            affected: 0,
            first_id: None,
        })
    }

    /// The table that gets the rows that a view is given.
    ///
    /// # Errors
    /// What an INSERT of these columns is refused with.
    fn table_behind(
        &mut self,
        name: &TableName,
        targets: &[Target],
    ) -> Result<Arc<Table>, SqlError> {
        let columns = targets.iter().filter_map(|t| match t {
            Target::Column(name) => Some(quoted(name)),
            Target::Variable(_) => None,
        });
        let columns: Vec<String> = columns.collect();
        let values = vec!["DEFAULT"; columns.len()].join(",");
        let text = format!(
            "INSERT INTO {}.{} ({}) VALUES ({values})",
            quoted(&name.schema),
            quoted(&name.name),
            columns.join(",")
        );
        let plan = self.plan_load(&text, None, &[])?;
        match &plan.peek().body {
            PlanBody::Insert(i) => Ok(Arc::clone(&i.table)),
            _ => Err(SqlError::internal("an INSERT that is none")),
        }
    }

    async fn load_lines(
        &mut self,
        load: &mut Load<'_>,
        shape: &Shape,
        source: &mut Source,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let mut buf: Vec<u8> = Vec::new();
        let (mut at, mut eof) = (0, false);
        let mut fields = Vec::new();
        let mut skip = load.statement.skip_lines;
        loop {
            let read = match skip {
                0 => shape.read(&buf[at..], eof, load.targets.len(), &mut fields),
                _ => shape.skip(&buf[at..], eof),
            };
            match read {
                Read::Line { used, cut } => {
                    at += used;
                    match skip {
                        0 => self.load_row(load, &mut fields, cut).await?,
                        // Where nothing ends a line there is nothing to leave out, however often.
                        _ if used == 0 => skip = 0,
                        _ => skip -= 1,
                    }
                }
                Read::More => {
                    buf.drain(..at);
                    at = 0;
                    // Twice as much each time, for the line is read from its beginning again.
                    let wanted = buf.len() * 2;
                    if wanted as u64 > 2 * self.vars.hot().max_allowed_packet {
                        return Err(SqlError::fixed(codes::ER_NET_PACKET_TOO_LARGE));
                    }
                    while !eof && buf.len() <= wanted {
                        match source.next(sink).await? {
                            Some(chunk) => buf.extend_from_slice(&chunk),
                            None => eof = true,
                        }
                    }
                }
                Read::End => break,
            }
        }
        self.load_waiting(load).await
    }

    /// What is wrong with a line: an error in strict mode, else a warning.
    fn fault(&mut self, load: &Load<'_>, code: u16, text: String) -> Result<(), SqlError> {
        if self.vars.hot().sql_mode.strict() && !load.ignore {
            return Err(SqlError::new(code, text));
        }
        self.warn(Warning::new(Level::Warning, code, text));
        Ok(())
    }

    async fn load_row(
        &mut self,
        load: &mut Load<'_>,
        fields: &mut Vec<Field>,
        cut: bool,
    ) -> Result<(), SqlError> {
        load.records += 1;
        let row = load.records;
        // Each column without a field is told of; a variable is NULL.
        for t in load.targets.iter().skip(fields.len()) {
            if let Target::Column(_) = t {
                let text = format!("Row {row} doesn't contain data for all columns");
                self.fault(load, codes::ER_WARN_TOO_FEW_RECORDS, text)?;
            }
        }
        if cut {
            let text = format!(
                "Row {row} was truncated; it contained more data than there were input columns"
            );
            self.fault(load, codes::ER_WARN_TOO_MANY_RECORDS, text)?;
        }
        let variables = |t: &Target| matches!(t, Target::Variable(_));
        let simple = load.statement.assignments.is_empty() && !load.targets.iter().any(variables);
        if !simple || fields.len() < load.targets.len() {
            self.load_waiting(load).await?;
            self.rows_before = row - 1;
            return self.load_single(load, fields).await;
        }
        for (i, field) in fields.drain(..).enumerate() {
            let value = load.value(i, field)?;
            load.waiting.push(value);
        }
        load.rows_waiting += 1;
        if load.rows_waiting == RUN_ROWS {
            self.load_waiting(load).await?;
        }
        Ok(())
    }

    /// Inserts the rows that wait.
    async fn load_waiting(&mut self, load: &mut Load<'_>) -> Result<(), SqlError> {
        let rows = load.rows_waiting;
        if rows == 0 {
            return Ok(());
        }
        self.rows_before = load.records - rows as u64;
        let values = std::mem::take(&mut load.waiting);
        load.rows_waiting = 0;
        let columns: Vec<&str> = load.columns().collect();
        let text = load.insert(&columns, rows, &vec!["?"; columns.len()].join(","));
        let plan = match load.run.take() {
            Some(plan) if rows == RUN_ROWS => plan,
            _ => self.plan_load(&text, None, &values)?,
        };
        let done = self.run_part(&plan, &values).await?;
        load.count(&done);
        if rows == RUN_ROWS {
            load.run = Some(plan);
        }
        Ok(())
    }

    /// Inserts one row that is more than its fields.
    async fn load_single(
        &mut self,
        load: &mut Load<'_>,
        fields: &mut Vec<Field>,
    ) -> Result<(), SqlError> {
        let mut values = Vec::new();
        let mut columns = Vec::new();
        let mut given = Vec::new();
        let mut rest = fields.drain(..);
        for i in 0..load.targets.len() {
            let field = rest.next();
            match &load.targets[i] {
                Target::Column(name) => {
                    columns.push(name.as_str());
                    given.push(if field.is_some() { "?" } else { "DEFAULT" });
                    if let Some(field) = field {
                        values.push(load.value(i, field)?);
                    }
                }
                Target::Variable(name) => {
                    let value = match field {
                        Some(Field::Text(t)) => Val::Bytes(t.into()),
                        _ => Val::Null,
                    };
                    let chars = u32::MAX;
                    let ty = ExprType::text(chars, load.collation, Coercibility::Implicit, true);
                    let var = UserVar { value, ty };
                    let mut vars = self.user_vars.lock();
                    vars.set(name, var);
                }
            }
        }
        let text = load.insert(&columns, 1, &given.join(","));
        let plan = self.plan_load(&text, Some(load.statement), &values)?;
        let done = self.run_part(&plan, &values).await?;
        load.count(&done);
        Ok(())
    }

    /// Plans an INSERT of values such as these, with the assignments of the statement as further columns.
    fn plan_load(
        &mut self,
        text: &str,
        with: Option<&LoadData>,
        values: &[Value],
    ) -> Result<Authorized<Plan>, SqlError> {
        let options = sql_parser::Options {
            placeholders: true,
            charset: Charset::Utf8mb4,
            ..self.parse_options()
        };
        let parsed = sql_parser::parse(text.as_bytes(), &options).map_err(|e| parse_error(&e))?;
        let mut statement = parsed.statement;
        if let (Statement::Insert(insert), Some(l)) = (&mut statement, with)
            && let InsertSource::Values(rows) = &mut insert.source
        {
            // SET may assign what the file has given.
            insert.may_repeat = true;
            for a in &l.assignments {
                insert.columns.push(a.column.clone());
                let value: &Expr = &a.value;
                rows.iter_mut().for_each(|r| r.push(value.clone()));
            }
        }
        // A parameter's text is in the connection's character set, unless something else is said.
        let types: Vec<(u32, ExprType)> = match self.vars.connection_collation().charset() {
            Charset::Utf8mb4 => Vec::new(),
            _ => {
                let ty = ExprType::text(65_535, CollationId::DEFAULT, Coercibility::Literal, true);
                let texts = (0u32..).zip(values);
                let texts = texts.filter(|(_, v)| !matches!(v, Value::Bytes(_)));
                texts.map(|(n, _)| (n, ty)).collect()
            }
        };
        self.plan_typed(&statement, &types, Session::NO_PARAMS)
    }

    /// Runs an INSERT as a part of the statement.
    async fn run_part(
        &mut self,
        plan: &Authorized<Plan>,
        values: &[Value],
    ) -> Result<Done, SqlError> {
        let ready = self.security.ready(plan);
        let plan = ready.ok_or_else(|| SqlError::internal("a plan of another session"))?;
        let mut nobody = Collector::new();
        self.engine.interrupt().check()?;
        let outcome = self.run_in_statement(plan, values, &mut nobody).await;
        Ok(outcome?)
    }
}

impl Load<'_> {
    fn columns(&self) -> impl Iterator<Item = &str> {
        self.targets.iter().filter_map(|t| match t {
            Target::Column(name) => Some(name.as_str()),
            Target::Variable(_) => None,
        })
    }

    /// The text of an INSERT of so many rows.
    fn insert(&self, columns: &[&str], rows: usize, row: &str) -> String {
        let verb = match (self.statement.on_duplicate, self.ignore) {
            (LoadDuplicates::Replace, _) => "REPLACE",
            (_, true) => "INSERT IGNORE",
            _ => "INSERT",
        };
        let names: Vec<String> = columns.iter().map(|c| quoted(c)).collect();
        let values = vec![format!("({row})"); rows].join(",");
        format!(
            "{verb} INTO {}.{} ({}) VALUES {values}",
            quoted(&self.name.schema),
            quoted(&self.name.name),
            names.join(",")
        )
    }

    /// A field as the value of its column.
    fn value(&self, target: usize, field: Field) -> Result<Value, SqlError> {
        let Field::Text(text) = field else {
            return Ok(Value::Null);
        };
        let Target::Column(name) = &self.targets[target] else {
            return Err(SqlError::internal("a variable is no column"));
        };
        let mut columns = self.columns.iter();
        let ty = columns.find(|c| same_name(&c.name, name)).map(|c| &c.ty);
        let bytes = |t: &DataType| {
            matches!(
                t,
                DataType::Binary(_) | DataType::VarBinary(_) | DataType::Blob(_) | DataType::Bit(_)
            )
        };
        let charset = self.collation.charset();
        if charset == Charset::Binary || ty.is_some_and(bytes) {
            return Ok(Value::Bytes(text));
        }
        match charset.first_invalid(&text) {
            None => Ok(Value::Str(
                match charset {
                    Charset::Utf8mb4 => text,
                    other => to_utf8(other, &text).into_bytes(),
                },
                CollationId::DEFAULT,
            )),
            Some(at) => {
                let shown: String = text[at..]
                    .iter()
                    .take(6)
                    .map(|b| format!("\\x{b:02X}"))
                    .collect();
                Err(SqlError::invalid_character_string(charset.name(), &shown))
            }
        }
    }

    fn count(&mut self, done: &Done) {
        self.affected += done.affected;
        self.first_id = self.first_id.or(done.generated_id);
    }
}
