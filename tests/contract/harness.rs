//! What the tests are written with: the daemon as a process, a scripted engine, and an engine's calls in short words.
//!
//! A test starts a [`Host`] (the daemon under the name that an engine starts it by, beside the provider), opens a
//! [`Session`] (one connection, as one engine has it), and speaks about a [`Resource`]. Bags are written and compared as
//! JSON. Nothing sleeps: what takes time is waited for by its own sign, and no longer than [`PATIENCE`]. Whatever was said
//! on either side, and the daemon's stderr, is printed when the test is over; the test runner shows it if it failed.

pub(crate) mod certificates;
pub(crate) mod daemon;
pub(crate) mod host;
pub(crate) mod http;
#[cfg_attr(windows, path = "harness/processes_windows.rs")]
pub(crate) mod processes;
pub(crate) mod replicas;
pub(crate) mod resource;
pub(crate) mod said;
pub(crate) mod scripted;
pub(crate) mod session;
pub(crate) mod settings;

use std::time::Duration;

pub(crate) use host::{Host, Setup};
pub(crate) use isthmus_sandbox::Protocol;
pub(crate) use isthmus_test_engine as engine;
pub(crate) use isthmus_test_engine::{bag, json_of, secret, unknown};
pub(crate) use resource::Stored;
pub(crate) use serde_json::{Value as Json, json};
pub(crate) use session::Session;
pub(crate) use tonic::{Code, Status};

/// How long anything may take. It is longer than a loaded machine needs, because running out of it is a failure. Wine starts
/// processes slowly.
pub(crate) const PATIENCE: Duration = Duration::from_secs(if isthmus_platform::IS_WINDOWS { 90 } else { 30 });

/// The variable with the directory for temporary files.
pub(crate) use isthmus_platform::TEMPORARY as TMPDIR;

/// A path as the system writes it.
pub(crate) fn native(path: impl AsRef<std::path::Path>) -> std::path::PathBuf {
    let path = path.as_ref();
    if isthmus_platform::IS_WINDOWS { path.components().collect() } else { path.to_owned() }
}

/// A test ends with the first call that fails against its expectation.
pub(crate) type Outcome = Result<(), Status>;

/// Declares tests that run once on each protocol, because what they are about differs with it, such as a call of a provider:
/// `async fn name(protocol) { … }`. One that begins with a session of a provider says
/// so instead: `async fn name(host, session: sandbox) { … }`, or `(session: sandbox)` where nothing is asked of the host.
macro_rules! on_both_protocols {
    () => {};
    ($(#[$attribute:meta])* async fn $name:ident($protocol:ident) $body:block $($rest:tt)*) => {
        $(#[$attribute])*
        mod $name {
            #[allow(unused_imports, reason = "some need nothing of their file")]
            use super::*;

            async fn scenario($protocol: $crate::harness::Protocol) -> $crate::harness::Outcome {
                $body
                Ok(())
            }

            #[tokio::test]
            async fn on_protocol_5() -> $crate::harness::Outcome {
                scenario($crate::harness::Protocol::V5).await
            }

            #[tokio::test]
            async fn on_protocol_6() -> $crate::harness::Outcome {
                scenario($crate::harness::Protocol::V6).await
            }
        }
        on_both_protocols! { $($rest)* }
    };
    ($(#[$attribute:meta])* async fn $name:ident($host:ident, $session:ident: $provider:ident) $body:block $($rest:tt)*) => {
        on_both_protocols! {
            $(#[$attribute])*
            async fn $name(protocol) {
                let ($host, $session) = $crate::harness::Setup::$provider(protocol).session().await?;
                $body
            }
            $($rest)*
        }
    };
    ($(#[$attribute:meta])* async fn $name:ident($session:ident: $provider:ident) $body:block $($rest:tt)*) => {
        on_both_protocols! { $(#[$attribute])* async fn $name(_host, $session: $provider) $body $($rest)* }
    };
}
pub(crate) use on_both_protocols;

/// The protocol of a test that needs either: by the length of its name, so that each protocol has half of the tests.
pub(crate) const fn one_protocol(test: &str) -> Protocol {
    if test.len().is_multiple_of(2) { Protocol::V5 } else { Protocol::V6 }
}

/// Declares tests in the same way that run on one of the protocols: what they are about is above the client of providers, which
/// has both for one.
macro_rules! on_one_protocol {
    () => {};
    ($(#[$attribute:meta])* async fn $name:ident($protocol:ident) $body:block $($rest:tt)*) => {
        $(#[$attribute])*
        #[tokio::test]
        async fn $name() -> $crate::harness::Outcome {
            let $protocol = $crate::harness::one_protocol(stringify!($name));
            $body
            Ok(())
        }
        on_one_protocol! { $($rest)* }
    };
    ($(#[$attribute:meta])* async fn $name:ident($host:ident, $session:ident: $provider:ident) $body:block $($rest:tt)*) => {
        on_one_protocol! {
            $(#[$attribute])*
            async fn $name(protocol) {
                let ($host, $session) = $crate::harness::Setup::$provider(protocol).session().await?;
                $body
            }
            $($rest)*
        }
    };
    ($(#[$attribute:meta])* async fn $name:ident($session:ident: $provider:ident) $body:block $($rest:tt)*) => {
        on_one_protocol! { $(#[$attribute])* async fn $name(_host, $session: $provider) $body $($rest)* }
    };
}
pub(crate) use on_one_protocol;
