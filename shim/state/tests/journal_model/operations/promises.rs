//! What the journal promises about creations, and the states that show that the model is no idle one.

use super::{Object, Operation, Settled, Task, World};
use crate::explorer::Property;

pub(crate) const KNOWN_TO_ENGINE_OR_JOURNAL: &str =
    "each object is known to the engine's state or is listed as open";
pub(crate) const SETTLED_IS_KNOWN: &str =
    "a settled creation is saved by the engine, or made nothing, or was dismissed";
pub(crate) const TWICE_IS_REPORTED: &str =
    "an object that exists twice was reported, or less than three runs have ended since";
pub(crate) const SHOWN_ONCE: &str =
    "a report is shown once, and once more for each death before it is recorded";
pub(crate) const UNKNOWN_IS_UNKNOWN: &str =
    "a creation that is reported as of unknown outcome is none that the engine has saved";
pub(crate) const TWO_RUNS_PASS: &str = "a report for passed runs follows two later runs";

pub(super) fn promises() -> Vec<Property<World>> {
    vec![
        (KNOWN_TO_ENGINE_OR_JOURNAL, |world| {
            operations(world).all(|(number, operation)| {
                operation.object != Object::Exists || operation.is_open() || world.is_saved(number)
            })
        }),
        (SETTLED_IS_KNOWN, |world| {
            world.engine.is_running
                || operations(world).all(|(number, operation)| match operation.settled {
                    None | Some(Settled::Dismissed) => true,
                    Some(Settled::NothingMade) => operation.object == Object::Never,
                    Some(Settled::Mentioned | Settled::Cancel) => {
                        operation.object != Object::Exists || world.is_saved(number)
                    }
                })
        }),
        (TWICE_IS_REPORTED, |world| {
            !world.is_quiescent()
                || operations(world).all(|(number, operation)| {
                    let is_lost = operation.object == Object::Exists && !world.is_saved(number);
                    let is_due = (world.orderly >> (world.last_change + 1)).count_ones() >= 3;
                    let is_unreported = is_lost && operation.deliveries == 0;
                    !is_unreported || !exists_twice(world, operation.urn) || !is_due
                })
        }),
        (SHOWN_ONCE, |world| {
            world.operations.iter().all(|operation| operation.deliveries <= 1 + operation.deaths)
        }),
        (UNKNOWN_IS_UNKNOWN, |world| {
            world.operations.iter().all(|operation| operation.is_made || !operation.is_false_alarm)
        }),
        (TWO_RUNS_PASS, |world| world.operations.iter().all(|operation| !operation.is_early)),
    ]
}

pub(super) fn sightings() -> Vec<Property<World>> {
    vec![
        ("an object is lost, and reported", |world| {
            operations(world).any(|(number, operation)| {
                operation.object == Object::Exists && !world.is_saved(number) && operation.is_shown
            })
        }),
        ("a creation of unknown outcome is reported", |world| {
            world.operations.iter().any(|operation| operation.is_unknown && operation.is_shown)
        }),
        ("a creation that a killed process left begun is reported", |world| {
            world
                .operations
                .iter()
                .any(|operation| operation.is_shown && !operation.is_made && !operation.is_unknown)
        }),
        ("an object exists twice under one URN", |world| {
            (0..super::URNS).any(|urn| exists_twice(world, urn))
        }),
        ("a creation is settled by a mention", |world| is_settled(world, Settled::Mentioned)),
        ("a creation is settled by an error", |world| is_settled(world, Settled::NothingMade)),
        ("a creation is dismissed", |world| is_settled(world, Settled::Dismissed)),
        ("a report is shown a second time after a death", |world| {
            world.operations.iter().any(|operation| operation.deliveries > 1)
        }),
        ("Cancel is pending while an answer is not saved", |world| {
            world.processes.iter().any(|process| process.cancel)
                && world.engine.tasks.iter().any(|task| matches!(task, Task::Created(_)))
        }),
        ("a process outlives its engine with a call in progress", |world| {
            world.processes.iter().any(|process| !process.is_connected && !process.is_idle())
        }),
        ("an object that the engine has saved is reported", |world| {
            world.operations.iter().any(|operation| operation.is_false_alarm)
        }),
        ("a creation is reported for passed runs", |world| {
            let is_passed = |operation: &Operation| operation.passed.count_ones() >= 2;
            world.operations.iter().any(|operation| is_passed(operation) && operation.is_shown)
        }),
        ("an ended creation is reported after another one of its URN", |world| {
            world.operations.iter().any(|operation| operation.named.is_some() && operation.is_shown)
        }),
        ("a replacement and the object that it replaces exist", |world| {
            world.saved.iter().any(|record| record.replaced.is_some())
        }),
        ("all is settled, and an object is saved", |world| {
            world.is_quiescent()
                && world.saved.iter().any(|record| record.current.is_some())
                && world.operations.iter().all(|operation| operation.settled.is_some())
        }),
    ]
}

/// Two objects of one URN, of which none was asked for as the replacement of the other.
fn exists_twice(world: &World, urn: usize) -> bool {
    let existing = |operation: &&Operation| operation.urn == urn && operation.object == Object::Exists;
    let all = world.operations.iter().filter(existing).count();
    all > 1
        && world.operations.iter().filter(existing).filter(|operation| !operation.is_replacement).count() > 1
}

fn is_settled(world: &World, why: Settled) -> bool {
    world.operations.iter().any(|operation| operation.settled == Some(why))
}

fn operations(world: &World) -> impl Iterator<Item = (usize, &Operation)> {
    world.operations.iter().enumerate()
}
