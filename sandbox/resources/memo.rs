//! `sandbox_memo`: what notes were called once, for those who want to see an object change its type.
//!
//! A memo is kept as a note, so that taking over its state needs no second object. It is also given private bytes, which
//! have no meaning for a note, and which only whoever asks for the move can pass on.

use bytes::Bytes;
use isthmus_cty::Type;
use tonic::Status;

use super::{Change, NoteLookup, Outcome, Resource};
use crate::call::Call;
use crate::diagnostics::Diagnostic;
use crate::object::Object;
use crate::protocol::{Minor, Protocol};
use crate::schema::{Attribute, Block, Schema};

/// The resource.
#[derive(Debug)]
pub(super) struct Memo;

/// What a memo's private bytes are.
const PRIVATE: &[u8] = br#"{"sandbox_memo":true}"#;

impl Resource for Memo {
    fn type_name(&self) -> &'static str {
        "sandbox_memo"
    }

    fn schema(&self, _: Protocol, _: Minor) -> Schema {
        let attributes = vec![
            Attribute::computed("id", Type::String).keeps(),
            Attribute::required("name", Type::String).described("What the memo is called."),
            Attribute::optional("text", Type::String).described("What the memo says."),
        ];
        let description = "A memo. Make it a note: memos are not made any more.";
        Schema { version: 3, block: Block { description, attributes, blocks: Vec::new() } }
    }

    fn identity(&self) -> &'static [&'static str] {
        &["id"]
    }

    fn create(&self, call: &Call, _: &Change, planned: Object) -> Result<Outcome, Status> {
        let made = call.new_id().and_then(|id| write(call, &id, planned));
        Ok(made.unwrap_or_else(Outcome::from))
    }

    fn read(&self, call: &Call, state: Object, private: Bytes) -> Result<Outcome, Status> {
        Ok(match as_note(call).load(state.text("id").unwrap_or_default()) {
            Ok(Some(note)) => Outcome::object(renamed(&note, NAMES)).with_private(private),
            Ok(None) => Outcome::gone(),
            Err(diagnostic) => Outcome::partial(state, diagnostic).with_private(private),
        })
    }

    fn update(&self, call: &Call, change: &Change, planned: Object) -> Result<Outcome, Status> {
        let prior = change.prior_object().unwrap_or_default();
        let written = write(call, prior.text("id").unwrap_or_default(), planned);
        Ok(written.unwrap_or_else(|diagnostic| Outcome::partial(prior, diagnostic)))
    }

    fn delete(&self, call: &Call, change: &Change) -> Result<Outcome, Status> {
        let prior = change.prior_object().unwrap_or_default();
        Ok(match as_note(call).remove(prior.text("id").unwrap_or_default()) {
            Ok(_) => Outcome::gone(),
            Err(diagnostic) => Outcome::partial(prior, diagnostic),
        })
    }
}

/// What a memo and a note call the same, the note's name first.
const NAMES: [(&str, &str); 3] = [("id", "id"), ("title", "name"), ("body", "text")];

fn write(call: &Call, id: &str, mut memo: Object) -> Result<Outcome, Diagnostic> {
    memo.set_text("id", id);
    let mut note = renamed(&memo, NAMES.map(|(of_note, of_memo)| (of_memo, of_note)));
    let notes = as_note(call);
    if let Type::Object(kind) = notes.kind() {
        for name in kind.attributes.keys() {
            let value = note.value(name).clone();
            note.set(name, value);
        }
    }
    notes.save(id, &note)?;
    Ok(Outcome::object(memo).with_private(Bytes::from_static(PRIVATE)))
}

fn as_note(call: &Call) -> Call {
    call.about(NoteLookup::TYPE_NAME, NoteLookup::notes())
}

fn renamed(object: &Object, names: [(&str, &str); 3]) -> Object {
    let mut other = Object::default();
    for (from, to) in names {
        other.set(to, object.value(from).clone());
    }
    other
}
