//! Where a test makes SDKs and uses them: a Pulumi project with the plugin, all providers, and the compilers.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fixtures::requirements::{Requirement, demand};
use fixtures::tools::{built, run, target};

use crate::harness::command::Running;
use crate::harness::project::{Bridge, Project, create_directory, link};
use crate::harness::tools;
use crate::packages::{self, PLUGIN, PLUGIN_VERSION, Package};

/// When a compiler counts as hanging. The longest run (Go, from an empty cache) takes two minutes on two idle processors, and more than
/// ten on busy ones.
const LIMIT: Duration = Duration::from_secs(1800);

/// What `tests/sdks/setup` can install.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Node,
    Python,
    Java,
    CSharp,
}

impl Part {
    /// Its name in the script, and what it needs of the machine.
    const fn name_and_requirement(self) -> (&'static str, Requirement) {
        match self {
            Self::Node => ("node", Requirement::Node),
            Self::Python => ("python", Requirement::Python),
            Self::Java => ("java", Requirement::Java),
            Self::CSharp => ("csharp", Requirement::CSharp),
        }
    }

    /// The directory of what is installed, with this part in it. The first call installs it, unless it is there.
    ///
    /// # Panics
    /// When it cannot be installed: a test that needs it fails with the reason, and is not skipped.
    #[track_caller]
    pub(crate) fn installed(self) -> PathBuf {
        // One after another: together they would take as long, and the script has one lock for each part anyway.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let script = sources().join("setup");
        let (name, requirement) = self.name_and_requirement();
        demand(requirement);
        run(Command::new(script).arg(name).env("CARGO_TARGET_DIR", target()));
        target().join("sdks")
    }
}

/// A command that has ended well.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A project whose SDKs lie in `sdks/LANGUAGE/PACKAGE` of its directory.
#[derive(Debug)]
pub(crate) struct Workshop {
    pub(crate) project: Project,
    providers: PathBuf,
}

impl Workshop {
    /// A project with a stack, all providers, and a bridge as the plugin. `name` is for reading only.
    pub(crate) fn new(name: &'static str, bridge: Bridge) -> Self {
        let project = Project::bare(name, &[]);
        let tools = with_own_tools();
        let providers = project.path("../providers").canonicalize().expect("a new project has it");
        for (executable, tool) in packages::executables() {
            link(&tools.join(tool), &providers.join(executable));
        }
        project.switch_to(bridge);
        let workshop = Self { project, providers };
        // The library for Python knows no YAML.
        workshop.set_runtime("python");
        workshop.project.create_stack();
        workshop
    }

    /// A project with the SDKs of `packages` in a language.
    pub(crate) fn with_sdks(name: &'static str, language: &str, packages: &[Package]) -> Self {
        let workshop = Self::new(name, Bridge::usual());
        workshop.generate(language, packages);
        workshop
    }

    /// Takes the schemas of `packages` from the plugin, without what no SDK in the language can have, and makes SDKs of them.
    ///
    /// # Panics
    /// When Pulumi has anything to say against a schema, be it a warning, or cannot make an SDK of it.
    #[track_caller]
    pub(crate) fn generate(&self, language: &str, packages: &[Package]) {
        create_directory(&self.project.path("schemas"));
        // The plugin warns of what the project's language cannot have.
        self.set_runtime(language);
        let mut command = Command::new(with_own_tools().join("sdkgen"));
        command.arg(self.project.path("sdks")).arg(language);
        for package in packages {
            let file = format!("schemas/{}.json", package.name);
            self.project.write(&file, &self.schema(language, package));
            command.arg(self.project.path(&file));
        }
        self.set_runtime("python");
        self.run("sdkgen", &mut command);
    }

    fn set_runtime(&self, runtime: &str) {
        self.project.write("Pulumi.yaml", &format!("name: e2e\nruntime: {runtime}\n"));
    }

    /// The schema of a package, as the command line has it from the plugin.
    ///
    /// # Panics
    /// When the command line warns of anything but what no name is, and what nobody has verified.
    #[track_caller]
    fn schema(&self, language: &str, package: &Package) -> String {
        let plugin = format!("{PLUGIN}@{PLUGIN_VERSION}");
        let parameters = package.parameters(&self.providers);
        // What comes after the dashes is the plugin's.
        let mut arguments = vec!["package", "get-schema", &plugin, "--"];
        arguments.extend(parameters.iter().map(String::as_str));
        let excluded = packages::left_out(language, package.name).iter();
        let excluded: Vec<_> = excluded
            .map(|member| format!("--exclude={}", member.rsplit(' ').next().unwrap_or(member)))
            .collect();
        arguments.extend(excluded.iter().map(String::as_str));
        let outcome = self.project.start_with(&package.variables, &arguments).finish().succeeded();
        let is_expected = |line: &&str| {
            line.is_empty()
                || is_of_plain_forms(line)
                || line.contains("other characters than letters")
                // A provider that a test has put into the cache.
                || line.contains(" is unverified: ")
        };
        let unexpected: Vec<_> = outcome.stderr.lines().filter(|line| !is_expected(line)).collect();
        assert!(unexpected.is_empty(), "{outcome}");
        outcome.stdout
    }

    /// What the provider of a package is called by on command lines.
    pub(crate) fn parameters(&self, package: &Package) -> Vec<String> {
        package.parameters(&self.providers)
    }

    /// A program in the project's directory that Pulumi's library for its language finds the command line from.
    pub(crate) fn at_home(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = self.project.at_home(program);
        let path = format!("{}:/usr/bin:/bin", with_own_tools().display());
        command.env("PATH", path);
        command
    }

    /// Runs a command to its end.
    ///
    /// # Panics
    /// When it fails, with all that it has printed.
    #[track_caller]
    pub(crate) fn run(&self, name: &str, command: &mut Command) -> Ended {
        let (ended, succeeded) = self.try_run(name, command);
        assert!(
            succeeded,
            "'{name}' failed\n---- standard output\n{}\n---- standard error\n{}\n----",
            ended.stdout, ended.stderr
        );
        ended
    }

    /// Runs a command to its end, and says whether it has succeeded.
    pub(crate) fn try_run(&self, name: &str, command: &mut Command) -> (Ended, bool) {
        let record = |kind: &str| self.project.path(&format!("../records/{name}.{kind}"));
        let (stdout, stderr) = (record("stdout"), record("stderr"));
        let status = Running::start(command, &stdout, &stderr).finish_within(LIMIT);
        let text = |path: &Path| {
            String::from_utf8_lossy(&std::fs::read(path).expect("the file was made for the command"))
                .into_owned()
        };
        let ended = Ended { stdout: text(&stdout), stderr: text(&stderr) };
        (ended, status.is_some_and(|status| status.success()))
    }

    /// Copies a file that belongs to these tests into the project's directory.
    pub(crate) fn take(&self, file: &str) {
        let name = Path::new(file).file_name().expect("a file of these tests");
        let text =
            std::fs::read_to_string(sources().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        self.project.write(name.to_str().expect("the files of these tests have plain names"), &text);
    }

    /// All files below a directory of the project whose names end so.
    pub(crate) fn files(&self, directory: &str, end: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut directories = vec![self.project.path(directory)];
        while let Some(directory) = directories.pop() {
            let entries = std::fs::read_dir(&directory)
                .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
            for path in entries.map(|entry| entry.expect("the directory is ours").path()) {
                if path.is_dir() {
                    directories.push(path);
                } else if path.to_str().is_some_and(|path| path.ends_with(end)) {
                    found.push(path);
                }
            }
        }
        found
    }
}

/// Whether a line belongs to the warning of functions that fail in Go (`plain_forms.rs`).
fn is_of_plain_forms(line: &str) -> bool {
    line.contains("the plain form of functions") || line.starts_with("help: call their output form")
}

/// The directory of these tests' sources.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdks")
}

/// The directory of the tools, those among them that only these tests use.
fn with_own_tools() -> PathBuf {
    built(&["sdkgen", "recorded"]);
    tools::directory()
}
