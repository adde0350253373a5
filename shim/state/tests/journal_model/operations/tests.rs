//! The promises about creations, explored; and variants of the protocol that must violate one.

use super::promises::{
    KNOWN_TO_ENGINE_OR_JOURNAL, SETTLED_IS_KNOWN, SHOWN_ONCE, TWICE_IS_REPORTED, TWO_RUNS_PASS,
    UNKNOWN_IS_UNKNOWN,
};
use super::*;
use crate::explorer::{expect_promises, expect_violation};
use crate::is_full;

const NONE: Budget = Budget::NONE;

/// One resource, served by one process a run.
const fn one(budget: Budget) -> Operations {
    Operations { rules: Rules::PROPOSED, urns: 1, processes: 1, is_attached: false, is_fixed: false, budget }
}

const FAILED_SAVE: Operations = one(Budget { runs: 2, save_failures: 1, ..NONE });
const INTERRUPT: Operations = one(Budget { runs: 2, kills: 2, interrupts: 1, ..NONE });
const CRASH: Operations = one(Budget { runs: 3, kills: 1, crashes: 1, ..NONE });
const DISMISSAL: Operations =
    one(Budget { runs: 2, kills: 1, refusals: 1, crashes: 1, dismissals: 1, ..NONE });
const REPLACEMENT: Operations =
    one(Budget { runs: 3, kills: 1, replacements: 1, forced_replacements: 1, skips: 1, ..NONE });
const LATE: Operations =
    Operations { is_fixed: true, ..one(Budget { runs: 5, kills: 1, save_failures: 1, ..NONE }) };
const PENDING: Operations =
    Operations { is_fixed: true, ..one(Budget { runs: 5, kills: 1, crashes: 1, ..NONE }) };
const SKIPS: Operations =
    Operations { is_fixed: true, ..one(Budget { runs: 4, kills: 1, skips: 2, ..NONE }) };
/// The second process serves another provider of the stack.
const TWO_PROCESSES: Operations = Operations { processes: 2, ..one(Budget { runs: 3, crashes: 1, ..NONE }) };
const TWO_RESOURCES: Operations =
    Operations { urns: 2, ..one(Budget { runs: 2, save_failures: 1, interrupts: 1, ..NONE }) };
const TWO_RESOURCES_KILLED: Operations = Operations { urns: 2, ..one(Budget { runs: 2, kills: 1, ..NONE }) };
const ATTACHED: Operations =
    Operations { is_attached: true, ..one(Budget { runs: 3, kills: 1, save_failures: 1, ..NONE }) };

#[track_caller]
fn violate(rules: Rules, model: Operations, promise: &str) -> String {
    expect_violation(&Operations { rules, ..model }, promise)
}

#[test]
fn no_object_is_lost_and_no_report_repeated() {
    let mut models = vec![
        ("failed save", FAILED_SAVE),
        ("Ctrl-C", INTERRUPT),
        ("crash of the provider", CRASH),
        ("dismissal", DISMISSAL),
        ("replacement", REPLACEMENT),
        ("two processes", TWO_PROCESSES),
        ("two resources", TWO_RESOURCES),
        ("attached engines", ATTACHED),
        ("five runs", LATE),
        ("five runs, crash of the provider", PENDING),
        ("skipped resource", SKIPS),
    ];
    if is_full() {
        let all =
            Budget { runs: 3, kills: 2, save_failures: 1, interrupts: 1, crashes: 1, refusals: 1, ..NONE };
        let kill = Budget { kills: 1, ..TWO_PROCESSES.budget };
        let late = Budget { kills: 2, ..LATE.budget };
        models.extend([
            ("two resources, kill", TWO_RESOURCES_KILLED),
            ("two processes, kill", Operations { budget: kill, ..TWO_PROCESSES }),
            ("two kills in five runs", Operations { budget: late, ..LATE }),
            ("six runs of changing programs", one(Budget { runs: 6, save_failures: 1, ..NONE })),
            ("all at once", one(Budget { replacements: 1, dismissals: 1, ..all })),
        ]);
    }
    println!("{}", expect_promises(models));
}

#[test]
fn settling_at_cancel_forgets_an_object_whose_answer_was_not_saved() {
    let rules = Rules { cancel: CancelRule::SettlesWhenIdle, ..Rules::PROPOSED };
    for promise in [KNOWN_TO_ENGINE_OR_JOURNAL, SETTLED_IS_KNOWN] {
        println!("saving failed:\n{}", violate(rules, FAILED_SAVE, promise));
        println!("Ctrl-C while the answer is on its way:\n{}", violate(rules, INTERRUPT, promise));
    }
}

#[test]
fn settling_at_cancel_with_calls_in_progress_forgets_an_object() {
    let rules = Rules { cancel: CancelRule::SettlesWhenBusy, ..Rules::PROPOSED };
    println!("{}", violate(rules, TWO_RESOURCES, KNOWN_TO_ENGINE_OR_JOURNAL));
}

#[test]
fn an_answer_before_made_is_written_leaves_a_saved_object_of_unknown_outcome() {
    let rules = Rules { made: MadeRule::AfterAnswer, ..Rules::PROPOSED };
    println!("{}", violate(rules, CRASH, UNKNOWN_IS_UNKNOWN));
}

#[test]
fn a_request_before_begun_is_written_loses_the_object() {
    let rules = Rules { begun: BegunRule::AfterEffect, ..Rules::PROPOSED };
    println!("{}", violate(rules, CRASH, KNOWN_TO_ENGINE_OR_JOURNAL));
}

#[test]
fn a_call_with_another_id_is_no_evidence() {
    let rules = Rules { evidence: EvidenceRule::Urn, ..Rules::PROPOSED };
    println!("{}", violate(rules, CRASH, KNOWN_TO_ENGINE_OR_JOURNAL));
    println!("{}", violate(rules, CRASH, SETTLED_IS_KNOWN));
}

#[test]
fn a_crash_of_the_provider_does_not_say_that_nothing_was_made() {
    let rules = Rules { failed: FailedRule::Settles, ..Rules::PROPOSED };
    println!("{}", violate(rules, CRASH, SETTLED_IS_KNOWN));
}

#[test]
fn two_processes_show_one_report_twice_without_a_claim() {
    let rules = Rules { reports: ReportRule::ShownAfterDelivery, ..Rules::PROPOSED };
    println!("{}", violate(rules, TWO_PROCESSES, SHOWN_ONCE));
}

#[test]
fn a_claim_that_outlives_its_connection_holds_a_report_back() {
    let rules = Rules { reports: ReportRule::ClaimedForLife, ..Rules::PROPOSED };
    println!("{}", violate(rules, PENDING, TWICE_IS_REPORTED));
}

#[test]
fn a_report_that_is_not_recorded_is_shown_by_each_run() {
    let rules = Rules { reports: ReportRule::NotRecorded, ..Rules::PROPOSED };
    println!("{}", violate(rules, CRASH, SHOWN_ONCE));
}

#[test]
fn two_processes_of_one_run_do_not_make_two_passed_runs() {
    let rules = Rules { passed: PassedRule::EachConnection, ..Rules::PROPOSED };
    let model = Operations { budget: Budget { kills: 1, ..TWO_PROCESSES.budget }, ..TWO_PROCESSES };
    println!("{}", violate(rules, model, TWO_RUNS_PASS));
}

#[test]
fn an_ended_creation_must_be_reported_after_another_one_of_its_urn() {
    // As soon as Cancel only marks it, passed runs do not count, and a Create that ignores it was the last
    // chance.
    let rules = Rules { create: CreateRule::Ignores, ..Rules::PROPOSED };
    println!("{}", violate(rules, LATE, TWICE_IS_REPORTED));
}

#[test]
fn a_report_at_create_can_be_cut_off_for_good() {
    let rules = Rules { create: CreateRule::Reports, ..Rules::PROPOSED };
    println!("{}", violate(rules, LATE, TWICE_IS_REPORTED));
}

#[test]
fn the_first_protocol_forgets_objects_and_repeats_reports() {
    println!("{}", violate(Rules::FIRST, FAILED_SAVE, KNOWN_TO_ENGINE_OR_JOURNAL));
    println!("{}", violate(Rules::FIRST, INTERRUPT, KNOWN_TO_ENGINE_OR_JOURNAL));
    println!("{}", violate(Rules::FIRST, TWO_PROCESSES, SHOWN_ONCE));
}
