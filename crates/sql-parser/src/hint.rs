//! Optimizer hints, as MySQL 8.0 reads them: a fault ends the list, what stands before it counts, and the statement goes on with a
//! warning. As in MySQL's manual, "Optimizer Hints".

use super::ast::{
    Hint, HintValue, HintedTable, Hints, IndexHintUse, Name, OrderKind, SemijoinStrategy, SetVar,
    TableHint,
};
use super::parser::Parser;

/// Bytes of the text that a warning shows.
const SHOWN: usize = 80;

/// A token of a hint.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(Name),
    Quoted(Name),
    Text(Name),
    Number(u64),
    /// A number behind which `K`, `M` or `G` stands, multiplied out.
    Size(u64),
    Sign(u8),
    End,
}

/// The text of a hint comment, token by token.
struct Cursor<'p, 'a> {
    parser: &'p Parser<'a>,
    text: &'a [u8],
    /// Where the next token is looked for.
    at: usize,
    /// Where the current one starts.
    start: usize,
    end: usize,
    /// Where the parenthesis was that ended the last hint with one argument.
    closed: usize,
    token: Token,
}

/// The list is over: at this byte there is what should not be there.
struct Fault(usize);

impl<'a> Parser<'a> {
    /// What stands in the optimizer hints (`/*+ .. */`) between the last token taken and the current one.
    fn hint(&self) -> Option<&'a [u8]> {
        let comments = &self.lexer.comments;
        let from = comments.partition_point(|c| c.0 < self.last_end);
        let text = self.text();
        comments[from..]
            .iter()
            .take_while(|c| c.1 <= self.tok.start)
            .map(|c| &text[c.0 as usize..c.1 as usize])
            .next()
            .and_then(|c| c.strip_prefix(b"/*+")?.strip_suffix(b"*/"))
    }

    /// The hints between the last token taken and the current one.
    pub fn hints(&mut self) -> Hints {
        let mut hints = Hints::default();
        let Some(inside) = self.hint() else {
            return hints;
        };
        let text = self.text();
        // Where the comment's content lies in the text.
        let from = inside.as_ptr() as usize - text.as_ptr() as usize;
        let mut c = Cursor {
            parser: self,
            text,
            at: from,
            start: from,
            end: from + inside.len(),
            closed: from,
            token: Token::End,
        };
        c.bump();
        let fault = |hints: &mut Hints, what: &str, at: usize| {
            let mut shown = self.options.utf8(&text[at..]).into_owned();
            shown.truncate(SHOWN);
            let line = 1 + text[..at].iter().filter(|b| **b == b'\n').count();
            let near = String::from_utf8_lossy(&shown);
            hints
                .faults
                .push(format!("{what} near '{near}' at line {line}").into());
        };
        loop {
            match c.hint() {
                Ok(Some(hint)) => hints.list.push(hint),
                Ok(None) => fault(&mut hints, "Unsupported MAX_EXECUTION_TIME", c.closed),
                Err(Fault(at)) => {
                    fault(&mut hints, "Optimizer hint syntax error", at);
                    break;
                }
            }
            if c.token == Token::End {
                break;
            }
        }
        hints
    }

    /// Notes the `SET_VAR` of a block whose inner blocks have been read: the first for a variable counts.
    pub fn gather(&mut self, hints: &Hints) {
        let set = hints.list.iter().filter_map(|h| match h {
            Hint::SetVar(v) => Some(v.clone()),
            _ => None,
        });
        self.set_vars.extend(set);
    }
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
}

impl Cursor<'_, '_> {
    fn utf8(&self, part: &[u8]) -> Name {
        String::from_utf8_lossy(&self.parser.options.utf8(part)).into()
    }

    /// Moves to the next token, and yields the one it leaves.
    fn bump(&mut self) -> Token {
        while self.at < self.end && self.text[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
        self.start = self.at;
        let next = self.lex();
        std::mem::replace(&mut self.token, next)
    }

    fn lex(&mut self) -> Token {
        let rest = &self.text[self.at..self.end];
        let Some(&first) = rest.first() else {
            return Token::End;
        };
        if is_word(first) {
            let len = rest.iter().position(|b| !is_word(*b)).unwrap_or(rest.len());
            let word = &rest[..len];
            self.at += len;
            return number(word).unwrap_or_else(|| Token::Word(self.utf8(word)));
        }
        let quote = first;
        let identifier = quote == b'`' || quote == b'"' && self.parser.options.ansi_quotes;
        if !identifier && quote != b'"' && quote != b'\'' {
            self.at += 1;
            return Token::Sign(first);
        }
        let mut content = Vec::new();
        let mut i = 1;
        loop {
            match (rest.get(i), rest.get(i + 1)) {
                (None, _) => {
                    self.at += 1;
                    return Token::Sign(first);
                }
                (Some(&b), Some(&c)) if b == quote && c == quote => {
                    content.push(b);
                    i += 2;
                }
                (Some(&b), _) if b == quote => break,
                (Some(b'\\'), Some(&c))
                    if !identifier && !self.parser.options.no_backslash_escapes =>
                {
                    content.push(c);
                    i += 2;
                }
                (Some(&b), _) => {
                    content.push(b);
                    i += 1;
                }
            }
        }
        self.at += i + 1;
        let content = self.utf8(&content);
        match identifier {
            true => Token::Quoted(content),
            false => Token::Text(content),
        }
    }

    fn fault<T>(&self) -> Result<T, Fault> {
        Err(Fault(self.start))
    }

    fn takes(&mut self, sign: u8) -> bool {
        let is = self.token == Token::Sign(sign);
        if is {
            self.bump();
        }
        is
    }

    fn needs(&mut self, sign: u8) -> Result<(), Fault> {
        match self.takes(sign) {
            true => Ok(()),
            false => self.fault(),
        }
    }

    fn name(&mut self) -> Result<Name, Fault> {
        match &self.token {
            Token::Word(n) | Token::Quoted(n) => {
                let n = n.clone();
                self.bump();
                Ok(n)
            }
            _ => self.fault(),
        }
    }

    /// `@block`, or nothing.
    fn block(&mut self) -> Result<Option<Name>, Fault> {
        match self.takes(b'@') {
            true => self.name().map(Some),
            false => Ok(None),
        }
    }

    fn table(&mut self) -> Result<HintedTable, Fault> {
        Ok(HintedTable {
            name: self.name()?,
            block: self.block()?,
        })
    }

    /// `x, y, ..` up to the parenthesis, which is taken; perhaps nothing.
    fn list<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let mut all = Vec::new();
        if self.takes(b')') {
            return Ok(all);
        }
        loop {
            all.push(one(self)?);
            if !self.takes(b',') {
                self.needs(b')')?;
                return Ok(all);
            }
        }
    }

    /// One hint; `None` for a time that is too long.
    fn hint(&mut self) -> Result<Option<Hint>, Fault> {
        let Token::Word(word) = &self.token else {
            return self.fault();
        };
        let word = word.to_ascii_uppercase();
        let (on, bare) = match word.strip_prefix("NO_") {
            Some(bare) => (false, bare),
            None => (true, &*word),
        };
        let start = self.start;
        let hint = match &*word {
            "QB_NAME" | "RESOURCE_GROUP" | "MAX_EXECUTION_TIME" | "SET_VAR" => {
                return self.single(&word);
            }
            "JOIN_FIXED_ORDER" => self.order(OrderKind::Fixed)?,
            "JOIN_ORDER" => self.order(OrderKind::Relative)?,
            "JOIN_PREFIX" => self.order(OrderKind::Prefix)?,
            "JOIN_SUFFIX" => self.order(OrderKind::Suffix)?,
            "SEMIJOIN" | "NO_SEMIJOIN" => self.semijoin(on)?,
            "SUBQUERY" => self.subquery()?,
            _ => {
                if let Some(what) = table_hint(bare) {
                    self.tables(what, on)?
                } else if let Some(what) = index_hint(bare, on) {
                    self.indexes(what, on)?
                } else {
                    return Err(Fault(start));
                }
            }
        };
        Ok(Some(hint))
    }

    fn opened(&mut self) -> Result<(), Fault> {
        self.bump();
        self.needs(b'(')
    }

    /// A hint with one argument.
    fn single(&mut self, word: &str) -> Result<Option<Hint>, Fault> {
        self.opened()?;
        let hint = match word {
            "QB_NAME" => Some(Hint::BlockName(self.name()?)),
            "RESOURCE_GROUP" => Some(Hint::ResourceGroup(self.name()?)),
            "SET_VAR" => {
                let name = self.name()?;
                self.needs(b'=')?;
                let value = match &self.token {
                    Token::Number(n) | Token::Size(n) => HintValue::Number(*n),
                    Token::Word(w) | Token::Quoted(w) => HintValue::Word(w.clone()),
                    Token::Text(t) => HintValue::Text(t.clone()),
                    _ => return self.fault(),
                };
                self.bump();
                Some(Hint::SetVar(SetVar { name, value }))
            }
            _ => {
                let Token::Number(n) = self.token else {
                    return self.fault();
                };
                // `1.5` is no number here, and is told as it is written.
                if self.text.get(self.at) == Some(&b'.') {
                    return self.fault();
                }
                self.bump();
                u32::try_from(n).ok().map(Hint::MaxExecutionTime)
            }
        };
        self.closed = self.start;
        self.needs(b')')?;
        Ok(hint)
    }

    fn order(&mut self, kind: OrderKind) -> Result<Hint, Fault> {
        self.opened()?;
        let block = self.block()?;
        let tables = match kind {
            OrderKind::Fixed => {
                self.needs(b')')?;
                Vec::new()
            }
            _ => {
                if self.token == Token::Sign(b')') {
                    return self.fault();
                }
                self.list(Self::table)?
            }
        };
        Ok(Hint::Order {
            kind,
            block,
            tables,
        })
    }

    fn tables(&mut self, what: TableHint, on: bool) -> Result<Hint, Fault> {
        self.opened()?;
        let block = self.block()?;
        let named = block.is_some();
        let tables = self.list(|c| match named {
            true => Ok(HintedTable {
                name: c.name()?,
                block: None,
            }),
            false => c.table(),
        })?;
        Ok(Hint::Table {
            what,
            on,
            block,
            tables,
        })
    }

    fn indexes(&mut self, what: IndexHintUse, on: bool) -> Result<Hint, Fault> {
        self.opened()?;
        let block = self.block()?;
        let table = match block {
            Some(_) => HintedTable {
                name: self.name()?,
                block,
            },
            None => self.table()?,
        };
        Ok(Hint::Index {
            what,
            on,
            table,
            indexes: self.list(Self::name)?,
        })
    }

    fn semijoin(&mut self, on: bool) -> Result<Hint, Fault> {
        self.opened()?;
        let block = self.block()?;
        let strategies = self.list(|c| {
            let Token::Word(w) = &c.token else {
                return c.fault();
            };
            let known = match &*w.to_ascii_uppercase() {
                "FIRSTMATCH" => SemijoinStrategy::FirstMatch,
                "LOOSESCAN" => SemijoinStrategy::LooseScan,
                "MATERIALIZATION" => SemijoinStrategy::Materialization,
                "DUPSWEEDOUT" => SemijoinStrategy::DuplicateWeedout,
                _ => return c.fault(),
            };
            c.bump();
            Ok(known)
        })?;
        Ok(Hint::Semijoin {
            on,
            block,
            strategies,
        })
    }

    fn subquery(&mut self) -> Result<Hint, Fault> {
        self.opened()?;
        let block = self.block()?;
        let Token::Word(w) = &self.token else {
            return self.fault();
        };
        let materialize = match &*w.to_ascii_uppercase() {
            "MATERIALIZATION" => true,
            "INTOEXISTS" => false,
            _ => return self.fault(),
        };
        self.bump();
        self.needs(b')')?;
        Ok(Hint::Subquery { block, materialize })
    }
}

/// Digits, perhaps with a letter that multiplies them.
fn number(word: &[u8]) -> Option<Token> {
    let digits = word.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 {
        return None;
    }
    let n = super::parser::parse_u64(&word[..digits])?;
    let shift = match &word[digits..] {
        [] => return Some(Token::Number(n)),
        [b'k' | b'K'] => 10,
        [b'm' | b'M'] => 20,
        [b'g' | b'G'] => 30,
        _ => return None,
    };
    n.checked_mul(1 << shift).map(Token::Size)
}

fn table_hint(bare: &str) -> Option<TableHint> {
    Some(match bare {
        "BKA" => TableHint::BatchedKeys,
        "BNL" => TableHint::BlockNestedLoop,
        "HASH_JOIN" => TableHint::HashJoin,
        "MERGE" => TableHint::Merge,
        "DERIVED_CONDITION_PUSHDOWN" => TableHint::ConditionPushdown,
        _ => return None,
    })
}

fn index_hint(bare: &str, on: bool) -> Option<IndexHintUse> {
    Some(match bare {
        "INDEX" => IndexHintUse::Any,
        "JOIN_INDEX" => IndexHintUse::Join,
        "GROUP_INDEX" => IndexHintUse::Group,
        "ORDER_INDEX" => IndexHintUse::Order,
        "INDEX_MERGE" => IndexHintUse::Merge,
        "MRR" => IndexHintUse::MultiRange,
        "SKIP_SCAN" => IndexHintUse::SkipScan,
        // These can only be forbidden.
        "ICP" if !on => IndexHintUse::ConditionPushdown,
        "RANGE_OPTIMIZATION" if !on => IndexHintUse::Range,
        _ => return None,
    })
}
