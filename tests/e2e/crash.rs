//! The work is cut off in the middle: the plugin is killed, the engine is killed, the user interrupts.

use std::time::Duration;

use rustix::process::Signal;

use crate::harness::project::Started;
use crate::harness::{Project, Provider, wait_until};

/// A resource whose creation takes longer than any test.
const NAP: &str = "resources:\n  nap:\n    type: time:Sleep\n    properties:\n      createDuration: 1h\n";

/// What the provider traces, and the plugin hands on, when it begins to create.
const APPLYING: &str = "Calling provider defined Resource Create";

/// A deployment that is in the middle of creating [`NAP`].
fn creating(project: &Project) -> Started {
    project.program(NAP);
    let started = project.start_with(&[("TF_LOG", "TRACE")], &["up", "--yes", "--skip-preview"]);
    wait_until(
        Duration::from_secs(60),
        || started.events().contains(APPLYING).then_some(()),
        || format!("the provider did not say that it creates; the events were\n{}", started.events()),
    );
    assert!(!project.running_plugins().is_empty() && !project.running_providers().is_empty());
    started
}

/// The creation has failed and no process is left.
fn expect_a_failed_creation(project: &Project, started: Started) {
    let failed = started.finish().failed();
    assert_eq!(failed.steps("nap"), ["create"], "{failed}");
    project.expect_no_process();
}

/// The stack can be worked with.
fn expect_a_usable_stack(project: &Project) {
    project.program("");
    project.destroy();
}

#[test]
fn a_killed_engine_leaves_neither_plugin_nor_provider_behind() {
    let project = Project::new("a killed engine", &[Provider::Time]);
    let started = creating(&project);
    started.signal(Signal::KILL);
    expect_a_failed_creation(&project, started);
    // The engine could not take its lock away.
    project.run(&["cancel", "--yes"]).succeeded();
    expect_a_usable_stack(&project);
}

#[test]
fn an_interrupt_ends_a_creation_that_takes_long() {
    let project = Project::new("an interrupt", &[Provider::Time]);
    let started = creating(&project);
    started.signal(Signal::INT);
    // It ends by itself, and an hour before its time: the provider received a stop request.
    expect_a_failed_creation(&project, started);
    expect_a_usable_stack(&project);
}
