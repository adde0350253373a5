//! A Pulumi project of its own for each test: program, Pulumi home, state, providers.
//!
//! A plugin is put into the Pulumi home by hand where the command line would only copy it (one test goes the documented way).
//! Executables are hard links: copies of a hundred megabytes would cost more than the tests themselves, and a file that this
//! process has just written may be "busy" when it is run, because a child that is being started at the time still holds it open.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::command::Running;
use super::outcome::Outcome;
use super::processes::{self, Process, within};
use super::tools;

/// The name of the plugin, by which the engine finds it.
pub(crate) const PLUGIN: &str = "terraform-provider";
/// The version of the plugin, as the packages of these projects name it.
pub(crate) const PLUGIN_VERSION: &str = "1.4.0";
/// The release that the Go bridge of these tests is, as the SDKs that it generates name it.
pub(crate) const GO_BRIDGE_VERSION: &str = "1.3.0";
/// The version of every package made from a provider on disk.
pub(crate) const PACKAGE_VERSION: &str = "0.0.0";

/// How long processes may need to end after the command that they belong to. The engine itself gives a plugin five seconds.
const GRACE: Duration = Duration::from_secs(10);

/// Who stands between the engine and the providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bridge {
    /// This program.
    Ours,
    /// The program that it replaces.
    Go,
}

impl Bridge {
    /// The one that tests are about: this program, or the Go bridge if the whole run is to be made with it.
    pub(crate) fn usual() -> Self {
        match std::env::var("ISTHMUS_E2E_BRIDGE").as_deref() {
            Err(_) => Self::Ours,
            Ok("go") => Self::Go,
            Ok(other) => panic!("ISTHMUS_E2E_BRIDGE is '{other}'; it may be 'go', or not set at all"),
        }
    }

    pub(crate) fn executable(self) -> PathBuf {
        match self {
            Self::Ours => PathBuf::from(env!("CARGO_BIN_EXE_isthmus")),
            Self::Go => tools::directory().join("go-bridge/pulumi-resource-terraform-provider"),
        }
    }
}

/// A provider that the projects use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    /// Ours, on HashiCorp's libraries; its objects are files.
    Conformance,
    Local,
    Random,
    /// This program itself, which misbehaves on request.
    Sandbox,
    Time,
    Tls,
}

impl Provider {
    /// The name of its package.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Conformance => "conformance",
            Self::Local => "local",
            Self::Random => "random",
            Self::Sandbox => "sandbox",
            Self::Time => "time",
            Self::Tls => "tls",
        }
    }
}

/// A project with a stack, which goes when the test ends, and all its processes with it.
#[derive(Debug)]
pub(crate) struct Project {
    name: &'static str,
    directory: TempDir,
    /// For temporary files and sockets: apart, because the path of a socket may not be long.
    temporary: TempDir,
    /// What is in the environment of all commands besides.
    variables: RefCell<BTreeMap<&'static str, String>>,
    /// The command line.
    pulumi: RefCell<PathBuf>,
    commands: AtomicU32,
    begin: Instant,
}

impl Project {
    /// A project whose packages are those of `providers`, bridged by this program. `name` is for reading only.
    pub(crate) fn new(name: &'static str, providers: &[Provider]) -> Self {
        Self::bridged_by(Bridge::usual(), name, providers)
    }

    /// A project whose packages are those of `providers`.
    pub(crate) fn bridged_by(bridge: Bridge, name: &'static str, providers: &[Provider]) -> Self {
        let project = Self::bare(name, providers);
        project.switch_to(bridge);
        for provider in providers {
            project.add_package(*provider);
        }
        project.create_stack();
        project
    }

    /// A project without a plugin, packages and stack; only the executables of `providers` are there.
    pub(crate) fn bare(name: &'static str, providers: &[Provider]) -> Self {
        let directory = tempfile::Builder::new().prefix("e2e-").tempdir_in(env!("CARGO_TARGET_TMPDIR"));
        let temporary = tempfile::Builder::new().prefix("isthmus-e2e-").tempdir();
        let project = Self {
            name,
            directory: directory.expect("a directory can be made in Cargo's directory for tests"),
            temporary: temporary.expect("a directory can be made in the system's temporary directory"),
            variables: RefCell::default(),
            pulumi: tools::directory().join("pulumi").into(),
            commands: AtomicU32::new(0),
            begin: Instant::now(),
        };
        for inner in ["program", "home", "backend", "providers", "records", "objects"] {
            create_directory(&project.directory.path().join(inner));
        }
        for provider in providers {
            let executable = project.provider(*provider);
            let file = executable.file_name().expect("the path of an executable ends in its name");
            let original = match provider {
                Provider::Sandbox => PathBuf::from(env!("CARGO_BIN_EXE_isthmus")),
                _ => tools::directory().join(file),
            };
            link(&original, &executable);
        }
        project
    }

    /// Makes `body` the program. `@directory@` in it becomes [`Project::path`] of nothing.
    pub(crate) fn program(&self, body: &str) {
        let body =
            body.replace("@directory@", self.path("").to_str().expect("test directories have plain names"));
        self.write("Pulumi.yaml", &format!("name: e2e\nruntime: yaml\n{body}"));
    }

    /// Where `file` of the project's directory lies.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join("program").join(file)
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    pub(crate) fn read(&self, file: &str) -> String {
        let path = self.path(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// From now on, every command has this in its environment.
    pub(crate) fn set(&self, variable: &'static str, value: &str) {
        self.variables.borrow_mut().insert(variable, value.to_owned());
    }

    /// What every command has for a variable, if a test has set it.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.variables.borrow().get(name).cloned()
    }

    /// From now on, the command line is the oldest one that is supported, with today's YAML host.
    pub(crate) fn use_oldest(&self) {
        let directory = self.directory.path().join("oldest");
        create_directory(&directory);
        link(&tools::directory().join("oldest/pulumi"), &directory.join("pulumi"));
        link(&tools::directory().join("pulumi-language-yaml"), &directory.join("pulumi-language-yaml"));
        self.pulumi.replace(directory.join("pulumi"));
    }

    /// Where the conformance provider keeps an object: `KIND/ID.json`.
    pub(crate) fn object_path(&self, object: &str) -> PathBuf {
        self.directory.path().join("objects").join(object)
    }

    /// An object of the conformance provider.
    pub(crate) fn object(&self, object: &str) -> Value {
        let path = self.object_path(object);
        parse(&fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    /// Writes an object of the conformance provider: drift, a trouble, a prerequisite.
    pub(crate) fn write_object(&self, object: &str, content: &Value) {
        let path = self.object_path(object);
        create_directory(path.parent().expect("a kind has a directory"));
        fs::write(&path, content.to_string()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// The ids of all objects of a kind that the conformance provider has.
    pub(crate) fn objects(&self, kind: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.object_path(kind)) else { return Vec::new() };
        let files = entries.map(|entry| entry.expect("a directory of ours").path());
        let mut ids: Vec<String> =
            files.filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned())).collect();
        ids.sort_unstable();
        ids
    }

    /// The project's own executable of a provider.
    pub(crate) fn provider(&self, provider: Provider) -> PathBuf {
        self.directory.path().join("providers").join(format!("terraform-provider-{}", provider.name()))
    }

    /// Puts a provider into the cache of providers, as if a bridge had downloaded this version of it.
    pub(crate) fn place_in_cache(&self, provider: Provider, version: &str) {
        self.place_in(&self.directory.path().join("home/dynamic_tf_plugins"), provider, version);
    }

    /// Puts a provider into a directory with the layout of a filesystem mirror, as OpenTofu's registry has it.
    pub(crate) fn place_in(&self, mirror: &Path, provider: Provider, version: &str) {
        let name = provider.name();
        let platform = isthmus_common::Platform::CURRENT;
        let address = mirror.join("registry.opentofu.org/hashicorp").join(name);
        let directory = address.join(version).join(platform.to_string());
        create_directory(&directory);
        let file = format!("terraform-provider-{name}");
        link(&tools::directory().join(&file), &directory.join(format!("{file}_v{version}_x5")));
    }

    /// What a package of `provider` is made from, as packages and import files carry it: base64 of what the plugin reads.
    pub(crate) fn parameter(&self, provider: Provider) -> String {
        let parameter = json!({ "local": { "path": self.provider(provider) } });
        base64::engine::general_purpose::STANDARD.encode(parameter.to_string())
    }

    /// Makes this version of a provider from the cache the one that the program uses: what `pulumi package add` writes.
    pub(crate) fn use_cached(&self, provider: Provider, version: &str) {
        let name = provider.name();
        let directory = self.path(&format!("sdks/{name}"));
        // Of two versions of a package, YAML would have to be told which.
        let _ = fs::remove_dir_all(&directory);
        create_directory(&directory);
        let url = format!("registry.opentofu.org/hashicorp/{name}");
        let parameter = json!({ "remote": { "url": url, "version": version } }).to_string();
        self.write_package(name, version, &base64::engine::general_purpose::STANDARD.encode(parameter));
    }

    /// Puts a bridge into the Pulumi home, in place of the one there: what a user does who goes over.
    pub(crate) fn switch_to(&self, bridge: Bridge) {
        for version in [PLUGIN_VERSION, GO_BRIDGE_VERSION] {
            let directory = self.directory.path().join(format!("home/plugins/resource-{PLUGIN}-v{version}"));
            create_directory(&directory);
            let executable = directory.join(format!("pulumi-resource-{PLUGIN}"));
            if executable.exists() {
                fs::remove_file(&executable).expect("a plugin can be taken out");
            }
            link(&bridge.executable(), &executable);
        }
    }

    /// Writes what `pulumi package add` writes for a YAML program.
    pub(crate) fn add_package(&self, provider: Provider) {
        let name = provider.name();
        create_directory(&self.path(&format!("sdks/{name}")));
        self.write_package(name, PACKAGE_VERSION, &self.parameter(provider));
    }

    fn write_package(&self, name: &str, version: &str, parameter: &str) {
        self.write(
            &format!("sdks/{name}/{name}-{version}.yaml"),
            &format!(
                "packageDeclarationVersion: 1\nname: {PLUGIN}\nversion: {PLUGIN_VERSION}\n\
                 parameterization:\n  name: {name}\n  version: {version}\n  value: {parameter}\n"
            ),
        );
    }

    pub(crate) fn create_stack(&self) {
        if !self.path("Pulumi.yaml").exists() {
            self.program("");
        }
        self.run(&["stack", "init", "dev"]).succeeded();
    }

    #[track_caller]
    pub(crate) fn up(&self) -> Outcome {
        self.run(&["up", "--yes"]).succeeded()
    }

    /// An update that nobody has looked at before.
    #[track_caller]
    pub(crate) fn up_at_once(&self) -> Outcome {
        self.run(&["up", "--yes", "--skip-preview"]).succeeded()
    }

    /// The same, of which something has to fail.
    #[track_caller]
    pub(crate) fn up_fails(&self) -> Outcome {
        self.run(&["up", "--yes", "--skip-preview"]).failed()
    }

    #[track_caller]
    pub(crate) fn preview(&self) -> Outcome {
        self.run(&["preview"]).succeeded()
    }

    /// A preview that has to find everything as it is, by the command line's own judgement.
    #[track_caller]
    pub(crate) fn expect_no_changes(&self) -> Outcome {
        self.run(&["preview", "--expect-no-changes"]).succeeded().changed_nothing()
    }

    #[track_caller]
    pub(crate) fn refresh(&self) -> Outcome {
        self.run(&["refresh", "--yes"]).succeeded()
    }

    /// Takes everything down, after which there has to be nothing left: no resource, no process.
    #[track_caller]
    pub(crate) fn destroy(&self) -> Outcome {
        let outcome = self.run(&["destroy", "--yes"]).succeeded();
        let export = self.export();
        assert_eq!(export["deployment"]["resources"], Value::Null, "resources are left\n{outcome}");
        self.expect_no_process();
        outcome
    }

    /// The stack's state, with secrets encrypted, as `pulumi stack export` shows it.
    #[track_caller]
    pub(crate) fn export(&self) -> Value {
        parse(&self.run(&["stack", "export"]).succeeded().stdout)
    }

    /// One resource in the stack's state.
    #[track_caller]
    pub(crate) fn resource(&self, name: &str) -> Value {
        resource_in(&self.export(), name)
    }

    /// Several resources with their secrets in the clear: encrypted, they look different each time that they are stored.
    #[track_caller]
    pub(crate) fn resources_in_the_clear<const N: usize>(&self, names: [&str; N]) -> [Value; N] {
        let export = parse(&self.run(&["stack", "export", "--show-secrets"]).succeeded().stdout);
        names.map(|name| resource_in(&export, name))
    }

    /// The outputs of the program, secrets in the clear.
    #[track_caller]
    pub(crate) fn outputs(&self) -> Value {
        parse(&self.run(&["stack", "output", "--json", "--show-secrets"]).succeeded().stdout)
    }

    /// Runs `pulumi` with `arguments` to its end, however that is.
    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        self.start(arguments).finish()
    }

    /// Starts `pulumi` with `arguments`.
    pub(crate) fn start(&self, arguments: &[&str]) -> Started {
        self.start_with(&[], arguments)
    }

    /// Starts `pulumi` with `arguments`, and with `variables` in its environment.
    pub(crate) fn start_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Started {
        let number = self.commands.fetch_add(1, Ordering::Relaxed);
        let records = self.directory.path().join("records");
        let record = |kind: &str| records.join(format!("{number:02}-{}.{kind}", arguments[0]));
        let mut command = self.pulumi();
        command.args(["--non-interactive", "--color", "never"]).args(arguments);
        command
            .env("PULUMI_DEBUG_GRPC", record("calls"))
            .envs(&*self.variables.borrow())
            .envs(variables.iter().copied());
        if ["up", "preview", "refresh", "destroy", "import"].contains(&arguments[0]) {
            command.arg("--event-log").arg(record("events"));
        }
        let (stdout, stderr) = (record("stdout"), record("stderr"));
        Started {
            running: Running::start(&mut command, &stdout, &stderr),
            command: format!("pulumi {}", arguments.join(" ")),
            stdout,
            stderr,
            events: record("events"),
            calls: record("calls"),
        }
    }

    /// The command line in this project.
    fn pulumi(&self) -> Command {
        self.at_home(&*self.pulumi.borrow())
    }

    /// A program in this project's directory, in an environment that holds nothing of the user's, and with which the command line
    /// never asks the network.
    pub(crate) fn at_home(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let home = self.directory.path().join("home");
        let mut command = Command::new(program);
        command
            .current_dir(self.path(""))
            .env_clear()
            // So that all tests can run with providers that log.
            .envs(isthmus_test_engine::provider_logging(self.directory.path()))
            // The YAML host is found beside the command line. No plugin is found here, hence none by accident.
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &home)
            .env("TMPDIR", self.temporary.path())
            .env("PULUMI_HOME", &home)
            .env("CONFORMANCE_DIR", self.directory.path().join("objects"))
            .env("PULUMI_BACKEND_URL", format!("file://{}", self.directory.path().join("backend").display()))
            .env("PULUMI_CONFIG_PASSPHRASE", "correct horse")
            // Without it there is no `--event-log`.
            .env("PULUMI_DEBUG_COMMANDS", "true");
        for switch in [
            "ISTHMUS_OFFLINE",
            "PULUMI_SKIP_UPDATE_CHECK",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION",
            "PULUMI_DISABLE_REGISTRY_RESOLVE",
            "PULUMI_SKIP_CONFIRMATIONS",
        ] {
            command.env(switch, "true");
        }
        command
    }

    /// What commands have left in the directory for temporary files: sockets, and the directories that they are in.
    pub(crate) fn temporary_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.temporary.path()).expect("the directory is ours");
        entries.map(|entry| entry.expect("the directory is ours").path()).collect()
    }

    /// The plugins of this project that run.
    pub(crate) fn running_plugins(&self) -> Vec<Process> {
        let processes = processes::below(&self.directory.path().join("home/plugins"));
        processes.into_iter().filter(|process| !process.is_guardian()).collect()
    }

    /// The providers of this project that run.
    pub(crate) fn running_providers(&self) -> Vec<Process> {
        processes::below(&self.directory.path().join("providers"))
    }

    /// Waits for the end of all processes that this project's commands have left behind.
    ///
    /// # Panics
    /// When one is still there after [`GRACE`].
    #[track_caller]
    pub(crate) fn expect_no_process(&self) {
        if within(GRACE, || processes::below(self.directory.path()).is_empty().then_some(())).is_none() {
            let left: Vec<_> =
                processes::below(self.directory.path()).iter().map(ToString::to_string).collect();
            panic!("{} process(es) outlived their command by {GRACE:?}: {}", left.len(), left.join(", "));
        }
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        for process in processes::below(self.directory.path()) {
            process.kill();
        }
        // Written past the test runner's capture, which shows nothing of a test that succeeds.
        let _ = writeln!(
            std::io::stderr(),
            "e2e: {}: {} commands in {:.1} s",
            self.name,
            self.commands.load(Ordering::Relaxed),
            self.begin.elapsed().as_secs_f64()
        );
    }
}

/// A command of a project that runs.
#[derive(Debug)]
pub(crate) struct Started {
    running: Running,
    command: String,
    stdout: PathBuf,
    stderr: PathBuf,
    events: PathBuf,
    calls: PathBuf,
}

impl Started {
    /// The engine's events until now, one on a line.
    pub(crate) fn events(&self) -> String {
        fs::read_to_string(&self.events).unwrap_or_default()
    }

    /// Sends `signal` to the command line alone.
    pub(crate) fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    pub(crate) fn finish(self) -> Outcome {
        let status = self.running.finish();
        let text = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        // Commands that do not deploy have no events.
        let events = text(&self.events).unwrap_or_default();
        Outcome {
            command: self.command,
            status,
            stdout: text(&self.stdout).expect("the file was made when the command started"),
            stderr: text(&self.stderr).expect("the file was made when the command started"),
            events: events.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
            calls: self.calls,
        }
    }
}

#[track_caller]
fn resource_in(export: &Value, name: &str) -> Value {
    let resources = export["deployment"]["resources"].as_array().expect("a stack with resources");
    let named =
        |resource: &&Value| resource["urn"].as_str().is_some_and(|urn| urn.rsplit("::").next() == Some(name));
    resources.iter().find(named).unwrap_or_else(|| panic!("the state has no '{name}'")).clone()
}

#[track_caller]
fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("this is no JSON: {error}\n{text}"))
}

pub(crate) fn create_directory(path: &Path) {
    fs::create_dir_all(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Makes `to` the same file as `from`, or a copy where the two are on different file systems.
pub(crate) fn link(from: &Path, to: &Path) {
    if fs::hard_link(from, to).is_ok() {
        return;
    }
    // A process of its own copies, so that none of ours has the file open for writing when another is started.
    let copied = Command::new("cp").arg(from).arg(to).status();
    assert!(
        copied.as_ref().is_ok_and(std::process::ExitStatus::success),
        "{} could not be copied to {}: {copied:?}",
        from.display(),
        to.display()
    );
}
