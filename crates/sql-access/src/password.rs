//! What is asked of a new password: the validate_password component's rules, history and reuse; when one has expired; and how
//! one is made up.
//!
//! Pure functions. Hashes are made and compared by whoever knows the plugins (`InstanceOptions`), packets are the server's.

use std::sync::Arc;

use base::Random;
use types::SqlError;
use types::error::codes;

use super::account::{Account, OldPassword, PasswordPolicy};
use sql_expr::vars::{GlobalVars, VarValue};

const DAY_US: i64 = 86_400 * 1_000_000;

/// Says whether a password is the one of which a plugin stored something: `(plugin, stored, password)`.
pub type Verify<'a> = &'a (dyn Fn(&str, &[u8], &[u8]) -> bool + Send + Sync);

/// Which passwords may not be used again; 0 for no such rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct History {
    /// The last so many.
    pub count: u32,
    /// Those of so many days.
    pub days: u32,
}

impl History {
    /// With what an account says in its own words.
    #[must_use]
    pub fn of(self, policy: &PasswordPolicy) -> History {
        History {
            count: policy.history.unwrap_or(self.count),
            days: policy.reuse_days.unwrap_or(self.days),
        }
    }

    fn is_off(self) -> bool {
        self.count == 0 && self.days == 0
    }

    /// Whether the entry at that place, counted from the newest, is one that the rules speak of.
    fn covers(self, at: usize, old: &OldPassword, now_us: i64) -> bool {
        let young = i64::from(self.days) * DAY_US;
        at < self.count as usize || (self.days > 0 && old.set_us > now_us - young)
    }

    /// Refuses a password that an account had too recently.
    ///
    /// # Errors
    /// 3638.
    pub fn check(
        self,
        a: &Account,
        password: &[u8],
        now_us: i64,
        verify: Verify<'_>,
    ) -> Result<(), SqlError> {
        if self.is_off() || password.is_empty() {
            return Ok(());
        }
        let mut covered = a.old_passwords.iter().enumerate();
        if covered.any(|(at, old)| {
            self.covers(at, old, now_us) && verify(&a.plugin, &old.auth_string, password)
        }) {
            return Err(SqlError::new(
                codes::ER_CREDENTIALS_CONTRADICT_TO_HISTORY,
                format!(
                    "Cannot use these credentials for '{}@{}' because they contradict the password history policy",
                    a.id.user, a.id.host
                ),
            ));
        }
        Ok(())
    }

    /// Notes a password that was set just now, and forgets those that no rule speaks of.
    pub fn note(self, a: &mut Account, now_us: i64) {
        if self.is_off() {
            a.old_passwords.clear();
            return;
        }
        if !a.auth_string.is_empty() {
            // The time is a part of the key of what is stored.
            let newest = a.old_passwords.first().map_or(i64::MIN, |o| o.set_us);
            let new = OldPassword {
                set_us: now_us.max(newest.saturating_add(1)),
                auth_string: a.auth_string.clone(),
            };
            a.old_passwords.insert(0, new);
        }
        let old = std::mem::take(&mut a.old_passwords).into_iter().enumerate();
        let kept = old.filter(|(at, old)| self.covers(*at, old, now_us));
        a.old_passwords = kept.map(|(_, old)| old).collect();
    }
}

/// Whether an account's password has to be changed before anything else. `default_days` is `default_password_lifetime`.
pub fn has_expired(a: &Account, default_days: u16, now_us: i64) -> bool {
    if a.password.expired {
        return true;
    }
    let days = i64::from(a.password.lifetime_days.unwrap_or(default_days));
    // An account whose password was never set has none that could grow old.
    let set = a.password.changed_us;
    days > 0 && set.is_some_and(|set| now_us >= set.saturating_add(days * DAY_US))
}

/// What the validate_password component asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strength {
    /// 0 LOW: the length; 1 MEDIUM: kinds of characters as well; 2 STRONG: no word of the dictionary as well.
    pub policy: u64,
    /// Least number of characters.
    pub length: usize,
    /// Least numbers of upper and of lower case letters.
    pub mixed_case: usize,
    /// Least number of digits.
    pub numbers: usize,
    /// Least number of other characters.
    pub specials: usize,
    /// The user name, and the user name read backwards, are refused.
    pub check_user_name: bool,
    /// Words of at least four characters, in lower case.
    pub dictionary: Arc<[Box<str>]>,
}

impl Default for Strength {
    fn default() -> Strength {
        Strength {
            policy: 1,
            length: 8,
            mixed_case: 1,
            numbers: 1,
            specials: 1,
            check_user_name: true,
            dictionary: Arc::new([]),
        }
    }
}

impl Strength {
    /// What the variables ask, where the component is installed.
    pub fn of(globals: &GlobalVars) -> Option<Strength> {
        let number = |name: &str| {
            let v = globals.value_by_name(name);
            v.map(|v| v.as_u64())
        };
        let usual = Strength::default();
        Some(Strength {
            policy: match globals.value_by_name("validate_password.policy")? {
                VarValue::Text(word) => match &*word {
                    "LOW" => 0,
                    "STRONG" => 2,
                    _ => 1,
                },
                v => v.as_u64(),
            },
            length: number("validate_password.length")? as usize,
            mixed_case: number("validate_password.mixed_case_count")? as usize,
            numbers: number("validate_password.number_count")? as usize,
            specials: number("validate_password.special_char_count")? as usize,
            check_user_name: number("validate_password.check_user_name").is_none_or(|v| v != 0),
            ..usual
        })
    }

    /// Refuses a password that is too weak.
    ///
    /// # Errors
    /// 1819.
    pub fn check(&self, password: &[u8], user: &str) -> Result<(), SqlError> {
        let text = String::from_utf8_lossy(password);
        let weak = self.is_user_name(&text, user) || self.rate(&text) < 25 + 25 * (self.policy + 1);
        match weak {
            true => Err(SqlError::new(
                codes::ER_NOT_VALID_PASSWORD,
                "Your password does not satisfy the current policy requirements",
            )),
            false => Ok(()),
        }
    }

    fn is_user_name(&self, password: &str, user: &str) -> bool {
        let backwards: String = user.chars().rev().collect();
        self.check_user_name && !user.is_empty() && (password == user || password == backwards)
    }

    /// VALIDATE_PASSWORD_STRENGTH: 0 below four characters, 25 below the length, 50 for LOW, 75 for MEDIUM, 100 for STRONG.
    pub fn rate(&self, password: &str) -> u64 {
        let chars = password.chars().count();
        if chars < 4 {
            return 0;
        }
        // Fewer characters than the counts need together cannot be asked for.
        let least = self.numbers + self.specials + 2 * self.mixed_case;
        if chars < self.length.max(least) {
            return 25;
        }
        let count = |is: fn(&char) -> bool| password.chars().filter(is).count();
        let lower = count(|c| c.is_lowercase());
        let upper = count(|c| c.is_uppercase());
        let digits = count(|c| c.is_ascii_digit());
        let specials = chars - lower - upper - digits;
        if lower < self.mixed_case
            || upper < self.mixed_case
            || digits < self.numbers
            || specials < self.specials
        {
            return 50;
        }
        let folded = password.to_lowercase();
        match self.dictionary.iter().any(|word| folded.contains(&**word)) {
            true => 75,
            false => 100,
        }
    }
}

/// A password of that many characters, of all kinds.
pub fn random(random: &dyn Random, length: usize) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&()*+,-./:;<=>?@[]^_{|}~";
    const KINDS: [fn(&u8) -> bool; 4] = [
        u8::is_ascii_uppercase,
        u8::is_ascii_lowercase,
        u8::is_ascii_digit,
        u8::is_ascii_punctuation,
    ];
    loop {
        let one = |_| {
            // Numbers of the last, incomplete stretch are drawn again: no character is likelier than another.
            let n = LETTERS.len() as u64;
            loop {
                let drawn = random.next_u64();
                if drawn < u64::MAX - u64::MAX % n {
                    return LETTERS[(drawn % n) as usize];
                }
            }
        };
        let bytes: Vec<u8> = (0..length).map(one).collect();
        if KINDS.iter().all(|is| bytes.iter().any(is)) {
            return bytes.iter().map(|b| char::from(*b)).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(_: &str, stored: &[u8], password: &[u8]) -> bool {
        stored == password
    }

    fn used(rule: History, a: &mut Account, password: &str, now: i64) -> Result<(), u16> {
        rule.check(a, password.as_bytes(), now, &plain)
            .map_err(|e| e.code)?;
        a.auth_string = password.as_bytes().to_vec();
        rule.note(a, now);
        Ok(())
    }

    #[test]
    fn passwords_are_not_used_again_too_soon() {
        let rule = History { count: 2, days: 0 };
        let mut a = Account::default();
        for (password, outcome) in [
            ("a", Ok(())),
            ("a", Err(3638)),
            ("b", Ok(())),
            ("a", Err(3638)),
            ("c", Ok(())),
            ("a", Ok(())),
        ] {
            assert_eq!(used(rule, &mut a, password, 5), outcome, "{password}");
            assert!(a.old_passwords.len() <= 2);
        }
        let rule = History { count: 0, days: 2 };
        let mut a = Account::default();
        assert_eq!(used(rule, &mut a, "a", 0), Ok(()));
        assert_eq!(used(rule, &mut a, "b", DAY_US), Ok(()));
        assert_eq!(used(rule, &mut a, "a", 2 * DAY_US - 1), Err(3638));
        assert_eq!(used(rule, &mut a, "a", 2 * DAY_US), Ok(()));
        let own = PasswordPolicy {
            history: Some(0),
            ..PasswordPolicy::default()
        };
        assert_eq!(
            History { count: 3, days: 1 }.of(&own),
            History { count: 0, days: 1 }
        );
    }

    #[test]
    fn passwords_expire() {
        let mut a = Account::default();
        assert!(!has_expired(&a, 10, i64::MAX));
        a.password.changed_us = Some(0);
        assert!(has_expired(&a, 10, 10 * DAY_US) && !has_expired(&a, 10, 10 * DAY_US - 1));
        a.password.lifetime_days = Some(0);
        assert!(!has_expired(&a, 10, i64::MAX));
        a.password.expired = true;
        assert!(has_expired(&a, 0, 0));
    }

    #[test]
    fn weak_passwords_are_refused() {
        let s = Strength::default();
        for (password, rate) in [
            ("abc", 0),
            ("abcdefg", 25),
            ("abcdefgh", 50),
            ("Abcdefg1", 50),
            ("Abcdef1!", 100),
        ] {
            assert_eq!(s.rate(password), rate, "{password}");
            let refused = s.check(password.as_bytes(), "u").is_err();
            assert_eq!(refused, rate < 75, "{password}");
        }
        assert!(s.check(b"Abcdef1!", "Abcdef1!").is_err());
        assert!(s.check(b"Abcdef1!", "!1fedcbA").is_err());
        let strong = Strength {
            policy: 2,
            dictionary: Arc::new(["cdef".into()]),
            ..Strength::default()
        };
        assert!(strong.check(b"ABCDef1!", "u").is_err() && s.check(b"ABCDef1!", "u").is_ok());
        let low = Strength { policy: 0, ..s };
        assert!(low.check(b"abcdefgh", "u").is_ok());
    }

    #[test]
    fn made_up_passwords_are_strong() {
        let r = base::mem::environment(Arc::new(base::mem::MemDisk::default())).random;
        let strong = Strength {
            policy: 2,
            length: 20,
            ..Strength::default()
        };
        for _ in 0..100 {
            let p = random(&*r, 20);
            assert!(strong.check(p.as_bytes(), "u").is_ok(), "{p}");
        }
        assert_eq!(random(&*r, 5).len(), 5);
    }
}
