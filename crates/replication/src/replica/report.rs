//! What a replica says of itself when it registers with its source, which shows it (SHOW REPLICAS): the variables `report_…`.

use sql::Instance;

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
    pub fn of(instance: &Instance) -> Report {
        let value = |name| instance.globals().value_by_name(name);
        let text = |name| {
            let v = value(name);
            v.and_then(|v| v.as_str().map(str::to_owned))
                .unwrap_or_default()
        };
        Report {
            host: text("report_host"),
            user: text("report_user"),
            password: text("report_password"),
            port: value("report_port").map_or(0, |v| v.as_u64() as u16),
        }
    }
}
