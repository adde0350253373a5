//! Forms of a CLI configuration, each of which isthmus and `tofu` accept or refuse.

use std::ffi::OsStr;
use std::path::Path;

use super::{Machine, Said};

/// What both accept.
const ACCEPTED: [&str; 19] = [
    "provider_installation {\n  direct {\n    exclude = [\"a.example/*/*\"]\n  }\n}\n",
    "provider_installation { direct { exclude = [\"a.example/*/*\", ], } }",
    "provider_installation { dev_overrides { \"a/b\" = \"/x\", \"c/d\" = \"/y\" } direct {} }",
    "\"provider_installation\" { \"direct\" {} }",
    "plugin_cache_dir = \"/tmp\" plugin_cache_may_break_dependency_lock_file = true",
    "/* a */ plugin_cache_dir = \"/t\\u006d\\x70\" // b",
    "credentials \"h.example\" { token = \"a\" } credentials \"i.example\" { token = \"b\" }",
    "credentials = { \"h.example\" = { token = \"t\" } }",
    "host \"h.example\" { services { \"providers.v1\" = \"https://h.example/\" } }",
    "host \"h.example\" { services = { providers.v1 = \"https://h.example/\", \"b\" = \"/\", }, }",
    "credentials \"h.example\" {\r\n  token = <<-END\r\n    t\r\n    END\r\n}\r\n",
    "provider_installation { oci_mirror { repository_template = \"r.example/${hostname}/${namespace}/${type}\" } }",
    "registry_protocols { retry_count = \"3\" request_timeout_seconds = 5 }",
    "future_setting = [1.5, -2, [true], { a = \"b\" }]",
    "{\"plugin_cache_dir\"\n:\n\"/tmp\"}",
    "{\"credentials\": {\"h.example\": {\"token\": \"${x}\"}}}",
    "{\"credentials\": {\"h.example\": {\"token\": \"a\"}}, \"credentials\": {\"i.example\": {\"token\": \"b\"}}}",
    "{\"provider_installation\": {\"direct\": [{\"exclude\": [\"a.example/*/*\"]}]}}",
    "{\"provider_installation\": [{\"direct\": [{}, {}]}]}",
];

/// What both refuse.
const REFUSED: [&str; 10] = [
    "plugin_cache_dir = /tmp",
    "plugin_cache_dir = \"/tmp",
    "plugin_cache_dir = \"\\q\"",
    "plugin_cache_dir = \"/tmp\"\nplugin_cache_dir = \"/tmp\"",
    "provider_installation { direct {}",
    "provider_installation { dev_overrides = { \"a/b\" = \"/x\" } }",
    "credentials \"h.example\" = { token = \"t\" }",
    "provider_installation { direct { exclude = [\"a/b\" \"c/d\"] } }",
    "\u{feff}plugin_cache_dir = \"/tmp\"",
    "{\"plugin_cache_dir\": /tmp}",
];

/// `docs/decisions/cli-configuration.md` lists these.
const REFUSED_BY_ISTHMUS: [&str; 6] = [
    "plugin_cache_dir = ",
    "plugin_cache_dir = \"/tmp\"\n\"plugin_cache_dir\" = \"/tmp\"",
    "provider_installation { direct { exclude = [\"a/b\",, \"c/d\"] } }",
    "registry_protocols { retry_count = 0x3 }",
    "{\"plugin_cache_dir\": \"/tmp\",}",
    "{\"plugin_cache_dir\": \"/tmp\"} x",
];

/// The same; OpenTofu panics at the second.
const REFUSED_BY_OPENTOFU: [&str; 3] = [
    "{\"plugin_cache_dir\": \"\\/tmp\"}",
    "{\"credentials\": {\"h.example\": {\"token\": \"\\ud83d\\ude00\"}}}",
    "{\"provider_installation\": {\"direct\": {\"exclude\": [\"a.example/*/*\"]}}}",
];

#[test]
fn a_configuration_is_accepted_or_refused_as_by_opentofu() {
    let machine = Machine::new();
    let run = |program: &OsStr, words: &[&str], file: &Path| {
        let mut command = machine.command(program);
        Said::of(command.args(words).env("TF_CLI_CONFIG_FILE", file).env("ISTHMUS_OFFLINE", "true"))
    };
    let tofu = fixtures::tools::tool("tofu");
    let rows = [
        (&ACCEPTED[..], true, true),
        (&REFUSED, false, false),
        (&REFUSED_BY_ISTHMUS, false, true),
        (&REFUSED_BY_OPENTOFU, true, false),
    ];
    for (texts, by_isthmus, by_opentofu) in rows {
        for text in texts {
            let file = machine.write("cli.tfrc", text.as_bytes());
            // No provider is installed, so the command fails in any case.
            let ours = run(env!("CARGO_BIN_EXE_isthmus").as_ref(), &["install", "hashicorp/random"], &file);
            let theirs = run(tofu.as_os_str(), &["version"], &file);
            assert_eq!(!ours.stderr.contains("ISTHMUS-2001"), by_isthmus, "{text}\n{ours:?}");
            let is_accepted = theirs.code == 0 && !theirs.stderr.contains("CLI configuration");
            assert_eq!(is_accepted, by_opentofu, "{text}\n{theirs:?}");
        }
    }
}
