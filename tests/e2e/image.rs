//! The container image of the daemon, assembled by `deploy/image`, and its root file system run as a container engine runs it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::processes::wait_until;
use crate::harness::project::link;
use crate::harness::{Bridge, Project, Provider};
use crate::newcomer;

/// The manual's text, not a copy of it.
const PAGE: &str = include_str!("../../docs/deploy/container.md");
const COMPOSE_PAGE: &str = include_str!("../../docs/deploy/compose.md");

/// Go's name of this machine's architecture.
const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };

/// The image's user.
const USER: u32 = 65532;

/// What of an image is not its executable stays below this, in bytes.
const REST: u64 = 1024 * 1024;

/// The time of everything in it, which a checkout without Git has no commit for.
const TIME: u64 = 1_790_000_000;

/// How long the daemon may take to start and to end, on a machine with much other work.
const LIMIT: Duration = Duration::from_secs(60);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a command; returns whether it succeeds, and what it prints.
fn run(command: &mut Command) -> (bool, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    let [stdout, stderr] = [stdout, stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    (status.success(), stdout, stderr)
}

/// A command in a directory, for which everything is of the same time.
fn timed<'command>(command: &'command mut Command, directory: &Path) -> &'command mut Command {
    command.current_dir(directory).env("SOURCE_DATE_EPOCH", TIME.to_string())
}

/// `deploy/image` with these arguments in a directory.
fn assemble(directory: &Path, arguments: &[&str]) -> (bool, String) {
    let (succeeded, _, messages) =
        run(timed(&mut Command::new(root().join("deploy/image")), directory).args(arguments));
    (succeeded, messages)
}

/// What the tool for deployments reads.
fn read(arguments: &[&str], directory: &Path) -> Value {
    let tool = fixtures::tools::tool("deployment");
    let (succeeded, read, faults) = run(Command::new(tool).args(arguments).current_dir(directory));
    assert!(succeeded, "{faults}");
    serde_json::from_str(&read).expect("JSON")
}

/// The image's daemon, which runs in namespaces of its own.
struct Container {
    process: Child,
    log: PathBuf,
}

impl Container {
    fn start(
        unpacked: &Path,
        volume: &Path,
        mounted: &[&Path],
        variables: &[(&str, String)],
        log: PathBuf,
    ) -> Self {
        let output = || fs::File::create(&log).expect("a file of this test's own");
        let mut command = Command::new(root().join("tests/image/run"));
        command.arg(unpacked).arg(volume).args(mounted).stdin(Stdio::null());
        command.envs(variables.iter().map(|(name, value)| (*name, value)));
        let process = command.stdout(output()).stderr(output()).process_group(0).spawn().expect("it starts");
        let container = Self { process, log };
        let listens = || container.said().contains("listening on ").then_some(());
        wait_until(LIMIT, listens, || format!("the daemon does not listen: {}", container.said()));
        container
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The daemon, which is process 1 in the container.
    fn daemon(&self) -> i32 {
        let outside = self.process.id();
        let children = fs::read_to_string(format!("/proc/{outside}/task/{outside}/children"));
        children.expect("it runs").trim().parse().expect("one process")
    }

    /// A file about the daemon.
    fn about(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.daemon())).expect("it runs")
    }

    /// The names of the processes in the container, as far as the kernel has them.
    fn processes(&self) -> Vec<String> {
        let entries = fs::read_dir(format!("/proc/{}/root/proc", self.daemon())).expect("it is mounted");
        let names = entries.filter_map(|entry| {
            let path = entry.ok()?.path();
            path.file_name()?.to_str()?.parse::<u32>().ok()?;
            Some(fs::read_to_string(path.join("comm")).ok()?.trim_end().to_owned())
        });
        names.collect()
    }

    /// Runs the health check of the Compose file in it.
    fn check_health(&self) {
        let compose = fs::read_to_string(root().join("deploy/compose.yaml")).expect("the Compose file");
        let test = compose.split("test: [\"CMD\", ").nth(1).and_then(|rest| rest.split("]\n").next());
        let words = test.expect("a health check").split(", ").map(|word| word.trim_matches('"'));
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.daemon().to_string(), "--user", "--preserve-credentials", "--mount"]);
        command.args(["--pid", "--root", "--wd"]).args(words);
        let (succeeded, said, faults) = run(command.env("ISTHMUS_HOME", "/var/lib/isthmus"));
        assert!(succeeded, "{said}{faults}");
    }

    /// Ends it as engines do, by SIGTERM for process 1; whether that ended well.
    fn stop(mut self) -> bool {
        let daemon = Pid::from_raw(self.daemon()).expect("a process");
        kill_process(daemon, Signal::TERM).expect("it runs");
        let ended = || self.process.try_wait().expect("a child of ours");
        wait_until(LIMIT, ended, || "the daemon does not end".to_owned()).success()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // All processes in it end with the one that has started it.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

#[test]
fn the_image_serves_plugins_as_a_user_without_rights_on_a_root_that_cannot_be_written() {
    let project = Project::new("the image", &[Provider::Random]);
    // Beside the project: what runs in the container is no process of the project's.
    let workshop = tempfile::Builder::new().prefix("image-").tempdir_in(env!("CARGO_TARGET_TMPDIR"));
    let workshop = workshop.expect("a directory of this test's own");
    let workshop = workshop.path();
    link(&Bridge::Ours.executable(), &workshop.join("executable"));
    let executable = format!("{ARCHITECTURE}=executable");
    // As the page has it, and from the executable itself.
    let deploy = root().join("deploy");
    symlink(&deploy, workshop.join("deploy")).expect("a link of this test's own");
    let target = format!("linux-{executable}");
    let pack = ["--out", "isthmus-release", "--unsigned", "--executable", &target];
    let (succeeded, _, messages) = run(timed(&mut Command::new(deploy.join("release")), workshop).args(pack));
    assert!(succeeded, "{messages}");
    let command = newcomer::block_of(PAGE, "sh", "deploy/image");
    let (succeeded, _, messages) = run(timed(&mut Command::new("sh"), workshop).args(["-e", "-c", command]));
    assert!(succeeded, "{messages}");
    let arguments = ["--out", "again", "--executable", &executable];
    let (succeeded, messages) = assemble(workshop, &arguments);
    assert!(succeeded, "{messages}");
    let (is_same, differences, _) =
        run(Command::new("diff").args(["-r", "isthmus-image", "again"]).current_dir(workshop));
    assert!(is_same, "{differences}");
    let (succeeded, messages) = assemble(workshop, &arguments);
    assert!(!succeeded && messages.contains("again exists, so nothing was changed"), "{messages}");

    // Read, verified and unpacked by another program.
    fs::create_dir(workshop.join("roots")).expect("a directory of this test's own");
    let images = read(&["image", "isthmus-image", "roots"], workshop);
    let [image] = images.as_array().expect("images").as_slice() else { panic!("{images}") };
    assert_eq!(image["platform"], format!("linux/{ARCHITECTURE}"));
    assert_eq!(image["names"]["org.opencontainers.image.ref.name"], env!("CARGO_PKG_VERSION"));
    let files = image["files"].as_array().expect("files");
    let files: BTreeMap<&str, &Value> =
        files.iter().map(|file| (file["name"].as_str().expect("a name"), file)).collect();
    let size = |file: &Value| file["size"].as_u64().expect("a size");
    let total: u64 = files.values().map(|file| size(file)).sum();
    let rest = total - size(files["usr/local/bin/isthmus"]);
    assert!(rest < REST, "{rest}: {files:?}");
    for (name, file) in &files {
        let owner = if *name == "var/lib/isthmus" { USER } else { 0 };
        assert_eq!(file["user"], owner, "{name}");
        assert_eq!(file["time"], TIME, "{name}");
        let mode = file["mode"].as_u64().expect("a mode");
        assert!(mode & 0o022 == 0 || *name == "tmp", "{name} may be written by others: {mode:o}");
    }
    assert!(!files.keys().any(|name| name.starts_with("bin") || name.ends_with("/sh")), "{files:?}");
    containerfile_describes(&image["config"]["config"]);

    // A plugin attaches by the socket in the volume. Both see the project at the same path.
    let volume = workshop.join("volume");
    fs::create_dir(&volume).expect("a directory of this test's own");
    let unpacked = workshop.join("roots").join(ARCHITECTURE);
    let container = Container::start(&unpacked, &volume, &[&project.path("..")], &[], workshop.join("log"));
    project.set("ISTHMUS_DAEMON", volume.join("daemon.sock").to_str().expect("text"));
    project.program("resources:\n  pet:\n    type: random:Pet\n    properties: {length: 2}\n");
    assert_eq!(project.up().steps("pet"), ["create"]);
    let processes = container.processes();
    assert!(processes.iter().any(|name| name.starts_with("terraform-prov")), "{processes:?}");
    project.expect_no_changes();

    let (mounts, users) = (container.about("mountinfo"), container.about("uid_map"));
    let mount = mounts.lines().find(|line| line.split(' ').nth(4) == Some("/")).expect("a root");
    assert!(mount.split(' ').nth(5).expect("options").split(',').any(|option| option == "ro"), "{mount}");
    let inside = users.split_whitespace().next().map(str::to_owned);
    assert_eq!(inside, Some(USER.to_string()), "{users}");
    let status = container.about("status");
    for wanted in ["CapEff:\t0000000000000000", "CapPrm:\t0000000000000000"] {
        assert!(status.contains(wanted), "{status}");
    }
    container.check_health();
    project.destroy();
    assert!(container.stop());
    serves_another_machine(workshop, &unpacked);
}

/// Runs the image for plugins that have nothing of its file system, with the secrets that the page of Compose makes.
fn serves_another_machine(workshop: &Path, unpacked: &Path) {
    let lines =
        newcomer::block_of(COMPOSE_PAGE, "sh", "openssl rand").replace("isthmus.example.com", "localhost");
    let (succeeded, _, messages) = run(Command::new("sh").args(["-e", "-c", &lines]).current_dir(workshop));
    assert!(succeeded, "{messages}");
    let secrets = workshop.join("secrets");
    let secret = |name: &str| secrets.join(name).to_str().expect("text").to_owned();

    // Installed where the daemon looks, and not where the plugin does.
    let project = Project::bare("another machine", &[]);
    project.place_in_cache(Provider::Random, "3.8.0");
    let volume = workshop.join("home");
    fs::create_dir_all(volume.join(".pulumi")).expect("a directory of this test's own");
    let installed = volume.join(".pulumi/dynamic_tf_plugins");
    fs::rename(project.path("../home/dynamic_tf_plugins"), &installed).expect("one file system");
    let variables = [
        ("ISTHMUS_LISTEN", "127.0.0.1:0".to_owned()),
        ("ISTHMUS_TLS_CERTIFICATE", secret("tls.crt")),
        ("ISTHMUS_TLS_KEY", secret("tls.key")),
        ("ISTHMUS_TLS_CLIENT_AUTHORITIES", secret("authority.crt")),
        ("ISTHMUS_KEY_FILE", secret("state.key")),
    ];
    let container =
        Container::start(unpacked, &volume, &[&secrets], &variables, workshop.join("another-log"));
    let address = || {
        let said = container.said();
        let port = said.split("listening on 127.0.0.1:").nth(1)?.lines().next()?.to_owned();
        Some(format!("https://localhost:{port}"))
    };
    let address = wait_until(LIMIT, address, || format!("no address is listened on: {}", container.said()));
    let exports = [
        ("ISTHMUS_DAEMON", address),
        ("ISTHMUS_DAEMON_AUTHORITIES", secret("authority.crt")),
        ("ISTHMUS_DAEMON_CERTIFICATE", secret("ci.crt")),
        ("ISTHMUS_DAEMON_KEY", secret("ci.key")),
    ];
    for (name, value) in &exports {
        project.set(name, value);
    }
    let exports: String = exports.iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
    project.switch_to(Bridge::Ours);
    project.write("Pulumi.yaml", newcomer::block_of(newcomer::README, "yaml", "terraform-provider"));
    project.create_stack();
    newcomer::succeeds(&project, &format!("{exports}pulumi install"));
    assert_eq!(project.up().steps("pet"), ["create"]);
    let processes = container.processes();
    assert!(processes.iter().any(|name| name.starts_with("terraform-prov")), "{processes:?}");
    project.destroy();
    assert!(container.stop());
}

/// Compares the configuration of the last stage of the Containerfile with the image's, and its toolchain with ours.
fn containerfile_describes(config: &Value) {
    let stages = read(&["containerfile", "deploy/container/Containerfile"], root());
    let [build, last] = stages.as_array().expect("stages").as_slice() else { panic!("{stages}") };
    let toolchain = fs::read_to_string(root().join("rust-toolchain.toml")).expect("the toolchain");
    let channel = toolchain.split("channel = \"").nth(1).and_then(|rest| rest.split('"').next());
    let base = format!("docker.io/library/rust:{}-bookworm", channel.expect("a channel"));
    assert_eq!(build["base"], base);
    assert_eq!(last["base"], "scratch");
    let commands = last["commands"].as_array().expect("commands");
    let commands: Vec<&str> = commands.iter().map(|command| command.as_str().expect("text")).collect();
    let of = |name: &str| -> Vec<&str> {
        let command = commands.iter().find_map(|command| command.strip_prefix(name)?.strip_prefix(' '));
        command.unwrap_or_else(|| panic!("no {name}: {commands:?}")).split(' ').collect()
    };
    let texts = |value: &Value| serde_json::to_string(value).expect("JSON");
    assert_eq!(json!(of("ENV")), config["Env"]);
    assert_eq!(json!(of("USER")), json!([config["User"]]));
    assert_eq!(json!(of("WORKDIR")), json!([config["WorkingDir"]]));
    assert_eq!(json!(of("STOPSIGNAL")), json!([config["StopSignal"]]));
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(of("EXPOSE"), keys(&config["ExposedPorts"]));
    assert_eq!(of("VOLUME"), keys(&config["Volumes"]));
    assert_eq!(of("ENTRYPOINT").concat(), texts(&config["Entrypoint"]));
}
