//! TEMPORARY.
use crate::access::Granted;
use crate::parse::ast::{Account, Statement};
use crate::session::Session;
use crate::sink::Done;
use types::SqlError;
impl Session {
    pub(crate) fn account_name(&self, _: &Account) -> (String, String) {
        todo!()
    }
    pub(crate) async fn run_account(
        &mut self,
        _: &Granted,
        _: &Statement,
    ) -> Result<Done, SqlError> {
        todo!()
    }
    pub(crate) async fn set_password(
        &mut self,
        _: Option<&Account>,
        _: Option<&[u8]>,
    ) -> Result<(), SqlError> {
        todo!()
    }
    pub(crate) fn grants_of(&self, _: &str, _: &str) -> Result<Vec<String>, SqlError> {
        todo!()
    }
    pub(crate) fn create_user_text(&self, _: &str, _: &str) -> Result<String, SqlError> {
        todo!()
    }
}
