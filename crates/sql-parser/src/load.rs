//! `LOAD DATA`, and the `FIELDS` / `LINES` clauses it shares with `INTO OUTFILE`.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

impl Parser<'_> {
    /// A string written as text, in hexadecimal or in bits.
    pub fn text_string(&mut self) -> R<Box<[u8]>> {
        match self.tok.kind {
            T::Str => self.string(),
            T::HexNum | T::HexStr | T::BitNum | T::BitStr => match self.primary()? {
                Expr::Hex(bytes) | Expr::Bit(bytes) => Ok(bytes),
                _ => self.fail(),
            },
            _ => self.fail(),
        }
    }

    /// `[FIELDS ..] [LINES ..]`.
    pub fn text_format(&mut self) -> R<TextFormat> {
        let mut format = TextFormat::default();
        if self.eat(Kw::FIELDS) || self.eat(Kw::COLUMNS) {
            let mut any = false;
            loop {
                if self.eat2(Kw::TERMINATED, Kw::BY) {
                    format.fields_terminated = Some(self.text_string()?);
                } else if self.at(Kw::OPTIONALLY) || self.at(Kw::ENCLOSED) {
                    format.optionally = self.eat(Kw::OPTIONALLY);
                    self.expect_all(&[Kw::ENCLOSED, Kw::BY])?;
                    format.enclosed = Some(self.text_string()?);
                } else if self.eat2(Kw::ESCAPED, Kw::BY) {
                    format.escaped = Some(self.text_string()?);
                } else if any {
                    break;
                } else {
                    return self.fail();
                }
                any = true;
            }
        }
        if self.eat(Kw::LINES) {
            let mut any = false;
            loop {
                if self.eat2(Kw::TERMINATED, Kw::BY) {
                    format.lines_terminated = Some(self.text_string()?);
                } else if self.eat2(Kw::STARTING, Kw::BY) {
                    format.lines_starting = Some(self.text_string()?);
                } else if any {
                    break;
                } else {
                    return self.fail();
                }
                any = true;
            }
        }
        Ok(format)
    }

    /// `LOAD DATA ..` and `LOAD XML ..`.
    pub fn load_data(&mut self) -> R<Statement> {
        self.expect(Kw::LOAD)?;
        let xml = self.eat(Kw::XML);
        if !xml {
            self.expect(Kw::DATA)?;
        }
        let priority = match self.kw() {
            Kw::LOW_PRIORITY => WritePriority::Low,
            Kw::CONCURRENT => WritePriority::Concurrent,
            _ => WritePriority::Normal,
        };
        if priority != WritePriority::Normal {
            self.bump();
        }
        let local = self.eat(Kw::LOCAL);
        self.expect(Kw::INFILE)?;
        let path = self.string()?;
        let on_duplicate = if self.eat(Kw::REPLACE) {
            LoadDuplicates::Replace
        } else if self.eat(Kw::IGNORE) {
            LoadDuplicates::Ignore
        } else {
            LoadDuplicates::Default
        };
        self.expect_all(&[Kw::INTO, Kw::TABLE])?;
        let table = self.object_name()?;
        let partitions = self.opt_partitions()?;
        let charset = if self.eat_charset() {
            Some(self.charset_name()?)
        } else {
            None
        };
        let mut row_tag = None;
        if xml && self.eat(Kw::ROWS) {
            self.expect_all(&[Kw::IDENTIFIED, Kw::BY])?;
            row_tag = Some(self.text_string()?);
        }
        let format = self.text_format()?;
        let mut skip_lines = 0;
        if self.eat(Kw::IGNORE) {
            skip_lines = self.number()?;
            if !self.eat(Kw::LINES) {
                self.expect(Kw::ROWS)?;
            }
        }
        let mut columns = Vec::new();
        if self.take(T::LParen) && !self.take(T::RParen) {
            columns = self.list(Self::target_variable)?;
            self.need(T::RParen)?;
        }
        let assignments = if self.eat(Kw::SET) {
            self.list(Self::assignment)?
        } else {
            Vec::new()
        };
        Ok(Statement::LoadData(Box::new(LoadData {
            xml,
            priority,
            local,
            path,
            on_duplicate,
            table,
            partitions,
            charset,
            row_tag,
            format,
            skip_lines,
            columns,
            assignments,
        })))
    }
}
