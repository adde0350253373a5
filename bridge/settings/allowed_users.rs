//! The users that the daemon serves: its own, root, and those of `ISTHMUS_ALLOW_USERS`.
//!
//! Names are resolved by `/etc/passwd` alone, since a static executable has no name service switch;
//! users of a directory service are listed by numeric id.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use super::values;

const ROOT: u32 = 0;

/// The database of local users.
const PASSWD: &str = "/etc/passwd";

/// The users whose connections are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedUsers(Users);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Users {
    Everyone,
    Only(BTreeSet<u32>),
}

impl AllowedUsers {
    /// Parses a list of names and ids; the daemon's own user and root are added.
    pub(super) fn parse(value: &OsStr) -> Result<Self, String> {
        Self::parse_with(value, Self::own(), || std::fs::read_to_string(PASSWD).unwrap_or_default())
    }

    /// `passwd` is called only if the list has a name.
    fn parse_with(value: &OsStr, own: u32, passwd: impl FnOnce() -> String) -> Result<Self, String> {
        if value.to_str().is_some_and(|value| value.trim() == "*") {
            return Ok(Self(Users::Everyone));
        }
        let mut users = BTreeSet::from([own, ROOT]);
        let mut names = Vec::new();
        for user in values::list(value)? {
            match user.parse() {
                // The system's invalid user id.
                Ok(u32::MAX) => return Err(format!("invalid user {user:?}")),
                Ok(id) => drop(users.insert(id)),
                Err(_) if is_name(&user) => names.push(user),
                Err(_) => return Err(format!("invalid user {user:?}")),
            }
        }
        if !names.is_empty() {
            let passwd = passwd();
            for user in names {
                let unknown =
                    || format!("no user {user:?} in {PASSWD}, list one of a directory service by id");
                users.insert(id_of(&user, &passwd).ok_or_else(unknown)?);
            }
        }
        Ok(Self(Users::Only(users)))
    }

    /// The daemon's effective user.
    pub fn own() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn only(own: u32) -> Self {
        Self(Users::Only(BTreeSet::from([own, ROOT])))
    }

    /// Whether every user is served, so that no lookup is needed.
    pub fn is_everyone(&self) -> bool {
        self.0 == Users::Everyone
    }

    pub fn contains(&self, user: u32) -> bool {
        match &self.0 {
            Users::Everyone => true,
            Users::Only(users) => users.contains(&user),
        }
    }
}

impl Default for AllowedUsers {
    fn default() -> Self {
        Self::only(Self::own())
    }
}

/// Whether this may be a user's name. Digits alone are an id, and a name that starts with one is
/// probably a mistyped id.
fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && !text.contains(|other: char| other.is_whitespace() || matches!(other, ':' | '/' | '*'))
}

fn id_of(name: &str, passwd: &str) -> Option<u32> {
    let entry = passwd.lines().map(|line| line.split(':')).find(|entry| entry.clone().next() == Some(name));
    entry?.nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u32 = 1000;

    fn parse(list: &str) -> Result<AllowedUsers, String> {
        let passwd =
            "root:x:0:0::/root:/bin/sh\nci:x:998:998:CI,,:/var/ci:/bin/sh\ncity:x:997:997::/:/bin/sh\n";
        AllowedUsers::parse_with(OsStr::new(list), OWN, || passwd.to_owned())
    }

    #[test]
    fn own_user_and_root_are_always_served() {
        for users in [AllowedUsers::only(OWN), parse("998").expect("an id")] {
            assert!(users.contains(OWN) && users.contains(0), "{users:?}");
            assert!(!users.contains(65534) && !users.is_everyone(), "{users:?}");
        }
    }

    #[test]
    fn ids_and_names_may_be_mixed() {
        let users = parse(" 65534, ci ,1001").expect("a list");
        assert!([65534, 998, 1001].into_iter().all(|user| users.contains(user)), "{users:?}");
        assert!(!users.contains(997), "a name is matched as a whole: {users:?}");
    }

    #[test]
    fn a_star_alone_is_every_user() {
        let users = parse("*").expect("every user");
        assert!(users.is_everyone() && users.contains(12345));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for list in ["-1", "0x10", "12ab", "1e3", "4294967295", "4294967296", "*,ci", "ci *", "c:i"] {
            let reason = parse(list).expect_err(list);
            assert!(reason.starts_with("invalid user"), "{list}: {reason}");
        }
        for list in ["", ",", "ci,", "ci,,1001"] {
            parse(list).expect_err(list);
        }
        let reason = parse("ci,nemo").expect_err("no such user");
        assert!(reason.starts_with("no user \"nemo\" in /etc/passwd"), "{reason}");
    }
}
