//! Rules: which differences between the two bridges are meant, and the judgement of what was found by them.
//!
//! A difference that no rule covers is a defect, or a decision that nobody has written down. A rule that covers nothing
//! describes a difference that is not there, and users would read of it in vain.

use regex::Regex;
use serde_json::Value as Json;

use crate::compare::{Difference, OUTCOME, Path, Step};

/// A deliberate difference, as users read it.
#[derive(Debug)]
pub(crate) struct Entry {
    /// A short name, for messages of the test.
    pub(crate) id: &'static str,
    /// What differs.
    pub(crate) what: &'static str,
    /// How the Go bridge has it.
    pub(crate) go_bridge: &'static str,
    /// How isthmus has it.
    pub(crate) isthmus: &'static str,
    /// Why it is so.
    pub(crate) why: &'static str,
    /// How you get the Go bridge's behaviour, where that is possible.
    pub(crate) back: Option<&'static str>,
    /// How it shows in answers.
    pub(crate) shown: Shown,
}

/// Whether a difference can be seen side by side.
#[derive(Debug)]
pub(crate) enum Shown {
    /// By these rules, every one of which must be needed.
    InAnswers(&'static [Rule]),
    /// Not in answers that are compared here, but in these tests (`FILE::NAME`), which `tests/files` looks for.
    Elsewhere(&'static [&'static str]),
}

/// Differences that are alike.
#[derive(Debug)]
pub(crate) struct Rule {
    /// In the answers to these calls.
    pub(crate) calls: &'static [&'static str],
    /// At paths like this: `*` within a step stands for any text, a step `**` for any number of steps.
    pub(crate) path: &'static [&'static str],
    /// What ours is.
    pub(crate) ours: Side,
    /// What that of the Go bridge is.
    pub(crate) theirs: Side,
}

/// What one bridge has at a path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    /// No value.
    Nothing,
    /// A value, whatever it is.
    Something,
    /// Text (anything else as JSON) that this pattern matches as a whole.
    Like(&'static str),
}

/// A difference, and where it was found.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// What was asked, for people.
    pub(crate) question: String,
    /// The call.
    pub(crate) call: &'static str,
    pub(crate) difference: Difference,
}

/// What is wrong with a run.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// Differences without a rule.
    pub(crate) unruled: Vec<Finding>,
    /// Rules without a difference: the entry and the rule's number in it.
    pub(crate) idle: Vec<(&'static str, usize)>,
}

/// Judges what was found.
pub(crate) fn judge(findings: Vec<Finding>, entries: &[&'static Entry]) -> Verdict {
    let mut rules: Vec<(&'static str, usize, Compiled, bool)> = Vec::new();
    for entry in entries {
        if let Shown::InAnswers(own) = &entry.shown {
            rules.extend(
                own.iter()
                    .enumerate()
                    .map(|(number, rule)| (entry.id, number + 1, Compiled::new(entry.id, rule), false)),
            );
        }
    }
    let mut verdict = Verdict::default();
    for finding in findings {
        let mut covered = false;
        // All that cover it: two rules may overlap, and neither is idle then.
        for (_, _, rule, used) in &mut rules {
            if rule.covers(&finding) {
                *used = true;
                covered = true;
            }
        }
        if !covered {
            verdict.unruled.push(finding);
        }
    }
    verdict.idle =
        rules.into_iter().filter(|(_, _, _, used)| !used).map(|(id, number, _, _)| (id, number)).collect();
    verdict
}

/// What is wrong with a rule itself: it must not be able to cover a whole answer.
pub(crate) fn fault(rule: &Rule) -> Option<&'static str> {
    if rule.calls.is_empty() {
        return Some("it is for no call");
    }
    let concrete = |step: &&&str| !step.chars().all(|character| character == '*');
    if !rule.path.iter().any(|step| concrete(&step)) {
        return Some("its path has no step that is told by its name");
    }
    // Such a difference holds whole answers: both must be told by their text.
    let told = |side| matches!(side, Side::Like(pattern) if literal_length(pattern) >= 12);
    if rule.path.last() == Some(&OUTCOME) && !(told(rule.ours) && told(rule.theirs)) {
        return Some("it takes whole answers without saying which");
    }
    None
}

/// How much of a pattern is text to be found.
fn literal_length(pattern: &str) -> usize {
    pattern.chars().filter(|character| character.is_alphanumeric() || *character == ' ').count()
}

struct Compiled {
    rule: &'static Rule,
    ours: Option<Regex>,
    theirs: Option<Regex>,
}

impl Compiled {
    fn new(id: &str, rule: &'static Rule) -> Self {
        let pattern = |side| match side {
            Side::Like(pattern) => Some(
                Regex::new(&format!("(?s)^(?:{pattern})$")).unwrap_or_else(|error| panic!("{id}: {error}")),
            ),
            Side::Nothing | Side::Something => None,
        };
        Self { rule, ours: pattern(rule.ours), theirs: pattern(rule.theirs) }
    }

    fn covers(&self, finding: &Finding) -> bool {
        let Difference { path, ours, theirs } = &finding.difference;
        self.rule.calls.contains(&finding.call)
            && leads_to(self.rule.path, path)
            && fits(self.rule.ours, self.ours.as_ref(), ours.as_ref())
            && fits(self.rule.theirs, self.theirs.as_ref(), theirs.as_ref())
    }
}

fn fits(side: Side, pattern: Option<&Regex>, value: Option<&Json>) -> bool {
    match (side, value) {
        (Side::Nothing, value) => value.is_none(),
        (Side::Something, value) => value.is_some(),
        (Side::Like(_), None) => false,
        (Side::Like(_), Some(Json::String(text))) => pattern.is_some_and(|pattern| pattern.is_match(text)),
        (Side::Like(_), Some(other)) => pattern.is_some_and(|pattern| pattern.is_match(&other.to_string())),
    }
}

fn leads_to(pattern: &[&str], path: &Path) -> bool {
    fn from(pattern: &[&str], path: &[Step]) -> bool {
        match (pattern, path) {
            ([], []) => true,
            (["**", rest @ ..], _) => (0..=path.len()).any(|skipped| from(rest, &path[skipped..])),
            ([step, rest @ ..], [first, path @ ..]) => is_step(step, first) && from(rest, path),
            ([], [_, ..]) | ([_, ..], []) => false,
        }
    }
    from(pattern, &path.0)
}

fn is_step(pattern: &str, step: &Step) -> bool {
    match step {
        Step::Key(key) => is_text(pattern, key),
        Step::Index(index) => is_text(pattern, &index.to_string()),
    }
}

fn is_text(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| is_text(after, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(steps: &[&str]) -> Path {
        Path(steps.iter().map(|step| Step::Key((*step).to_owned())).collect())
    }

    const BY_PATH: Rule = Rule {
        calls: &["GetSchema"],
        path: &["resources", "*", "**", "description"],
        ours: Side::Something,
        theirs: Side::Nothing,
    };

    static ENTRY: Entry = Entry {
        id: "example",
        what: "",
        go_bridge: "",
        isthmus: "",
        why: "",
        back: None,
        shown: Shown::InAnswers(&[BY_PATH]),
    };

    fn finding(call: &'static str, ours: Option<Json>) -> Finding {
        let difference = Difference { path: path(&["resources", "a", "description"]), ours, theirs: None };
        Finding { question: String::new(), call, difference }
    }

    #[test]
    fn steps_may_be_patterns() {
        let deep = path(&["resources", "a:index/b:B", "properties", "x", "description"]);
        assert!(leads_to(BY_PATH.path, &deep));
        assert!(leads_to(&["resources", "a:*:B", "**"], &deep));
        assert!(!leads_to(&["resources", "*", "description"], &deep));
        assert!(!leads_to(&["resources", "a:*:C", "**"], &deep));
        assert!(leads_to(&["failures", "*"], &Path(vec![Step::Key("failures".into()), Step::Index(3)])));
    }

    #[test]
    fn a_difference_without_a_rule_is_told_and_so_is_a_rule_without_a_difference() {
        let verdict = judge(vec![finding("GetSchema", Some(json!("text")))], &[&ENTRY]);
        assert!(verdict.unruled.is_empty() && verdict.idle.is_empty(), "{verdict:?}");
        for other in [finding("GetMapping", Some(json!("text"))), finding("GetSchema", None)] {
            let verdict = judge(vec![other], &[&ENTRY]);
            assert_eq!(verdict.unruled.len(), 1);
            assert_eq!(verdict.idle, [("example", 1)]);
        }
    }

    #[test]
    fn no_rule_covers_a_whole_answer() {
        let rule = |path, ours, theirs| Rule { calls: &["Check"], path, ours, theirs };
        for all in [&[][..], &["**"], &["*", "*"]] {
            assert!(fault(&rule(all, Side::Something, Side::Something)).is_some(), "{all:?}");
        }
        assert!(fault(&rule(&[OUTCOME], Side::Something, Side::Like("a long enough text"))).is_some());
        assert!(fault(&rule(&[OUTCOME], Side::Like(".*"), Side::Like("a long enough text"))).is_some());
        assert!(fault(&rule(&["a"], Side::Something, Side::Something)).is_none());
    }
}
