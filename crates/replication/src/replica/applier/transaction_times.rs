//! The transaction that is applied, as others see it.

use sql::context::replica::TransactionTimes;

use super::Applier;

impl Applier<'_> {
    /// The transaction as others see it.
    pub(super) fn transaction_times(&self) -> TransactionTimes {
        let (original_us, immediate_us) = self.group.committed;
        TransactionTimes {
            name: self.name(),
            original_us,
            immediate_us,
            begun_us: self.shared.instance.wall_us(),
            ended_us: 0,
        }
    }

    /// What the transaction is called.
    pub fn name(&self) -> String {
        match (self.group.gtid, self.group.maria) {
            (Some(g), _) => g.to_string(),
            (None, Some((domain, server, number))) => format!("{domain}-{server}-{number}"),
            (None, None) => "ANONYMOUS".to_owned(),
        }
    }
}
