//! `sandbox_leak`: quotes a secret that it was given, for tests of those who print what a provider says.
//!
//! `how` says in what kind of text, `form` how the secret is written in it, and `during` in which operation. The secret is
//! `secret`, or else `open`, which a program may mark; an import takes it from the variable `LEAK_SECRET`, so that it is in
//! nothing that was typed.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
use bytes::Bytes;
use isthmus_cty::{Type, Value};
use tonic::Status;

use super::{Change, Outcome, Planned, Resource};
use crate::call::Call;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::log::{self, Level};
use crate::object::{Object, at};
use crate::planning::Plan;
use crate::protocol::{Minor, Protocol};
use crate::schema::{Attribute, Block, NestedBlock, Nesting, Schema, map_of_strings};

/// The resource. Its state is all there is of it.
#[derive(Debug)]
pub(super) struct Leak;

/// The variable with the secret of what is imported.
const VARIABLE: &str = "LEAK_SECRET";

impl Resource for Leak {
    fn type_name(&self) -> &'static str {
        "sandbox_leak"
    }

    fn schema(&self, _: Protocol, _: Minor) -> Schema {
        let login = Block {
            description: "Who logs in.",
            attributes: vec![
                Attribute::optional("user", Type::String),
                Attribute::optional("password", Type::String).sensitive(),
            ],
            blocks: Vec::new(),
        };
        let attributes = vec![
            Attribute::computed("id", Type::String).keeps(),
            Attribute::optional("secret", Type::String).sensitive().described("What is quoted."),
            Attribute::optional("pin", Type::Number).sensitive(),
            Attribute::optional("open", Type::String).described("What is quoted where there is no `secret`."),
            Attribute::optional("size", Type::Number),
            Attribute::optional("options", map_of_strings()),
            Attribute::optional("names", Type::Set(Type::String.into())),
            Attribute::optional("how", Type::String).described(
                "`error`, `attribute`, `warning`, `log`, `print`, `panic`, `status`, `partial` or `hang`.",
            ),
            Attribute::optional("during", Type::String).described("When; several are joined by `+`."),
            Attribute::optional("form", Type::String)
                .described("`plain`, `json`, `quoted`, `query`, `base64`, `base64url`, `basic`."),
        ];
        let blocks = vec![NestedBlock::new("login", Nesting::List, login)];
        let description = "Quotes what it should keep to itself. For tests.";
        Schema { version: 0, block: Block { description, attributes, blocks } }
    }

    fn validate(&self, _: &Call, config: &Object) -> Result<Diagnostics, Status> {
        Ok(said(config, "validate")?.map(Diagnostics::from).unwrap_or_default())
    }

    fn plan(&self, _: &Call, change: &Change, plan: Plan) -> Result<Planned, Status> {
        let object = Object::from_value(&change.config).or_else(|| change.prior_object()).unwrap_or_default();
        let diagnostics = said(&object, "plan")?.map(Diagnostics::from).unwrap_or_default();
        Ok(Planned { diagnostics, ..Planned::from(plan) })
    }

    fn create(&self, call: &Call, _: &Change, mut planned: Object) -> Result<Outcome, Status> {
        match call.new_id() {
            Ok(id) => planned.set_text("id", &id),
            Err(diagnostic) => return Ok(diagnostic.into()),
        }
        if planned.text("how") == Some("hang") {
            call.wait_for_cancel();
        }
        done(planned, "create")
    }

    fn read(&self, _: &Call, state: Object, private: Bytes) -> Result<Outcome, Status> {
        Ok(done(state, "read")?.with_private(private))
    }

    fn update(&self, _: &Call, change: &Change, planned: Object) -> Result<Outcome, Status> {
        let outcome = done(planned, "update")?;
        // What could not be changed is as it was.
        Ok(match (&outcome.state, change.prior_object()) {
            (super::Answer::State(Value::Null), Some(prior)) => {
                Outcome { diagnostics: outcome.diagnostics, ..Outcome::object(prior) }
            }
            _ => outcome,
        })
    }

    fn delete(&self, _: &Call, change: &Change) -> Result<Outcome, Status> {
        let prior = change.prior_object().unwrap_or_default();
        Ok(match said(&prior, "delete")? {
            Some(complaint) => Outcome::partial(prior, complaint),
            None => Outcome::gone(),
        })
    }

    /// By how it is to misbehave when it is read.
    fn import(&self, _: &Call, id: &str) -> Result<Outcome, Status> {
        let mut object = Object::default();
        for name in ["pin", "open", "size", "options", "names"] {
            object.set(name, Value::Null);
        }
        object.set("login", Value::List(Vec::new()));
        let secret = std::env::var(VARIABLE).unwrap_or_default();
        for (name, text) in
            [("id", id), ("secret", &secret), ("how", id), ("during", "read"), ("form", "plain")]
        {
            object.set_text(name, text);
        }
        Ok(Outcome::object(object))
    }
}

/// What an operation comes to whose object would be this.
fn done(object: Object, operation: &str) -> Result<Outcome, Status> {
    Ok(match said(&object, operation)? {
        None => Outcome::object(object),
        Some(complaint) if object.text("how") == Some("error") => complaint.into(),
        Some(complaint) => Outcome::partial(object, complaint),
    })
}

/// Says it, in the way that the object wants.
fn said(object: &Object, operation: &str) -> Result<Option<Diagnostic>, Status> {
    let is_wanted =
        object.text("during").is_some_and(|during| during.split('+').any(|word| word == operation));
    let Some(secret) = object.text("secret").or_else(|| object.text("open")).filter(|_| is_wanted) else {
        return Ok(None);
    };
    let quoted = quoted(secret, object.text("form").unwrap_or("plain"));
    let summary = "The service did not like it";
    let text = format!("it answered: <{quoted}> is not what it takes");
    match object.text("how").unwrap_or_default() {
        "error" | "partial" | "hang" => return Ok(Some(Diagnostic::error(summary, text))),
        "attribute" => return Ok(Some(Diagnostic::error(summary, text).at(at("open")))),
        "warning" => return Ok(Some(Diagnostic::warning(format!("{summary}: {quoted}"), text))),
        "log" => {
            log::write(Level::Warn, &text, &[("value", &quoted)]);
            log::write(Level::Debug, &format!("in detail: {text}"), &[("value", &quoted)]);
        }
        "print" => {
            drop(writeln!(std::io::stderr().lock(), "{text}"));
        }
        "panic" => {
            let trace = format!(
                "panic: {text}\n\ngoroutine 42 [running]:\nmain.(*leak).Create({{{secret:?}, 0x10}})\n"
            );
            drop(std::io::stderr().lock().write_all(trace.as_bytes()));
            std::process::exit(2);
        }
        "status" => return Err(Status::internal(text)),
        _ => {}
    }
    Ok(None)
}

/// The secret as texts of Go programs have it.
fn quoted(secret: &str, form: &str) -> String {
    match form {
        "json" => serde_json::json!({ "password": secret }).to_string(),
        "quoted" => format!("{secret:?}"),
        "query" => {
            let escaped: String = secret
                .bytes()
                .map(|byte| match byte {
                    b' ' => "+".to_owned(),
                    byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => {
                        char::from(byte).to_string()
                    }
                    byte => format!("%{byte:02X}"),
                })
                .collect();
            format!("https://example.com/login?password={escaped}&x=y")
        }
        "base64" => STANDARD.encode(secret),
        "base64url" => URL_SAFE.encode(secret),
        "basic" => format!("Authorization: Basic {}", STANDARD_NO_PAD.encode(format!("someone:{secret}"))),
        _ => secret.to_owned(),
    }
}
