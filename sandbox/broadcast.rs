//! `sandbox_broadcast`, the action: it says something, and leaves a file that tells so.

use std::time::Duration;

use isthmus_cty::Type;

use crate::call::Call;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::object::{Object, at};
use crate::resources::fixtures::faulty::crash;
use crate::schema::{Attribute, Block, NestedBlock, Nesting, Schema};

/// Its name in configurations.
pub(crate) const TYPE_NAME: &str = "sandbox_broadcast";

/// Between two lines of progress that are said to be far apart.
const PAUSE: Duration = Duration::from_secs(3600);

/// How it ends, if not as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A plan says that it cannot be done.
    Plan,
    /// A plan says that it can be done later, whether or not the client allows that.
    Deferred,
    /// It fails, and says so.
    Invoke,
    /// It succeeds, and warns.
    Warn,
    /// gRPC fails in the middle.
    Break,
    /// Nothing more is said.
    Silence,
    /// The process ends in the middle.
    Crash,
    /// It goes on until the provider is asked to stop.
    Hang,
}

/// What becomes of it in the end.
#[derive(Debug)]
pub(crate) enum End {
    /// It says how it went.
    Completed(Diagnostics),
    /// gRPC says why not.
    Broken(tonic::Status),
    /// Nothing is said.
    Silent,
}

/// What it looks like.
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
    /// The one that a configuration asks for.
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

/// Judges a configuration.
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

/// Says whether it can be done.
pub(crate) fn plan(config: &Object) -> Diagnostics {
    match Fault::of(config) {
        Some(Fault::Plan) => {
            Diagnostic::error("Nobody could hear it", "It was asked to fail.").at(at("message")).into()
        }
        _ => Diagnostics::default(),
    }
}

/// Does it. `say` tells the client how far it has got.
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
