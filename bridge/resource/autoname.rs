//! Autonaming: the name that Check makes up for a resource to which the program gave none.
//!
//! Programs, and state that came from the Go bridge, rely on its rules, so they are the same to the letter: which resources
//! ([`ResourceShape::autonamed`]), from what the name is made, how long it may be, and that a name once made stays until the
//! resource is replaced. A `name` that is there is the program's own business, even if it is null or not known yet; null
//! says that there shall be none.
//!
//! A name cannot always be made. The property then stays absent, which is an error only where the provider needs it, and the
//! reason is there for whoever has to say so.

use isthmus_proto::property::{Struct, Value};

use crate::names::random_digits::{NoRandomNumbers, random_digits};
use crate::package::shape::{Field, ResourceShape};
use crate::translate::property::{self, PropertyView};

/// The longest name, in bytes.
const LONGEST: usize = 255;

/// How many random digits stand at a name's end.
const RANDOM_DIGITS: usize = 7;

/// What an engine says of the name of a resource.
#[derive(Clone, Debug)]
pub(crate) struct Naming<'a> {
    /// What the program calls the resource: the last part of its URN.
    pub resource: &'a str,
    /// The resource's stored inputs; empty when a new one is about to be made.
    pub olds: &'a Struct,
    /// What random digits are drawn from; empty for any.
    pub seed: &'a [u8],
    /// What the stack's configuration (`pulumi:autonaming`) says.
    pub autonaming_mode: AutonamingMode<'a>,
}

/// What the user wants of made-up names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AutonamingMode<'a> {
    /// Nothing in particular: the resource's name and random digits.
    Any,
    /// This name, unless it cannot be used.
    Proposed(&'a str),
    /// Exactly this name.
    Enforced(&'a str),
    /// None.
    Disabled,
}

/// No name was made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unnamed {
    /// The user does not want any.
    #[error(
        "automatic naming is disabled (`pulumi:autonaming` in the stack's configuration), so the program has to set it"
    )]
    Disabled,
    /// It would be longer than any name may be.
    #[error("the made-up name would be {bytes} bytes long, more than {LONGEST}; set it, or shorten {what}")]
    TooLong {
        /// How long it would be.
        bytes: usize,
        /// What it was made from.
        what: &'static str,
    },
    /// There is nothing to make it from.
    #[error("no name can be generated, because the engine did not send the name of the resource; set it")]
    Nameless,
    /// There is nothing to make it unique with.
    #[error("no name can be generated; set it")]
    Random(#[from] NoRandomNumbers),
}

/// Adds the name to `inputs` if the resource is to have one and the program gave none: the property that was added.
///
/// # Errors
/// When a name is wanted and cannot be made; `inputs` are as they were.
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
        Some(name) => name,
        None => Value::from(new_name(naming)?),
    };
    inputs.insert(&*field.pulumi, name);
    Ok(Some(field))
}

/// The name that the resource has had so far, as secret as it was.
fn former_name(olds: &Struct, field: &Field) -> Option<Value> {
    let former = olds.get(&field.pulumi)?;
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
            within_limit(name.len(), "what `pulumi:autonaming` makes")?;
            Ok(name.to_owned())
        }
        AutonamingMode::Enforced(name) => Ok(name.to_owned()),
        AutonamingMode::Disabled => Err(Unnamed::Disabled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::shape::{PackageNaming, compile_resource};
    use crate::package::testing::{attribute, compiled, computed, required, schema};
    use crate::translate::property::{secret, unknown};

    fn shape() -> ResourceShape {
        resource(required("name", "\"string\""))
    }

    fn resource(name: isthmus_proto::tfplugin6::schema::Attribute) -> ResourceShape {
        let naming = PackageNaming { package: "test", prefix: "test" };
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
        for former in [Value::Null, Value::from(5.0), unknown(), secret(Value::Null)] {
            let olds = Struct::from([("name", former)]);
            let name = named(Struct::default(), &naming(&olds, AutonamingMode::Enforced("new")));
            assert_eq!(name, Ok(Some(Value::from("new"))));
        }
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
