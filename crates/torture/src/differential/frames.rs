//! Where expressions stand: statements around them, as data. In a step's text `{0}` is the frame's first expression.

use super::node::Kind;

/// Who judges the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// MariaDB, which is asked the same.
    Peer,
    /// Ourselves: every shown step must answer alike.
    Same,
    /// Ourselves: the rows of the steps behind the first together are those of the first.
    Parts,
}

/// A statement of a frame.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// What must be done before or behind; its answer is nobody's concern.
    Quiet(&'static str),
    /// As text.
    Text(&'static str),
    /// By the binary protocol, literals as parameters.
    Binary(&'static str),
    /// By the binary protocol, without parameters.
    Prepared(&'static str),
    /// `PREPARE`, and `EXECUTE … USING` user variables that hold the literals.
    Using(&'static str),
    /// As text, over a derived table of one row that has the literals as columns.
    Columns(&'static str),
    /// LOAD DATA LOCAL of a file with the frame's first expression as its content.
    File(&'static str),
}

/// What the session is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sessions {
    /// utf8mb4 and MySQL's default `sql_mode`.
    Usual,
    /// utf8mb4; `sql_mode` may be empty.
    Modes,
    /// Any character set.
    Charsets,
}

/// Statements with places.
#[derive(Debug)]
pub struct Frame {
    /// The name that a run can be held to, and that the list of documented differences names.
    pub area: &'static str,
    /// How often it is taken, among the sum of all.
    pub weight: u32,
    /// Its expressions, and how deep each may be.
    pub places: &'static [(Kind, u32)],
    /// Columns of `v` may stand in its expressions.
    pub columns: bool,
    /// What the session is set to.
    pub sessions: Sessions,
    /// Who judges.
    pub judge: Judge,
    /// What is run.
    pub steps: &'static [Step],
}

use Step::{Binary, Columns, File, Prepared, Quiet, Text, Using};

const PLAIN: Frame = Frame {
    area: "",
    weight: 1,
    places: &[(Kind::Any, 2)],
    columns: false,
    sessions: Sessions::Usual,
    judge: Judge::Peer,
    steps: &[],
};

/// All of them.
pub const FRAMES: &[Frame] = &[
    Frame {
        area: "expression",
        weight: 30,
        steps: &[Text("SELECT {0}")],
        ..PLAIN
    },
    Frame {
        area: "rows",
        weight: 20,
        columns: true,
        steps: &[Text("SELECT id, {0} FROM v ORDER BY id")],
        ..PLAIN
    },
    Frame {
        area: "where",
        weight: 12,
        columns: true,
        steps: &[Text("SELECT id FROM v WHERE {0} ORDER BY id")],
        ..PLAIN
    },
    Frame {
        area: "group",
        weight: 4,
        columns: true,
        steps: &[Text(
            "SELECT COUNT(*), MIN(id) FROM v GROUP BY {0} ORDER BY MIN(id)",
        )],
        ..PLAIN
    },
    Frame {
        area: "order",
        weight: 4,
        columns: true,
        steps: &[Text("SELECT id FROM v ORDER BY {0}, id")],
        ..PLAIN
    },
    Frame {
        area: "aggregate",
        weight: 8,
        columns: true,
        places: &[(Kind::Aggregate, 1)],
        steps: &[Text("SELECT {0} FROM v")],
        ..PLAIN
    },
    Frame {
        area: "limit",
        weight: 1,
        places: &[(Kind::Literal, 0)],
        steps: &[Text("SELECT id FROM v ORDER BY id LIMIT {0}")],
        ..PLAIN
    },
    Frame {
        area: "union",
        weight: 4,
        places: &[(Kind::Literal, 0), (Kind::Literal, 0)],
        steps: &[Text("SELECT {0} UNION ALL SELECT {1}")],
        ..PLAIN
    },
    Frame {
        area: "derived",
        weight: 4,
        places: &[(Kind::Any, 1)],
        steps: &[Text("SELECT x, x + 0 FROM (SELECT {0} AS x) q")],
        ..PLAIN
    },
    Frame {
        area: "insert",
        weight: 12,
        places: &[(Kind::Literal, 0), (Kind::Target, 0)],
        sessions: Sessions::Modes,
        steps: &[
            Quiet("BEGIN"),
            Text("INSERT INTO c ({1}) VALUES ({0})"),
            Text("SELECT {1}, HEX({1}) FROM c"),
            Quiet("ROLLBACK"),
        ],
        ..PLAIN
    },
    Frame {
        area: "insert-ignore",
        weight: 3,
        places: &[(Kind::Literal, 0), (Kind::Target, 0)],
        steps: &[
            Quiet("BEGIN"),
            Text("INSERT IGNORE INTO c ({1}) VALUES ({0})"),
            Text("SELECT {1}, HEX({1}) FROM c"),
            Quiet("ROLLBACK"),
        ],
        ..PLAIN
    },
    Frame {
        area: "insert-select",
        weight: 6,
        places: &[(Kind::Any, 1), (Kind::Target, 0)],
        sessions: Sessions::Modes,
        steps: &[
            Quiet("BEGIN"),
            Text("INSERT INTO c ({1}) SELECT {0}"),
            Text("SELECT {1}, HEX({1}) FROM c"),
            Quiet("ROLLBACK"),
        ],
        ..PLAIN
    },
    Frame {
        area: "update",
        weight: 6,
        places: &[(Kind::Literal, 0), (Kind::Target, 0), (Kind::Target, 0)],
        sessions: Sessions::Modes,
        steps: &[
            Quiet("BEGIN"),
            Quiet("INSERT INTO c ({1}) VALUES ({0})"),
            Text("UPDATE c SET {2} = {1}"),
            Text("SELECT {2}, HEX({2}) FROM c"),
            Quiet("ROLLBACK"),
        ],
        ..PLAIN
    },
    Frame {
        area: "column-compare",
        weight: 6,
        places: &[(Kind::Literal, 0), (Kind::Target, 0), (Kind::Literal, 0)],
        steps: &[
            Quiet("BEGIN"),
            Quiet("INSERT IGNORE INTO c ({1}) VALUES ({0})"),
            Text("SELECT {1} = {2}, {1} < {2}, {1} IN ({2}, {0}), {1} BETWEEN {0} AND {2} FROM c"),
            Text("SELECT COUNT(*) FROM c WHERE {1} = {2}"),
            Quiet("ROLLBACK"),
        ],
        ..PLAIN
    },
    Frame {
        area: "default",
        weight: 1,
        places: &[(Kind::Literal, 0), (Kind::ColumnType, 0)],
        sessions: Sessions::Modes,
        steps: &[
            Quiet("DROP TABLE IF EXISTS made"),
            Text("CREATE TABLE made (id INT, x {1} DEFAULT {0})"),
            Text("INSERT INTO made (id) VALUES (1)"),
            Text("SELECT x, HEX(x) FROM made"),
        ],
        ..PLAIN
    },
    Frame {
        area: "load",
        weight: 6,
        places: &[(Kind::Field, 0), (Kind::Target, 0)],
        sessions: Sessions::Modes,
        steps: &[
            Quiet("BEGIN"),
            File("LOAD DATA LOCAL INFILE 'x' INTO TABLE c CHARACTER SET utf8mb4 ({1})"),
            Text("SELECT {1}, HEX({1}) FROM c"),
            Quiet("ROLLBACK"),
        ],
        ..PLAIN
    },
    Frame {
        area: "load-enclosed",
        weight: 3,
        places: &[(Kind::Field, 0), (Kind::Target, 0)],
        steps: &[
            Quiet("BEGIN"),
            File(
                "LOAD DATA LOCAL INFILE 'x' INTO TABLE c CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' \
                 OPTIONALLY ENCLOSED BY '\"' ({1}, c_text)",
            ),
            Text("SELECT {1}, HEX({1}), c_text FROM c"),
            Quiet("ROLLBACK"),
        ],
        ..PLAIN
    },
    Frame {
        area: "charset",
        weight: 8,
        places: &[(Kind::Text, 1)],
        sessions: Sessions::Charsets,
        steps: &[Text("SELECT {0}, HEX({0}), CHARSET({0}), LENGTH({0})")],
        ..PLAIN
    },
    Frame {
        area: "charset-insert",
        weight: 6,
        places: &[(Kind::Text, 0), (Kind::Target, 0)],
        sessions: Sessions::Charsets,
        steps: &[
            Quiet("BEGIN"),
            Text("INSERT INTO c ({1}) VALUES ({0})"),
            Text("SELECT {1}, HEX({1}), {1} = {0} FROM c"),
            Quiet("ROLLBACK"),
        ],
        ..PLAIN
    },
    Frame {
        area: "using",
        weight: 4,
        steps: &[Using("SELECT {0}")],
        ..PLAIN
    },
    Frame {
        area: "binary",
        weight: 6,
        columns: true,
        steps: &[Binary("SELECT id, {0} FROM v ORDER BY id")],
        ..PLAIN
    },
    Frame {
        area: "binary-insert",
        weight: 4,
        places: &[(Kind::Literal, 0), (Kind::Target, 0)],
        sessions: Sessions::Modes,
        steps: &[
            Quiet("BEGIN"),
            Binary("INSERT INTO c ({1}) VALUES ({0})"),
            Text("SELECT {1}, HEX({1}) FROM c"),
            Quiet("ROLLBACK"),
        ],
        ..PLAIN
    },
    Frame {
        area: "own-protocols",
        weight: 6,
        columns: true,
        judge: Judge::Same,
        steps: &[
            Text("SELECT id, {0} FROM v ORDER BY id"),
            Prepared("SELECT id, {0} FROM v ORDER BY id"),
        ],
        ..PLAIN
    },
    Frame {
        area: "own-params",
        weight: 6,
        judge: Judge::Same,
        steps: &[
            Text("SELECT {0}"),
            Binary("SELECT {0}"),
            Using("SELECT {0}"),
        ],
        ..PLAIN
    },
    Frame {
        area: "own-folding",
        weight: 8,
        judge: Judge::Same,
        steps: &[Text("SELECT {0}"), Columns("SELECT {0}")],
        ..PLAIN
    },
    Frame {
        area: "own-parts",
        weight: 8,
        columns: true,
        places: &[(Kind::Truth, 2)],
        judge: Judge::Parts,
        steps: &[
            Text("SELECT id FROM v"),
            Text("SELECT id FROM v WHERE {0}"),
            Text("SELECT id FROM v WHERE NOT ({0})"),
            Text("SELECT id FROM v WHERE ({0}) IS NULL"),
        ],
        ..PLAIN
    },
    Frame {
        area: "own-where",
        weight: 6,
        columns: true,
        places: &[(Kind::Truth, 2)],
        judge: Judge::Same,
        steps: &[
            Text("SELECT id FROM v WHERE {0} ORDER BY id"),
            Text("SELECT id FROM (SELECT id, ({0}) IS TRUE AS x FROM v) q WHERE x ORDER BY id"),
        ],
        ..PLAIN
    },
];

impl Step {
    /// Its text.
    pub fn text(self) -> &'static str {
        match self {
            Quiet(text) | Text(text) | Binary(text) | Prepared(text) | Using(text)
            | Columns(text) | File(text) => text,
        }
    }
}
