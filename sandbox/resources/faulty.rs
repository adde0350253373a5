//! `sandbox_faulty`: misbehaves on request, for tests of those who must cope with it.
//!
//! `mode` says how and `during` says in which operation. Everything is otherwise as harmless as can be, so that a test
//! sees one fault at a time. The object's state is all there is of it, except for reading, which can make it vanish.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use isthmus_cty::{Number, PathStep, Type, Value};
use tonic::Status;

use super::{Answer, Change, Outcome, Planned, Resource};
use crate::call::Call;
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::log::{self, Level};
use crate::object::{Object, at};
use crate::planning::Plan;
use crate::protocol::{Minor, Protocol};
use crate::schema::{Attribute, Block, Schema};

/// The resource.
#[derive(Debug)]
pub(super) struct Faulty;

/// The operations that can go wrong.
pub(crate) const OPERATIONS: [&str; 7] =
    ["validate", "plan", "create", "read", "update", "upgrade", "delete"];

/// Every way to go wrong. `README.md` tells what each does.
pub(crate) const MODES: [&str; 31] = [
    "absent",
    "crash",
    "deferred",
    "empty",
    "error",
    "exit",
    "exit-after",
    "fickle",
    "flood",
    "garbage",
    "gone",
    "halves",
    "hang",
    "hang-forever",
    "huge",
    "inconsistent",
    "interrupted",
    "json",
    "leftover",
    "misplaced",
    "nothing",
    "none",
    "panic-text",
    "partial",
    "print",
    "refusal",
    "unknown",
    "unknown-severity",
    "warning",
    "wrong-path",
    "wrong-type",
];

/// How long `hang-forever` hangs: longer than any test, and not longer than any machine.
const FOREVER: Duration = Duration::from_secs(24 * 60 * 60);

/// After this long an answer has left the process, which nothing in gRPC's server would tell a handler.
const LONG_ENOUGH_TO_ANSWER: Duration = Duration::from_millis(200);

impl Resource for Faulty {
    fn type_name(&self) -> &'static str {
        "sandbox_faulty"
    }

    fn schema(&self, _: Protocol, _: Minor) -> Schema {
        let attributes = vec![
            Attribute::computed("id", Type::String).keeps(),
            Attribute::required("mode", Type::String).described("How to misbehave."),
            Attribute::optional("during", Type::String)
                .described("When: `create` unless given; several are joined by `+`."),
            Attribute::optional("size", Type::Number)
                .described("How much, for `huge` (bytes) and `flood` (lines)."),
            Attribute::computed("payload", Type::String).described("What `huge` makes."),
        ];
        let description = "Misbehaves on request. For tests.";
        Schema { version: 0, block: Block { description, attributes, blocks: Vec::new() } }
    }

    fn validate(&self, call: &Call, config: &Object) -> Result<Diagnostics, Status> {
        for (name, known) in [("mode", &MODES[..]), ("during", &OPERATIONS[..])] {
            if let Some(text) = config.text(name)
                && !text.split('+').all(|word| known.contains(&word))
            {
                let detail = format!("It must be one of {}.", known.join(", "));
                return Ok(Diagnostic::error(format!("There is no {name} {text:?}"), detail)
                    .at(at(name))
                    .into());
            }
        }
        let Some(mode) = mode(config, "validate") else { return Ok(Diagnostics::default()) };
        disturb(call, config, mode)?;
        Ok(complaint(mode).map(Diagnostics::from).unwrap_or_default())
    }

    fn plan(&self, call: &Call, change: &Change, plan: Plan) -> Result<Planned, Status> {
        let config = Object::from_value(&change.config).or_else(|| change.prior_object()).unwrap_or_default();
        let Some(mode) = mode(&config, "plan") else { return Ok(Planned::from(plan)) };
        disturb(call, &config, mode)?;
        let outcome = match Object::from_value(&plan.state) {
            Some(object) => answer(call, mode, object),
            None => Outcome {
                diagnostics: complaint(mode).map(Diagnostics::from).unwrap_or_default(),
                ..Outcome::gone()
            },
        };
        let deferred = (mode == "deferred").then_some(RESOURCE_CONFIG_UNKNOWN);
        let requires_replace = match mode {
            "wrong-path" => vec![at("no_such_attribute")],
            _ => plan.requires_replace,
        };
        Ok(Planned { state: outcome.state, requires_replace, diagnostics: outcome.diagnostics, deferred })
    }

    fn create(&self, call: &Call, _: &Change, mut planned: Object) -> Result<Outcome, Status> {
        match call.new_id() {
            Ok(id) => planned.set_text("id", &id),
            Err(diagnostic) => return Ok(diagnostic.into()),
        }
        operate(call, "create", planned)
    }

    fn read(&self, call: &Call, state: Object, private: Bytes) -> Result<Outcome, Status> {
        Ok(operate(call, "read", state)?.with_private(private))
    }

    fn update(&self, call: &Call, _: &Change, planned: Object) -> Result<Outcome, Status> {
        operate(call, "update", planned)
    }

    /// What is not a mode is nowhere to be found.
    fn import(&self, call: &Call, id: &str) -> Result<Outcome, Status> {
        if !MODES.contains(&id) {
            let detail = format!("No object of type {} can be imported but by a mode.", call.type_name());
            return Ok(Diagnostic::error("Resource Import Not Implemented", detail).into());
        }
        let mut object = Object::default();
        for (name, text) in [("id", id), ("mode", "none"), ("payload", "")] {
            object.set_text(name, text);
        }
        for name in ["during", "size"] {
            object.set(name, Value::Null);
        }
        disturb(call, &object, id)?;
        Ok(answer(call, id, object))
    }

    fn upgraded(&self, call: &Call, outcome: Outcome) -> Result<Outcome, Status> {
        let Answer::State(state) = &outcome.state else { return Ok(outcome) };
        let stored = Object::from_value(state).unwrap_or_default();
        let Some(mode) = mode(&stored, "upgrade") else { return Ok(outcome) };
        disturb(call, &stored, mode)?;
        Ok(answer(call, mode, stored.clone()))
    }

    fn delete(&self, call: &Call, change: &Change) -> Result<Outcome, Status> {
        let prior = change.prior_object().unwrap_or_default();
        match mode(&prior, "delete") {
            None => Ok(Outcome::gone()),
            Some("leftover") => Ok(Outcome::object(prior)),
            Some("halves") => Ok(delete_in_halves(prior, &change.private)),
            Some(mode @ ("partial" | "error")) => {
                let complaint = complaint(mode);
                Ok(complaint
                    .map_or_else(Outcome::gone, |complaint| Outcome::partial(prior.clone(), complaint)))
            }
            Some(mode) => {
                disturb(call, &prior, mode)?;
                let outcome = answer(call, mode, prior.clone());
                let harmless = matches!(outcome.state, Answer::State(_) | Answer::Json(_));
                Ok(Outcome {
                    state: if harmless { Answer::State(Value::Null) } else { outcome.state },
                    ..outcome
                })
            }
        }
    }
}

/// Deletes one half, and the other one when what is left of the first comes back.
fn delete_in_halves(mut object: Object, private: &Bytes) -> Outcome {
    if object.text("payload") == Some(HALF) && private == HALF {
        return Outcome::gone();
    }
    object.set_text("payload", HALF);
    let trouble = Diagnostic::error("sandbox_faulty deleted one half", "Delete again, with what is left.");
    Outcome::partial(object, trouble).with_private(Bytes::from_static(HALF.as_bytes()))
}

/// What the payload and the private bytes are of which one half is deleted.
const HALF: &str = "half deleted";

/// The reason "the resource's configuration is unknown" of the wire's enumeration of deferrals.
const RESOURCE_CONFIG_UNKNOWN: i32 = 1;

/// How to misbehave in an operation, if at all.
fn mode<'a>(object: &'a Object, operation: &str) -> Option<&'a str> {
    let during = object.text("during").unwrap_or("create");
    object.text("mode").filter(|_| during.split('+').any(|word| word == operation))
}

fn operate(call: &Call, operation: &str, mut object: Object) -> Result<Outcome, Status> {
    if matches!(object.value("payload"), Value::Unknown(_)) {
        object.set_text("payload", "");
    }
    let settings = object.clone();
    let Some(mode) = mode(&settings, operation) else { return Ok(Outcome::object(object)) };
    disturb(call, &settings, mode)?;
    Ok(answer(call, mode, object))
}

/// What happens beside the answer, or in its place.
fn disturb(call: &Call, settings: &Object, mode: &str) -> Result<(), Status> {
    match mode {
        "crash" => crash(),
        "exit" => std::process::exit(0),
        "exit-after" => {
            std::thread::spawn(|| {
                std::thread::sleep(LONG_ENOUGH_TO_ANSWER);
                std::process::exit(0);
            });
            Ok(())
        }
        "hang" => {
            call.wait_for_cancel();
            Err(Status::cancelled("the sandbox hung until it was stopped"))
        }
        "interrupted" => {
            call.wait_for_cancel();
            Ok(())
        }
        "hang-forever" => {
            std::thread::sleep(FOREVER);
            Ok(())
        }
        "flood" => {
            flood(settings.integer("size").unwrap_or(10_000));
            Ok(())
        }
        "panic-text" => {
            write_raw("panic: not really, the sandbox goes on\n\ngoroutine 1 [running]:\nmain.main()\n");
            Ok(())
        }
        "print" => {
            call.stdio().print("printed by sandbox_faulty\n");
            Ok(())
        }
        "refusal" => Err(Status::internal("sandbox_faulty was asked to refuse")),
        _ => Ok(()),
    }
}

/// Ends as a Go program does that panics: a trace on stderr, exit status 2, calls cut off in the middle.
pub(crate) fn crash() -> ! {
    write_raw(
        "panic: runtime error: sandbox_faulty was asked to crash\n\ngoroutine 42 [running]:\n\
         main.(*faulty).Create(0xc000123456)\n\t/src/sandbox/faulty.go:13 +0x2a\n",
    );
    std::process::exit(2)
}

/// Lines of every kind: logs, lines without a level, one of a mebibyte, and one that never ends.
fn flood(lines: i64) {
    for line in 0..lines {
        log::write(Level::Debug, "one of many", &[("line", &line.to_string())]);
    }
    write_raw("[WARN] a line of the old kind\nand one of no kind\n");
    write_raw(&format!("{}\n", "x".repeat(1 << 20)));
    write_raw("no end of line");
}

fn write_raw(text: &str) {
    drop(std::io::stderr().lock().write_all(text.as_bytes()));
}

/// The answer that an operation gives in this mode, given the object that would be right.
fn answer(call: &Call, mode: &str, mut object: Object) -> Outcome {
    let size = object.integer("size").and_then(|size| usize::try_from(size).ok());
    let state = match mode {
        "absent" => Answer::Absent,
        "empty" => Answer::Empty,
        "garbage" => Answer::Bytes(Bytes::from_static(&[0xc1, 0xff, 0x00])),
        "json" => Answer::Json(object.clone().into_value()),
        "error" | "misplaced" | "nothing" | "gone" => Answer::State(Value::Null),
        "unknown" => {
            object.set("payload", Value::Unknown(None));
            Answer::State(object.clone().into_value())
        }
        "inconsistent" => {
            object.set_text("mode", "something else");
            Answer::State(object.clone().into_value())
        }
        "fickle" => {
            static TIMES: AtomicU64 = AtomicU64::new(0);
            let (times, process) = (TIMES.fetch_add(1, Ordering::Relaxed), std::process::id());
            object.set_text("payload", &format!("change of mind {times} of process {process}"));
            Answer::State(object.clone().into_value())
        }
        "huge" => {
            object.set_text("payload", &"x".repeat(size.unwrap_or(8 << 20)));
            Answer::State(object.clone().into_value())
        }
        "wrong-type" => mistyped(call, object.clone()),
        _ => Answer::State(object.clone().into_value()),
    };
    let diagnostics = complaint(mode).map(Diagnostics::from).unwrap_or_default();
    Outcome { state, private: Bytes::new(), diagnostics }
}

/// The object with a list of numbers where its id should be, and its type accordingly.
fn mistyped(call: &Call, mut object: Object) -> Answer {
    let Type::Object(right) = call.kind() else { return Answer::Absent };
    let mut attributes = right.attributes.clone();
    attributes.insert("id".into(), Type::List(Type::Number.into()));
    object.set("id", Value::List(vec![Value::Number(Number::from(1))]));
    let kind = Type::Object(isthmus_cty::ObjectType { attributes, ..Default::default() }.into());
    Answer::Mistyped(object.into_value(), kind)
}

/// What is said in this mode.
fn complaint(mode: &str) -> Option<Diagnostic> {
    let asked = "It was asked to.";
    match mode {
        "error" => Some(Diagnostic::error("sandbox_faulty failed", asked).at(at("mode"))),
        "misplaced" => {
            let mut nowhere = at("mode");
            nowhere.0.extend([PathStep::Attribute("no_such_attribute".into()), PathStep::Index(3)]);
            Some(Diagnostic::error("sandbox_faulty failed somewhere", asked).at(nowhere))
        }
        "partial" => Some(Diagnostic::error("sandbox_faulty failed half way", asked)),
        "interrupted" => Some(Diagnostic::error("sandbox_faulty was interrupted", "It has made something.")),
        "warning" => Some(Diagnostic::warning("sandbox_faulty warns", asked).at(at("mode"))),
        "unknown-severity" => Some(Diagnostic {
            severity: Severity::Other(7),
            ..Diagnostic::error("sandbox_faulty mumbles", asked)
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_misbehaves_in_the_operation_that_was_asked_for_only() {
        let mut object = Object::default();
        object.set_text("mode", "crash");
        assert_eq!(mode(&object, "create"), Some("crash"));
        assert_eq!(mode(&object, "read"), None);
        object.set_text("during", "read");
        assert_eq!(mode(&object, "create"), None);
        assert_eq!(mode(&object, "read"), Some("crash"));
    }

    #[test]
    fn the_page_for_readers_tells_of_every_mode() {
        let page = include_str!("../README.md");
        for mode in MODES {
            assert!(page.contains(&format!("`{mode}`")), "README.md says nothing of {mode}");
        }
    }
}
