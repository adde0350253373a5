//! A new user at a shell, who types what a page says.
//!
//! The shell goes on from block to block: its directory and its exported variables are those that the block before has left.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Output;

use fixtures::pages::{Block, blocks, shows};

use crate::harness::project::{create_directory, link};
use crate::harness::{Bridge, Project, Provider, tools};

/// A machine with `isthmus`, the Pulumi CLI and OpenTofu on `PATH`, nothing in the user's home, and without a network.
pub(super) struct Walk {
    project: Project,
    /// Everything that was typed and printed.
    transcript: RefCell<String>,
}

impl Walk {
    /// A machine with these versions of providers in its provider cache. `name` is for reading only.
    pub(super) fn new(name: &'static str, cached: &[(Provider, &str)]) -> Self {
        let project = Project::bare(name, &[]);
        for (provider, version) in cached {
            project.place_in_cache(*provider, version);
        }
        let isthmus = project.path("../bin/isthmus");
        create_directory(isthmus.parent().expect("it has a directory"));
        std::os::unix::fs::symlink(Bridge::Ours.executable(), &isthmus).expect("a link");
        let walk = Self { project, transcript: RefCell::default() };
        create_directory(&walk.state());
        walk.type_lines("true");
        walk.transcript.borrow_mut().clear();
        walk
    }

    /// Where a file is that a page names, from the directory in which the page begins.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.project.path(file)
    }

    pub(super) fn read(&self, file: &str) -> String {
        self.project.read(file)
    }

    /// Writes a file to where the page begins.
    pub(super) fn write(&self, file: &str, text: &str) {
        self.project.write(file, text);
    }

    /// Puts a tool of the tests to where the page begins.
    pub(super) fn link_tool(&self, tool: &str, file: &str) {
        link(&tools::directory().join(tool), &self.path(file));
    }

    /// Sets a passphrase, and a backend in the home directory (`--local` is in the one of the user who runs the tests).
    pub(super) fn log_in(&self) {
        self.type_lines("export PULUMI_CONFIG_PASSPHRASE='correct horse'\npulumi login \"file://$HOME\"");
    }

    /// Makes a filesystem mirror with these providers the only place that providers come from.
    pub(super) fn use_mirror(&self, providers: &[(Provider, &str)]) {
        let mirror = self.mirror(providers);
        let method = format!("filesystem_mirror {{\n    path = {mirror:?}\n  }}");
        self.project.write("../home/.tofurc", &format!("provider_installation {{\n  {method}\n}}\n"));
    }

    /// A directory with the layout of a filesystem mirror that has these providers.
    pub(super) fn mirror(&self, providers: &[(Provider, &str)]) -> PathBuf {
        let mirror = self.path("../mirror");
        create_directory(&mirror);
        for (provider, version) in providers {
            self.project.place_in(&mirror, *provider, version);
        }
        mirror.canonicalize().expect("it was made")
    }

    /// Runs all blocks of a page, and returns everything that was printed until now.
    pub(super) fn run(&self, page: &str) -> String {
        self.run_with(page, &[])
    }

    /// The same, with these texts of the page replaced by others: paths of a machine.
    #[track_caller]
    pub(super) fn run_with(&self, page: &str, replacements: &[(&str, &str)]) -> String {
        let blocks = blocks(page);
        let replaced = |text: &str| {
            replacements.iter().fold(text.to_owned(), |text, (from, to)| {
                assert!(page.contains(from), "the page has no {from}");
                text.replace(from, to)
            })
        };
        assert!(blocks.iter().any(Block::has_commands), "the page has no commands");
        for block in blocks.iter().filter(|block| block.not_run.is_none()) {
            let text = replaced(block.text);
            match (block.language, block.file) {
                ("sh", _) => drop(self.type_lines(&text)),
                ("console", _) => self.session(&text),
                (_, Some(file)) => self.write_here(file, &text),
                _ => {}
            }
        }
        self.transcript.borrow().clone()
    }

    /// Runs the commands of a block of `console`, and compares what they print with what the block shows.
    #[track_caller]
    fn session(&self, block: &str) {
        let mut commands: Vec<(&str, String)> = Vec::new();
        for line in block.lines() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command, String::new())),
                (None, Some((_, shown))) => *shown += &format!("{line}\n"),
                (None, None) => panic!("a session begins with a command: {block}"),
            }
        }
        for (command, shown) in commands {
            let printed = self.type_lines(command);
            assert!(shows(&shown, &printed), "the page shows\n{shown}\nand `{command}` printed\n{printed}");
        }
    }

    /// Types lines, each of which must succeed, and returns what they print on standard output.
    #[track_caller]
    pub(super) fn type_lines(&self, lines: &str) -> String {
        let [stdout, _] = self.enter(lines);
        stdout
    }

    /// The same, and returns what a terminal shows: standard error as well, after standard output.
    #[track_caller]
    pub(super) fn type_and_see(&self, lines: &str) -> String {
        self.enter(lines).concat()
    }

    /// Types lines, and returns standard output and standard error.
    #[track_caller]
    fn enter(&self, lines: &str) -> [String; 2] {
        let state = self.state();
        let state = state.display();
        let script = format!(
            "if [ -f '{state}/directory' ]; then cd \"$(cat '{state}/directory')\"; . '{state}/variables'; fi\n\
             {lines}\npwd > '{state}/directory'\nexport -p > '{state}/variables'\n"
        );
        let mut command = self.project.at_home("/bin/sh");
        let (bin, tools) = (self.path("../bin"), tools::directory());
        command.env("PATH", format!("{}:{}:/usr/bin:/bin", bin.display(), tools.display()));
        // Where the state is, and its passphrase, is on the pages.
        command.env_remove("PULUMI_BACKEND_URL").env_remove("PULUMI_CONFIG_PASSPHRASE");
        let Output { status, stdout, stderr } =
            command.args(["-e", "-c", &script]).output().expect("it starts");
        let printed = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        self.transcript.borrow_mut().push_str(&format!("$ {lines}\n{}", printed.concat()));
        assert!(status.success(), "{status}\n{}", self.transcript.borrow());
        printed
    }

    /// Writes a file to where the shell is.
    pub(super) fn write_here(&self, file: &str, text: &str) {
        let path = self.directory().join(file);
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// What was printed, with paths that a user could have in the place of those of the test.
    pub(super) fn with_common_paths(&self, printed: &str) -> String {
        // The tests' Pulumi home is their home itself.
        let places = [
            ("../home/plugins", "/home/you/.pulumi/plugins"),
            ("../home", "/home/you"),
            ("", "/home/you/projects"),
        ];
        places.into_iter().fold(printed.to_owned(), |text, (place, common)| {
            let Ok(path) = self.path(place).canonicalize() else { return text };
            text.replace(path.to_str().expect("test directories have plain names"), common)
        })
    }

    /// Where the shell is.
    fn directory(&self) -> PathBuf {
        let directory = std::fs::read_to_string(self.state().join("directory")).expect("the shell was used");
        Path::new(directory.trim_end()).to_owned()
    }

    /// What the shell takes from one block to the next.
    fn state(&self) -> PathBuf {
        self.project.path("../shell")
    }

    pub(super) fn expect_no_process(&self) {
        self.project.expect_no_process();
    }

    /// Expects that no stack of the user has a resource, and no process runs.
    #[track_caller]
    pub(super) fn expect_nothing_left(&self) {
        // The CLI counts the resources of each stack.
        let stacks = self.type_lines("pulumi stack ls --all --json");
        let stacks: serde_json::Value = serde_json::from_str(&stacks).expect("JSON");
        for stack in stacks.as_array().expect("a list") {
            assert!(stack["resourceCount"].as_u64().unwrap_or_default() == 0, "{stack}");
        }
        self.expect_no_process();
    }
}
