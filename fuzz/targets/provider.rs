//! What a provider sends at its start, and logs.

use isthmus_common::REDACTED;
use isthmus_known_secrets::{KnownSecrets, Retention};
use isthmus_provider::plugin::fuzzing::logged;
use isthmus_provider::plugin::{Handshake, Origin, ProtocolVersion, Transport, parse_reattach_providers};
use isthmus_provider::schema::fuzzing::{index, indexed};
use isthmus_provider::schema::{Catalogue, SchemaAnswer};

/// A secret that no input has by chance: in inputs, `@` stands for it.
const SECRET: &str = "Tr0ub4dor&3 horse";
/// Its base64 without padding, in two lines and escaped: `$` stands for it.
const ENCODED: &str = "VHIwdWI0ZG9y\\nJjMgaG9yc2U";

/// The handshake line. An error quotes no more than a part of it.
pub(crate) fn handshake(bytes: &[u8]) {
    for transport in [Transport::MutualTls, Transport::Plain] {
        if let Err(error) = Handshake::parse(bytes, transport) {
            assert!(error.to_string().len() < 4096, "{error}");
        }
    }
}

/// The response of GetProviderSchema in both protocols; all schemas in it are compiled. By its index it
/// is the same.
pub(crate) fn schema(bytes: &[u8]) {
    for protocol in [ProtocolVersion::V5, ProtocolVersion::V6] {
        let answer = SchemaAnswer { protocol, bytes: bytes.to_vec().into() };
        assert_eq!(answer.fingerprint(), answer.fingerprint());
        if let Ok(contents) = answer.decode() {
            compile_all(&contents.catalogue);
            let index = index(&answer).expect("it was decoded");
            if let Some(again) = indexed(index, answer.bytes) {
                assert!(contents.catalogue.resource_names().eq(again.resource_names()));
                assert_eq!(contents.catalogue.functions(), again.functions());
                for name in again.resource_names() {
                    assert_eq!(contents.catalogue.resource(name).is_ok(), again.resource(name).is_ok());
                }
            }
        }
    }
}

/// The index of a response in the schema cache, behind its length, and the response.
pub(crate) fn schema_index(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk() else { return };
    let Some((index, response)) = rest.split_at_checked(u16::from_le_bytes(*length).into()) else { return };
    if let Some(catalogue) = indexed(index.to_vec(), response.to_vec().into()) {
        compile_all(&catalogue);
    }
}

fn compile_all(catalogue: &Catalogue) {
    let _ = (catalogue.provider(), catalogue.provider_meta());
    for name in catalogue.resource_names() {
        let _ = catalogue.list_resource(name);
        if let Ok(schema) = catalogue.resource(name) {
            let again = catalogue.passing_resource(name).expect("it was compiled before");
            assert_eq!(schema.block.implied_type, again.block.implied_type);
        }
    }
    for name in catalogue.data_source_names() {
        let _ = catalogue.data_source(name);
    }
    for name in catalogue.ephemeral_resource_names() {
        let _ = catalogue.ephemeral_resource(name);
    }
    for name in catalogue.action_names() {
        let _ = catalogue.action(name);
    }
}

/// `TF_REATTACH_PROVIDERS`.
pub(crate) fn reattach(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = parse_reattach_providers(text);
    }
}

/// What a process prints. No record and no error has the secret that is in it, and `~` stands for
/// more than fits into one piece of a line.
pub(crate) fn logs(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let output = with_secret(text).replacen('~', &"x".repeat(65_000), 4);
    for origin in [Origin::Stderr, Origin::Stdout, Origin::Printed] {
        for logged in logged(output.as_bytes(), origin, secrets()) {
            assert!(!shows_secret(&logged), "{logged:?}");
        }
    }
}

/// A text with secrets. None is left, and none is where the text may be cut.
pub(crate) fn redaction(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (text, secrets) = (with_secret(text), secrets());
    let redacted = secrets.redact(&text).into_owned();
    assert!(!shows_secret(&redacted), "{redacted:?}");
    // What was redacted ends stretches of base64, so that a second time more may be a part of a wrapped one.
    let again = secrets.redact(&redacted).replace(REDACTED, "");
    let mut left = redacted.chars();
    assert!(again.chars().all(|next| left.any(|char| char == next)), "{again:?} has more than {redacted:?}");
    let (before, behind) = text.split_at(secrets.cut(&text));
    let pieces = secrets.redact(before).into_owned() + &secrets.redact(behind);
    assert!(!shows_secret(&pieces), "{pieces:?}");
}

fn with_secret(text: &str) -> String {
    text.replace('@', SECRET).replace('$', ENCODED)
}

fn shows_secret(text: &str) -> bool {
    text.contains(SECRET) || text.contains(ENCODED)
}

fn secrets() -> KnownSecrets {
    let secrets = KnownSecrets::default();
    secrets.learn(SECRET, Retention::Session);
    secrets
}
