//! Which differences between our requests and OpenTofu's are meant, and how often each was seen.
//!
//! The list is closed: a difference that no rule covers fails the test, and so does a rule that nothing needed in a round of
//! 20,000 resources.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::compare::{Difference, What};
use crate::providers::Service;
use crate::requests::Request;
use crate::steps::Decision;

/// A rule.
#[derive(Debug)]
pub(crate) struct Rule {
    /// A short name.
    pub(crate) id: &'static str,
    /// Why the difference is right.
    pub(crate) reason: &'static str,
    /// Whether it covers a difference.
    pub(crate) covers: fn(&Difference) -> bool,
}

/// All of them.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        id: "OpenTofu repeats",
        reason: "it validates, plans and applies in processes of their own, and each asks again",
        covers: |difference| {
            difference.what == What::TheirsRepeated
                && matches!(
                    difference.method,
                    "ValidateResourceConfig"
                        | "PlanResourceChange"
                        | "UpgradeResourceState"
                        | "ValidateProviderConfig"
                        | "ConfigureProvider"
                )
        },
    },
    Rule {
        id: "isthmus repeats",
        reason: "an engine previews and then updates, and nothing is remembered between its calls",
        covers: |difference| {
            difference.what == What::OursRepeated
                && matches!(
                    difference.method,
                    "ValidateResourceConfig" | "PlanResourceChange" | "UpgradeResourceState"
                )
        },
    },
    Rule {
        id: "isthmus remembers",
        reason: "a process that has validated a configuration or upgraded a state without a diagnostic is not asked again; \
                 OpenTofu starts another one each time",
        covers: |difference| {
            difference.what == What::AnsweredBefore
                && matches!(difference.method, "ValidateResourceConfig" | "UpgradeResourceState")
        },
    },
    Rule {
        id: "OpenTofu upgrades again",
        reason: "it stores what it has upgraded, also where nothing changes, and upgrades what is deleted once more before it \
                 applies; an upgrade by the older SDK makes empty texts and sets of null",
        covers: |difference| {
            let is_upgraded = match &difference.what {
                What::OnlyTheirs => true,
                What::Field { path, ours, theirs } => {
                    path.starts_with("/raw_state/") && is_emptied(ours, theirs)
                }
                _ => false,
            };
            is_upgraded
                && difference.method == "UpgradeResourceState"
                && difference.theirs.as_ref().is_some_and(|request| {
                    matches!(&*request.type_name, "conformance_legacy_sets" | "conformance_legacy_shapes")
                })
        },
    },
    Rule {
        id: "the release",
        reason: "OpenTofu tells providers the release of Terraform that it is at least as good as; isthmus tells a newer one, \
                 because some providers ask for that before they offer what is newest",
        covers: |difference| {
            let What::Field { path, .. } = &difference.what else { return false };
            difference.method == "ConfigureProvider" && path == "/terraform_version"
        },
    },
    Rule {
        id: "timeouts with nothing in them",
        reason: "an engine tells Update of its own timeouts, and Diff of none, which therefore takes those that the state has, also \
                 a block with nothing in it that the program has no more or an import has made",
        covers: |difference| {
            let is_empty = |timeouts: &Json| {
                timeouts.as_object().is_some_and(|timeouts| timeouts.values().all(Json::is_null))
            };
            difference.method == "PlanResourceChange"
                && match &difference.what {
                    What::OnlyOurs => {
                        let ours = difference.ours.as_ref();
                        ours.is_some_and(|request| is_empty(&request.fields["config"]["timeouts"]))
                    }
                    What::Field { path, ours, theirs } => {
                        matches!(&**path, "/config/timeouts" | "/proposed_new_state/timeouts")
                            && ours.as_ref().is_some_and(is_empty)
                            && theirs.as_ref().is_some_and(Json::is_null)
                    }
                    _ => false,
                }
        },
    },
    Rule {
        id: "deferral",
        reason: "isthmus announces that it can show what a provider puts off, which OpenTofu cannot",
        covers: |difference| difference.what == What::Announced("deferral_allowed"),
    },
    Rule {
        id: "computed blocks",
        reason: "isthmus announces that it understands blocks that only the provider fills, which OpenTofu does not know",
        covers: |difference| difference.what == What::Announced("computed_blocks_allowed"),
    },
    Rule {
        id: "the last plan of a replacement",
        reason: "OpenTofu plans the new object of a replacement with the private data of the first plan, and once more, without \
                 them, before it applies; isthmus goes by the plan that a preview has shown",
        covers: |difference| {
            difference.what == What::OnlyTheirs
                && difference.method == "PlanResourceChange"
                && replaces(difference.decision)
                && difference.theirs.as_ref().is_some_and(|request| {
                    request.fields["prior_state"].is_null() && !request.fields["config"].is_null()
                })
        },
    },
    Rule {
        id: "what a replacement takes over",
        reason: "isthmus plans and makes a new object in the place of an old one with the private data and the identity that the \
                 plan of the replacement came with; OpenTofu passes on the private data, in its second plan only, and knows no \
                 identities",
        covers: |difference| {
            let What::Field { path, .. } = &difference.what else { return false };
            let carried = ["/prior_identity", "/prior_private", "/planned_identity", "/planned_private"];
            matches!(difference.method, "PlanResourceChange" | "ApplyResourceChange")
                && replaces(difference.decision)
                && carried.contains(&path.as_str())
                && difference.ours.as_ref().is_some_and(|request| {
                    request.fields["prior_state"].is_null() && !request.fields["config"].is_null()
                })
        },
    },
    Rule {
        id: "the planned end of what is replaced",
        reason: "OpenTofu deletes first by the plan of the replacement; an engine's Delete is a call of its own, which knows \
                 nothing of a replacement and plans the end as for any other deletion",
        covers: |difference| {
            difference.what == What::OnlyOurs
                && difference.method == "PlanResourceChange"
                && difference.decision == Decision::ReplaceDeletingFirst
                && difference.ours.as_ref().is_some_and(|request| request.fields["config"].is_null())
        },
    },
    Rule {
        id: "what the plan of a replacement says of the old object",
        reason: "the same: OpenTofu deletes with the identity and the private data that the plan of the replacement came with, \
                 isthmus with those of the plan of the end",
        covers: |difference| {
            let What::Field { path, .. } = &difference.what else { return false };
            difference.method == "ApplyResourceChange"
                && difference.decision == Decision::ReplaceDeletingFirst
                && ["/planned_identity", "/planned_private"].contains(&path.as_str())
                && difference.theirs.as_ref().is_some_and(|request| request.fields["config"].is_null())
        },
    },
    Rule {
        id: "planned ends that are not passed on",
        reason: "on protocol 5 the library that joins the provider's servers passes the plan of an end on to the right one, \
                 or answers it itself and forgets the identity, by whether the process was asked for its schema; OpenTofu \
                 asks one process for many, isthmus each",
        covers: |difference| {
            let What::Field { path, ours, .. } = &difference.what else { return false };
            difference.method == "ApplyResourceChange"
                && path == "/planned_identity"
                && *ours == Some("(absent)".into())
                && difference.ours.as_ref().is_some_and(|request| {
                    request.type_name == "conformance_identified" && request.fields["config"].is_null()
                })
        },
    },
    Rule {
        id: "the private data of what is gone",
        reason: "when reading shows that an object is gone, OpenTofu plans the new one with the old one's private data, and then \
                 applies another plan, without them, which is ours; an engine forgets what is gone",
        covers: |difference| {
            let is_about_them = match &difference.what {
                What::OnlyTheirs => true,
                What::Field { path, .. } => path == "/prior_private",
                _ => false,
            };
            is_about_them
                && difference.method == "PlanResourceChange"
                && difference.decision == Decision::Create
                && difference.step.refresh
                && difference.theirs.as_ref().is_some_and(|request| {
                    request.fields["prior_state"].is_null() && request.fields["prior_private"] != ""
                })
        },
    },
    Rule {
        id: "the inputs of what is imported",
        reason: "an engine is told the inputs that would make what was imported; isthmus asks the provider for them or derives \
                 them, and tries them by a plan, where OpenTofu has the program's alone",
        covers: |difference| {
            difference.what == What::OnlyOurs
                && matches!(
                    difference.method,
                    "ValidateResourceConfig" | "PlanResourceChange" | "GenerateResourceConfig"
                )
                && difference.step.imports()
        },
    },
    Rule {
        id: "documents are read before they change",
        reason: "a provider that keeps a copy of what the server has in a computed attribute without a type plans wrong changes where \
                 the copy is old; OpenTofu reads it by default, and an engine only when it is told to refresh",
        covers: |difference| {
            matches!(difference.what, What::OnlyOurs | What::OursRepeated)
                && difference.method == "ReadResource"
                && difference.ours.as_ref().is_some_and(|ours| {
                    matches!(
                        ours.type_name.as_str(),
                        "conformance_attribute_dynamic" | "conformance_dynamics"
                    )
                })
                && match difference.decision {
                    Decision::Update | Decision::ReplaceCreatingFirst | Decision::ReplaceDeletingFirst => {
                        true
                    }
                    // A plan of the legacy engine was a change, before all arguments were known.
                    Decision::Nothing => difference.service == Service::Lumirpc && difference.step.unknown,
                    Decision::Create | Decision::Delete => false,
                }
        },
    },
    Rule {
        id: "an engine decides twice",
        reason: "OpenTofu replaces where an unknown argument may replace, whatever it turns out to be, and does not look again at what \
                 cannot change; an engine calls Check and Diff again with the known arguments",
        covers: |difference| {
            let Some(ours) = &difference.ours else { return false };
            let decides_anew = match difference.method {
                "PlanResourceChange" => {
                    difference.decision == Decision::Nothing
                        || (replaces(difference.decision) && !ours.fields["prior_state"].is_null())
                }
                "ValidateResourceConfig" => difference.decision == Decision::Nothing,
                _ => false,
            };
            difference.what == What::OnlyOurs
                && difference.step.unknown
                && decides_anew
                && !ours.is_about_unknown()
        },
    },
    Rule {
        id: "an update that turns out to replace",
        reason: "OpenTofu refuses it as an inconsistent final plan, after it has planned the new object; an engine replaces",
        covers: |difference| {
            difference.what == What::OnlyTheirs
                && difference.method == "PlanResourceChange"
                && difference.step.unknown
                && difference.decision == Decision::Update
                && difference.theirs.as_ref().is_some_and(|request| request.fields["prior_state"].is_null())
        },
    },
    Rule {
        id: "a failed update is read",
        reason: "after an update has failed, isthmus reads what there is, which the engine stores; OpenTofu keeps the state before it",
        covers: |difference| {
            matches!(difference.what, What::OnlyOurs | What::OursRepeated)
                && difference.method == "ReadResource"
                && difference.decision == Decision::Update
                && difference.ours.as_ref().is_some_and(|request| {
                    matches!(
                        request.type_name.as_str(),
                        "conformance_record" | "conformance_flaky" | "conformance_legacy_flaky"
                    )
                })
        },
    },
    Rule {
        id: "OpenTofu validates before it plans",
        reason: "at first it reads no state, so that all that comes from other resources is unknown; an engine passes outputs on",
        covers: |difference| {
            difference.what == What::OnlyTheirs
                && difference.method == "ValidateResourceConfig"
                && !difference.step.unknown
                && difference.theirs.as_ref().is_some_and(Request::is_about_unknown)
        },
    },
    Rule {
        id: "what was read is upgraded",
        reason: "the engine stores what was read, and each of its calls begins with what is stored, which goes through \
                 UpgradeResourceState as all that is stored does",
        covers: |difference| {
            difference.what == What::OnlyOurs
                && difference.method == "UpgradeResourceState"
                && (difference.step.refresh || difference.step.imports())
        },
    },
    Rule {
        id: "an engine starts a plugin for each command",
        reason: "each process configures its provider, as each process of OpenTofu does; today's engine is played with one plugin until \
                 a command fails",
        covers: |difference| {
            difference.what == What::OursRepeated
                && matches!(difference.method, "ValidateProviderConfig" | "ConfigureProvider")
        },
    },
    Rule {
        id: "the legacy engine compares inputs",
        reason: "it calls Check of each resource, and Diff only of those whose inputs differ; OpenTofu plans all",
        covers: |difference| {
            difference.service == Service::Lumirpc
                && difference.what == What::OnlyTheirs
                && matches!(difference.method, "PlanResourceChange" | "UpgradeResourceState")
                && difference.decision == Decision::Nothing
        },
    },
    Rule {
        id: "a failed creation is undone",
        reason: "the legacy engine cannot store what a failed creation has left, so that isthmus deletes it in the same call, as it was \
                 returned; the test has OpenTofu destroy it, which upgrades its state first",
        covers: |difference| {
            difference.service == Service::Lumirpc
                && difference.what == What::OnlyTheirs
                && difference.method == "UpgradeResourceState"
                && difference.decision == Decision::Create
        },
    },
    Rule {
        id: "a failed deletion is read",
        reason: "the legacy engine takes an object for existing after a deletion that failed, so that isthmus reads whether it does",
        covers: |difference| {
            difference.service == Service::Lumirpc
                && difference.what == What::OnlyOurs
                && difference.method == "ReadResource"
                && difference.decision == Decision::Delete
                && matches!(difference.step.trouble, Some(("delete", _)))
        },
    },
    Rule {
        id: "the legacy engine plans no new objects",
        reason: "its plan calls Check and Diff, and its deployment has all arguments; OpenTofu plans new objects with unknown ones",
        covers: |difference| {
            difference.service == Service::Lumirpc
                && difference.what == What::OnlyTheirs
                && difference.method == "PlanResourceChange"
                && difference.theirs.as_ref().is_some_and(|request| {
                    request.fields["prior_state"].is_null() && request.is_about_unknown()
                })
        },
    },
];

/// How often each rule applied, and what none covered.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    applied: BTreeMap<&'static str, usize>,
}

impl Tally {
    /// Counts a difference; whether a rule covers it.
    pub(crate) fn covers(&mut self, difference: &Difference) -> bool {
        let rule = RULES.iter().find(|rule| (rule.covers)(difference));
        if let Some(rule) = rule {
            *self.applied.entry(rule.id).or_default() += 1;
        }
        rule.is_some()
    }

    /// Each rule and how often it applied.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'static Rule, usize)> {
        RULES.iter().map(|rule| (rule, self.applied.get(rule.id).copied().unwrap_or_default()))
    }

    /// The rules that nothing needed.
    pub(crate) fn idle(&self) -> impl Iterator<Item = &'static str> {
        self.counts().filter(|(_, count)| *count == 0).map(|(rule, _)| rule.id)
    }
}

/// Whether an upgrade by the older SDK has made theirs of ours: an empty set of null.
pub(crate) fn is_emptied(ours: &Option<Json>, theirs: &Option<Json>) -> bool {
    *ours == Some(Json::Null) && *theirs == Some(json!({"(set)": []}))
}

/// Whether it is a replacement.
const fn replaces(decision: Decision) -> bool {
    matches!(decision, Decision::ReplaceCreatingFirst | Decision::ReplaceDeletingFirst)
}
