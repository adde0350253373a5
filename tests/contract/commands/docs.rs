//! `isthmus docs`, as readers and scripts use it.

use isthmus_platform::files::symlink;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use fixtures::tools::tool;
use isthmus_common::marker::MARKER;

use super::Machine;
use crate::harness::http::{exchange, get};
use crate::harness::processes::{self, Signal};

impl Machine {
    /// The command for a provider of the tests.
    fn docs(&self, provider: &Path, words: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_isthmus"));
        command.arg("docs").arg(provider).args(words);
        command
    }

    fn docs_said(&self, provider: &Path, words: &[&str]) -> super::Said {
        super::Said::of(&mut self.docs(provider, words))
    }
}

fn conformance() -> std::path::PathBuf {
    tool("terraform-provider-conformance")
}

/// Pages that are served until this goes.
struct Served {
    child: Child,
    /// Such as `127.0.0.1:40000`.
    address: String,
}

impl Served {
    fn start(machine: &Machine, words: &[&str]) -> Self {
        let mut child =
            machine.docs(&conformance(), words).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("its address");
        let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        Self { address: address.unwrap_or_else(|| panic!("{line:?}")).to_owned(), child }
    }

    fn signal(&self, signal: Signal) {
        processes::signal(self.child.id(), signal);
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_page_in_the_terminal_is_what_a_provider_offers_in_pulumis_names() {
    let machine = Machine::new();
    for name in ["conformance:index/record:Record", "conformance.Record", "Record", "conformance_record"] {
        let page = machine.docs_said(&conformance(), &["--terminal", name]).well();
        assert!(
            page.starts_with("conformance.Record\nresource, in Terraform conformance_record\n"),
            "{name}: {page}"
        );
    }
    insta::assert_snapshot!(
        "docs_terminal",
        machine.docs_said(&conformance(), &["--terminal", "conformance_record", "--language", "go"]).well()
    );
    let failed = machine.docs_said(&conformance(), &["--terminal", "conformance_recordd"]).failed();
    assert_eq!(
        failed,
        "error: package conformance has no resource, data source or function \"conformance_recordd\"\n\
         help: did you mean conformance_record?\n"
    );
}

#[test]
fn pages_are_snapshots_for_kinds_of_members() {
    let machine = Machine::new();
    machine.docs_said(&conformance(), &["--output", "reference"]).well();
    for page in [
        "configuration",
        "resources/conformance_record",
        "resources/conformance_texts",
        "resources/conformance_block_nesting",
        "data-sources/conformance_lookup",
        "functions/join_words",
        "ephemeral-resources/conformance_lease",
    ] {
        let html = fs::read_to_string(machine.path(format!("reference/{page}.html")))
            .unwrap_or_else(|error| panic!("{page}: {error}"));
        // A line for each element, for whoever reads the difference; the version of the style is no part of it.
        let version = html.split_once("style.css?").and_then(|(_, rest)| rest.get(..16)).expect("a version");
        let html = html.replace(version, "VERSION").replace("><", ">\n<");
        insta::assert_snapshot!(format!("docs_{}", page.replace('/', "_")), html);
    }
}

#[tokio::test]
async fn pages_are_served_to_this_machine_under_its_own_name_only() {
    let machine = Machine::new();
    let mut served = Served::start(&machine, &[]);
    let address = served.address.clone();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let page = get(&address, "/resources/conformance_record.html").await;
    assert_eq!(page.status, 200, "{}", page.head);
    for header in [
        "content-security-policy: default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; base-uri 'none'",
        "x-content-type-options: nosniff",
        "cross-origin-resource-policy: same-origin",
        "cache-control: no-store",
    ] {
        assert!(page.head.contains(header), "{header}: {}", page.head);
    }
    assert!(page.body.contains("<h1>conformance.Record</h1>"), "{}", page.body);
    let port = address.rsplit(':').next().expect("a port").to_owned();
    let as_host = |host: String| {
        let address = address.clone();
        async move {
            let request = format!("GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
            exchange(&address, &request).await
        }
    };
    assert_eq!(as_host(format!("localhost:{port}")).await.status, 200);
    for host in
        [format!("attacker.example:{port}"), "127.0.0.1".to_owned(), format!("127.0.0.1:{port}.example")]
    {
        let refused = as_host(host.clone()).await;
        assert_eq!((refused.status, refused.body.contains("Record")), (421, false), "{host}");
    }
    for path in ["/resources/none.html", "/../Cargo.toml", "/resources/../../etc/passwd", "//"] {
        let missing = get(&address, path).await;
        assert!(missing.status == 404 || path == "//", "{path}: {}", missing.status);
        assert!(!missing.body.contains("root:"), "{path}");
    }
    let request =
        format!("POST / HTTP/1.1\r\nhost: {address}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    assert_eq!(exchange(&address, &request).await.status, 405);
    served.signal(Signal::INT);
    assert!(served.child.wait().expect("it ends").success());
}

#[test]
fn a_directory_of_others_stays_and_one_of_this_command_is_replaced_file_by_file() {
    let machine = Machine::new();
    let write = |directory: &str| machine.docs_said(&conformance(), &["--output", directory]);
    // New and empty ones are taken.
    assert_eq!(write("new").well(), "new/index.html\n");
    fs::create_dir(machine.path("empty")).expect("a directory");
    write("empty").well();
    assert_eq!(write("above/below/new").well(), "above/below/new/index.html\n");
    // One of a user is not, nor is a copy of ours.
    machine.write("mine/index.html", b"mine");
    machine.write("mine/keep.txt", b"mine");
    fs::create_dir(machine.path("copy")).expect("a directory");
    fs::copy(machine.path("new").join(MARKER), machine.path("copy").join(MARKER)).expect("a copy");
    for directory in ["mine", "copy"] {
        let failed = write(directory).failed();
        assert!(failed.contains("was not created by `isthmus docs`, and is not empty"), "{failed}");
        assert!(failed.contains("help: choose a new directory"), "{failed}");
    }
    assert_eq!(fs::read(machine.path("mine/index.html")).expect("a file"), b"mine");
    assert!(!machine.path("mine/resources").exists() && !machine.path("copy/index.html").exists());
    // In ours, files are replaced, and those of the user stay.
    machine.write("new/CNAME", b"docs.example");
    machine.write("new/index.html", b"old");
    write("new").well();
    assert_eq!(fs::read(machine.path("new/CNAME")).expect("a file"), b"docs.example");
    let index = fs::read_to_string(machine.path("new/index.html")).expect("a page");
    assert!(index.contains("<h1>conformance</h1>"), "{index}");
    let added =
        format!("<code>pulumi package add terraform-provider@1.4.0 {}</code>", conformance().display());
    assert!(index.contains(&added), "{index}");
    let described = "<a href=\"resources/conformance_record.html\">Record</a><span class=\"terraform\">conformance_record</span>\
                     <span class=\"summary\">";
    assert!(index.contains(described), "{index}");
    // Nothing is written through a link.
    fs::remove_dir_all(machine.path("new/functions")).expect("it is there");
    fs::create_dir(machine.path("elsewhere")).expect("a directory");
    symlink(machine.path("elsewhere"), machine.path("new/functions")).expect("a link");
    assert!(write("new").failed().contains("it is not a directory"));
    assert_eq!(fs::read_dir(machine.path("elsewhere")).expect("a directory").count(), 0);
    symlink(machine.path("elsewhere/none"), machine.path("dangling")).expect("a link");
    write("dangling").failed();
}

const OWN: &str = "---\npage_title: x\n---\n# conformance_record\n\nOwn words. <script>alert(1)</script>\n\n\
                   * `name` - (Required) The name, in its own words.\n";

#[test]
fn a_providers_own_documentation_comes_from_its_repository() {
    let machine = Machine::new();
    machine.write("repository/docs/resources/record.md", OWN.as_bytes());
    machine.docs_said(&conformance(), &["--upstreamRepoPath", "repository", "--output", "reference"]).well();
    let page =
        fs::read_to_string(machine.path("reference/resources/conformance_record.html")).expect("a page");
    assert!(page.contains("The provider's documentation") && page.contains("Own words."), "{page}");
    assert!(!page.contains("<script>alert") && !page.contains("page_title"), "{page}");
    let other = fs::read_to_string(machine.path("reference/functions/join_words.html")).expect("a page");
    assert!(!other.contains("The provider's documentation"), "{other}");
    let without = machine.docs_said(&conformance(), &["--fullDocs", "--terminal", "Record"]).failed();
    assert!(without.contains("fullDocs only applies to remote providers"), "{without}");
    let remote = machine.isthmus(&["docs", "hashicorp/random", "--upstreamRepoPath", "repository"]).failed();
    assert!(remote.contains("upstreamRepoPath only applies to local providers"), "{remote}");
    let missing = machine.docs_said(&conformance(), &["--upstreamRepoPath", "none", "--terminal", "Record"]);
    assert!(missing.failed().contains("failed to read the provider's repository"));
}

/// As from GitHub: git takes the repository from a directory instead.
#[test]
fn a_provider_of_a_registry_has_its_documentation_cloned_at_its_version() {
    let machine = Machine::new();
    let version = "1.2.3";
    let program = machine.installed("conformance", version, &fs::read(conformance()).expect("a provider"));
    isthmus_platform::files::set_mode(&program, 0o755).expect("it is ours");
    machine.write("github/hashicorp/terraform-provider-conformance/docs/resources/record.md", OWN.as_bytes());
    let repository = machine.path("github/hashicorp/terraform-provider-conformance");
    let config = format!(
        "[url \"file://{}/\"]\n\tinsteadOf = https://github.com/\n",
        machine.path("github").display()
    );
    machine.write(".gitconfig", config.as_bytes());
    for words in [
        &["init", "--quiet"][..],
        &["add", "."],
        &["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "a"],
        &["tag", "v1.2.3"],
    ] {
        super::Said::of(machine.command("/usr/bin/git").arg("-C").arg(&repository).args(words)).well();
    }
    let words = ["docs", "hashicorp/conformance", version, "--fullDocs", "--output", "reference"];
    let mut command = machine.command(env!("CARGO_BIN_EXE_isthmus"));
    let temporary = machine.path("temporary");
    fs::create_dir(&temporary).expect("a directory");
    command.args(words).env("ISTHMUS_OFFLINE", "true").env(crate::harness::TMPDIR, &temporary);
    super::Said::of(&mut command).well();
    let page =
        fs::read_to_string(machine.path("reference/resources/conformance_record.html")).expect("a page");
    assert!(page.contains("Own words."), "{page}");
    // The clone is gone.
    let left: Vec<_> =
        fs::read_dir(&temporary).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    let clones: Vec<_> =
        left.iter().filter(|path| path.to_string_lossy().contains("isthmus-docs-")).collect();
    assert!(clones.is_empty(), "{clones:?}");
}
