//! Rows under a name that is no account: they are in force for nobody, and must not become the next account's of that name.

use engine::{KeyBound, Session};
use types::keyenc::encode_key;
use types::{SqlError, Value};

use super::rows::each_row;
use super::schema::SCHEMA;
use sql_access::account::AccountId;
use sql_exec::table_writer::TableWriter;

/// Tables whose keys begin with host and user.
const BY_HOST_AND_USER: [&str; 7] = [
    "db",
    "tables_priv",
    "columns_priv",
    "procs_priv",
    "proxies_priv",
    "default_roles",
    "password_history",
];

/// Takes away all rows under a name, of which there is none in `mysql.user`.
///
/// # Errors
/// What the engine fails with.
pub(super) async fn remove(s: &mut Session, id: &AccountId) -> Result<(), SqlError> {
    for name in BY_HOST_AND_USER {
        remove_from(s, name, Some([&id.host, &id.user]), id).await?;
    }
    remove_from(s, "global_grants", Some([&id.user, &id.host]), id).await?;
    // Either side of an edge may be meant, and the key begins with one of them.
    remove_from(s, "role_edges", None, id).await
}

async fn remove_from(
    s: &mut Session,
    name: &str,
    begin: Option<[&str; 2]>,
    id: &AccountId,
) -> Result<(), SqlError> {
    let t = s.open_table(SCHEMA, name).await?;
    let bound = begin.map(|parts| {
        let mut key = Vec::new();
        let columns = t.index_columns(0).zip(parts);
        let values: Vec<Value> = columns
            .map(|(c, text)| {
                let collation = t.def.columns[c].ty.collation();
                Value::Str(text.as_bytes().to_vec(), collation)
            })
            .collect();
        let parts = &t.key_parts(0)[..values.len()];
        encode_key(parts, values.iter().map(Value::as_ref), &mut key);
        key
    });
    let side = || bound.clone().map_or(KeyBound::None, KeyBound::Included);
    let mut keys = Vec::new();
    each_row(s, &t, (side(), side()), |reader, row, key| {
        let is =
            |user, host| AccountId::new(&reader.text(row, user), &reader.text(row, host)) == *id;
        if bound.is_some() || is("FROM_USER", "FROM_HOST") || is("TO_USER", "TO_HOST") {
            keys.push(key.to_vec());
        }
    })
    .await?;
    let writer = TableWriter::new(&t, false, None);
    for key in keys {
        writer.delete_key(s, &key, |_| Ok(true)).await?;
    }
    Ok(())
}
