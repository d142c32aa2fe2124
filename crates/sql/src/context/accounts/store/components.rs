//! `mysql.component`: what is installed.

use std::sync::Arc;

use engine::{Engine, Isolation};
use types::SqlError;

use super::rows::all_rows;
use super::write::{put_component, remove_component};

/// The names of what is installed.
///
/// # Errors
/// What the engine fails with.
pub async fn read(engine: &Arc<Engine>) -> Result<Vec<String>, SqlError> {
    let mut s = engine.session();
    s.statement_begin(Isolation::ReadCommitted);
    let all = all_rows(&mut s, "component", |t, row| t.text(row, "component_urn")).await;
    s.commit().await?;
    all
}

/// Notes that a component is installed, or that it is no more.
///
/// # Errors
/// What the engine fails with.
pub async fn write(engine: &Arc<Engine>, urn: &str, install: bool) -> Result<(), SqlError> {
    let mut s = engine.session();
    s.begin(Isolation::ReadCommitted, false);
    s.statement_begin(Isolation::ReadCommitted);
    let row = |t: &super::rows::Reader<'_>, row: engine::RowRef<'_>| {
        let id = t.number(row, "component_id").unwrap_or(0);
        (id, t.text(row, "component_urn"))
    };
    let all = all_rows(&mut s, "component", row).await?;
    if install {
        let next = all.iter().map(|(id, _)| *id).max().unwrap_or(0) + 1;
        put_component(&mut s, next, urn).await?;
    } else {
        for (id, _) in all.iter().filter(|(_, u)| u == urn) {
            remove_component(&mut s, *id).await?;
        }
    }
    s.commit().await
}
