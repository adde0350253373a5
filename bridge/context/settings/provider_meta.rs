//! Metadata for providers, a JSON object.

use std::collections::HashSet;
use std::ffi::OsStr;

use isthmus_cty::json::Json;
use isthmus_install::ProviderAddress;

/// The values of `provider_meta` blocks, by provider type or address.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderMeta(Vec<(String, Json)>);

impl ProviderMeta {
    pub(super) fn parse(value: &OsStr) -> Result<Self, String> {
        let members = match Json::parse(value.as_encoded_bytes()) {
            Ok(Json::Object(members)) => members,
            Ok(_) => {
                return Err(
                    "must be a JSON object, with the types or addresses of providers for names".to_owned()
                );
            }
            Err(error) => return Err(error.to_string()),
        };
        let mut names = HashSet::new();
        if let Some((name, _)) = members.iter().find(|(name, _)| !names.insert(name)) {
            return Err(format!("{name:?} is there twice"));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

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
            let error = ProviderMeta::parse(text.as_ref()).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
