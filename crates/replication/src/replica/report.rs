//! What a replica says of itself when it registers with its source, which shows it (SHOW REPLICAS): the variables `report_…`.

use super::state::Shared;

/// See the module.
pub(super) struct Report {
    /// Under which name others reach it; empty: it does not say.
    pub host: String,
    pub user: String,
    pub password: String,
    pub port: u16,
}

impl Report {
    /// As the server was started.
    pub fn of(shared: &Shared) -> Report {
        Report {
            host: shared.text_variable("report_host"),
            user: shared.text_variable("report_user"),
            password: shared.text_variable("report_password"),
            port: u16::try_from(shared.variable("report_port")).unwrap_or(0),
        }
    }
}
