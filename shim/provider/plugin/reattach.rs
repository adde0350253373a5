//! Providers that were started by another program, usually a debugger: `TF_REATTACH_PROVIDERS`.
//!
//! The variable maps provider addresses to network addresses. There is no TLS, and a provider with
//! `Test` belongs to a test harness, which stops it itself.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::handshake::{Address, AddressError, ProtocolVersion, shown_bytes};

/// The address of a running provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReattachConfig {
    /// Its protocol version.
    pub protocol: ProtocolVersion,
    /// Its process id, if known.
    pub process_id: Option<u32>,
    /// Whether it belongs to a test harness: it is not stopped then.
    pub test: bool,
    /// Its address.
    pub address: Address,
}

/// The variable is invalid as a whole.
#[derive(Debug, thiserror::Error)]
#[error("it is not a JSON object of provider addresses")]
pub struct ReattachSyntaxError(#[source] serde_json::Error);

/// The entry of one provider is invalid; others are unaffected.
#[derive(Debug, thiserror::Error)]
pub enum ReattachError {
    /// Not go-plugin's fields.
    #[error("it is not an object with Protocol, ProtocolVersion, Pid, Test and Addr")]
    Shape(#[source] serde_json::Error),
    /// Go's own RPC encoding, or none, which means the same.
    #[error("its Protocol is \"{0}\", and only \"grpc\" is spoken")]
    NotGrpc(String),
    /// An unsupported provider protocol.
    #[error("its ProtocolVersion is {0}; isthmus speaks versions 5 and 6")]
    ProviderProtocol(i64),
    /// No process id.
    #[error("its Pid is {0}, which is not the id of a process")]
    ProcessId(i64),
    /// An unusable address.
    #[error(transparent)]
    Address(#[from] AddressError),
}

/// Parses `TF_REATTACH_PROVIDERS`: provider addresses and their entries.
///
/// # Errors
/// When the value is no JSON object. An invalid entry affects only itself.
pub fn parse_reattach_providers(
    text: &str,
) -> Result<BTreeMap<String, Result<ReattachConfig, ReattachError>>, ReattachSyntaxError> {
    let entries: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(text).map_err(ReattachSyntaxError)?;
    Ok(entries.into_iter().map(|(address, entry)| (address, understand(entry))).collect())
}

/// The fields in Go's spelling.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    #[serde(default)]
    protocol: String,
    #[serde(default)]
    protocol_version: i64,
    #[serde(default)]
    pid: i64,
    #[serde(default)]
    test: bool,
    addr: EntryAddress,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EntryAddress {
    network: String,
    string: String,
}

fn understand(entry: serde_json::Value) -> Result<ReattachConfig, ReattachError> {
    let entry: Entry = serde_json::from_value(entry).map_err(ReattachError::Shape)?;
    if entry.protocol != "grpc" {
        return Err(ReattachError::NotGrpc(shown_bytes(entry.protocol.as_bytes())));
    }
    let protocol = match entry.protocol_version {
        // Providers from before the field existed.
        0 => ProtocolVersion::V5,
        other => u32::try_from(other)
            .ok()
            .and_then(ProtocolVersion::from_number)
            .ok_or(ReattachError::ProviderProtocol(other))?,
    };
    let process_id = match entry.pid {
        0 => None,
        // Process ids beyond the system's type are invalid.
        other => Some(
            i32::try_from(other)
                .ok()
                .and_then(|id| u32::try_from(id).ok())
                .ok_or(ReattachError::ProcessId(other))?,
        ),
    };
    let address = Address::parse(&entry.addr.network, &entry.addr.string)?;
    Ok(ReattachConfig { protocol, process_id, test: entry.test, address })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_a_provider_in_debug_mode_prints_is_understood() {
        let text = r#"{"registry.terraform.io/hashicorp/random":{"Protocol":"grpc","ProtocolVersion":6,"Pid":123,
            "Test":true,"Addr":{"Network":"unix","String":"/tmp/plugin1"}}}"#;
        let mut entries = parse_reattach_providers(text).expect("it is JSON");
        let entry = entries.remove("registry.terraform.io/hashicorp/random").expect("it is there");
        assert_eq!(
            entry.expect("it is good"),
            ReattachConfig {
                protocol: ProtocolVersion::V6,
                process_id: Some(123),
                test: true,
                address: Address::Unix("/tmp/plugin1".into()),
            }
        );
    }

    #[test]
    fn what_an_old_provider_leaves_out_has_its_old_meaning() {
        let text = r#"{"random":{"Protocol":"grpc","Addr":{"Network":"tcp","String":"127.0.0.1:10000"}}}"#;
        let mut entries = parse_reattach_providers(text).expect("it is JSON");
        let entry = entries.remove("random").expect("it is there").expect("it is good");
        assert_eq!((entry.protocol, entry.process_id, entry.test), (ProtocolVersion::V5, None, false));
    }

    #[test]
    fn a_bad_entry_spoils_only_itself() {
        let text = r#"{
            "a":{"Protocol":"netrpc","Addr":{"Network":"unix","String":"/a"}},
            "b":{"Protocol":"grpc","ProtocolVersion":4,"Addr":{"Network":"unix","String":"/a"}},
            "c":{"Protocol":"grpc","Pid":-1,"Addr":{"Network":"unix","String":"/a"}},
            "d":{"Protocol":"grpc","Addr":{"Network":"tcp","String":"10.0.0.1:80"}},
            "e":{"Protocol":"grpc"},
            "f":7,
            "good":{"Protocol":"grpc","Addr":{"Network":"unix","String":"/a"}}}"#;
        let entries = parse_reattach_providers(text).expect("it is JSON");
        assert!(matches!(entries["a"], Err(ReattachError::NotGrpc(_))));
        assert!(matches!(entries["b"], Err(ReattachError::ProviderProtocol(4))));
        assert!(matches!(entries["c"], Err(ReattachError::ProcessId(-1))));
        assert!(matches!(entries["d"], Err(ReattachError::Address(AddressError::NotLoopback { .. }))));
        assert!(matches!(entries["e"], Err(ReattachError::Shape(_))));
        assert!(matches!(entries["f"], Err(ReattachError::Shape(_))));
        assert!(entries["good"].is_ok());
    }

    #[test]
    fn a_value_that_is_not_an_object_is_refused_as_a_whole() {
        for text in ["", "[]", "{\"a\":", "null"] {
            assert!(parse_reattach_providers(text).is_err(), "{text:?} was taken");
        }
    }
}
