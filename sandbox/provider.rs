//! The provider itself, free of any protocol's version.
//!
//! It does what plugin frameworks do around a resource's handlers: finds the resource, plans by the rules, brings
//! stored state up to date, attaches identities, and records the call. `edge.rs` turns either protocol's messages into
//! calls of this and back.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use isthmus_cty::{Type, Value};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::broadcast;
use crate::call::Call;
use crate::calls::{CallRecord, Calls};
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::functions::{self, Function};
use crate::log::{self, Level};
use crate::object::{Object, at};
use crate::protocol::{Feature, Minor, Protocol};
use crate::resource_entry::ResourceEntry;
use crate::resources::{self, Change, NoteList, NoteLookup, Outcome};
use crate::schema::{Attribute, Block, NestedBlock, Nesting, Schema};
use crate::stdio::Stdio;
use crate::switches::{Configure, Deferrable, Switches};
use crate::token::{self, Tokens};

/// A provider process's mind: what it serves, and how it is configured.
#[derive(Debug)]
pub struct Provider {
    protocol: Protocol,
    switches: Switches,
    schema: Schema,
    resources: BTreeMap<&'static str, ResourceEntry>,
    lookup: DataSource,
    functions: Vec<Function>,
    configuration: OnceLock<Configuration>,
    stop: Mutex<CancellationToken>,
    stdio: Arc<Stdio>,
    calls: Option<Calls>,
    token: DataSource,
    tokens: Tokens,
    search: DataSource,
    meta: Option<DataSource>,
    broadcast: DataSource,
}

/// A data source, or something else that has a schema and no states.
#[derive(Debug)]
pub(crate) struct DataSource {
    /// Its schema.
    pub schema: Schema,
    /// The type of its values.
    pub kind: Type,
}

/// What a client can do, of which the sandbox wants to know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Client {
    /// It takes a deferral for an answer.
    pub deferral: bool,
    /// It never stores values of write-only attributes.
    pub write_only: bool,
    /// It knows blocks that only the provider fills.
    pub computed_blocks: bool,
}

#[derive(Clone, Debug, Default)]
struct Configuration {
    folder: Option<PathBuf>,
    unknown: bool,
}

impl Provider {
    /// A provider for clients of this protocol.
    ///
    /// # Errors
    /// When the record of calls cannot be opened.
    pub fn new(protocol: Protocol, switches: Switches) -> std::io::Result<Self> {
        let entries = resources::all(switches.odd).into_iter().map(|resource| {
            let schema = resource.schema(protocol, switches.minor);
            let kind = schema.block.implied_type();
            (resource.type_name(), ResourceEntry { resource, schema, kind })
        });
        Ok(Self {
            protocol,
            schema: schema(),
            resources: entries.collect(),
            lookup: DataSource::new(NoteLookup::schema()),
            token: DataSource::new(token::schema()),
            tokens: Tokens::default(),
            search: DataSource::new(NoteList::schema()),
            meta: switches.meta.then(|| DataSource::new(meta_schema())),
            broadcast: DataSource::new(broadcast::schema()),
            functions: if switches.minor.has(Feature::Functions) {
                functions::all(switches.odd)
            } else {
                Vec::new()
            },
            configuration: OnceLock::new(),
            stop: Mutex::new(CancellationToken::new()),
            stdio: Arc::default(),
            calls: switches.calls.as_deref().map(Calls::open).transpose()?,
            switches,
        })
    }

    /// The protocol that it is for.
    pub(crate) const fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// How it misbehaves.
    pub(crate) const fn switches(&self) -> &Switches {
        &self.switches
    }

    /// The age that it imitates.
    pub(crate) const fn minor(&self) -> Minor {
        self.switches.minor
    }

    /// The schema of its configuration.
    pub(crate) const fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Its resources by name.
    pub(crate) fn resources(&self) -> impl Iterator<Item = (&'static str, &ResourceEntry)> {
        self.resources.iter().map(|(name, entry)| (*name, entry))
    }

    /// A resource by its name.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn resource(&self, type_name: &str) -> Result<&ResourceEntry, Diagnostic> {
        self.resources.get(type_name).ok_or_else(|| {
            let detail = format!("The sandbox has no resource {type_name:?}.");
            Diagnostic::error("Resource Type Not Found", detail)
        })
    }

    /// A data source by its name.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn data_source(&self, type_name: &str) -> Result<&DataSource, Diagnostic> {
        if type_name == NoteLookup::TYPE_NAME {
            return Ok(&self.lookup);
        }
        let detail = format!("The sandbox has no data source {type_name:?}.");
        Err(Diagnostic::error("Data Source Type Not Found", detail))
    }

    /// Its ephemeral resource, [`token::TYPE_NAME`].
    pub(crate) const fn token(&self) -> &DataSource {
        &self.token
    }

    /// The tokens that are open.
    pub(crate) const fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// What a search for notes looks like.
    pub(crate) const fn search(&self) -> &DataSource {
        &self.search
    }

    /// What it wants to be told of the module that uses it, if it wants anything.
    pub(crate) const fn meta(&self) -> Option<&DataSource> {
        self.meta.as_ref()
    }

    /// Its action, [`broadcast::TYPE_NAME`].
    pub(crate) const fn broadcast(&self) -> &DataSource {
        &self.broadcast
    }

    /// Its functions.
    pub(crate) fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// What it prints beside its log.
    pub(crate) const fn stdio(&self) -> &Arc<Stdio> {
        &self.stdio
    }

    /// Appends to the record of calls, if there is one.
    pub(crate) fn record(&self, record: &CallRecord) {
        if let Some(calls) = &self.calls
            && let Err(error) = calls.append(record)
        {
            log::write(Level::Error, "a call could not be recorded", &[("reason", &error.to_string())]);
        }
    }

    /// Ends the calls that are under way, as far as they can be ended; calls from now on are not touched.
    pub(crate) fn stop(&self) {
        let mut stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *stop).cancel();
    }

    /// A token that is cancelled when the provider is asked to stop.
    pub(crate) fn stopping(&self) -> CancellationToken {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).child_token()
    }

    /// Judges the provider's configuration.
    pub(crate) fn validate_configuration(&self, config: &Value) -> Diagnostics {
        if self.switches.configure == Configure::Judge {
            return token_refused(config).at(at("token")).into();
        }
        let object = Object::from_value(config).unwrap_or_default();
        match object.text("directory") {
            Some("") => {
                let detail = "Name a directory, or leave the attribute out and set SANDBOX_DIR.";
                Diagnostic::error("The directory is empty", detail).at(at("directory")).into()
            }
            _ => Diagnostics::default(),
        }
    }

    /// Configures the provider, once in its life.
    pub(crate) fn configure(&self, config: &Value) -> Diagnostics {
        match self.switches.configure {
            // Who hangs never comes here.
            Configure::Accept | Configure::Warn | Configure::Hang | Configure::Judge => {}
            Configure::Quote => return token_refused(config).into(),
            Configure::Crash => resources::crash(),
            Configure::Refuse => {
                return Diagnostic::error("The sandbox refuses to be configured", "It was asked to.").into();
            }
        }
        let object = Object::from_value(config).unwrap_or_default();
        let unknown = matches!(object.value("directory"), Value::Unknown(_));
        let folder = object.text("directory").map(PathBuf::from).or_else(|| self.switches.directory.clone());
        if folder.is_none() && !unknown {
            let detail =
                "Set the attribute directory, or the environment variable SANDBOX_DIR, to a directory.";
            return Diagnostic::error("Nowhere to keep objects", detail).at(at("directory")).into();
        }
        let folder = folder.filter(|_| !unknown);
        if self.configuration.set(Configuration { folder, unknown }).is_err() {
            let detail = "A provider process is configured once; start another for another configuration.";
            return Diagnostic::error("The sandbox is configured already", detail).into();
        }
        match self.switches.configure {
            Configure::Warn => Diagnostic::warning("The sandbox is not sure", "It was asked to warn.").into(),
            Configure::Accept
            | Configure::Refuse
            | Configure::Crash
            | Configure::Hang
            | Configure::Quote
            | Configure::Judge => Diagnostics::default(),
        }
    }

    /// The surroundings of a call about a type.
    pub(crate) fn call(
        &self,
        type_name: &str,
        kind: &Type,
        cancelled: CancellationToken,
        runtime: Handle,
    ) -> Call {
        let folder = self.configuration.get().and_then(|configuration| configuration.folder.clone());
        Call::new(type_name, kind.clone(), folder, cancelled, runtime, Arc::clone(&self.stdio))
    }

    /// Looks up data. The call is one about the data source.
    pub(crate) fn read_data_source(&self, call: &Call, config: &Value) -> Outcome {
        let config = Object::from_value(config).unwrap_or_default();
        let notes = call.about(NoteLookup::TYPE_NAME, NoteLookup::notes());
        NoteLookup::read(&notes, &config).map_or_else(Outcome::from, Outcome::object)
    }

    /// The reason for which an operation is put off (a number of the wire's enumeration), if it is.
    pub(crate) fn deferral(&self, operation: Deferrable) -> Option<i32> {
        let defer = self.switches.defer.as_ref()?;
        defer.includes(operation).then_some(defer.reason)
    }

    /// Whether plans are to be put off because the configuration is not known yet.
    pub(crate) fn puts_off(&self, client: Client) -> bool {
        let unknown = self.configuration.get().is_some_and(|configuration| configuration.unknown);
        unknown && client.deferral && self.minor().has(Feature::Deferral)
    }
}

impl DataSource {
    fn new(schema: Schema) -> Self {
        Self { kind: schema.block.implied_type(), schema }
    }
}

/// An error that says more than it should.
fn token_refused(config: &Value) -> Diagnostic {
    let token = Object::from_value(config).unwrap_or_default();
    let token = token.text("token").unwrap_or_default();
    Diagnostic::error(format!("The token {token} is not accepted"), format!("{token:?} has expired."))
}

/// A line of the record about a change.
pub(crate) fn change_record(call: &str, type_name: &str, change: &Change) -> CallRecord {
    CallRecord {
        type_name: Some(type_name.to_owned()),
        prior_null: Some(matches!(change.prior, Value::Null)),
        planned_null: Some(matches!(change.planned, Value::Null)),
        config_known: Some(change.config.is_wholly_known()),
        private: Some(String::from_utf8_lossy(&change.private).into_owned()),
        ..CallRecord::of(call)
    }
}

fn meta_schema() -> Schema {
    let part = Block {
        description: "A part of the module.",
        attributes: vec![Attribute::required("name", Type::String)],
        blocks: Vec::new(),
    };
    let block = Block {
        description: "Who uses the sandbox.",
        attributes: vec![
            Attribute::optional("module", Type::String),
            Attribute::optional("uses", Type::Number),
        ],
        blocks: vec![NestedBlock::new("part", Nesting::List, part)],
    };
    Schema { version: 0, block }
}

fn schema() -> Schema {
    let attributes = vec![
        Attribute::optional("directory", Type::String)
            .described("The directory in which objects are kept; otherwise the one in SANDBOX_DIR."),
        Attribute::optional("token", Type::String)
            .sensitive()
            .described("Not used; here because providers have one."),
    ];
    let description = "A small provider whose objects are files.";
    Schema { version: 0, block: Block { description, attributes, blocks: Vec::new() } }
}
