//! INSTALL PLUGIN and UNINSTALL PLUGIN: no library is loaded here. What MySQL has in libraries and this server in itself is there without being
//! installed; tools install it nevertheless, and are told that it is there.
//!
//! Never here: what a plugin does.

use types::SqlError;
use types::error::codes;

use crate::context::Session;
use crate::describe::server::PLUGINS;
use sql_access::Granted;
use sql_plan::sink::Done;

/// Plugins that MySQL has in a library, by its name without its ending.
const IN_LIBRARIES: &[(&str, &str)] = &[
    ("rpl_semi_sync_source", "semisync_source"),
    ("rpl_semi_sync_replica", "semisync_replica"),
    ("rpl_semi_sync_master", "semisync_master"),
    ("rpl_semi_sync_slave", "semisync_slave"),
    ("auth_socket", "auth_socket"),
];
/// What the system says where there is no file.
const NO_FILE: &str = "errno: 2 No such file or directory";

impl Session {
    /// INSTALL PLUGIN, with a library; UNINSTALL PLUGIN, without.
    ///
    /// # Errors
    /// 1125: it is there, and belongs to no library; 1126: there is no such library; 1305: there is none of that name; 1620: it stays.
    pub(crate) fn change_plugin(
        &mut self,
        _: &Granted,
        name: &str,
        library: Option<&str>,
    ) -> Result<Done, SqlError> {
        let known = PLUGINS.iter().any(|[n, ..]| n.eq_ignore_ascii_case(name));
        let Some(library) = library else {
            return Err(match known {
                true => SqlError::fixed(codes::ER_PLUGIN_DELETE_BUILTIN),
                false => SqlError::new(
                    codes::ER_SP_DOES_NOT_EXIST,
                    format!("PLUGIN {name} does not exist"),
                ),
            });
        };
        let file = library.rsplit_once('.').map_or(library, |(file, _)| file);
        let its = IN_LIBRARIES
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name));
        match its {
            Some((_, of)) if of.eq_ignore_ascii_case(file) => Ok(Done::default()),
            None if known => Err(SqlError::new(
                codes::ER_UDF_EXISTS,
                format!("Function '{name}' already exists"),
            )),
            _ => Err(SqlError::new(
                codes::ER_CANT_OPEN_LIBRARY,
                format!("Can't open shared library '{library}' ({NO_FILE})"),
            )),
        }
    }
}
