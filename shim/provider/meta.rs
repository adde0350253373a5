//! `provider_meta`: metadata of a Terraform module for a provider.
//!
//! Providers that use it have a schema for it (protocol 5.2, 6.0), and receive it with every read,
//! plan, apply and data read: null unless configured.

use std::collections::BTreeMap;
use std::sync::Arc;

use isthmus_cty::json::{Json, from_tree};
use isthmus_cty::{AttributePath, Number, PathStep, Type, Value, normalize};
use isthmus_proto::tfplugin6;

use super::{Diagnostic, Provider, ProviderError, Rpc, dynamic};
use crate::rules::{empty_block, join_blocks};
use crate::schema::{Attribute, Block, BlockNesting, NestedBlock};

impl Provider {
    /// Sets the content of `provider_meta`, in the form of JSON configuration, for all following
    /// calls; the first one remains. For a provider without a schema for it, this is a warning.
    /// `origin` and `place` are its location, for messages.
    ///
    /// # Errors
    /// [`ProviderError::Meta`] with the path that does not conform to the schema.
    pub fn take_meta(
        &self,
        written: &Json,
        origin: &str,
        place: &str,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let Some(schema) = self.catalogue().provider_meta() else {
            warnings.push(Diagnostic::warning(
                format!("{origin} has no effect for {place}"),
                format!("The provider {} takes no metadata.", self.name()),
            ));
            return Ok(());
        };
        let value = of_block(written, &schema.block, &mut AttributePath::default()).map_err(|fault| {
            let dot = if matches!(fault.path.0.first(), Some(PathStep::Attribute(_))) { "." } else { "" };
            let path = format!("{place}{dot}{}", fault.path);
            ProviderError::Meta { origin: origin.to_owned(), path, reason: fault.reason }
        })?;
        // A concurrent call has set the same value.
        let _ = self.shared.meta.set(value);
        Ok(())
    }

    /// The value in a call; none without a schema.
    pub(super) fn provider_meta(&self, rpc: Rpc) -> Result<Option<tfplugin6::DynamicValue>, ProviderError> {
        let Some(schema) = self.catalogue().provider_meta() else { return Ok(None) };
        let value = self.shared.meta.get().unwrap_or(&Value::Null);
        dynamic::encode(value, &schema.block.implied_type, self.operation(rpc), "provider_meta")
    }
}

/// A violation of the schema.
#[derive(Debug)]
struct Fault {
    path: AttributePath,
    reason: String,
}

fn of_block(written: &Json, block: &Block, path: &mut AttributePath) -> Result<Value, Fault> {
    let Json::Object(members) = written else { return Err(fault(path, "an object is required")) };
    let is_there = |name: &str| {
        block.attributes.iter().any(|attribute| *attribute.name == *name)
            || block.blocks.iter().any(|nested| *nested.name == *name)
    };
    if let Some((name, _)) = members.iter().find(|(name, _)| !is_there(name)) {
        let known = block.attributes.iter().map(|attribute| &attribute.name);
        let known: Vec<String> = known
            .chain(block.blocks.iter().map(|nested| &nested.name))
            .map(|name| format!("{name:?}"))
            .collect();
        let reason = format!("the provider has nothing of this name; it has {}", known.join(", "));
        return within(path, PathStep::Attribute(Arc::from(name.as_str())), |path| Err(fault(path, &reason)));
    }
    let Value::Object(mut values) = empty_block(block) else {
        return Err(fault(path, "the provider's schema is of no object"));
    };
    for attribute in &block.attributes {
        let value = within(path, PathStep::Attribute(attribute.name.clone()), |path| {
            of_attribute(written.member(&attribute.name), attribute, path)
        })?;
        values.insert(attribute.name.clone(), value);
    }
    for nested in &block.blocks {
        let step = PathStep::Attribute(nested.name.clone());
        let found = within(path, step, |path| of_blocks(written.member(&nested.name), nested, path))?;
        values.extend(found.map(|value| (nested.name.clone(), value)));
    }
    Ok(Value::Object(values))
}

fn of_attribute(
    written: Option<&Json>,
    attribute: &Attribute,
    path: &mut AttributePath,
) -> Result<Value, Fault> {
    match written {
        None | Some(Json::Null) if attribute.required => Err(fault(path, "it is required")),
        None | Some(Json::Null) => Ok(Value::Null),
        Some(_) if !attribute.required && !attribute.optional => {
            Err(fault(path, "the provider sets it itself"))
        }
        Some(written) => match attribute.attribute_type.implied_type() {
            Type::Dynamic => {
                let (own, value) = inferred(written, path)?;
                Ok(Value::dynamic(own, value))
            }
            own => from_tree(written, own).map_err(|error| {
                let path = AttributePath(path.0.iter().cloned().chain(error.path.0).collect());
                Fault { path, reason: error.reason.to_string() }
            }),
        },
    }
}

/// `None`: no blocks, as in the empty block.
fn of_blocks(
    written: Option<&Json>,
    nested: &NestedBlock,
    path: &mut AttributePath,
) -> Result<Option<Value>, Fault> {
    let block = &nested.block;
    let written = written.filter(|written| !matches!(written, Json::Null));
    let value = match nested.nesting {
        BlockNesting::Single | BlockNesting::Group => match written {
            Some(written) => of_block(written, block, path)?,
            None if nested.min_items > 0 => return Err(fault(path, "it is required")),
            None => return Ok(None),
        },
        BlockNesting::List | BlockNesting::Set => {
            // As in configuration, a single block needs no list.
            let items = match written {
                None => &[][..],
                Some(Json::Array(items)) => items,
                Some(one) => std::slice::from_ref(one),
            };
            let (given, least, most) = (items.len() as u64, nested.min_items, nested.max_items);
            if given < least || (most > 0 && given > most) {
                let wanted =
                    if given < least { format!("at least {least}") } else { format!("at most {most}") };
                return Err(fault(path, &format!("{wanted} must be given, not {given}")));
            }
            if items.is_empty() {
                return Ok(None);
            }
            let values = items.iter().enumerate().map(|(index, item)| {
                within(path, PathStep::Index(index), |path| of_block(item, block, path))
            });
            let values = values.collect::<Result<Vec<_>, _>>()?;
            if nested.nesting == BlockNesting::Set { Value::set(values) } else { Value::List(values) }
        }
        BlockNesting::Map => {
            let Some(written) = written else { return Ok(None) };
            let Json::Object(members) = written else { return Err(fault(path, "an object is required")) };
            let mut values = BTreeMap::new();
            for (key, member) in members {
                let key = normalize(key);
                let value = within(path, PathStep::Key(key.clone()), |path| of_block(member, block, path))?;
                values.insert(key, value);
            }
            if values.is_empty() {
                return Ok(None);
            }
            Value::Map(values)
        }
    };
    Ok(Some(if nested.implied_type == Type::Dynamic {
        join_blocks(value, &block.implied_type)
    } else {
        value
    }))
}

/// A value of the type that Terraform infers for JSON.
fn inferred(written: &Json, path: &mut AttributePath) -> Result<(Type, Value), Fault> {
    Ok(match written {
        Json::Null => (Type::Dynamic, Value::Null),
        Json::Bool(value) => (Type::Bool, Value::Bool(*value)),
        Json::Number(text) => {
            let number = Number::from_decimal(text).map_err(|error| fault(path, &error.to_string()))?;
            (Type::Number, Value::Number(number))
        }
        Json::String(text) => (Type::String, Value::string(text)),
        Json::Array(items) => {
            let items = items
                .iter()
                .enumerate()
                .map(|(index, item)| within(path, PathStep::Index(index), |path| inferred(item, path)));
            let (types, values): (Vec<_>, Vec<_>) = items.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
            (Type::Tuple(types.into()), Value::Tuple(values))
        }
        Json::Object(members) => {
            let (mut types, mut values) = (Vec::new(), BTreeMap::new());
            for (name, member) in members {
                let name = normalize(name);
                let step = PathStep::Attribute(name.clone());
                let (own, value) = within(path, step, |path| inferred(member, path))?;
                types.push((name.clone(), own));
                values.insert(name, value);
            }
            (Type::object(types), Value::Object(values))
        }
    })
}

fn fault(path: &AttributePath, reason: &str) -> Fault {
    Fault { path: path.clone(), reason: reason.to_owned() }
}

fn within<T>(
    path: &mut AttributePath,
    step: PathStep,
    read: impl FnOnce(&mut AttributePath) -> Result<T, Fault>,
) -> Result<T, Fault> {
    path.0.push(step);
    let read = read(path);
    path.0.pop();
    read
}

#[cfg(test)]
mod tests {
    use tfplugin6::schema::nested_block::NestingMode as Mode;

    use super::*;
    use crate::rules::testing::object;
    use crate::schema::testing::{attribute, block, compiled, nested_block};

    fn schema() -> Block {
        let text = |name: &str, flags: &str| attribute(name, "\"string\"", flags);
        let part = || block(vec![text("name", "r")], vec![]);
        compiled(block(
            vec![
                text("module", "o"),
                attribute("tags", r#"["map","number"]"#, "o"),
                attribute("open", "\"dynamic\"", "o"),
                text("seen", "c"),
            ],
            vec![
                nested_block("part", Mode::List, part()),
                nested_block("single", Mode::Single, part()),
                nested_block("by_key", Mode::Map, part()),
            ],
        ))
    }

    fn read(text: &str) -> Result<Value, (String, String)> {
        let json = Json::parse(text.as_bytes()).expect("tests write JSON");
        of_block(&json, &schema(), &mut AttributePath::default())
            .map_err(|fault| (fault.path.to_string(), fault.reason))
    }

    #[test]
    fn what_is_written_is_read_by_the_schema() {
        for text in [
            "{}",
            r#"{"module": "blueprint"}"#,
            r#"{"tags": {"a": 1}, "part": [{"name": "x"}, {"name": "y"}]}"#,
            r#"{"single": {"name": "x"}, "by_key": {"k": {"name": "y"}}}"#,
        ] {
            assert_eq!(read(text), Ok(object(&schema(), text)), "{text}");
        }
        let alone = read(r#"{"part": {"name": "x"}}"#);
        assert_eq!(alone, Ok(object(&schema(), r#"{"part": [{"name": "x"}]}"#)), "one needs no list");
        let open = read(r#"{"open": {"a": [1, true, null]}}"#).expect("anything will do");
        let Some(Value::Dynamic(both)) = open.attribute("open") else { panic!("{open:?}") };
        let tuple = Type::tuple([Type::Number, Type::Bool, Type::Dynamic]);
        assert_eq!(both.0, Type::object([(Arc::from("a"), tuple)]));
    }

    #[test]
    fn violations_are_reported_with_their_path() {
        for (text, path, words) in [
            ("[]", "", "an object is required"),
            (r#"{"modul": "x"}"#, "modul", "nothing of this name; it has \"module\""),
            (r#"{"module": []}"#, "module", "a string is required"),
            (r#"{"tags": {"a": "one"}}"#, "tags[\"a\"]", "a number is required"),
            (r#"{"seen": "x"}"#, "seen", "the provider sets it itself"),
            (r#"{"part": [{"name": "x"}, {}]}"#, "part[1].name", "it is required"),
            (r#"{"part": [{"name": "x", "nr": 1}]}"#, "part[0].nr", "nothing of this name"),
            (r#"{"single": 1}"#, "single", "an object is required"),
            (r#"{"by_key": {"k": {"name": {}}}}"#, "by_key[\"k\"].name", "a string is required"),
        ] {
            let (at, reason) = read(text).expect_err(text);
            assert_eq!(at, path, "{text}");
            assert!(reason.contains(words), "{text}: {reason}");
        }
    }
}
