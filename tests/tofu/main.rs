//! Side by side with OpenTofu: generated resources live the same lives under both, and their provider cannot tell which
//! of the two drives it.
//!
//! A seed makes up resources of the sandbox and of the provider on HashiCorp's libraries, and takes them all, round by
//! round, through steps: written, changed, replaced, removed, imported, and meanwhile changed or removed by others, with
//! arguments that are unknown before other resources are made. At each step both sides must decide the same, show the same
//! preview, come to the same state and the same objects, and have sent their provider the same requests, but for the
//! closed list in [`rules`].
//!
//! Here a slice is run. `tests/reliability/run divergence` runs rounds of 20,000 resources, each of which lives eight rounds of
//! changes and is removed, and writes what they have come to into docs/reliability.md. In such a round every rule must have been
//! needed. More of a kind make it faster:
//!
//!     ISTHMUS_TOFU_LIVES=20000 ISTHMUS_TOFU_OF_A_KIND=40 ISTHMUS_TOFU_SEED=1 cargo test --test tofu resources_live
//!
//! Beside that, [`features`] tells feature by feature what OpenTofu, the Go bridge and the daemon do, and [`upstream`] does so
//! for public reports about the Go bridge.
//!
//! A failure names the seed of its world, of which there are several in a run: that alone, as `ISTHMUS_TOFU_SEED`, makes
//! the same world again. Worlds of odd seeds are on protocol 6, those of even seeds on protocol 5; in half of the
//! latter the sandbox answers as the older SDK does. Each third world is driven through `lumirpc`, the service of the legacy
//! engine ([`legacy`]), which has neither refresh nor import nor previews of outputs: its states are compared as they are in
//! isthmus's state store.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the test runner shows it when a test failed")]

mod compare;
mod daemon;
mod features;
mod kinds;
mod legacy;
mod lottery;
mod preview;
mod providers;
mod report;
mod requests;
mod rules;
mod steps;
mod tofu;
mod upstream;
mod wish;
mod world;

use providers::Setting;
use report::Report;
use world::World;

/// How many rounds the resources of one world live.
const ROUNDS: usize = 8;

/// How many in a slice, which is to see more worlds; the same ones as far as they go.
const ROUNDS_OF_A_SLICE: usize = 4;

/// How many steps a slice is: a minute of an idle machine.
const SLICE: usize = 460;

/// Where it begins: with this seed and the next three, the worlds of both services are on both protocols.
const FIRST_OF_A_SLICE: u64 = 3;

/// From how many resources on every rule must have been needed.
const FULL: usize = 20_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resources_live_the_same_lives_under_opentofu() {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
    };
    let first_seed = number("ISTHMUS_TOFU_SEED", FIRST_OF_A_SLICE);
    let lives = usize::try_from(number("ISTHMUS_TOFU_LIVES", 0)).expect("a count");
    let of_a_kind =
        usize::try_from(number("ISTHMUS_TOFU_OF_A_KIND", 0)).ok().filter(|of_a_kind| *of_a_kind > 0);
    providers::build();
    let mut report = Report::default();
    let mut seeds = first_seed..;
    let is_done = |report: &Report| {
        if lives == 0 { report.steps >= SLICE } else { report.lives >= lives }
    };
    while !is_done(&report) {
        let seed = seeds.next().expect("there is always another one");
        println!("a world of seed {seed}: {:?}", Setting::of(seed));
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut world = World::new(seed, of_a_kind, directory.path()).await;
        for _ in 0..if lives > 0 { ROUNDS } else { ROUNDS_OF_A_SLICE } {
            world.round(&mut report).await;
            if report.has_failed() || (lives == 0 && report.steps + world.size() > SLICE) {
                break;
            }
        }
        if !report.has_failed() {
            world.end(&mut report).await;
        }
        assert!(!report.has_failed(), "{}\n{}", report.failures(), report.text());
    }
    println!("seeds {first_seed} to {}\n\n{}", seeds.start - 1, report.text());
    if lives >= FULL {
        let idle: Vec<_> = report.tally.idle().collect();
        assert!(idle.is_empty(), "nothing needs these rules: {idle:?}");
        assert!(report.missed().is_empty(), "nothing happened to {:?}", report.missed());
    }
}
