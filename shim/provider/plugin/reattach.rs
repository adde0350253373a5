//! Providers that somebody else started, usually under a debugger: `TF_REATTACH_PROVIDERS`.
//!
//! The variable maps provider addresses to where the provider listens. Such a provider is spoken to without TLS, and
//! one that says `Test` belongs to a test harness, which alone may end it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::handshake::{Address, AddressError, ProtocolVersion, shown_bytes};

/// Where a running provider is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReattachConfig {
    /// The protocol that it serves.
    pub protocol: ProtocolVersion,
    /// Its process, if it told.
    pub process_id: Option<u32>,
    /// Whether it belongs to a test harness: it is then never asked to end, nor killed.
    pub test: bool,
    /// Where it listens.
    pub address: Address,
}

/// The whole variable cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("it is not a JSON object of provider addresses")]
pub struct ReattachSyntaxError(#[source] serde_json::Error);

/// The entry of one provider cannot be used; the other entries can.
#[derive(Debug, thiserror::Error)]
pub enum ReattachError {
    /// Not the fields that go-plugin writes.
    #[error("it is not an object with Protocol, ProtocolVersion, Pid, Test and Addr")]
    Shape(#[source] serde_json::Error),
    /// Go's own RPC encoding, or nothing, which means the same.
    #[error("its Protocol is \"{0}\", and only \"grpc\" is spoken")]
    NotGrpc(String),
    /// Another provider protocol.
    #[error("its ProtocolVersion is {0}; isthmus speaks versions 5 and 6")]
    ProviderProtocol(i64),
    /// Not a process.
    #[error("its Pid is {0}, which is not the id of a process")]
    ProcessId(i64),
    /// An address that cannot be connected to.
    #[error(transparent)]
    Address(#[from] AddressError),
}

/// Reads the value of `TF_REATTACH_PROVIDERS`: provider addresses as they stand there, each with what its entry means.
///
/// # Errors
/// When the value as a whole is not a JSON object. A bad entry spoils only itself.
pub fn parse_reattach_providers(
    text: &str,
) -> Result<BTreeMap<String, Result<ReattachConfig, ReattachError>>, ReattachSyntaxError> {
    let entries: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(text).map_err(ReattachSyntaxError)?;
    Ok(entries.into_iter().map(|(address, entry)| (address, understand(entry))).collect())
}

/// The fields as Go writes them.
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
        // Providers that are older than the field.
        0 => ProtocolVersion::V5,
        other => u32::try_from(other)
            .ok()
            .and_then(ProtocolVersion::from_number)
            .ok_or(ReattachError::ProviderProtocol(other))?,
    };
    let process_id = match entry.pid {
        0 => None,
        // Beyond the system's own type, no number can be a process.
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
