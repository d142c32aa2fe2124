//! The table is as it says, and well-known codes have their states.

use super::*;

#[test]
fn table_is_sorted_and_well_formed() {
    let tables = [BEFORE_3000, from_3000::FROM_3000];
    let all: Vec<&CodeInfo> = tables.iter().flat_map(|t| t.iter()).collect();
    assert!(all.windows(2).all(|w| w[0].code < w[1].code));
    assert!(all.iter().all(|c| c.sqlstate.len() == 5));
    assert!(all.iter().all(|c| info(c.code).is_some()));
    assert!(all.len() > 150);
}

#[test]
fn states_of_well_known_codes() {
    for (code, state) in [
        (1062, "23000"),
        (1213, "40001"),
        (1205, "HY000"),
        (1064, "42000"),
        (1317, "70100"),
        (1792, "25006"),
        (9999, "HY000"),
    ] {
        assert_eq!(sqlstate(code), state, "{code}");
    }
}
