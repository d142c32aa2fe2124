//! `PARTITION BY ..`.

use super::ast::*;
use super::keyword::Kw;
use super::lexer::T;
use super::parser::{Parser, R};

impl Parser<'_> {
    /// `PARTITION BY ..`.
    pub fn partition_by(&mut self) -> R<Partitioning> {
        self.expect_all(&[Kw::PARTITION, Kw::BY])?;
        let method = self.partition_method()?;
        let count = self.opt_count(Kw::PARTITIONS)?;
        let subpartition = if self.eat(Kw::SUBPARTITION) {
            self.expect(Kw::BY)?;
            let method = self.partition_method()?;
            Some((method, self.opt_count(Kw::SUBPARTITIONS)?))
        } else {
            None
        };
        let partitions = if self.is(T::LParen) {
            self.partition_defs()?
        } else {
            Vec::new()
        };
        Ok(Partitioning {
            method,
            count,
            subpartition,
            partitions,
        })
    }

    /// `word n`, or nothing.
    fn opt_count(&mut self, word: Kw) -> R<Option<u64>> {
        if self.eat(word) {
            return self.number().map(Some);
        }
        Ok(None)
    }

    fn partition_method(&mut self) -> R<PartitionMethod> {
        let linear = self.eat(Kw::LINEAR);
        if self.eat(Kw::HASH) {
            let expr = self.parens(Self::bit_expr)?;
            return Ok(PartitionMethod::Hash { linear, expr });
        }
        if self.eat(Kw::KEY) {
            let mut algorithm = None;
            if self.eat(Kw::ALGORITHM) {
                self.need(T::Eq)?;
                algorithm = Some(self.number()?);
            }
            self.need(T::LParen)?;
            let columns = if self.is(T::RParen) {
                Vec::new()
            } else {
                self.list(Self::ident)?
            };
            self.need(T::RParen)?;
            return Ok(PartitionMethod::Key {
                linear,
                algorithm,
                columns,
            });
        }
        if linear {
            return self.fail();
        }
        if self.eat(Kw::RANGE) {
            if self.eat(Kw::COLUMNS) {
                let columns = self.parens_list(Self::ident)?;
                return Ok(PartitionMethod::RangeColumns(columns));
            }
            return Ok(PartitionMethod::Range(self.parens(Self::bit_expr)?));
        }
        self.expect(Kw::LIST)?;
        if self.eat(Kw::COLUMNS) {
            let columns = self.parens_list(Self::ident)?;
            return Ok(PartitionMethod::ListColumns(columns));
        }
        Ok(PartitionMethod::List(self.parens(Self::bit_expr)?))
    }

    /// `(PARTITION p .., ..)`.
    pub fn partition_defs(&mut self) -> R<Vec<PartitionDef>> {
        self.parens_list(|p| {
            p.expect(Kw::PARTITION)?;
            let name = p.ident()?;
            let values = p.partition_values()?;
            let options = p.partition_options()?;
            let subpartitions = if p.is(T::LParen) {
                p.parens_list(|p| {
                    p.expect(Kw::SUBPARTITION)?;
                    let name = p.ident_or_text()?;
                    Ok((name, p.partition_options()?))
                })?
            } else {
                Vec::new()
            };
            Ok(PartitionDef {
                name,
                values,
                options,
                subpartitions,
            })
        })
    }

    fn partition_options(&mut self) -> R<Vec<TableOption>> {
        let mut options = Vec::new();
        loop {
            if self.at(Kw::STORAGE) && self.at_ahead(1, Kw::ENGINE) {
                self.bump();
            }
            match self.table_option()? {
                Some(option) => options.push(option),
                None => return Ok(options),
            }
        }
    }

    fn partition_values(&mut self) -> R<PartitionValues> {
        if !self.eat(Kw::VALUES) {
            return Ok(PartitionValues::None);
        }
        if self.eat(Kw::LESS) {
            self.expect(Kw::THAN)?;
            if self.eat(Kw::MAXVALUE) {
                return Ok(PartitionValues::LessThan(vec![None]));
            }
            let values = self.parens_list(Self::partition_value)?;
            return Ok(PartitionValues::LessThan(values));
        }
        self.expect(Kw::IN)?;
        let rows = self.parens_list(|p| {
            let row_follows = p.is(T::LParen);
            if row_follows {
                return p.parens_list(Self::partition_value);
            }
            Ok(vec![p.partition_value()?])
        })?;
        Ok(PartitionValues::In(rows))
    }

    fn partition_value(&mut self) -> R<Option<Expr>> {
        if self.eat(Kw::MAXVALUE) {
            return Ok(None);
        }
        self.bit_expr().map(Some)
    }
}
