//! The web client for all requests about providers: timeouts, tokens, proxies and trust by the
//! configuration and the environment.

use std::sync::Arc;
use std::time::Duration;

use super::{CliConfig, RegistryProtocols};
use crate::web::{HttpSettings, HttpTransport, WebClient, WebSettings};
use isthmus_common::Environment;

/// Maximum number of configurable attempts.
const MOST_ATTEMPTS: u32 = 20;
/// Maximum timeout in seconds: a day.
const LONGEST: u32 = 86_400;

impl CliConfig {
    /// The client for this configuration and environment. Nothing is read or opened until the first
    /// request, which fails if the environment is invalid, with the variable's name.
    pub(crate) fn web_client(&self, environment: &Environment) -> WebClient {
        let settings = WebSettings::configured(self.registry_protocols, environment);
        let mut http = HttpSettings::from_environment(environment);
        // A longer timeout is also a longer wait for the beginning of the response.
        http.silence = http.silence.max(settings.patience);
        let credentials = self.registry_credentials(environment);
        WebClient::new(Arc::new(HttpTransport::new(http)), Arc::new(credentials)).with_settings(settings)
    }
}

impl WebClient {
    /// The same with the number of retries of an installation method (`download_retry_count`), if
    /// any. It has precedence over the environment, as in OpenTofu.
    #[must_use]
    pub(crate) fn with_download_retries(self, retries: Option<u32>) -> Self {
        let mut settings = self.settings();
        settings.download_attempts = retries.map_or(settings.download_attempts, attempts);
        self.with_settings(settings)
    }
}

impl WebSettings {
    /// Terraform's and OpenTofu's variables, or else the files. Variables that are no number are
    /// ignored, as there.
    pub(crate) fn configured(files: RegistryProtocols, environment: &Environment) -> Self {
        let number = |name| environment.text(name)?.trim().parse::<u32>().ok();
        let standard = Self::default();
        let retries = number("TF_REGISTRY_DISCOVERY_RETRY").or(files.retry_count);
        let patience = number("TF_REGISTRY_CLIENT_TIMEOUT").filter(|seconds| *seconds > 0);
        // In a file, 0 means no timeout.
        let in_files =
            files.request_timeout_seconds.map(|seconds| if seconds == 0 { LONGEST } else { seconds });
        let patience = patience.or(in_files).map(|seconds| Duration::from_secs(seconds.min(LONGEST).into()));
        Self {
            attempts: retries.map_or(standard.attempts, attempts),
            download_attempts: number("TF_PROVIDER_DOWNLOAD_RETRY")
                .map_or(standard.download_attempts, attempts),
            patience: patience.unwrap_or(standard.patience),
        }
    }
}

fn attempts(retries: u32) -> u32 {
    retries.saturating_add(1).min(MOST_ATTEMPTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patience(files: (Option<u32>, Option<u32>), variables: &[(&str, &str)]) -> (u32, u32, u64) {
        let files = RegistryProtocols { retry_count: files.0, request_timeout_seconds: files.1 };
        let settings = WebSettings::configured(files, &Environment::from_iter(variables.iter().copied()));
        (settings.attempts, settings.download_attempts, settings.patience.as_secs())
    }

    #[test]
    fn patience_is_what_variables_say_and_else_what_files_say() {
        let nothing = (None, None);
        assert_eq!(patience(nothing, &[]), (3, 3, 10));
        let all = [
            ("TF_REGISTRY_DISCOVERY_RETRY", "0"),
            ("TF_PROVIDER_DOWNLOAD_RETRY", "4000000000"),
            ("TF_REGISTRY_CLIENT_TIMEOUT", " 60 "),
        ];
        assert_eq!(patience(nothing, &all), (1, 20, 60));
        assert_eq!(patience((Some(5), Some(45)), &all), (1, 20, 60));
        assert_eq!(patience((Some(5), Some(45)), &[]), (6, 3, 45));
        assert_eq!(patience((Some(0), Some(0)), &[]), (1, 3, 86_400));
        let nonsense = [("TF_REGISTRY_DISCOVERY_RETRY", "-1"), ("TF_REGISTRY_CLIENT_TIMEOUT", "0")];
        assert_eq!(patience(nothing, &nonsense), (3, 3, 10));
    }

    #[test]
    fn a_source_of_providers_may_be_more_patient_than_the_environment() {
        let environment = Environment::from_iter([("TF_PROVIDER_DOWNLOAD_RETRY", "7")]);
        let client = CliConfig::default().web_client(&environment);
        let attempts = |retries| client.clone().with_download_retries(retries).settings().download_attempts;
        assert_eq!([attempts(None), attempts(Some(0)), attempts(Some(2))], [8, 1, 3]);
    }
}
