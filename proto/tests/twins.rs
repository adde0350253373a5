//! Protocols 5 and 6 are the same on the wire wherever they have the same message.
//!
//! The typed client speaks protocol 5 with the messages of 6. That is right only as long as what differs is exactly what
//! is listed here.

use std::collections::BTreeSet;

use prost::Message;

use super::facts::{Facts, missing, of_package, ours};

/// Messages that have another name in protocol 6.
const RENAMED: [(&str, &str); 5] = [
    ("PrepareProviderConfig", "ValidateProviderConfig"),
    ("ValidateResourceTypeConfig", "ValidateResourceConfig"),
    ("ValidateDataSourceConfig", "ValidateDataResourceConfig"),
    ("Configure", "ConfigureProvider"),
    ("Stop", "StopProvider"),
];

#[test]
fn messages_of_both_protocols_differ_only_where_it_is_known() {
    let five = messages_by_names_of_6(&of_package(&ours(), "tfplugin5"), "tfplugin5");
    let six = messages_by_names_of_6(&of_package(&ours(), "tfplugin6"), "tfplugin6");
    let in_both: BTreeSet<&str> =
        five.keys().filter(|name| six.contains_key(*name)).map(|name| owner(name)).collect();
    let of_shared = |facts: &Facts, others: &Facts| -> Vec<String> {
        let shared = facts.iter().filter(|(subject, _)| in_both.contains(owner(subject)));
        missing(&shared.map(|(subject, fact)| (subject.clone(), fact.clone())).collect(), others)
    };

    assert_eq!(
        of_shared(&five, &six),
        [
            "GetMetadata.Response #8: actions: repeated GetMetadata.ActionMetadata, but here \
             state_stores: repeated GetMetadata.StateStoreMetadata",
            "Schema.Attribute #10: write_only: bool, but here nested_type: Schema.Object",
            "Schema.Attribute #11: deprecation_message: string, but here write_only: bool",
            "ValidateProviderConfig.Response #1: prepared_config: DynamicValue",
        ]
    );
    assert_eq!(
        of_shared(&six, &five),
        [
            "ClientCapabilities #3: store_planned_private: bool",
            "ClientCapabilities #4: computed_blocks_allowed: bool",
            "GetMetadata.Response #8: state_stores: repeated GetMetadata.StateStoreMetadata, but here \
             actions: repeated GetMetadata.ActionMetadata",
            "GetMetadata.Response #9: actions: repeated GetMetadata.ActionMetadata",
            "GetProviderSchema.Response #10: state_store_schemas: map<string, Schema>",
            "PlanResourceChange.Request #9: planned_private: bytes",
            "Schema.Attribute #10: nested_type: Schema.Object, but here write_only: bool",
            "Schema.Attribute #11: write_only: bool, but here deprecation_message: string",
            "Schema.Attribute #12: deprecation_message: string",
            "Schema.Block #8: computed: bool",
        ]
    );
}

#[test]
fn messages_of_one_protocol_alone_are_of_provisioners_state_stores_and_nested_attributes() {
    let five = messages_by_names_of_6(&of_package(&ours(), "tfplugin5"), "tfplugin5");
    let six = messages_by_names_of_6(&of_package(&ours(), "tfplugin6"), "tfplugin6");
    let only = |facts: &Facts, others: &Facts| -> Vec<String> {
        facts.keys().filter(|name| owner(name) == *name && !others.contains_key(*name)).cloned().collect()
    };

    assert_eq!(
        only(&five, &six),
        [
            "GetProvisionerSchema",
            "GetProvisionerSchema.Request",
            "GetProvisionerSchema.Response",
            "ProvisionResource",
            "ProvisionResource.Request",
            "ProvisionResource.Response",
            "ValidateProvisionerConfig",
            "ValidateProvisionerConfig.Request",
            "ValidateProvisionerConfig.Response",
        ]
    );
    assert_eq!(
        only(&six, &five),
        [
            "ConfigureStateStore",
            "ConfigureStateStore.Request",
            "ConfigureStateStore.Response",
            "DeleteState",
            "DeleteState.Request",
            "DeleteState.Response",
            "GetMetadata.StateStoreMetadata",
            "GetStates",
            "GetStates.Request",
            "GetStates.Response",
            "LockState",
            "LockState.Request",
            "LockState.Response",
            "ReadStateBytes",
            "ReadStateBytes.Request",
            "ReadStateBytes.Response",
            "RequestChunkMeta",
            "Schema.Object",
            "Schema.Object.NestingMode",
            "StateRange",
            "StateStoreClientCapabilities",
            "StateStoreServerCapabilities",
            "UnlockState",
            "UnlockState.Request",
            "UnlockState.Response",
            "ValidateStateStore",
            "ValidateStateStore.Request",
            "ValidateStateStore.Response",
            "WriteStateBytes",
            "WriteStateBytes.RequestChunk",
            "WriteStateBytes.Response",
        ]
    );
}

#[test]
fn what_one_protocol_writes_the_other_reads() {
    same_on_the_wire(&of_5::value(), &of_6::value());
    same_on_the_wire(&of_5::diagnostic(), &of_6::diagnostic());
    same_on_the_wire(&of_5::plan_request(), &of_6::plan_request());
    same_on_the_wire(&of_5::plan_response(), &of_6::plan_response());
    same_on_the_wire(&of_5::apply_request(), &of_6::apply_request());
    same_on_the_wire(&of_5::apply_response(), &of_6::apply_response());
    same_on_the_wire(&of_5::read_request(), &of_6::read_request());
    same_on_the_wire(&of_5::read_response(), &of_6::read_response());
    same_on_the_wire(&of_5::import_request(), &of_6::import_request());
    same_on_the_wire(&of_5::import_response(), &of_6::import_response());
}

#[test]
fn what_one_protocol_writes_the_other_reads_under_another_name() {
    use crate::{tfplugin5, tfplugin6};

    same_on_the_wire(
        &tfplugin5::validate_resource_type_config::Request {
            type_name: "random_pet".to_owned(),
            config: Some(of_5::value()),
            client_capabilities: Some(of_5::capabilities()),
        },
        &tfplugin6::validate_resource_config::Request {
            type_name: "random_pet".to_owned(),
            config: Some(of_6::value()),
            client_capabilities: Some(of_6::capabilities()),
        },
    );
    same_on_the_wire(
        &tfplugin5::validate_resource_type_config::Response { diagnostics: vec![of_5::diagnostic()] },
        &tfplugin6::validate_resource_config::Response { diagnostics: vec![of_6::diagnostic()] },
    );
    same_on_the_wire(
        &tfplugin5::validate_data_source_config::Request {
            type_name: "local_file".to_owned(),
            config: Some(of_5::value()),
        },
        &tfplugin6::validate_data_resource_config::Request {
            type_name: "local_file".to_owned(),
            config: Some(of_6::value()),
        },
    );
    same_on_the_wire(
        &tfplugin5::configure::Request {
            terraform_version: "1.13.0".to_owned(),
            config: Some(of_5::value()),
            client_capabilities: Some(of_5::capabilities()),
        },
        &tfplugin6::configure_provider::Request {
            terraform_version: "1.13.0".to_owned(),
            config: Some(of_6::value()),
            client_capabilities: Some(of_6::capabilities()),
        },
    );
    same_on_the_wire(
        &tfplugin5::configure::Response { diagnostics: vec![of_5::diagnostic()] },
        &tfplugin6::configure_provider::Response { diagnostics: vec![of_6::diagnostic()] },
    );
    same_on_the_wire(
        &tfplugin5::stop::Response { error: "busy".to_owned() },
        &tfplugin6::stop_provider::Response { error: "busy".to_owned() },
    );
}

#[test]
fn the_prepared_configuration_of_protocol_5_is_skipped_by_6() {
    let five = crate::tfplugin5::prepare_provider_config::Response {
        prepared_config: Some(of_5::value()),
        diagnostics: vec![of_5::diagnostic()],
    };
    let six = crate::tfplugin6::validate_provider_config::Response::decode(five.encode_to_vec().as_slice());
    assert_eq!(six.unwrap().diagnostics, [of_6::diagnostic()]);
}

#[track_caller]
fn same_on_the_wire<Five, Six>(five: &Five, six: &Six)
where
    Five: Message + PartialEq + Default + std::fmt::Debug,
    Six: Message + PartialEq + Default + std::fmt::Debug,
{
    let written = five.encode_to_vec();
    assert_eq!(written, six.encode_to_vec(), "{five:?} and {six:?}");
    assert_eq!(&Six::decode(written.as_slice()).unwrap(), six);
    assert_eq!(&Five::decode(written.as_slice()).unwrap(), five);
    assert!(!written.is_empty(), "{five:?} says nothing");
}

/// The facts about messages and enums, without the package and by the names of protocol 6.
fn messages_by_names_of_6(facts: &Facts, package: &str) -> Facts {
    let prefix = format!("{package}.");
    let renamed = |text: &str| {
        let text = text.replace(&prefix, "");
        match RENAMED.iter().find(|(five, _)| text.split(['.', ' ']).next() == Some(five)) {
            Some((five, six)) if package == "tfplugin5" => text.replacen(five, six, 1),
            _ => text,
        }
    };
    facts
        .iter()
        .filter(|(subject, fact)| !subject.contains('/') && *fact != "service")
        .map(|(subject, fact)| (renamed(subject), fact.replace(&prefix, "")))
        .collect()
}

/// The message or enum that a fact is about.
fn owner(subject: &str) -> &str {
    subject.split(' ').next().unwrap_or(subject)
}

/// The same messages, once of each protocol.
macro_rules! samples {
    ($samples:ident, $protocol:ident) => {
        #[allow(
            clippy::needless_update,
            reason = "protocol 6 has more fields in some of the messages, 5 has not"
        )]
        mod $samples {
            use crate::$protocol::*;

            pub(super) fn value() -> DynamicValue {
                DynamicValue { msgpack: b"\x81\xa2id\xa1a".as_slice().into(), json: b"{}".as_slice().into() }
            }

            pub(super) fn capabilities() -> ClientCapabilities {
                ClientCapabilities {
                    deferral_allowed: true,
                    write_only_attributes_allowed: true,
                    ..Default::default()
                }
            }

            pub(super) fn diagnostic() -> Diagnostic {
                Diagnostic {
                    severity: diagnostic::Severity::Warning.into(),
                    summary: "Odd tag".to_owned(),
                    detail: "It is odd.".to_owned(),
                    attribute: Some(path()),
                }
            }

            pub(super) fn plan_request() -> plan_resource_change::Request {
                plan_resource_change::Request {
                    type_name: "random_pet".to_owned(),
                    prior_state: Some(value()),
                    proposed_new_state: Some(value()),
                    config: Some(value()),
                    prior_private: b"prior".as_slice().into(),
                    provider_meta: Some(value()),
                    client_capabilities: Some(capabilities()),
                    prior_identity: Some(identity()),
                    ..Default::default()
                }
            }

            pub(super) fn plan_response() -> plan_resource_change::Response {
                plan_resource_change::Response {
                    planned_state: Some(value()),
                    requires_replace: vec![path(), AttributePath::default()],
                    planned_private: b"planned".as_slice().into(),
                    diagnostics: vec![diagnostic()],
                    legacy_type_system: true,
                    deferred: Some(deferred()),
                    planned_identity: Some(identity()),
                }
            }

            pub(super) fn apply_request() -> apply_resource_change::Request {
                apply_resource_change::Request {
                    type_name: "random_pet".to_owned(),
                    prior_state: Some(value()),
                    planned_state: Some(value()),
                    config: Some(value()),
                    planned_private: b"planned".as_slice().into(),
                    provider_meta: Some(value()),
                    planned_identity: Some(identity()),
                }
            }

            pub(super) fn apply_response() -> apply_resource_change::Response {
                apply_resource_change::Response {
                    new_state: Some(value()),
                    private: b"new".as_slice().into(),
                    diagnostics: vec![diagnostic()],
                    legacy_type_system: true,
                    new_identity: Some(identity()),
                }
            }

            pub(super) fn read_request() -> read_resource::Request {
                read_resource::Request {
                    type_name: "random_pet".to_owned(),
                    current_state: Some(value()),
                    private: b"old".as_slice().into(),
                    provider_meta: Some(value()),
                    client_capabilities: Some(capabilities()),
                    current_identity: Some(identity()),
                }
            }

            pub(super) fn read_response() -> read_resource::Response {
                read_resource::Response {
                    new_state: Some(value()),
                    diagnostics: vec![diagnostic()],
                    private: b"new".as_slice().into(),
                    deferred: Some(deferred()),
                    new_identity: Some(identity()),
                }
            }

            pub(super) fn import_request() -> import_resource_state::Request {
                import_resource_state::Request {
                    type_name: "random_pet".to_owned(),
                    id: "a".to_owned(),
                    client_capabilities: Some(capabilities()),
                    identity: Some(identity()),
                }
            }

            pub(super) fn import_response() -> import_resource_state::Response {
                import_resource_state::Response {
                    imported_resources: vec![import_resource_state::ImportedResource {
                        type_name: "random_pet".to_owned(),
                        state: Some(value()),
                        private: b"imported".as_slice().into(),
                        identity: Some(identity()),
                    }],
                    diagnostics: vec![diagnostic()],
                    deferred: Some(deferred()),
                }
            }

            fn path() -> AttributePath {
                use attribute_path::step::Selector;

                let selectors = [
                    Selector::AttributeName("tags".to_owned()),
                    Selector::ElementKeyString("odd".to_owned()),
                    Selector::ElementKeyInt(0),
                ];
                let steps = selectors.map(|selector| attribute_path::Step { selector: Some(selector) });
                AttributePath { steps: steps.into() }
            }

            fn identity() -> ResourceIdentityData {
                ResourceIdentityData { identity_data: Some(value()) }
            }

            fn deferred() -> Deferred {
                Deferred { reason: deferred::Reason::AbsentPrereq.into() }
            }
        }
    };
}

samples!(of_5, tfplugin5);
samples!(of_6, tfplugin6);
