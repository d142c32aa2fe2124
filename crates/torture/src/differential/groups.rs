//! Groups of forms that the list of documented differences speaks of together, as data.

/// Groups of forms, by their names.
pub const GROUPS: &[(&str, &[&str])] = &[
    (
        "compare",
        &[
            "=",
            "<=>",
            "<",
            ">=",
            "<>",
            "IN",
            "NOT IN",
            "BETWEEN AND",
            "NOT BETWEEN AND",
            "NULLIF",
            "CASE WHEN THEN ELSE END",
            "IN SELECT",
            "= ANY SELECT",
            "ROW =",
            "ROW IN",
            "INTERVAL",
            "FIELD",
            "STRCMP",
        ],
    ),
    ("between", &["BETWEEN AND", "NOT BETWEEN AND"]),
    ("in", &["IN", "NOT IN"]),
    ("row", &["ROW =", "ROW IN"]),
    ("subquery", &["SELECT", "IN SELECT", "= ANY SELECT"]),
    (
        "choice",
        &[
            "IF",
            "IFNULL",
            "NULLIF",
            "COALESCE",
            "CASE WHEN THEN ELSE END",
            "CASE WHEN THEN WHEN THEN END",
        ],
    ),
    ("most", &["GREATEST", "LEAST"]),
    ("arith", &["+", "-", "*", "/", "DIV", "%", "MOD", "NEG"]),
    (
        "bits",
        &[
            "&",
            "|",
            "^",
            "<<",
            ">>",
            "~",
            "BIT_AND",
            "BIT_OR",
            "BIT_XOR",
            "BIT_COUNT",
        ],
    ),
    (
        "interval",
        &[
            "+ INTERVAL",
            "- INTERVAL",
            "DATE_ADD INTERVAL",
            "TIMESTAMPADD",
        ],
    ),
    ("timesum", &["ADDTIME", "SUBTIME"]),
    (
        "clock",
        &[
            "HOUR",
            "MINUTE",
            "SECOND",
            "MICROSECOND",
            "TIME_TO_SEC",
            "TIME",
            "TIME_FORMAT",
            "EXTRACT FROM",
            "CAST AS TIME",
            "CAST AS TIME 2",
        ],
    ),
    (
        "calendar",
        &[
            "YEAR",
            "MONTH",
            "DAYOFMONTH",
            "QUARTER",
            "DAYOFWEEK",
            "WEEKDAY",
            "DAYOFYEAR",
            "WEEK",
            "YEARWEEK",
            "TO_DAYS",
            "TO_SECONDS",
            "DATEDIFF",
            "TIMESTAMPDIFF",
            "DATE",
            "TIMESTAMP",
            "LAST_DAY",
            "DATE_FORMAT",
            "DAYNAME",
            "MONTHNAME",
            "UNIX_TIMESTAMP",
            "CONVERT_TZ",
            "CAST AS DATE",
            "CAST AS DATETIME",
            "CAST AS DATETIME 3",
        ],
    ),
    ("pad", &["LPAD", "RPAD"]),
    (
        "digits",
        &[
            "SHA1",
            "SHA2 256",
            "MD5",
            "HEX",
            "BIN",
            "OCT",
            "CONV",
            "FORMAT",
            "INET_NTOA",
        ],
    ),
    ("log", &["LN", "LOG", "LOG2", "LOG10"]),
    ("sum", &["SUM", "AVG", "AVG DISTINCT", "STD", "VAR_SAMP"]),
];

#[cfg(test)]
mod tests {
    use super::super::catalog;
    use super::super::node::Node;
    use super::super::pattern::form_name;
    use super::super::words::Scope;
    use super::*;
    use harness::rng::Rng;

    #[test]
    fn they_name_forms_that_there_are() {
        let scope = Scope {
            columns: false,
            charset: "utf8mb4",
        };
        let forms = catalog::FORMS.iter().flat_map(|(_, forms)| *forms);
        let names: Vec<String> = forms
            .chain(catalog::AGGREGATES)
            .filter_map(|f| form_name(&Node::fill(&mut Rng::new(1), f, 0, scope, false)))
            .collect();
        for (group, of) in GROUPS {
            for name in *of {
                assert!(names.iter().any(|n| n == name), "@{group}: {name}");
            }
        }
    }
}
