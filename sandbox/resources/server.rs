//! `sandbox_server`: the resource with structure: blocks of all nestings that SDKs have, a dynamic
//! attribute, timeouts, and on protocol 6 nested attributes of all nestings but sets.
//!
//! It seals its private data with its id, and fails without it: with most providers, a client that
//! loses private data goes unnoticed.

use std::time::Duration;

use bytes::Bytes;
use isthmus_cty::{AttributePath, Number, PathStep, Type, Value};
use sha2::{Digest as _, Sha256};
use tonic::Status;

use crate::call::Call;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::duration;
use crate::object::{Object, at};
use crate::protocol::{Minor, Protocol};
use crate::resource::{Change, Outcome, Resource};
use crate::schema::{Attribute, Block, NestedBlock, Nesting, Presence, Schema};

#[derive(Debug)]
pub(super) struct Server;

/// Default timeout.
const PATIENCE: Duration = Duration::from_secs(20 * 60);

const OPERATIONS: [&str; 4] = ["create", "read", "update", "delete"];

impl Resource for Server {
    fn type_name(&self) -> &'static str {
        "sandbox_server"
    }

    fn schema(&self, protocol: Protocol, _: Minor) -> Schema {
        let mut attributes = vec![
            Attribute::computed("id", Type::String).keeps(),
            Attribute::required("name", Type::String).described("What the server is called."),
            Attribute::optional("image", Type::String).replaces().described("What it runs."),
            Attribute::optional("boot_time", Type::String)
                .described("How long making or changing it takes, such as 250ms or 3s."),
            Attribute::optional("metadata", Type::Dynamic).described("Whatever one likes."),
            Attribute::computed("status", Type::String).described("booting or running."),
        ];
        if protocol == Protocol::V6 {
            attributes.extend(nested_attributes());
        }
        let description = "A server, which takes as long to boot as it is told.";
        Schema { version: 0, block: Block { description, attributes, blocks: blocks() } }
    }

    fn validate(&self, _: &Call, config: &Object) -> Result<Diagnostics, Status> {
        let mut diagnostics = Diagnostics::default();
        let detail = "A duration is a whole number and ms, s, m or h.";
        let mut check = |object: &Object, name: &str, path: AttributePath| {
            if let Some(text) = object.text(name)
                && duration::parse(text).is_none()
            {
                diagnostics.push(Diagnostic::error(format!("{text:?} is not a duration"), detail).at(path));
            }
        };
        check(config, "boot_time", at("boot_time"));
        let timeouts = config.object("timeouts").unwrap_or_default();
        for operation in OPERATIONS {
            let mut path = at("timeouts");
            path.0.push(PathStep::Attribute(operation.into()));
            check(&timeouts, operation, path);
        }
        if let Value::List(disks) = config.value("disk") {
            for (index, disk) in disks.iter().enumerate() {
                let size = Object::from_value(disk).and_then(|disk| disk.integer("size"));
                if size.is_some_and(|size| size <= 0) {
                    let steps = ["disk", "size"].map(|name| PathStep::Attribute(name.into()));
                    let [disk, size] = steps;
                    let path = AttributePath(vec![disk, PathStep::Index(index), size]);
                    diagnostics
                        .push(Diagnostic::error("A disk has no room", "Give it a size above 0.").at(path));
                }
            }
        }
        Ok(diagnostics)
    }

    fn create(&self, call: &Call, _: &Change, planned: Object) -> Result<Outcome, Status> {
        Ok(call.new_id().map_or_else(Outcome::from, |id| boot(call, "create", &id, planned)))
    }

    fn read(&self, call: &Call, state: Object, private: Bytes) -> Result<Outcome, Status> {
        let id = state.text("id").unwrap_or_default();
        let loaded = check_seal(id, &private).and_then(|()| call.load(id));
        Ok(match loaded {
            Ok(Some(object)) => Outcome::object(object).with_private(private),
            Ok(None) => Outcome::gone(),
            Err(diagnostic) => Outcome::partial(state, diagnostic).with_private(private),
        })
    }

    fn update(&self, call: &Call, change: &Change, planned: Object) -> Result<Outcome, Status> {
        let prior = change.prior_object().unwrap_or_default();
        let id = prior.text("id").unwrap_or_default().to_owned();
        Ok(match check_seal(&id, &change.private) {
            Ok(()) => boot(call, "update", &id, planned),
            Err(diagnostic) => Outcome::partial(prior, diagnostic).with_private(change.private.clone()),
        })
    }

    fn delete(&self, call: &Call, change: &Change) -> Result<Outcome, Status> {
        let prior = change.prior_object().unwrap_or_default();
        let id = prior.text("id").unwrap_or_default();
        // Terraform plans the replacement of a tainted object without private data, and deletes it
        // with that plan.
        let sealed = if change.private.is_empty() { Ok(()) } else { check_seal(id, &change.private) };
        Ok(match sealed.and_then(|()| call.remove(id)) {
            Ok(_) => Outcome::gone(),
            Err(diagnostic) => Outcome::partial(prior, diagnostic).with_private(change.private.clone()),
        })
    }

    fn import(&self, _: &Call, id: &str) -> Result<Outcome, Status> {
        let mut object = Object::default();
        object.set_text("id", id);
        Ok(Outcome::object(object).with_private(seal(id)))
    }
}

fn blocks() -> Vec<NestedBlock> {
    let block = |attributes| Block { attributes, ..Block::default() };
    let disk = block(vec![
        Attribute::required("mount", Type::String).described("Where it is seen."),
        Attribute::optional_computed("size", Type::Number).or(number(10)).described("In gibibytes."),
        Attribute::computed("device", Type::String).keeps(),
    ]);
    let rule = block(vec![
        Attribute::required("port", Type::Number),
        Attribute::optional("cidr", Type::String),
        Attribute::computed("id", Type::String).keeps(),
    ]);
    let limits = block(vec![
        Attribute::optional("cpu", Type::Number),
        Attribute::optional("memory", Type::Number),
        Attribute::optional("zone", Type::String).replaces(),
    ]);
    let timeouts = OPERATIONS.map(|name| Attribute::optional(name, Type::String));
    vec![
        NestedBlock::new("disk", Nesting::List, disk).at_most(4),
        NestedBlock::new("rule", Nesting::Set, rule),
        NestedBlock::new("limits", Nesting::Single, limits),
        NestedBlock::new("timeouts", Nesting::Single, block(timeouts.to_vec())),
    ]
}

fn nested_attributes() -> Vec<Attribute> {
    let network = vec![
        Attribute::required("name", Type::String),
        Attribute::optional_computed("mtu", Type::Number).or(number(1500)),
        Attribute::computed("address", Type::String).keeps(),
    ];
    let interface = vec![
        Attribute::required("name", Type::String),
        Attribute::optional("primary", Type::Bool),
        Attribute::computed("mac", Type::String).keeps(),
    ];
    let volume =
        vec![Attribute::required("size", Type::Number), Attribute::optional("key", Type::String).sensitive()];
    vec![
        Attribute::nested("network", Nesting::Single, Presence::Optional, network),
        Attribute::nested("interfaces", Nesting::List, Presence::Optional, interface),
        Attribute::nested("volumes", Nesting::Map, Presence::Optional, volume),
    ]
}

/// Creates or updates the server. After a timeout it exists, incomplete.
fn boot(call: &Call, operation: &str, id: &str, mut server: Object) -> Outcome {
    server.set_text("id", id);
    fill_computed(id, &mut server);
    let needed = server.text("boot_time").and_then(duration::parse).unwrap_or_default();
    let timeouts = server.object("timeouts").unwrap_or_default();
    let allowed = timeouts.text(operation).and_then(duration::parse).unwrap_or(PATIENCE);

    let waited = call.wait(needed.min(allowed));
    let trouble = match (waited, needed <= allowed) {
        (true, true) => None,
        (true, false) => Some(Diagnostic::error(
            format!("The server did not boot within {allowed:?}"),
            format!("Raise timeouts.{operation}, or shorten boot_time."),
        )),
        (false, _) => Some(Diagnostic::error("The server was interrupted while booting", "Apply again.")),
    };
    server.set_text("status", if trouble.is_none() { "running" } else { "booting" });

    let trouble = trouble.or(call.save(id, &server).err());
    let outcome = match trouble {
        None => Outcome::object(server),
        Some(diagnostic) => {
            drop(call.save(id, &server));
            Outcome::partial(server, diagnostic)
        }
    };
    outcome.with_private(seal(id))
}

/// Sets unknown values, derived from the server's id, so that they are stable.
fn fill_computed(id: &str, server: &mut Object) {
    let digits = |salt: &str| hex::encode(&Sha256::digest(format!("{id} {salt}"))[..3]);
    server.change_elements("disk", |index, disk| {
        set_unknown(disk, "device", || format!("/dev/disk{index}"));
    });
    server.change_elements("rule", |_, rule| {
        let salt = format!("{:?} {:?}", rule.integer("port"), rule.text("cidr"));
        set_unknown(rule, "id", || format!("rule-{}", digits(&salt)));
    });
    server.change_elements("interfaces", |index, interface| {
        let digits = digits(&format!("interface {index}"));
        set_unknown(interface, "mac", || {
            format!("02:00:00:{}:{}:{}", &digits[..2], &digits[2..4], &digits[4..])
        });
    });
    if let Some(mut network) = server.object("network") {
        set_unknown(&mut network, "address", || "10.0.0.1".to_owned());
        server.set("network", network.into_value());
    }
}

fn set_unknown(object: &mut Object, name: &str, value: impl FnOnce() -> String) {
    if matches!(object.value(name), Value::Unknown(_)) {
        object.set_text(name, &value());
    }
}

fn seal(id: &str) -> Bytes {
    Bytes::from(serde_json::json!({ "sandbox_seal": id }).to_string())
}

fn check_seal(id: &str, private: &Bytes) -> Result<(), Diagnostic> {
    if *private == seal(id) {
        return Ok(());
    }
    let detail = format!(
        "The provider gave out {:?} with the server, and got {:?} back.",
        String::from_utf8_lossy(&seal(id)),
        String::from_utf8_lossy(private)
    );
    Err(Diagnostic::error("The private state was lost", detail))
}

fn number(number: i64) -> Value {
    Value::Number(Number::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_of_another_server_is_no_seal() {
        assert_eq!(check_seal("a", &seal("a")), Ok(()));
        assert!(check_seal("a", &seal("b")).is_err());
        assert!(check_seal("a", &Bytes::new()).is_err());
    }
}
