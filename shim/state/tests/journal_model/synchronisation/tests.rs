//! The promise about the disk, explored; and variants of the protocol that must violate it.

use super::*;
use crate::explorer::{expect_promises, expect_violation};

const PROPOSED: Synchronisation = Synchronisation { rules: Rules::PROPOSED };

#[track_caller]
fn violate(rules: Rules) -> String {
    expect_violation(&Synchronisation { rules }, RELEASED_IS_ON_DISK)
}

#[test]
fn an_entry_whose_call_went_on_survives_a_loss_of_power() {
    println!("{}", expect_promises([("three calls and a replacement", PROPOSED)]));
}

#[test]
fn a_length_that_is_measured_after_synchronising_counts_what_is_not_on_the_disk() {
    println!("{}", violate(Rules { measure: MeasureRule::AfterSynchronising, ..Rules::PROPOSED }));
}

#[test]
fn a_file_whose_name_is_not_synchronised_is_lost() {
    println!("{}", violate(Rules { name: NameRule::NotSynchronised, ..Rules::PROPOSED }));
}

#[test]
fn a_file_that_is_removed_before_its_replacement_is_synchronised_is_lost() {
    println!("{}", violate(Rules { replacement: ReplacementRule::Nothing, ..Rules::PROPOSED }));
}

#[test]
fn a_replacement_that_is_used_before_its_name_is_synchronised_is_lost() {
    println!("{}", violate(Rules { replacement: ReplacementRule::OnceInUse, ..Rules::PROPOSED }));
}

#[test]
fn the_first_protocol_synchronises_too_little() {
    println!("{}", violate(Rules::FIRST));
}
