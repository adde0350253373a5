//! Commands whose output is not taken: by a reader that has read enough, by a full disk.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::harness::host::{named, program_path};
use crate::harness::processes::Signal;
use isthmus_proto::daemon::OpenRequest;
use isthmus_proto::daemon::daemon_client::DaemonClient;
use isthmus_proto::pulumirpc::ParameterizeRequest;
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_state::stacks::SequenceFile;
use isthmus_state::{EncryptedStore, Intent, OperationKind, StoreKey};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tonic::transport::Endpoint;

use super::network::Network;
use super::settings::ask;
use super::{Machine, Said};
use crate::harness::daemon::channel;
use crate::harness::{Json, json, processes};

/// Every command, with arguments that make it print something.
const COMMANDS: [&[&str]; 33] = [
    &["completions", "zsh"],
    &["demo"],
    &["docs", "./terraform-provider-random", "--terminal", "random_pet"],
    &["doctor", "--only", "settings"],
    &["explain", "ISTHMUS-2003"],
    &["inspect", "./terraform-provider-random", "random_pet", "--inputs", "given.inputs"],
    &["install", "@thing@", "1.0.0"],
    &["install", "--plugin"],
    &["link", "./terraform-provider-random", "--dir", "bin"],
    &["man", "providers", "list"],
    &["plugin", "-version"],
    &["plugin", "-get-provider-info"],
    &["providers", "list"],
    &["providers", "mirror", "mirror", "@thing@@1.0.0"],
    &["providers", "prune"],
    &["providers", "verify"],
    &["record", "written.recording", "--", env!("CARGO_BIN_EXE_isthmus"), "version"],
    &["recover"],
    &["recover", "import-file"],
    &["recover", "dismiss", "@intent@"],
    &["replay", "given.recording"],
    &["state", "export"],
    IMPORT,
    &["state", "inspect", "given.stack"],
    &["state", "list"],
    &["state", "rekey"],
    &["state", "backup", ".pulumi/isthmus/backup"],
    &["state", "restore", "given.backup"],
    &["logs", "--no-follow", "--socket", "@daemon@"],
    &["ps", "--socket", "@daemon@"],
    &["top", "--socket", "@daemon@"],
    &["version"],
    &[
        "migrate",
        "given.tfstate",
        "--output=migrated",
        "--force",
        "--provider=random=./terraform-provider-random",
    ],
];

/// A recording of a provider without any resource, whose configuration was checked.
const RECORDING: &str = concat!(
    r#"{"kind":"header","format_version":"1.0","isthmus":"0.1.0"}"#,
    "\n",
    r#"{"kind":"session","session":"one","package":{"name":"thing","version":"0.0.0"},"#,
    r#""parameter":{"local":{"path":"./terraform-provider-thing"}}}"#,
    "\n",
    r#"{"kind":"call","session":"one","sequence":1,"side":"engine","service":"pulumirpc.ResourceProvider","#,
    r#""method":"Handshake","parent":null,"request":{},"response":{"accept_secrets":true,"supports_autonaming_configuration":true}}"#,
    "\n",
    r#"{"kind":"call","session":"one","sequence":2,"side":"provider","service":"tfplugin6.Provider","#,
    r#""method":"GetProviderSchema","parent":1,"request":{},"response":{"$bytes":"CgISAA=="}}"#,
    "\n",
);

/// The command that fills the state store.
const IMPORT: &[&str] =
    &["state", "import", "given.tfstate", "--provider=random=./terraform-provider-random"];

/// The same, of those that need a record.
const COMMANDS_ON_A_RECORD: [&[&str]; 2] =
    [&["state", "rm", "random_pet/able-dog"], &["state", "show", "random_pet/able-dog"]];

/// What does not take what is written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sink {
    /// `| true`
    ClosedPipe,
    /// A full disk.
    Full,
}

impl Sink {
    fn open(self) -> Stdio {
        match self {
            Self::ClosedPipe => {
                let (reader, writer) = std::io::pipe().expect("a pipe");
                drop(reader);
                writer.into()
            }
            Self::Full => File::options().write(true).open("/dev/full").expect("the device").into(),
        }
    }
}

/// A machine on which every command has something to do.
struct World {
    network: Network,
    intent: String,
    /// A shared daemon, with a line in its log. It ends with this.
    _daemon: Daemon,
}

struct Daemon(Child);

impl Daemon {
    fn start(machine: &Machine) -> Self {
        let mut command = machine.command(env!("CARGO_BIN_EXE_isthmus"));
        command
            .arg("daemon")
            .arg("--socket")
            .arg(machine.path(DAEMON))
            .env("ISTHMUS_HOME", machine.path("home"));
        let mut child = command.stderr(Stdio::piped()).spawn().expect("a process");
        let mut said = std::io::BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut said, &mut line).expect("it listens");
        assert!(line.contains("listening on"), "{line}");
        leave_a_line(machine.path(DAEMON));
        Self(child)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop((self.0.kill(), self.0.wait()));
    }
}

/// The socket of the daemon.
const DAEMON: &str = "run/daemon.sock";

impl World {
    fn new() -> Self {
        let network = Network::new();
        network.publish("1.0.0");
        let machine = &network.machine;
        let provider = fixtures::tools::tool("terraform-provider-random");
        named(provider, machine.path("terraform-provider-random"));
        let pet =
            json!({ "schema_version": 0, "attributes": { "id": "able-dog", "length": 2, "separator": "-" } });
        let state = json!({
            "version": 4, "serial": 1, "lineage": "test", "outputs": {},
            "resources": [{
                "mode": "managed", "type": "random_pet", "name": "dog",
                "provider": "provider[\"registry.opentofu.org/hashicorp/random\"]", "instances": [pet],
            }],
        });
        machine.write("given.tfstate", state.to_string().as_bytes());
        machine.write("given.inputs", b"{\"length\": 2}");
        machine.write("given.recording", RECORDING.as_bytes());
        // The header of a plan is the least that there is to inspect.
        let header = isthmus_proto::tfstackdata1::PlanHeader { terraform_version: "1.15.0".to_owned() };
        let header = prost_types::Any {
            type_url: "type.googleapis.com/tfstackdata1.PlanHeader".to_owned(),
            value: prost::Message::encode_to_vec(&header),
        };
        machine.write("given.stack", &SequenceFile::Plan(vec![header]).write());
        let daemon = Daemon::start(machine);
        let world = Self { network, intent: String::new(), _daemon: daemon };
        world.run(IMPORT).well();
        leave_an_intent(&machine_home(world.machine()));
        world.run(&["state", "backup", "given.backup"]).well();
        let intents = world.run(&["recover", "--json"]).well();
        let intents: Json = serde_json::from_str(&intents).expect("JSON");
        for member in ["kind", "urn", "report"] {
            assert!(intents["operations"][0][member].is_string(), "{member}: {intents}");
        }
        std::fs::rename(machine_home(world.machine()), world.machine().path("template"))
            .expect("a directory");
        Self { intent: intents["operations"][0]["operation"].as_str().expect("an id").to_owned(), ..world }
    }

    fn machine(&self) -> &Machine {
        &self.network.machine
    }

    /// A command, in front of the store as it was at first.
    fn command(&self, words: &[&str]) -> Command {
        let home = machine_home(self.machine());
        if self.machine().path("template").exists() {
            let _ = std::fs::remove_dir_all(&home);
            copy(&self.machine().path("template"), &home);
        }
        // It overwrites nothing.
        let _ = std::fs::remove_file(self.machine().path("written.recording"));
        if words.starts_with(&["state", "restore"]) {
            // Where there is nothing but the key.
            let _ = std::fs::remove_dir_all(&home);
            let key = self.machine().path("template/state.key");
            std::fs::create_dir(&home)
                .and_then(|()| std::fs::copy(key, home.join("state.key")))
                .expect("a key");
        }
        let thing = self.network.address();
        let words =
            words.iter().map(|word| word.replace("@thing@", &thing).replace("@intent@", &self.intent));
        let words = words.map(|word| word.replace("@daemon@", DAEMON));
        let mut command = self.network.command();
        command.args(words);
        command
    }

    fn run(&self, words: &[&str]) -> Said {
        Said::of(&mut self.command(words))
    }
}

fn machine_home(machine: &Machine) -> PathBuf {
    machine.path(".pulumi/isthmus")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("a directory").map(|entry| entry.expect("an entry").path()) {
        let copied = to.join(entry.file_name().expect("a name"));
        if entry.is_dir() {
            copy(&entry, &copied);
        } else {
            std::fs::copy(&entry, &copied).expect("a file");
        }
    }
}

/// An operation that was begun and never ended.
#[tokio::main]
async fn leave_an_intent(home: &Path) {
    let state_store = EncryptedStore::open(home, None).await.expect("a store");
    let key =
        StoreKey { package: "random".to_owned(), type_name: "random_pet".to_owned(), id: String::new() };
    let intent = Intent {
        intention: OperationKind::Create,
        key,
        subject: "the dog".to_owned(),
        prior: None,
        companion: bytes::Bytes::new(),
    };
    drop(state_store.journal().begin(intent, None).await.expect("begun"));
}

/// A call that fails in a daemon, which it logs.
#[tokio::main]
async fn leave_a_line(socket: PathBuf) {
    let channel = channel(socket).await;
    let open = OpenRequest { plugin_version: "1.4.0".to_owned(), ..OpenRequest::default() };
    DaemonClient::new(channel.clone()).open(open).await.expect("a session");
    let nothing = ParameterizeRequest::default();
    ResourceProviderClient::new(channel).parameterize(nothing).await.expect_err("it names nothing");
}

/// The arguments of `--help` for every command there is, by what `--help` itself lists.
fn helps(machine: &Machine, command: &[&str]) -> Vec<Vec<String>> {
    let words = |more: &str| command.iter().copied().chain([more]).map(str::to_owned).collect::<Vec<_>>();
    let help = machine.isthmus(&[command, &["--help"]].concat()).well();
    let listed =
        help.split_once("Commands:\n").map_or("", |(_, rest)| rest.split("\n\n").next().unwrap_or_default());
    // What has more than one line goes on far to the right.
    let names = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    let mut all = vec![words("--help")];
    for name in names {
        // It takes what engines pass, and its own help is that of the plugin.
        if name == "plugin" {
            all.push(vec!["plugin".to_owned(), "-help".to_owned()]);
        } else {
            all.extend(helps(machine, &[command, &[name]].concat()));
        }
    }
    all
}

/// The daemon serves until it is told to end, and prints nothing meanwhile.
fn is_silent(help: &[String]) -> bool {
    help == ["daemon", "--help"]
}

#[test]
fn every_command_says_when_its_output_is_not_taken() {
    let world = World::new();
    let helps = helps(world.machine(), &[]);
    let commands: Vec<Vec<&str>> =
        COMMANDS.iter().chain(&COMMANDS_ON_A_RECORD).map(|words| words.to_vec()).collect();
    let named = |words: &[&str], help: &[String]| {
        help[..help.len() - 1].iter().zip(words).all(|(one, two)| one == two)
    };
    let leaves = helps.iter().filter(|help| {
        !helps.iter().any(|other| other.len() > help.len() && other.starts_with(&help[..help.len() - 1]))
    });
    let without: BTreeSet<_> =
        leaves.filter(|help| !is_silent(help) && !commands.iter().any(|words| named(words, help))).collect();
    assert!(without.is_empty(), "commands that are not in the table: {without:?}");

    // Help is printed in one way, whatever it is about.
    for words in
        commands.into_iter().chain([vec!["--help"], vec!["state", "list", "--help"], vec!["--version"]])
    {
        let said = world.run(&words);
        assert!(said.code == 0 && !said.stdout.is_empty(), "{words:?} prints nothing: {said:?}");
        for (sink, code) in [(Sink::ClosedPipe, 0), (Sink::Full, 1)] {
            let mut command = world.command(&words);
            let output = command.stdout(sink.open()).stderr(Stdio::piped()).spawn().expect("a process");
            let output = output.wait_with_output().expect("its end");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{words:?} to {sink:?}: {stderr}");
            assert!(!stderr.contains("panicked"), "{words:?} to {sink:?}: {stderr}");
            let errors: Vec<&str> = stderr.lines().filter(|line| line.starts_with("error: ")).collect();
            match sink {
                Sink::ClosedPipe => assert_eq!(errors, [""; 0], "{words:?}"),
                Sink::Full => assert!(
                    matches!(errors[..], [error] if error.starts_with("error: failed to write to standard output: ")
                        && ["No space left on device", "Disk full"].iter().any(|reason| error.contains(reason))),
                    "{words:?}: {stderr}"
                ),
            }
        }
    }
}

#[test]
fn a_failure_keeps_its_exit_code_when_its_output_is_not_taken() {
    let machine = Machine::new();
    for words in [
        &["state", "show", "random_pet/none"][..],
        &["link", "./absent"],
        &["no-such-command"],
        &["providers"],
    ] {
        let code = machine.isthmus(words).code;
        assert_ne!(code, 0, "{words:?}");
        for (stdout, stderr) in
            [(Sink::ClosedPipe, Sink::ClosedPipe), (Sink::Full, Sink::Full), (Sink::ClosedPipe, Sink::Full)]
        {
            let mut command = machine.command(env!("CARGO_BIN_EXE_isthmus"));
            let status = command.args(words).stdout(stdout.open()).stderr(stderr.open()).status();
            assert_eq!(status.expect("its end").code(), Some(code), "{words:?}, {stdout:?}, {stderr:?}");
        }
    }
}

#[test]
fn a_shell_that_closes_standard_error_changes_nothing() {
    let machine = Machine::new();
    let program = env!("CARGO_BIN_EXE_isthmus");
    for (line, code) in [
        (format!("{program} --version 2>&-"), 0),
        (format!("ISTHMUS_HOM=x {program} providers list 2>&-"), 0),
        (format!("ISTHMUS_OFFLINE=x {program} providers list 2>&-"), 2),
        (format!("{program} link ./absent 2>&-"), 1),
    ] {
        let said = Said::of(machine.command("/bin/sh").args(["-c", &line]));
        assert_eq!(said.code, code, "{line}: {said:?}");
    }
}

#[test]
fn a_plugin_whose_port_cannot_be_read_ends_with_an_error() {
    let machine = Machine::new();
    let program = |name: &str| {
        let path = program_path(machine.path(name));
        if !path.exists() {
            named(env!("CARGO_BIN_EXE_isthmus"), machine.path(name));
        }
        path
    };
    let null = || Stdio::null();
    let sinks: [(&str, &dyn Fn() -> Stdio); 3] = [
        ("a closed pipe", &|| Sink::ClosedPipe.open()),
        ("a full disk", &|| Sink::Full.open()),
        ("nowhere", &null),
    ];
    for (name, wrong) in [("pulumi-resource-terraform-provider", None), ("lumi-resource-random", Some("x"))] {
        for (sink, open) in &sinks {
            let mut command = machine.command(program(name));
            // With such a setting, nothing but the port is needed of an engine.
            command.arg(":1").envs(wrong.map(|value| ("ISTHMUS_STOP_GRACE_PERIOD", value))).stdout(open());
            let said = Said::of(command.stderr(Stdio::piped()));
            assert_eq!(said.code, 1, "{name} to {sink}: {said:?}");
            assert!(
                said.stderr.starts_with("error: failed to write the port to standard output: "),
                "{name} to {sink}: {said:?}"
            );
        }
        let line = format!("{} :1 >&-", program(name).display());
        let said = Said::of(
            machine
                .command("/bin/sh")
                .envs(wrong.map(|value| ("ISTHMUS_STOP_GRACE_PERIOD", value)))
                .args(["-c", &line]),
        );
        assert!(said.code == 1 && said.stderr.contains("it is closed, or /dev/null"), "{name}: {said:?}");
    }
}

#[tokio::test]
async fn a_plugin_serves_when_standard_error_is_not_taken() {
    let machine = Machine::new();
    let plugin = named(env!("CARGO_BIN_EXE_isthmus"), machine.path("pulumi-resource-terraform-provider"));
    for sink in [Sink::ClosedPipe, Sink::Full] {
        let mut command = machine.command(&plugin);
        // Without an engine, a warning goes to standard error, before anything else happens.
        command.env("ISTHMUS_HOM", "x").stdout(Stdio::piped()).stderr(sink.open());
        let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn().expect("a process");
        let mut port = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        stdout.read_line(&mut port).await.expect("its output");
        let address = format!("http://127.0.0.1:{}", port.trim());
        let channel = Endpoint::from_shared(address).expect("an address").connect().await.expect("it serves");
        ask(channel, "/pulumirpc.ResourceProvider/GetPluginInfo").await.expect("it answers");
        processes::signal(child.id().expect("it has not ended"), Signal::TERM);
        assert!(child.wait().await.expect("its end").success(), "{sink:?}");
    }
}
