//! CHANGE REPLICATION SOURCE TO and FILTER, START, STOP and RESET REPLICA: handed to what the server has for it.
//!
//! Never here: what they do.

use std::sync::Arc;

use types::error::codes;
use types::{SqlError, Warning};

use crate::context::Session;
use crate::context::replica::{Answer, Replica};
use sql_access::Granted;
use sql_exec::unless_killed;
use sql_parser::ast::{ChangeReplication, ReplicaControl};
use sql_plan::sink::Done;

impl Session {
    /// CHANGE REPLICATION SOURCE TO and CHANGE REPLICATION FILTER.
    pub(crate) async fn change_replication(
        &mut self,
        _: &Granted,
        change: &ChangeReplication,
    ) -> Result<Done, SqlError> {
        if let Some(filters) = &change.filters {
            self.implicit_commit().await?;
            let replica = self.instance.replica()?;
            let answer = replica.change_filters(filters, change.channel.as_deref());
            return self.answered(answer).await;
        }
        let replica = self.begin_replica().await?;
        self.answered(replica.change_source(change)).await
    }

    /// START and STOP REPLICA.
    pub(crate) async fn control_replica(
        &mut self,
        _: &Granted,
        control: &ReplicaControl,
    ) -> Result<Done, SqlError> {
        if control.group {
            return Err(SqlError::not_supported("GROUP_REPLICATION"));
        }
        self.implicit_commit().await?;
        // What it waits for may wait for this session.
        if !control.start {
            self.locks_nothing()?;
        }
        let replica = self.instance.replica()?;
        let answer = unless_killed(&self.engine, replica.control(control)).await?;
        Ok(self.warned(answer))
    }

    /// RESET REPLICA.
    pub(crate) async fn reset_replica(
        &mut self,
        _: &Granted,
        all: bool,
        channel: Option<&str>,
    ) -> Result<Done, SqlError> {
        let replica = self.begin_replica().await?;
        self.answered(replica.reset(all, channel)).await
    }

    /// What has been applied is not known any more, as the binary log has begun anew.
    pub(crate) async fn forget_applied(&mut self) -> Result<(), SqlError> {
        if let Ok(replica) = self.instance.replica() {
            self.answered(replica.forget_applied()).await?;
        }
        Ok(())
    }

    /// As in MySQL, they commit what is open. They are refused where they would wait for what this session has locked: they end threads, or write.
    async fn begin_replica(&mut self) -> Result<Arc<dyn Replica>, SqlError> {
        self.implicit_commit().await?;
        self.locks_nothing()?;
        self.instance.replica()
    }

    /// # Errors
    /// 1192.
    fn locks_nothing(&self) -> Result<(), SqlError> {
        match self.locked.is_some() || self.engine.has_server_locked_for_reading() {
            true => Err(SqlError::fixed(codes::ER_LOCK_OR_ACTIVE_TRANSACTION)),
            false => Ok(()),
        }
    }

    async fn answered(&mut self, answer: Answer<'_>) -> Result<Done, SqlError> {
        let warnings = answer.await?;
        Ok(self.warned(warnings))
    }

    fn warned(&mut self, warnings: Vec<Warning>) -> Done {
        warnings.into_iter().for_each(|w| self.warn(w));
        Done::default()
    }
}
