//! The context of a handler during one call: the store of objects and cancellation.

#[cfg(feature = "misbehaviour")]
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use isthmus_cty::{Type, Value};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
#[cfg(feature = "misbehaviour")]
use tonic::Status;

use crate::diagnostics::Diagnostic;
use crate::object::Object;
use crate::objects::Objects;
use crate::random;
use crate::stdio::Stdio;
use crate::wire;

/// How often a file is looked for.
#[cfg(feature = "misbehaviour")]
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The context of one call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    type_name: Arc<str>,
    kind: Type,
    directory: Option<PathBuf>,
    cancelled: CancellationToken,
    runtime: Handle,
    #[cfg_attr(not(feature = "misbehaviour"), expect(dead_code, reason = "only resources of tests print"))]
    stdio: Arc<Stdio>,
    seed: Option<Arc<str>>,
    id: Option<Arc<str>>,
}

/// Used only by fixtures.
#[cfg(feature = "misbehaviour")]
impl Call {
    /// The same context with random values derived from `seed`.
    #[must_use]
    pub(crate) fn seeded(&self, seed: &str) -> Self {
        Self { seed: Some(Arc::from(seed)), ..self.clone() }
    }

    /// The same context in which new objects get this id.
    #[must_use]
    pub(crate) fn with_id(&self, id: &str) -> Self {
        Self { id: Some(Arc::from(id)), ..self.clone() }
    }

    /// The type of the resource's values.
    pub(crate) const fn kind(&self) -> &Type {
        &self.kind
    }

    /// The provider's standard output after the handshake.
    pub(crate) fn stdio(&self) -> &Stdio {
        &self.stdio
    }

    pub(crate) fn wait_for_cancel(&self) {
        self.runtime.block_on(self.cancelled.cancelled());
    }

    /// Waits until a file exists.
    pub(crate) fn wait_for_file(&self, file: &Path) -> Result<(), Status> {
        while !file.exists() {
            if !self.wait(LOOK_AGAIN) {
                return Err(Status::cancelled("the sandbox waited for its gate until it was stopped"));
            }
        }
        Ok(())
    }
}

impl Call {
    /// The context of a call about a type with values of this kind. Without a directory, the
    /// provider is not configured. `cancelled`: the client has disconnected, or the provider is
    /// stopped.
    pub(crate) fn new(
        type_name: &str,
        kind: Type,
        directory: Option<PathBuf>,
        cancelled: CancellationToken,
        runtime: Handle,
        stdio: Arc<Stdio>,
    ) -> Self {
        Self {
            type_name: Arc::from(type_name),
            kind,
            directory,
            cancelled,
            runtime,
            stdio,
            seed: None,
            id: None,
        }
    }

    pub(crate) fn type_name(&self) -> &str {
        &self.type_name
    }

    /// The same context for another type.
    #[must_use]
    pub(crate) fn about(&self, type_name: &str, kind: Type) -> Self {
        Self { type_name: Arc::from(type_name), kind, ..self.clone() }
    }

    /// Waits; `false` if the call was cancelled meanwhile.
    pub(crate) fn wait(&self, duration: Duration) -> bool {
        self.runtime.block_on(async {
            tokio::select! {
                () = self.cancelled.cancelled() => false,
                () = tokio::time::sleep(duration) => true,
            }
        })
    }

    /// The current state of the object with this id.
    pub(crate) fn load(&self, id: &str) -> Result<Option<Object>, Diagnostic> {
        let Some(content) = self.objects()?.read(&self.type_name, id)? else { return Ok(None) };
        let value = wire::from_json(&content, &self.kind).map_err(|error| {
            let summary = format!("The file of {} {id} is not an object of that type", self.type_name);
            Diagnostic::error(summary, wire::explain(&error))
        })?;
        Ok(Object::from_value(&value))
    }

    /// Stores an object under its id.
    pub(crate) fn save(&self, id: &str, object: &Object) -> Result<(), Diagnostic> {
        let value = object.clone().into_value();
        let compact = wire::to_json(&value, &self.kind).map_err(|error| {
            Diagnostic::error(format!("The {} {id} cannot be stored", self.type_name), wire::explain(&error))
        })?;
        Ok(self.objects()?.write(&self.type_name, id, &self.readable(compact, &value))?)
    }

    /// Removes the object with this id; `false` if there was none.
    pub(crate) fn remove(&self, id: &str) -> Result<bool, Diagnostic> {
        Ok(self.objects()?.remove(&self.type_name, id)?)
    }

    /// The ids of all objects of the type.
    pub(crate) fn ids(&self) -> Result<Vec<String>, Diagnostic> {
        Ok(self.objects()?.ids(&self.type_name)?)
    }

    pub(crate) fn new_id(&self) -> Result<String, Diagnostic> {
        if let Some(id) = &self.id {
            return Ok(id.to_string());
        }
        let Some(seed) = &self.seed else { return random::text(12, random::LOWER_CASE_AND_DIGITS) };
        let taken = self.ids()?;
        let ids = (0..).map(|number: u32| {
            random::derived_text(
                &format!("{} {seed} {number}", self.type_name),
                12,
                random::LOWER_CASE_AND_DIGITS,
            )
        });
        Ok(ids.into_iter().find(|id| !taken.contains(id)).unwrap_or_default())
    }

    /// Random text, for secrets and identifiers.
    pub(crate) fn random_text(&self, length: usize, alphabet: &[u8]) -> Result<String, Diagnostic> {
        match &self.seed {
            None => random::text(length, alphabet),
            Some(seed) => Ok(random::derived_text(&format!("{} {seed}", self.type_name), length, alphabet)),
        }
    }

    fn objects(&self) -> Result<Objects, Diagnostic> {
        let Some(directory) = &self.directory else {
            let detail = "ConfigureProvider has to be called before resources and data sources are used.";
            return Err(Diagnostic::error("The sandbox is not configured", detail));
        };
        Ok(Objects::open(directory)?)
    }

    /// Indented for people who edit the file, unless that would round a number.
    fn readable(&self, compact: Vec<u8>, value: &Value) -> Vec<u8> {
        let tree = serde_json::from_slice::<serde_json::Value>(&compact).ok();
        let pretty = tree.and_then(|tree| serde_json::to_vec_pretty(&tree).ok());
        match pretty {
            Some(pretty) if wire::from_json(&pretty, &self.kind).is_ok_and(|same| same == *value) => pretty,
            _ => compact,
        }
    }
}
