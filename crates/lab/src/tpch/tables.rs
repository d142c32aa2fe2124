//! The eight tables of the specification (clause 1.4), in MySQL's types.

use crate::query_comparison::Part;
use std::path::Path;

/// A table: its columns with their types, its primary key, and the columns on which indexes are usual: foreign keys, and the dates that
/// the queries ask for.
struct Shape {
    name: &'static str,
    columns: &'static [(&'static str, &'static str)],
    primary: &'static str,
    indexes: &'static [&'static str],
}

const MONEY: &str = "DECIMAL(15,2)";

const SHAPES: &[Shape] = &[
    Shape {
        name: "region",
        columns: &[
            ("r_regionkey", "BIGINT"),
            ("r_name", "CHAR(25)"),
            ("r_comment", "VARCHAR(152)"),
        ],
        primary: "r_regionkey",
        indexes: &[],
    },
    Shape {
        name: "nation",
        columns: &[
            ("n_nationkey", "BIGINT"),
            ("n_name", "CHAR(25)"),
            ("n_regionkey", "BIGINT"),
            ("n_comment", "VARCHAR(152)"),
        ],
        primary: "n_nationkey",
        indexes: &["n_regionkey"],
    },
    Shape {
        name: "supplier",
        columns: &[
            ("s_suppkey", "BIGINT"),
            ("s_name", "CHAR(25)"),
            ("s_address", "VARCHAR(40)"),
            ("s_nationkey", "BIGINT"),
            ("s_phone", "CHAR(15)"),
            ("s_acctbal", MONEY),
            ("s_comment", "VARCHAR(101)"),
        ],
        primary: "s_suppkey",
        indexes: &["s_nationkey"],
    },
    Shape {
        name: "part",
        columns: &[
            ("p_partkey", "BIGINT"),
            ("p_name", "VARCHAR(55)"),
            ("p_mfgr", "CHAR(25)"),
            ("p_brand", "CHAR(10)"),
            ("p_type", "VARCHAR(25)"),
            ("p_size", "BIGINT"),
            ("p_container", "CHAR(10)"),
            ("p_retailprice", MONEY),
            ("p_comment", "VARCHAR(23)"),
        ],
        primary: "p_partkey",
        indexes: &[],
    },
    Shape {
        name: "partsupp",
        columns: &[
            ("ps_partkey", "BIGINT"),
            ("ps_suppkey", "BIGINT"),
            ("ps_availqty", "BIGINT"),
            ("ps_supplycost", MONEY),
            ("ps_comment", "VARCHAR(199)"),
        ],
        primary: "ps_partkey, ps_suppkey",
        indexes: &["ps_suppkey"],
    },
    Shape {
        name: "customer",
        columns: &[
            ("c_custkey", "BIGINT"),
            ("c_name", "VARCHAR(25)"),
            ("c_address", "VARCHAR(40)"),
            ("c_nationkey", "BIGINT"),
            ("c_phone", "CHAR(15)"),
            ("c_acctbal", MONEY),
            ("c_mktsegment", "CHAR(10)"),
            ("c_comment", "VARCHAR(117)"),
        ],
        primary: "c_custkey",
        indexes: &["c_nationkey"],
    },
    Shape {
        name: "orders",
        columns: &[
            ("o_orderkey", "BIGINT"),
            ("o_custkey", "BIGINT"),
            ("o_orderstatus", "CHAR(1)"),
            ("o_totalprice", MONEY),
            ("o_orderdate", "DATE"),
            ("o_orderpriority", "CHAR(15)"),
            ("o_clerk", "CHAR(15)"),
            ("o_shippriority", "BIGINT"),
            ("o_comment", "VARCHAR(79)"),
        ],
        primary: "o_orderkey",
        indexes: &["o_custkey", "o_orderdate"],
    },
    Shape {
        name: "lineitem",
        columns: &[
            ("l_orderkey", "BIGINT"),
            ("l_partkey", "BIGINT"),
            ("l_suppkey", "BIGINT"),
            ("l_linenumber", "BIGINT"),
            ("l_quantity", MONEY),
            ("l_extendedprice", MONEY),
            ("l_discount", MONEY),
            ("l_tax", MONEY),
            ("l_returnflag", "CHAR(1)"),
            ("l_linestatus", "CHAR(1)"),
            ("l_shipdate", "DATE"),
            ("l_commitdate", "DATE"),
            ("l_receiptdate", "DATE"),
            ("l_shipinstruct", "CHAR(25)"),
            ("l_shipmode", "CHAR(10)"),
            ("l_comment", "VARCHAR(44)"),
        ],
        primary: "l_orderkey, l_linenumber",
        indexes: &["l_partkey, l_suppkey", "l_suppkey", "l_shipdate"],
    },
];

/// The tables, with the files of their rows in `dir`.
pub(super) fn all(dir: &Path, indexed: bool) -> Vec<Part> {
    let part = |shape: &Shape| Part {
        table: shape.name.to_owned(),
        create: create(shape, indexed),
        files: vec![dir.join(format!("{}.tbl", shape.name))],
        later: Vec::new(),
    };
    SHAPES.iter().map(part).collect()
}

fn create(shape: &Shape, indexed: bool) -> String {
    let columns = shape
        .columns
        .iter()
        .map(|(name, ty)| format!("{name} {ty} NOT NULL"));
    let primary = std::iter::once(format!("PRIMARY KEY ({})", shape.primary));
    let indexes = shape.indexes.iter().filter(|_| indexed).map(|index| {
        let first = index.split(',').next().unwrap_or(index);
        format!("KEY i_{first} ({index})")
    });
    let all: Vec<String> = columns.chain(primary).chain(indexes).collect();
    format!("CREATE TABLE {} ({})", shape.name, all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_made_with_and_without_indexes() {
        let with = all(Path::new("d"), true);
        let without = all(Path::new("d"), false);
        assert_eq!(with.len(), 8);
        assert_eq!(
            with[1].create,
            "CREATE TABLE nation (n_nationkey BIGINT NOT NULL, n_name CHAR(25) NOT NULL, n_regionkey BIGINT NOT NULL, \
             n_comment VARCHAR(152) NOT NULL, PRIMARY KEY (n_nationkey), KEY i_n_regionkey (n_regionkey))"
        );
        assert!(!without[1].create.contains("KEY i_"));
    }
}
