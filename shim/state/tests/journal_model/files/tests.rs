//! The promises about files, explored; and variants of the protocol that must violate one.

use super::promises::{LIVE_FILES_STAY, NOTHING_IS_INVENTED, NOTHING_IS_LOST, READERS_SEE_ALL};
use super::*;
use crate::explorer::{expect_promises, expect_violation};
use crate::is_full;

const NONE: Budget = Budget {
    processes: 2,
    operations: 1,
    settled: 0,
    kills: 0,
    failed_appends: 0,
    compactions: 0,
    rotations: 0,
    reads: 0,
};
const FAILED_APPEND: Budget = Budget { operations: 2, failed_appends: 1, kills: 1, ..NONE };
const READ_ROTATION: Budget =
    Budget { processes: 1, operations: 2, settled: 1, rotations: 1, reads: 1, ..NONE };
const READ_COMPACTION: Budget = Budget { kills: 1, compactions: 1, reads: 1, ..NONE };
const COMPACTION: Budget = Budget { settled: 1, kills: 2, compactions: 1, ..NONE };
const ROTATION: Budget = Budget { settled: 1, kills: 1, rotations: 1, compactions: 1, ..NONE };

fn proposed(budget: Budget) -> Files {
    Files { rules: Rules::PROPOSED, budget }
}

#[track_caller]
fn violate(rules: Rules, budget: Budget, promise: &str) -> String {
    expect_violation(&Files { rules, budget }, promise)
}

#[test]
fn files_lose_and_invent_nothing() {
    let mut bounds = vec![
        ("failed append", FAILED_APPEND),
        ("rotation and a reader", READ_ROTATION),
        ("compaction and a reader", READ_COMPACTION),
        ("compaction", COMPACTION),
        ("rotation and compaction", ROTATION),
    ];
    if is_full() {
        bounds.extend([
            ("three processes", Budget { processes: 3, ..COMPACTION }),
            ("two operations", Budget { operations: 2, ..COMPACTION }),
            ("rotation, compaction and two kills", Budget { kills: 2, ..ROTATION }),
            ("two rotations", Budget { rotations: 2, ..ROTATION }),
            ("compaction of a settled operation and a reader", Budget { settled: 1, ..READ_COMPACTION }),
            ("two compactions", Budget { compactions: 2, ..COMPACTION }),
        ]);
    }
    println!("{}", expect_promises(bounds.into_iter().map(|(name, budget)| (name, proposed(budget)))));
}

#[test]
fn a_compaction_that_keeps_open_operations_only_revives_settled_ones() {
    let rules = Rules { compaction: CompactionRule::Open, ..Rules::PROPOSED };
    println!("{}", violate(rules, COMPACTION, NOTHING_IS_INVENTED));
    println!("{}", violate(rules, ROTATION, NOTHING_IS_INVENTED));
}

#[test]
fn a_killed_compaction_revives_what_is_settled_in_the_files_that_it_removes() {
    let rules = Rules { compaction: CompactionRule::OpenAndSettledElsewhere, ..Rules::PROPOSED };
    let budget = Budget { kills: 2, ..COMPACTION };
    println!("{}", violate(rules, Budget { processes: 3, ..budget }, NOTHING_IS_INVENTED));
}

#[test]
fn a_reader_that_lists_names_without_the_lock_misses_operations() {
    let rules = Rules { listing: Listing::OneByOne, ..Rules::PROPOSED };
    println!("{}", violate(rules, READ_COMPACTION, READERS_SEE_ALL));
    println!("{}", violate(rules, READ_ROTATION, READERS_SEE_ALL));
}

#[test]
fn a_reader_that_lists_all_names_at_once_needs_no_lock() {
    let rules = Rules { listing: Listing::AtOnce, ..Rules::PROPOSED };
    let killed = Budget { compactions: 0, ..ROTATION };
    let bounds = [("rotation", READ_ROTATION), ("compaction", READ_COMPACTION), ("killed rotation", killed)];
    println!("{}", expect_promises(bounds.map(|(name, budget)| (name, Files { rules, budget }))));
}

#[test]
fn a_reader_that_ignores_files_that_are_gone_misses_operations() {
    let rules = Rules { reader: ReaderRule::Ignores, ..Rules::PROPOSED };
    println!("{}", violate(rules, READ_COMPACTION, READERS_SEE_ALL));
}

#[test]
fn a_compaction_that_removes_before_it_writes_loses_operations() {
    let rules = Rules { order: OrderRule::RemovesFirst, ..Rules::PROPOSED };
    println!("{}", violate(rules, COMPACTION, NOTHING_IS_LOST));
}

#[test]
fn a_compaction_that_takes_locked_files_removes_those_of_live_processes() {
    let rules = Rules { victims: VictimRule::All, ..Rules::PROPOSED };
    println!("{}", violate(rules, COMPACTION, LIVE_FILES_STAY));
}

#[test]
fn a_process_that_trusts_the_file_it_has_created_appends_to_a_removed_one() {
    let rules = Rules { creation: CreationRule::Trusts, ..Rules::PROPOSED };
    println!("{}", violate(rules, COMPACTION, NOTHING_IS_LOST));
}

#[test]
fn an_append_behind_a_part_of_another_one_is_lost() {
    let rules = Rules { failed_append: FailedAppendRule::Follows, ..Rules::PROPOSED };
    println!("{}", violate(rules, FAILED_APPEND, NOTHING_IS_LOST));
}

#[test]
fn a_rotation_that_does_not_copy_what_is_appended_meanwhile_loses_operations() {
    let rules = Rules { rotation: RotationRule::CopiesAtFirst, ..Rules::PROPOSED };
    println!("{}", violate(rules, READ_ROTATION, NOTHING_IS_LOST));
}

#[test]
fn the_first_protocol_invents_and_misses_operations() {
    println!("{}", violate(Rules::FIRST, COMPACTION, NOTHING_IS_INVENTED));
    println!("{}", violate(Rules::FIRST, READ_COMPACTION, READERS_SEE_ALL));
}
