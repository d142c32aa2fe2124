//! SIGNAL, RESIGNAL and GET DIAGNOSTICS, in programs and outside of them.
//!
//! Source: MySQL 8.0's manual, "SIGNAL Statement", "RESIGNAL Statement", "GET DIAGNOSTICS Statement".

use types::error::{SqlState, codes};
use types::{Level, SqlError, Value, Warning};

use crate::context::{Said, Session};
use sql_expr::vars::VarInput;
use sql_expr::{ExprType, UserVar, Val};
use sql_parser::ast::{ConditionValue, Expr, GetDiagnostics, Signal};
use sql_plan::sink::Done;
use sql_program::condition::{Item, Signalled, check_asked, check_items, state_of};

/// Characters of a message, and of every other item.
const MESSAGE: usize = 128;
const OTHER: usize = 64;

/// What SIGNAL says of a condition.
#[derive(Default)]
pub(super) struct Words {
    number: Option<u16>,
    message: Option<String>,
    said: Said,
}

impl Words {
    /// One more item.
    ///
    /// # Errors
    /// 1231, 1648.
    pub fn add(
        &mut self,
        item: Item,
        (value, ty): (&Val<'_>, &ExprType),
        strict: bool,
    ) -> Result<Option<Warning>, SqlError> {
        let input = VarInput::from_val(value, ty);
        let wrong = |shown: &str| {
            SqlError::new(
                codes::ER_WRONG_VALUE_FOR_VAR,
                format!(
                    "Variable '{}' can't be set to the value of '{shown}'",
                    item.name()
                ),
            )
        };
        let text = match input {
            VarInput::Text(t) => t,
            VarInput::Int(n) => n.to_string(),
            VarInput::Uint(n) => n.to_string(),
            VarInput::Double(n) => n.to_string(),
            VarInput::Null | VarInput::Default => return Err(wrong("NULL")),
        };
        if item == Item::MysqlErrno {
            let number = text.trim().parse::<u16>().ok().filter(|n| *n > 0);
            self.number = Some(number.ok_or_else(|| wrong(&text))?);
            return Ok(None);
        }
        let most = match item {
            Item::MessageText => MESSAGE,
            _ => OTHER,
        };
        let mut warning = None;
        let mut kept = text;
        if kept.chars().count() > most {
            let e = SqlError::new(
                codes::ER_COND_ITEM_TOO_LONG,
                format!("Data too long for condition item '{}'", item.name()),
            );
            if strict {
                return Err(e);
            }
            warning = Some(Warning::from_error(e));
            kept = kept.chars().take(most).collect();
        }
        if item == Item::MessageText {
            self.message = Some(kept);
        } else {
            self.said.items.insert(item, kept);
        }
        Ok(warning)
    }
}

impl Session {
    /// SIGNAL of a condition.
    ///
    /// # Errors
    /// The condition, unless it is a warning: it is among the conditions then.
    pub(super) fn signal(&mut self, s: Signalled, words: Words) -> Result<(), SqlError> {
        self.diagnostics.clear();
        self.raise(s, words)
    }

    fn raise(&mut self, s: Signalled, words: Words) -> Result<(), SqlError> {
        let number = words.number.unwrap_or_else(|| s.number());
        let message = words.message.unwrap_or_else(|| {
            let own = codes::info(s.number()).map_or("", |c| c.template);
            own.to_owned()
        });
        let said = Said {
            state: Some(s.state),
            ..words.said
        };
        let warning = Warning::new(s.level(), number, message.clone());
        let max = self.vars.hot().max_error_count;
        self.diagnostics.push_said(warning, said, max);
        self.facts.row_count = if s.level() == Level::Error { -1 } else { 0 };
        if s.level() != Level::Error {
            return Ok(());
        }
        self.diagnostics.note_error();
        Err(SqlError::new(number, message).with_state(s.state))
    }

    /// RESIGNAL: what a handler was called for is raised again, as it was or changed, or another condition beside it.
    ///
    /// # Errors
    /// The condition, unless it is a warning; 1645: no handler is at work.
    pub(super) fn resignal(&mut self, s: Option<Signalled>, words: Words) -> Result<(), SqlError> {
        let Some((raised, warning, mut said)) = self.diagnostics.handled() else {
            return Err(SqlError::fixed(codes::ER_RESIGNAL_WITHOUT_ACTIVE_HANDLER));
        };
        if let Some(s) = s {
            self.diagnostics.restore_handled(None);
            return self.raise(s, words);
        }
        let number = words.number.unwrap_or(warning.code);
        let message = words.message.unwrap_or(warning.message);
        said.state = Some(raised.state);
        said.items.extend(words.said.items);
        let changed = Warning::new(raised.level, number, message.clone());
        self.diagnostics.restore_handled(Some((changed, said)));
        if raised.level != Level::Error {
            return Ok(());
        }
        self.diagnostics.note_error();
        Err(SqlError::new(number, message).with_state(raised.state))
    }

    /// SIGNAL and RESIGNAL that stand alone.
    pub(crate) async fn run_signal(
        &mut self,
        s: &Signal,
        again: bool,
        params: &[Value],
    ) -> Result<Done, SqlError> {
        let condition = match &s.condition {
            None => None,
            Some(ConditionValue::SqlState(text)) => Some(Signalled {
                state: state_of(text)?,
            }),
            Some(ConditionValue::Named(name)) => {
                return Err(SqlError::new(
                    codes::ER_SP_COND_MISMATCH,
                    format!("Undefined CONDITION: {name}"),
                ));
            }
            Some(_) => return Err(SqlError::fixed(codes::ER_SIGNAL_BAD_CONDITION_TYPE)),
        };
        let items = check_items(s.items.iter().map(|(name, _)| &**name))?;
        let mut words = Words::default();
        for (item, (_, value)) in items.into_iter().zip(&s.items) {
            let value = self.eval(value, params).await?;
            self.add_words(&mut words, item, value)?;
        }
        match (condition, again) {
            (condition, true) => self.resignal(condition, words)?,
            (Some(condition), false) => self.signal(condition, words)?,
            (None, false) => return Err(SqlError::parse_error("", 1)),
        }
        Ok(Done::default())
    }

    pub(super) fn add_words(
        &mut self,
        words: &mut Words,
        item: Item,
        (value, ty): (Val<'static>, ExprType),
    ) -> Result<(), SqlError> {
        let strict = self.vars.hot().sql_mode.strict();
        if let Some(w) = words.add(item, (&value, &ty), strict)? {
            self.warn(w);
        }
        Ok(())
    }

    /// GET DIAGNOSTICS that stands alone: its targets are user variables.
    pub(crate) async fn run_get_diagnostics(
        &mut self,
        g: &GetDiagnostics,
        params: &[Value],
    ) -> Result<Done, SqlError> {
        let mut names = Vec::with_capacity(g.items.len());
        for (target, _) in &g.items {
            match target {
                Expr::UserVar(name) => names.push(name),
                Expr::Column(c) => {
                    return Err(SqlError::new(
                        codes::ER_SP_UNDECLARED_VAR,
                        format!("Undeclared variable: {}", c.name),
                    ));
                }
                _ => return Err(SqlError::parse_error("", 1)),
            }
        }
        let asked = || g.items.iter().map(|(_, item)| &**item);
        check_asked(g.condition.is_some(), asked())?;
        let condition = match &g.condition {
            Some(e) => Some(self.eval(e, params).await?),
            None => None,
        };
        match self.diagnostics_items(g.stacked, condition.as_ref(), asked()) {
            Ok(values) => {
                for (name, (value, ty)) in names.into_iter().zip(values) {
                    self.user_vars.lock().set(name, UserVar { value, ty });
                }
            }
            Err(e) => self.not_diagnosed(e)?,
        }
        Ok(Done::default())
    }

    /// GET DIAGNOSTICS cannot say what it was asked for: that is one more condition, and no failure, unless no handler is at work for `STACKED`.
    pub(super) fn not_diagnosed(&mut self, e: SqlError) -> Result<(), SqlError> {
        if e.code == codes::ER_GET_STACKED_DA_WITHOUT_ACTIVE_HANDLER {
            return Err(e);
        }
        self.warn(Warning::new(Level::Error, e.code, e.message));
        Ok(())
    }

    /// The values of items of the diagnostics; of a condition where there is its number, of the statement otherwise.
    ///
    /// # Errors
    /// 1064: an item that is none; 1758: no condition has the number; 1887: no handler is at work.
    pub(super) fn diagnostics_items<'n>(
        &self,
        stacked: bool,
        condition: Option<&(Val<'static>, ExprType)>,
        items: impl Iterator<Item = &'n str>,
    ) -> Result<Vec<(Val<'static>, ExprType)>, SqlError> {
        let Some(count) = self.diagnostics.count(stacked) else {
            return Err(SqlError::fixed(
                codes::ER_GET_STACKED_DA_WITHOUT_ACTIVE_HANDLER,
            ));
        };
        let number = |n: u64| (Val::Uint(n), ExprType::uint(20, true));
        let Some((value, ty)) = condition else {
            let one = |item: &str| match item {
                "NUMBER" => Ok(number(count)),
                "ROW_COUNT" => Ok((Val::Int(self.facts.row_count), ExprType::int(20, true))),
                other => Err(SqlError::parse_error(other, 1)),
            };
            return items.map(one).collect();
        };
        let n = types::convert::to_int(value.as_value_ref(ty));
        let found = u64::try_from(n).ok();
        let found = found.and_then(|n| self.diagnostics.condition(stacked, n));
        let Some((warning, state, said)) = found else {
            return Err(SqlError::fixed(codes::ER_DA_INVALID_CONDITION_NUMBER));
        };
        let text = |t: &str| {
            let ty = ExprType::of_column(
                &types::DataType::varchar(512, types::CollationId::UTF8MB3_GENERAL_CI),
                true,
            );
            (Val::Bytes(t.as_bytes().to_vec().into()), ty)
        };
        let one = |item: &str| match (item, Item::named(item)) {
            ("RETURNED_SQLSTATE", _) => Ok(text(&state)),
            (_, Some(Item::MessageText)) => Ok(text(&warning.message)),
            (_, Some(Item::MysqlErrno)) => Ok(number(u64::from(warning.code))),
            (_, Some(item)) => Ok(text(&match said.and_then(|s| s.items.get(&item)) {
                Some(t) => t.clone(),
                None => by_itself(item, state).to_owned(),
            })),
            (other, None) => Err(SqlError::parse_error(other, 1)),
        };
        items.map(one).collect()
    }
}

/// What an item says of which nobody has said anything: which standard has the class and the subclass.
fn by_itself(item: Item, state: SqlState) -> &'static str {
    let of_iso = |b: Option<&u8>| matches!(b, Some(b'0'..=b'4' | b'A'..=b'H'));
    let bytes = state.as_bytes();
    let class = of_iso(bytes.first());
    let iso = match item {
        Item::ClassOrigin => class,
        Item::SubclassOrigin => class && of_iso(bytes.get(2)),
        _ => return "",
    };
    if iso { "ISO 9075" } else { "MySQL" }
}
