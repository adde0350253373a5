//! The Go programs of the end-to-end tests.

use std::path::PathBuf;

/// What `tests/tools/build` is asked for; the rest of what it can build is for other tests.
const NEEDED: [&str; 10] = [
    "pulumi",
    "pulumi-oldest",
    "automation",
    "yaml",
    "random",
    "tls",
    "time",
    "local",
    "conformance",
    "go-bridge",
];

/// The directory of the tools, all of which exist when this returns.
pub(crate) fn directory() -> PathBuf {
    fixtures::tools::built(&NEEDED)
}
