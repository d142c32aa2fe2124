//! Values that SET PERSIST has kept: read behind everything else that is given, which they win over.

use std::io;

use sql::persisted::{self, PersistedValue};

use super::cnf::Setting;
use super::{Files, Options, OptionsError, Origin};

/// The settings of the data directory's `mysqld-auto.cnf`; none where there is no such file, or `persisted_globals_load` is off.
pub(super) fn read(options: &Options, files: &dyn Files) -> Result<Vec<Setting>, OptionsError> {
    let load = options.variables.iter().chain(&options.without_effect);
    let off = |value: &str| matches!(&*value.to_ascii_lowercase(), "0" | "off" | "false");
    if load
        .into_iter()
        .any(|(name, value)| name == "persisted_globals_load" && off(value))
    {
        return Ok(Vec::new());
    }
    let path = options.datadir.join(persisted::FILE);
    let origin = Origin::File(path.clone(), 1);
    let fault = |why: String| OptionsError {
        origin: origin.clone(),
        text: format!(
            "the persisted variables cannot be read: {why}; --persisted-globals-load=OFF starts without them"
        ),
    };
    let text = match files.read(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(fault(e.to_string())),
    };
    let values = persisted::decode(&text).map_err(fault)?;
    let setting = |v: PersistedValue| Setting {
        name: v.name,
        value: Some(v.value),
        origin: origin.clone(),
    };
    Ok(values.into_iter().map(setting).collect())
}
