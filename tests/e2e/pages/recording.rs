//! The recording of the first `up` in the README: the commands of the quick start, with what they print.
//!
//! `docs/recordings/first-up.txt` is the terminal as it was in the run that recorded it; a test types the same and compares, but for
//! what differs from run to run (names, durations, directories). `first-up.svg` is drawn from the text.
//! `UPDATE_EXPECT=1 cargo test --workspace --locked --test e2e pages::recording` records anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fixtures::pages::blocks;
use isthmus_test_registry::{Archive, PublisherKey, Registry, Release};
use regex::Regex;

use super::Walk;
use crate::harness::tools;

/// Records anew.
const UPDATE: &str = "UPDATE_EXPECT";

const PAGE: &str = include_str!("../../../docs/quick-start.md");

/// Columns of the drawing, at which longer lines are cut.
const COLUMNS: usize = 100;

/// Height of a line and width of the margins, in pixels. A character is eight and a half wide.
const LINE_HEIGHT: usize = 19;
const MARGIN: usize = 16;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/recordings").join(name)
}

/// Types the page up to the first block of `console`, line by line; returns the terminal.
fn record() -> String {
    let walk = Walk::new("the recording of the first up", &[]);
    let _registry = registry_for(&walk);
    let mut terminal = String::new();
    for block in blocks(PAGE).into_iter().filter(|block| block.not_run.is_none()) {
        match (block.language, block.file) {
            ("console", _) => break,
            (_, Some(file)) => {
                walk.write_here(file, block.text);
                let _ = write!(terminal, "$ cat {file}\n{}", block.text);
            }
            ("sh", _) => {
                for line in block.text.lines() {
                    // Comments are for the page.
                    let line = line.split("  #").next().unwrap_or_default().trim_end();
                    let printed = walk.type_and_see(line);
                    let _ = write!(terminal, "$ {line}\n{printed}");
                }
            }
            _ => {}
        }
    }
    walk.type_lines("pulumi destroy --yes");
    walk.expect_nothing_left();
    tidy(&walk.with_common_paths(&terminal))
}

/// A registry with the provider of the page, in the place of the one that users have.
fn registry_for(walk: &Walk) -> Registry {
    let registry = Registry::start();
    let random =
        std::fs::read(tools::directory().join("terraform-provider-random")).expect("the tools are built");
    let archive = Archive::of_programs(&[("terraform-provider-random_v3.9.0_x5", &random)]);
    registry.publish(&Release::new("hashicorp/random", "3.9.0", archive).signed_by(&PublisherKey::new()));
    let service = format!("\"providers.v1\" = \"{}/v1/providers/\"", registry.url());
    let host = format!("host \"registry.opentofu.org\" {{\n  services = {{\n    {service}\n  }}\n}}\n");
    walk.write("../home/.tofurc", &host);
    walk.write("../authority.pem", registry.authority_pem());
    let authority = walk.path("../authority.pem");
    walk.type_lines(&format!("export ISTHMUS_OFFLINE= SSL_CERT_FILE='{}'", authority.display()));
    registry
}

/// Without empty lines, and without the progress and the addresses that are of one machine only.
fn tidy(terminal: &str) -> String {
    let lines = terminal.lines().map(str::trim_end);
    let lines =
        lines.filter(|line| !line.is_empty() && !line.starts_with("@ ") && !line.contains("View in Browser"));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    // Where the archives of the registry of OpenTofu are.
    let text = text.replace(" from localhost", " from github.com");
    // The names of the machine and its user.
    let login = Regex::new(r"Logged in to [^ \n]+ as [^ \n]+").expect("a pattern");
    login.replace(&text, "Logged in to laptop as you").into_owned()
}

/// The text without what differs from run to run.
fn comparable(terminal: &str) -> String {
    let mut text = terminal.to_owned();
    for (pattern, replacement) in [
        (r"\([0-9.]+m?s\)", "(TIME)"),
        (r"Duration: +[^ \n]+", "Duration: TIME"),
        (r#"name: +"[a-z]+-[a-z]+""#, "name: NAME"),
        (r"version [0-9]+\.[0-9]+\.[0-9]+", "version VERSION"),
        (r"signed by [0-9a-f]+", "signed by KEY"),
    ] {
        text = Regex::new(pattern).expect("a pattern").replace_all(&text, replacement).into_owned();
    }
    text
}

/// Draws a terminal.
fn svg(terminal: &str) -> String {
    let lines: Vec<&str> = terminal.lines().collect();
    let width = COLUMNS * 17 / 2 + 2 * MARGIN;
    let height = lines.len() * LINE_HEIGHT + 2 * MARGIN;
    let mut drawing = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"The first pulumi up with isthmus, as text in first-up.txt\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16191f\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\" fill=\"#d5d9e0\">\n"
    );
    for (number, line) in lines.iter().enumerate() {
        let color = match line.trim_start() {
            command if command.starts_with("$ ") => " fill=\"#8fd0ff\"",
            created if created.starts_with("+ ") => " fill=\"#8ee08e\"",
            _ => "",
        };
        let text: String = line.chars().take(COLUMNS).collect();
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let y = MARGIN + LINE_HEIGHT * (number + 1) - 5;
        // Browsers drop leading spaces of a text that does not say it itself.
        let _ =
            writeln!(drawing, "<text xml:space=\"preserve\" x=\"{MARGIN}\" y=\"{y}\"{color}>{text}</text>");
    }
    drawing + "</g>\n</svg>\n"
}

#[test]
fn the_recording_of_the_first_up_is_what_a_terminal_shows() {
    let terminal = record();
    let text = file("first-up.txt");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&text, &terminal).expect("the recording can be written");
        std::fs::write(file("first-up.svg"), svg(&terminal)).expect("the drawing can be written");
        return;
    }
    let recorded = std::fs::read_to_string(&text).expect("the recording");
    assert_eq!(comparable(&terminal), comparable(&recorded), "{UPDATE}=1 records anew");
}

#[test]
fn the_drawing_is_that_of_the_recording() {
    let recorded = std::fs::read_to_string(file("first-up.txt")).expect("the recording");
    let drawing = std::fs::read_to_string(file("first-up.svg")).expect("the drawing");
    assert!(
        drawing == svg(&recorded),
        "{UPDATE}=1 cargo test --workspace --locked --test e2e pages::recording"
    );
    for command in ["isthmus install --plugin", "pulumi install", "pulumi up"] {
        assert!(recorded.contains(&format!("$ {command}\n")), "{command} is not recorded");
    }
    assert!(recorded.contains("+ 2 created"), "{recorded}");
}
