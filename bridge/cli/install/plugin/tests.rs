//! Installation of the plugin, and what it replaces.

use super::*;

struct Fixture {
    directory: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("isthmus"), "ours").expect("a file");
        Self { directory }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// The output, without the directory.
    fn run(&self, versions: &[&str], force: bool) -> Result<Vec<String>, String> {
        let versions = versions.iter().map(|version| Version::parse(version).expect("a version"));
        let options =
            Options { project: None, stacks: Vec::new(), versions: Vec::new(), force, everywhere: false };
        let short = |text: String| text.replace(&format!("{}/", self.directory.path().display()), "");
        let wanted = Wanted { versions: versions.collect(), ..Wanted::default() };
        let mut lines = Vec::new();
        let (plugins, program) = (self.path("home/plugins"), self.path("isthmus"));
        let done = options.install(wanted, &plugins, &program, &mut |line| lines.push(short(line)));
        done.map(|()| lines).map_err(|error| short(isthmus_common::error_chain(&error)))
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn others(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
}

fn path(version: &str) -> String {
    format!("home/plugins/resource-terraform-provider-v{version}/pulumi-resource-terraform-provider")
}

fn installed(version: &str) -> String {
    format!("installed {}", path(version))
}

#[test]
fn the_program_is_put_under_each_version_once() {
    let fixture = Fixture::new();
    let done = fixture.run(&["1.0.0", "0.9.0-rc1"], false);
    assert_eq!(done, Ok(vec![installed("0.9.0-rc1"), installed("1.0.0")]));
    assert_eq!(fixture.read(&path("1.0.0")), "ours");
    let again = fixture.run(&["1.0.0"], false);
    assert_eq!(again, Ok(vec![format!("{} is there already", path("1.0.0"))]));
    // A newer version replaces an unchanged older one.
    fs::write(fixture.path("isthmus"), "newer").expect("a file");
    assert_eq!(fixture.read(&path("0.9.0-rc1")), "ours", "it does not share the file that it came from");
    assert_eq!(fixture.run(&["1.0.0"], false), Ok(vec![installed("1.0.0")]));
    assert_eq!(fixture.read(&path("1.0.0")), "newer");
    assert_eq!(fixture.run(&["1.4.0"], false), Ok(vec![installed("1.4.0")]));
    let directory = fixture.path("home/plugins/resource-terraform-provider-v1.4.0");
    assert_eq!(
        fs::read_dir(directory).expect("a directory").count(),
        2,
        "nothing but the program and its mark"
    );
}

#[test]
fn a_program_of_others_is_replaced_when_that_is_asked_for_and_kept() {
    let fixture = Fixture::new();
    let other = path("1.1.0");
    fixture.others(&other, "theirs");
    let refused = fixture.run(&["1.0.0", "1.1.0"], false).expect_err("it is another one");
    let expected = format!(
        "{other} was not installed by isthmus, so nothing was changed\nhelp: replace it with --force"
    );
    assert!(refused.starts_with(&expected) && refused.contains(&format!("{other}.replaced")), "{refused}");
    assert!(!fixture.path(&path("1.0.0")).exists(), "all or nothing");
    let replaced = Ok(vec![format!("installed {other} (backup: {other}.replaced)")]);
    assert_eq!(fixture.run(&["1.1.0"], true), replaced);
    assert_eq!(fixture.read(&other), "ours");
    assert_eq!(fixture.read(&format!("{other}.replaced")), "theirs");
    assert_eq!(fixture.run(&["1.1.0"], false), Ok(vec![format!("{other} is there already")]));
    // A foreign plugin overwrites ours.
    fixture.others(&other, "theirs again");
    fixture.run(&["1.1.0"], false).expect_err("it is another one again");
    let replaced = Ok(vec![format!("installed {other} (backup: {other}.replaced-2)")]);
    assert_eq!(fixture.run(&["1.1.0"], true), replaced);
    assert_eq!(fixture.read(&format!("{other}.replaced-2")), "theirs again");
    assert_eq!(fixture.read(&format!("{other}.replaced")), "theirs", "what was kept before stays");
    // The same again needs no second backup.
    fixture.others(&other, "theirs");
    fixture.run(&["1.1.0"], true).expect("it is replaced");
    assert!(!fixture.path(&format!("{other}.replaced-3")).exists());
}

#[test]
fn a_link_of_others_is_kept_as_a_link_and_not_followed() {
    let fixture = Fixture::new();
    fixture.others("elsewhere/plugin", "theirs");
    for (version, target) in [("1.0.0", "elsewhere/plugin"), ("1.1.0", "nowhere")] {
        let link = fixture.path(&path(version));
        fs::create_dir_all(link.parent().expect("a directory")).expect("a directory");
        isthmus_platform::files::symlink(fixture.path(target), &link).expect("a link");
        fixture.run(&[version], false).expect_err("it is another one");
        fixture.run(&[version], true).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(fixture.read(&path(version)), "ours");
        let backup = fixture.path(&format!("{}.replaced", path(version)));
        assert_eq!(fs::read_link(backup).expect("a link"), fixture.path(target));
    }
    assert_eq!(fixture.read("elsewhere/plugin"), "theirs");
}

#[test]
fn a_version_that_is_a_link_to_this_program_is_not_what_the_next_version_shares() {
    let fixture = Fixture::new();
    let link = fixture.path(&path("1.3.0"));
    fs::create_dir_all(link.parent().expect("a directory")).expect("a directory");
    isthmus_platform::files::symlink(fixture.path("isthmus"), &link).expect("a link");
    let there = format!("{} is there already", path("1.3.0"));
    assert_eq!(fixture.run(&["1.3.0", "1.4.0"], false), Ok(vec![there, installed("1.4.0")]));
    assert!(link.is_symlink(), "it stays one");
    fs::remove_file(fixture.path("isthmus")).expect("a file");
    assert_eq!(fixture.read(&path("1.4.0")), "ours");
}

#[test]
fn files_of_users_by_the_names_of_ours_stay() {
    let fixture = Fixture::new();
    let directory = "home/plugins/resource-terraform-provider-v1.0.0";
    fixture.others(&format!("{directory}/isthmus.txt"), "notes of a user");
    let error = fixture.run(&["1.0.0"], true).expect_err("it is not ours");
    assert!(error.contains("isthmus.txt was not written by isthmus"), "{error}");
    assert!(!fixture.path(&path("1.0.0")).exists(), "nothing was changed");
    assert_eq!(fixture.read(&format!("{directory}/isthmus.txt")), "notes of a user");

    // A link would be written through.
    fixture.others("precious.txt", "The program in this directory is isthmus 0\n");
    fs::remove_file(fixture.path(&format!("{directory}/isthmus.txt"))).expect("a file");
    isthmus_platform::files::symlink(
        fixture.path("precious.txt"),
        fixture.path(&format!("{directory}/isthmus.txt")),
    )
    .expect("a link");
    fixture.run(&["1.0.0"], true).expect_err("it is a link");
    assert_eq!(fixture.read("precious.txt"), "The program in this directory is isthmus 0\n");
    fs::remove_file(fixture.path(&format!("{directory}/isthmus.txt"))).expect("a link");

    fixture.others(&format!("{directory}.partial"), "of a user, since the CLI writes nothing into it");
    fixture.run(&["1.0.0"], false).unwrap_or_else(|error| panic!("{error}"));
    assert!(fixture.path(&format!("{directory}.partial")).exists());
}

#[test]
fn what_is_no_file_in_the_way_is_named_and_nothing_is_left_beside_it() {
    let directory = "home/plugins/resource-terraform-provider-v1.0.0";
    let pipe = |path: &Path| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).expect("a FIFO");
    };
    type Put<'a> = &'a dyn Fn(&Path);
    let cases: [(&str, Put<'_>); 2] =
        [("a directory", &|path| fs::create_dir(path).expect("a directory")), ("a FIFO", &pipe)];
    for (kind, put) in cases {
        let fixture = Fixture::new();
        fs::create_dir_all(fixture.path(directory)).expect("a directory");
        put(&fixture.path(&path("1.0.0")));
        for force in [false, true] {
            let error = fixture.run(&["0.9.0", "1.0.0"], force).expect_err(kind);
            let expected = format!(
                "failed to replace {}, so nothing was changed: it is {kind}, not a regular file\nhelp: move it away",
                path("1.0.0")
            );
            assert_eq!(error, expected);
            let entries = fs::read_dir(fixture.path(directory)).expect("a directory").count();
            assert_eq!(entries, 1, "{kind}: nothing is put beside it");
            assert!(!fixture.path(&path("0.9.0")).exists(), "all or nothing");
        }
    }
    let fixture = Fixture::new();
    fixture.others(&path("1.0.0"), "theirs");
    pipe(&fixture.path(&format!("{directory}/isthmus.txt")));
    for force in [false, true] {
        fixture.run(&["1.0.0"], force).expect_err("a FIFO is no mark");
    }
    assert_eq!(fixture.read(&path("1.0.0")), "theirs");
}

#[test]
fn what_a_broken_installation_left_does_not_hide_the_plugin() {
    let fixture = Fixture::new();
    let partial = "home/plugins/resource-terraform-provider-v1.0.0.partial";
    fixture.others(partial, "");
    assert_eq!(fixture.run(&["1.0.0"], false), Ok(vec![installed("1.0.0")]));
    assert!(!fixture.path(partial).exists());
}

#[test]
fn a_home_that_cannot_be_written_is_told() {
    let fixture = Fixture::new();
    fixture.others("home/plugins", "a file");
    let error = fixture.run(&["1.0.0"], false).expect_err("no directory can be there");
    assert!(error.starts_with(&format!("failed to write {}: ", path("1.0.0"))), "{error}");
}
