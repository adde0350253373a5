//! What the files promise, and the states that show that the model is no idle one.

use std::collections::BTreeSet;

use super::{Entry, Fault, Sight, World, open_of};
use crate::explorer::Property;

pub(crate) const NOTHING_IS_LOST: &str = "each operation that is open is open in the files";
pub(crate) const NOTHING_IS_INVENTED: &str = "each operation that is open in the files is open";
pub(crate) const LIVE_FILES_STAY: &str = "the file of a live process stays until that process removes it";
pub(crate) const READERS_SEE_ALL: &str = "a reader sees each operation that is open while it reads";
pub(crate) const READERS_INVENT_NOTHING: &str = "a reader sees no operation that was settled before it began";

pub(super) fn promises() -> Vec<Property<World>> {
    vec![
        (NOTHING_IS_LOST, |world| world.open().is_subset(&open_of(&entries(world)))),
        (NOTHING_IS_INVENTED, |world| open_of(&entries(world)).is_subset(&world.open())),
        (LIVE_FILES_STAY, |world| world.fault != Some(Fault::LiveFileRemoved)),
        (READERS_SEE_ALL, |world| world.fault != Some(Fault::ReaderMissed)),
        (READERS_INVENT_NOTHING, |world| world.fault != Some(Fault::ReaderInvented)),
    ]
}

pub(super) fn sightings() -> Vec<Property<World>> {
    vec![
        ("a torn tail is compacted", |world| world.sights.contains(&Sight::TornTailCompacted)),
        ("an entry is in two files", |world| world.sights.contains(&Sight::OperationTwice)),
        ("a compaction is killed", |world| world.sights.contains(&Sight::CompactionKilled)),
        ("a rotation is killed", |world| world.sights.contains(&Sight::RotationKilled)),
        ("a reader starts again", |world| world.sights.contains(&Sight::ReaderStartedAgain)),
        ("a file is taken before its creator has locked it", |world| {
            world.sights.contains(&Sight::CreationLost)
        }),
        ("a process settles an operation of another one", |world| {
            world.sights.contains(&Sight::SettledElsewhere)
        }),
    ]
}

fn entries(world: &World) -> BTreeSet<Entry> {
    world.linked().flat_map(|(_, file)| file.readable()).copied().collect()
}
