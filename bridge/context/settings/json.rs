//! Settings whose values are JSON objects.

use std::collections::HashSet;
use std::ffi::OsStr;

use isthmus_cty::json::Json;
use isthmus_install::ProviderAddress;

/// Properties that name resources for which programs set no name, by Terraform type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameProperties(Vec<(String, Vec<String>)>);

impl NameProperties {
    pub(super) fn parse(value: &OsStr) -> Result<Self, String> {
        let types = object(value, "with Terraform's types for names")?;
        let read = types.into_iter().map(|(type_name, properties)| match property_names(properties) {
            Some(properties) => Ok((type_name, properties)),
            None => Err(format!("{type_name:?} must be the name of a property, or a list of names")),
        });
        read.collect::<Result<_, _>>().map(Self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The properties for a type.
    pub fn of(&self, terraform_type: &str) -> &[String] {
        let found = self.0.iter().find(|(type_name, _)| type_name == terraform_type);
        found.map_or(&[], |(_, properties)| properties)
    }
}

/// One name or several; `None` for anything else.
fn property_names(json: Json) -> Option<Vec<String>> {
    let name = |json| match json {
        Json::String(name) if !name.is_empty() => Some(name),
        _ => None,
    };
    match json {
        Json::Array(names) if !names.is_empty() => names.into_iter().map(name).collect(),
        one => Some(vec![name(one)?]),
    }
}

/// The values of `provider_meta` blocks, by provider type or address.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderMeta(Vec<(String, Json)>);

impl ProviderMeta {
    pub(super) fn parse(value: &OsStr) -> Result<Self, String> {
        let members = object(value, "with the types or addresses of providers for names")?;
        for (provider, own) in &members {
            if !matches!(own, Json::Object(_) | Json::Null) {
                return Err(format!("{provider:?} must be an object"));
            }
            if provider.contains('/') {
                ProviderAddress::parse(provider).map_err(|error| error.to_string())?;
            }
        }
        Ok(Self(members))
    }

    /// The metadata for a provider, and the name that it is listed by: its address, or else its type.
    pub fn of(&self, address: &str, provider_type: &str) -> Option<(&str, &Json)> {
        let is_address = |name: &str| {
            name.contains('/') && ProviderAddress::parse(name).is_ok_and(|known| known.to_string() == address)
        };
        let members = || self.0.iter().filter(|(_, own)| !matches!(own, Json::Null));
        let found = members().find(|(name, _)| is_address(name));
        let (name, own) = found.or_else(|| members().find(|(name, _)| name == provider_type))?;
        Some((name, own))
    }
}

fn object(value: &OsStr, of_what: &str) -> Result<Vec<(String, Json)>, String> {
    let members = match Json::parse(value.as_encoded_bytes()) {
        Ok(Json::Object(members)) => members,
        Ok(_) => return Err(format!("must be a JSON object, {of_what}")),
        Err(error) => return Err(error.to_string()),
    };
    let mut names = HashSet::new();
    match members.iter().find(|(name, _)| !names.insert(name)) {
        Some((name, _)) => Err(format!("{name:?} is there twice")),
        None => Ok(members),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_one_property_or_several() {
        let text = r#"{"random_pet": ["zone", "kind"], "local_file": "filename"}"#;
        let properties = NameProperties::parse(text.as_ref()).expect("a setting");
        assert_eq!(properties.of("random_pet"), ["zone", "kind"]);
        assert_eq!(properties.of("local_file"), ["filename"]);
        assert_eq!(properties.of("random_id"), &[] as &[String]);
        assert!(NameProperties::parse("{}".as_ref()).expect("a setting").is_empty());
    }

    #[test]
    fn metadata_is_an_object_of_objects() {
        let text = r#"{"google": {"module_name": "a"}, "aws": null, "Example.com/acme/google": {}, "hashicorp/aws": {}}"#;
        let meta = ProviderMeta::parse(text.as_ref()).expect("a setting");
        let name = |address, provider_type| meta.of(address, provider_type).map(|(name, _)| name);
        assert_eq!(name("registry.opentofu.org/hashicorp/google", "google"), Some("google"));
        assert_eq!(name("example.com/acme/google", "google"), Some("Example.com/acme/google"));
        assert_eq!(name("registry.opentofu.org/hashicorp/aws", "aws"), Some("hashicorp/aws"));
        assert_eq!(name("example.com/acme/aws", "aws"), None);
        assert_eq!(name("registry.opentofu.org/hashicorp/random", "random"), None);
        let error = ProviderMeta::parse(r#"{"a/b/c/d": {}}"#.as_ref()).expect_err("no address");
        assert!(error.contains("is not a provider's address"), "{error}");
    }

    #[test]
    fn anything_else_is_refused_with_the_place() {
        for (text, reason) in [
            ("[]", "must be a JSON object"),
            ("google", "invalid JSON at byte 0"),
            ("{", "invalid JSON at byte 1"),
            ("\u{fe}", "invalid JSON"),
            (r#"{"a_b": 1}"#, "\"a_b\" must be"),
            (r#"{"a_b": []}"#, "\"a_b\" must be"),
            (r#"{"a_b": null, "c": null, "a_b": null}"#, "\"a_b\" is there twice"),
        ] {
            for error in [
                NameProperties::parse(text.as_ref()).expect_err(text),
                ProviderMeta::parse(text.as_ref()).expect_err(text),
            ] {
                assert!(error.contains(reason), "{text}: {error}");
            }
        }
        for text in [r#"{"a_b": ""}"#, r#"{"a_b": ["x", ""]}"#, r#"{"a_b": ["x", 1]}"#] {
            let error = NameProperties::parse(text.as_ref()).expect_err(text);
            assert!(error.contains("\"a_b\" must be the name of a property"), "{text}: {error}");
        }
    }
}
