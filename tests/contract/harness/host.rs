//! The daemon as a process of its own, under the name that an engine starts it by.

use std::env::consts::EXE_SUFFIX;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use crate::harness::processes::Signal;
use fixtures::tools::tool;
use isthmus_common::Platform;
use isthmus_platform::IS_WINDOWS;
use isthmus_platform::files::give_name;
use isthmus_sandbox::Protocol;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::process::{Child, ChildStdin, Command};
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

use super::daemon::{self, Daemon};
use super::engine::{self, Engine, Output, PLUGIN};
use super::session::{Session, Transcript};
use super::{PATIENCE, native, processes};

const SANDBOX: &str = "terraform-provider-sandbox";
const CONFORMANCE: &str = "terraform-provider-conformance";

/// How a daemon is started.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    program: String,
    bridge: Bridge,
    provider: Provider,
    variables: Vec<(String, OsString)>,
    arguments: Arguments,
    directory: Option<Arc<TempDir>>,
    starter: Starter,
    wrapper: Option<String>,
    shell: Option<String>,
    /// Where it works within its directory.
    working_directory: PathBuf,
    /// The build of the program that is tested.
    executable: PathBuf,
    /// Whether the sandbox records its calls.
    records_calls: bool,
    /// Whether a shared daemon serves.
    has_daemon: bool,
}

/// Who starts the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Starter {
    /// The test.
    Test,
    /// The test, as the leader of a process group, as the Pulumi CLI starts plugins.
    TestInAGroup,
    /// A process that stands for the engine, so that it can be killed.
    Engine(EngineInput),
}

/// What an engine gives a daemon for standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EngineInput {
    /// A pipe that ends with the engine.
    Pipe,
    /// `/dev/null`, from which nothing can be seen.
    Null,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Provider {
    Sandbox,
    Conformance,
    /// One of HashiCorp's, by its type.
    Foreign(&'static str),
}

/// The program that is tested, or the one that it takes the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bridge {
    Ours,
    Go,
}

#[derive(Clone, Debug)]
enum Arguments {
    /// The address of the host's own engine.
    Engine,
    /// These instead.
    Fixed(Vec<String>),
}

impl Setup {
    /// Beside the sandbox provider, which misbehaves on request.
    pub(crate) fn sandbox(protocol: Protocol) -> Self {
        Self::new(Provider::Sandbox).with("SANDBOX_PROTOCOL", &protocol.to_string())
    }

    /// Beside the provider on HashiCorp's libraries.
    pub(crate) fn conformance(protocol: Protocol) -> Self {
        Self::new(Provider::Conformance).with("CONFORMANCE_PROTOCOL", &protocol.to_string())
    }

    /// Beside a provider of HashiCorp's, such as `random`.
    pub(crate) fn foreign(provider: &'static str) -> Self {
        Self::new(Provider::Foreign(provider))
    }

    /// The Go bridge instead of the daemon, for what has to be the same with both. It has no handshake.
    pub(crate) fn go_bridge(self) -> Self {
        Self { bridge: Bridge::Go, ..self }
    }

    fn new(provider: Provider) -> Self {
        Self {
            program: PLUGIN.to_owned(),
            bridge: Bridge::Ours,
            provider,
            variables: Vec::new(),
            arguments: Arguments::Engine,
            directory: None,
            starter: Starter::Test,
            wrapper: None,
            shell: None,
            working_directory: PathBuf::new(),
            executable: PathBuf::from(env!("CARGO_BIN_EXE_isthmus")),
            records_calls: true,
            has_daemon: everything_has_a_daemon(),
        }
    }

    /// As a plugin that passes its calls on to a shared daemon, which is started first, unless one runs in this directory.
    pub(crate) fn with_daemon(self) -> Self {
        Self { has_daemon: true, ..self }
    }

    /// With another build of the program than the one for tests, such as a release, whose sandbox cannot misbehave.
    pub(crate) fn build(mut self, executable: PathBuf) -> Self {
        self.executable = executable;
        self.without_a_record()
    }

    /// Without the sandbox's record of its calls, which grows with each.
    pub(crate) fn without_a_record(mut self) -> Self {
        self.records_calls = false;
        self
    }

    /// By a shell that does this first, and whose place the daemon then takes.
    pub(crate) fn after(mut self, script: &str) -> Self {
        self.shell = Some(script.to_owned());
        self
    }

    /// With a shell script for a provider binary; the provider itself is `$REAL` in it.
    pub(crate) fn wrapped(mut self, script: &str) -> Self {
        self.wrapper = Some(script.to_owned());
        self
    }

    /// As the leader of a process group.
    pub(crate) fn in_a_process_group(mut self) -> Self {
        self.starter = Starter::TestInAGroup;
        self
    }

    /// Started by a process of its own that stands for the engine.
    pub(crate) fn below_an_engine(mut self, input: EngineInput) -> Self {
        self.starter = Starter::Engine(input);
        self
    }

    /// With an environment variable, which the provider inherits.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.with_value(name, value.as_ref())
    }

    /// The same, with a value that need not be text.
    pub(crate) fn with_value(mut self, name: &str, value: &OsStr) -> Self {
        self.variables.retain(|(present, _)| present != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Under another name than today's engines use.
    pub(crate) fn named(mut self, program: &str) -> Self {
        program.clone_into(&mut self.program);
        self
    }

    /// As the plugin of the legacy engine for its provider's package.
    pub(crate) fn legacy(self) -> Self {
        let package = match self.provider {
            Provider::Sandbox => "sandbox",
            Provider::Conformance => "conformance",
            Provider::Foreign(name) => name,
        };
        self.named(&format!("lumi-resource-{package}"))
    }

    /// With these arguments instead of the engine's address.
    pub(crate) fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments = Arguments::Fixed(arguments.iter().map(|argument| (*argument).to_owned()).collect());
        self
    }

    /// Under a umask that takes nothing away.
    pub(crate) fn without_umask(self) -> Self {
        self.after("umask 000")
    }

    /// In a directory of the test's own.
    pub(crate) fn within(self, directory: &Arc<TempDir>) -> Self {
        Self { directory: Some(Arc::clone(directory)), ..self }
    }

    /// In the directory of a host that was started the same way, and therefore with the same environment, the same provider,
    /// and whatever the host has kept on disk.
    pub(crate) fn beside(mut self, host: &Host) -> Self {
        self.directory = Some(Arc::clone(&host.directory));
        self
    }

    /// In a working directory within its directory.
    pub(crate) fn working_in(self, name: &str) -> Self {
        Self { working_directory: PathBuf::from(name), ..self }
    }

    /// Without an engine: one will attach.
    pub(crate) fn attachable(self) -> Self {
        self.arguments(&[])
    }

    /// The environment of a shared daemon.
    fn variables_of_daemon(&self) -> Vec<(String, OsString)> {
        let own = self
            .variables
            .iter()
            .filter(|(name, _)| name.starts_with("ISTHMUS_") || name.starts_with("OTEL_"))
            .cloned();
        // Where every test has a shared daemon, most are about providers that end with their sessions.
        let end_at_once = everything_has_a_daemon().then(|| ("ISTHMUS_POOL_IDLE".to_owned(), "0".into()));
        end_at_once.into_iter().chain(own).collect()
    }

    /// Starts the daemon.
    pub(crate) async fn start(self) -> Host {
        Host::start(self).await
    }

    /// Starts the daemon and makes a session with the provider, configured with nothing.
    pub(crate) async fn session(self) -> Result<(Host, Session), Status> {
        let host = self.start().await;
        let session = host.session().await?;
        Ok((host, session))
    }
}

/// Whether all tests are to go through shared daemons: `ISTHMUS_TEST_DAEMON` is set.
fn everything_has_a_daemon() -> bool {
    std::env::var_os("ISTHMUS_TEST_DAEMON").is_some()
}

/// A running daemon and its engine. It is killed when this goes, and all that was said is printed.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) engine: Engine,
    directory: Arc<TempDir>,
    bridge: Bridge,
    provider: PathBuf,
    child: Child,
    process: u32,
    stdin: Option<ChildStdin>,
    port: u16,
    stderr: Output,
    transcript: Transcript,
    daemon: Option<Daemon>,
}

impl Host {
    async fn start(setup: Setup) -> Self {
        let engine = Engine::start().await;
        let directory = setup.directory.clone();
        let directory =
            directory.unwrap_or_else(|| Arc::new(tempfile::tempdir().expect("a temporary directory")));
        let program = match setup.bridge {
            Bridge::Ours => link(&setup.executable, directory.path(), &setup.program),
            Bridge::Go => link(&tool("go-bridge"), directory.path(), &setup.program),
        };
        let (program_of_provider, provider_name) = match setup.provider {
            Provider::Sandbox => (setup.executable.clone(), SANDBOX.to_owned()),
            Provider::Conformance => (tool(CONFORMANCE), CONFORMANCE.to_owned()),
            Provider::Foreign(name) => {
                let name = format!("terraform-provider-{name}");
                (tool(&name), name)
            }
        };
        let provider = match &setup.wrapper {
            Some(script) => {
                let real = directory.path().join("real");
                std::fs::create_dir_all(&real).expect("a directory in a directory of ours");
                let real = link(&program_of_provider, &real, &provider_name);
                script_at(
                    &directory.path().join(provider_name),
                    &format!("REAL='{}'\n{script}", real.display()),
                )
            }
            None => link(&program_of_provider, directory.path(), &provider_name),
        };
        let objects = directory.path().join("objects");
        std::fs::create_dir_all(&objects).expect("a directory in a directory of ours");
        let mut command = match setup.starter {
            Starter::Test => match &setup.shell {
                Some(script) => {
                    let mut command = Command::new("sh");
                    command.arg("-c").arg(format!("{script}; exec \"$0\" \"$@\"")).arg(program);
                    command
                }
                None => Command::new(program),
            },
            Starter::TestInAGroup => {
                #[cfg_attr(
                    windows,
                    expect(unused_mut, reason = "every program can get console events of its own there")
                )]
                let mut command = Command::new(program);
                #[cfg(unix)]
                command.process_group(0);
                command
            }
            Starter::Engine(input) => {
                let mut command = Command::new("sh");
                let script = match input {
                    EngineInput::Null => "\"$0\" \"$@\" </dev/null & wait",
                    // Only the shell can write into the pipe.
                    EngineInput::Pipe => "mkfifo in; exec 3<>in; \"$0\" \"$@\" <in 3>&- & wait",
                };
                command.arg("-c").arg(script).arg(program);
                command
            }
        };
        let working_directory = directory.path().join(&setup.working_directory);
        std::fs::create_dir_all(&working_directory).expect("a directory in a directory of ours");
        engine::isolate(&mut command, directory.path());
        command
            .env("ISTHMUS_OFFLINE", "true")
            // Only the plugin for a legacy engine looks there; others are told by Parameterize.
            .env("ISTHMUS_PROVIDER", &provider)
            .current_dir(working_directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        match setup.provider {
            Provider::Sandbox if setup.records_calls => {
                command.env("SANDBOX_DIR", &objects).env("SANDBOX_CALLS", directory.path().join("calls"))
            }
            Provider::Sandbox => command.env("SANDBOX_DIR", &objects),
            Provider::Conformance => command
                .env("CONFORMANCE_DIR", &objects)
                .env("CONFORMANCE_LOG", directory.path().join("calls")),
            Provider::Foreign(_) => &mut command,
        };
        // All tests can run with providers that log, but for those that are about what these log.
        if !setup.variables.iter().any(|(name, _)| name.starts_with("TF_LOG")) {
            command.envs(engine::provider_logging(directory.path()));
        }
        let variables_of_daemon = setup.variables_of_daemon();
        command.envs(setup.variables);
        match setup.arguments {
            Arguments::Engine => command.arg(engine.address()),
            Arguments::Fixed(arguments) => command.args(arguments),
        };
        let daemon = match setup.has_daemon && setup.bridge == Bridge::Ours && setup.program == PLUGIN {
            true => {
                command.env("ISTHMUS_DAEMON", daemon::socket_in(directory.path()));
                Daemon::start(&setup.executable, directory.path(), &variables_of_daemon).await
            }
            false => None,
        };
        let mut child = command.spawn().expect("the daemon starts");
        let stderr = Output::of(&mut child);
        let stdout = child.stdout.take().expect("a pipe");
        let port = engine::first_line(stdout).await;
        let mut process = child.id().expect("a process that was not waited for");
        if let Starter::Engine(_) = setup.starter {
            process = processes::children(process)[0];
        }
        let stdin = child.stdin.take();
        let mut host = Self {
            engine,
            directory,
            bridge: setup.bridge,
            provider,
            child,
            process,
            stdin,
            port: 0,
            stderr,
            transcript: Transcript::default(),
            daemon,
        };
        // Only now, so that a daemon that did not start is reported with its stderr.
        host.port = port.trim().parse().unwrap_or_else(|_| panic!("the daemon printed {port:?} for a port"));
        host
    }

    /// Opens a connection, on which nothing was said yet.
    pub(crate) async fn connect(&self) -> Session {
        Session::new(self.channel().await, self.transcript.clone())
    }

    /// Opens a bare connection.
    pub(crate) async fn channel(&self) -> Channel {
        channel(self.port).await
    }

    /// Opens a connection and says on it what an engine says first.
    pub(crate) async fn greeted(&self) -> Result<Session, Status> {
        let session = self.connect().await;
        if self.bridge == Bridge::Ours {
            session.handshake(self.engine.address()).await?;
        }
        Ok(session)
    }

    /// Opens a connection and chooses the provider beside the daemon; it is not configured.
    pub(crate) async fn parameterized(&self) -> Result<Session, Status> {
        let session = self.greeted().await?;
        session.parameterize(&[&self.provider()]).await?;
        Ok(session)
    }

    /// Opens a connection and brings it to where resources can be spoken of.
    pub(crate) async fn session(&self) -> Result<Session, Status> {
        let session = self.parameterized().await?;
        session.configure(&json!({})).await?;
        Ok(session)
    }

    /// Where the provider is.
    pub(crate) fn provider(&self) -> String {
        self.provider.to_str().expect("a path in UTF-8").to_owned()
    }

    /// A directory of this host's own.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Puts the provider beside the daemon into the cache of providers, as an unpacked release, and returns its directory.
    pub(crate) fn place(&self, address: &str, version: &str) -> PathBuf {
        place(&self.provider, &self.directory.path().join("pulumi/dynamic_tf_plugins"), address, version)
    }

    /// Where the daemon keeps what providers said of themselves.
    pub(crate) fn schemas(&self) -> PathBuf {
        self.directory().join("isthmus").join("cache").join("schemas")
    }

    /// Gives the provider a file of its own. Beside other tests, the shared one is linked to all the time, which the file
    /// system notes as a change of it.
    pub(crate) fn with_own_provider(self) -> Self {
        let copy = self.directory().join("copy");
        std::fs::copy(&self.provider, &copy).expect("a provider can be copied");
        if IS_WINDOWS {
            // The file of a program that runs, as this one does by another name, can be given a name and not be replaced.
            std::fs::rename(&self.provider, copy.with_extension("old")).expect("a new name");
        }
        std::fs::rename(&copy, &self.provider).expect("a name can be given away");
        self
    }

    /// Waits until what the provider offers is kept on disk, as a whole: this is the file that is written last.
    pub(crate) async fn schema_is_kept(&self) {
        self.schemas_have("schema-of-", 1).await;
    }

    /// Waits until the cache of schemas has so many whole files whose names begin so.
    pub(crate) async fn schemas_have(&self, prefix: &str, count: usize) {
        let have = async {
            while self.schema_files(prefix) != count {
                // They appear in a directory; there is nothing else to wait on.
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        let have = tokio::time::timeout(PATIENCE, have).await;
        let found = self.schema_files(prefix);
        assert!(have.is_ok(), "{found} and not {count} of {prefix} are in {}", self.schemas().display());
    }

    /// Waits until an entry of the cache of schemas says that its provider was never asked: it ends with the time.
    pub(crate) async fn schema_is_doubted(&self) {
        let is_doubted = || {
            let entries = std::fs::read_dir(self.schemas()).into_iter().flatten().flatten();
            let mut entries =
                entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("schema-of-"));
            entries.any(|entry| std::fs::read(entry.path()).is_ok_and(|content| content.ends_with(&[0; 8])))
        };
        let doubted = async {
            while !is_doubted() {
                // As above.
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, doubted).await.expect("an entry is doubted");
    }

    /// How many whole files of the cache of schemas have names that begin so.
    pub(crate) fn schema_files(&self, prefix: &str) -> usize {
        let is_whole = |entry: &std::fs::DirEntry| {
            let is_named = entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix));
            // Damaged ones end otherwise.
            is_named
                && std::fs::read(entry.path())
                    .is_ok_and(|content| content.len() >= 52 && !content.ends_with(b"damaged"))
        };
        std::fs::read_dir(self.schemas()).map_or(0, |entries| entries.flatten().filter(is_whole).count())
    }

    /// Where the daemon listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The provider's objects, as it has stored them.
    pub(crate) fn objects(&self) -> Vec<Json> {
        let mut files = Vec::new();
        collect_files(&self.directory.path().join("objects"), &mut files);
        files.sort();
        files.iter().map(|file| read_json(file)).collect()
    }

    /// Changes the provider's only object behind the engine's back.
    pub(crate) fn tamper(&self, change: impl FnOnce(&mut Json)) {
        let file = self.only_object();
        let mut object = read_json(&file);
        change(&mut object);
        std::fs::write(file, object.to_string()).expect("the object can be written");
    }

    /// Asks the conformance provider for what goes wrong with the objects of a name; of nothing, nothing does any more.
    pub(crate) fn trouble(&self, name: &str, troubles: &Json) {
        let directory = self.directory.path().join("objects/trouble");
        std::fs::create_dir_all(&directory).expect("directories can be made");
        std::fs::write(directory.join(format!("{name}.json")), troubles.to_string())
            .expect("files can be written");
    }

    /// How often the provider was asked a call so far.
    pub(crate) fn count(&self, call: &str) -> usize {
        self.call_names().iter().filter(|name| *name == call).count()
    }

    /// Deletes the provider's only object behind the engine's back.
    pub(crate) fn lose_object(&self) {
        std::fs::remove_file(self.only_object()).expect("the object can be removed");
    }

    fn only_object(&self) -> PathBuf {
        let mut files = Vec::new();
        collect_files(&self.directory.path().join("objects"), &mut files);
        assert_eq!(files.len(), 1, "the provider has one object");
        files.remove(0)
    }

    /// What providers were asked so far, as they recorded it: `call` and `process`, and what else their page says.
    pub(crate) fn calls(&self) -> Vec<Json> {
        let text = std::fs::read_to_string(self.directory.path().join("calls")).unwrap_or_default();
        let whole_lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole_lines.map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// The names of the calls that providers were asked so far, without preliminaries.
    pub(crate) fn call_names(&self) -> Vec<String> {
        let calls = self.calls();
        let names = calls.iter().filter_map(|call| call.get("call").or(call.get("method"))?.as_str());
        names.map(str::to_owned).collect()
    }

    /// The provider processes that were asked something so far, in order.
    pub(crate) fn provider_processes(&self) -> Vec<u32> {
        let mut processes = Vec::new();
        for call in self.calls() {
            let process =
                call.get("process").or(call.get("pid")).and_then(Json::as_u64).expect("a process id");
            let process = u32::try_from(process).expect("a process id");
            if !processes.contains(&process) {
                processes.push(process);
            }
        }
        processes
    }

    /// The only provider process so far.
    pub(crate) fn provider_process(&self) -> u32 {
        let processes = self.provider_processes();
        assert_eq!(processes.len(), 1, "one provider process was asked: {processes:?}");
        processes[0]
    }

    /// Ends a session, and waits until the only provider process so far has ended with it.
    pub(crate) async fn end_of(&self, session: Session) {
        drop(session);
        processes::ended(self.provider_process()).await;
    }

    /// Waits until the only provider was asked for a call so many times.
    pub(crate) async fn provider_is_in(&self, call: &str, times: usize) {
        let asked = async {
            while self.call_names().iter().filter(|name| *name == call).count() < times {
                // The record is a file; there is nothing to wait on but the file itself.
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        let asked = tokio::time::timeout(PATIENCE, asked).await;
        assert!(asked.is_ok(), "{call} did not reach the provider {times} times: {:?}", self.call_names());
    }

    /// What the daemon printed on stderr so far.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Waits for a text on the daemon's stderr.
    pub(crate) async fn prints(&self, wanted: &str) {
        self.stderr.wait_for(wanted).await;
    }

    /// The daemon's child processes, whichever of its threads made them.
    pub(crate) fn children(&self) -> Vec<u32> {
        processes::children(self.process)
    }

    /// Waits for the daemon to have a child process, and returns it.
    pub(crate) async fn child(&self) -> u32 {
        let found = async {
            loop {
                match self.children().first() {
                    Some(child) => return *child,
                    // The system tells nobody that a process was made.
                    None => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
                }
            }
        };
        tokio::time::timeout(PATIENCE, found).await.expect("the daemon starts a child")
    }

    /// The shared daemon that was started with this.
    pub(crate) fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().expect("it was started with a shared daemon")
    }

    /// The same, to be ended.
    pub(crate) fn daemon_mut(&mut self) -> &mut Daemon {
        self.daemon.as_mut().expect("it was started with a shared daemon")
    }

    /// Starts a shared daemon where the one was that has ended.
    pub(crate) async fn restart_daemon(&mut self) {
        let executable = Path::new(env!("CARGO_BIN_EXE_isthmus"));
        self.daemon = Daemon::start(executable, self.directory.path(), &[]).await;
    }

    /// What was said on all connections.
    pub(crate) fn transcript(&self) -> String {
        self.transcript.text()
    }

    /// The daemon's process.
    pub(crate) fn process(&self) -> u32 {
        self.process
    }

    /// Kills the process that has started the daemon, which stands for the engine.
    pub(crate) fn kill_starter(&self) {
        processes::signal(self.child.id().expect("it was not waited for"), Signal::KILL);
    }

    /// Sends the daemon a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        processes::signal(self.process, signal);
    }

    /// Closes the pipe at the daemon's stdin, as the end of an engine does.
    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits until the daemon has ended by itself.
    pub(crate) async fn exit(&mut self) -> ExitStatus {
        let waited = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        waited.expect("the daemon ends").expect("the daemon is a child")
    }

    /// Whether the daemon runs.
    pub(crate) fn lives(&self) -> bool {
        processes::lives(self.process)
    }
}

impl Drop for Host {
    #[expect(clippy::print_stdout, reason = "the test runner shows it when the test failed")]
    fn drop(&mut self) {
        if self.bridge == Bridge::Go && processes::lives(self.process) {
            // When it is killed, it leaves its providers running.
            processes::children(self.process)
                .into_iter()
                .for_each(|provider| processes::signal(provider, Signal::KILL));
        }
        println!("--- the engine and the daemon:\n{}", self.transcript.text());
        println!("--- what the engine was told:\n{:#?}", self.engine.lines());
        println!("--- what the provider was asked: {:?}", self.call_names());
        println!("--- the daemon's stderr:\n{}---", self.stderr());
    }
}

/// Puts a provider's program into a cache of providers, as an unpacked release, and returns its directory.
pub(crate) fn place(program: &Path, cache: &Path, address: &str, version: &str) -> PathBuf {
    let directory = native(cache.join(address).join(version).join(Platform::CURRENT.to_string()));
    std::fs::create_dir_all(&directory).expect("a directory in a cache of this test's own");
    let provider_type = address.rsplit_once('/').expect("an address has several parts").1;
    link(program, &directory, &format!("terraform-provider-{provider_type}_v{version}"));
    directory
}

/// Writes a shell script.
pub(crate) fn script_at(path: &Path, body: &str) -> PathBuf {
    // Written under another name, so that nothing is started that is still open for writing.
    let new = path.with_extension("new");
    std::fs::write(&new, format!("#!/bin/sh\n{body}")).expect("a file in a directory of ours");
    isthmus_platform::files::set_mode(&new, 0o755).expect("the file is ours");
    std::fs::rename(&new, path).expect("a name in a directory of ours");
    make_executable(path)
}

/// Makes a shell script a program, and returns its path. Windows starts no scripts: a program beside it runs it there.
pub(crate) fn make_executable(script: &Path) -> PathBuf {
    isthmus_platform::files::set_mode(script, 0o755).expect("it is ours");
    let program = program_path(script);
    if IS_WINDOWS {
        // What is there may run, and can be given another name all the same.
        drop(std::fs::rename(&program, program.with_extension("old")));
        named(tool("script"), script);
    }
    program
}

/// The mode of a file. Windows has lists of access, and one that lets no others in stands for the mode of a private file.
pub(crate) fn mode(path: &Path) -> u32 {
    let metadata = std::fs::metadata(path).expect("it is there");
    let mode = isthmus_platform::files::protection(path, &metadata).expect("it is ours").mode & 0o777;
    if IS_WINDOWS && metadata.is_file() { mode & !0o111 } else { mode }
}

/// Waits for something of the file system, which tells nobody.
pub(crate) async fn until<T>(what: &str, found: impl Fn() -> Option<T>) -> T {
    let finding = async {
        loop {
            match found() {
                Some(found) => return found,
                None => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, finding).await.unwrap_or_else(|_| panic!("it never came that {what}"))
}

/// Opens a bare connection to a port of this machine.
pub(crate) async fn channel(port: u16) -> Channel {
    let address = format!("http://127.0.0.1:{port}");
    // The limit of headers is that of Go's library, so of engines.
    let endpoint = Endpoint::from_shared(address)
        .expect("an address")
        .connect_timeout(PATIENCE)
        .http2_max_header_list_size(16 << 20);
    endpoint.connect().await.expect("the port accepts connections")
}

/// The path of a program, which ends with `.exe` on Windows.
pub(crate) fn program_path(path: impl Into<OsString>) -> PathBuf {
    let mut path = path.into();
    path.push(EXE_SUFFIX);
    path.into()
}

/// Gives a program another name, and returns its path.
pub(crate) fn named(program: impl AsRef<Path>, path: impl Into<OsString>) -> PathBuf {
    let path = program_path(path);
    // Isthmus copies a program on Windows, which takes a test too long.
    if !IS_WINDOWS || std::fs::hard_link(program.as_ref(), &path).is_err() {
        give_name(program.as_ref(), &path).expect("a name in a directory of ours");
    }
    path
}

/// Gives a program a name in a directory.
fn link(program: &Path, directory: &Path, name: &str) -> PathBuf {
    let link = program_path(directory.join(name));
    if link.exists() {
        return link;
    }
    // A second name where the file systems allow it, because that is what installing makes.
    if std::fs::hard_link(program, &link).is_err() {
        give_name(program, &link).expect("a name in a new directory");
    }
    link
}

fn collect_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory of objects") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
}

fn read_json(file: &Path) -> Json {
    let text = std::fs::read_to_string(file).expect("an object can be read");
    serde_json::from_str(&text).expect("an object is JSON")
}
