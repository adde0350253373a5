//! Switches for tests: environment variables that make the sandbox misbehave, or imitate other
//! protocol minors.
//!
//! They are parsed once at the start. `README.md` documents them; [`NAMES`] lists them, so that a
//! misspelt switch is an error. Builds without the feature `misbehaviour` have none of them.

pub(crate) mod faults;
pub(crate) mod fixtures;
pub(crate) mod generated;
pub(crate) mod handshake;
pub(crate) mod identities;
pub(crate) mod imitation;
pub(crate) mod imports;
pub(crate) mod requests;

use std::path::PathBuf;
use std::time::Duration;

use faults::Fault;
use generated::Size;
use identities::InvalidIdentity;

use crate::protocol::{Deferrable, Minor, Protocol};
use crate::switch_error::{FileError, SwitchError, bad};

/// Names of all switches.
pub(crate) const NAMES: [&str; 24] = [
    "SANDBOX_ANSWER",
    "SANDBOX_CALLS",
    "SANDBOX_CONFIGURE",
    "SANDBOX_CONFIGURE_DELAY",
    "SANDBOX_DEFER",
    "SANDBOX_FAULT",
    "SANDBOX_FILE",
    "SANDBOX_GATE",
    "SANDBOX_GENERATE",
    "SANDBOX_HANDSHAKE",
    "SANDBOX_IDENTITY",
    "SANDBOX_IDS",
    "SANDBOX_IMPORT",
    "SANDBOX_LEGACY",
    "SANDBOX_META",
    "SANDBOX_MINOR",
    "SANDBOX_ODD",
    "SANDBOX_REQUESTS",
    "SANDBOX_RESOURCES",
    "SANDBOX_SCHEMA",
    "SANDBOX_SENSITIVE",
    "SANDBOX_SHUTDOWN",
    "SANDBOX_START_DELAY",
    "SANDBOX_STOP",
];

/// Values of the switches; [`Default`]: no misbehaviour.
#[derive(Clone, Debug, Default)]
pub(crate) struct Misbehaviour {
    /// The protocol of the imitated minor version.
    pub protocol: Option<Protocol>,
    /// `SANDBOX_MINOR=5.0|…|6.10|newest|future`: the protocol minor to imitate.
    pub minor: Minor,
    /// `SANDBOX_ANSWER=msgpack|json`: encoding of values in responses.
    pub answer: Encoding,
    /// `SANDBOX_HANDSHAKE=…`: a fault of the handshake.
    pub handshake: Handshake,
    /// `SANDBOX_START_DELAY=1500`: milliseconds before the handshake.
    pub start_delay: Duration,
    /// `SANDBOX_SHUTDOWN=clean|refuse|hang`: effect of `Shutdown`.
    pub shutdown: Shutdown,
    /// `SANDBOX_STOP=obey|refuse|hang`: effect of `StopProvider`.
    pub stop: Stop,
    /// `SANDBOX_CONFIGURE=accept|refuse|warn|crash|quote|judge`: effect of
    /// `ConfigureProvider`.
    pub configure: Configure,
    /// `SANDBOX_CONFIGURE_DELAY=2000`: milliseconds that configuring takes, as of a slow login.
    pub configure_delay: Duration,
    /// `SANDBOX_DEFER=read+import:absent`: deferred operations and the reason.
    pub defer: Option<Defer>,
    /// `SANDBOX_FAULT=PlanResourceChange:crash`: what a call does instead of the right thing.
    pub fault: Option<Fault>,
    /// `SANDBOX_RESOURCES=1500x200`: number of generated resources, and of attributes of each.
    pub generated: Option<Size>,
    /// `SANDBOX_IDENTITY=ReadResource:unknown`: a method whose identities are invalid.
    pub identity: Option<InvalidIdentity>,
    /// `SANDBOX_IMPORT=one|none|several|foreign`: result of an import.
    pub import: ImportAnswer,
    /// `SANDBOX_GENERATE=none|config|refuse|null`: response of `GenerateResourceConfig`, and whether
    /// it is offered.
    pub generate: Generation,
    /// `SANDBOX_SENSITIVE=withheld`: a read returns of sensitive attributes only what the state has,
    /// as of an API that never returns passwords.
    pub withholds_sensitive: bool,
    /// `SANDBOX_SCHEMA=good|warn|refuse|incomplete|changed|newer`: response of `GetProviderSchema`.
    pub schema: SchemaAnswer,
    /// `SANDBOX_LEGACY=true`: respond like providers built on SDKv2, with `legacy_type_system` and
    /// its nulls.
    pub legacy: bool,
    /// `SANDBOX_META=true`: have a schema for `provider_meta`.
    pub meta: bool,
    /// `SANDBOX_ODD=true`: have resources with unusual ids and numbers, and types with faulty
    /// schemas; `usable`: without the latter.
    pub odd: bool,
    /// Whether there are types with faulty schemas.
    pub broken: bool,
    /// `SANDBOX_CALLS=file`: append a JSON line for every call.
    pub calls: Option<PathBuf>,
    /// `SANDBOX_GATE=file`: every change waits until this file exists.
    pub gate: Option<PathBuf>,
    /// `SANDBOX_REQUESTS=file`: append every request of the provider's service.
    pub requests: Option<PathBuf>,
    /// `SANDBOX_IDS=random|derived|titles`: source of ids and secrets.
    pub ids: Ids,
}

/// Source of ids and secrets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ids {
    /// The system's random numbers.
    #[default]
    Random,
    /// The object's configuration, so that two clients with the same requests get the same
    /// responses.
    Derived,
    /// The title of a note, as in providers whose users choose ids. Creating overwrites.
    Titles,
}

/// Encoding of values in a `DynamicValue`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// As real providers.
    #[default]
    MessagePack,
    /// Allowed by the protocol. Unknown values have no JSON; such responses stay MessagePack.
    Json,
}

/// Fault of the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Handshake {
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
    /// A TCP address on another machine (from the range reserved for documentation).
    ForeignAddress,
    /// `netrpc` instead of `grpc`.
    NetRpc,
    /// TLS, but no certificate in the line.
    NoCertificate,
    /// Another certificate in the line than that of the server.
    WrongCertificate,
    /// A certificate field that is not base64.
    GarbageCertificate,
    /// Log output on stdout before the line.
    Noise,
    /// No line feed: a mebibyte of text.
    Endless,
    /// No line; the process keeps running.
    Silent,
    /// The process exits with status 3 and a message on stderr instead of a line.
    ExitBefore,
    /// The process exits with status 0 right after the line.
    ExitAfter,
    /// A socket without a listener in the line.
    DeadSocket,
}

/// Effect of `GRPCController.Shutdown`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shutdown {
    /// Exit with status 0 after removing the socket.
    #[default]
    Clean,
    /// Return an error, and keep running.
    Refuse,
    /// Never respond, and keep running.
    Hang,
}

/// Effect of `StopProvider`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Cancel calls in progress.
    #[default]
    Obey,
    /// Return an error, and continue calls.
    Refuse,
    /// Never respond, and continue calls.
    Hang,
}

/// Response of `GetProviderSchema`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SchemaAnswer {
    #[default]
    Good,
    Warn,
    Refuse,
    /// Without the schema of the provider's configuration, which every provider must have.
    Incomplete,
    /// Without the resource `sandbox_secret`, as of another provider version.
    Changed,
    /// Another schema: `sandbox_secret` is at its next version, in which `length` is called `size`.
    Newer,
}

/// Result of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ImportAnswer {
    #[default]
    One,
    /// No object, and no error.
    None,
    /// The object twice.
    Several,
    /// The object with another type name.
    Foreign,
}

/// Response of `GenerateResourceConfig`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Generation {
    /// It is not offered.
    #[default]
    None,
    /// The configuration of the state, without defaults.
    Config,
    /// An error.
    Refuse,
    /// Null.
    Null,
}

/// Deferred operations, whether or not the client allows deferrals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Defer {
    operations: Vec<Deferrable>,
    /// Number of a `Deferred.Reason`.
    reason: i32,
}

impl Defer {
    /// The reason, if this operation is deferred.
    pub(crate) fn reason_for(&self, operation: Deferrable) -> Option<i32> {
        self.operations.contains(&operation).then_some(self.reason)
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

/// Effect of `ConfigureProvider`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Configure {
    #[default]
    Accept,
    Refuse,
    Warn,
    /// Crash like a panicking Go program.
    Crash,
    /// Return an error that quotes the token.
    Quote,
    /// Return it already from `ValidateProviderConfig`.
    Judge,
}

impl Misbehaviour {
    /// Sets a switch; `false` if the name is unknown.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<bool, SwitchError> {
        match name {
            "SANDBOX_MINOR" => {
                let expected = "a version such as 5.3 or 6.10, newest, or future";
                let (protocol, minor) =
                    Minor::parse(value).ok_or_else(|| bad("SANDBOX_MINOR", value, expected))?;
                self.protocol = protocol;
                self.minor = minor;
            }
            "SANDBOX_ANSWER" => self.answer = choice("SANDBOX_ANSWER", value, ANSWERS)?,
            "SANDBOX_HANDSHAKE" => self.handshake = choice("SANDBOX_HANDSHAKE", value, HANDSHAKES)?,
            "SANDBOX_SHUTDOWN" => self.shutdown = choice("SANDBOX_SHUTDOWN", value, SHUTDOWNS)?,
            "SANDBOX_STOP" => self.stop = choice("SANDBOX_STOP", value, STOPS)?,
            "SANDBOX_CONFIGURE" => self.configure = choice("SANDBOX_CONFIGURE", value, CONFIGURES)?,
            "SANDBOX_DEFER" => {
                let expected = "one or more of plan, destroy, read, import and data, joined by +, then a colon, then \
                                    resource-config, provider-config, absent, none or future";
                let defer = Defer::parse(value).ok_or_else(|| bad("SANDBOX_DEFER", value, expected))?;
                self.defer = Some(defer);
            }
            "SANDBOX_FAULT" => {
                let fault =
                    Fault::parse(value).ok_or_else(|| bad("SANDBOX_FAULT", value, Fault::EXPECTED))?;
                self.fault = Some(fault);
            }
            "SANDBOX_IDENTITY" => {
                let identity = InvalidIdentity::parse(value)
                    .ok_or_else(|| bad("SANDBOX_IDENTITY", value, InvalidIdentity::EXPECTED))?;
                self.identity = Some(identity);
            }
            "SANDBOX_RESOURCES" => {
                let expected =
                    "two numbers such as 1500x200, of resources and of attributes (70 or more) of each";
                let size = Size::parse(value).ok_or_else(|| bad("SANDBOX_RESOURCES", value, expected))?;
                self.generated = Some(size);
            }
            "SANDBOX_IMPORT" => self.import = choice("SANDBOX_IMPORT", value, IMPORTS)?,
            "SANDBOX_GENERATE" => self.generate = choice("SANDBOX_GENERATE", value, GENERATIONS)?,
            "SANDBOX_SENSITIVE" => {
                self.withholds_sensitive = choice("SANDBOX_SENSITIVE", value, SENSITIVES)?;
            }
            "SANDBOX_SCHEMA" => self.schema = choice("SANDBOX_SCHEMA", value, SCHEMAS)?,
            "SANDBOX_LEGACY" => self.legacy = choice("SANDBOX_LEGACY", value, BOOLEANS)?,
            "SANDBOX_META" => self.meta = choice("SANDBOX_META", value, BOOLEANS)?,
            "SANDBOX_ODD" => (self.odd, self.broken) = choice("SANDBOX_ODD", value, ODDITIES)?,
            "SANDBOX_START_DELAY" => self.start_delay = delay("SANDBOX_START_DELAY", value)?,
            "SANDBOX_CONFIGURE_DELAY" => self.configure_delay = delay("SANDBOX_CONFIGURE_DELAY", value)?,
            "SANDBOX_CALLS" => self.calls = Some(PathBuf::from(value)),
            "SANDBOX_GATE" => self.gate = Some(PathBuf::from(value)),
            "SANDBOX_REQUESTS" => self.requests = Some(PathBuf::from(value)),
            "SANDBOX_IDS" => self.ids = choice("SANDBOX_IDS", value, IDS)?,
            // Parsed before.
            "SANDBOX_FILE" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The switches in the file of `SANDBOX_FILE`, one `NAME=value` a line; none if it does not exist.
pub(crate) fn in_file(path: &str) -> Result<Vec<(String, String)>, FileError> {
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

fn delay(name: &'static str, value: &str) -> Result<Duration, SwitchError> {
    let milliseconds = value.parse().map_err(|_| bad(name, value, "a number of milliseconds"))?;
    Ok(Duration::from_millis(milliseconds))
}

const ANSWERS: Choices<Encoding> =
    (&[("msgpack", Encoding::MessagePack), ("json", Encoding::Json)], "msgpack or json");
const IDS: Choices<Ids> = (
    &[("random", Ids::Random), ("derived", Ids::Derived), ("titles", Ids::Titles)],
    "random, derived or titles",
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
        ("quote", Configure::Quote),
        ("judge", Configure::Judge),
    ],
    "accept, refuse, warn, crash, quote or judge",
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
const GENERATIONS: Choices<Generation> = (
    &[
        ("none", Generation::None),
        ("config", Generation::Config),
        ("refuse", Generation::Refuse),
        ("null", Generation::Null),
    ],
    "none, config, refuse or null",
);
const SENSITIVES: Choices<bool> = (&[("returned", false), ("withheld", true)], "returned or withheld");
const SCHEMAS: Choices<SchemaAnswer> = (
    &[
        ("good", SchemaAnswer::Good),
        ("warn", SchemaAnswer::Warn),
        ("refuse", SchemaAnswer::Refuse),
        ("incomplete", SchemaAnswer::Incomplete),
        ("changed", SchemaAnswer::Changed),
        ("newer", SchemaAnswer::Newer),
    ],
    "good, warn, refuse, incomplete, changed or newer",
);
const DEFERRABLES: &[(&str, Deferrable)] = &[
    ("plan", Deferrable::Plan),
    ("destroy", Deferrable::Destroy),
    ("read", Deferrable::Read),
    ("import", Deferrable::Import),
    ("data", Deferrable::Data),
];
/// By their numbers in the protocol; the last is none.
const REASONS: &[(&str, i32)] =
    &[("none", 0), ("resource-config", 1), ("provider-config", 2), ("absent", 3), ("future", 99)];
const ODDITIES: Choices<(bool, bool)> = (
    &[("true", (true, true)), ("usable", (true, false)), ("false", (false, false))],
    "true, usable or false",
);
const BOOLEANS: Choices<bool> = (&[("true", true), ("false", false)], "true or false");
pub(crate) const HANDSHAKES: Choices<Handshake> = (
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
