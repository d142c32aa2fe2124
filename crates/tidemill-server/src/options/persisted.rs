//! Values that SET PERSIST has kept: read behind everything else that is given, which they win over.

use super::cnf::Setting;
use super::{Files, Options, OptionsError, Origin};

/// The settings that the data directory keeps, each with whether SQL knows the variable; none where nothing is kept, or
/// `persisted_globals_load` is off.
pub(super) fn read(
    options: &Options,
    files: &dyn Files,
) -> Result<Vec<(Setting, bool)>, OptionsError> {
    let load = options.variables.iter().chain(&options.without_effect);
    let off = |value: &str| matches!(&*value.to_ascii_lowercase(), "0" | "off" | "false");
    if load
        .into_iter()
        .any(|(name, value)| name == "persisted_globals_load" && off(value))
    {
        return Ok(Vec::new());
    }
    let Some(kept) = files.kept(&options.datadir) else {
        return Ok(Vec::new());
    };
    let origin = Origin::File(kept.path, 1);
    let values = kept.values.map_err(|why| OptionsError {
        origin: origin.clone(),
        text: format!(
            "the persisted variables cannot be read: {why}; --persisted-globals-load=OFF starts without them"
        ),
    })?;
    let settings = values.into_iter().map(|v| {
        let setting = Setting {
            name: v.name,
            value: Some(v.value),
            origin: origin.clone(),
        };
        (setting, v.is_known)
    });
    Ok(settings.collect())
}
