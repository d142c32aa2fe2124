//! DuckDB's text of a query in MySQL's language.
//!
//! A rule is about words and parentheses, never about one query: NULLS FIRST, which is how MySQL orders anyway; GROUP BY ROLLUP (..); names in
//! double quotes; names in other letters than they were given; a space before a function's parenthesis; `*` behind other columns; CAST to INT;
//! FULL OUTER JOIN.

/// Functions whose parenthesis MySQL wants without a space before it (the manual: "Function Name Parsing and Resolution").
const CLOSE: &[&str] = &[
    "avg",
    "cast",
    "count",
    "max",
    "min",
    "substr",
    "substring",
    "sum",
];

/// The query with one order of its rows: NULLs as MySQL has them, and what an outermost ORDER BY leaves open by all columns, so that LIMIT
/// cuts in one place. DuckDB and MySQL read it alike.
pub(super) fn in_one_order(sql: &str, columns: usize) -> String {
    let mut all = pieces(sql);
    while let Some(at) = words(&all, &["nulls", "first"]) {
        let end = next(&all, at).map_or(all.len(), |first| first + 1);
        let begin = all[..at]
            .iter()
            .rposition(|p| !is_space(p))
            .map_or(0, |p| p + 1);
        all.drain(begin..end);
    }
    let mut depth = 0;
    let (mut order, mut end) = (None, all.len());
    for at in 0..all.len() {
        match all[at].as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ if depth > 0 => {}
            word if word.eq_ignore_ascii_case("order") => (order, end) = (Some(at), all.len()),
            word if word.eq_ignore_ascii_case("limit") && order.is_some() => end = at,
            _ => {}
        }
    }
    if order.is_some() {
        while end > 0 && is_space(&all[end - 1]) {
            end -= 1;
        }
        let more: String = (1..=columns).map(|n| format!(", {n}")).collect();
        all.insert(end, more);
    }
    all.concat()
}

/// The query in MySQL's language.
pub(super) fn of_mysql(sql: &str) -> String {
    let mut all = pieces(sql);
    for p in &mut all {
        if let Some(name) = p.strip_prefix('"').and_then(|p| p.strip_suffix('"')) {
            *p = format!("`{name}`");
        } else if !p.starts_with('\'') {
            p.make_ascii_lowercase();
        }
    }
    close_functions(&mut all);
    name_integers(&mut all);
    name_stars(&mut all);
    while roll_up(&mut all) {}
    while join_both_sides(&mut all) {}
    all.concat()
}

/// Words, texts, quoted names, white space, and signs one by one.
fn pieces(sql: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let len = match c {
            '\'' | '"' => rest[1..].find(c).map_or(rest.len(), |end| end + 2),
            _ if part(c) => rest.find(|c| !part(c)).unwrap_or(rest.len()),
            _ if c.is_whitespace() => rest
                .find(|c: char| !c.is_whitespace())
                .unwrap_or(rest.len()),
            _ => c.len_utf8(),
        };
        out.push(rest[..len].to_owned());
        rest = &rest[len..];
    }
    out
}

fn is_space(piece: &str) -> bool {
    piece.starts_with(char::is_whitespace)
}

fn is_name(piece: &str) -> bool {
    piece.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// The next piece that is no space.
fn next(all: &[String], at: usize) -> Option<usize> {
    (at + 1..all.len()).find(|&i| !is_space(&all[i]))
}

/// The place of the first of these words, one behind the other.
fn words(all: &[String], wanted: &[&str]) -> Option<usize> {
    (0..all.len()).find(|&at| words_at(all, at, wanted).is_some())
}

/// The place of the last of these words if they stand here.
fn words_at(all: &[String], at: usize, wanted: &[&str]) -> Option<usize> {
    let mut place = at;
    for (n, word) in wanted.iter().enumerate() {
        if n > 0 {
            place = next(all, place)?;
        }
        if !all[place].eq_ignore_ascii_case(word) {
            return None;
        }
    }
    Some(place)
}

/// The parenthesis that closes the one here.
fn closing(all: &[String], open: usize) -> Option<usize> {
    let mut depth = 0;
    (open..all.len()).find(|&at| {
        depth += match all[at].as_str() {
            "(" => 1,
            ")" => -1,
            _ => 0,
        };
        depth == 0
    })
}

fn close_functions(all: &mut Vec<String>) {
    let spaced = |all: &[String], at: usize| {
        CLOSE.contains(&all[at].as_str())
            && all.get(at + 1).is_some_and(|p| is_space(p))
            && all.get(at + 2).is_some_and(|p| p == "(")
    };
    while let Some(at) = (0..all.len()).find(|&at| spaced(all, at)) {
        all.remove(at + 1);
    }
}

/// `CAST(x AS INT)` is `CAST(x AS SIGNED)`.
fn name_integers(all: &mut [String]) {
    for at in 0..all.len() {
        for kind in ["int", "integer", "bigint"] {
            if let Some(end) = words_at(all, at, &["as", kind, ")"])
                && let Some(kind) = all[..end].iter().rposition(|p| !is_space(p))
            {
                all[kind] = "signed".to_owned();
            }
        }
    }
}

/// `*` behind other columns is that of the first table.
fn name_stars(all: &mut [String]) {
    for at in 0..all.len() {
        if let Some(from) = words_at(all, at, &[",", "*", "from"])
            && let Some(table) = next(all, from).filter(|t| is_name(&all[*t]))
            && let Some(star) = next(all, at)
        {
            all[star] = format!("{}.*", all[table]);
        }
    }
}

/// `GROUP BY ROLLUP (..)` is `GROUP BY .. WITH ROLLUP`.
fn roll_up(all: &mut Vec<String>) -> bool {
    let Some(at) = words(all, &["group", "by", "rollup", "("]) else {
        return false;
    };
    let open = words_at(all, at, &["group", "by", "rollup", "("]).unwrap_or(at);
    let Some(end) = closing(all, open) else {
        return false;
    };
    all[end] = " with rollup".to_owned();
    let by = next(all, at).unwrap_or(at);
    all.drain(by + 1..=open);
    all.insert(by + 1, " ".to_owned());
    true
}

/// `FROM a FULL OUTER JOIN b ON (..)` is a derived table: `a LEFT JOIN b`, and the rows of `b` without a match. Its columns are those that the
/// query reads of both.
fn join_both_sides(all: &mut Vec<String>) -> bool {
    let Some((from, left, right, open)) = (0..all.len()).find_map(|at| both_sides(all, at)) else {
        return false;
    };
    let Some(end) = closing(all, open) else {
        return false;
    };
    let condition = all[open..=end].concat();
    // In which column the two are equal: it is NULL only where there is no match.
    let of = |at: usize, table: &Table| -> Option<String> {
        (all.get(at)? == &table.name && all.get(at + 1)? == "." && is_name(all.get(at + 2)?))
            .then(|| all[at + 2].clone())
    };
    let Some(equal) = (open..end).find_map(|at| of(at, &left)) else {
        return false;
    };
    let mut columns: Vec<(String, String)> = Vec::new();
    let mut renamed: Vec<(usize, String)> = Vec::new();
    for at in 0..all.len() {
        for table in [&left, &right] {
            if let Some(column) = of(at, table) {
                let (name, own) = (
                    format!("{}.{column}", table.name),
                    format!("{}_{column}", table.name),
                );
                renamed.push((at, own.clone()));
                if !columns.contains(&(name.clone(), own.clone())) {
                    columns.push((name, own));
                }
            }
        }
    }
    let list: Vec<String> = columns
        .iter()
        .map(|(c, own)| format!("{c} as {own}"))
        .collect();
    let list = list.join(", ");
    let (a, b) = (left.written(), right.written());
    let joined = format!(
        "(select {list} from {a} left join {b} on {condition} union all select {list} from {b} left join {a} on {condition} \
         where {}.{equal} is null) both_sides",
        left.name
    );
    for (at, own) in renamed {
        all[at] = own;
        all[at + 1].clear();
        all[at + 2].clear();
    }
    all.splice(from + 1..=end, [" ".to_owned(), joined]);
    true
}

/// A table and the name that it goes by.
struct Table {
    table: String,
    name: String,
}

impl Table {
    /// The one here, and the place of its last word; what follows an unnamed one is `before`.
    fn at(all: &[String], at: usize, before: &str) -> Option<(Table, usize)> {
        let table = all.get(at).filter(|t| is_name(t))?.clone();
        match next(all, at).filter(|n| all[*n] != before && is_name(&all[*n])) {
            Some(named) => {
                let name = all[named].clone();
                Some((Table { table, name }, named))
            }
            None => {
                let name = table.clone();
                Some((Table { table, name }, at))
            }
        }
    }

    fn written(&self) -> String {
        format!("{} {}", self.table, self.name)
    }
}

/// Of a FULL OUTER JOIN the place of FROM, its tables, and the parenthesis of its condition.
fn both_sides(all: &[String], at: usize) -> Option<(usize, Table, Table, usize)> {
    words_at(all, at, &["from"])?;
    let (left, end) = Table::at(all, next(all, at)?, "full")?;
    let join = words_at(all, next(all, end)?, &["full", "outer", "join"])?;
    let (right, end) = Table::at(all, next(all, join)?, "on")?;
    let open = words_at(all, next(all, end)?, &["on", "("])?;
    Some((at, left, right, open))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_one_order() {
        assert_eq!(
            in_one_order(
                "SELECT a, (SELECT b FROM t ORDER BY c LIMIT 1) FROM t\nORDER BY a NULLS FIRST,\n b DESC NULLS  FIRST\nLIMIT 100",
                2
            ),
            "SELECT a, (SELECT b FROM t ORDER BY c LIMIT 1) FROM t\nORDER BY a,\n b DESC, 1, 2\nLIMIT 100"
        );
        assert_eq!(
            in_one_order("SELECT a FROM t ORDER BY a", 1),
            "SELECT a FROM t ORDER BY a, 1"
        );
        let free = "SELECT rank() OVER (ORDER BY 'order by') FROM t LIMIT 5";
        assert_eq!(in_one_order(free, 1), free);
    }

    #[test]
    fn words_are_those_of_mysql() {
        assert_eq!(
            of_mysql("SELECT Sum (A) AS \"The Sum\", CAST (b AS int), 'It IS' FROM T"),
            "select sum(a) as `The Sum`, cast(b as signed), 'It IS' from t"
        );
        assert_eq!(
            of_mysql("select max(a) m, *\nfrom w) x"),
            "select max(a) m, w.*\nfrom w) x"
        );
        assert_eq!(
            of_mysql("group by rollup(a, f(b)) order by a"),
            "group by a, f(b) with rollup order by a"
        );
    }

    #[test]
    fn a_join_of_both_sides_is_a_derived_table() {
        assert_eq!(
            of_mysql("SELECT a.x, b.y FROM ta a FULL OUTER JOIN b ON (a.k = b.k) WHERE b.y > 1"),
            "select a_x, b_y from (select a.x as a_x, b.y as b_y, a.k as a_k, b.k as b_k from ta a left join b b on (a.k = b.k) \
             union all select a.x as a_x, b.y as b_y, a.k as a_k, b.k as b_k from b b left join ta a on (a.k = b.k) \
             where a.k is null) both_sides where b_y > 1"
        );
    }
}
