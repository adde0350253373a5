//! Settings in the environment: no value is passed over, neither by a command nor by a plugin of either kind.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use isthmus_common::quoted;
use isthmus_context::settings::{ALL, Setting};
use isthmus_platform::IS_WINDOWS;
use isthmus_sandbox::Protocol;
use prost_reflect::DescriptorPool;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;

use super::{Machine, Said};
use crate::harness::engine::Severity;
use crate::harness::{Code, Setup, Status};

/// A variable, with values that are understood and values that are not.
struct Row {
    name: &'static str,
    good: &'static [&'static [u8]],
    bad: &'static [&'static [u8]],
    /// Whether a value may be shown.
    is_secret: bool,
}

const fn row(name: &'static str, good: &'static [&'static [u8]], bad: &'static [&'static [u8]]) -> Row {
    Row { name, good, bad, is_secret: false }
}

const fn secret(name: &'static str, good: &'static [&'static [u8]], bad: &'static [&'static [u8]]) -> Row {
    Row { name, good, bad, is_secret: true }
}

const BOOLEANS: &[&[u8]] =
    &[b"", b"true", b"TRUE", b"yes", b"On", b"1", b"false", b"No", b"OFF", b"0", b" true\n"];
const NO_BOOLEANS: &[&[u8]] = &[b"maybe", b"2", b"y", b"enabled", b" ", b"true,", b"tru\xff"];
const PATHS: &[&[u8]] = &[b"", b"state", b"/nowhere/a b", b"/nowhere/\xff"];
const NO_PATHS: &[&[u8]] = &[b"~/state", b"~"];
const KEY: &[u8] = b"0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789ABCDEF";

/// Every variable of ours.
const ROWS: &[Row] = &[
    row(
        "ISTHMUS_DAEMON",
        // Addresses are understood as well (`bridge/context/settings/daemon_address.rs`): a plugin warns of these, which it cannot reach.
        &[b"", b"off", b"OFF"],
        &[b"daemon", b"~/daemon.sock", b"https://a.example.org", b"http://a.example.org:80", b"https://a:1,"],
    ),
    row("ISTHMUS_DAEMON_AUTHORITIES", PATHS, NO_PATHS),
    // It needs its key, and the key needs it.
    row("ISTHMUS_DAEMON_CERTIFICATE", &[b""], NO_PATHS),
    row("ISTHMUS_DAEMON_KEY", &[b""], NO_PATHS),
    row("ISTHMUS_DAEMON_TOKEN_FILE", PATHS, NO_PATHS),
    row("ISTHMUS_AUDIT_LOG", PATHS, NO_PATHS),
    row("ISTHMUS_DRAIN_PERIOD", &[b"", b"0", b"86400"], &[b"10m", b"-1", b"1e9", b"\xff"]),
    row("ISTHMUS_DURABILITY", &[b"", b"disk", b"Process"], &[b"true", b"fsync", b"none", b"\xff"]),
    row("ISTHMUS_STOP_GRACE_PERIOD", &[b"", b"0.5", b"86400"], &[b"5s", b"-1", b"NaN", b"1e9", b"\xff"]),
    row("ISTHMUS_HOME", PATHS, NO_PATHS),
    secret(
        "ISTHMUS_KEY",
        &[KEY],
        &[b"", b"sesame", b"g123456789abcdef0123456789ABCDEF0123456789abcdef0123456789ABCDEF"],
    ),
    secret("ISTHMUS_KEY_FILE", &[b"/nowhere/key", b"\xff"], &[b"", b"~/sesame"]),
    row("ISTHMUS_KILL_SESSIONS", BOOLEANS, NO_BOOLEANS),
    row(
        "ISTHMUS_LISTEN",
        &[b"", b"127.0.0.1:0", b"[::1]:7443"],
        &[b"7443", b"127.0.0.1", b"localhost:7443", b"\xff"],
    ),
    row("ISTHMUS_LOCK_FILE", &[b"", b"sub/.terraform.lock.hcl"], NO_PATHS),
    row("ISTHMUS_LOG_CALLS", BOOLEANS, NO_BOOLEANS),
    row(
        "ISTHMUS_METRICS",
        &[b"", b"127.0.0.1:0", b"[::1]:9090", b"localhost:9090"],
        &[
            b"9090",
            b":9090",
            b"127.0.0.1:http",
            b"127.0.0.1:65536",
            b"::1:9090",
            b"http://a:1",
            b"[x]:1",
            b"\xff",
        ],
    ),
    row("ISTHMUS_OFFLINE", BOOLEANS, NO_BOOLEANS),
    secret("ISTHMUS_PASSPHRASE", &[b"correct horse", b" "], &[b"", b"sesame\xff"]),
    row("ISTHMUS_POOL_AGE", &[b"", b"0.5", b"86400"], &[b"1h", b"-1", b"1e9", b"\xff"]),
    row("ISTHMUS_POOL_IDLE", &[b"", b"0", b"86400"], &[b"10m", b"-1", b"1e9", b"\xff"]),
    row("ISTHMUS_POOL_MEMORY", &[b"", b"16", b"2048"], &[b"15", b"-1", b"64MiB", b"\xff"]),
    row(
        "ISTHMUS_POOL_PROCESSES",
        &[b"", b"1", b"64"],
        &[b"0", b"-1", b"many", b"\xff", b"2305843009213693952"],
    ),
    row("ISTHMUS_PROVIDER", PATHS, NO_PATHS),
    row(
        "ISTHMUS_PROVIDER_ENVIRONMENT",
        &[b"", b"CLOUD_*", b"A, B"],
        &[b"A,,B", b"*_SECRET", b"A=b", b"A B", b"\xff"],
    ),
    row("ISTHMUS_PROVIDER_DIRECTORY", PATHS, NO_PATHS),
    row(
        "ISTHMUS_PROVIDER_MEMORY",
        &[b"", b"16", b"2048"],
        &[b"15", b"0", b"-1", b"1.5", b"64MiB", b"off", b"\xff"],
    ),
    secret(
        "ISTHMUS_PROVIDER_META",
        &[b"", br#"{"a": {}, "b": null}"#],
        &[b"{", b"[]", br#"{"a": 1}"#, b"\xff"],
    ),
    // A plugin does not serve where it cannot be created (`commands/record.rs`).
    row("ISTHMUS_RECORD", &[b"", b"session.jsonl"], NO_PATHS),
    row("ISTHMUS_SCHEMA_CACHE", BOOLEANS, NO_BOOLEANS),
    row("ISTHMUS_EXACT_NUMBERS", &[b"", b"string", b"Number"], &[b"text", b"true", b"double", b"\xff"]),
    row(
        "ISTHMUS_PLAIN_RESULTS",
        &[b"", b"none", b"*", b"data.acme_user, function.parse,ephemeral.acme_token"],
        &[b"acme_user", b"data.", b"true", b"*,", b"\xff"],
    ),
    row("ISTHMUS_SENSITIVE_OUTPUTS", &[b"", b"withhold", b"Show"], &[b"withheld", b"true", b"off", b"\xff"]),
    secret(
        "ISTHMUS_STORE",
        &[b"", b"state.sqlite", b"/nowhere/\xff", b"postgres://me:sesame@localhost/database"],
        &[
            b"mysql://me:sesame@host/a",
            b"postgres:/me:sesame@host/a",
            b"postgres://?password=sesame",
            b"~/state",
        ],
    ),
    row("ISTHMUS_STORE_CA", &[b""], NO_PATHS),
    // These have an effect together only.
    row("ISTHMUS_TLS_CERTIFICATE", &[b""], NO_PATHS),
    row("ISTHMUS_TLS_CLIENT_AUTHORITIES", &[b""], NO_PATHS),
    row("ISTHMUS_TLS_KEY", &[b""], NO_PATHS),
    row("ISTHMUS_TOKENS", &[b""], NO_PATHS),
    row("ISTHMUS_WRITE_ONLY", &[b"", b"hash", b"HASH", b"secret"], &[b"on", b"true", b"hashed", b"\xff"]),
];

#[test]
fn every_setting_has_a_row_and_a_value_that_is_refused() {
    let names = |rows: &mut dyn Iterator<Item = &'static str>| rows.collect::<BTreeSet<_>>();
    assert_eq!(
        names(&mut ROWS.iter().map(|row| row.name)),
        names(&mut ALL.iter().map(|Setting { name, .. }| *name))
    );
    assert!(ROWS.iter().all(|row| !row.bad.is_empty()));
}

/// A value as the environment has it. On Windows that is UTF-16, where half a surrogate is no text.
fn os_value(bytes: &[u8]) -> OsString {
    #[cfg(unix)]
    return std::os::unix::ffi::OsStringExt::from_vec(bytes.to_owned());
    #[cfg(windows)]
    {
        let units = bytes.iter().map(|byte| if byte.is_ascii() { u16::from(*byte) } else { 0xd800 });
        std::os::windows::ffi::OsStringExt::from_wide(&units.collect::<Vec<_>>())
    }
}

/// The error for a value that is not understood.
#[track_caller]
fn assert_refused(row: &Row, value: &[u8], text: &str) {
    let [first, line, help, code] = text.lines().collect::<Vec<_>>()[..] else {
        panic!("four lines, not {text}")
    };
    assert!(first.ends_with("invalid settings in the environment:"), "{text}");
    let allowed = ALL.iter().find(|setting| setting.name == row.name).expect("it is in the table").value;
    assert!(line.ends_with(&format!("expected {allowed}")), "{text}");
    assert!(help.starts_with("help: "), "{text}");
    assert_eq!(code, "help: `isthmus explain ISTHMUS-1001` describes this error");
    if row.is_secret {
        assert!(line.starts_with(&format!("  {}: ", row.name)), "{text}");
        assert!(value.is_empty() || !text.contains(&*String::from_utf8_lossy(value)), "{text}");
        assert!(!text.contains("sesame"), "{text}");
    } else {
        assert!(line.starts_with(&format!("  {}={}: ", row.name, quoted(os_value(value)))), "{text}");
    }
}

#[test]
fn a_command_understands_a_value_or_ends_with_a_usage_error() {
    let machine = Machine::new();
    machine.installed("random", "3.7.0", b"a program");
    let list = |row: &Row, value: &[u8]| {
        let mut command = machine.command(env!("CARGO_BIN_EXE_isthmus"));
        Said::of(command.args(["providers", "list"]).env(row.name, os_value(value)))
    };
    for row in ROWS {
        for value in row.good {
            let said = list(row, value);
            assert_eq!((said.code, &*said.stderr), (0, ""), "{}={:?}: {said:?}", row.name, os_value(value));
        }
        for value in row.bad {
            let said = list(row, value);
            assert_eq!((said.code, &*said.stdout), (2, ""), "{}={:?}: {said:?}", row.name, os_value(value));
            assert_refused(row, value, &said.stderr);
        }
    }
}

/// On Windows, names of variables have no letter case.
#[test]
fn a_setting_in_other_letters_has_an_effect_where_the_system_takes_them_for_the_same() {
    let machine = Machine::new();
    let list = |variables: &[(&str, &str)]| {
        let mut command = machine.command(env!("CARGO_BIN_EXE_isthmus"));
        Said::of(command.args(["providers", "list"]).envs(variables.iter().copied()))
    };
    let said = list(&[("Isthmus_Offline", "maybe")]);
    if cfg!(windows) {
        assert!(
            said.code == 2 && said.stderr.contains("ISTHMUS_OFFLINE=\"maybe\": not a boolean"),
            "{said:?}"
        );
    } else {
        assert!(said.code == 0 && said.stderr.contains("did you mean ISTHMUS_OFFLINE?"), "{said:?}");
    }
}

#[test]
fn no_command_does_anything_with_a_setting_that_is_not_understood() {
    let machine = Machine::new();
    std::fs::write(machine.path("given.tfstate"), "{}").expect("a file");
    let before = tree(&machine);
    let run = |words: &[&str]| {
        Said::of(machine.command(env!("CARGO_BIN_EXE_isthmus")).args(words).env("ISTHMUS_OFFLINE", "maybe"))
    };
    for words in [
        &["demo"][..],
        &["install", "hashicorp/random"],
        &["install", "--plugin"],
        &["link", "hashicorp/random", "--dir", "bin"],
        &["providers", "list"],
        &["providers", "mirror", "mirror", "hashicorp/random"],
        &["providers", "prune"],
        &["providers", "verify"],
        &["recover"],
        &["recover", "import-file"],
        &["recover", "dismiss", "1"],
        &["state", "export"],
        &["state", "import", "given.tfstate"],
        &["state", "list"],
        &["state", "backup", "new"],
        &["state", "restore", "given.tfstate"],
        &["state", "rekey"],
        &["state", "rm", "1"],
        &["state", "show", "1"],
    ] {
        let said = run(words);
        assert_eq!((said.code, &*said.stdout), (2, ""), "{words:?}: {said:?}");
        assert!(said.stderr.contains("ISTHMUS_OFFLINE=\"maybe\": not a boolean"), "{words:?}: {said:?}");
    }
    assert_eq!(tree(&machine), before);
    for words in [&["--help"][..], &["--version"], &["state", "import", "--help"], &["plugin", "-version"]] {
        run(words).well();
    }
}

/// A repository that was only cloned is nobody's configuration.
#[test]
fn nothing_in_a_project_configures_a_command() {
    let machine = Machine::new();
    let broken = b"this is { not a configuration";
    for name in [
        ".terraformrc",
        ".tofurc",
        "terraform.rc",
        "tofu.rc",
        ".terraform.d/a.tfrc",
        ".terraform.d/credentials.tfrc.json",
        ".terraform.lock.hcl",
        ".config/opentofu/tofurc",
        "isthmus/state.key",
        "isthmus/state.sqlite",
        ".pulumi/isthmus/state.key",
        "state.sqlite",
    ] {
        machine.write(Path::new("project").join(name), broken);
    }
    let run = |words: &[&str], directory: &str| {
        let mut command = machine.command(env!("CARGO_BIN_EXE_isthmus"));
        // Windows has configurations there.
        command.env("APPDATA", machine.path(""));
        Said::of(command.args(words).env("ISTHMUS_OFFLINE", "true").current_dir(machine.path(directory)))
    };
    std::fs::create_dir(machine.path("elsewhere")).expect("a directory");
    for words in [
        &["providers", "list"][..],
        &["providers", "prune"],
        &["install", "hashicorp/random", "3.7.0"],
        &["state", "list"],
        &["recover"],
    ] {
        let (there, elsewhere) = (run(words, "project"), run(words, "elsewhere"));
        assert_eq!(
            (there.code, &there.stdout, &there.stderr),
            (elsewhere.code, &elsewhere.stdout, &elsewhere.stderr),
            "{words:?}"
        );
    }
    // The same in the user's home is read.
    let name = if IS_WINDOWS { "terraform.rc" } else { ".terraformrc" };
    machine.write(name, broken);
    let said = run(&["install", "hashicorp/random", "3.7.0"], "elsewhere");
    assert!(said.stderr.contains(&format!("{name}:1:")), "{said:?}");
}

fn tree(machine: &Machine) -> Vec<String> {
    let entries = std::fs::read_dir(machine.path("")).expect("a directory");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_command_lists_all_that_is_wrong_at_once() {
    let machine = Machine::new();
    let mut command = machine.command(env!("CARGO_BIN_EXE_isthmus"));
    let wrong: Vec<&Row> = ROWS.iter().filter(|row| !row.bad.is_empty()).collect();
    command.args(["state", "list"]).envs(wrong.iter().map(|row| (row.name, os_value(row.bad[0]))));
    let said = Said::of(&mut command);
    assert_eq!(said.code, 2, "{said:?}");
    for row in wrong {
        let lines = said.stderr.lines().filter(|line| line.trim_start().starts_with(row.name));
        assert!(lines.count() >= 1, "{}: {said:?}", row.name);
    }
}

#[test]
fn a_command_warns_of_variables_that_have_no_effect() {
    let machine = Machine::new();
    machine.installed("random", "3.7.0", b"a program");
    for (name, value, warning) in [
        (
            "ISTHMUS_OFLINE",
            "true",
            "the variable ISTHMUS_OFLINE has no effect; did you mean ISTHMUS_OFFLINE?",
        ),
        (
            "isthmus_offline",
            "true",
            "the variable isthmus_offline has no effect; did you mean ISTHMUS_OFFLINE?",
        ),
        ("ISTHMUS_STORE_CA", "ca.pem", "ISTHMUS_STORE_CA has no effect without a server in ISTHMUS_STORE"),
        (
            "TF_LOG",
            "verbose",
            "TF_LOG=\"verbose\" has no effect; expected trace, debug, info, warn, error, off or json",
        ),
        (
            "OPENTOFU_ENFORCE_GPG_VALIDATION",
            "yes",
            "OPENTOFU_ENFORCE_GPG_VALIDATION=\"yes\" is taken for `true`; OpenTofu understands nothing but `true`",
        ),
    ] {
        // It has one there: names have no letter case.
        if IS_WINDOWS && name == "isthmus_offline" {
            continue;
        }
        let mut command = machine.command(env!("CARGO_BIN_EXE_isthmus"));
        let said = Said::of(command.args(["providers", "list"]).env(name, value));
        assert_eq!((said.code, &*said.stderr), (0, &*format!("warning: {warning}\n")), "{said:?}");
    }
}

/// The two names that engines start the plugin by.
const PLUGINS: [&str; 2] = ["pulumi-resource-terraform-provider", "lumi-resource-sandbox"];

fn plugin(name: &str) -> Setup {
    Setup::sandbox(Protocol::V6).named(name)
}

/// Calls a method with an empty message.
pub(super) async fn ask(channel: Channel, method: &str) -> Result<(), Status> {
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.expect("the connection holds");
    let codec = tonic_prost::ProstCodec::<(), ()>::default();
    let path = PathAndQuery::try_from(method).expect("a path");
    client.unary(tonic::Request::new(()), path, codec).await.map(|_| ())
}

/// The calls around the others. Of a plugin that fails them, the CLI says that it "exited prematurely", always a bug.
const SERVED: [&str; 3] = [
    "/pulumirpc.ResourceProvider/Handshake",
    "/pulumirpc.ResourceProvider/GetPluginInfo",
    "/pulumirpc.ResourceProvider/Cancel",
];

/// Not implemented, whatever the settings.
const UNIMPLEMENTED: &str = "/pulumirpc.ResourceProvider/Construct";

/// The methods of both services that engines call.
fn methods() -> Vec<String> {
    let pool = DescriptorPool::decode(isthmus_proto::DESCRIPTOR_SET).expect("our contracts");
    let services = pool.services().filter(|service| service.name() == "ResourceProvider");
    let paths = services.flat_map(|service| {
        let of = service.full_name().to_owned();
        service.methods().map(|method| format!("/{of}/{}", method.name())).collect::<Vec<_>>()
    });
    paths.collect()
}

#[tokio::test]
async fn a_plugin_answers_every_call_between_handshake_and_cancel_with_what_is_wrong() {
    let methods = methods();
    for method in SERVED.into_iter().chain(["/lumirpc.ResourceProvider/Check"]) {
        assert!(methods.iter().any(|known| known == method), "{methods:?}");
    }
    for name in PLUGINS {
        let host = plugin(name)
            .with("ISTHMUS_SENSITIVE_OUTPUTS", "withheld")
            .with("ISTHMUS_OFFLINE", "?")
            .start()
            .await;
        let channel = host.channel().await;
        for method in &methods {
            if SERVED.contains(&method.as_str()) {
                ask(channel.clone(), method)
                    .await
                    .unwrap_or_else(|status| panic!("{name}, {method}: {status}"));
                continue;
            }
            let status = ask(channel.clone(), method).await.expect_err(method);
            if method == UNIMPLEMENTED {
                assert_eq!(status.code(), Code::Unimplemented, "{name}: {status}");
                continue;
            }
            assert_eq!(status.code(), Code::FailedPrecondition, "{name}, {method}: {status}");
            for text in [
                "ISTHMUS_SENSITIVE_OUTPUTS=\"withheld\": ",
                "ISTHMUS_OFFLINE=\"?\": ",
                "`withhold` or `show`",
            ] {
                assert!(status.message().contains(text), "{name}, {method}: {status}");
            }
        }
        assert!(host.provider_processes().is_empty(), "{name} starts no provider");
        assert!(!host.directory().join("isthmus").exists(), "{name} makes no store");
        assert_eq!(host.stderr(), "", "{name}: an engine would show it as something else");
    }
}

#[tokio::test]
async fn a_plugin_understands_a_value_or_refuses_to_serve() {
    for name in PLUGINS {
        for row in ROWS {
            // Which values are understood is the same as for commands.
            let value = row.bad[0];
            let host = plugin(name).with_value(row.name, &os_value(value)).start().await;
            let service = if name == PLUGINS[0] { "pulumirpc" } else { "lumirpc" };
            let method = format!(
                "/{service}.ResourceProvider/{}",
                if name == PLUGINS[0] { "GetSchema" } else { "Name" }
            );
            let status = ask(host.channel().await, &method).await.expect_err("a wrong setting");
            assert_eq!(status.code(), Code::FailedPrecondition, "{}: {status}", row.name);
            assert_refused(row, value, status.message());
        }
    }
    for row in ROWS {
        let value = row.good[row.good.len() - 1];
        let host = plugin(PLUGINS[0]).with_value(row.name, &os_value(value)).start().await;
        host.greeted().await.expect("it is always greeted");
        // No provider was chosen, which is another reason to fail or warn.
        let answer = ask(host.channel().await, "/pulumirpc.ResourceProvider/GetSchema").await;
        let refusal = answer.err().map(|status| status.message().to_owned()).unwrap_or_default();
        let setting = format!("{}={:?}", row.name, os_value(value));
        assert!(!refusal.contains("invalid settings"), "{setting}: {refusal}");
        let mut shown = host.engine.shown();
        shown.retain(|line| !line.message.starts_with("no Terraform provider is named"));
        assert!(shown.is_empty(), "{setting}: {shown:?}");
    }
}

#[tokio::test]
async fn a_plugin_that_an_engine_attaches_to_says_at_once_what_is_wrong() {
    let host = plugin(PLUGINS[0]).attachable().with("ISTHMUS_WRITE_ONLY", "on").start().await;
    host.prints("ISTHMUS_WRITE_ONLY=\"on\": unknown value; expected `hash` or `secret`").await;
    let status = host.connect().await.attach(host.engine.address()).await.expect_err("a wrong setting");
    assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
}

#[tokio::test]
async fn a_plugin_warns_of_variables_that_have_no_effect() {
    for name in PLUGINS {
        let host = plugin(name).with("TF_LOG", "verbose").with("ISTHMUS_LOG_CALL", "1").start().await;
        for text in ["TF_LOG=\"verbose\" has no effect", "did you mean ISTHMUS_LOG_CALLS?"] {
            let line = host.engine.line(text, |line| line.message.contains(text)).await;
            assert_eq!(line.severity, Severity::Warning, "{name}: {line:?}");
        }
    }
}

#[test]
fn a_demonstration_leaves_the_store_of_the_user_alone() {
    let machine = Machine::new();
    let store = machine.path("store.sqlite");
    let mut command = machine.command(env!("CARGO_BIN_EXE_isthmus"));
    let said =
        Said::of(command.arg("demo").env("ISTHMUS_STORE", &store).env("ISTHMUS_PASSPHRASE", "correct horse"));
    said.well();
    assert!(!store.exists(), "it has made {}", store.display());
}
