//! `isthmus install --plugin`: which versions of the plugin it installs, where, and what it leaves alone.

use isthmus_platform::IS_WINDOWS;
use isthmus_platform::files::symlink;
use std::env::consts::EXE_SUFFIX;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::{Machine, Said};
use crate::harness::host::make_executable;
use crate::harness::json;
use crate::harness::said::portable;

/// A user with a Pulumi CLI that notes where it was called, and knows of no stacks.
struct User {
    machine: Machine,
}

impl User {
    fn new() -> Self {
        let user = Self { machine: Machine::new() };
        user.pulumi("case \"$*\" in *'stack ls'*) echo '[]' ;; esac");
        user
    }

    /// Makes these lines of a shell the Pulumi CLI.
    fn pulumi(&self, lines: &str) {
        let calls = self.machine.path("calls");
        let script = format!("#!/bin/sh\necho \"$PWD $*\" >> {calls:?}\n{lines}\n");
        let file = self.machine.write("bin/pulumi", script.as_bytes());
        make_executable(&file);
    }

    /// The directories in which the Pulumi CLI was called, without the user's own.
    fn calls(&self) -> Vec<String> {
        let home = portable(self.machine.directory.path().join("").display().to_string());
        let calls = std::fs::read_to_string(self.machine.path("calls")).unwrap_or_default();
        portable(calls).lines().map(|line| line.replace(&home, "")).collect()
    }

    fn install_plugin(&self, directory: impl AsRef<Path>, words: &[&str]) -> Said {
        self.install_plugin_with(directory, words, &[])
    }

    fn install_plugin_with(
        &self,
        directory: impl AsRef<Path>,
        words: &[&str],
        variables: &[(&str, &str)],
    ) -> Said {
        let mut command = self.machine.command(env!("CARGO_BIN_EXE_isthmus"));
        let path = super::path_with(&self.machine.path("bin"));
        command.env("PATH", path).envs(variables.iter().copied()).current_dir(self.machine.path(directory));
        Said::of(command.args(["install", "--plugin"]).args(words)).portable()
    }

    /// The versions under which the plugin is installed.
    fn installed(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.machine.path(".pulumi/plugins")) else { return Vec::new() };
        let mut versions: Vec<String> = entries
            .map(|entry| entry.expect("a directory of ours").file_name().to_string_lossy().into_owned())
            .map(|name| name.replace("resource-terraform-provider-v", ""))
            .collect();
        versions.sort_unstable();
        versions
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        self.machine.write(path, text.as_bytes())
    }

    /// A project that names this version of the plugin.
    fn project(&self, directory: &str, version: &str) {
        let packages = format!("packages:\n  x: {{ source: terraform-provider, version: {version} }}\n");
        self.write(&format!("{directory}/Pulumi.yaml"), &format!("name: x\nruntime: yaml\n{packages}"));
    }

    /// The manifest of an SDK that names this version of the plugin.
    fn sdk(&self, directory: &str, version: &str) {
        let manifest = json!({ "resource": true, "name": "terraform-provider", "version": version });
        self.write(&format!("{directory}/pulumi-plugin.json"), &manifest.to_string());
    }
}

/// The first backup of a plugin: it is no program, so its name has no suffix of one.
fn backup(plugin: &str) -> String {
    format!("{}.replaced", plugin.strip_suffix(EXE_SUFFIX).unwrap_or(plugin))
}

#[test]
fn without_a_project_the_default_version_is_installed_and_no_project_below_is_touched() {
    let user = User::new();
    for (directory, version) in
        [("machine/home/a", "9.0.0"), ("machine/home/b", "9.0.1"), ("machine/srv/c", "9.0.2")]
    {
        user.project(directory, version);
    }
    user.sdk("machine/sdks/random", "9.0.3");
    let said = user.install_plugin("machine", &[]);
    let here = user.machine.path("machine");
    // The form that Windows makes of it is for programs.
    let here = if IS_WINDOWS { here } else { here.canonicalize().expect("it is there") };
    let note = format!(
        "no Pulumi project in {} or above (--project DIRECTORY names another one): installing the default version 1.4.0\n",
        portable(here.display().to_string())
    );
    assert!(said.stdout.starts_with(&note) && said.stderr.is_empty(), "{said:?}");
    said.well();
    assert_eq!((user.installed(), user.calls()), (vec!["1.4.0".to_owned()], Vec::new()));

    // What is named on the command line takes the place of the default.
    let said = user
        .install_plugin("machine", &["--plugin-version", "v1.0.7", "--plugin-version", "1.2.0-rc1"])
        .well();
    assert!(!said.contains("default"), "{said}");
    assert_eq!(user.installed(), ["1.0.7", "1.2.0-rc1", "1.4.0"]);
}

#[test]
fn a_project_is_searched_without_what_is_not_its_own() {
    let user = User::new();
    user.project("app/Pulumi is here", "1.0.0");
    let project = |path: &str| format!("app/Pulumi is here/{path}");
    user.sdk(&project("sdks/random"), "1.0.1");
    user.sdk(&project("a/b/c"), "1.0.2");
    // A component within the project, which the project's own commands run.
    user.write(
        &project("component/PulumiPlugin.yaml"),
        "runtime: nodejs\npackages: { tls: terraform-provider@1.0.3 }\n",
    );
    for foreign in
        ["node_modules/x", ".git/x", ".venv/lib", "venv/lib", "target/x", "other/sdks/random", "json/sdks"]
    {
        user.sdk(&project(foreign), "9.0.0");
    }
    user.write(&project("venv/pyvenv.cfg"), "");
    user.project(&project("other"), "9.0.1");
    user.write(&project("json/Pulumi.json"), "{}");
    user.sdk("app", "9.0.2");
    // Links that lead back, out of the project, and nowhere.
    for (link, target) in [("loop", "."), ("a/up", ".."), ("out", "../../app"), ("dead.yaml", "nowhere")] {
        symlink(target, user.machine.path(project(link))).expect("a link");
    }
    let said = user.install_plugin(project("a/b"), &[]);
    assert!(said.stderr.contains("searching ") && said.stderr.contains("listing the stacks of "), "{said:?}");
    said.well();
    assert_eq!(user.installed(), ["1.0.0", "1.0.1", "1.0.2", "1.0.3"]);
    assert_eq!(user.calls(), ["app/Pulumi is here --non-interactive --color never stack ls --json"]);
}

#[test]
fn the_project_may_be_named_and_its_file_may_have_any_name_that_the_pulumi_cli_takes() {
    let user = User::new();
    let packages = json!({ "random": { "source": "terraform-provider", "version": "1.0.0" } });
    user.write(
        "json/Pulumi.json",
        &json!({ "name": "x", "runtime": "nodejs", "packages": packages }).to_string(),
    );
    user.write("yml/Pulumi.yml", "name: x\nruntime: go\npackages:\n  tls: terraform-provider@1.0.1\n");
    user.sdk("bare/sdks/random", "1.0.2");
    for project in ["json", "yml", "bare"] {
        user.install_plugin("", &["--project", project]).well();
    }
    assert_eq!(user.installed(), ["1.0.0", "1.0.1", "1.0.2"]);
    assert_eq!(user.calls().len(), 2, "stacks belong to projects only: {:?}", user.calls());
    let missing = user.install_plugin("", &["--project", "elsewhere"]).failed();
    assert!(missing.contains("failed to read the project directory elsewhere: "), "{missing}");
    user.write("empty/Pulumi.yaml", "name: x\nruntime: yaml\n");
    let said = user.install_plugin("empty", &[]).well();
    assert!(said.contains("/empty: installing the default version 1.4.0\n"), "{said}");
}

#[test]
fn a_project_file_that_cannot_be_read_is_named() {
    let user = User::new();
    user.write("app/Pulumi.yaml", "packages: [terraform-provider\nconfig:\n  password: hunter2\n");
    let said = user.install_plugin("app", &[]).failed();
    let error = "/app/Pulumi.yaml: not a YAML document: ";
    assert!(said.contains(error) && !said.contains("hunter2"), "{said}");
    assert_eq!((user.installed(), user.calls()), (Vec::new(), Vec::new()), "nothing is done");

    // The file of a component is not the project's, and is warned about.
    user.project("app", "1.0.0");
    user.write("app/component/PulumiPlugin.yaml", "packages: [terraform-provider\n");
    let said = user.install_plugin("app", &[]);
    let warning = "/app/component/PulumiPlugin.yaml: not a YAML document: ";
    assert!(said.stderr.contains("warning: ") && said.stderr.contains(warning), "{said:?}");
    said.well();
    assert_eq!(user.installed(), ["1.0.0"]);
}

#[test]
fn a_version_in_the_project_file_that_is_none_is_named_with_its_package() {
    let user = User::new();
    for version in ["1.1", "'1.x'", "latest"] {
        user.project("app", version);
        let said = user.install_plugin("app", &[]).failed();
        let error = "/app/Pulumi.yaml: the version of package \"x\" is not a semantic version in quotes, such as \"1.4.0\"\n";
        assert!(said.contains(error), "{said}");
        assert_eq!((user.installed(), user.calls()), (Vec::new(), Vec::new()), "nothing is done");
    }
    user.write("app/Pulumi.yaml", "name: [\n");
    user.install_plugin("app", &[]).failed();
    assert_eq!(user.installed(), [""; 0]);
}

#[test]
fn each_stack_that_is_read_is_shown_and_named_versions_are_installed() {
    let user = User::new();
    user.write("app/Pulumi.yaml", "name: x\nruntime: yaml\n");
    let provider = json!({ "type": "pulumi:providers:terraform-provider", "inputs": { "version": "1.0.4" } });
    let export = json!({ "deployment": { "resources": [provider] } });
    user.pulumi(&format!(
        "case \"$*\" in *'stack ls'*) echo '[{{\"name\":\"dev\"}},{{\"name\":\"prod\"}}]' ;; *) echo '{export}' ;; esac"
    ));
    let said = user.install_plugin("app", &[]);
    assert!(
        said.stderr.contains("reading the stack dev (1 of 2)\nreading the stack prod (2 of 2)\n"),
        "{said:?}"
    );
    said.well();
    assert_eq!(user.installed(), ["1.0.4"]);
}

#[test]
fn the_server_that_a_project_file_chooses_gets_no_token() {
    let user = User::new();
    user.write("app/Pulumi.yaml", "name: x\nruntime: yaml\nbackend: { url: 'https://pulumi.example' }\n");
    // The CLI takes an empty variable for none.
    for variables in [&[][..], &[("PULUMI_BACKEND_URL", "")]] {
        let said = user.install_plugin_with("app", &[], variables);
        assert!(said.stderr.contains("its project file chooses their backend"), "{said:?}");
        said.well();
    }
    assert_eq!(user.calls(), [""; 0]);
    user.install_plugin_with("app", &[], &[("PULUMI_BACKEND_URL", "https://mine.example")]).well();
    assert_ne!(user.calls(), [""; 0], "its user has chosen one");
}

#[test]
fn a_version_of_others_that_the_command_line_would_take_is_named_and_replaced_everywhere() {
    let user = User::new();
    let other = |version: &str| {
        format!(
            ".pulumi/plugins/resource-terraform-provider-v{version}/pulumi-resource-terraform-provider{EXE_SUFFIX}"
        )
    };
    user.write(&other("1.0.9"), "theirs, old");
    user.write(&other("1.5.0"), "theirs, new");
    let said = user.install_plugin("", &["--plugin-version", "1.3.0"]);
    let warning = "resource-terraform-provider-v1.5.0/pulumi-resource-terraform-provider was not installed by isthmus, and has the \
                   highest version, which the Pulumi CLI takes where none is named\nhelp: `isthmus install --plugin --everywhere`";
    assert!(said.stderr.contains(warning), "{said:?}");
    said.well();
    user.project("app", "1.0.9");
    let said = user.install_plugin("app", &["--everywhere"]);
    assert!(!said.stderr.contains("warning"), "{said:?}");
    assert!(said.stdout.contains("-v1.5.0/pulumi-resource-terraform-provider (backup: "), "{said:?}");
    said.well();
    assert_eq!(user.installed(), ["1.0.9", "1.3.0", "1.4.0", "1.5.0"], "1.4.0 is what new packages get");
    let kept = user.machine.path(backup(&other("1.5.0")));
    assert_eq!(std::fs::read_to_string(kept).expect("a backup"), "theirs, new");
}

/// Windows neither replaces nor removes the file of a running program.
#[test]
fn a_plugin_that_runs_is_replaced_and_nothing_is_left_when_it_has_ended() {
    let user = User::new();
    let directory = ".pulumi/plugins/resource-terraform-provider-v1.4.0";
    let path = format!("{directory}/pulumi-resource-terraform-provider{EXE_SUFFIX}");
    let mut other = std::fs::read(env!("CARGO_BIN_EXE_isthmus")).expect("this program");
    other.extend(b"another one");
    let file = user.write(&path, "");
    std::fs::write(&file, &other).expect("a file");
    make_executable(&file);
    let mut command = user.machine.command(&file);
    let mut running = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
    // Its port says that it runs.
    let mut port = String::new();
    let stdout = running.stdout.as_mut().expect("a pipe");
    BufReader::new(stdout).read_line(&mut port).expect("a line");
    assert!(port.trim().parse::<u16>().is_ok(), "{port:?}");

    user.install_plugin("", &["--force"]).well();
    assert!(running.try_wait().expect("it is ours").is_none(), "it was ended");
    let size = |path: &Path| path.metadata().expect("it is there").len();
    let whole = u64::try_from(other.len()).expect("a size");
    assert_eq!(size(&file), whole - 11);
    assert_eq!(size(&user.machine.path(backup(&path))), whole);

    running.kill().expect("it is ours");
    running.wait().expect("it is ours");
    let said = user.install_plugin("", &[]).well();
    assert!(said.contains("is there already"), "{said}");
    let mut names: Vec<_> = user
        .machine
        .path(directory)
        .read_dir()
        .expect("a directory")
        .collect::<Result<_, _>>()
        .expect("entries");
    names.retain(|entry| entry.file_name().to_string_lossy().starts_with(".isthmus-scratch-"));
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn a_version_that_cannot_be_written_hides_nothing_of_those_before_it() {
    let user = User::new();
    let other = |version: &str| {
        format!(
            ".pulumi/plugins/resource-terraform-provider-v{version}/pulumi-resource-terraform-provider{EXE_SUFFIX}"
        )
    };
    let first = user.write(&other("1.1.3"), "theirs");
    let second = user.write(&other("1.3.0"), "theirs");
    // Another fault than a mode, which does not keep root out.
    for number in std::iter::once(String::new()).chain((2..=100).map(|number| format!("-{number}"))) {
        user.write(&format!("{}{number}", backup(&other("1.3.0"))), "mine");
    }
    let said = user.install_plugin("", &["--everywhere"]);
    let installed =
        format!("\ninstalled {0} (backup: {0}.replaced)\n", portable(first.display().to_string()));
    assert!(said.code == 1 && said.stdout.ends_with(&installed), "{said:?}");
    let error = format!(
        "error: failed to write {}: 100 backups of it exist already",
        portable(second.display().to_string())
    );
    let help = "help: remove the cause, and run the command again; the installed versions stay\n";
    assert!(said.stderr.contains(&error) && said.stderr.ends_with(help), "{said:?}");
    assert_eq!(std::fs::read_to_string(second).expect("a file"), "theirs");
}

#[test]
fn a_version_whose_directory_is_a_link_is_left_alone_and_named() {
    let user = User::new();
    let shared = user.write("srv/shared/pulumi-resource-terraform-provider", "theirs");
    let linked = user.machine.path(".pulumi/plugins/resource-terraform-provider-v1.8.0");
    std::fs::create_dir_all(linked.parent().expect("a directory")).expect("a directory");
    symlink(user.machine.path("srv/shared"), &linked).expect("a link");
    let said = user.install_plugin("", &["--everywhere"]);
    let warning = format!(
        "warning: {} is a symbolic link, so isthmus left the plugin in it alone\nhelp: `isthmus install --plugin --plugin-version 1.8.0 \
         --force` replaces it",
        portable(linked.display().to_string())
    );
    assert!(said.stderr.contains(&warning), "{said:?}");
    assert!(!said.stderr.contains("highest version"), "the CLI does not list it: {said:?}");
    said.well();
    assert_eq!(std::fs::read_to_string(shared).expect("a file"), "theirs");
    assert_eq!(std::fs::read_dir(user.machine.path("srv/shared")).expect("a directory").count(), 1);
    assert_eq!(user.installed(), ["1.4.0", "1.8.0"]);
}

#[test]
fn an_hcl_project_names_the_version_of_its_sdk() {
    let user = User::new();
    user.write("app/Pulumi.yaml", "name: x\nruntime: hcl\n");
    // {"remote":{"url":"registry.opentofu.org/hashicorp/random","version":"3.8.0"}}
    let value = "eyJyZW1vdGUiOnsidXJsIjoicmVnaXN0cnkub3BlbnRvZnUub3JnL2hhc2hpY29ycC9yYW5kb20iLCJ2ZXJzaW9uIjoiMy44LjAifX0=";
    let parameterization =
        format!("{{\"Name\": \"random\", \"Version\": \"3.8.0\", \"Value\": \"{value}\"}}");
    let sdk = format!(
        "{{\"Name\": \"terraform-provider\", \"Kind\": \"resource\", \"Version\": \"1.0.9\", \"Parameterization\": \
         {parameterization}}}"
    );
    user.write("app/sdks/random/hcl.sdk.json", &sdk);
    user.install_plugin("app", &[]).well();
    assert_eq!(user.installed(), ["1.0.9"]);
}

#[test]
fn an_sdk_of_an_hcl_project_that_cannot_be_read_is_named() {
    let user = User::new();
    user.write("app/Pulumi.yaml", "name: x\nruntime: hcl\n");
    let sdk = user.write("app/sdks/random/hcl.sdk.json", "");
    let put = |text: &str| std::fs::write(&sdk, text).expect("a file");
    let damages: [(&str, &dyn Fn()); 3] = [
        ("not a JSON document: line 1, column 8: EOF while parsing a value", &|| put("{\"name\":")),
        ("not a JSON object", &|| put("[]")),
        ("it is not a regular file", &|| {
            #[cfg(unix)]
            {
                let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
                rustix::fs::mkfifoat(rustix::fs::CWD, &sdk, mode).expect("a FIFO");
            }
            #[cfg(windows)]
            std::fs::create_dir(&sdk).expect("a directory");
        }),
    ];
    for (reason, damage) in damages {
        std::fs::remove_file(&sdk).expect("the one before");
        damage();
        let warning = format!(
            "warning: failed to read {}: {reason}; the plugin versions in it are not installed\n",
            portable(sdk.display().to_string())
        );
        let said = user.install_plugin("app", &[]);
        assert!(said.stderr.contains(&warning), "{reason}: {said:?}");
        said.well();
    }
}

#[test]
fn the_version_that_an_hcl_project_chooses_for_its_host_is_one() {
    let user = User::new();
    for version in ["1.2", "latest", "[1.2.0]"] {
        let runtime =
            format!("runtime: {{ name: hcl, options: {{ terraformProviderVersion: {version} }} }}\n");
        user.write("app/Pulumi.yaml", &format!("name: x\n{runtime}"));
        let said = user.install_plugin("app", &[]).failed();
        let error = "/app/Pulumi.yaml: the option terraformProviderVersion of the runtime is not a semantic version in quotes";
        assert!(said.contains(error), "{version}: {said}");
        assert_eq!(user.installed(), [""; 0], "nothing is done");
    }
}

#[test]
fn an_hcl_project_without_sdks_gets_every_release_that_its_host_may_ask_for() {
    let user = User::new();
    user.write("app/Pulumi.yaml", "name: x\nruntime: { name: hcl }\n");
    let other = ".pulumi/plugins/resource-terraform-provider-v1.2.0/pulumi-resource-terraform-provider";
    let other = &format!("{other}{EXE_SUFFIX}");
    user.write(other, "theirs");
    let said = user.install_plugin("app", &[]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("installing the versions that hosts of HCL may ask for"), "{said:?}");
    assert!(
        said.stderr.contains("v1.2.0/pulumi-resource-terraform-provider was not installed by isthmus, and a host of HCL may ask"),
        "{said:?}"
    );
    assert_eq!(user.installed(), ["1.1.3", "1.1.4", "1.2.0", "1.3.0", "1.4.0"]);
    assert_eq!(std::fs::read_to_string(user.machine.path(other)).expect("a file"), "theirs");
    let said = user.install_plugin("app", &["--everywhere"]);
    assert!(
        said.code == 0 && said.stdout.contains("(backup: ") && !said.stderr.contains("warning"),
        "{said:?}"
    );
    user.write(
        "app/Pulumi.yaml",
        "name: x\nruntime: { name: hcl, options: { terraformProviderVersion: 1.0.9 } }\n",
    );
    user.install_plugin("app", &[]).well();
    assert_eq!(user.installed(), ["1.0.9", "1.1.3", "1.1.4", "1.2.0", "1.3.0", "1.4.0"]);
}

#[test]
fn an_sdk_that_the_parameters_have_left_behind_is_named() {
    let user = User::new();
    let package = |constraint: &str| {
        let parameters = format!("parameters: [hashicorp/random, {constraint}]");
        let package = format!("random: {{ source: terraform-provider, version: 1.4.0, {parameters} }}");
        user.write("app/Pulumi.yaml", &format!("name: x\nruntime: yaml\npackages:\n  {package}\n"));
    };
    package("~> 3.8");
    // {"remote":{"url":"registry.opentofu.org/hashicorp/random","version":"3.8.0"}}
    let value = "eyJyZW1vdGUiOnsidXJsIjoicmVnaXN0cnkub3BlbnRvZnUub3JnL2hhc2hpY29ycC9yYW5kb20iLCJ2ZXJzaW9uIjoiMy44LjAifX0=";
    user.write(
        "app/sdks/random/random-3.8.0.yaml",
        &format!(
            "packageDeclarationVersion: 1\nname: terraform-provider\nversion: 1.4.0\nparameterization:\n  name: random\n  version: \
             3.8.0\n  value: {value}\n"
        ),
    );
    let said = user.install_plugin("app", &[]);
    assert!(!said.stderr.contains("warning"), "{said:?}");
    package("~> 3.9");
    let said = user.install_plugin("app", &[]);
    let warning = "warning: sdks/random/random-3.8.0.yaml overrides package \"random\" of Pulumi.yaml: it was generated for \
                   hashicorp/random 3.8.0, the parameters ask for hashicorp/random ~> 3.9\nhelp: ";
    assert!(said.stderr.contains(warning), "{said:?}");
    said.well();
}

#[test]
fn a_version_that_is_none_is_a_usage_error() {
    let user = User::new();
    for version in ["nonsense", "1.1", "v", "vv1.4.0", "", "../1.4.0", "1.4.0/x"] {
        let said = user.install_plugin("", &["--plugin-version", version]);
        assert!(
            said.code == 2 && said.stderr.contains("not a semantic version, such as 1.4.0: "),
            "{version:?}: {said:?}"
        );
    }
    assert_eq!(user.installed(), [""; 0]);
}

#[test]
fn an_option_of_the_plugin_without_it_is_a_usage_error_that_shows_how_it_is_used() {
    let user = User::new();
    for option in [&["--everywhere"][..], &["--force"], &["--project", "."], &["--plugin-version", "1.4.0"]] {
        let mut command = user.machine.command(env!("CARGO_BIN_EXE_isthmus"));
        let said = Said::of(command.arg("install").args(option));
        assert!(said.code == 2 && said.stderr.contains("not provided:\n  --plugin\n"), "{said:?}");
        assert!(!said.stderr.contains("<PROVIDER>"), "both together are refused: {said:?}");
    }
}
