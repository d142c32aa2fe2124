//! START REPLICA UNTIL: where the applier is to end.

use sql::context::replica::LogPlace;
use types::SqlError;
use types::error::codes;
use types::gtid::{Gtid, GtidSet};

/// Where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Until {
    /// At this place of the source's binary log, or the first behind it between two transactions.
    Source(LogPlace),
    /// Before the first of these.
    Before(GtidSet),
    /// When all of these are applied.
    After(GtidSet),
    /// When nothing is missing before what is applied: as transactions are committed in the source's order, always.
    Gaps,
}

impl Until {
    /// Of the options of START REPLICA; `None`: nowhere.
    ///
    /// # Errors
    /// 1277: they do not say it; 1235 for what is not done here; 1064 for what is no option.
    pub fn of(options: &[(Box<str>, Box<[u8]>)]) -> Result<Option<Until>, SqlError> {
        let (mut file, mut position, mut until) = (None, None, None);
        let wrong = || {
            SqlError::new(
                codes::ER_BAD_REPLICA_UNTIL_COND,
                "Incorrect parameter or combination of parameters for START REPLICA UNTIL",
            )
        };
        for (name, value) in options {
            let text = String::from_utf8_lossy(value).into_owned();
            match &**name {
                "SOURCE_LOG_FILE" => file = Some(text),
                "SOURCE_LOG_POS" => position = Some(text.parse().map_err(|_| wrong())?),
                "SQL_AFTER_MTS_GAPS" if until.is_none() => until = Some(Until::Gaps),
                "SQL_AFTER_MTS_GAPS" => return Err(wrong()),
                "SQL_BEFORE_GTIDS" | "SQL_AFTER_GTIDS" => {
                    if until.is_some() {
                        return Err(wrong());
                    }
                    let set = GtidSet::parse(&text).ok_or_else(|| {
                        SqlError::new(
                            codes::ER_MALFORMED_GTID_SET_SPECIFICATION,
                            format!("Malformed GTID set specification '{text}'."),
                        )
                    })?;
                    until = Some(match &**name {
                        "SQL_BEFORE_GTIDS" => Until::Before(set),
                        _ => Until::After(set),
                    });
                }
                // Of the receiver.
                "USER" | "PASSWORD" => {}
                "RELAY_LOG_FILE" | "RELAY_LOG_POS" | "DEFAULT_AUTH" | "PLUGIN_DIR" => {
                    return Err(SqlError::not_supported(&format!("START REPLICA .. {name}")));
                }
                name => return Err(SqlError::parse_error(name, 1)),
            }
        }
        match (file, position, until) {
            (None, None, until) => Ok(until),
            (Some(file), Some(position), None) => {
                Ok(Some(Until::Source(LogPlace { file, position })))
            }
            _ => Err(wrong()),
        }
    }

    /// Whether the applier ends in front of a transaction that begins at `place`, with this GTID, when these are applied; `next`: `None` also
    /// where none has come yet.
    pub fn is_reached(&self, place: &LogPlace, next: Option<Gtid>, executed: &GtidSet) -> bool {
        match self {
            Until::Source(end) => {
                (sequence(&place.file), place.position) >= (sequence(&end.file), end.position)
            }
            Until::Before(set) => next.is_some_and(|g| set.has(g)) || executed.meets(set),
            Until::After(set) => executed.contains(set),
            Until::Gaps => true,
        }
    }

    /// How SHOW REPLICA STATUS names it.
    pub fn shown(&self) -> (&'static str, LogPlace) {
        match self {
            Until::Source(place) => ("Source", place.clone()),
            Until::Before(_) => ("SQL_BEFORE_GTIDS", LogPlace::default()),
            Until::After(_) => ("SQL_AFTER_GTIDS", LogPlace::default()),
            Until::Gaps => ("SQL_AFTER_MTS_GAPS", LogPlace::default()),
        }
    }
}

/// The number at the end of a file's name: files are compared by it, as MySQL does.
fn sequence(file: &str) -> u64 {
    let digits = file.rsplit('.').next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(options: &[(&str, &str)]) -> Result<Option<Until>, SqlError> {
        let one = |(n, v): &(&str, &str)| ((*n).into(), v.as_bytes().into());
        let options: Vec<_> = options.iter().map(one).collect();
        Until::of(&options)
    }

    #[test]
    fn a_place_is_reached_at_it_and_behind_it() {
        let until = of(&[("SOURCE_LOG_FILE", "b.000009"), ("SOURCE_LOG_POS", "100")]);
        let until = until.unwrap().unwrap();
        let at = |file: &str, position| LogPlace {
            file: file.to_owned(),
            position,
        };
        let none = GtidSet::new();
        assert!(!until.is_reached(&at("b.000009", 99), None, &none));
        assert!(until.is_reached(&at("b.000009", 100), None, &none));
        assert!(until.is_reached(&at("b.000010", 4), None, &none));
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&[("SOURCE_LOG_POS", "4")]).unwrap_err().code, 1277);
        assert_eq!(of(&[("RELAY_LOG_POS", "4")]).unwrap_err().code, 1235);
        let gaps = of(&[("SQL_AFTER_MTS_GAPS", "")]).unwrap().unwrap();
        assert!(gaps.is_reached(&at("", 4), None, &none));
        let both = [("SQL_AFTER_MTS_GAPS", ""), ("SQL_AFTER_GTIDS", "")];
        assert_eq!(of(&both).unwrap_err().code, 1277);
    }

    #[test]
    fn sets_are_reached_before_their_first_and_after_their_last() {
        let sid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        let set = |text: &str| GtidSet::parse(&format!("{sid}:{text}")).unwrap();
        let gtid = |n| Gtid::parse(&format!("{sid}:{n}")).unwrap();
        let place = LogPlace::default();
        let (before, after) = (Until::Before(set("5-6")), Until::After(set("5-6")));
        assert!(!before.is_reached(&place, Some(gtid(4)), &set("1-3")));
        assert!(before.is_reached(&place, Some(gtid(5)), &set("1-4")));
        assert!(!after.is_reached(&place, Some(gtid(6)), &set("1-5")));
        assert!(after.is_reached(&place, Some(gtid(7)), &set("1-6")));
    }
}
