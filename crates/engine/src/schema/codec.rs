//! Definitions as bytes: length-prefixed fields under a version number, so that a later version can add fields.

use super::def::*;
use base::PageNo;
use types::{CollationId, DataType, Value, rowfield};

/// Version written where nothing of the second is needed. A reader refuses a higher one than the last it knows.
const VERSION: u8 = 1;
/// Columns can have been added to rows that are there.
const FILLED: u8 = 2;
/// Indexes can have options that are only shown.
const ASKED: u8 = 3;
/// Columns can be generated, indexes can be made for a foreign key, and sections follow the definition: a tag, a length, and what the tag
/// stands for. A reader refuses a tag that it does not know, since rows would be written against what it says.
const SECTIONS: u8 = 4;

/// The section of foreign keys.
const FOREIGN_KEYS: u8 = 1;
/// The section of CHECK constraints.
const CHECKS: u8 = 2;
/// The section of functional key parts: which columns they are.
const KEY_PARTS: u8 = 3;
/// The section, empty, of a table that was discarded.
const DISCARDED: u8 = 4;
/// The section of multi-valued key parts: which columns they are, and the types of their elements.
const LISTS: u8 = 5;

/// No row is as long as this.
const BINARY_MAX: u32 = 65_535;

pub(super) struct Out(pub(super) Vec<u8>);

impl Out {
    pub(super) fn u8(&mut self, v: u8) {
        self.0.push(v);
    }
    fn u32(&mut self, v: u32) {
        self.0.extend_from_slice(&v.to_le_bytes());
    }
    fn u64(&mut self, v: u64) {
        self.0.extend_from_slice(&v.to_le_bytes());
    }
    pub(super) fn bytes(&mut self, b: &[u8]) {
        self.u32(b.len() as u32);
        self.0.extend_from_slice(b);
    }
    pub(super) fn str(&mut self, s: &str) {
        self.bytes(s.as_bytes());
    }
}

pub(super) struct In<'a>(pub(super) &'a [u8]);

impl<'a> In<'a> {
    fn read_bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (a, b) = self.0.split_at_checked(n)?;
        self.0 = b;
        Some(a)
    }
    pub(super) fn u8(&mut self) -> Option<u8> {
        self.read_bytes(1).map(|b| b[0])
    }
    fn u32(&mut self) -> Option<u32> {
        self.read_bytes(4).map(|b| base::le::get_u32(b, 0))
    }
    fn u64(&mut self) -> Option<u64> {
        self.read_bytes(8).map(|b| base::le::get_u64(b, 0))
    }
    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let n = self.u32()? as usize;
        self.read_bytes(n)
    }
    pub(super) fn str(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }
    fn count(&mut self) -> Option<usize> {
        let n = self.u32()? as usize;
        // Every element takes at least a byte: a damaged count cannot make us allocate without end.
        (n <= self.0.len()).then_some(n)
    }
}

impl SchemaDef {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut o = Out(vec![VERSION]);
        o.str(&self.name);
        o.u32(self.collation.0 as u32);
        o.0
    }

    /// From bytes; `None` if they are none.
    pub fn decode(b: &[u8]) -> Option<SchemaDef> {
        let mut i = In(b);
        if i.u8()? > VERSION {
            return None;
        }
        Some(SchemaDef {
            name: i.str()?,
            collation: CollationId(i.u32()? as u16),
        })
    }
}

impl TableDef {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let filled = self.columns.iter().any(|c| c.fill.is_some());
        let none = IndexOptions::default();
        let asked = self.indexes.iter().any(|x| x.asked != none);
        let sections = self.sections();
        let computed = self.columns.iter().any(|c| c.generated.is_some());
        let made_for_one = self.indexes.iter().any(|x| x.asked.for_foreign_key);
        let mut o = Out(vec![match (asked, filled) {
            _ if computed || made_for_one || !sections.is_empty() => SECTIONS,
            (true, _) => ASKED,
            (false, true) => FILLED,
            (false, false) => VERSION,
        }]);
        o.u32(self.id);
        o.str(&self.schema);
        o.str(&self.name);
        o.u32(self.columns.len() as u32);
        for c in &self.columns {
            column(&mut o, c);
        }
        o.u32(self.indexes.len() as u32);
        for x in &self.indexes {
            index(&mut o, x);
        }
        let p = &self.options;
        o.u32(p.collation.0 as u32);
        o.str(&p.comment);
        o.str(&p.row_format);
        o.u64(p.auto_increment);
        o.u64(p.created_us as u64);
        o.u32(p.others.len() as u32);
        for (k, v) in &p.others {
            o.str(k);
            o.str(v);
        }
        for (tag, content) in &sections {
            o.u8(*tag);
            o.bytes(content);
        }
        o.0
    }

    /// What follows the definition, by tag; no list that is empty.
    fn sections(&self) -> Vec<(u8, Vec<u8>)> {
        let mut sections = Vec::new();
        if !self.foreign_keys.is_empty() {
            sections.push((FOREIGN_KEYS, foreign_keys(&self.foreign_keys)));
        }
        if !self.checks.is_empty() {
            sections.push((CHECKS, checks(&self.checks)));
        }
        let columns = self.columns.iter().enumerate();
        let hidden: Vec<usize> = columns
            .filter(|(_, c)| c.is_hidden())
            .map(|(n, _)| n)
            .collect();
        if !hidden.is_empty() {
            let mut o = Out(Vec::new());
            o.u32(hidden.len() as u32);
            hidden.iter().for_each(|n| o.u32(*n as u32));
            sections.push((KEY_PARTS, o.0));
        }
        let lists = self.columns.iter().filter(|c| c.is_list()).count();
        if lists > 0 {
            let mut o = Out(Vec::new());
            o.u32(lists as u32);
            for (n, c) in self.columns.iter().enumerate().filter(|(_, c)| c.is_list()) {
                let mut ty = Vec::new();
                c.key_type().encode(&mut ty);
                o.u32(n as u32);
                o.bytes(&ty);
            }
            sections.push((LISTS, o.0));
        }
        if self.options.discarded {
            sections.push((DISCARDED, Vec::new()));
        }
        sections
    }

    /// Takes what follows the definition; `None` if it is not understood.
    fn read_sections(&mut self, i: &mut In<'_>) -> Option<()> {
        while !i.0.is_empty() {
            let (tag, content) = (i.u8()?, i.bytes()?);
            match tag {
                FOREIGN_KEYS => self.foreign_keys = read_foreign_keys(content, self.columns.len())?,
                CHECKS => self.checks = read_checks(content)?,
                KEY_PARTS => self.read_key_parts(content)?,
                LISTS => self.read_lists(content)?,
                DISCARDED => self.options.discarded = true,
                _ => return None,
            }
        }
        Some(())
    }

    /// Takes which columns are functional key parts; `None` if one is not generated.
    fn read_key_parts(&mut self, b: &[u8]) -> Option<()> {
        let mut i = In(b);
        for _ in 0..i.count()? {
            let column = self.columns.get_mut(i.u32()? as usize)?;
            column.generated.as_mut()?.hidden = true;
        }
        i.0.is_empty().then_some(())
    }

    /// Takes of which type the elements of multi-valued key parts are; `None` if one is no key part.
    fn read_lists(&mut self, b: &[u8]) -> Option<()> {
        let mut i = In(b);
        for _ in 0..i.count()? {
            let column = self.columns.get_mut(i.u32()? as usize)?;
            let generated = column.generated.as_mut().filter(|g| g.hidden)?;
            generated.elements = Some(DataType::decode(i.bytes()?)?.0);
        }
        i.0.is_empty().then_some(())
    }

    /// From bytes; `None` if they are none.
    pub fn decode(b: &[u8]) -> Option<TableDef> {
        let mut i = In(b);
        let version = i.u8()?;
        if version > SECTIONS {
            return None;
        }
        let (id, schema, name) = (i.u32()?, i.str()?, i.str()?);
        let n = i.count()?;
        let columns = (0..n)
            .map(|_| read_column(&mut i))
            .collect::<Option<Vec<_>>>()?;
        let n = i.count()?;
        let indexes = (0..n)
            .map(|_| read_index(&mut i))
            .collect::<Option<Vec<_>>>()?;
        let bad = |x: &IndexDef| x.parts.iter().any(|p| p.column as usize >= columns.len());
        if indexes.is_empty() || indexes.iter().any(bad) {
            return None;
        }
        let collation = CollationId(i.u32()? as u16);
        let (comment, row_format, auto_increment) = (i.str()?, i.str()?, i.u64()?);
        let created_us = i.u64()? as i64;
        let n = i.count()?;
        let others = (0..n)
            .map(|_| Some((i.str()?, i.str()?)))
            .collect::<Option<Vec<_>>>()?;
        let options = TableOptions {
            collation,
            comment,
            row_format,
            auto_increment,
            others,
            created_us,
            discarded: false,
        };
        let mut def = TableDef {
            id,
            schema,
            name,
            columns,
            indexes,
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            options,
        };
        if version >= SECTIONS {
            def.read_sections(&mut i)?;
        }
        Some(def)
    }
}

fn checks(list: &[CheckDef]) -> Vec<u8> {
    let mut o = Out(Vec::new());
    o.u32(list.len() as u32);
    for c in list {
        o.str(&c.name);
        o.str(&c.clause);
        o.u8(c.enforced as u8);
    }
    o.0
}

fn read_checks(b: &[u8]) -> Option<Vec<CheckDef>> {
    let mut i = In(b);
    let n = i.count()?;
    let read = |_| {
        Some(CheckDef {
            name: i.str()?,
            clause: i.str()?,
            enforced: i.u8()? != 0,
        })
    };
    (0..n).map(read).collect()
}

fn column(o: &mut Out, c: &ColumnDef) {
    o.str(&c.name);
    let mut ty = Vec::new();
    c.ty.encode(&mut ty);
    o.bytes(&ty);
    let flags = [
        c.nullable,
        c.on_update_now,
        c.auto_increment,
        c.generated.is_some(),
        c.invisible,
        c.fill.is_some(),
        c.generated.as_ref().is_some_and(|g| g.stored),
    ];
    o.u8(flags
        .iter()
        .enumerate()
        .fold(0, |f, (i, b)| f | (*b as u8) << i));
    o.str(&c.comment);
    if let Some(g) = &c.generated {
        o.str(&g.expr);
    }
    match &c.default {
        ColumnDefault::None => o.u8(0),
        ColumnDefault::Null => o.u8(1),
        ColumnDefault::Literal(v) => {
            o.u8(2);
            let mut b = Vec::new();
            rowfield::store(&c.ty, v.as_ref(), &mut b);
            o.bytes(&b);
        }
        ColumnDefault::Now => o.u8(3),
        ColumnDefault::Expr(s) => {
            o.u8(4);
            o.str(s);
        }
    }
    if let Some(v) = &c.fill {
        let mut b = Vec::new();
        if !v.is_null() {
            rowfield::store(&c.ty, v.as_ref(), &mut b);
        }
        o.u8(v.is_null() as u8);
        o.bytes(&b);
    }
}

fn read_column(i: &mut In<'_>) -> Option<ColumnDef> {
    let name = i.str()?;
    let ty = DataType::decode(i.bytes()?)?.0;
    if matches!(ty, DataType::Binary(n) if n > BINARY_MAX) {
        // Its values are padded: a damaged length would have us allocate without end.
        return None;
    }
    let flags = i.u8()?;
    let flag = |n: u8| flags & (1 << n) != 0;
    let comment = i.str()?;
    let mut generated = None;
    if flag(3) {
        generated = Some(GeneratedDef {
            expr: i.str()?,
            stored: flag(6),
            hidden: false,
            elements: None,
        });
    }
    let default = match i.u8()? {
        0 => ColumnDefault::None,
        1 => ColumnDefault::Null,
        2 => {
            let v: Value = rowfield::load(&ty, i.bytes()?).to_owned();
            ColumnDefault::Literal(v)
        }
        3 => ColumnDefault::Now,
        4 => ColumnDefault::Expr(i.str()?),
        _ => return None,
    };
    let mut fill = None;
    if flag(5) {
        let null = i.u8()? != 0;
        let b = i.bytes()?;
        fill = Some(match null {
            true => Value::Null,
            false => rowfield::load(&ty, b).to_owned(),
        });
    }
    Some(ColumnDef {
        name,
        ty,
        nullable: flag(0),
        default,
        fill,
        on_update_now: flag(1),
        auto_increment: flag(2),
        comment,
        generated,
        invisible: flag(4),
    })
}

fn index(o: &mut Out, x: &IndexDef) {
    o.u32(x.id);
    o.str(&x.name);
    o.u8(match x.kind {
        IndexKind::Primary => 0,
        IndexKind::Unique => 1,
        IndexKind::Plain => 2,
        IndexKind::Hidden => 3,
    });
    let IndexOptions {
        btree,
        key_block_size,
        for_foreign_key,
    } = x.asked;
    let flags = [x.invisible, btree, key_block_size > 0, for_foreign_key];
    let bits = flags.iter().enumerate();
    o.u8(bits.fold(0, |f, (i, b)| f | u8::from(*b) << i));
    if key_block_size > 0 {
        o.u32(u32::from(key_block_size));
    }
    o.u32(x.root.0);
    o.str(&x.comment);
    o.u32(x.parts.len() as u32);
    for p in &x.parts {
        o.u32(p.column as u32);
        o.u32(p.prefix);
        o.u8(p.descending as u8);
    }
}

fn read_index(i: &mut In<'_>) -> Option<IndexDef> {
    let (id, name) = (i.u32()?, i.str()?);
    let kind = match i.u8()? {
        0 => IndexKind::Primary,
        1 => IndexKind::Unique,
        2 => IndexKind::Plain,
        3 => IndexKind::Hidden,
        _ => return None,
    };
    let flags = i.u8()?;
    if flags > 15 {
        return None;
    }
    let asked = IndexOptions {
        btree: flags & 2 != 0,
        key_block_size: match flags & 4 {
            0 => 0,
            _ => u16::try_from(i.u32()?).ok()?,
        },
        for_foreign_key: flags & 8 != 0,
    };
    let root = PageNo(i.u32()?);
    let comment = i.str()?;
    let n = i.count()?;
    let parts = (0..n)
        .map(|_| {
            Some(IndexPart {
                column: i.u32()? as u16,
                prefix: i.u32()?,
                descending: i.u8()? != 0,
            })
        })
        .collect::<Option<Vec<_>>>()?;
    Some(IndexDef {
        id,
        name,
        kind,
        parts,
        comment,
        root,
        invisible: flags & 1 != 0,
        asked,
    })
}

fn action(a: ReferenceAction) -> u8 {
    match a {
        ReferenceAction::NoAction => 0,
        ReferenceAction::Restrict => 1,
        ReferenceAction::Cascade => 2,
        ReferenceAction::SetNull => 3,
    }
}

fn read_action(b: u8) -> Option<ReferenceAction> {
    Some(match b {
        0 => ReferenceAction::NoAction,
        1 => ReferenceAction::Restrict,
        2 => ReferenceAction::Cascade,
        3 => ReferenceAction::SetNull,
        _ => return None,
    })
}

fn foreign_keys(list: &[ForeignKeyDef]) -> Vec<u8> {
    let mut o = Out(Vec::new());
    o.u32(list.len() as u32);
    for k in list {
        foreign_key(&mut o, k);
    }
    o.0
}

/// Those of a table with so many columns.
fn read_foreign_keys(b: &[u8], columns: usize) -> Option<Vec<ForeignKeyDef>> {
    let mut i = In(b);
    let n = i.count()?;
    let keys = (0..n)
        .map(|_| read_foreign_key(&mut i))
        .collect::<Option<Vec<_>>>()?;
    let mut used = keys.iter().flat_map(|k| &k.columns);
    (i.0.is_empty() && used.all(|c| usize::from(*c) < columns)).then_some(keys)
}

fn foreign_key(o: &mut Out, k: &ForeignKeyDef) {
    o.str(&k.name);
    o.str(&k.parent_schema);
    o.str(&k.parent);
    o.u8(action(k.on_delete));
    o.u8(action(k.on_update));
    o.u32(k.columns.len() as u32);
    for (c, p) in k.columns.iter().zip(&k.parent_columns) {
        o.u32(u32::from(*c));
        o.str(p);
    }
}

fn read_foreign_key(i: &mut In<'_>) -> Option<ForeignKeyDef> {
    let (name, parent_schema, parent) = (i.str()?, i.str()?, i.str()?);
    let (on_delete, on_update) = (read_action(i.u8()?)?, read_action(i.u8()?)?);
    let n = i.count()?;
    let (mut columns, mut parent_columns) = (Vec::new(), Vec::new());
    for _ in 0..n {
        columns.push(u16::try_from(i.u32()?).ok()?);
        parent_columns.push(i.str()?);
    }
    (n > 0).then_some(ForeignKeyDef {
        name,
        columns,
        parent_schema,
        parent,
        parent_columns,
        on_delete,
        on_update,
    })
}

#[cfg(test)]
mod tests;
