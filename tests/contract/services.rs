//! Both services follow the same rules: each scenario here runs through today's service and through the legacy one, on both
//! protocols, and `docs/services.md` is generated from what was run.
//!
//! A rule that the legacy service cannot follow says why; its scenario runs through today's service alone.

mod applies;
mod checks;
pub(crate) mod driver;
mod plans;
mod schemas;
mod states;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::harness::{Outcome, Protocol};
use driver::{At, Service};

/// Set to anything, it has the page written anew instead of compared.
const UPDATE: &str = "UPDATE_EXPECT";

const HEAD: &str = "\
# Rules of the two services

<!-- Generated from the scenarios in tests/contract/services. UPDATE_EXPECT=1 cargo test --test contract services::the_page -->

Isthmus serves `pulumirpc.ResourceProvider` for today's engines and `lumirpc.ResourceProvider` for the legacy engine, and
implements each operation once for both (`bridge/operations/resource`, on the rules of Terraform core in `shim/provider/rules`). Each row
is a scenario that runs on protocols 5 and 6 through every service with *yes* or *differs*; *no* comes with the reason why the
legacy contract (`proto/lumirpc/provider.proto`) cannot express the rule.

| rule | today's service | legacy service | implemented in |
|---|---|---|---|
";

/// How the legacy service follows a rule.
#[derive(Clone, Copy, Debug)]
enum Legacy {
    /// As today's.
    Same,
    /// With this difference, which the scenario knows.
    Differs(&'static str),
    /// Not at all, for this reason.
    Inexpressible(&'static str),
}

/// A rule, and the scenario that shows it.
#[derive(Clone, Copy, Debug)]
struct Rule {
    /// For the page, in the words of users.
    text: &'static str,
    legacy: Legacy,
    /// The files that implement it, below `shim/provider/rules` or `bridge/operations/resource`.
    files: &'static [&'static str],
}

impl Rule {
    /// Runs the rule's scenario through the services that follow it.
    async fn run(&self, protocol: Protocol, scenario: impl AsyncFn(At) -> Outcome) -> Outcome {
        scenario(At { service: Service::Today, protocol }).await?;
        match self.legacy {
            Legacy::Same | Legacy::Differs(_) => scenario(At { service: Service::Legacy, protocol }).await,
            Legacy::Inexpressible(_) => Ok(()),
        }
    }

    fn row(&self) -> String {
        let legacy = match self.legacy {
            Legacy::Same => "yes".to_owned(),
            Legacy::Differs(how) => format!("differs: {how}"),
            Legacy::Inexpressible(why) => format!("no: {why}"),
        };
        let files: Vec<String> = self.files.iter().map(|file| format!("`{file}`")).collect();
        format!("| {} | yes | {legacy} | {} |\n", self.text, files.join(", "))
    }
}

/// Declares rules, each with its text for the page, its files, the legacy service's part in it, and a scenario, which runs once on each
/// protocol: `"text" in ["files"], legacy: Same, async fn name(at) { … }`.
macro_rules! rules {
    ($($text:literal in [$($file:literal),+ $(,)?], legacy: $legacy:expr, async fn $name:ident($at:ident) $body:block)*) => {
        pub(super) const RULES: &[Rule] = &[$($name::RULE),*];

        $(mod $name {
            #[allow(unused_imports, reason = "some need nothing of their file")]
            use super::*;

            pub(super) const RULE: Rule = Rule { text: $text, legacy: $legacy, files: &[$($file),+] };

            async fn scenario($at: At) -> Outcome {
                $body
                Ok(())
            }

            #[tokio::test]
            async fn on_protocol_5() -> Outcome {
                RULE.run(Protocol::V5, scenario).await
            }

            #[tokio::test]
            async fn on_protocol_6() -> Outcome {
                RULE.run(Protocol::V6, scenario).await
            }
        })*
    };
}
use rules;

fn all_rules() -> impl Iterator<Item = &'static Rule> {
    [checks::RULES, plans::RULES, applies::RULES, states::RULES].into_iter().flatten()
}

#[test]
fn the_page_has_the_rules_that_were_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = root.join("docs/services.md");
    let made = HEAD.to_owned() + &all_rules().map(Rule::row).collect::<String>();
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, made).expect("the page can be written");
        return;
    }
    let kept = std::fs::read_to_string(&file).expect("the page can be read");
    assert!(
        kept == made,
        "docs/services.md is not what the scenarios make; run `{UPDATE}=1 cargo test --test contract services::the_page`"
    );
}

#[test]
fn every_file_of_rules_and_operations_is_in_the_table() {
    let named: BTreeSet<&str> = all_rules().flat_map(|rule| rule.files).copied().collect();
    let mut found = BTreeSet::new();
    for directory in ["shim/provider/rules", "bridge/operations/resource"] {
        let entries = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(directory));
        let files = entries.expect("a directory of sources").map(|entry| entry.expect("an entry").path());
        let is_source = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "rs");
        for file in files.filter(is_source) {
            let name = file.file_stem().and_then(|name| name.to_str()).expect("a name in UTF-8");
            found.insert(format!(
                "{}/{name}",
                if directory == "bridge/operations/resource" { "resource" } else { "rules" }
            ));
        }
    }
    // Values for the tests of the rules, the entrance for counting instructions, and what `isthmus migrate` does without a service.
    for other in ["rules/testing", "resource/counting", "resource/foreign"] {
        found.remove(other);
    }
    let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(named, found);
}

#[test]
fn every_cell_of_the_table_keeps_to_its_cell() {
    for rule in all_rules() {
        let legacy = match rule.legacy {
            Legacy::Same => "",
            Legacy::Differs(text) | Legacy::Inexpressible(text) => text,
        };
        assert!(!rule.text.is_empty() && !rule.files.is_empty(), "{rule:?}");
        assert!(!rule.text.contains(['|', '\n']) && !legacy.contains(['|', '\n']), "{rule:?}");
    }
}
