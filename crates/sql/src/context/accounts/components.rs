//! Components: of MySQL's there is one here, validate_password. It is off until INSTALL COMPONENT, as in MySQL, and what is installed
//! stays so (`store::components`).
//!
//! Never here: what a component does. The rules of passwords are [`sql_access::password`]'s.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::Engine;
use types::SqlError;
use types::error::codes;

use super::store::components as table;

/// The name under which the component is installed.
const VALIDATE_PASSWORD: &str = "file://component_validate_password";

/// The components of a server.
#[derive(Debug, Default)]
pub struct Components {
    validate_password: AtomicBool,
}

impl Components {
    /// Those that were installed.
    ///
    /// # Errors
    /// What the engine fails with.
    pub async fn open(engine: &Arc<Engine>) -> Result<Components, SqlError> {
        let all = table::read(engine).await?;
        let is = all.iter().any(|urn| urn == VALIDATE_PASSWORD);
        Ok(Components {
            validate_password: AtomicBool::new(is),
        })
    }

    /// Whether new passwords are looked at.
    pub fn validates_passwords(&self) -> bool {
        self.validate_password.load(Ordering::Acquire)
    }

    /// Whether variables with that prefix can be set.
    pub fn has_variable(&self, prefix: &str) -> bool {
        prefix.eq_ignore_ascii_case("validate_password") && self.validates_passwords()
    }

    /// Installs or removes components, all or none.
    ///
    /// # Errors
    /// 3529 for one that there is not or that is installed, 3537 for one that is not; what the engine fails with.
    pub async fn change(
        &self,
        engine: &Arc<Engine>,
        install: bool,
        urns: &[Box<str>],
    ) -> Result<(), SqlError> {
        for (at, urn) in urns.iter().enumerate() {
            let known = &**urn == VALIDATE_PASSWORD && !urns[..at].contains(urn);
            if install && (!known || self.validates_passwords()) {
                return Err(SqlError::new(
                    codes::ER_COMPONENTS_CANT_LOAD,
                    format!("Cannot load component from specified URN: '{urn}'."),
                ));
            }
            if !install && (!known || !self.validates_passwords()) {
                return Err(SqlError::new(
                    codes::ER_COMPONENTS_UNLOAD_NOT_LOADED,
                    format!(
                        "Component specified by URN '{urn}' to unload has not been loaded before."
                    ),
                ));
            }
        }
        table::write(engine, VALIDATE_PASSWORD, install).await?;
        self.validate_password.store(install, Ordering::Release);
        Ok(())
    }
}
