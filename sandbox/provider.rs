//! The provider, independent of the protocol version.
//!
//! It does what plugin frameworks do around a resource's handlers: finds the resource, plans,
//! upgrades state, adds identities, and records calls. `edge.rs` translates the messages.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use isthmus_cty::{Type, Value};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::call::Call;
use crate::calls::CallRecord;
use crate::diagnostics::{Diagnostic, Diagnostics};
#[cfg(feature = "misbehaviour")]
use crate::misbehaviour::{Configure, Misbehaviour, fixtures::Fixtures};
use crate::object::{Object, at};
use crate::protocol::{Client, Deferrable, Feature, Minor, Protocol};
use crate::resource::{Change, Outcome};
use crate::resource_entry::ResourceEntry;
use crate::resources;
use crate::resources::note::NoteLookup;
use crate::schema::{Attribute, Block, DataSource, Schema};
use crate::stdio::Stdio;
use crate::switches::Switches;

/// State of a provider process: what it serves, and its configuration.
#[derive(Debug)]
pub(crate) struct Provider {
    protocol: Protocol,
    switches: Switches,
    schema: Schema,
    resources: BTreeMap<&'static str, ResourceEntry>,
    lookup: DataSource,
    configuration: OnceLock<Configuration>,
    stop: Mutex<CancellationToken>,
    stdio: Arc<Stdio>,
    #[cfg(feature = "misbehaviour")]
    fixtures: Fixtures,
}

#[derive(Clone, Debug, Default)]
struct Configuration {
    directory: Option<PathBuf>,
    unknown: bool,
}

impl Provider {
    /// A provider for clients of this protocol.
    ///
    /// # Errors
    /// When the record of calls cannot be opened.
    pub(crate) fn new(protocol: Protocol, switches: Switches) -> std::io::Result<Self> {
        let all = resources::all().into_iter();
        #[cfg(feature = "misbehaviour")]
        let all =
            all.chain(resources::fixtures::all(switches.misbehaviour.odd, switches.misbehaviour.schema));
        let entries = all.map(|resource| {
            let schema = resource.schema(protocol, minor(&switches));
            let kind = schema.block.implied_type();
            (resource.type_name(), ResourceEntry { resource, schema, kind })
        });
        Ok(Self {
            protocol,
            schema: schema(),
            resources: entries.collect(),
            lookup: DataSource::new(NoteLookup::schema()),
            configuration: OnceLock::new(),
            stop: Mutex::new(CancellationToken::new()),
            stdio: Arc::default(),
            #[cfg(feature = "misbehaviour")]
            fixtures: Fixtures::new(&switches.misbehaviour)?,
            switches,
        })
    }

    /// Its protocol version.
    pub(crate) const fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Switches of tests.
    #[cfg(feature = "misbehaviour")]
    pub(crate) const fn misbehaviour(&self) -> &Misbehaviour {
        &self.switches.misbehaviour
    }

    /// Parts for tests only.
    #[cfg(feature = "misbehaviour")]
    pub(crate) const fn fixtures(&self) -> &Fixtures {
        &self.fixtures
    }

    /// The imitated minor.
    pub(crate) const fn minor(&self) -> Minor {
        minor(&self.switches)
    }

    /// Schema of the provider's configuration.
    pub(crate) const fn schema(&self) -> &Schema {
        &self.schema
    }

    pub(crate) fn resources(&self) -> impl Iterator<Item = (&'static str, &ResourceEntry)> {
        self.resources.iter().map(|(name, entry)| (*name, entry))
    }

    pub(crate) fn resource(&self, type_name: &str) -> Result<&ResourceEntry, Diagnostic> {
        self.resources.get(type_name).ok_or_else(|| {
            let detail = format!("The sandbox has no resource {type_name:?}.");
            Diagnostic::error("Resource Type Not Found", detail)
        })
    }

    pub(crate) fn data_source(&self, type_name: &str) -> Result<&DataSource, Diagnostic> {
        if type_name == NoteLookup::TYPE_NAME {
            return Ok(&self.lookup);
        }
        let detail = format!("The sandbox has no data source {type_name:?}.");
        Err(Diagnostic::error("Data Source Type Not Found", detail))
    }

    /// Schema of `provider_meta`, if any.
    pub(crate) const fn meta(&self) -> Option<&DataSource> {
        #[cfg(feature = "misbehaviour")]
        return self.fixtures.meta.as_ref();
        #[cfg(not(feature = "misbehaviour"))]
        None
    }

    /// Standard output and error after the handshake.
    pub(crate) const fn stdio(&self) -> &Arc<Stdio> {
        &self.stdio
    }

    /// Records a call, in tests.
    pub(crate) fn record(&self, record: &CallRecord) {
        #[cfg(feature = "misbehaviour")]
        self.fixtures.record(record);
        #[cfg(not(feature = "misbehaviour"))]
        let _ = record;
    }

    /// Cancels calls in progress.
    pub(crate) fn stop(&self) {
        let mut stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *stop).cancel();
    }

    /// Cancelled when the provider is stopped.
    pub(crate) fn stopping(&self) -> CancellationToken {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).child_token()
    }

    /// Validates the provider's configuration.
    pub(crate) fn validate_configuration(&self, config: &Value) -> Diagnostics {
        #[cfg(feature = "misbehaviour")]
        if self.switches.misbehaviour.configure == Configure::Judge {
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

    /// Configures the provider, once per process.
    pub(crate) fn configure(&self, config: &Value) -> Diagnostics {
        #[cfg(feature = "misbehaviour")]
        match self.switches.misbehaviour.configure {
            Configure::Accept | Configure::Warn | Configure::Judge => {}
            Configure::Quote => return token_refused(config).into(),
            Configure::Crash => resources::fixtures::faulty::crash(),
            Configure::Refuse => {
                return Diagnostic::error("The sandbox refuses to be configured", "It was asked to.").into();
            }
        }
        let object = Object::from_value(config).unwrap_or_default();
        let unknown = matches!(object.value("directory"), Value::Unknown(_));
        let directory =
            object.text("directory").map(PathBuf::from).or_else(|| self.switches.directory.clone());
        if directory.is_none() && !unknown {
            let detail =
                "Set the attribute directory, or the environment variable SANDBOX_DIR, to a directory.";
            return Diagnostic::error("Nowhere to keep objects", detail).at(at("directory")).into();
        }
        let directory = directory.filter(|_| !unknown);
        if self.configuration.set(Configuration { directory, unknown }).is_err() {
            let detail = "A provider process is configured once; start another for another configuration.";
            return Diagnostic::error("The sandbox is configured already", detail).into();
        }
        #[cfg(feature = "misbehaviour")]
        if self.switches.misbehaviour.configure == Configure::Warn {
            return Diagnostic::warning("The sandbox is not sure", "It was asked to warn.").into();
        }
        Diagnostics::default()
    }

    pub(crate) fn call(
        &self,
        type_name: &str,
        kind: &Type,
        cancelled: CancellationToken,
        runtime: Handle,
    ) -> Call {
        let directory = self.configuration.get().and_then(|configuration| configuration.directory.clone());
        Call::new(type_name, kind.clone(), directory, cancelled, runtime, Arc::clone(&self.stdio))
    }

    /// Reads a data source, in a call about it.
    pub(crate) fn read_data_source(&self, call: &Call, config: &Value) -> Outcome {
        let config = Object::from_value(config).unwrap_or_default();
        let notes = call.about(NoteLookup::TYPE_NAME, NoteLookup::notes());
        NoteLookup::read(&notes, &config).map_or_else(Outcome::from, Outcome::object)
    }

    /// The reason if an operation is deferred (`Deferred.Reason`).
    pub(crate) fn deferral(&self, operation: Deferrable) -> Option<i32> {
        #[cfg(feature = "misbehaviour")]
        return self.misbehaviour().defer.as_ref()?.reason_for(operation);
        #[cfg(not(feature = "misbehaviour"))]
        {
            let _ = operation;
            None
        }
    }

    /// The reason if a plan is deferred.
    pub(crate) fn plan_deferral(&self, client: Client, change: &Change) -> Option<i32> {
        let destroys = matches!(change.planned, Value::Null);
        let reason = self.deferral(if destroys { Deferrable::Destroy } else { Deferrable::Plan });
        reason.or(self.puts_off(client).then_some(PROVIDER_CONFIG_UNKNOWN))
    }

    /// Whether plans are deferred because the configuration is unknown.
    fn puts_off(&self, client: Client) -> bool {
        let unknown = self.configuration.get().is_some_and(|configuration| configuration.unknown);
        unknown && client.deferral && self.minor().has(Feature::Deferral)
    }
}

/// `Deferred.Reason` of an unknown provider configuration.
const PROVIDER_CONFIG_UNKNOWN: i32 = 2;

/// The imitated minor.
const fn minor(switches: &Switches) -> Minor {
    #[cfg(feature = "misbehaviour")]
    return switches.misbehaviour.minor;
    #[cfg(not(feature = "misbehaviour"))]
    {
        let _ = switches;
        Minor::Newest
    }
}

/// An error that quotes a secret.
#[cfg(feature = "misbehaviour")]
fn token_refused(config: &Value) -> Diagnostic {
    let token = Object::from_value(config).unwrap_or_default();
    let token = token.text("token").unwrap_or_default();
    Diagnostic::error(format!("The token {token} is not accepted"), format!("{token:?} has expired."))
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
