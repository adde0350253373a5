//! The method that returns the provider's configuration for Terraform modules.
//!
//! A module runs under Terraform itself, with the same provider; the result is its `provider`
//! block, with Terraform's names, in JSON configuration syntax.

use isthmus_cty::Value;
use isthmus_proto::property::{Struct, Value as Property};
use isthmus_provider::rules::empty_block;
use isthmus_provider::schema::{Block, NestedBlock};

use super::target;
use isthmus_operations::resource::OperationError;
use isthmus_package::schema::TERRAFORM_CONFIG;
use isthmus_session::daemon::Instance;
use isthmus_translate::outputs::number_property;
use isthmus_translate::property::secret;

/// Prefix of the tokens of provider methods.
const PROVIDERS: &str = "pulumi:providers:";

#[derive(Debug, thiserror::Error)]
pub(crate) enum MethodError {
    #[error("unknown method {token}; a provider has one method, `{TERRAFORM_CONFIG}`")]
    Unknown {
        /// The method's token.
        token: String,
    },
    /// The configuration contains unknown values.
    #[error(
        "It looks like you're trying to use the provider's terraformConfig function. The result of this function is meant \
         for use as the config value of a required provider for a Pulumi Terraform Module. All inputs to provider \
         configuration must be known for this feature to work."
    )]
    NotKnown,
    #[error(transparent)]
    Schema(#[from] OperationError),
}

/// Calls a method of the provider resource. A plugin without a provider has an empty configuration.
///
/// The member `result` has all attributes of the schema, with null for unset ones. Each is secret
/// as a whole.
pub(crate) async fn call(instance: Option<&Instance>, token: &str) -> Result<Struct, MethodError> {
    let method = token.strip_prefix(PROVIDERS).and_then(|rest| rest.split_once('/'));
    if method.is_none_or(|(_, name)| name != TERRAFORM_CONFIG) {
        return Err(MethodError::Unknown { token: token.to_owned() });
    }
    let members = match instance {
        None => Struct::new(),
        Some(instance) => {
            let provider = instance.provider();
            let target = target(instance, &provider)?;
            let block = &target.shape.schema.block;
            let config = instance.known_config().await.unwrap_or_else(|| empty_block(block));
            let Property::Struct(members) = block_json(&config, block)? else {
                return Err(MethodError::NotKnown);
            };
            members.into_iter().map(|(name, value)| (name, secret(value))).collect()
        }
    };
    Ok([("result".to_owned(), Property::Struct(members))].into_iter().collect())
}

fn block_json(value: &Value, block: &Block) -> Result<Property, MethodError> {
    let Value::Object(attributes) = value else { return json(value) };
    let members = attributes.iter().map(|(name, value)| {
        let nested = block.blocks.iter().find(|nested| nested.name == *name);
        let member = match nested {
            Some(nested) => nested_json(value, nested)?,
            None => json(value)?,
        };
        Ok((name.to_string(), member))
    });
    Ok(Property::Struct(members.collect::<Result<_, MethodError>>()?))
}

/// An absent block is null here, instead of the empty collection that providers get.
fn nested_json(value: &Value, nested: &NestedBlock) -> Result<Property, MethodError> {
    Ok(match value {
        Value::List(elements) | Value::Set(elements) | Value::Tuple(elements) if elements.is_empty() => {
            Property::Null
        }
        Value::List(elements) | Value::Set(elements) | Value::Tuple(elements) => {
            let elements = elements.iter().map(|element| block_json(element, &nested.block));
            Property::List(elements.collect::<Result<_, _>>()?)
        }
        Value::Map(entries) if entries.is_empty() => Property::Null,
        Value::Map(entries) => {
            let entries =
                entries.iter().map(|(key, entry)| Ok((key.to_string(), block_json(entry, &nested.block)?)));
            Property::Struct(entries.collect::<Result<_, MethodError>>()?)
        }
        Value::Dynamic(both) => nested_json(&both.1, nested)?,
        value => block_json(value, &nested.block)?,
    })
}

/// A dynamic attribute has its value only, as in configuration, without its type.
fn json(value: &Value) -> Result<Property, MethodError> {
    Ok(match value {
        Value::Null => Property::Null,
        Value::Unknown(_) => return Err(MethodError::NotKnown),
        Value::Bool(value) => Property::Bool(*value),
        Value::Number(number) => number_property(number),
        Value::String(text) => Property::from(&**text),
        Value::List(elements) | Value::Set(elements) | Value::Tuple(elements) => {
            Property::List(elements.iter().map(json).collect::<Result<_, _>>()?)
        }
        Value::Map(members) | Value::Object(members) => {
            let members = members.iter().map(|(name, member)| Ok((name.to_string(), json(member)?)));
            Property::Struct(members.collect::<Result<_, MethodError>>()?)
        }
        Value::Dynamic(both) => json(&both.1)?,
    })
}
