//! Public reports about the Go bridge and its plugin, each shown by a scenario that OpenTofu, the Go bridge and the daemon run:
//! the ledger in `docs/upstream.md`.
//!
//! A report is a row, and its scenario one of [`features`] or one of its own here. What a row says of the three is made by code
//! from what was seen; nothing of it is typed in. The test of [`features`] runs them, and compares the page with what it saw or
//! writes it anew.

mod packages;
mod previews;
mod processes;
mod secrets;
mod states;
mod untried;

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::features::life::Side;
use crate::features::outcome::Grade;
use crate::features::{Run, Seen, UPDATE, has_feature};

/// A report, and the scenario that shows it.
struct Report {
    /// Repositories and numbers, separated by commas; `closed` behind those that are.
    numbers: &'static str,
    /// What it says, in our words.
    says: &'static str,
    shown: Shown,
}

/// A scenario.
#[derive(Clone, Copy)]
enum Shown {
    /// That of a feature, by its name in `docs/differences.md`.
    Feature(&'static str),
    /// One for this report, by the path of its function.
    Own(&'static str, Run),
}

/// A report that a feature shows, or one with a scenario of its own.
macro_rules! report {
    ($numbers:literal, $says:literal, $feature:literal) => {
        $crate::upstream::Report {
            numbers: $numbers,
            says: $says,
            shown: $crate::upstream::Shown::Feature($feature),
        }
    };
    ($numbers:literal, $says:literal, $run:ident) => {
        $crate::upstream::Report {
            numbers: $numbers,
            says: $says,
            shown: $crate::upstream::Shown::Own(concat!(module_path!(), "::", stringify!($run)), |life| {
                Box::pin($run(life))
            }),
        }
    };
}
use report;

/// All reports, by theme.
const THEMES: &[(&str, &[Report])] = &[
    ("Previews and sets", previews::REPORTS),
    ("Schemas and names", packages::SCHEMAS),
    ("Processes", processes::PROCESSES),
    ("Import and state", states::REPORTS),
    ("Secrets", secrets::REPORTS),
    ("Installation", packages::INSTALLATION),
    ("Other", processes::OTHER),
];

fn all() -> impl Iterator<Item = &'static Report> {
    THEMES.iter().flat_map(|(_, reports)| reports.iter())
}

impl Report {
    /// The name of its scenario.
    fn scenario(&self) -> &'static str {
        match self.shown {
            Shown::Feature(name) | Shown::Own(name, _) => name,
        }
    }

    /// Where its scenario is.
    fn place(&self) -> String {
        match self.shown {
            Shown::Feature(what) => format!("feature “{what}”"),
            Shown::Own(path, _) => {
                let mut steps = path.rsplit("::");
                let [function, file] = [steps.next(), steps.next()].map(Option::unwrap_or_default);
                format!("`{function}` in {file}.rs")
            }
        }
    }
}

/// The scenarios of reports that are those of no feature.
pub(crate) fn scenarios() -> impl Iterator<Item = (&'static str, Run)> {
    all().filter_map(|report| match report.shown {
        Shown::Feature(_) => None,
        Shown::Own(path, run) => Some((path, run)),
    })
}

#[test]
fn a_report_is_in_the_ledger_once_and_has_a_scenario_or_a_reason() {
    let mut numbers = BTreeSet::new();
    let untried = untried::REPORTS.iter().map(|(numbers, reason)| (*numbers, *reason));
    for (of_row, says) in all().map(|report| (report.numbers, report.says)).chain(untried) {
        for number in of_row.split(", ") {
            let number = number.trim_end_matches(" closed");
            assert!(numbers.insert(number), "{number} is there twice");
            let digits = number.rsplit_once('#').map_or("", |(_, digits)| digits);
            assert!(digits.parse::<u32>().is_ok(), "{number:?} is no report");
        }
        assert!(!says.is_empty() && !says.contains(['|', '\n']), "{of_row}: {says:?}");
    }
    for report in all() {
        if let Shown::Feature(what) = report.shown {
            assert!(has_feature(what), "{}: no feature is called {what:?}", report.numbers);
        }
    }
}

fn page(seen: &Seen, versions: &str) -> String {
    let (mut rows, mut reports, mut green, mut red) = (0, 0, 0, 0);
    let mut tables = String::new();
    for (theme, of_theme) in THEMES {
        tables += &format!(
            "\n## {theme}\n\n| report | fault | OpenTofu | Go bridge | isthmus | scenario |\n|---|---|---|---|---|---|\n"
        );
        for report in *of_theme {
            let [tofu, go_bridge, isthmus] = Side::ALL.map(|side| {
                let (grade, text) = &seen[&(report.scenario(), side)];
                // The text begins with how much there is, in bold type.
                (*grade, text.split_once(": ").map_or("", |(_, facts)| facts))
            });
            green += usize::from(isthmus.0 == Grade::Whole);
            red += usize::from(go_bridge.0 != Grade::Whole);
            reports += report.numbers.split(", ").count();
            rows += 1;
            tables += &format!(
                "| {} | {} | {}: {} | {}: {} | {}: {} | {} |\n",
                links(report.numbers),
                report.says,
                match tofu.0 {
                    Grade::Whole => "yes",
                    Grade::Partly => "partly",
                    Grade::Missing => "no",
                },
                tofu.1,
                if go_bridge.0 == Grade::Whole { "not reproduced" } else { "**red**" },
                go_bridge.1,
                if isthmus.0 == Grade::Whole { "green" } else { "**red**" },
                isthmus.1,
                report.place(),
            );
        }
    }
    let untried =
        untried::REPORTS.iter().map(|(numbers, reason)| format!("| {} | {reason} |\n", links(numbers)));
    format!(
        "# Public reports, tried side by side

<!-- Made by tests/tofu/upstream.rs. Change it there, then: UPDATE_EXPECT=1 cargo test --test tofu tables -->

{rows} rows for {reports} reports: {green} green with isthmus; {red} red with the Go bridge, {} not reproduced there.

Each row is a public report, and a scenario of ours that shows it. The reports are about the Go
bridge (`bridge` is pulumi/pulumi-terraform-bridge), about its plugin (`ptp` is
pulumi/pulumi-terraform-provider), or about what these cause elsewhere. OpenTofu, the Go bridge and
isthmus run each scenario with one provider: `tests/provider`, or the sandbox. A test compares
the results with this page ({}).

- OpenTofu: “yes” if it does what the report requests, with the result.
- Go bridge: “red” if the scenario shows the fault of the report, “not reproduced” if the Go
  bridge does well. Some reports are for another version, or for a provider that is linked to the
  bridge instead of started by it.
- isthmus: “green” if it does well, else “red”.

A scenario is one of the features in [Differences](differences.md#features-side-by-side), or a
function in a file of `tests/tofu/upstream`.
{tables}
## Not tried

No scenario shows these reports, so this page makes no statement about them. It leaves out reports
about programs that are not built on the Go bridge.

| report | reason |
|---|---|
{}",
        rows - red,
        versions,
        untried.collect::<String>(),
    )
}

/// Reports as links to them.
fn links(numbers: &str) -> String {
    let links = numbers.split(", ").map(|number| {
        let (number, state) =
            number.strip_suffix(" closed").map_or((number, ""), |number| (number, " (closed)"));
        let (repository, digits) = number.split_once('#').unwrap_or((number, ""));
        let path = match repository {
            "bridge" => "pulumi/pulumi-terraform-bridge".to_owned(),
            "ptp" => "pulumi/pulumi-terraform-provider".to_owned(),
            own if own.contains('/') => own.to_owned(),
            of_pulumi => format!("pulumi/{of_pulumi}"),
        };
        format!("[{number}](https://github.com/{path}/issues/{digits}){state}")
    });
    links.collect::<Vec<_>>().join(", ")
}

/// Compares the page with the one that is there, or writes it.
pub(crate) fn compare(seen: &Seen, versions: &str) {
    let made = page(seen, versions);
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/upstream.md");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, made).expect("the page can be written");
        return;
    }
    let kept = std::fs::read_to_string(&file).expect("the page can be read");
    let differing = kept.lines().zip(made.lines()).filter(|(kept, made)| kept != made);
    let differing: Vec<String> =
        differing.map(|(kept, made)| format!("page: {kept}\nseen: {made}")).collect();
    assert!(
        kept == made,
        "docs/upstream.md has another ledger; run `{UPDATE}=1 cargo test --test tofu tables`:\n{}",
        differing.join("\n\n")
    );
}
