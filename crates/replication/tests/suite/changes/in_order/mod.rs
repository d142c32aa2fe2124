//! Definitions of several sessions at once: in which order they are told.

use super::*;

/// What has nothing to do is told among the others in the order in which it was done: a replica could not find its table else.
#[test]
fn a_name_that_stays_is_told_while_there_is_the_table() {
    let mut server = Server::new();
    let mut clients = [server.client(), server.client()];
    let [maker, namer] = &mut clients;
    std::thread::scope(|scope| {
        let made = scope.spawn(|| {
            for _ in 0..300 {
                maker.run("CREATE TABLE t (a INT)");
                maker.run("DROP TABLE t");
            }
        });
        let mut named = 0;
        while !made.is_finished() {
            named += u32::from(namer.attempt("ALTER TABLE t RENAME TO t").is_ok());
        }
        assert!(named > 0);
    });
    let mut there = false;
    for line in told(&server.groups()) {
        match &line {
            l if l.contains("CREATE TABLE") => there = true,
            l if l.contains("DROP TABLE") => there = false,
            l => assert!(there, "{l}"),
        }
    }
}
