//! Broken machines: settings, directories, file systems, and the socket of a daemon.

use isthmus_common::Platform;
use isthmus_platform::IS_WINDOWS;
use isthmus_platform::local::bind;
use isthmus_test_registry::Archive;

use super::super::Said;
use super::patient::{Patient, expect, faults};
use crate::harness::{Json, TMPDIR, native};

#[test]
fn a_setting_that_is_not_understood_is_named_and_the_rest_is_examined() {
    let mut patient = Patient::new();
    patient.set("ISTHMUS_OFFLINE", "maybe");
    patient.has("settings", 1001, &["ISTHMUS_OFFLINE=\"maybe\""], "Correct the variable");
}

#[test]
fn a_misspelt_setting_is_a_warning_with_the_one_that_was_meant() {
    let mut patient = Patient::new();
    patient.set("ISTHMUS_OFLINE", "true");
    let said = patient.doctor(&[]);
    assert_eq!(said.code, 0, "{said:?}");
    for part in ["warning  settings", "ISTHMUS-1002", "did you mean ISTHMUS_OFFLINE?", "no faults, 1 warning"]
    {
        assert!(said.stdout.contains(part), "{part:?}: {}", said.stdout);
    }
}

#[test]
fn a_machine_without_a_home_directory_is_told_which_to_set() {
    let patient = Patient::new();
    let mut command = patient.command(env!("CARGO_BIN_EXE_isthmus"));
    command
        .env_remove(isthmus_platform::HOME)
        .env_remove("PULUMI_HOME")
        .args(["doctor", "--only", "home", "--json"]);
    let said = Said::of(&mut command);
    let document: Json = serde_json::from_str(&said.stdout).expect("JSON");
    expect(
        &faults(&document),
        "home",
        1003,
        &["neither ISTHMUS_HOME nor PULUMI_HOME nor HOME"],
        "Set `ISTHMUS_HOME`",
    );
}

#[cfg(unix)]
#[test]
fn without_pulumi_home_the_plugin_is_looked_up_where_the_cli_looks_whatever_home_says() {
    let passwd = std::fs::read_to_string("/etc/passwd").expect("a user database");
    let own = format!(":{}:", rustix::process::geteuid().as_raw());
    let entry = passwd
        .lines()
        .find(|entry| entry.splitn(3, ':').nth(2).is_some_and(|rest| format!(":{rest}").starts_with(&own)));
    let home = entry.and_then(|entry| entry.split(':').nth(5)).expect("this user is in it");
    let patient = Patient::new();
    let mut command = patient.command(env!("CARGO_BIN_EXE_isthmus"));
    command.env_remove("PULUMI_HOME").args(["doctor", "--only", "plugin"]);
    let said = Said::of(&mut command);
    assert!(said.stdout.contains(&format!("{home}/.pulumi/plugins")), "{said:?}");
}

#[test]
fn a_home_directory_that_others_may_write_to_is_named_with_the_command() {
    let patient = Patient::new();
    let home = patient.home();
    std::fs::create_dir_all(&home).expect("a directory");
    isthmus_platform::files::set_mode(&home, 0o777).expect("it is ours");
    patient.has("home", 1005, &["0777"], &format!("chmod go-w {}", home.display()));
}

#[test]
fn a_file_in_the_place_of_the_home_directory_is_named() {
    let mut patient = Patient::new();
    let file = patient.machine.write("taken", b"");
    patient.set("ISTHMUS_HOME", file.to_str().expect("text"));
    let words = ["--only", "home"];
    patient.has_in(&words, "home", 1004, &["taken is not a directory"], "choose another directory");
}

#[test]
fn a_temporary_directory_that_is_missing_is_named() {
    let mut patient = Patient::new();
    patient.set(TMPDIR, "/nowhere/tmp");
    // Providers have their sockets there.
    let words = ["--skip", "providers"];
    let directory = native("/nowhere/tmp").display().to_string();
    patient.has_in(&words, "space", 1004, &[&directory, " does not exist"], &format!("set {TMPDIR} "));
}

/// What a command says whose provider cache is a file system of its own, with these options.
fn with_mounted_cache(patient: &Patient, options: &str, words: &str) -> Option<Said> {
    let directory = patient.machine.path("mounted");
    std::fs::create_dir_all(&directory).expect("a directory");
    let isthmus = env!("CARGO_BIN_EXE_isthmus");
    let script = format!("mount -t tmpfs -o {options} tmpfs \"$1\" && exec {isthmus} {words}");
    let mut command = patient.command("/usr/bin/unshare");
    command.args(["--map-root-user", "--mount", "/bin/sh", "-c", &script, "sh"]).arg(&directory);
    command.env("PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR", &directory);
    let said = Said::of(&mut command);
    assert_ne!(said.code, 0, "{said:?}");
    // The kernel of this machine may not let users mount anything.
    let is_refused = ["unshare: ", "mount: "].iter().any(|program| said.stderr.starts_with(program));
    (!is_refused).then_some(said)
}

/// Examines such a machine.
fn with_mounted_cache_examined(options: &str) -> Option<Json> {
    let said = with_mounted_cache(&Patient::new(), options, "doctor --json --only space")?;
    Some(serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}")))
}

#[test]
fn an_installation_on_a_full_disk_names_the_directory_that_is_full() {
    let patient = Patient::new();
    let mirror = patient.machine.path("mirror");
    let method = format!("provider_installation {{\n filesystem_mirror {{ path = {mirror:?} }}\n}}\n");
    patient.machine.write("cli.tfrc", method.as_bytes());
    let (program, current) = (vec![7; 1 << 20], Platform::CURRENT);
    let archive = Archive::of_programs(&[("terraform-provider-packed_v1.0.0", &program)]);
    for (file, content) in [
        (format!("unpacked/1.0.0/{current}/terraform-provider-unpacked_v1.0.0"), &program),
        (format!("packed/terraform-provider-packed_1.0.0_{current}.zip"), &archive),
    ] {
        patient.machine.write(format!("mirror/registry.opentofu.org/acme/{file}"), content);
    }
    for provider in ["unpacked", "packed"] {
        let words = format!("install acme/{provider}");
        let Some(said) = with_mounted_cache(&patient, "size=64k", &words) else { return };
        let full =
            patient.machine.path(format!("mounted/registry.opentofu.org/acme/{provider}/1.0.0/{current}"));
        for part in
            [&*format!("error: {} cannot be written", full.display()), "No space left", "ISTHMUS-1006"]
        {
            assert!(said.stderr.contains(part), "{part:?}: {}", said.stderr);
        }
    }
}

#[test]
fn a_filesystem_mirror_that_is_missing_is_named_as_an_installation_names_it() {
    let patient = Patient::new();
    let mirror = patient.machine.path("mirror");
    let method = format!("provider_installation {{\n  filesystem_mirror {{ path = {mirror:?} }}\n}}\n");
    patient.machine.write("cli.tfrc", method.as_bytes());
    let directory = mirror.display().to_string();
    let [missing, no_directory] = if IS_WINDOWS {
        ["(os error 3)", "(os error "]
    } else {
        ["No such file or directory", "Not a directory"]
    };
    let message = ["the filesystem mirror", &directory, "cli.tfrc:2:30", missing];
    for words in [&[][..], &["--offline"], &["--only", "configuration"]] {
        patient.has_in(words, "configuration", 2017, &message, "create the directory, or correct `path`");
    }
    let said = Said::of(patient.command(env!("CARGO_BIN_EXE_isthmus")).args(["install", "acme/some"]));
    for part in message.iter().chain(&["help: create the directory, or correct `path`\n"]) {
        assert!(said.code == 1 && said.stderr.contains(part), "{part:?}: {said:?}");
    }
    std::fs::write(&mirror, "").expect("a file");
    patient.has("configuration", 2017, &[no_directory], "make it a directory");
    std::fs::remove_file(&mirror).expect("it is there");
    std::fs::create_dir(&mirror).expect("a directory");
    assert!(patient.faults(&["--only", "configuration"]).is_empty());
}

#[test]
fn a_full_disk_is_named_with_what_makes_room() {
    let Some(document) = with_mounted_cache_examined("size=64k") else { return };
    expect(
        &faults(&document),
        "space",
        1006,
        &["0 MiB are free", "mounted"],
        "isthmus providers prune --dry-run",
    );
}

#[test]
fn a_cache_on_a_file_system_without_execution_is_named() {
    let Some(document) = with_mounted_cache_examined("size=1g,noexec") else { return };
    expect(&faults(&document), "space", 1007, &["noexec", "mounted"], "on another file system");
}

#[test]
fn the_socket_of_a_dead_daemon_is_named() {
    let mut patient = Patient::new();
    let socket = patient.machine.path("daemon.sock");
    drop(bind(&socket).expect("a socket"));
    patient.set("ISTHMUS_DAEMON", socket.to_str().expect("text"));
    patient.has("daemon", 6001, &["no daemon listens on", "daemon.sock"], "Start a daemon: `isthmus daemon`");
}

#[test]
fn the_socket_that_a_dead_daemon_has_left_where_plugins_look_is_named() {
    let patient = Patient::new();
    let home = patient.home();
    std::fs::create_dir_all(&home).expect("a directory");
    let socket = home.join("daemon.sock");
    drop(bind(&socket).expect("a socket"));
    let remedy =
        format!("start a daemon: `isthmus daemon`, which replaces it; or remove {}", socket.display());
    patient.has("daemon", 6001, &["no daemon listens on"], &remedy);
}

#[test]
fn the_socket_of_a_daemon_in_a_directory_of_everyone_is_named() {
    let mut patient = Patient::new();
    let directory = patient.machine.path("open");
    std::fs::create_dir(&directory).expect("a directory");
    isthmus_platform::files::set_mode(&directory, 0o777).expect("it is ours");
    let socket = directory.join("daemon.sock");
    let _listener = bind(&socket).expect("a socket");
    patient.set("ISTHMUS_DAEMON", socket.to_str().expect("text"));
    patient.has("daemon", 6002, &["0777"], &format!("chmod go-w {}", directory.display()));
}
