//! Translation of a provider's diagnostics to Pulumi's names.

use isthmus_common::split_output;
use isthmus_proto::property::Struct;
use isthmus_provider::plugin::ProtocolVersion;
use isthmus_provider::{Diagnostic, ProviderError, Rpc};

use super::{Failure, Inputs, OperationError, Target};
use isthmus_package::shape::ObjectShape;
use isthmus_translate::attribute_paths::property_path;

/// The text of a diagnostic, with the Pulumi name of its property.
pub fn describe(diagnostic: &Diagnostic, shape: &ObjectShape) -> String {
    let mut text = diagnostic.summary.clone();
    if !diagnostic.detail.is_empty() && diagnostic.detail != diagnostic.summary {
        // Some summaries end with punctuation.
        text.truncate(text.trim_end().trim_end_matches([':', '.']).len());
        text.push_str(": ");
        text.push_str(&diagnostic.detail);
    }
    let path = property_path(&diagnostic.path, shape).to_string();
    if !path.is_empty() {
        text.push_str(&format!(" (at property `{path}`)"));
    }
    text
}

/// Joins texts as sentences, adding full stops where they are missing. Empty ones are left out, and what
/// they quote of a provider's output comes last.
pub fn in_sentences(texts: &[&str]) -> String {
    let (mut sentences, mut output) = (String::new(), String::new());
    for text in texts {
        let (text, blocks) = split_output(text);
        output.push_str(&blocks);
        let text = text.trim();
        if !sentences.is_empty() && !text.is_empty() {
            sentences.push_str(if sentences.ends_with(['.', '!', '?', ':', ';']) { " " } else { ". " });
        }
        sentences.push_str(text);
    }
    sentences + &output
}

impl Target<'_> {
    /// Maps an error of an operation; the outcome is unknown if the provider ended during the
    /// apply.
    pub fn failed(&self, error: ProviderError) -> OperationError {
        OperationError::Provider {
            text: self.message(&error),
            outcome_unknown: is_outcome_unknown(&error),
            error: Box::new(error),
        }
    }

    /// The error of a change that was applied, and whose result cannot be stored because of `error`. Redacted for the same reason
    /// as [`Self::message`].
    pub fn unstorable(
        &self,
        id: &str,
        error: &OperationError,
        failure: Option<&ProviderError>,
    ) -> OperationError {
        let secrets = self.provider.secrets();
        OperationError::Unstorable {
            type_name: self.shape.terraform_type.to_string(),
            id: secrets.redact(id).into_owned(),
            reason: secrets.redact(&isthmus_common::error_chain(error)).into_owned(),
            failure: failure.map(|failure| self.message(failure)),
        }
    }

    /// The text of `error` for the user. Redacted here, because the journal stores part of it and a
    /// later process, which does not have the secrets, reports it.
    pub fn message(&self, error: &ProviderError) -> String {
        self.provider.secrets().redact(&self.words_in_full(error)).into_owned()
    }

    fn words_in_full(&self, error: &ProviderError) -> String {
        let diagnostics = error.diagnostics();
        if diagnostics.is_empty() {
            return error.to_string();
        }
        let lines: Vec<String> =
            diagnostics.iter().map(|diagnostic| describe(diagnostic, &self.shape.object)).collect();
        lines.join("\n")
    }

    /// A provider's diagnostics about the inputs as failures of a check.
    pub fn failures(&self, diagnostics: &[Diagnostic], inputs: &Struct) -> Vec<Failure> {
        let inputs = Inputs::new(inputs, &self.shape.object);
        diagnostics
            .iter()
            .map(|diagnostic| {
                let place = inputs.at(&property_path(&diagnostic.path, &self.shape.object));
                let bare = Diagnostic { path: Default::default(), ..diagnostic.clone() };
                place.failure(describe(&bare, &self.shape.object))
            })
            .collect()
    }
}

/// Whether the failed call may have had an effect: the apply failed, and neither the provider nor
/// the transport says that nothing was done.
fn is_outcome_unknown(error: &ProviderError) -> bool {
    let apply = Rpc::ApplyResourceChange.name(ProtocolVersion::V6);
    match error {
        ProviderError::Gone { operation, during, .. }
        | ProviderError::Call { operation, during, .. }
        | ProviderError::Interruption { operation, during, .. } => *during && *operation == apply,
        ProviderError::InvalidAnswer { operation, .. } | ProviderError::Unsupported { operation, .. } => {
            *operation == apply
        }
        ProviderError::Unfinished { .. } => true,
        ProviderError::Deferred { .. }
        | ProviderError::Diagnostics { .. }
        | ProviderError::Identity { .. }
        | ProviderError::Import { .. }
        | ProviderError::InvalidValue { .. }
        | ProviderError::Meta { .. }
        | ProviderError::Move { .. }
        | ProviderError::NewerState { .. }
        | ProviderError::Refused { .. }
        | ProviderError::Rules { .. }
        | ProviderError::Schema(_)
        | ProviderError::Stopped { .. }
        | ProviderError::InvalidSchema { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_ends_as_a_sentence_gets_no_second_full_stop() {
        for (texts, expected) in [
            (&["Bad", "Very bad", "See there."][..], "Bad. Very bad. See there."),
            (&["Bad.", "Very bad.\n", "See there."], "Bad. Very bad. See there."),
            (&["Bad?", "", "Very bad!", "See there."], "Bad? Very bad! See there."),
            (&["", " "], ""),
            (
                &["It ended\nlast output of the provider:\n    bye\n", "Look at it"],
                "It ended. Look at it\nlast output of the provider:\n    bye\n",
            ),
        ] {
            assert_eq!(in_sentences(texts), expected);
        }
        for summary in ["Bad", "Bad.", "Bad: ", "Bad..."] {
            let diagnostic = Diagnostic::error(summary, "Very bad.");
            assert_eq!(describe(&diagnostic, &ObjectShape::default()), "Bad: Very bad.");
            let alone = Diagnostic::error(summary, "");
            assert_eq!(describe(&alone, &ObjectShape::default()), summary);
        }
    }
}
