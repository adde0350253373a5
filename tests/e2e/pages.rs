//! Pages of the book and READMEs of examples, typed from top to bottom by a new user on a clean machine.
//!
//! The commands and files are those of the page itself, and what a page shows of their output is compared (`fixtures::pages` has the
//! rules). A test adds what a page cannot have: a cache of providers, because no test has a network, and the end, by which it is
//! seen that the page has kept its promise. `tests/files/commands.rs` looks for pages that no test runs.

mod recording;
mod walk;

use walk::Walk;

use crate::harness::Provider;
use crate::release::Releases;

/// The versions that the pages choose from.
const RANDOM: [(Provider, &str); 2] = [(Provider::Random, "3.8.0"), (Provider::Random, "3.9.0")];

#[test]
fn quick_start() {
    let walk = Walk::new("the quick start", &RANDOM);
    let printed = walk.run(include_str!("../../docs/quick-start.md"));
    assert!(printed.contains("+ 2 created"), "{printed}");
    walk.expect_nothing_left();
}

#[test]
fn a_stack_from_nothing() {
    let providers = [(Provider::Random, "3.9.0"), (Provider::Tls, "4.1.0"), (Provider::Local, "2.6.0")];
    let walk = Walk::new("a stack from nothing", &providers);
    let printed = walk.run(include_str!("../../docs/tutorials/first-stack.md"));
    // Created, changed by a replacement, and created again after the drift.
    for summary in ["+ 5 created", "+-1 replaced", "+ 1 created", "- 5 deleted"] {
        assert!(printed.contains(summary), "{summary:?} is missing\n{printed}");
    }
    assert!(!walk.path("workshop/card.txt").exists(), "{printed}");
    walk.expect_nothing_left();
}

#[test]
fn a_terraform_project_that_moves_over_and_back() {
    let providers = [(Provider::Random, "3.9.0"), (Provider::Local, "2.6.0")];
    let walk = Walk::new("a Terraform project", &providers);
    fixtures::tools::built(&["tofu"]);
    walk.use_mirror(&providers);
    let printed = walk.run(include_str!("../../docs/tutorials/terraform-project.md"));
    assert!(printed.contains("wrote 3 resources of 2 providers"), "{printed}");
    let program = walk.read("shop/pulumi/Pulumi.yaml");
    assert!(program.contains("content: \"${name.id}\""), "{program}");
    // One object, which neither program has made a second time.
    let sign = walk.read("shop/terraform/sign.txt");
    assert!(printed.lines().any(|line| line == sign), "{sign} is not the output of the stack\n{printed}");
    walk.expect_no_process();
}

#[test]
fn a_company_network() {
    // Nothing is in the cache: all comes from the mirror.
    let walk = Walk::new("a company network", &[]);
    let mirror = walk.mirror(&RANDOM);
    let page = include_str!("../../docs/tutorials/company-network.md");
    let printed = walk.run_with(page, &[("/srv/mirror", mirror.to_str().expect("a plain path"))]);
    assert!(printed.contains("3.9.0") && printed.contains("h1:"), "{printed}");
    walk.expect_nothing_left();
}

#[test]
fn a_whole_company() {
    let walk = Walk::new("a whole company", &RANDOM);
    let releases = Releases::new();
    let server = releases.serve();
    let page = include_str!("../../docs/tutorials/whole-company.md");
    let printed = walk.run_with(page, &[("https://YOUR.SERVER/isthmus", &server.address)]);
    assert!(printed.contains("bin/pulumi-resource-terraform-provider (on PATH)"), "{printed}");
    assert!(printed.contains("+ 2 created"), "{printed}");
    assert!(server.requests().iter().any(|name| name.contains("-v1.4.0-linux-")), "{:?}", server.requests());
    walk.expect_nothing_left();
}

#[test]
fn terraform_modules() {
    let walk = Walk::new("Terraform modules", &[]);
    let printed = walk.run(include_str!("../../docs/tutorials/terraform-modules.md"));
    assert!(printed.contains("installed ") && printed.contains("no faults, no warnings"), "{printed}");
    walk.expect_no_process();
}

#[test]
fn a_ci_job() {
    let walk = Walk::new("a CI recipe", &RANDOM);
    let page = include_str!("../../docs/tutorials/ci.md");
    let printed = walk.run(page);
    assert!(printed.contains("+ 2 created"), "{printed}");
    // The workflow's commands are those that were run.
    let ran: Vec<&str> = fixtures::pages::blocks(page)
        .into_iter()
        .filter(|block| block.has_commands() && block.not_run.is_none())
        .flat_map(|block| block.text.lines())
        .collect();
    let workflow = page.lines().filter_map(|line| line.trim_start().strip_prefix("- run: "));
    let workflow: Vec<&str> = workflow.collect();
    assert!(workflow.len() >= 4 && workflow.iter().all(|line| ran.contains(line)), "{workflow:?}: {ran:?}");
    walk.type_lines("pulumi destroy --yes");
    walk.expect_nothing_left();
}

#[test]
fn vendored_sdks() {
    let walk = Walk::new("vendored SDKs", &RANDOM);
    let printed = walk.run(include_str!("../../docs/tutorials/vendoring.md"));
    assert!(printed.contains("random-3.9.0.yaml"), "{printed}");
    walk.expect_nothing_left();
}

#[test]
fn users_of_pulumi() {
    let walk = Walk::new("users of Pulumi", &RANDOM);
    walk.log_in();
    walk.write("Pulumi.yaml", include_str!("../../examples/yaml/Pulumi.yaml"));
    walk.type_lines("isthmus install --plugin; pulumi install; pulumi stack init dev; pulumi up");
    let printed = walk.run(include_str!("../../docs/audiences/pulumi-users.md"));
    assert!(printed.contains("3 unchanged"), "{printed}");
    walk.type_lines("pulumi destroy --yes");
    walk.expect_nothing_left();
}

#[test]
fn platform_teams() {
    let walk = Walk::new("platform teams", &RANDOM);
    let printed = walk.run(include_str!("../../docs/audiences/platform-teams.md"));
    assert!(printed.contains("hashicorp/random"), "{printed}");
    walk.expect_no_process();
}

#[test]
fn authors_of_providers() {
    let walk = Walk::new("authors of providers", &[]);
    walk.link_tool("terraform-provider-random", "terraform-provider-random");
    let printed = walk.run(include_str!("../../docs/audiences/provider-authors.md"));
    assert!(printed.contains("+ 2 created") && printed.contains("index.html"), "{printed}");
    walk.expect_nothing_left();
}

#[test]
fn troubleshooting() {
    let walk = Walk::new("troubleshooting", &RANDOM);
    walk.log_in();
    walk.write("Pulumi.yaml", include_str!("../../examples/yaml/Pulumi.yaml"));
    walk.type_lines("isthmus install --plugin; pulumi install; pulumi stack init dev");
    let printed = walk.run(include_str!("../../docs/troubleshooting.md"));
    assert!(printed.contains("ISTHMUS-6002"), "all codes are listed: {printed}");
    walk.expect_no_process();
}

#[test]
fn one_resource_on_both_sides() {
    let walk = Walk::new("one resource on both sides", &RANDOM);
    walk.log_in();
    walk.write("Pulumi.yaml", include_str!("../../examples/yaml/Pulumi.yaml"));
    walk.type_lines("isthmus install --plugin; pulumi install; pulumi stack init dev; pulumi up");
    walk.run(include_str!("../../docs/inspect.md"));
    walk.type_lines("pulumi destroy --yes");
    walk.expect_nothing_left();
}

#[test]
fn a_session_that_is_recorded_and_replayed() {
    let walk = Walk::new("a recorded session", &RANDOM);
    walk.log_in();
    walk.write("Pulumi.yaml", include_str!("../../examples/yaml/Pulumi.yaml"));
    walk.type_lines("isthmus install --plugin; pulumi install; pulumi stack init dev");
    let printed = walk.run(include_str!("../../docs/recording.md"));
    assert!(printed.contains("+ 3 created"), "{printed}");
    walk.type_lines("pulumi destroy --yes");
    walk.expect_nothing_left();
}

#[test]
fn the_legacy_engine() {
    let walk = Walk::new("the legacy engine", &[]);
    walk.link_tool("terraform-provider-random", "terraform-provider-random");
    walk.run(include_str!("../../docs/audiences/legacy-engine.md"));
    let link = walk.path("bin/lumi-resource-random.provider");
    let provider = walk.path("terraform-provider-random");
    assert_eq!(link.canonicalize().expect("a link"), provider.canonicalize().expect("a tool"));
    walk.expect_no_process();
}

mod examples {
    use super::{RANDOM, Walk};

    #[test]
    fn yaml() {
        let walk = Walk::new("the example in YAML", &RANDOM);
        walk.log_in();
        walk.write("Pulumi.yaml", include_str!("../../examples/yaml/Pulumi.yaml"));
        let printed = walk.run(include_str!("../../examples/yaml/README.md"));
        assert!(printed.contains("+ 3 created"), "{printed}");
        walk.expect_nothing_left();
    }
}
