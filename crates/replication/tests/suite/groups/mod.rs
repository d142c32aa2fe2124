//! What a server has put into its log for the binary log.

use std::sync::Arc;

use base::block_on;
use engine::{Engine, GroupPosition};
use replication::group::{End, Next, next};
use sql::{Instance, Session};
use wire::binlog::header::kind;
use wire::binlog::query::Query;
use wire::binlog::table_map::TableMap;

/// All groups up to now: what each has, statements and databases of rows' tables, and its end.
pub fn groups(
    instance: &Arc<Instance>,
    engine: &Arc<Engine>,
    from: GroupPosition,
) -> Vec<(String, End)> {
    let mut s = Session::of_the_server(instance, instance.next_connection_id());
    block_on(s.query("CREATE USER the_end")).expect("a user");
    block_on(s.close());
    let mut follower = engine.follow(from);
    let mut all = Vec::new();
    loop {
        let group = block_on(follower.next())
            .expect("a group")
            .expect("a group");
        let bytes = block_on(group.reader(engine).read_all()).expect("its bytes");
        let (mut rest, mut said) = (&bytes[..], Vec::new());
        let end = loop {
            match next(&mut rest).expect("a group").expect("an item") {
                Next::End(end) => break end,
                Next::Item(i) if i.kind == kind::QUERY => {
                    let query = Query::read(i.body).expect("a query");
                    said.push(String::from_utf8_lossy(query.statement).into_owned());
                }
                Next::Item(i) if i.kind == kind::TABLE_MAP => {
                    let map = TableMap::read(i.body).expect("a table");
                    said.push(String::from_utf8_lossy(&map.database).into_owned());
                }
                Next::Item(_) => {}
            }
        };
        let said = said.join(" ");
        if said.contains("the_end") {
            let mut s = Session::of_the_server(instance, instance.next_connection_id());
            block_on(s.query("DROP USER the_end")).expect("no user");
            block_on(s.close());
            return all;
        }
        all.push((said, end));
    }
}
