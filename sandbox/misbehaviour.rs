//! The switches of tests: environment variables that make the sandbox misbehave, or imitate providers of another age.
//!
//! They are read once, before anything else, into types that cannot hold nonsense. `README.md` has the table for readers;
//! [`NAMES`] is the same list for the check that no switch is misspelt. Builds without the feature `misbehaviour` have none
//! of this.

pub(crate) mod fixtures;
pub(crate) mod generated;
pub(crate) mod handshake;
pub(crate) mod imitation;
pub(crate) mod requests;

use std::path::PathBuf;
use std::time::Duration;

use generated::Size;

use crate::protocol::{Deferrable, Minor, Protocol};
use crate::switch_error::{FileError, SwitchError, bad};

/// Every switch's name.
pub(crate) const NAMES: [&str; 19] = [
    "SANDBOX_ANSWER",
    "SANDBOX_CALLS",
    "SANDBOX_CONFIGURE",
    "SANDBOX_DEFER",
    "SANDBOX_FILE",
    "SANDBOX_HANDSHAKE",
    "SANDBOX_HEALTH",
    "SANDBOX_IDS",
    "SANDBOX_IMPORT",
    "SANDBOX_LEGACY",
    "SANDBOX_META",
    "SANDBOX_MINOR",
    "SANDBOX_ODD",
    "SANDBOX_REQUESTS",
    "SANDBOX_RESOURCES",
    "SANDBOX_SCHEMA",
    "SANDBOX_SHUTDOWN",
    "SANDBOX_START_DELAY",
    "SANDBOX_STOP",
];

/// The switches of tests; [`Default`] is good behaviour.
#[derive(Clone, Debug, Default)]
pub struct Misbehaviour {
    /// The protocol of the minor version that is imitated.
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
    /// `SANDBOX_SCHEMA=good|warn|refuse|incomplete|changed|newer`: what is answered to the question for the schema.
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
    /// The line names a socket without a listener.
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
    /// Another schema: `sandbox_secret` is at its next version, in which `length` is called `size`.
    Newer,
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
    reason: i32,
}

impl Defer {
    /// The reason, if this operation is put off.
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

impl Misbehaviour {
    /// Takes a switch; whether there is one of this name.
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
            "SANDBOX_HEALTH" => self.health = choice("SANDBOX_HEALTH", value, HEALTHS)?,
            "SANDBOX_SHUTDOWN" => self.shutdown = choice("SANDBOX_SHUTDOWN", value, SHUTDOWNS)?,
            "SANDBOX_STOP" => self.stop = choice("SANDBOX_STOP", value, STOPS)?,
            "SANDBOX_CONFIGURE" => self.configure = choice("SANDBOX_CONFIGURE", value, CONFIGURES)?,
            "SANDBOX_DEFER" => {
                let expected = "one or more of plan, destroy, read, import and data, joined by +, then a colon, then \
                                    resource-config, provider-config, absent, none or future";
                let defer = Defer::parse(value).ok_or_else(|| bad("SANDBOX_DEFER", value, expected))?;
                self.defer = Some(defer);
            }
            "SANDBOX_RESOURCES" => {
                let expected =
                    "two numbers such as 1500x200, of resources and of attributes (70 or more) of each";
                let size = Size::parse(value).ok_or_else(|| bad("SANDBOX_RESOURCES", value, expected))?;
                self.generated = Some(size);
            }
            "SANDBOX_IMPORT" => self.import = choice("SANDBOX_IMPORT", value, IMPORTS)?,
            "SANDBOX_SCHEMA" => self.schema = choice("SANDBOX_SCHEMA", value, SCHEMAS)?,
            "SANDBOX_LEGACY" => self.legacy = choice("SANDBOX_LEGACY", value, BOOLEANS)?,
            "SANDBOX_META" => self.meta = choice("SANDBOX_META", value, BOOLEANS)?,
            "SANDBOX_ODD" => (self.odd, self.broken) = choice("SANDBOX_ODD", value, ODDITIES)?,
            "SANDBOX_START_DELAY" => {
                let expected = "a number of milliseconds";
                let milliseconds = value.parse().map_err(|_| bad("SANDBOX_START_DELAY", value, expected))?;
                self.start_delay = Duration::from_millis(milliseconds);
            }
            "SANDBOX_CALLS" => self.calls = Some(PathBuf::from(value)),
            "SANDBOX_REQUESTS" => self.requests = Some(PathBuf::from(value)),
            "SANDBOX_IDS" => self.ids = choice("SANDBOX_IDS", value, IDS)?,
            // Read by then.
            "SANDBOX_FILE" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The switches in the file that `SANDBOX_FILE` names, one `NAME=value` a line. A file that is not there holds none.
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
/// By their numbers on the wire; no protocol has the last.
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
