//! The parameter value of an SDK: JSON, byte for byte as Go writes it.
//!
//! The bytes are in every generated SDK and in the state of explicit providers, where tools compare
//! them; hence our own encoder for these few keys, which have a fixed order and are left out when
//! empty.

use serde_json::Value;

use super::arguments::{Arguments, LocalArguments, RemoteArguments, Source};
use crate::names::choices::NameChoices;
use isthmus_common::file_fault::FileFault;

/// A resolved provider, and the members that the package includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub source: ParameterSource,
    /// Terraform names to include; empty: all.
    pub includes: Vec<String>,
    /// Terraform names to exclude.
    pub excludes: Vec<String>,
    /// The package's name, if it is not the provider's.
    pub provider_name: Option<String>,
    /// Names that are not the Go bridge's, which ignores them.
    pub names: NameChoices,
}

/// The origin of the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterSource {
    /// From a registry.
    Remote {
        /// `host/namespace/type`, in lower case.
        url: String,
        /// The exact version, without a `v`.
        version: String,
    },
    /// From a file.
    Local {
        /// As written on the command line.
        path: String,
    },
}

/// The value was not written by a bridge: the SDK is invalid.
#[derive(Debug, thiserror::Error)]
pub enum ParameterError {
    /// Not JSON, or no object.
    #[error("failed to unmarshal")]
    Json(#[source] FileFault),
    /// A value has the wrong type.
    #[error("failed to unmarshal {field}")]
    Field {
        /// The key, with its parents.
        field: &'static str,
        #[source]
        source: FileFault,
    },
    /// Two providers.
    #[error("cannot specify both \"remote\" and \"local\"")]
    Both,
    /// No provider.
    #[error("must specify either \"remote\" or \"local\"")]
    Neither,
    /// A key without a value.
    #[error("{0} cannot be empty")]
    Empty(&'static str),
}

impl Parameter {
    /// All members of the provider, by their usual names.
    pub fn new(source: ParameterSource) -> Self {
        let (includes, excludes) = (Vec::new(), Vec::new());
        Self { source, includes, excludes, provider_name: None, names: NameChoices::default() }
    }

    /// Encodes the value for an SDK.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = Writer(String::from("{"));
        match &self.source {
            ParameterSource::Remote { url, version } => {
                json.raw("\"remote\":{\"url\":").text(url).raw(",\"version\":").text(version);
            }
            ParameterSource::Local { path } => {
                json.raw("\"local\":{\"path\":").text(path);
            }
        }
        json.raw("}");
        for (key, names) in [("includes", &self.includes), ("excludes", &self.excludes)] {
            if !names.is_empty() {
                json.raw(",\"").raw(key).raw("\":[");
                for (index, name) in names.iter().enumerate() {
                    json.raw(if index == 0 { "" } else { "," }).text(name);
                }
                json.raw("]");
            }
        }
        if let Some(name) = self.provider_name.as_ref().filter(|name| !name.is_empty()) {
            json.raw(",\"providerName\":").text(name);
        }
        if !self.names.is_default() {
            let names =
                serde_json::to_string(&self.names).expect("its keys are text, and nothing in it can fail");
            json.raw(",\"names\":").raw(&names);
        }
        json.raw("}");
        json.0.into_bytes()
    }

    /// Decodes the value of an SDK. As in Go, unknown keys are ignored, and keys are
    /// case-insensitive.
    pub fn decode(bytes: &[u8]) -> Result<Self, ParameterError> {
        let mut found = Found::default();
        let object: Option<JsonObject> =
            serde_json::from_slice(bytes).map_err(|error| ParameterError::Json(error.into()))?;
        for (key, value) in object.unwrap_or_default() {
            match key.to_ascii_lowercase().as_str() {
                "remote" => found.remote = typed("remote", value)?,
                "local" => found.local = typed("local", value)?,
                "includes" => found.includes = typed("includes", value)?,
                "excludes" => found.excludes = typed("excludes", value)?,
                "providername" => found.provider_name = typed("providerName", value)?,
                // A release that does not know a choice has other names than its program.
                "names" => found.names = typed("names", value)?,
                _ => {}
            }
        }
        let source = match (found.remote, found.local) {
            (Some(_), Some(_)) => return Err(ParameterError::Both),
            (None, None) => return Err(ParameterError::Neither),
            (Some(mut remote), None) => ParameterSource::Remote {
                url: required(&mut remote, "url", "remote.url")?,
                version: required(&mut remote, "version", "remote.version")?,
            },
            (None, Some(mut local)) => {
                ParameterSource::Local { path: required(&mut local, "path", "local.path")? }
            }
        };
        Ok(Self {
            source,
            includes: found.includes.unwrap_or_default(),
            excludes: found.excludes.unwrap_or_default(),
            provider_name: found.provider_name.filter(|name| !name.is_empty()),
            names: found.names.unwrap_or_default(),
        })
    }

    /// Command line arguments for exactly this provider.
    pub fn arguments(&self) -> Arguments {
        let source = match &self.source {
            ParameterSource::Remote { url, version } => Source::Remote(RemoteArguments {
                name: url.clone(),
                version: version.clone(),
                full_documentation: false,
            }),
            ParameterSource::Local { path } => {
                Source::Local(LocalArguments { path: path.clone(), upstream_repository: None })
            }
        };
        Arguments {
            source,
            includes: self.includes.clone(),
            excludes: self.excludes.clone(),
            provider_name: self.provider_name.clone(),
            names: self.names.clone(),
            index_document_directory: None,
        }
    }

    /// Whether the Terraform name is excluded from the package.
    pub fn ignores(&self, terraform: &str) -> bool {
        let names = |list: &[String]| list.iter().any(|name| name == terraform);
        names(&self.excludes) || (!self.includes.is_empty() && !names(&self.includes))
    }
}

#[derive(Default)]
struct Found {
    remote: Option<JsonObject>,
    local: Option<JsonObject>,
    includes: Option<Vec<String>>,
    excludes: Option<Vec<String>>,
    provider_name: Option<String>,
    names: Option<NameChoices>,
}

type JsonObject = serde_json::Map<String, Value>;

fn typed<T: serde::de::DeserializeOwned>(
    field: &'static str,
    value: Value,
) -> Result<Option<T>, ParameterError> {
    serde_json::from_value(value).map_err(|error| ParameterError::Field { field, source: error.into() })
}

fn required(fields: &mut JsonObject, key: &str, path: &'static str) -> Result<String, ParameterError> {
    let spelled = fields.keys().rfind(|spelled| spelled.eq_ignore_ascii_case(key)).cloned();
    let value = spelled.and_then(|spelled| fields.remove(&spelled));
    let value = value.map_or(Ok(None), |value| typed::<String>(path, value))?;
    value.filter(|text| !text.is_empty()).ok_or(ParameterError::Empty(path))
}

/// JSON as by Go's encoder, with HTML characters escaped.
struct Writer(String);

impl Writer {
    fn raw(&mut self, text: &str) -> &mut Self {
        self.0.push_str(text);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.0.push('"');
        for character in text.chars() {
            match character {
                '"' => self.0.push_str("\\\""),
                '\\' => self.0.push_str("\\\\"),
                '\n' => self.0.push_str("\\n"),
                '\r' => self.0.push_str("\\r"),
                '\t' => self.0.push_str("\\t"),
                '\u{8}' => self.0.push_str("\\b"),
                '\u{c}' => self.0.push_str("\\f"),
                '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    self.0.push_str(&format!("\\u{:04x}", u32::from(character)));
                }
                _ => self.0.push(character),
            }
        }
        self.0.push('"');
        self
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    fn remote(url: &str, version: &str) -> Parameter {
        let source = ParameterSource::Remote { url: url.into(), version: version.into() };
        Parameter::new(source)
    }

    #[test]
    fn the_bytes_are_those_of_existing_sdks() {
        let random = remote("registry.opentofu.org/hashicorp/random", "3.3.0");
        assert_eq!(
            STANDARD.encode(random.encode()),
            "eyJyZW1vdGUiOnsidXJsIjoicmVnaXN0cnkub3BlbnRvZnUub3JnL2hhc2hpY29ycC9yYW5kb20iLCJ2ZXJzaW9uIjoiMy4zLjAifX0="
        );
    }

    #[test]
    fn every_key_has_its_place_and_empty_ones_are_left_out() {
        let all = Parameter {
            source: ParameterSource::Local { path: "./terraform-provider-x".into() },
            includes: vec!["aws_vpc".into(), "a".into()],
            excludes: vec!["aws_instance".into()],
            provider_name: Some("awsvpc".into()),
            names: serde_json::from_str(r#"{"singleItems":"lists"}"#).unwrap(),
        };
        assert_eq!(
            String::from_utf8(all.encode()).unwrap(),
            r#"{"local":{"path":"./terraform-provider-x"},"includes":["aws_vpc","a"],"excludes":["aws_instance"],"providerName":"awsvpc","names":{"singleItems":"lists"}}"#
        );
    }

    #[test]
    fn text_is_escaped_as_go_escapes_it() {
        let path = "/<a>&\"\\\n\r\t\u{1}\u{8}\u{c}\u{7f}é\u{2028}";
        let local = Parameter { source: ParameterSource::Local { path: path.into() }, ..remote("", "") };
        let expected = r#"{"local":{"path":"/\u003ca\u003e\u0026\"\\\n\r\t\u0001\b\f"#.to_owned()
            + "\u{7f}é"
            + r#"\u2028"}}"#;
        assert_eq!(String::from_utf8(local.encode()).unwrap(), expected);
    }

    #[test]
    fn what_no_bridge_wrote_is_refused() {
        for (json, text) in [
            (
                r#"{"remote":{"url":"u","version":"1"},"local":{"path":"p"}}"#,
                "cannot specify both \"remote\" and \"local\"",
            ),
            ("{}", "must specify either \"remote\" or \"local\""),
            ("null", "must specify either \"remote\" or \"local\""),
            (r#"{"remote":null}"#, "must specify either \"remote\" or \"local\""),
            (r#"{"remote":{}}"#, "remote.url cannot be empty"),
            (r#"{"remote":{"url":"u"}}"#, "remote.version cannot be empty"),
            (r#"{"local":{"path":""}}"#, "local.path cannot be empty"),
            (r#"{"local":1}"#, "failed to unmarshal local"),
            (r#"{"local":{"path":1}}"#, "failed to unmarshal local.path"),
            (r#"{"remote":{"url":"u","version":{}}}"#, "failed to unmarshal remote.version"),
            (r#"{"includes":["a",1]}"#, "failed to unmarshal includes"),
            (r#"{"excludes":"a"}"#, "failed to unmarshal excludes"),
            (r#"{"providerName":[]}"#, "failed to unmarshal providerName"),
            ("[]", "failed to unmarshal"),
            ("", "failed to unmarshal"),
        ] {
            assert_eq!(Parameter::decode(json.as_bytes()).unwrap_err().to_string(), text, "{json}");
        }
    }

    #[test]
    fn unknown_keys_and_the_case_of_keys_do_not_matter() {
        let json = br#"{"Remote":{"URL":"h/n/t","version":"1.0.0","more":1},"else":[],"includes":null}"#;
        assert_eq!(Parameter::decode(json).unwrap(), remote("h/n/t", "1.0.0"));
    }

    #[test]
    fn includes_and_excludes_decide_what_is_in_the_package() {
        let mut parameter = remote("u", "1");
        assert!(!parameter.ignores("a"));
        parameter.excludes = vec!["a".into()];
        assert!(parameter.ignores("a") && !parameter.ignores("b"));
        parameter.includes = vec!["b".into()];
        assert!(parameter.ignores("a") && !parameter.ignores("b") && parameter.ignores("c"));
    }

    #[test]
    fn a_remembered_provider_is_asked_for_again() {
        let parameter = remote("h/n/t", "1.0.0");
        let Source::Remote(again) = parameter.arguments().source else {
            panic!("a remote provider stays one")
        };
        assert_eq!((again.name.as_str(), again.version.as_str()), ("h/n/t", "1.0.0"));
    }

    proptest! {
        #[test]
        fn what_was_written_can_be_read(url in ".+", version in ".+", includes in any::<Vec<String>>(), name in proptest::option::of(".+")) {
            let written = Parameter { includes, provider_name: name, ..remote(&url, &version) };
            prop_assert_eq!(Parameter::decode(&written.encode()).unwrap(), written);
        }

        #[test]
        fn any_bytes_are_answered(bytes in any::<Vec<u8>>()) {
            let _ = Parameter::decode(&bytes);
        }
    }
}
