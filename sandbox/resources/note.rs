//! `sandbox_note`: the well-behaved resource, with an attribute for every schema flag.
//!
//! In schema version 0, `body` was called `text`; objects of type `sandbox_memo` can be moved to
//! it.

use bytes::Bytes;
use isthmus_cty::{AttributePath, Number, PathStep, Type, Value};
use serde_json::Map;
use sha2::{Digest as _, Sha256};
use tonic::Status;

use crate::call::Call;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::object::{Object, at};
use crate::protocol::{Feature, Minor, Protocol};
use crate::resource::{Change, Outcome, Resource};
use crate::schema::{Attribute, Block, Schema, map_of_strings};

#[derive(Debug)]
pub(super) struct Note;

impl Resource for Note {
    fn type_name(&self) -> &'static str {
        "sandbox_note"
    }

    fn schema(&self, _: Protocol, minor: Minor) -> Schema {
        schema(minor)
    }

    fn identity(&self) -> &'static [&'static str] {
        &["id"]
    }

    fn validate(&self, _: &Call, config: &Object) -> Result<Diagnostics, Status> {
        let mut diagnostics = Diagnostics::default();
        match config.text("title") {
            Some("") => {
                let detail = "Give the note a title of at least one character.";
                diagnostics.push(Diagnostic::error("The title is empty", detail).at(at("title")));
            }
            Some("warn") => {
                let detail = "This title is here to have something to warn of.";
                diagnostics.push(Diagnostic::warning("A questionable title", detail).at(at("title")));
            }
            _ => {}
        }
        if let Value::Map(labels) = config.value("labels") {
            for (key, label) in labels {
                if *label == Value::string("") {
                    let path =
                        AttributePath(vec![PathStep::Attribute("labels".into()), PathStep::Key(key.clone())]);
                    diagnostics.push(
                        Diagnostic::error("A label is empty", "Remove it, or give it a text.").at(path),
                    );
                }
            }
        }
        Ok(diagnostics)
    }

    fn create(&self, call: &Call, change: &Change, planned: Object) -> Result<Outcome, Status> {
        Ok(make(call, change, planned).unwrap_or_else(Outcome::from))
    }

    fn read(&self, call: &Call, state: Object, private: Bytes) -> Result<Outcome, Status> {
        Ok(match call.load(state.text("id").unwrap_or_default()) {
            Ok(Some(object)) => Outcome::object(object).with_private(private),
            Ok(None) => Outcome::gone(),
            Err(diagnostic) => Outcome::partial(state, diagnostic).with_private(private),
        })
    }

    fn update(&self, call: &Call, change: &Change, planned: Object) -> Result<Outcome, Status> {
        let prior = change.prior_object().unwrap_or_default();
        let outcome = change_note(call, change, &prior, planned);
        Ok(outcome.unwrap_or_else(|diagnostic| Outcome::partial(prior, diagnostic)))
    }

    fn delete(&self, call: &Call, change: &Change) -> Result<Outcome, Status> {
        let prior = change.prior_object().unwrap_or_default();
        Ok(match call.remove(prior.text("id").unwrap_or_default()) {
            Ok(_) => Outcome::gone(),
            Err(diagnostic) => Outcome::partial(prior, diagnostic),
        })
    }

    fn import(&self, _: &Call, id: &str) -> Result<Outcome, Status> {
        let mut object = Object::default();
        object.set_text("id", id);
        Ok(Outcome::object(object))
    }

    fn upgrade(&self, _: i64, mut stored: Map<String, serde_json::Value>) -> Map<String, serde_json::Value> {
        if let Some(text) = stored.remove("text") {
            stored.insert("body".to_owned(), text);
        }
        stored
    }

    fn move_state(
        &self,
        source: &str,
        stored: &Map<String, serde_json::Value>,
    ) -> Option<Map<String, serde_json::Value>> {
        if source != "sandbox_memo" {
            return None;
        }
        let renamed = [("id", "id"), ("name", "title"), ("text", "body")];
        let taken =
            renamed.iter().filter_map(|(from, to)| Some(((*to).to_owned(), stored.get(*from)?.clone())));
        Some(taken.collect())
    }
}

fn schema(minor: Minor) -> Schema {
    let mut attributes = vec![
        Attribute::computed("id", Type::String).keeps().described("What the sandbox calls the note."),
        Attribute::required("title", Type::String).described("What the note is called."),
        Attribute::optional("body", Type::String).described("What the note says."),
        Attribute::optional("pinned", Type::Bool).described("Whether it stays on top."),
        Attribute::optional("labels", map_of_strings()).described("Words to find it by."),
        Attribute::optional("color", Type::String)
            .replaces()
            .described("What paper it is on; cannot be changed."),
        Attribute::optional("secret_hint", Type::String).sensitive().described("Not for everybody."),
        Attribute::optional_computed("priority", Type::Number)
            .or(Value::Number(Number::from(3)))
            .described("From 1, urgent, to 5."),
        Attribute::optional("tag", Type::String)
            .deprecated("Use labels.")
            .described("A single word to find it by."),
        Attribute::computed("revision", Type::Number).described("How often it was written."),
        Attribute::computed("checksum", Type::String)
            .described("SHA-256 of title and body, in hexadecimal digits."),
        Attribute::computed("locked", Type::Bool)
            .described("Whether a passphrase was given when it was last written."),
    ];
    if minor.has(Feature::WriteOnly) {
        let passphrase = Attribute::optional("passphrase", Type::String).sensitive().write_only();
        attributes.push(passphrase.described("Locks the note; never stored."));
    }
    let description = "A note, which can be **changed**, `imported` and looked up.";
    Schema { version: 1, block: Block { description, attributes, blocks: Vec::new() } }
}

fn make(call: &Call, change: &Change, mut note: Object) -> Result<Outcome, Diagnostic> {
    let id = call.new_id()?;
    note.set_text("id", &id);
    write(call, change, &id, 1, note)
}

fn change_note(call: &Call, change: &Change, prior: &Object, note: Object) -> Result<Outcome, Diagnostic> {
    let id = prior.text("id").unwrap_or_default();
    if call.load(id)?.is_none() {
        return Err(Diagnostic::error(
            "The note is gone",
            format!("There is no note {id} any more; refresh first."),
        ));
    }
    write(call, change, id, prior.integer("revision").unwrap_or_default() + 1, note)
}

fn write(
    call: &Call,
    change: &Change,
    id: &str,
    revision: i64,
    mut note: Object,
) -> Result<Outcome, Diagnostic> {
    let text = [note.text("title"), note.text("body")].map(Option::unwrap_or_default).join("\n");
    note.set("revision", Value::Number(Number::from(revision)));
    note.set_text("checksum", &hex::encode(Sha256::digest(text)));
    note.set("locked", Value::Bool(change.config_object().text("passphrase").is_some()));
    call.save(id, &note)?;
    Ok(Outcome::object(note))
}

/// The data source `sandbox_note`, which finds a note by its title.
#[derive(Debug)]
pub(crate) struct NoteLookup;

impl NoteLookup {
    pub(crate) const TYPE_NAME: &'static str = "sandbox_note";

    pub(crate) fn schema() -> Schema {
        let attributes = vec![
            Attribute::required("title", Type::String).described("What the note is called."),
            Attribute::computed("id", Type::String),
            Attribute::computed("body", Type::String),
            Attribute::computed("labels", map_of_strings()),
            Attribute::computed("revision", Type::Number),
            Attribute::computed("secret_hint", Type::String).sensitive(),
        ];
        let block = Block { description: "Finds a note by its title.", attributes, blocks: Vec::new() };
        Schema { version: 0, block }
    }

    pub(crate) fn validate(config: &Object) -> Diagnostics {
        match config.text("title") {
            Some("") => {
                Diagnostic::error("The title is empty", "No note has an empty title.").at(at("title")).into()
            }
            _ => Diagnostics::default(),
        }
    }

    /// Finds the first note with the title, by id. `call` is about notes.
    pub(crate) fn read(call: &Call, config: &Object) -> Result<Object, Diagnostic> {
        let title = config.text("title").unwrap_or_default();
        for id in call.ids()? {
            let Some(note) = call.load(&id)? else { continue };
            if note.text("title") == Some(title) {
                let found = ["title", "id", "body", "labels", "revision", "secret_hint"];
                return Ok(Object(found.map(|name| (name.into(), note.value(name).clone())).into()));
            }
        }
        let detail = format!("No note has the title {title:?}.");
        Err(Diagnostic::error("There is no such note", detail).at(at("title")))
    }

    /// The type of notes, independent of the minor.
    pub(crate) fn notes() -> Type {
        schema(Minor::Newest).block.implied_type()
    }
}
