//! The password file of libpq, which the address of a store names by `passfile`: so no password is in the environment.
//!
//! A line has the form `host:port:database:user:password`. Each of the first four is also `*`, which stands for any; a colon or a
//! backslash in any of the five has a backslash before it. The first line that fits is taken.

use std::io;
use std::path::{Path, PathBuf};

use isthmus_common::permissions::{PermissionsError, require_trusted_file};
use isthmus_common::{Links, read_regular};
use tokio_postgres::Config;

use crate::location::name_of;

/// The port of a server whose address has none.
const PORT: u16 = 5432;

/// Why a file gives no password. No text of the file is in it.
#[derive(Debug, thiserror::Error)]
pub(super) enum PasswordFileError {
    #[error("the password file {path} cannot be read", path = path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the password file is refused")]
    Untrusted(#[from] PermissionsError),
    #[error(
        "the password file {path} has no line for this server, database and user\nhelp: add a line `host:port:database:user:password`",
        path = .0.display()
    )]
    NoLine(PathBuf),
}

/// Takes the password for the servers of an address from a file.
///
/// # Errors
/// When another user may write to the file, it cannot be read, or has no line that fits.
pub(super) fn take_password(config: &mut Config, path: &Path) -> Result<(), PasswordFileError> {
    require_trusted_file(path)?;
    let read = read_regular(path, Links::Follow)
        .and_then(|text| String::from_utf8(text).map_err(|_| io::ErrorKind::InvalidData.into()));
    let text = read.map_err(|source| PasswordFileError::Read { path: path.to_owned(), source })?;
    let servers = (0..config.get_hosts().len()).map(|index| server(config, index));
    // One password is for all servers of an address, as in `tokio_postgres`.
    let found = servers.into_iter().find_map(|server| password(&text, &server));
    config.password(found.ok_or_else(|| PasswordFileError::NoLine(path.to_owned()))?);
    Ok(())
}

/// What the first four fields of a line are compared with.
fn server(config: &Config, index: usize) -> [String; 4] {
    // As libpq has it for the default directory; any other one is named by its path.
    let host = name_of(&config.get_hosts()[index]);
    let ports = config.get_ports();
    let port = ports.get(index).or(ports.first()).copied().unwrap_or(PORT);
    let user = config.get_user().unwrap_or_default().to_owned();
    let database = config.get_dbname().map_or_else(|| user.clone(), str::to_owned);
    [host, port.to_string(), database, user]
}

/// The password of the first line that fits.
fn password(text: &str, server: &[String; 4]) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let [host, port, database, user, password] = fields.as_slice() else { return None };
        let fits = [host, port, database, user].into_iter().zip(server);
        fits.into_iter().all(|(field, wanted)| field == "*" || field == wanted).then(|| password.clone())
    })
}

/// The fields of a line, without the backslashes before colons and backslashes.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ':' => fields.push(String::new()),
            '\\' => fields.last_mut().expect("one at least").extend(characters.next()),
            other => fields.last_mut().expect("one at least").push(other),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let server = ["db.example", "5432", "states", "me"].map(str::to_owned);
        let of = |text: &str| password(text, &server);
        let found = |password: &str| Some(password.to_owned());
        assert_eq!(of("db.example:5432:states:me:first\n*:*:*:*:second"), found("first"));
        assert_eq!(of("other:5432:states:me:first\n*:*:*:*:second\n"), found("second"));
        assert_eq!(of("db.example:5433:states:me:a\ndb.example:*:states:you:b"), None);
        assert_eq!(of(r"*:*:*:me:a\:b\\c"), found(r"a:b\c"));
        assert_eq!(of("# *:*:*:*:x\n*:*:*:*:"), found(""));
        for malformed in ["", "secret", "*:*:*:me", "*:*:*:me:a:b"] {
            assert_eq!(of(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn what_an_address_leaves_out_is_the_default() {
        let fields = |address: &str| server(&address.parse().expect("an address"), 0);
        assert_eq!(fields("postgres://me@db"), ["db", "5432", "me", "me"]);
        assert_eq!(fields("postgres://me@%2Frun%2Fpg:6432/states"), ["/run/pg", "6432", "states", "me"]);
    }

    #[test]
    fn a_file_that_gives_no_password_is_named_without_its_text() {
        let directory = tempfile::tempdir().expect("a directory of this test's own");
        let path = directory.path().join("pgpass");
        let mut config: Config = "postgres://me@db/states".parse().expect("an address");
        let mut fails =
            || isthmus_common::error_chain(&take_password(&mut config, &path).expect_err("no password"));
        assert!(fails().contains("pgpass cannot be read: "), "{}", fails());
        std::fs::write(&path, "other:*:*:*:hunter2\n").expect("a file of this test's own");
        let text = fails();
        assert!(text.contains("pgpass has no line for this server") && !text.contains("hunter2"), "{text}");
        isthmus_platform::files::set_mode(&path, 0o666).expect("a file of this test's own");
        assert!(fails().contains("lets other users write to it"), "{}", fails());
    }
}
