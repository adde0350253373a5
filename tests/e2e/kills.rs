//! `pulumi up` of many resources, with the plugin killed at random moments and the command run again until it is done.
//!
//! `ISTHMUS_KILLS` says how often, with two hundred resources; without it, twice, with fewer, because other tests run
//! beside it. `ISTHMUS_KILL_SEED` says which moments and changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Instant;

use serde_json::Value;

use crate::harness::outcome::Outcome;
use crate::harness::{Project, Provider};

/// How many resources a whole run has, and a slice.
const RESOURCES: (usize, usize) = (200, 60);
/// How often a slice is killed.
const SLICE: usize = 2;

/// What is random enough, and the same for the same seed (xorshift64*).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(drawn).expect("31 bits") % limit
    }
}

/// Body and colour of each note; another colour replaces it.
type Notes = BTreeMap<usize, (usize, usize)>;

fn program(notes: &Notes) -> String {
    let mut text = String::from("resources:\n");
    for (number, (body, color)) in notes {
        let properties = format!("{{title: note{number}, body: text {body}, color: color {color}}}");
        write!(text, "  note{number}:\n    type: sandbox:Note\n    properties: {properties}\n")
            .expect("a string");
    }
    text
}

/// What the provider has: id, title and body of each note.
fn objects(project: &Project) -> BTreeMap<String, (String, String)> {
    let files = std::fs::read_dir(project.object_path("notes")).expect("the provider's directory");
    let files = files.map(|entry| entry.expect("an entry").path());
    let note = |path: std::path::PathBuf| {
        let id = path.file_name()?.to_str()?.strip_prefix("sandbox_note.")?.strip_suffix(".json")?.to_owned();
        let text = std::fs::read_to_string(&path).ok()?;
        let member = |name: &str| {
            let after = text.split(&format!("\"{name}\":")).nth(1)?;
            after.split('"').nth(1).map(str::to_owned)
        };
        Some((id, (member("title")?, member("body")?)))
    };
    files.filter_map(note).collect()
}

/// What the stack has of it.
fn stack(project: &Project) -> BTreeMap<String, (String, String)> {
    let export = project.export();
    let resources = export["deployment"]["resources"].as_array().cloned().unwrap_or_default();
    let notes = resources.iter().filter(|resource| resource["type"] == "sandbox:index/note:Note");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    notes
        .map(|note| {
            let outputs = &note["outputs"];
            (text(&note["id"]), (text(&outputs["title"]), text(&outputs["body"])))
        })
        .collect()
}

fn recover(project: &Project, words: &[&str]) -> String {
    let mut command = project.at_home(env!("CARGO_BIN_EXE_isthmus"));
    let ran = command.arg("recover").args(words).output().expect("isthmus starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

fn is_success(outcome: &Outcome) -> bool {
    outcome.status.is_some_and(|status| status.success())
}

#[test]
fn a_deployment_that_is_killed_and_run_again_ends_with_what_the_provider_has() {
    let setting = |name: &str| std::env::var(name).ok().map(|text| text.parse::<usize>().expect("a number"));
    let kills = setting("ISTHMUS_KILLS");
    let resources = if kills.is_some() { RESOURCES.0 } else { RESOURCES.1 };
    let seed = setting("ISTHMUS_KILL_SEED").unwrap_or(1);
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15 ^ u64::try_from(seed).expect("64 bits"));

    let project = Project::new("killed deployments", &[Provider::Sandbox]);
    let directory = project.object_path("notes");
    std::fs::create_dir_all(&directory).expect("a directory");
    project.set("SANDBOX_DIR", directory.to_str().expect("text"));
    let mut notes: Notes = (0..resources).map(|number| (number, (0, 0))).collect();
    project.program(&program(&notes));
    let begun = Instant::now();
    project.up();
    let mut longest = begun.elapsed();
    let (mut cut_short, mut strangers, mut runs) = (0, 0, 0);
    for _ in 0..kills.unwrap_or(SLICE) {
        for number in 0..resources {
            match (dice.below(8), notes.get_mut(&number)) {
                (0, Some(note)) => note.0 += 1,
                (1, Some(note)) => note.1 += 1,
                (2, Some(_)) => drop(notes.remove(&number)),
                (2..=5, None) => drop(notes.insert(number, (0, 0))),
                _ => {}
            }
        }
        project.program(&program(&notes));
        let moment = longest.mul_f64(dice.below(1000) as f64 / 1000.0);
        let begun = Instant::now();
        let started = project.start(&["up", "--yes", "--skip-preview"]);
        std::thread::sleep(moment);
        project.running_plugins().iter().for_each(crate::harness::processes::Process::kill);
        let ended = started.finish();
        project.expect_no_process();
        match is_success(&ended) {
            true => longest = begun.elapsed(),
            false => cut_short += 1,
        }
        let mut again = 0;
        while !is_success(&project.run(&["up", "--yes", "--skip-preview"])) {
            again += 1;
            assert!(again < 5, "it is not done after five runs");
        }
        runs += again + 1;

        // What is left is what the user has to see to, and it is listed.
        let stack_has = stack(&project);
        let lost: BTreeMap<_, _> =
            objects(&project).into_iter().filter(|(id, _)| !stack_has.contains_key(id)).collect();
        let listed: Value = serde_json::from_str(&recover(&project, &["--json"])).expect("JSON");
        let open = listed["operations"].as_array().expect("operations");
        for (id, (title, _)) in &lost {
            let is_of_it = |open: &&Value| {
                let is_known = open["id"] == **id || open["condition"] == "unknown";
                is_known && open["urn"].as_str().is_some_and(|urn| urn.ends_with(&format!("::{title}")))
            };
            assert!(open.iter().any(|open| is_of_it(&open)), "{id} of {title} is not listed: {open:#?}");
            std::fs::remove_file(directory.join(format!("sandbox_note.{id}.json"))).expect("it is there");
        }
        strangers += lost.len();
        let ids: Vec<&str> = open.iter().filter_map(|open| open["operation"].as_str()).collect();
        if !ids.is_empty() {
            recover(&project, &[&["dismiss"], &ids[..]].concat());
        }
        assert_eq!(objects(&project), stack_has, "the provider and the stack differ");
        let wanted: BTreeSet<String> = notes.keys().map(|number| format!("note{number}")).collect();
        let there: BTreeSet<String> = stack_has.into_values().map(|(title, _)| title).collect();
        assert_eq!(there, wanted);
    }
    let kills = kills.unwrap_or(SLICE);
    println!("| {resources} | {kills} | {cut_short} | {runs} | {strangers} | 0 |");
    project.program("");
    project.destroy();
    assert_eq!(objects(&project), BTreeMap::new());
}
