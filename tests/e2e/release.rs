//! A release of the executable under test, packed by `deploy/release`, and installed by the commands of `docs/releases.md`.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

use crate::harness::project::{PLUGIN, PLUGIN_VERSION, create_directory, link};
use crate::harness::{Bridge, Project, Provider};
use crate::newcomer::{self, succeeds};

/// The manual's text, not a copy of it.
const PAGE: &str = include_str!("../../docs/releases.md");

/// The address of the server in the manual.
const SERVER: &str = "https://YOUR.SERVER/isthmus";

/// Go's name of this machine's architecture.
const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };

/// A directory for a release, and the key that signs it.
#[derive(Debug)]
pub(crate) struct Releases {
    directory: TempDir,
}

impl Releases {
    pub(crate) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("release-").tempdir_in(env!("CARGO_TARGET_TMPDIR"));
        let releases = Self { directory: directory.expect("a directory of this test's own") };
        let key = releases.path("key");
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "isthmus releases", "-f"])
            .arg(&key)
            .output();
        let made = made.expect("OpenSSH is installed");
        assert!(made.status.success(), "{made:?}");
        releases
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs `deploy/release` with these arguments in this directory; returns whether it succeeds, and its messages.
    fn run(&self, arguments: &[&str]) -> (bool, String) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/release");
        let Output { status, stderr, .. } = Command::new(script)
            .args(arguments)
            .current_dir(self.directory.path())
            // The time of a commit, which a checkout without Git lacks.
            .env("SOURCE_DATE_EPOCH", "1790000000")
            .output()
            .expect("it starts");
        (status.success(), String::from_utf8_lossy(&stderr).into_owned())
    }

    /// Packs the executable under test, and serves the release.
    #[track_caller]
    pub(crate) fn serve(&self) -> Server {
        self.link_executable();
        let packed = format!("linux-{ARCHITECTURE}=executable");
        let (succeeded, messages) = self.run(&["--out", "release", "--key", "key", "--executable", &packed]);
        assert!(succeeded, "{messages}");
        Server::start(self.path("release"))
    }

    /// Gives the executable under test a name here: the file that Cargo has built may be replaced meanwhile.
    fn link_executable(&self) {
        link(&Bridge::Ours.executable(), &self.path("executable"));
    }

    #[track_caller]
    fn fails(&self, arguments: &[&str]) -> String {
        let (succeeded, messages) = self.run(arguments);
        assert!(!succeeded, "{messages}");
        messages
    }

    /// Writes what `deploy/release` takes for an executable of another architecture, which it cannot start: the header of one.
    fn foreign_executable(&self) -> String {
        let mut header = [0; 64];
        header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        // An executable for this machine's opposite, version 1, with headers of the usual sizes and none of them there.
        let machine = if ARCHITECTURE == "amd64" { 0xb7 } else { 0x3e };
        for (offset, byte) in [(16, 2), (18, machine), (20, 1), (52, 64), (54, 56), (58, 64)] {
            header[offset] = byte;
        }
        fs::write(self.path("foreign"), header).expect("a file of this test's own");
        format!("linux-{}=foreign", if ARCHITECTURE == "amd64" { "arm64" } else { "amd64" })
    }
}

/// A static file server, for as long as the tests run.
pub(crate) struct Server {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start(directory: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let served = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that hangs up is no failure of the server.
                let _ = serve(&stream, &directory, &served);
            }
        });
        Self { address, requests }
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Answers one request with the file that it names.
fn serve(mut stream: &TcpStream, directory: &Path, requests: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let name = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
    let (status, body) = match fs::read(directory.join(&name)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    requests.lock().unwrap_or_else(PoisonError::into_inner).push(name);
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())?;
    stream.write_all(&body)
}

/// The commands of the manual's block that has this text, for this server and machine.
fn commands(server: &Server, text: &str) -> String {
    newcomer::block_of(PAGE, "sh", text)
        .replace(SERVER, &server.address)
        .replace("linux-amd64", &format!("linux-{ARCHITECTURE}"))
}

/// A machine with two versions of the provider in its cache, and the README's project, without any plugin.
fn machine(name: &'static str) -> Project {
    let project = Project::bare(name, &[]);
    for version in ["3.8.0", "3.9.0"] {
        project.place_in_cache(Provider::Random, version);
    }
    project.write("Pulumi.yaml", newcomer::block_of(newcomer::README, "yaml", "terraform-provider"));
    project.create_stack();
    project
}

/// The plugin in a project's Pulumi home.
fn plugin(project: &Project, file: &str) -> PathBuf {
    project.path(&format!("../home/plugins/resource-{PLUGIN}-v{PLUGIN_VERSION}/{file}"))
}

/// Generates the SDK, and creates and destroys what the program has.
fn bring_up(project: &Project) {
    succeeds(project, "pulumi install");
    assert_eq!(project.up().steps("pet"), ["create"]);
    assert_eq!(project.resource("pet")["inputs"]["length"], 2);
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn a_release_is_installed_by_the_commands_of_the_manual() {
    let releases = Releases::new();
    let executable = Bridge::Ours.executable();
    let server = releases.serve();
    let archive = format!("pulumi-resource-{PLUGIN}-v{PLUGIN_VERSION}-linux-{ARCHITECTURE}.tar.gz");

    let project = machine("a release from a server");
    succeeds(&project, &commands(&server, "--server"));
    assert_eq!(server.requests(), [archive.as_str()]);
    let installed = fs::read(plugin(&project, &format!("pulumi-resource-{PLUGIN}"))).expect("the plugin");
    assert!(installed == fs::read(&executable).expect("the executable"), "it is another executable");
    bring_up(&project);

    let project = machine("a release by itself");
    let itself = commands(&server, "PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES");
    succeeds(&project, &format!("unset PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION\n{itself}"));
    assert_eq!(server.requests().last(), Some(&archive));
    assert_eq!(project.resource("pet")["inputs"]["length"], 2);
    project.destroy();

    let project = machine("a release that is verified");
    let public = fs::read_to_string(releases.path("key.pub")).expect("the public key");
    project.write("allowed_signers", &format!("releases@isthmus {public}"));
    let said = succeeds(&project, &commands(&server, "ssh-keygen -Y verify"));
    assert!(said.contains("Good \"isthmus-release\" signature"), "{said}");
    assert!(said.contains(&format!("{archive}: OK")), "{said}");
    let said = succeeds(&project, &commands(&server, "./isthmus --version"));
    assert!(said.contains(&format!("isthmus {}", env!("CARGO_PKG_VERSION"))), "{said}");
    // Of another version, as far as the plugin's mark can know.
    create_directory(&project.path("../bin"));
    succeeds(&project, "mv isthmus ../bin/isthmus; echo >> ../bin/isthmus");
    let said = succeeds(&project, "isthmus install --plugin");
    let there = plugin(&project, &format!("pulumi-resource-{PLUGIN}"));
    assert!(said.contains("installed ") && !said.contains("backup"), "{said}");
    assert_eq!(fs::metadata(&there).expect("the plugin").len(), installed.len() as u64 + 1, "{said}");
    bring_up(&project);

    // The release is neither another key's nor of other files.
    let other = Releases::new();
    let public = fs::read_to_string(other.path("key.pub")).expect("the public key");
    project.write("allowed_signers", &format!("releases@isthmus {public}"));
    let (succeeded, said) = newcomer::shell(&project, &commands(&server, "ssh-keygen -Y verify"));
    assert!(!succeeded && said.contains("Could not verify signature"), "{said}");
}

#[test]
fn a_release_replaces_nothing_but_a_release() {
    let releases = Releases::new();
    releases.link_executable();
    let executable = releases.foreign_executable();
    let arguments =
        ["--out", "release", "--key", "key", "--pages", "executable", "--executable", &executable];
    let pack = || {
        let (succeeded, messages) = releases.run(&arguments);
        assert!(succeeded, "{messages}");
        fs::read_to_string(releases.path("release/SHA256SUMS")).expect("the checksums")
    };
    let read = |file: &str| fs::read(releases.path(file)).expect("it is there");

    fs::create_dir(releases.path("release")).expect("a directory of this test's own");
    let foreign = releases.fails(&arguments);
    assert!(foreign.contains("was not created by deploy/release, so nothing was changed"), "{foreign}");
    fs::remove_dir(releases.path("release")).expect("nothing was put into it");

    // Twice the same, the signature too.
    let first = pack();
    let signature = read("release/SHA256SUMS.sig");
    assert_eq!(pack(), first);
    assert_eq!(read("release/SHA256SUMS.sig"), signature);

    // A directory that was copied is not the one that was created, nor is one with more in it.
    let copied =
        Command::new("cp").args(["-r", "release", "copy"]).current_dir(releases.directory.path()).status();
    assert!(copied.expect("cp starts").success());
    let mut of_copy = arguments;
    of_copy[1] = "copy";
    assert!(releases.fails(&of_copy).contains("copy exists and was not created"));
    fs::write(releases.path("release/notes"), "a user's").expect("a file of this test's own");
    assert!(releases.fails(&arguments).contains("release/notes was not written by deploy/release"));
    assert_eq!(read("release/notes"), b"a user's");
    fs::remove_file(releases.path("release/notes")).expect("it is there");
    assert_eq!(pack(), first);

    let named = [
        "linux-amd64=foreign",
        "linux-arm64=foreign",
        "darwin-arm64=foreign",
        "windows-amd64=foreign",
        "windows-arm64=foreign",
    ];
    let lines =
        named.map(|executable| releases.run(&["--out", "other", "--unsigned", "--executable", executable]).1);
    let refused = lines.iter().filter(|messages| messages.contains("is not an executable for ")).count();
    assert_eq!(refused, 4, "{lines:?}");
    // Manual pages are not left out for want of an executable that prints them.
    let without = lines.iter().filter(|messages| messages.contains("name one of this version: --pages FILE"));
    assert_eq!(without.count(), 1, "{lines:?}");
    let lacking = releases.fails(&["--out", "other", "--executable", &executable]);
    assert!(lacking.contains("--key is missing; without a signature: --unsigned"), "{lacking}");
    let version = ["--out", "other", "--unsigned", "--plugin-version", "newest", "--executable", &executable];
    assert!(releases.fails(&version).contains("\"newest\" is not a version, such as 1.4.0"));
    let left: Vec<_> =
        fs::read_dir(releases.directory.path()).expect("a directory of this test's own").collect();
    let left =
        left.into_iter().map(|entry| entry.expect("an entry").file_name()).filter(|name| name != "other");
    assert_eq!(left.filter(|name| name.to_string_lossy().contains("unfinished")).count(), 0);
}
