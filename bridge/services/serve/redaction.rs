//! Redaction of texts that engines print, and of statuses with their bounds.
//!
//! Providers quote values in diagnostics, statuses and panic traces. Control characters are escaped in the same texts. Log lines are
//! redacted by `isthmus_session::engine::EngineLog`.

use std::borrow::Cow;

use isthmus_common::{output_last, printable};
use isthmus_known_secrets::KnownSecrets;
use isthmus_proto::{pulumirpc, rpc};
use prost::Message as _;
use tonic::Status;

use super::bounded::{INIT_FAILED, bounded};
use crate::status::with_texts;
use isthmus_session::daemon::Session;

/// Redacts a text, and then escapes what a terminal would obey: an escaped secret is found by fewer forms.
/// What it quotes of a provider's output comes last.
pub(super) fn clean(text: &mut String, secrets: &KnownSecrets) {
    secrets.redact_in_place(text);
    if let Cow::Owned(ordered) = output_last(text) {
        text.clear();
        text.push_str(ordered.trim_end());
    }
    if let Cow::Owned(shown) = printable(text) {
        *text = shown;
    }
}

/// The status that is returned: its text and the reasons in its details are redacted, and bounded.
pub(crate) async fn redacted_status(status: Status, session: &Session) -> Status {
    // Half a secret is not found, so it is cut after that.
    bounded(redacted(&status, session.secrets()), session).await
}

fn redacted(status: &Status, secrets: &KnownSecrets) -> Status {
    let mut message = status.message().to_owned();
    clean(&mut message, secrets);
    let details = match rpc::Status::decode(status.details()) {
        Ok(mut inner) if !status.details().is_empty() => {
            clean(&mut inner.message, secrets);
            inner.details.iter_mut().for_each(|detail| redact_reasons(detail, secrets));
            inner.encode_to_vec().into()
        }
        // No details, or none of ours (`status.rs`), which are the only ones sent.
        Ok(_) | Err(_) => bytes::Bytes::new(),
    };
    with_texts(status, message, details)
}

fn redact_reasons(detail: &mut prost_types::Any, secrets: &KnownSecrets) {
    if detail.type_url == INIT_FAILED
        && let Ok(mut failed) = pulumirpc::ErrorResourceInitFailed::decode(&*detail.value)
    {
        failed.reasons.iter_mut().for_each(|reason| clean(reason, secrets));
        detail.value = failed.encode_to_vec();
    }
}
