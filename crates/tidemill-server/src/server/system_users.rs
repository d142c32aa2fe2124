//! Names of the system's users, as `/etc/passwd` has them. Users of directories that are not in it have none here.

/// The name of a user by its number.
pub fn system_user(number: u32) -> Option<String> {
    named(&std::fs::read_to_string("/etc/passwd").ok()?, number)
}

fn named(file: &str, number: u32) -> Option<String> {
    file.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let own = fields.nth(1)?.parse::<u32>().ok()?;
        (own == number && !name.is_empty()).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_its_first_name() {
        let file = "root:x:0:0:root:/root:/bin/sh\n+nis\n#:x\ntoor:x:0:0::/:/bin/sh\napp:x:1000:1000::/:/bin/sh\n:x:7:7::/:\n";
        assert_eq!(named(file, 0).as_deref(), Some("root"));
        assert_eq!(named(file, 1000).as_deref(), Some("app"));
        assert_eq!(named(file, 7), None);
        assert_eq!(named(file, 5), None);
    }
}
