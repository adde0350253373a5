//! What users give commands: settings, CLI configurations, lock files, states and addresses, each with a mistake beside a secret.

use std::path::Path;

use super::marks::{Search, files};
use crate::harness::host::named;
use crate::lumirpc::tofu::isthmus_with;

/// The file that a row is about, in the directory of what the user has written.
const FILE: &str = "@file@";

/// A command with this variable, or with this file.
struct Row {
    what: &'static str,
    words: &'static [&'static str],
    /// Name and value, in which `@` stands for the secret.
    variable: (&'static str, &'static str),
    /// Contents of a file, in which `@` stands for the secret.
    file: &'static str,
    says: &'static str,
}

const LIST: &[&str] = &["state", "list"];
const PROVIDERS: &[&str] = &["providers", "list"];
const INSTALL: &[&str] = &["install", "127.0.0.1:1/acme/thing", "1.0.0"];
const IMPORT: &[&str] = &["state", "import", FILE, "--provider", "sandbox=@sandbox@"];

const fn setting(what: &'static str, name: &'static str, value: &'static str, says: &'static str) -> Row {
    Row { what, words: LIST, variable: (name, value), file: "", says }
}

const fn cli(what: &'static str, file: &'static str, says: &'static str) -> Row {
    Row { what, words: INSTALL, variable: ("TF_CLI_CONFIG_FILE", FILE), file, says }
}

const fn state(what: &'static str, file: &'static str) -> Row {
    Row { what, words: IMPORT, variable: ("SANDBOX_ODD", "usable"), file, says: "" }
}

const ROWS: &[Row] = &[
    setting("key that is none", "ISTHMUS_KEY", "@", "ISTHMUS_KEY"),
    setting("variable that is misspelt", "ISTHMUS_PASPHRASE", "@", "ISTHMUS_PASPHRASE"),
    setting("store of an unknown kind", "ISTHMUS_STORE", "mysql://me:@@127.0.0.1/a", "ISTHMUS_STORE"),
    setting(
        "password of a store in a broken address",
        "ISTHMUS_STORE",
        "postgres://me:@@[::1/a",
        "ISTHMUS_STORE",
    ),
    setting(
        "password as the port of a store",
        "ISTHMUS_STORE",
        "postgres://me@127.0.0.1:@/a",
        "ISTHMUS_STORE",
    ),
    setting(
        "password in a parameter of a store",
        "ISTHMUS_STORE",
        "postgres://127.0.0.1/a?pasword=@",
        "ISTHMUS_STORE",
    ),
    setting(
        "password of a store without a scheme",
        "ISTHMUS_STORE",
        "postgres:/me:@@127.0.0.1/a",
        "ISTHMUS_STORE",
    ),
    setting(
        "password of a store that is not there",
        "ISTHMUS_STORE",
        "postgres://me:@@127.0.0.1:1/a?sslmode=disable",
        "127.0.0.1",
    ),
    setting(
        "JSON of provider metadata",
        "ISTHMUS_PROVIDER_META",
        "{\"sandbox\": {\"module\": \"@\"",
        "ISTHMUS_PROVIDER_META",
    ),
    setting(
        "provider metadata of the wrong type",
        "ISTHMUS_PROVIDER_META",
        "{\"sandbox\": \"@\"}",
        "ISTHMUS_PROVIDER_META",
    ),
    cli("token in an unclosed text", "credentials \"a.example\" {\n  token = \"@\n}\n", ""),
    cli("token that is a list", "credentials \"a.example\" {\n  token = [\"@\"]\n}\n", ""),
    cli("token by another name", "credentials \"a.example\" {\n  tokne = \"@\"\n}\n", ""),
    cli("token without a quote", "credentials \"a.example\" {\n  token = @\n}\n", ""),
    cli("token as a label", "credentials \"a.example\" {\n  token \"@\"\n}\n", ""),
    cli("token in a block without a host", "credentials {\n  token = \"@\"\n}\n", ""),
    cli(
        "password of a mirror",
        "provider_installation {\n  network_mirror {\n    url = \"https://me:@@127.0.0.1:1/\"\n  }\n}\n",
        "",
    ),
    cli(
        "password of a mirror with http",
        "provider_installation {\n  network_mirror {\n    url = \"http://me:@@127.0.0.1:1/\"\n  }\n}\n",
        "",
    ),
    cli(
        "argument of a credentials helper",
        "credentials_helper \"none\" {\n  args = [\"--token=@\"]\n}\n",
        "",
    ),
    cli(
        "password of an OCI repository",
        "oci_credentials \"a.example\" {\n  username = \"me\"\n  pasword = \"@\"\n}\n",
        "",
    ),
    cli(
        "token of an OCI repository in a list",
        "oci_credentials \"a.example\" {\n  access_token = [\"@\"]\n}\n",
        "",
    ),
    Row {
        what: "token in a variable",
        words: INSTALL,
        variable: ("TF_TOKEN_a__b___", "@"),
        file: "",
        says: "",
    },
    Row {
        what: "password of a proxy",
        words: INSTALL,
        variable: ("HTTPS_PROXY", "http://me:@@127.0.0.1:1"),
        file: "",
        says: "",
    },
    Row {
        what: "password of a proxy with a broken address",
        words: INSTALL,
        variable: ("HTTPS_PROXY", "http://me:@@127.0.0.1:port"),
        file: "",
        says: "",
    },
    Row {
        what: "lock file with an unclosed text",
        words: INSTALL,
        variable: ("ISTHMUS_LOCK_FILE", FILE),
        file: "provider \"a.example/b/c\" {\n  version = \"1.0.0\n  hashes = [\"@\"]\n}\n",
        says: "",
    },
    Row {
        what: "password in the address of a provider",
        words: &["install", "https://me:@@127.0.0.1:1/acme/thing", "1.0.0"],
        variable: ("NO_COLOR", "1"),
        file: "",
        says: "",
    },
    Row {
        what: "providers that run, cut off",
        words: PROVIDERS,
        variable: ("TF_REATTACH_PROVIDERS", "{\"a\": \"@\""),
        file: "",
        says: "",
    },
    state("state that is cut off", "{\"version\": 4, \"outputs\": {\"a\": {\"value\": \"@\""),
    state("state whose version is a text", "{\"version\": \"@\", \"resources\": []}"),
    state(
        "state with a text for attributes",
        "{\"version\": 4, \"serial\": 1, \"lineage\": \"a\", \"outputs\": {}, \"resources\": [{\"mode\": \"managed\", \
         \"type\": \"sandbox_leak\", \"name\": \"a\", \"provider\": \"provider[\\\"registry.opentofu.org/isthmus/sandbox\\\"]\", \
         \"instances\": [{\"schema_version\": 0, \"attributes\": \"@\"}]}]}",
    ),
    state(
        "state with a list for a sensitive attribute",
        "{\"version\": 4, \"serial\": 1, \"lineage\": \"a\", \"outputs\": {}, \"resources\": [{\"mode\": \"managed\", \
         \"type\": \"sandbox_leak\", \"name\": \"a\", \"provider\": \"provider[\\\"registry.opentofu.org/isthmus/sandbox\\\"]\", \
         \"instances\": [{\"schema_version\": 0, \"attributes\": {\"id\": \"a\", \"secret\": [\"@\"]}}]}]}",
    ),
    state(
        "state with private bytes that are not base64",
        "{\"version\": 4, \"serial\": 1, \"lineage\": \"a\", \"outputs\": {}, \"resources\": [{\"mode\": \"managed\", \
         \"type\": \"sandbox_leak\", \"name\": \"a\", \"provider\": \"provider[\\\"registry.opentofu.org/isthmus/sandbox\\\"]\", \
         \"instances\": [{\"schema_version\": 0, \"attributes\": {\"id\": \"a\"}, \"private\": \"*@\"}]}]}",
    ),
    state(
        "state with a text for a sensitive number",
        "{\"version\": 4, \"serial\": 1, \"lineage\": \"a\", \"outputs\": {}, \"resources\": [{\"mode\": \"managed\", \
         \"type\": \"sandbox_leak\", \"name\": \"a\", \"provider\": \"provider[\\\"registry.opentofu.org/isthmus/sandbox\\\"]\", \
         \"instances\": [{\"schema_version\": 0, \"attributes\": {\"id\": \"a\", \"pin\": \"@\"}}]}]}",
    ),
    Row {
        what: "stored token that is cut off",
        words: INSTALL,
        variable: ("NO_COLOR", "1"),
        file: "{\"credentials\": {\"127.0.0.1:1\": {\"token\": \"@\"",
        says: "",
    },
];

#[tokio::test]
async fn no_mistake_of_a_user_is_repeated_with_the_secret_beside_it() {
    let search = Search::new("commands");
    let given = tempfile::tempdir().expect("a directory");
    let home = tempfile::tempdir().expect("a directory");
    let sandbox = named(env!("CARGO_BIN_EXE_isthmus"), given.path().join("terraform-provider-sandbox"));
    for (number, row) in ROWS.iter().enumerate() {
        let mark = search.refused(row.what);
        let file = if row.what == "stored token that is cut off" {
            // Where `tofu login` stores tokens.
            home.path().join(".terraform.d/credentials.tfrc.json")
        } else {
            given.path().join(format!("given-{number}"))
        };
        std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
        let filled = |given: &str| {
            let given = given.replace(FILE, &text(&file)).replace("@sandbox@", &text(&sandbox));
            given.replace("@@", "\u{1}").replace('@', &mark).replace('\u{1}', &format!("{mark}@"))
        };
        std::fs::write(&file, filled(row.file)).expect("written");
        let words: Vec<String> = row.words.iter().map(|word| filled(word)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = isthmus_with(home.path(), &words, &[(row.variable.0, filled(row.variable.1))]);
        assert!(said.code != 0 || !said.stderr.is_empty(), "{}: it is a mistake: {said:?}", row.what);
        search.shown(row.what, &(said.stdout + &said.stderr), row.says);
    }
    let stored = home.path().join(".terraform.d");
    search.conclude_in(files(home.path(), &|file| !file.starts_with(&stored)));
}
