//! End to end: the real Pulumi command line, its YAML host, and real Terraform providers, with this program between them.
//!
//! Nothing here is scripted: each test has a project of its own (program, Pulumi home, state, providers), runs commands that a user
//! would type, and looks at what they would look at: the steps, the stack's export, files on disk, processes. No network is
//! used once the tools are built (`tests/tools/build`, which the first test runs).
//!
//! With `ISTHMUS_E2E_BRIDGE=go` the projects that would use this program use the Go bridge instead. It is for whoever asks
//! whether a failure is ours; tests of what the Go bridge gets wrong fail then.

mod harness;

mod assets;
mod autonaming;
mod choice;
mod configuration;
mod continuity;
mod crash;
mod deferrals;
mod engine_fuzzer;
mod ephemeral;
mod image;
mod import;
mod install;
mod installing;
mod invoke;
mod kills;
mod lifecycle;
mod lists;
mod local;
mod migrate;
mod moves;
mod names;
mod newcomer;
mod observed;
mod oldest;
mod pages;
mod previews;
mod random;
mod release;
mod secrets;
mod settings;
mod time;
mod timeouts;
mod tls;
mod troubles;
mod upgrades;
