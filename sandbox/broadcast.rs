//! The action `sandbox_broadcast`: sends its message as progress, and writes a file.

use std::time::Duration;

use isthmus_cty::Type;

use crate::call::Call;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::object::{Object, at};
use crate::resources::fixtures::faulty::crash;
use crate::schema::{Attribute, Block, NestedBlock, Nesting, Schema};

pub(crate) const TYPE_NAME: &str = "sandbox_broadcast";

/// Pause between two progress events.
const PAUSE: Duration = Duration::from_secs(3600);

/// How the action fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The plan returns an error.
    Plan,
    /// The plan returns a deferral, whether or not the client allows it.
    Deferred,
    Invoke,
    /// The action succeeds with a warning.
    Warn,
    /// gRPC fails halfway.
    Break,
    /// The stream ends without a completion event.
    Silence,
    /// The process crashes halfway.
    Crash,
    /// The action runs until the provider is stopped.
    Hang,
}

/// How the invocation ends.
#[derive(Debug)]
pub(crate) enum End {
    /// A completion event with these diagnostics.
    Completed(Diagnostics),
    /// A gRPC status.
    Broken(tonic::Status),
    /// No event at all.
    Silent,
}

pub(crate) fn schema() -> Schema {
    let attributes = vec![
        Attribute::required("message", Type::String).described("What is said."),
        Attribute::optional("times", Type::Number).described("How often; once unless given."),
        Attribute::optional("password", Type::String).sensitive().described("Not used."),
        Attribute::optional("fault", Type::String).described(
            "What goes wrong: plan, deferred, invoke, warn, break, silence, crash or hang; after the message was said.",
        ),
    ];
    let listener = Block {
        description: "Somebody who is to hear it.",
        attributes: vec![Attribute::required("name", Type::String).described("Who.")],
        blocks: Vec::new(),
    };
    let blocks = vec![NestedBlock::new("listener", Nesting::List, listener)];
    Schema { version: 0, block: Block { description: "Says something to everybody.", attributes, blocks } }
}

impl Fault {
    /// The fault in a configuration.
    pub(crate) fn of(config: &Object) -> Option<Self> {
        let all = [
            ("plan", Self::Plan),
            ("deferred", Self::Deferred),
            ("invoke", Self::Invoke),
            ("warn", Self::Warn),
            ("break", Self::Break),
            ("silence", Self::Silence),
            ("crash", Self::Crash),
            ("hang", Self::Hang),
        ];
        let text = config.text("fault")?;
        all.into_iter().find(|(name, _)| *name == text).map(|(_, fault)| fault)
    }
}

pub(crate) fn validate(config: &Object) -> Diagnostics {
    if config.text("message") == Some("") {
        let detail = "Say at least one character.";
        return Diagnostic::error("The message is empty", detail).at(at("message")).into();
    }
    match config.text("fault") {
        Some(text) if Fault::of(config).is_none() => {
            Diagnostic::error(format!("{text:?} is no fault"), "See the schema.").at(at("fault")).into()
        }
        _ => Diagnostics::default(),
    }
}

/// Plans the action.
pub(crate) fn plan(config: &Object) -> Diagnostics {
    match Fault::of(config) {
        Some(Fault::Plan) => {
            Diagnostic::error("Nobody could hear it", "It was asked to fail.").at(at("message")).into()
        }
        _ => Diagnostics::default(),
    }
}

/// Invokes the action. `say` sends progress to the client.
pub(crate) fn carry_out(call: &Call, config: &Object, mut say: impl FnMut(String)) -> End {
    let message = config.text("message").unwrap_or_default();
    let times = config.integer("times").unwrap_or(1).max(0);
    for time in 1..=times {
        say(format!("{time} of {times}: {message}"));
    }
    let kept = call.new_id().and_then(|id| call.save(&id, config));
    if let Err(diagnostic) = kept {
        return End::Completed(diagnostic.into());
    }
    match Fault::of(config) {
        None | Some(Fault::Plan | Fault::Deferred) => End::Completed(Diagnostics::default()),
        Some(Fault::Invoke) => {
            let detail = "It was asked to fail.";
            End::Completed(Diagnostic::error("Nobody has heard it", detail).at(at("message")).into())
        }
        Some(Fault::Warn) => {
            let detail = "It was asked to warn.";
            End::Completed(Diagnostic::warning("Few have heard it", detail).at(at("message")).into())
        }
        Some(Fault::Break) => End::Broken(tonic::Status::internal("the line is dead")),
        Some(Fault::Silence) => End::Silent,
        Some(Fault::Crash) => crash(),
        Some(Fault::Hang) => {
            while call.wait(PAUSE) {}
            End::Broken(tonic::Status::cancelled("the provider was stopped"))
        }
    }
}
