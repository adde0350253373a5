//! The systemd units in `deploy/systemd`, read by systemd's own programs, which need no running systemd for it.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::root;

/// Where the units look for the executable.
const EXECUTABLE: &str = "/usr/local/bin/isthmus";

const DIRECTORY: &str = "deploy/systemd";

/// Copies of the units, with an executable that exists.
struct Units {
    directory: TempDir,
}

impl Units {
    /// With a change of each.
    fn changed(change: impl Fn(String) -> String) -> Self {
        let units = Self { directory: tempfile::tempdir().expect("a directory of this test's own") };
        let executable = std::env::current_exe().expect("this program has a path");
        for name in ["isthmus.service", "isthmus.socket"] {
            let text = std::fs::read_to_string(root().join(DIRECTORY).join(name)).expect("a unit");
            let text = change(text).replace(EXECUTABLE, executable.to_str().expect("text"));
            std::fs::write(units.path(name), text).expect("a file of this test's own");
        }
        units
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What systemd finds wrong with them, which is nothing where they are right.
    fn faults(&self) -> String {
        let mut command = Command::new("systemd-analyze");
        command.env("LC_ALL", "C").env("SYSTEMD_COLORS", "0").env("SYSTEMD_PAGER", "cat");
        // For the manager of a user, whose directory of sockets `%t` is.
        command.env("XDG_RUNTIME_DIR", self.directory.path());
        command.args(["--user", "verify", "--man=no", "--recursive-errors=yes"]);
        let output = command.args(["isthmus.service", "isthmus.socket"].map(|name| self.path(name))).output();
        let output = output.expect("systemd-analyze starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() || !said.is_empty() { said } else { format!("{output:?}") }
    }
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    fixtures::needs!(Systemd);
    assert_eq!(Units::changed(|text| text).faults(), "");
    // It would find it.
    let misspelt = Units::changed(|text| text.replace("RestartSec=", "RestartSeconds="));
    let faults = misspelt.faults();
    assert!(faults.contains("Unknown key 'RestartSeconds' in section [Service]"), "{faults}");
    let absent = Units::changed(|text| text.replace(EXECUTABLE, "/absent/isthmus"));
    let faults = absent.faults();
    assert!(faults.contains("/absent/isthmus is not executable"), "{faults}");
}
