//! The systemd units in `deploy/systemd`, read by systemd's own programs, which need no running systemd for it.

use std::path::PathBuf;
use std::process::Command;

use fixtures::requirements::{Requirement, demand};
use tempfile::TempDir;

use crate::root;

/// Where the units look for the executable.
const EXECUTABLE: &str = "/usr/local/bin/isthmus";

/// Exposure by `systemd-analyze security`, in tenths, that the unit of a machine stays below.
const EXPOSURE: u32 = 20;

/// Copies of the units of a directory, with an executable that exists.
struct Units {
    directory: TempDir,
}

impl Units {
    fn of(directory: &str) -> Self {
        Self::changed(directory, |text| text)
    }

    /// With a change of each.
    fn changed(directory: &str, change: impl Fn(String) -> String) -> Self {
        demand(Requirement::Systemd);
        let units = Self { directory: tempfile::tempdir().expect("a directory of this test's own") };
        let executable = std::env::current_exe().expect("this program has a path");
        for name in ["isthmus.service", "isthmus.socket"] {
            let text = std::fs::read_to_string(root().join(directory).join(name)).expect("a unit");
            let text = change(text).replace(EXECUTABLE, executable.to_str().expect("text"));
            std::fs::write(units.path(name), text).expect("a file of this test's own");
        }
        units
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What systemd finds wrong with them, which is nothing where they are right.
    fn faults(&self, of_user: bool) -> String {
        let mut command = analyze();
        // For the manager of a user, whose directory of sockets `%t` is.
        command.args(of_user.then_some("--user")).env("XDG_RUNTIME_DIR", self.directory.path());
        command.args(["verify", "--man=no", "--recursive-errors=yes"]);
        let output = command.args(["isthmus.service", "isthmus.socket"].map(|name| self.path(name))).output();
        let output = output.expect("systemd-analyze starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() || !said.is_empty() { said } else { format!("{output:?}") }
    }
}

fn analyze() -> Command {
    let mut command = Command::new("systemd-analyze");
    command.env("LC_ALL", "C").env("SYSTEMD_COLORS", "0").env("SYSTEMD_PAGER", "cat");
    command
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    assert_eq!(Units::of("deploy/systemd").faults(false), "");
    assert_eq!(Units::of("deploy/systemd/user").faults(true), "");
    // It would find it.
    let misspelt = Units::changed("deploy/systemd", |text| text.replace("RestartSec=", "RestartSeconds="));
    let faults = misspelt.faults(false);
    assert!(faults.contains("Unknown key 'RestartSeconds' in section [Service]"), "{faults}");
    let absent = Units::changed("deploy/systemd/user", |text| text.replace(EXECUTABLE, "/absent/isthmus"));
    let faults = absent.faults(true);
    assert!(faults.contains("/absent/isthmus is not executable"), "{faults}");
}

#[test]
fn the_unit_of_a_machine_exposes_little() {
    let security = |units: &Units| {
        let mut command = analyze();
        command.args(["security", "--offline=true", "--no-pager"]);
        command.arg(format!("--threshold={}", EXPOSURE - 1)).arg(units.path("isthmus.service"));
        let output = command.output().expect("systemd-analyze starts");
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        (output.status.success(), said.concat())
    };
    let (is_below, said) = security(&Units::of("deploy/systemd"));
    assert!(is_below && said.contains("Overall exposure level"), "{said}");
    let open = Units::changed("deploy/systemd", |text| text.replace("SystemCallFilter", "#SystemCallFilter"));
    let (is_below, said) = security(&open);
    assert!(!is_below, "the threshold has an effect: {said}");
}

#[test]
fn the_user_of_the_unit_is_created_as_the_page_has_it() {
    demand(Requirement::Systemd);
    let machine = tempfile::tempdir().expect("a directory of this test's own");
    std::fs::create_dir(machine.path().join("etc")).expect("a directory of this test's own");
    let file = root().join("deploy/systemd/isthmus.sysusers");
    let output = Command::new("systemd-sysusers")
        .arg(format!("--root={}", machine.path().display()))
        .arg(file)
        .output()
        .expect("systemd-sysusers starts");
    assert!(output.status.success(), "{output:?}");
    let read = |file: &str| std::fs::read_to_string(machine.path().join(file)).expect("it was created");
    let users = read("etc/passwd");
    let user: Vec<&str> =
        users.lines().find(|line| line.starts_with("isthmus:")).expect("it").split(':').collect();
    assert_eq!(user[5..], ["/var/lib/isthmus", "/usr/sbin/nologin"], "{users}");
    assert!(read("etc/group").contains("isthmus:"));
    let unit = std::fs::read_to_string(root().join("deploy/systemd/isthmus.service")).expect("the unit");
    assert!(unit.contains("\nUser=isthmus\nGroup=isthmus\n"), "{unit}");
}
