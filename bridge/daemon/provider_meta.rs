//! What providers are told of the program: the setting for it, and whose part is whose.

use isthmus_shim::cty::json::Json;
use isthmus_shim::provider::{Diagnostic, Provider, ProviderError};

use crate::settings::PROVIDER_META;

/// Tells a provider of this type what the setting says of it, if it says anything.
///
/// # Errors
/// When the setting cannot be read, or does not fit the provider's schema.
pub(super) fn tell(
    provider: &Provider,
    provider_type: &str,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(), ProviderError> {
    let Some(text) = PROVIDER_META.read() else { return Ok(()) };
    let all = parse(text.as_encoded_bytes()).map_err(|reason| ProviderError::Meta {
        origin: PROVIDER_META.name.to_owned(),
        path: String::new(),
        reason,
    })?;
    match all.member(provider_type) {
        None | Some(Json::Null) => Ok(()),
        Some(own) => provider.take_meta(own, PROVIDER_META.name, provider_type, warnings),
    }
}

fn parse(text: &[u8]) -> Result<Json, String> {
    match Json::parse(text) {
        Ok(all @ Json::Object(_)) => Ok(all),
        Ok(_) => Err("it must be a JSON object, with the types of providers for names".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_an_object() {
        assert!(parse(br#"{"google": {"module_name": "a"}}"#).is_ok());
        for (text, words) in [
            ("[]", "must be a JSON object"),
            ("google", "invalid JSON at byte 0"),
            ("\u{fe}", "invalid JSON"),
        ] {
            let reason = parse(text.as_bytes()).expect_err(text);
            assert!(reason.contains(words), "{text}: {reason}");
        }
    }
}
