//! CHANGE REPLICATION SOURCE TO and FILTER, START, STOP and RESET REPLICA: handed to what the server has for it.
//!
//! Never here: what they do.

use types::error::codes;
use types::{SqlError, Warning};

use crate::access::Granted;
use crate::context::Session;
use crate::context::replica::Answer;
use crate::sink::Done;
use sql_parser::ast::{ChangeReplication, ReplicaControl};

impl Session {
    /// CHANGE REPLICATION SOURCE TO and CHANGE REPLICATION FILTER.
    pub(crate) async fn change_replication(
        &mut self,
        _: &Granted,
        change: &ChangeReplication,
    ) -> Result<Done, SqlError> {
        if let Some(filters) = &change.filters {
            // As in MySQL, it has nothing to do with a transaction around it.
            let replica = self.instance.replica()?;
            let answer = replica.change_filters(filters, change.channel.as_deref());
            return self.answered(answer).await;
        }
        let replica = self.begin_replica()?;
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
        let replica = self.begin_replica()?;
        self.answered(replica.control(control)).await
    }

    /// RESET REPLICA.
    pub(crate) async fn reset_replica(
        &mut self,
        _: &Granted,
        all: bool,
        channel: Option<&str>,
    ) -> Result<Done, SqlError> {
        let replica = self.begin_replica()?;
        self.answered(replica.reset(all, channel)).await
    }

    /// What has been applied is not known any more, as the binary log has begun anew.
    pub(crate) async fn forget_applied(&mut self) -> Result<(), SqlError> {
        if let Ok(replica) = self.instance.replica() {
            self.answered(replica.forget_applied()).await?;
        }
        Ok(())
    }

    /// As in MySQL, they are refused in a transaction that has tables locked, and commit none.
    fn begin_replica(
        &self,
    ) -> Result<std::sync::Arc<dyn crate::context::replica::Replica>, SqlError> {
        if self.locked.is_some() || self.engine.in_transaction() {
            return Err(SqlError::fixed(codes::ER_LOCK_OR_ACTIVE_TRANSACTION));
        }
        self.instance.replica()
    }

    async fn answered(&mut self, answer: Answer<'_>) -> Result<Done, SqlError> {
        let warnings: Vec<Warning> = answer.await?;
        warnings.into_iter().for_each(|w| self.warn(w));
        Ok(Done::default())
    }
}
