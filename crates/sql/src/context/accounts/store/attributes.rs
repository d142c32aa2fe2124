//! The JSON of `mysql.user.User_attributes`: restrictions, locking after failed logins, the second password, and what the user
//! wrote as ATTRIBUTE or COMMENT.
//!
//! Read leniently, since anybody with the right to change the table can write it: what is not understood grants nothing.

use std::collections::BTreeMap;

use sql_access::account::Account;
use sql_access::privilege::{DB_SET, Priv, PrivSet};
use sql_expr::json::{Json, parse};

/// What the column says of an account; `None` for NULL.
pub fn text_of(a: &Account) -> Option<String> {
    let mut members = Vec::new();
    if let Some(second) = &a.second_auth_string {
        let text = String::from_utf8_lossy(second).into_owned();
        members.push(("additional_password".to_owned(), Json::Str(text)));
    }
    if !a.restrictions.is_empty() {
        let all = a.restrictions.iter().map(|(db, set)| {
            let names = set.iter().map(|p| Json::Str(p.name().to_owned()));
            Json::object([
                ("Database".to_owned(), Json::Str(db.to_string())),
                ("Privileges".to_owned(), Json::Array(names.collect())),
            ])
        });
        members.push(("Restrictions".to_owned(), Json::Array(all.collect())));
    }
    let p = &a.password;
    if p.failed_attempts != 0 || p.lock_days != Some(0) {
        let days = p.lock_days.map_or(-1, i64::from);
        let attempts = i64::from(p.failed_attempts);
        let locking = Json::object([
            ("failed_login_attempts".to_owned(), Json::Int(attempts)),
            ("password_lock_time_days".to_owned(), Json::Int(days)),
        ]);
        members.push(("Password_locking".to_owned(), locking));
    }
    if let Ok(metadata @ Json::Object(_)) = parse(&a.metadata) {
        members.push(("metadata".to_owned(), metadata));
    }
    if members.is_empty() {
        return None;
    }
    Some(written(&Json::object(members)))
}

fn written(json: &Json) -> String {
    let mut out = Vec::new();
    // A vector takes all that it is given.
    let _all = json.write(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Takes over what the column says.
pub fn read_into(a: &mut Account, text: &str) {
    let Ok(json) = parse(text) else { return };
    if let Some(Json::Str(second)) = json.member("additional_password") {
        a.second_auth_string = Some(second.clone().into_bytes());
    }
    if let Some(Json::Array(all)) = json.member("Restrictions") {
        a.restrictions = all
            .iter()
            .filter_map(restriction)
            .collect::<BTreeMap<_, _>>();
    }
    if let Some(locking) = json.member("Password_locking") {
        let number = |key| match locking.member(key) {
            Some(Json::Int(n)) => Some(*n),
            _ => None,
        };
        if let Some(attempts) = number("failed_login_attempts") {
            a.password.failed_attempts = u16::try_from(attempts).unwrap_or(0);
        }
        a.password.lock_days = match number("password_lock_time_days") {
            Some(-1) => None,
            Some(days) => Some(u16::try_from(days).unwrap_or(0)),
            None => Some(0),
        };
    }
    if let Some(metadata @ Json::Object(_)) = json.member("metadata") {
        a.metadata = written(metadata);
    }
}

/// One entry of `Restrictions`. Where the privileges are not understood all of them are taken away: a restriction that cannot
/// be read must not open what it closed.
fn restriction(json: &Json) -> Option<(Box<str>, PrivSet)> {
    let Some(Json::Str(db)) = json.member("Database") else {
        return None;
    };
    let named = |j: &Json| match j {
        Json::Str(name) => Priv::by_name(&name.to_ascii_uppercase()),
        _ => None,
    };
    let set = match json.member("Privileges") {
        Some(Json::Array(names)) => {
            let known: Option<PrivSet> = names.iter().map(named).collect();
            known.unwrap_or(DB_SET)
        }
        _ => DB_SET,
    };
    Some((db.as_str().into(), set))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_go_to_and_fro() {
        let mut a = Account {
            second_auth_string: Some(b"$A$005$\"\x01".to_vec()),
            metadata: r#"{"comment": "it's"}"#.to_owned(),
            ..Account::default()
        };
        assert!(text_of(&Account::default()).is_none());
        a.restrictions
            .insert("mysql".into(), PrivSet::of(Priv::Select).with(Priv::Insert));
        a.password.failed_attempts = 3;
        a.password.lock_days = None;
        let text = text_of(&a).unwrap();
        assert!(text.contains(r#""password_lock_time_days": -1"#), "{text}");
        let mut b = Account::default();
        read_into(&mut b, &text);
        assert_eq!(a, b);
    }

    #[test]
    fn nonsense_grants_nothing() {
        for text in [
            "",
            "[",
            "3",
            r#"{"Restrictions": 7, "metadata": [], "Password_locking": "x", "additional_password": null}"#,
        ] {
            let mut a = Account::default();
            read_into(&mut a, text);
            assert_eq!(a, Account::default(), "{text}");
        }
        let mut a = Account::default();
        let text = r#"{"Restrictions": [{"Database": "d", "Privileges": ["FLY"]}]}"#;
        read_into(&mut a, text);
        assert_eq!(a.restrictions.get("d"), Some(&DB_SET));
    }
}
