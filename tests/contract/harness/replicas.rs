//! Replicas of a shared daemon: three processes that share a PostgreSQL database, each at an address of its own.
//!
//! As root on Linux, each replica has a network namespace and a process namespace of its own, as on a machine of its own: another
//! one cannot see that it has ended, but only that its leases have expired. Elsewhere they are processes with loopback addresses.

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::harness::processes::Signal;
use fixtures::postgres::PostgresServer;
use tempfile::TempDir;

use super::certificates::{Authority, private};
use super::daemon::Daemon;
use super::{Json, Protocol, Setup, processes};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const PORT: u16 = 7443;

/// How many replicas there are.
pub(crate) const REPLICAS: usize = 3;

/// Replicas, their database, and what their plugins need.
pub(crate) struct Replicas {
    pub(crate) directory: Arc<TempDir>,
    pub(crate) server: PostgresServer,
    all: [Replica; REPLICAS],
    authority: PathBuf,
    network: Network,
    variables: Vec<(String, OsString)>,
}

struct Replica {
    address: String,
    port: u16,
    /// The command that starts it.
    starter: Vec<String>,
    directory: PathBuf,
    variables: Vec<(String, OsString)>,
    daemon: Option<Daemon>,
}

/// The networks of the replicas. Their namespaces are removed when this goes.
#[derive(Debug)]
enum Network {
    Namespaces(Vec<String>),
    Loopback,
}

impl Network {
    fn new() -> Self {
        let mut network = Self::Namespaces(Vec::new());
        for number in 0..REPLICAS {
            if !network.add(number) {
                return Self::Loopback;
            }
        }
        network
    }

    fn add(&mut self, number: usize) -> bool {
        let Self::Namespaces(names) = self else { return false };
        let process = std::process::id();
        let (name, link) = (format!("isthmus-{process}-{number}"), format!("is{process}h{number}"));
        if !succeeds("ip", &["netns", "add", &name]) {
            return false;
        }
        names.push(name.clone());
        let (ours, theirs) = (address_in_network(number, 1), address_in_network(number, 2));
        let peer = format!("is{process}n{number}");
        let commands: [&[&str]; 6] = [
            &["link", "add", &link, "type", "veth", "peer", "name", &peer, "netns", &name],
            &["address", "add", &format!("{ours}/30"), "dev", &link],
            &["link", "set", &link, "up"],
            &["-n", &name, "address", "add", &format!("{theirs}/30"), "dev", &peer],
            &["-n", &name, "link", "set", &peer, "up"],
            &["-n", &name, "link", "set", "lo", "up"],
        ];
        // What cannot make a namespace of processes cannot run a replica as on a machine of its own either.
        commands.iter().all(|words| succeeds("ip", words))
            && succeeds("unshare", &["--pid", "--fork", "--mount-proc", "true"])
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let Self::Namespaces(names) = self else { return };
        for name in names {
            succeeds("ip", &["netns", "delete", name]);
        }
    }
}

/// An address of the network of a replica. 198.18.0.0/15 is for tests of networks (RFC 2544).
fn address_in_network(number: usize, host: u32) -> String {
    let network = (std::process::id() % 4096) * 16 + u32::try_from(number).expect("few replicas") * 4;
    format!("198.18.{}.{}", network >> 8, (network & 255) + host)
}

fn succeeds(program: &str, words: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

impl Replicas {
    /// Starts a database and the replicas, as on machines of their own where that can be had.
    pub(crate) async fn start() -> Self {
        Self::start_in(Network::new(), &[]).await
    }

    /// The same on this machine, the first one with these variables in its environment.
    pub(crate) async fn start_here(of_first: &[(&str, &str)]) -> Self {
        Self::start_in(Network::Loopback, of_first).await
    }

    async fn start_in(network: Network, of_first: &[(&str, &str)]) -> Self {
        let server = tokio::task::spawn_blocking(|| PostgresServer::start(None, false)).await;
        let server = server.expect("no panic");
        let server = server.unwrap_or_else(|reason| panic!("replicas need a PostgreSQL server: {reason}"));
        let directory = Arc::new(tempfile::tempdir().expect("a directory"));
        let authority = Authority::new();
        let authority_file = authority.file(directory.path());
        let own: [(&str, OsString); 3] = [
            ("ISTHMUS_STORE", server.address("postgres").into()),
            ("ISTHMUS_KEY", "7".repeat(64).into()),
            ("ISTHMUS_TOKENS", directory.path().join("tokens").into()),
        ];
        private(&directory.path().join("tokens"), &format!("programs {TOKEN}\n"));
        private(&directory.path().join("token"), TOKEN);
        let variables: Vec<(String, OsString)> =
            own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let all = std::array::from_fn(|number| {
            let (address, port, starter) = match &network {
                Network::Namespaces(names) => {
                    let words = ["ip", "netns", "exec", &names[number], "unshare", "--pid", "--fork"];
                    let starter = words.into_iter().chain(["--mount-proc", "--kill-child=KILL"]);
                    (address_in_network(number, 2), PORT, starter.map(str::to_owned).collect())
                }
                Network::Loopback => {
                    let address = format!("127.0.0.{}", number + 2);
                    let port = TcpListener::bind((address.as_str(), 0)).and_then(|free| free.local_addr());
                    (address, port.expect("a free port").port(), Vec::new())
                }
            };
            let certified = authority.issue(directory.path(), &address);
            let mut variables = variables.clone();
            let given = of_first.iter().filter(|_| number == 0);
            variables.extend(given.map(|(name, value)| ((*name).to_owned(), value.into())));
            variables.extend([
                ("ISTHMUS_LISTEN".to_owned(), format!("{address}:{port}").into()),
                ("ISTHMUS_TLS_CERTIFICATE".to_owned(), certified.certificate.into_os_string()),
                ("ISTHMUS_TLS_KEY".to_owned(), certified.key.into_os_string()),
            ]);
            let directory = directory.path().join(format!("replica-{number}"));
            std::fs::create_dir_all(&directory).expect("a directory of ours");
            Replica { address, port, starter, directory, variables, daemon: None }
        });
        let mut replicas = Self { directory, server, all, authority: authority_file, network, variables };
        for number in 0..REPLICAS {
            replicas.run(number).await;
        }
        replicas
    }

    /// What the replicas have for machines.
    pub(crate) fn places(&self) -> &'static str {
        match self.network {
            Network::Namespaces(_) => "3 network and process namespaces",
            Network::Loopback => "3 loopback addresses",
        }
    }

    /// Starts a replica that does not run.
    pub(crate) async fn run(&mut self, number: usize) {
        let replica = &mut self.all[number];
        let executable = Path::new(env!("CARGO_BIN_EXE_isthmus"));
        let started = Daemon::start_by(&replica.starter, executable, &replica.directory, &replica.variables);
        let daemon = started.await.expect("none runs there");
        daemon.said(&format!("listening on {}", replica.address)).await;
        replica.daemon = Some(daemon);
    }

    /// The process of a replica.
    pub(crate) fn process(&self, number: usize) -> u32 {
        let replica = &self.all[number];
        let started = replica.daemon.as_ref().expect("it runs").process();
        // In a namespace, it is the child of what has made the namespace.
        if replica.starter.is_empty() { started } else { processes::children(started)[0] }
    }

    /// Sends a signal to a replica.
    pub(crate) fn signal(&self, number: usize, signal: Signal) {
        processes::signal(self.process(number), signal);
    }

    /// Waits for the end of a replica.
    pub(crate) async fn ended(&mut self, number: usize) {
        let mut daemon = self.all[number].daemon.take().expect("it was started");
        daemon.ended().await;
    }

    /// Plugins of these replicas, with the sandbox for a provider.
    pub(crate) fn plugin_of(&self, replicas: &[usize]) -> Setup {
        self.plugin_by(Setup::sandbox(Protocol::V6), replicas)
    }

    /// Plugins of these replicas.
    pub(crate) fn plugin_by(&self, setup: Setup, replicas: &[usize]) -> Setup {
        let addresses = replicas.iter().map(|number| &self.all[*number]);
        let addresses: Vec<String> =
            addresses.map(|replica| format!("https://{}:{}", replica.address, replica.port)).collect();
        setup
            .within(&self.directory)
            .with("ISTHMUS_DAEMON", &addresses.join(","))
            .with_value("ISTHMUS_DAEMON_AUTHORITIES", self.authority.as_os_str())
            .with_value("ISTHMUS_DAEMON_TOKEN_FILE", self.directory.path().join("token").as_os_str())
    }

    /// Plugins of all replicas.
    pub(crate) fn plugin(&self) -> Setup {
        self.plugin_of(&[0, 1, 2])
    }

    /// What `isthmus recover` says of the database they share.
    pub(crate) fn recover(&self, words: &[&str]) -> String {
        let is_of_store = |name: &str| ["ISTHMUS_STORE", "ISTHMUS_KEY"].contains(&name);
        let store = self.variables.iter().filter(|(name, _)| is_of_store(name));
        let ran = Command::new(env!("CARGO_BIN_EXE_isthmus"))
            .arg("recover")
            .args(words)
            .env_clear()
            .env("ISTHMUS_HOME", self.directory.path().join("recover"))
            .envs(store.map(|(name, value)| (name, value)))
            .output()
            .expect("isthmus starts");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    /// The operations that are not settled.
    pub(crate) fn open_operations(&self) -> Vec<Json> {
        let open = self.recover(&["list", "--json"]);
        let open: Json = serde_json::from_str(&open).unwrap_or_else(|_| panic!("no JSON: {open}"));
        open["operations"].as_array().expect("an array").clone()
    }

    /// Stops or continues all processes of the database's server: connections stay, and nothing is answered.
    pub(crate) fn signal_database(&self, signal: Signal) {
        let file = self.server.directory.join("data/postmaster.pid");
        let text = std::fs::read_to_string(file).expect("it runs");
        let main: u32 = text.lines().next().expect("a process id").parse().expect("a number");
        processes::signal(main, signal);
        processes::children(main).into_iter().for_each(|child| processes::signal(child, signal));
    }

    /// Makes all leases expire, as after the minute that they have.
    pub(crate) fn expire_leases(&self) {
        let directory = self.server.directory.to_str().expect("a path in UTF-8");
        let port = self.server.port.to_string();
        let text = "UPDATE isthmus.leases SET expires = now() - interval '1 hour'";
        let words = ["-q", "-h", directory, "-p", &port, "-U", "postgres", "-c", text];
        assert!(succeeds("psql", &words), "psql cannot expire leases");
    }

    /// The processes that are connected to a replica.
    pub(crate) fn connected(&self, number: usize) -> Vec<u32> {
        let replica = &self.all[number];
        let to = format!("{}:{}", replica.address, replica.port);
        let listed = Command::new("ss").args(["-tnpH", "state", "established", "dst", &to]).output();
        let listed = String::from_utf8_lossy(&listed.expect("ss is installed").stdout).into_owned();
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
        listed.split("pid=").skip(1).filter_map(|text| digits(text).parse().ok()).collect()
    }
}
