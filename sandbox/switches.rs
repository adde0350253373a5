//! The switches: environment variables that make the sandbox misbehave, or imitate providers of another age.
//!
//! They are read once, before anything else, into types that cannot hold nonsense; an unknown value ends the process
//! with a text, because a test that believes it asked for a fault and did not would prove nothing. `README.md` has the
//! table for readers; [`NAMES`] is the same list for the check that no switch is misspelt.

use std::path::PathBuf;
use std::time::Duration;

use crate::generated::Size;
use crate::protocol::{Minor, Protocol};

/// Every switch's name. A variable that starts with `SANDBOX_` and is not here is refused.
pub(crate) const NAMES: [&str; 21] = [
    "SANDBOX_ANSWER",
    "SANDBOX_CALLS",
    "SANDBOX_CONFIGURE",
    "SANDBOX_DEFER",
    "SANDBOX_DIR",
    "SANDBOX_FILE",
    "SANDBOX_HANDSHAKE",
    "SANDBOX_HEALTH",
    "SANDBOX_IDS",
    "SANDBOX_IMPORT",
    "SANDBOX_LEGACY",
    "SANDBOX_META",
    "SANDBOX_MINOR",
    "SANDBOX_ODD",
    "SANDBOX_PROTOCOL",
    "SANDBOX_REQUESTS",
    "SANDBOX_RESOURCES",
    "SANDBOX_SCHEMA",
    "SANDBOX_SHUTDOWN",
    "SANDBOX_START_DELAY",
    "SANDBOX_STOP",
];

/// All switches; [`Default`] is good behaviour.
#[derive(Clone, Debug, Default)]
pub struct Switches {
    /// `SANDBOX_PROTOCOL=5|6`: serve this protocol, whatever the client offers.
    pub protocol: Option<Protocol>,
    /// `SANDBOX_MINOR=5.0|…|6.10|newest|future`: the age of the protocol to imitate.
    pub minor: Minor,
    /// `SANDBOX_ANSWER=msgpack|json`: how values are answered.
    pub answer: Encoding,
    /// `SANDBOX_HANDSHAKE=…`: how the handshake goes wrong.
    pub handshake: Handshake,
    /// `SANDBOX_START_DELAY=1500`: milliseconds to wait before the handshake.
    pub start_delay: Duration,
    /// `SANDBOX_HEALTH=serving|not-serving|missing`: what the health service says.
    pub health: Health,
    /// `SANDBOX_SHUTDOWN=clean|refuse|hang`: what a request to shut down does.
    pub shutdown: Shutdown,
    /// `SANDBOX_STOP=obey|refuse|hang`: what a request to stop does.
    pub stop: Stop,
    /// `SANDBOX_CONFIGURE=accept|refuse|warn|crash|hang|quote|judge`: what configuring does.
    pub configure: Configure,
    /// `SANDBOX_DEFER=read+import:absent`: which operations are put off, and why.
    pub defer: Option<Defer>,
    /// `SANDBOX_RESOURCES=1500x200`: so many generated resources, with so many attributes each, besides the usual ones.
    pub generated: Option<Size>,
    /// `SANDBOX_IMPORT=one|none|several|foreign`: what an import comes to.
    pub import: ImportAnswer,
    /// `SANDBOX_SCHEMA=good|warn|refuse|incomplete|changed`: what is answered to the question for the schema.
    pub schema: SchemaAnswer,
    /// `SANDBOX_LEGACY=true`: answer as providers built on the old SDK do, with its flag and its loose nulls.
    pub legacy: bool,
    /// `SANDBOX_META=true`: want to be told of the module that uses it.
    pub meta: bool,
    /// `SANDBOX_ODD=true`: have resources with odd ids and numbers, and things whose schemas are faulty; `usable`: without the
    /// latter.
    pub odd: bool,
    /// Whether there are things whose schemas are faulty.
    pub broken: bool,
    /// `SANDBOX_CALLS=file`: append one JSON line for every call.
    pub calls: Option<PathBuf>,
    /// `SANDBOX_REQUESTS=file`: append every request of the provider's service, whole.
    pub requests: Option<PathBuf>,
    /// `SANDBOX_IDS=random|derived|titles`: what ids and secrets are made from.
    pub ids: Ids,
    /// `SANDBOX_DIR=folder`: where objects are kept when the provider's configuration does not say.
    pub directory: Option<PathBuf>,
}

/// What ids and secrets are made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ids {
    /// The system's random numbers.
    #[default]
    Random,
    /// The configuration of the object, so that two clients that ask the same are answered the same.
    Derived,
    /// The title of a note, as with every provider whose users choose the ids. Creating overwrites.
    Titles,
}

/// How values are put into a `DynamicValue`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// What every real provider does.
    #[default]
    MessagePack,
    /// What the protocol allows as well. Unknown values cannot be written so; those answers stay MessagePack.
    Json,
}

/// How the handshake goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Handshake {
    /// As it should.
    #[default]
    Good,
    /// A line that is not a handshake.
    Garbage,
    /// Fewer than four fields.
    Short,
    /// Core protocol version 2.
    CoreVersion,
    /// Application protocol version 4, that of providers before Terraform 0.12.
    ApplicationVersion,
    /// A TCP address that is not on this machine (from the range reserved for documentation).
    ForeignAddress,
    /// `netrpc` instead of `grpc`.
    NetRpc,
    /// TLS is spoken, but the line has no certificate.
    NoCertificate,
    /// The line has a certificate other than the one that is spoken with.
    WrongCertificate,
    /// A certificate field that is not base64.
    GarbageCertificate,
    /// A valid line, split over several writes.
    Trickle,
    /// Log text on stdout before the line.
    Noise,
    /// No end of line, ever: a mebibyte of text.
    Endless,
    /// No line, and the process stays.
    Silent,
    /// The process ends with status 3 and a text on stderr instead of a line.
    ExitBefore,
    /// The process ends with status 0 right after the line.
    ExitAfter,
    /// The line names a socket on which nobody listens.
    DeadSocket,
}

/// What the health service says of `plugin`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// SERVING
    #[default]
    Serving,
    /// NOT_SERVING
    NotServing,
    /// The service knows no such name.
    Missing,
}

/// What `GRPCController.Shutdown` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shutdown {
    /// Exit 0 at once, the socket removed.
    #[default]
    Clean,
    /// Answer with an error and stay.
    Refuse,
    /// Never answer, and stay.
    Hang,
}

/// What a request to stop does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// Cancels what is under way.
    #[default]
    Obey,
    /// Answers with an error, and everything goes on.
    Refuse,
    /// Never answers, and everything goes on.
    Hang,
}

/// What the question for the schema is answered with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaAnswer {
    /// The schema.
    #[default]
    Good,
    /// The schema and a warning.
    Warn,
    /// An error diagnostic.
    Refuse,
    /// Everything but the schema of the provider's own configuration, which every provider must have.
    Incomplete,
    /// Another schema: one without the resource `sandbox_secret`, as of another version of the provider.
    Changed,
}

/// What an import comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImportAnswer {
    /// The object.
    #[default]
    One,
    /// Nothing, and no error.
    None,
    /// The object twice.
    Several,
    /// The object, said to be of another type.
    Foreign,
}

/// What is put off, whether or not the client allows that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defer {
    operations: Vec<Deferrable>,
    /// A number of the wire's enumeration of reasons.
    pub reason: i32,
}

/// An operation that a provider may put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferrable {
    /// Planning what exists afterwards.
    Plan,
    /// Planning the end of an object.
    Destroy,
    /// Reading an object.
    Read,
    /// Importing one.
    Import,
    /// Reading a data source.
    Data,
}

impl Defer {
    /// Whether this operation is put off.
    pub fn includes(&self, operation: Deferrable) -> bool {
        self.operations.contains(&operation)
    }

    fn parse(text: &str) -> Option<Self> {
        let (operations, reason) = text.split_once(':')?;
        let operation =
            |name| DEFERRABLES.iter().find(|(known, _)| *known == name).map(|(_, operation)| *operation);
        let operations = operations.split('+').map(operation).collect::<Option<_>>()?;
        let reason = REASONS.iter().find(|(known, _)| *known == reason)?.1;
        Some(Self { operations, reason })
    }
}

/// What configuring the provider does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Configure {
    /// Accepts.
    #[default]
    Accept,
    /// Answers with an error diagnostic.
    Refuse,
    /// Accepts with a warning.
    Warn,
    /// Ends the process as a panicking Go program does.
    Crash,
    /// Never answers.
    Hang,
    /// Answers with an error that quotes the token.
    Quote,
    /// The same when the configuration is only judged.
    Judge,
}

/// A switch that cannot be understood; the user's fault.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SwitchError {
    /// There is no switch of this name.
    #[error("{name} is not a switch of the sandbox; the switches are {}", NAMES.join(", "))]
    UnknownName {
        /// The variable's name.
        name: String,
    },
    /// The switch has no such value.
    #[error("{name} is {value:?}, but it must be {expected}")]
    BadValue {
        /// The variable's name.
        name: &'static str,
        /// What was given.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// The file with more switches cannot be read.
    #[error("SANDBOX_FILE names {path}, which cannot be read")]
    File {
        /// The file.
        path: String,
        /// Why not.
        source: FileError,
    },
    /// Two switches contradict each other.
    #[error(
        "SANDBOX_MINOR asks for protocol {minor}, but SANDBOX_PROTOCOL for {protocol}: set one of them, or let them agree"
    )]
    Conflict {
        /// The major that SANDBOX_MINOR asks for.
        minor: Protocol,
        /// The major that SANDBOX_PROTOCOL asks for.
        protocol: Protocol,
    },
}

/// Why a file of switches cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FileError {
    /// The system does not let us.
    #[error("{0}")]
    Read(String),
    /// A line is no switch.
    #[error("{0:?} is not of the form NAME=value")]
    Line(String),
}

impl Switches {
    /// Reads the switches out of variables, and out of the file that one of them may name.
    ///
    /// # Errors
    /// When a name or a value is not known, when two switches contradict each other, or when the file cannot be read.
    pub fn read(variables: impl Iterator<Item = (String, String)>) -> Result<Self, SwitchError> {
        let mut variables: Vec<(String, String)> = variables.collect();
        let file = variables.iter().find(|(name, _)| name == "SANDBOX_FILE").map(|(_, path)| path.clone());
        if let Some(path) = file {
            let more = more_switches(&path).map_err(|source| SwitchError::File { path, source })?;
            variables.extend(more);
        }
        Self::parse(variables.into_iter())
    }

    /// Reads the switches out of variables (`std::env::vars()`); others than `SANDBOX_*` are passed over.
    ///
    /// # Errors
    /// When a name or a value is not known, or when two switches contradict each other.
    pub fn parse(variables: impl Iterator<Item = (String, String)>) -> Result<Self, SwitchError> {
        let mut switches = Self::default();
        let mut protocol_of_minor = None;
        for (name, value) in variables.filter(|(name, _)| name.starts_with("SANDBOX_")) {
            match name.as_str() {
                "SANDBOX_PROTOCOL" => {
                    let protocol = Protocol::from_major(&value);
                    switches.protocol =
                        Some(protocol.ok_or_else(|| bad("SANDBOX_PROTOCOL", &value, "5 or 6"))?);
                }
                "SANDBOX_MINOR" => {
                    let expected = "a version such as 5.3 or 6.10, newest, or future";
                    let (protocol, minor) =
                        Minor::parse(&value).ok_or_else(|| bad("SANDBOX_MINOR", &value, expected))?;
                    protocol_of_minor = protocol;
                    switches.minor = minor;
                }
                "SANDBOX_ANSWER" => switches.answer = choice("SANDBOX_ANSWER", &value, ANSWERS)?,
                "SANDBOX_HANDSHAKE" => switches.handshake = choice("SANDBOX_HANDSHAKE", &value, HANDSHAKES)?,
                "SANDBOX_HEALTH" => switches.health = choice("SANDBOX_HEALTH", &value, HEALTHS)?,
                "SANDBOX_SHUTDOWN" => switches.shutdown = choice("SANDBOX_SHUTDOWN", &value, SHUTDOWNS)?,
                "SANDBOX_STOP" => switches.stop = choice("SANDBOX_STOP", &value, STOPS)?,
                "SANDBOX_CONFIGURE" => switches.configure = choice("SANDBOX_CONFIGURE", &value, CONFIGURES)?,
                "SANDBOX_DEFER" => {
                    let expected = "one or more of plan, destroy, read, import and data, joined by +, then a colon, then \
                                    resource-config, provider-config, absent, none or future";
                    let defer = Defer::parse(&value).ok_or_else(|| bad("SANDBOX_DEFER", &value, expected))?;
                    switches.defer = Some(defer);
                }
                "SANDBOX_RESOURCES" => {
                    let expected =
                        "two numbers such as 1500x200, of resources and of attributes (70 or more) of each";
                    let size =
                        Size::parse(&value).ok_or_else(|| bad("SANDBOX_RESOURCES", &value, expected))?;
                    switches.generated = Some(size);
                }
                "SANDBOX_IMPORT" => switches.import = choice("SANDBOX_IMPORT", &value, IMPORTS)?,
                "SANDBOX_SCHEMA" => switches.schema = choice("SANDBOX_SCHEMA", &value, SCHEMAS)?,
                "SANDBOX_LEGACY" => switches.legacy = choice("SANDBOX_LEGACY", &value, BOOLEANS)?,
                "SANDBOX_META" => switches.meta = choice("SANDBOX_META", &value, BOOLEANS)?,
                "SANDBOX_ODD" => (switches.odd, switches.broken) = choice("SANDBOX_ODD", &value, ODDITIES)?,
                "SANDBOX_START_DELAY" => {
                    let expected = "a number of milliseconds";
                    let milliseconds =
                        value.parse().map_err(|_| bad("SANDBOX_START_DELAY", &value, expected))?;
                    switches.start_delay = Duration::from_millis(milliseconds);
                }
                "SANDBOX_CALLS" => switches.calls = Some(PathBuf::from(value)),
                "SANDBOX_REQUESTS" => switches.requests = Some(PathBuf::from(value)),
                "SANDBOX_IDS" => switches.ids = choice("SANDBOX_IDS", &value, IDS)?,
                // Read by then.
                "SANDBOX_FILE" => {}
                "SANDBOX_DIR" => switches.directory = Some(PathBuf::from(value)),
                _ => return Err(SwitchError::UnknownName { name }),
            }
        }
        match (protocol_of_minor, switches.protocol) {
            (Some(minor), Some(protocol)) if minor != protocol => {
                Err(SwitchError::Conflict { minor, protocol })
            }
            (Some(minor), None) => Ok(Self { protocol: Some(minor), ..switches }),
            _ => Ok(switches),
        }
    }
}

/// One `NAME=value` a line. A file that is not there holds none.
fn more_switches(path: &str) -> Result<Vec<(String, String)>, FileError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FileError::Read(error.to_string())),
    };
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| match line.split_once('=') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => Err(FileError::Line(line.to_owned())),
        })
        .collect()
}

type Choices<T> = (&'static [(&'static str, T)], &'static str);

const ANSWERS: Choices<Encoding> =
    (&[("msgpack", Encoding::MessagePack), ("json", Encoding::Json)], "msgpack or json");
const IDS: Choices<Ids> = (
    &[("random", Ids::Random), ("derived", Ids::Derived), ("titles", Ids::Titles)],
    "random, derived or titles",
);
const HEALTHS: Choices<Health> = (
    &[("serving", Health::Serving), ("not-serving", Health::NotServing), ("missing", Health::Missing)],
    "serving, not-serving or missing",
);
const SHUTDOWNS: Choices<Shutdown> = (
    &[("clean", Shutdown::Clean), ("refuse", Shutdown::Refuse), ("hang", Shutdown::Hang)],
    "clean, refuse or hang",
);
const STOPS: Choices<Stop> =
    (&[("obey", Stop::Obey), ("refuse", Stop::Refuse), ("hang", Stop::Hang)], "obey, refuse or hang");
const CONFIGURES: Choices<Configure> = (
    &[
        ("accept", Configure::Accept),
        ("refuse", Configure::Refuse),
        ("warn", Configure::Warn),
        ("crash", Configure::Crash),
        ("hang", Configure::Hang),
        ("quote", Configure::Quote),
        ("judge", Configure::Judge),
    ],
    "accept, refuse, warn, crash, hang, quote or judge",
);
const IMPORTS: Choices<ImportAnswer> = (
    &[
        ("one", ImportAnswer::One),
        ("none", ImportAnswer::None),
        ("several", ImportAnswer::Several),
        ("foreign", ImportAnswer::Foreign),
    ],
    "one, none, several or foreign",
);
const SCHEMAS: Choices<SchemaAnswer> = (
    &[
        ("good", SchemaAnswer::Good),
        ("warn", SchemaAnswer::Warn),
        ("refuse", SchemaAnswer::Refuse),
        ("incomplete", SchemaAnswer::Incomplete),
        ("changed", SchemaAnswer::Changed),
    ],
    "good, warn, refuse, incomplete or changed",
);
const DEFERRABLES: &[(&str, Deferrable)] = &[
    ("plan", Deferrable::Plan),
    ("destroy", Deferrable::Destroy),
    ("read", Deferrable::Read),
    ("import", Deferrable::Import),
    ("data", Deferrable::Data),
];
/// By their numbers on the wire; no protocol has the last.
const REASONS: &[(&str, i32)] =
    &[("none", 0), ("resource-config", 1), ("provider-config", 2), ("absent", 3), ("future", 99)];
const ODDITIES: Choices<(bool, bool)> = (
    &[("true", (true, true)), ("usable", (true, false)), ("false", (false, false))],
    "true, usable or false",
);
const BOOLEANS: Choices<bool> = (&[("true", true), ("false", false)], "true or false");
const HANDSHAKES: Choices<Handshake> = (
    &[
        ("good", Handshake::Good),
        ("garbage", Handshake::Garbage),
        ("short", Handshake::Short),
        ("core-version", Handshake::CoreVersion),
        ("application-version", Handshake::ApplicationVersion),
        ("foreign-address", Handshake::ForeignAddress),
        ("netrpc", Handshake::NetRpc),
        ("no-certificate", Handshake::NoCertificate),
        ("wrong-certificate", Handshake::WrongCertificate),
        ("garbage-certificate", Handshake::GarbageCertificate),
        ("trickle", Handshake::Trickle),
        ("noise", Handshake::Noise),
        ("endless", Handshake::Endless),
        ("silent", Handshake::Silent),
        ("exit-before", Handshake::ExitBefore),
        ("exit-after", Handshake::ExitAfter),
        ("dead-socket", Handshake::DeadSocket),
    ],
    "one of the handshakes in the table of README.md",
);

fn choice<T: Copy>(name: &'static str, value: &str, choices: Choices<T>) -> Result<T, SwitchError> {
    let (values, expected) = choices;
    let found = values.iter().find(|(text, _)| *text == value);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| bad(name, value, expected))
}

fn bad(name: &'static str, value: &str, expected: &'static str) -> SwitchError {
    SwitchError::BadValue { name, value: value.to_owned(), expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(variables: &[(&str, &str)]) -> Result<Switches, SwitchError> {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Switches::parse(owned)
    }

    #[test]
    fn what_is_put_off_is_told_with_the_reason() {
        let defer = parse(&[("SANDBOX_DEFER", "read+import:absent")]).expect("it is understood").defer;
        let defer = defer.expect("it is set");
        assert!(defer.includes(Deferrable::Read) && defer.includes(Deferrable::Import));
        assert!(!defer.includes(Deferrable::Plan));
        assert_eq!(defer.reason, 3);
        for nonsense in ["read", "read:", ":absent", "reed:absent", "read,import:absent"] {
            assert!(parse(&[("SANDBOX_DEFER", nonsense)]).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn without_switches_the_sandbox_behaves() {
        let switches = parse(&[("PATH", "/bin")]).expect("no switch is set");
        assert_eq!(switches.protocol, None);
        assert_eq!(switches.answer, Encoding::MessagePack);
        assert_eq!(switches.handshake, Handshake::Good);
    }

    #[test]
    fn a_minor_version_fixes_the_major() {
        let switches = parse(&[("SANDBOX_MINOR", "5.3")]).expect("a version");
        assert_eq!(switches.protocol, Some(Protocol::V5));
        assert_eq!(switches.minor, Minor::Numbered(3));
    }

    #[test]
    fn a_minor_version_of_the_other_protocol_is_refused() {
        let error = parse(&[("SANDBOX_MINOR", "6.3"), ("SANDBOX_PROTOCOL", "5")]).expect_err("a conflict");
        assert_eq!(error, SwitchError::Conflict { minor: Protocol::V6, protocol: Protocol::V5 });
    }

    #[test]
    fn a_misspelt_switch_or_value_is_refused() {
        let name = parse(&[("SANDBOX_ANSWERS", "json")]).expect_err("no such switch");
        assert!(name.to_string().contains("SANDBOX_ANSWERS is not a switch"), "{name}");
        let value = parse(&[("SANDBOX_ANSWER", "JSON")]).expect_err("no such value");
        assert_eq!(value.to_string(), "SANDBOX_ANSWER is \"JSON\", but it must be msgpack or json");
    }

    #[test]
    fn a_file_holds_more_switches_and_may_be_missing() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("switches");
        let read = || Switches::read([("SANDBOX_FILE".to_owned(), path.display().to_string())].into_iter());
        assert_eq!(read().expect("no file, no switches").schema, SchemaAnswer::Good);
        std::fs::write(&path, "SANDBOX_SCHEMA=warn\n\nSANDBOX_LEGACY=true\n").expect("a file");
        let switches = read().expect("two switches");
        assert_eq!((switches.schema, switches.legacy), (SchemaAnswer::Warn, true));
        std::fs::write(&path, "SANDBOX_LEGACY true").expect("a file");
        let error = read().expect_err("no switch");
        assert!(matches!(error, SwitchError::File { source: FileError::Line(_), .. }), "{error}");
    }

    #[test]
    fn the_page_for_readers_names_every_switch_and_every_handshake() {
        let page = include_str!("README.md");
        let handshakes = HANDSHAKES.0.iter().map(|(text, _)| *text);
        for name in NAMES.into_iter().chain(handshakes) {
            assert!(page.contains(&format!("`{name}")), "README.md says nothing of {name}");
        }
    }
}
