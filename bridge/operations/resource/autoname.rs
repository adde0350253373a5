//! Autonaming: the name that Check generates for a resource without one.
//!
//! Programs, and state from the Go bridge, rely on its rules, so these are identical: which
//! resources ([`ResourceShape::autonamed`]), from what the name is formed, its maximum length, and
//! that a generated name stays until the resource is replaced. A `name` that is set is the
//! program's, even if unknown or null; null means no name. Stored inputs have a null only if the
//! program does, or for an object that came from a Terraform state without a name; it stays, too.
//!
//! If no name can be generated, the property stays absent, which is an error only where the
//! provider requires it; the reason is returned for the message.

use isthmus_proto::property::{Struct, Value};

use isthmus_package::names::random_digits::{NoRandomNumbers, random_digits};
use isthmus_package::shape::{Field, ResourceShape};
use isthmus_translate::property::{self, PropertyView};

/// Maximum length of a name, in bytes.
const LONGEST: usize = 255;

/// Number of random digits at a name's end.
const RANDOM_DIGITS: usize = 7;

/// The engine's information for the name of a resource.
#[derive(Clone, Debug)]
pub struct Naming<'a> {
    /// The name in the program: the last part of the URN.
    pub resource: &'a str,
    /// The resource's stored inputs; empty for a creation.
    pub olds: &'a Struct,
    /// Seed of the random digits; empty for none.
    pub seed: &'a [u8],
    /// The stack's configuration `pulumi:autonaming`.
    pub autonaming_mode: AutonamingMode<'a>,
}

/// How names are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutonamingMode<'a> {
    /// The default: the resource's name and random digits.
    Any,
    /// This name, unless it is unusable.
    Proposed(&'a str),
    /// Exactly this name.
    Enforced(&'a str),
    Disabled,
}

/// Why no name was generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unnamed {
    #[error(
        "automatic naming is disabled (`pulumi:autonaming` in the stack's configuration), so the program has to set it"
    )]
    Disabled,
    #[error("the generated name would be {bytes} bytes long, more than {LONGEST}; set it, or shorten {what}")]
    TooLong {
        /// Length of the generated name.
        bytes: usize,
        /// What it was formed from.
        what: &'static str,
    },
    /// The engine sent no resource name.
    #[error("no name can be generated, because the engine did not send the name of the resource; set it")]
    Nameless,
    #[error("no name can be generated; set it")]
    Random(#[from] NoRandomNumbers),
}

/// Adds a name to `inputs` if the resource has none, and returns the property.
///
/// # Errors
/// If a name cannot be generated; `inputs` are unchanged then.
pub(super) fn add_name<'a>(
    inputs: &mut Struct,
    shape: &'a ResourceShape,
    naming: &Naming<'_>,
) -> Result<Option<&'a Field>, Unnamed> {
    let Some(field) = shape.autonamed() else { return Ok(None) };
    if inputs.get(&field.pulumi).is_some() {
        return Ok(None);
    }
    let name = match former_name(naming.olds, field) {
        Some(Value::Null) => {
            inputs.insert(&*field.pulumi, Value::Null);
            return Ok(None);
        }
        Some(name) => name,
        None => Value::from(new_name(naming)?),
    };
    inputs.insert(&*field.pulumi, name);
    Ok(Some(field))
}

/// The resource's name so far, with its secret mark, or null if it is to have none.
fn former_name(olds: &Struct, field: &Field) -> Option<Value> {
    let former = olds.get(&field.pulumi)?;
    if former.is_null() && !field.required {
        return Some(Value::Null);
    }
    matches!(property::unwrap(former), Ok((PropertyView::String(_), _))).then(|| former.clone())
}

fn new_name(naming: &Naming<'_>) -> Result<String, Unnamed> {
    let within_limit = |bytes, what| {
        if bytes > LONGEST { Err(Unnamed::TooLong { bytes, what }) } else { Ok(()) }
    };
    match naming.autonaming_mode {
        AutonamingMode::Any => {
            if naming.resource.is_empty() {
                return Err(Unnamed::Nameless);
            }
            within_limit(naming.resource.len() + 1 + RANDOM_DIGITS, "the resource's own name")?;
            Ok(format!("{}-{}", naming.resource, random_digits(naming.seed, RANDOM_DIGITS)?))
        }
        AutonamingMode::Proposed(name) => {
            within_limit(name.len(), "the name from `pulumi:autonaming`")?;
            Ok(name.to_owned())
        }
        AutonamingMode::Enforced(name) => Ok(name.to_owned()),
        AutonamingMode::Disabled => Err(Unnamed::Disabled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_package::shape::{PackageNaming, compile_resource};
    use isthmus_package::testing::{attribute, compiled, computed, required, schema};
    use isthmus_translate::property::{secret, unknown};

    fn shape() -> ResourceShape {
        resource(required("name", "\"string\""))
    }

    fn resource(name: isthmus_proto::tfplugin6::schema::Attribute) -> ResourceShape {
        let naming = PackageNaming::new("test", "test");
        let other = attribute("other", "\"string\"");
        compile_resource(
            "test_res",
            "test:index/res:Res",
            compiled(&schema(vec![name, other], vec![])),
            naming,
        )
    }

    fn naming<'a>(olds: &'a Struct, autonaming_mode: AutonamingMode<'a>) -> Naming<'a> {
        Naming { resource: "web", olds, seed: b"seed", autonaming_mode }
    }

    fn named(news: Struct, naming: &Naming<'_>) -> Result<Option<Value>, Unnamed> {
        let shape = shape();
        let mut inputs = news;
        let added = add_name(&mut inputs, &shape, naming)?;
        let name = inputs.get("name").cloned();
        assert_eq!(added.map(|field| &*field.pulumi), name.as_ref().map(|_| "name"));
        Ok(name)
    }

    #[test]
    fn a_name_is_the_resources_and_digits_of_the_seed() {
        let none = Struct::default();
        let name = || named(Struct::default(), &naming(&none, AutonamingMode::Any)).unwrap().unwrap();
        let Value::String(text) = name() else { panic!("a name is text: {:?}", name()) };
        assert!(text.starts_with("web-") && text.len() == "web-".len() + RANDOM_DIGITS, "{text}");
        assert_eq!(name(), Value::from(text));
    }

    #[test]
    fn a_former_name_stays_whatever_the_user_wants_now() {
        for former in [Value::from("was"), Value::from(""), secret(Value::from("hidden"))] {
            let olds = Struct::from([("name", former.clone())]);
            for autonaming_mode in [
                AutonamingMode::Any,
                AutonamingMode::Proposed("p"),
                AutonamingMode::Enforced("e"),
                AutonamingMode::Disabled,
            ] {
                assert_eq!(
                    named(Struct::default(), &naming(&olds, autonaming_mode)),
                    Ok(Some(former.clone()))
                );
            }
        }
    }

    #[test]
    fn what_was_no_text_is_no_former_name() {
        for former in [Value::from(5.0), unknown(), secret(Value::Null)] {
            let olds = Struct::from([("name", former)]);
            let name = named(Struct::default(), &naming(&olds, AutonamingMode::Enforced("new")));
            assert_eq!(name, Ok(Some(Value::from("new"))));
        }
    }

    #[test]
    fn an_object_without_a_name_gets_none_as_long_as_none_is_required() {
        let olds = Struct::from([("name", Value::Null)]);
        let naming = naming(&olds, AutonamingMode::Any);
        let optional = resource(attribute("name", "\"string\""));
        let mut inputs = Struct::default();
        assert!(matches!(add_name(&mut inputs, &optional, &naming), Ok(None)));
        assert_eq!(inputs, olds, "the null stays for the next time");
        let name = named(Struct::default(), &naming).unwrap().unwrap();
        assert!(name.as_str().is_some_and(|name| name.starts_with("web-")), "{name:?}");
    }

    #[test]
    fn a_name_of_the_programs_own_is_left_alone() {
        let (shape, none) = (shape(), Struct::default());
        for own in [Value::from("own"), Value::Null, unknown(), secret(Value::from("own")), Value::from(5.0)]
        {
            let mut inputs = Struct::from([("name", own.clone())]);
            let added = add_name(&mut inputs, &shape, &naming(&none, AutonamingMode::Enforced("other")));
            assert!(matches!(added, Ok(None)), "{added:?}");
            assert_eq!(inputs, Struct::from([("name", own)]));
        }
    }

    #[test]
    fn a_resource_without_a_configurable_name_gets_none() {
        let none = Struct::default();
        for name in [
            computed("name", "\"string\""),
            attribute("name", "\"number\""),
            attribute("title", "\"string\""),
        ] {
            let mut inputs = Struct::default();
            let added =
                add_name(&mut inputs, &resource(name), &naming(&none, AutonamingMode::Disabled)).map(|_| ());
            assert_eq!((added, inputs), (Ok(()), Struct::default()));
        }
    }

    #[test]
    fn a_name_that_is_proposed_is_taken_and_one_that_is_enforced_even_if_it_is_too_long() {
        let (none, fits, too_long) = (Struct::default(), "p".repeat(LONGEST), "p".repeat(LONGEST + 1));
        let name = |autonaming_mode| named(Struct::default(), &naming(&none, autonaming_mode));
        assert_eq!(name(AutonamingMode::Proposed(&fits)), Ok(Some(Value::from(fits.clone()))));
        assert!(matches!(
            name(AutonamingMode::Proposed(&too_long)),
            Err(Unnamed::TooLong { bytes: 256, .. })
        ));
        assert_eq!(name(AutonamingMode::Enforced(&too_long)), Ok(Some(Value::from(too_long.clone()))));
        assert_eq!(name(AutonamingMode::Disabled), Err(Unnamed::Disabled));
    }

    #[test]
    fn length_is_counted_in_bytes() {
        let none = Struct::default();
        let shape = shape();
        let outcome = |resource: &str| {
            let naming = Naming { resource, ..naming(&none, AutonamingMode::Any) };
            add_name(&mut Struct::default(), &shape, &naming).map(|_| ())
        };
        assert_eq!(outcome(&"a".repeat(LONGEST - 8)), Ok(()));
        assert!(matches!(outcome(&"a".repeat(LONGEST - 7)), Err(Unnamed::TooLong { bytes: 256, .. })));
        assert!(matches!(outcome(&"ä".repeat(124)), Err(Unnamed::TooLong { bytes: 256, .. })));
        assert_eq!(outcome(""), Err(Unnamed::Nameless));
    }
}
