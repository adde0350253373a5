//! Every help text, completion script and manual page, as snapshots: a change of one is seen in a review.
//!
//! `INSTA_UPDATE=always cargo test --workspace --locked --test contract commands::help` writes them anew.

use super::Machine;

/// All commands, by what `--help` lists.
fn commands(machine: &Machine, command: &[String]) -> Vec<Vec<String>> {
    let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
    let help = machine.isthmus(&words).well();
    let listed =
        help.split_once("Commands:\n").map_or("", |(_, rest)| rest.split("\n\n").next().unwrap_or_default());
    // What has more than one line goes on far to the right.
    let names = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    let mut all = vec![command.to_vec()];
    for name in names {
        let below: Vec<String> = command.iter().cloned().chain([name.to_owned()]).collect();
        // Its help is that of the plugin.
        all.extend(if name == "plugin" { vec![below] } else { commands(machine, &below) });
    }
    all
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    // The version of a release is no change of a page.
    let text = text.replace(concat!("isthmus ", env!("CARGO_PKG_VERSION")), "isthmus [VERSION]");
    settings.bind(|| insta::assert_snapshot!(name.to_owned(), text));
}

#[test]
fn every_help_text_and_manual_page_is_as_it_was_reviewed() {
    let machine = Machine::new();
    let all = commands(&machine, &[]);
    assert!(all.len() > 30, "{all:?}");
    for command in &all {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let name = ["isthmus"].iter().chain(&words).copied().collect::<Vec<_>>().join("-");
        let help = if words == ["plugin"] { "-help" } else { "--help" };
        snapshot(&format!("{name}.help"), &machine.isthmus(&[&words[..], &[help]].concat()).well());
        snapshot(&format!("{name}.1"), &machine.isthmus(&[&["man"], &words[..]].concat()).well());
    }
}

/// Writes the page anew.
const UPDATE: &str = "UPDATE_EXPECT";

const HEAD: &str = "\
# Command line

<!-- Generated from the help of each command: UPDATE_EXPECT=1 cargo test --workspace --test contract commands::help -->

The help of every command, as `isthmus COMMAND --help` prints it. [Commands](commands.md) explains what they
have in common.
";

#[test]
fn the_page_of_the_command_line_is_the_help_of_every_command() {
    let machine = Machine::new();
    let mut made = HEAD.to_owned();
    for command in commands(&machine, &[]) {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let help = if words == ["plugin"] { "-help" } else { "--help" };
        let text = machine.isthmus(&[&words[..], &[help]].concat()).well();
        let lines: String = text.trim_end().lines().map(|line| format!("{}\n", line.trim_end())).collect();
        let name = ["isthmus"].iter().chain(&words).copied().collect::<Vec<_>>().join(" ");
        made += &format!("\n## `{name}`\n\n```text\n{lines}```\n");
    }
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, made).expect("the page can be written");
        return;
    }
    let page = std::fs::read_to_string(&file).expect("the page");
    let differing = page.lines().zip(made.lines()).find(|(page, made)| page != made);
    assert!(
        page == made,
        "docs/cli.md is not up to date, at {differing:?}: {UPDATE}=1 cargo test --test contract commands::help"
    );
}

#[test]
fn every_completion_script_is_as_it_was_reviewed() {
    let machine = Machine::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        snapshot(&format!("isthmus.{shell}"), &machine.isthmus(&["completions", shell]).well());
    }
}

#[test]
fn every_command_but_those_that_others_start_has_an_example_in_its_help() {
    let machine = Machine::new();
    for command in commands(&machine, &[]) {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        if command == ["plugin"] {
            continue;
        }
        let help = machine.isthmus(&words).well();
        let is_group = help.contains("Commands:\n");
        assert!(is_group || help.contains("Examples:\n  "), "{command:?} has no example: {help}");
    }
}

#[test]
fn a_misspelt_command_is_answered_with_the_right_one() {
    let machine = Machine::new();
    for (words, meant) in [
        (&["instal"][..], "'install'"),
        (&["providers", "lst"], "'list'"),
        (&["man", "provider"], "\"providers\""),
        (&["state", "show", "--jsn"], "'--json'"),
    ] {
        let said = machine.isthmus(words);
        assert!(said.code == 2 && said.stderr.contains(meant), "{words:?}: {said:?}");
    }
}

#[test]
fn commands_that_list_have_the_short_name_of_listing() {
    let machine = Machine::new();
    for (short, long) in [("providers", "providers"), ("state", "state"), ("recover", "recover")] {
        let [one, other] = [machine.isthmus(&[short, "ls"]), machine.isthmus(&[long, "list"])];
        assert_eq!((one.code, one.stdout, one.stderr), (other.code, other.stdout, other.stderr), "{short}");
    }
}

#[test]
fn a_quiet_command_prints_no_notes_and_a_verbose_one_what_it_does() {
    let machine = Machine::new();
    let said = machine.isthmus(&["providers", "list"]);
    assert!(said.stderr.starts_with("note: "), "{said:?}");
    assert_eq!(machine.isthmus(&["providers", "list", "-q"]).stderr, "");
    assert_eq!(machine.isthmus(&["-q", "providers", "list"]).stderr, "");
    let said = machine.isthmus(&["-v", "install", "127.0.0.1:1/acme/thing"]);
    assert!(said.stderr.contains("detail: providers are installed into "), "{said:?}");
    for (words, detail) in [
        (["state", "list", "-v"], "detail: the state store is "),
        (["recover", "list", "-v"], "detail: the journal is "),
        (["ps", "--json", "-v"], "detail: the daemon's socket is "),
    ] {
        let said = machine.isthmus(&words);
        assert!(said.stderr.contains(detail), "{words:?}: {said:?}");
    }
    assert_eq!(machine.isthmus(&["-q", "-v", "version"]).code, 2);
}

#[test]
fn colours_are_for_terminals_whose_user_wants_them() {
    let machine = Machine::new();
    let inner = format!("{} doctor --only proxy", env!("CARGO_BIN_EXE_isthmus"));
    let run = |variables: &[(&str, &str)]| {
        let mut command = machine.command("/usr/bin/script");
        command.args(["--quiet", "--return", "--command", &inner, "/dev/null"]).env("TERM", "xterm");
        super::Said::of(command.envs(variables.iter().copied())).well()
    };
    assert!(run(&[]).contains("\u{1b}[32mok\u{1b}[0m"));
    for variables in [[("NO_COLOR", "1")], [("TERM", "dumb")]] {
        assert!(!run(&variables).contains("\u{1b}[32m"), "{variables:?}");
    }
    assert!(!machine.isthmus(&["doctor", "--only", "proxy"]).well().contains('\u{1b}'));
}
