//! The sandbox's environment variables. An unknown name or value is an error, because a test with a
//! misspelt fault would prove nothing.

use std::path::PathBuf;

#[cfg(feature = "misbehaviour")]
use crate::misbehaviour::{self, Misbehaviour};
use crate::protocol::Protocol;
use crate::switch_error::{SwitchError, bad};

/// Switches of every build.
const NAMES: [&str; 2] = ["SANDBOX_DIR", "SANDBOX_PROTOCOL"];

/// All switches; [`Default`]: no misbehaviour.
#[derive(Clone, Debug, Default)]
pub(crate) struct Switches {
    /// `SANDBOX_PROTOCOL=5|6`: serve this protocol, whatever the client offers.
    pub(crate) protocol: Option<Protocol>,
    /// `SANDBOX_DIR=DIRECTORY`: the directory of objects, unless the provider's configuration has
    /// one.
    pub(crate) directory: Option<PathBuf>,
    /// Switches for tests.
    #[cfg(feature = "misbehaviour")]
    pub(crate) misbehaviour: Misbehaviour,
}

impl Switches {
    /// Parses the switches in variables, and in the file of SANDBOX_FILE; variables other than
    /// `SANDBOX_*` are ignored.
    pub(crate) fn read(variables: impl Iterator<Item = (String, String)>) -> Result<Self, SwitchError> {
        let variables = variables.filter(|(name, _)| name.starts_with("SANDBOX_")).collect::<Vec<_>>();
        #[cfg(feature = "misbehaviour")]
        let variables = with_file(variables)?;
        let mut switches = Self::default();
        for (name, value) in variables {
            match name.as_str() {
                "SANDBOX_PROTOCOL" => {
                    let protocol = Protocol::from_major(&value);
                    switches.protocol =
                        Some(protocol.ok_or_else(|| bad("SANDBOX_PROTOCOL", &value, "5 or 6"))?);
                }
                "SANDBOX_DIR" => switches.directory = Some(PathBuf::from(value)),
                #[cfg(feature = "misbehaviour")]
                _ if switches.misbehaviour.set(&name, &value)? => {}
                _ => return Err(SwitchError::UnknownName { name, known: known() }),
            }
        }
        #[cfg(feature = "misbehaviour")]
        match (switches.misbehaviour.protocol, switches.protocol) {
            (Some(minor), Some(protocol)) if minor != protocol => {
                return Err(SwitchError::Conflict { minor, protocol });
            }
            (minor, protocol) => switches.protocol = protocol.or(minor),
        }
        Ok(switches)
    }
}

fn known() -> Vec<&'static str> {
    #[cfg_attr(not(feature = "misbehaviour"), expect(unused_mut, reason = "tests have more"))]
    let mut known = NAMES.to_vec();
    #[cfg(feature = "misbehaviour")]
    known.extend(misbehaviour::NAMES);
    known
}

#[cfg(feature = "misbehaviour")]
fn with_file(mut variables: Vec<(String, String)>) -> Result<Vec<(String, String)>, SwitchError> {
    let file = variables.iter().find(|(name, _)| name == "SANDBOX_FILE").map(|(_, path)| path.clone());
    if let Some(path) = file {
        let more = misbehaviour::in_file(&path).map_err(|source| SwitchError::File { path, source })?;
        variables.extend(more);
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::misbehaviour::{Encoding, Handshake, SchemaAnswer};
    use crate::protocol::{Deferrable, Minor};
    use crate::switch_error::FileError;

    fn parse(variables: &[(&str, &str)]) -> Result<Switches, SwitchError> {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Switches::read(owned)
    }

    #[test]
    fn deferred_operations_have_their_reason() {
        let defer =
            parse(&[("SANDBOX_DEFER", "read+import:absent")]).expect("it is understood").misbehaviour.defer;
        let defer = defer.expect("it is set");
        assert!(
            defer.reason_for(Deferrable::Read) == Some(3) && defer.reason_for(Deferrable::Import) == Some(3)
        );
        assert!(defer.reason_for(Deferrable::Plan).is_none());
        for nonsense in ["read", "read:", ":absent", "reed:absent", "read,import:absent"] {
            assert!(parse(&[("SANDBOX_DEFER", nonsense)]).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn without_switches_the_sandbox_behaves() {
        let switches = parse(&[("PATH", "/bin")]).expect("no switch is set");
        assert_eq!(switches.protocol, None);
        assert_eq!(switches.misbehaviour.answer, Encoding::MessagePack);
        assert_eq!(switches.misbehaviour.handshake, Handshake::Good);
    }

    #[test]
    fn a_minor_version_fixes_the_major() {
        let switches = parse(&[("SANDBOX_MINOR", "5.3")]).expect("a version");
        assert_eq!(switches.protocol, Some(Protocol::V5));
        assert_eq!(switches.misbehaviour.minor, Minor::Numbered(3));
    }

    #[test]
    fn a_minor_version_of_the_other_protocol_is_refused() {
        let error = parse(&[("SANDBOX_MINOR", "6.3"), ("SANDBOX_PROTOCOL", "5")]).expect_err("a conflict");
        assert_eq!(error, SwitchError::Conflict { minor: Protocol::V6, protocol: Protocol::V5 });
    }

    #[test]
    fn a_misspelt_switch_or_value_is_refused() {
        let name = parse(&[("SANDBOX_ANSWERS", "json")]).expect_err("no such switch");
        assert!(name.to_string().contains("SANDBOX_ANSWERS is not a switch"), "{name}");
        let value = parse(&[("SANDBOX_ANSWER", "JSON")]).expect_err("no such value");
        assert_eq!(value.to_string(), "SANDBOX_ANSWER is \"JSON\", but it must be msgpack or json");
    }

    #[test]
    fn a_file_holds_more_switches_and_may_be_missing() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("switches");
        let read = || Switches::read([("SANDBOX_FILE".to_owned(), path.display().to_string())].into_iter());
        assert_eq!(read().expect("no file, no switches").misbehaviour.schema, SchemaAnswer::Good);
        std::fs::write(&path, "SANDBOX_SCHEMA=warn\n\nSANDBOX_LEGACY=true\n").expect("a file");
        let switches = read().expect("two switches").misbehaviour;
        assert_eq!((switches.schema, switches.legacy), (SchemaAnswer::Warn, true));
        std::fs::write(&path, "SANDBOX_LEGACY true").expect("a file");
        let error = read().expect_err("no switch");
        assert!(matches!(error, SwitchError::File { source: FileError::Line(_), .. }), "{error}");
    }

    #[test]
    fn the_readme_documents_every_switch_and_handshake() {
        let page = include_str!("README.md");
        let handshakes = misbehaviour::HANDSHAKES.0.iter().map(|(text, _)| *text);
        for name in known().into_iter().chain(handshakes) {
            assert!(page.contains(&format!("`{name}")), "README.md says nothing of {name}");
        }
    }
}
