//! CLI configurations, from files to their meaning.

use std::fs;
use std::path::{Path, PathBuf};

use isthmus_common::{Environment, Secret};

use super::*;
use crate::ProviderAddress;
use crate::auth::OciSecret;

struct Home {
    directory: tempfile::TempDir,
    variables: Vec<(String, std::ffi::OsString)>,
}

impl Home {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let variables = vec![("HOME".to_owned(), directory.path().into())];
        Self { directory, variables }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn file(self, path: &str, text: &str) -> Self {
        fs::create_dir_all(self.path(path).parent().expect("a directory")).expect("a directory");
        fs::write(self.path(path), text).expect("a file");
        self
    }

    fn variable(mut self, name: &str, path: &str) -> Self {
        let path = self.path(path).into();
        self.variables.push((name.to_owned(), path));
        self
    }

    fn environment(&self) -> Environment {
        Environment::from_iter(self.variables.clone())
    }

    fn load(&self) -> CliConfig {
        CliConfig::load(&self.environment()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Paths of the files that were read, relative to the home.
    fn files(&self) -> Vec<String> {
        let files = self.load().files.into_iter();
        let inside =
            |file: PathBuf| file.strip_prefix(self.directory.path()).expect("inside").display().to_string();
        files.map(inside).collect()
    }

    /// The error, with relative paths.
    fn error(&self) -> String {
        let error = CliConfig::load(&self.environment()).expect_err("it is wrong").to_string();
        error.replace(&format!("{}/", self.directory.path().display()), "")
    }

    fn warnings(&self) -> Vec<String> {
        let directory = format!("{}/", self.directory.path().display());
        self.load().warnings.iter().map(|warning| warning.to_string().replace(&directory, "")).collect()
    }
}

/// The configuration of a single file.
fn config(text: &str) -> CliConfig {
    Home::new().file(".tofurc", text).load()
}

/// The error of a single file.
fn fault(text: &str) -> String {
    Home::new().file(".tofurc", text).error()
}

#[test]
fn files_are_found_where_opentofu_finds_them() {
    assert_eq!(Home::new().files(), [""; 0]);
    assert_eq!(Home::new().file(".terraformrc", "").files(), [".terraformrc"]);
    assert_eq!(Home::new().file(".terraformrc", "").file(".tofurc", "").files(), [".tofurc"]);
    let home = Home::new()
        .file(".terraform.d/b.tfrc", "")
        .file(".terraform.d/credentials.tfrc.json", "{}")
        .file(".terraform.d/a.tfrc.json", "{}")
        .file(".terraform.d/other.json", "broken")
        .file(".terraformrc", "");
    let in_directory =
        [".terraform.d/a.tfrc.json", ".terraform.d/b.tfrc", ".terraform.d/credentials.tfrc.json"];
    assert_eq!(home.files()[0], ".terraformrc");
    assert_eq!(home.files()[1..], in_directory);

    // OpenTofu's own directory, for a user without files of Terraform.
    let home = Home::new().variable("XDG_CONFIG_HOME", ".config").file(".config/opentofu/tofurc", "");
    let home = home.file(".config/opentofu/x.tfrc", "");
    assert_eq!(home.files(), [".config/opentofu/tofurc", ".config/opentofu/x.tfrc"]);
    let home = home.file(".terraformrc", "").file(".terraform.d/y.tfrc", "");
    assert_eq!(home.files(), [".terraformrc", ".terraform.d/y.tfrc"]);

    // A named file is the only one.
    let home = home.file("mine", "").variable("TERRAFORM_CONFIG", "mine");
    assert_eq!(home.files(), ["mine"]);
    let home = home.file("other", "").variable("TF_CLI_CONFIG_FILE", "other");
    assert_eq!(home.files(), ["other"]);
    fs::remove_file(home.path("other")).expect("it is there");
    assert_eq!(home.files(), [""; 0]);
    assert_eq!(home.warnings(), ["TF_CLI_CONFIG_FILE names the file other, which is not there"]);
}

#[test]
fn the_documented_example_says_where_providers_come_from() {
    let native = r#"
        provider_installation {
          dev_overrides {
            "hashicorp/boop" = "/tmp/bloop/./boop"
            "example.com/a/b" = "/tmp/b"
          }
          filesystem_mirror {
            path    = "/tmp/example1"
            include = ["example.com/*/*"]
          }
          network_mirror {
            url     = "https://tf-Mirror.example.com/"
            include = ["registry.opentofu.org/*/*"]
            exclude = ["registry.OpenTofu.org/foobar/*"]
            download_retry_count = 2
            trust_all_hashes = true
          }
          oci_mirror {
            repository_template = "oci.example/${namespace}/${type}"
            include = ["oci.example.com/*/*"]
          }
          direct {
            exclude = ["example.com/*/*"]
          }
        }"#;
    let json = r#"{"provider_installation": {
          "dev_overrides": {"hashicorp/boop": "/tmp/bloop/boop", "example.com/a/b": "/tmp/b"},
          "filesystem_mirror": [{"path": "/tmp/example1", "include": ["example.com/*/*"]}],
          "network_mirror": [{
            "url": "https://tf-Mirror.example.com/",
            "include": ["registry.opentofu.org/*/*"],
            "exclude": ["registry.OpenTofu.org/foobar/*"],
            "download_retry_count": 2,
            "trust_all_hashes": true
          }],
          "oci_mirror": {
            "repository_template": "oci.example/${namespace}/${type}",
            "include": ["oci.example.com/*/*"]
          },
          "direct": [{"exclude": ["example.com/*/*"]}]
        }}"#;
    let in_one_line = native.replace('\n', " ");
    for text in [native, &in_one_line, json] {
        let config = config(text);
        assert_eq!(config.warnings, []);
        let installation = config.provider_installation.expect("it is there");
        let overrides = installation.dev_overrides.iter();
        let overrides: Vec<String> = overrides
            .map(|(address, path)| format!("{} {}", address.for_display(), path.display()))
            .collect();
        assert_eq!(overrides, ["example.com/a/b /tmp/b", "hashicorp/boop /tmp/bloop/boop"]);
        let [directory, network, oci, direct] = installation.methods.as_slice() else {
            panic!("four methods: {:?}", installation.methods)
        };
        let MethodLocation::FilesystemMirror { path, place } = &directory.location else {
            panic!("{directory:?}")
        };
        assert_eq!(path, Path::new("/tmp/example1"));
        assert!(place.contains(':'), "{place}");
        let url = "https://tf-Mirror.example.com/".to_owned();
        let location =
            MethodLocation::NetworkMirror { url, download_retry_count: Some(2), trust_all_hashes: true };
        assert_eq!(network.location, location);
        assert_eq!(direct.location, MethodLocation::Direct { download_retry_count: None });
        assert!(
            matches!(&oci.location, MethodLocation::OciMirror { repository } if repository.text().starts_with("oci."))
        );
        // Which of the four methods include a provider, as letters.
        let places = |address: &str| {
            let address = ProviderAddress::parse(address).expect(address);
            let methods = [directory, network, oci, direct].into_iter().zip("fnod".chars());
            methods.filter(|(method, _)| method.has(&address)).map(|(_, letter)| letter).collect::<String>()
        };
        assert_eq!(places("example.com/a/b"), "f");
        assert_eq!(places("hashicorp/random"), "nd");
        assert_eq!(places("foobar/random"), "d");
        assert_eq!(places("oci.example.com/a/b"), "od");
    }
}

#[test]
fn tokens_and_hosts_and_helpers_are_read_in_every_form() {
    for text in [
        r#"credentials "Example.com" { token = "t" }
           host "x.com:443" { services = { "providers.v1" = "/p/" } }
           credentials_helper "vault" { args = ["-a", "b"] }"#,
        r#"credentials "Example.com" { token = "t" } host "x.com" { services { "providers.v1" = "/p/", } }
           credentials_helper "vault" { args = ["-a", "b",], }"#,
        r#"credentials = { "example.com" = { token = "t" } }
           host = { "x.com" = { services = { "providers.v1" = "/p/" } } }
           credentials_helper "vault" { args = ["-a", "b"] }"#,
        r#"{"credentials": {"example.com": {"token": "t"}}, "host": {"x.com": {"services": {"providers.v1": "/p/", "login.v1": {"a": 1}}}},
            "credentials_helper": {"vault": {"args": ["-a", "b"]}}}"#,
    ] {
        let config = config(text);
        let warnings: Vec<&str> = config.warnings.iter().map(|warning| warning.text.as_str()).collect();
        let [warning] = warnings[..] else { panic!("{warnings:?}") };
        assert!(
            warning.starts_with("the CLI configuration names the credentials helper \"vault\""),
            "{warning}"
        );
        assert_eq!(config.credentials, [("example.com".to_owned(), Secret::new("t".to_owned()))].into());
        assert_eq!(config.hosts["x.com"], [("providers.v1".to_owned(), "/p/".to_owned())].into());
        let helper = config.credentials_helper.expect("it is there");
        assert_eq!(
            (helper.name.as_str(), helper.arguments),
            ("vault", vec!["-a".to_owned(), "b".to_owned()])
        );
        assert!(helper.directories[0].ends_with(".terraform.d/plugins"), "{:?}", helper.directories);
    }
    assert!(!format!("{:?}", config("credentials \"h\" { token = \"s3cret\" }")).contains("s3cret"));
}

#[test]
fn a_cache_may_break_the_lock_file_by_a_variable_with_any_other_value_than_0() {
    for (value, may) in [("1", true), ("true", true), ("0", false)] {
        let mut home = Home::new();
        home.variables.push(("TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE".to_owned(), value.into()));
        assert_eq!(home.load().plugin_cache_may_break_dependency_lock_file, may, "{value}");
    }
    assert!(!Home::new().load().plugin_cache_may_break_dependency_lock_file);
}

#[test]
fn of_several_files_the_first_setting_and_the_last_token_count() {
    let home = Home::new()
        .file(".tofurc", "plugin_cache_dir = \"$HOME/one\"\ncredentials \"h\" { token = \"main\" }\nregistry_protocols { retry_count = 3 }")
        .file(".terraform.d/a.tfrc", "plugin_cache_dir = \"/two\"\ncredentials \"h\" { token = \"directory\" }\nregistry_protocols {\n retry_count = 4\n request_timeout_seconds = \"5\"\n}")
        .file(".terraform.d/b.tfrc", "plugin_cache_may_break_dependency_lock_file = true\ncredentials \"i\" { token = \"i\" }");
    fs::create_dir(home.path("one")).expect("a directory");
    let config = home.load();
    assert_eq!(config.plugin_cache_dir, Some(home.path("one")));
    assert!(config.plugin_cache_may_break_dependency_lock_file);
    assert_eq!(config.credentials["h"].expose(), "directory");
    assert_eq!(config.credentials["i"].expose(), "i");
    let patience = RegistryProtocols { retry_count: Some(3), request_timeout_seconds: Some(5) };
    assert_eq!(config.registry_protocols, patience);
    assert_eq!(config.warnings, []);

    let home = home.variable("TF_PLUGIN_CACHE_DIR", "three");
    assert_eq!(home.load().plugin_cache_dir, Some(home.path("three")));
    assert_eq!(home.warnings(), ["the plugin cache directory three is not there; nothing is taken from it"]);
}

#[test]
fn two_blocks_of_what_there_may_be_once_are_refused_across_files() {
    let home = Home::new()
        .file(".tofurc", "\n provider_installation {}")
        .file(".terraform.d/x.tfrc", "provider_installation {}");
    assert_eq!(
        home.error(),
        ".terraform.d/x.tfrc:1:1: there may be one block \"provider_installation\" in all files together, and there is one at \
         .tofurc:2:2 already"
    );
    assert!(
        fault("credentials_helper \"a\" {}\ncredentials_helper \"b\" {}")
            .contains("one with another name already")
    );
    assert!(fault("registry_protocols {}\nregistry_protocols {}").contains(".tofurc:1:1 already"));
}

#[test]
fn what_has_no_effect_is_warned_about() {
    let home = Home::new().file(
        ".terraformrc",
        "plugin_cahce_dir = \"/x\"\nproviders { aws = \"/x\" }\ndisable_checkpoint = true\nprovider_installation {\n direct {\n  \
         inclued = []\n }\n network_mirror { url = \"https://m.example/providers\" }\n}\n",
    );
    assert_eq!(
        home.warnings(),
        [
            ".terraformrc:1:1: \"plugin_cahce_dir\" is unknown and ignored; did you mean \"plugin_cache_dir\"?",
            ".terraformrc:6:3: \"inclued\" is unknown and ignored; did you mean \"include\"?",
            ".terraformrc:8:25: this address does not end with a slash, so the part behind its last one is ignored",
        ]
    );
}

#[test]
fn an_unknown_name_that_may_be_of_another_file_is_not_shown() {
    let home = Home::new().file(".terraformrc", "hunter2 = 1\nservices = 2\n");
    assert_eq!(
        home.warnings(),
        [
            ".terraformrc:1:1: this name is unknown and ignored",
            ".terraformrc:2:1: \"services\" is unknown and ignored"
        ]
    );
}

#[test]
fn what_is_no_file_is_waited_for_only_if_a_variable_names_it() {
    let home = Home::new().file(".terraform.d/other.tfrc", "");
    let pipe = home.path(".terraform.d/credentials.tfrc.json");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
        .expect("a FIFO");
    assert_eq!(
        isthmus_common::error_chain(&CliConfig::load(&home.environment()).expect_err("it is a FIFO")),
        format!(
            "the CLI configuration at {} cannot be read: it is a FIFO, not a regular file",
            pipe.display()
        )
    );
    let home = home.variable("TF_CLI_CONFIG_FILE", ".terraform.d/credentials.tfrc.json");
    let shell = std::thread::spawn(move || fs::write(pipe, "credentials \"e.com\" { token = \"x\" }"));
    assert!(home.load().credentials.contains_key("e.com"));
    shell.join().expect("no panic").expect("it is read");
}

#[test]
fn what_has_no_meaning_is_refused_with_its_place() {
    for (text, expected) in [
        ("a = 1 b", "1:8: found the end of the file, where = or { should be"),
        ("{\"a\": }", "1:7: expected value"),
        ("plugin_cache_dir = word", "1:20: found a word without quotes, where a value should be"),
        ("plugin_cache_dir = 1.5", "is a number with a fraction or an exponent, but must be a string"),
        ("plugin_cache_dir = []", "1:20: \"plugin_cache_dir\" is a list, but must be a string"),
        ("plugin_cache_may_break_dependency_lock_file = \"true\"", "is a string, but must be true or false"),
        (
            "provider_installation = {}",
            "1:1: the block \"provider_installation\" is written provider_installation { … }",
        ),
        ("provider_installation \"x\" {}", "is written provider_installation { … }"),
        ("provider_installation {\n  foo {}\n}", "2:3: unknown installation method"),
        ("provider_installation {\n  direct = {}\n}", "2:3: the block \"direct\" is written direct { … }"),
        (
            "provider_installation {\n filesystem_mirror {}\n}",
            "2:2: the block \"filesystem_mirror\" needs the argument \"path\"",
        ),
        ("provider_installation {\n network_mirror { url = \"\" }\n}", "needs the argument \"url\""),
        (
            "provider_installation {\n network_mirror { url = \"http://a/\" }\n}",
            "2:25: this is not the address",
        ),
        ("provider_installation {\n network_mirror { url = \"https:///\" }\n}", "is not the address"),
        (
            "provider_installation {\n direct {}\n dev_overrides {}\n}",
            "3:2: \"dev_overrides\" must come before",
        ),
        (
            "provider_installation { dev_overrides { \"a/b/c/d\" = \"x\" } }",
            "1:41: this is not a provider's address",
        ),
        (
            "provider_installation { dev_overrides { \"a/b\" = { c = 1 } } }",
            "1:49: \"dev_overrides\" is a block, but must be a string",
        ),
        (
            "provider_installation {\n direct { include = [\"a/b\", \"*/b\"] }\n}",
            "2:29: this is not a pattern",
        ),
        (
            "provider_installation {\n direct { include = \"a/b\" }\n}",
            "2:21: \"include\" is a string, but must be a list",
        ),
        (
            "provider_installation {\n direct { download_retry_count = -1 }\n}",
            "a whole number, and not a negative one",
        ),
        ("registry_protocols { retry_count = 010 }", "a whole number, and not a negative one"),
        ("registry_protocols { retry_count = 0x3 }", "a whole number, and not a negative one"),
        (
            "provider_installation {\n dev_overrides = {}\n}",
            "2:2: the block \"dev_overrides\" is written dev_overrides { \"ADDRESS\" = \"DIRECTORY\" }",
        ),
        (
            "provider_installation {\n oci_mirror { repository_template = \"r/x\" }\n}",
            "2:37: the template must contain ${hostname}",
        ),
        ("credentials \"a_b\" {}", "1:13: this is not a host"),
        ("credentials \"a\" \"b\" {}", "1:1: the block \"credentials\" is written credentials \"HOST\""),
        ("credentials \"h\" { token = [] }", "\"token\" is a list, but must be a string"),
        ("host \"h\" { services = 1 }", "\"services\" is a number, but must be a block"),
        ("host = {\n  h = 1\n}", "2:3: the block \"host\" is written host \"HOST\""),
        ("credentials_helper \"../x\" {}", "1:20: this is not the name of a credentials helper"),
        ("oci_credentials \"e.com/A\" {}", "1:17: this is not the name of a repository"),
        (
            "oci_credentials \"e.com\" { username = \"u\" }",
            "1:17: the block \"oci_credentials\" needs either",
        ),
        ("oci_credentials \"e.com/a\" { docker_credentials_helper = \"x\" }", "cannot name a repository"),
        ("oci_default_credentials { docker_credentials_helper = \"a/b\" }", "1:1: this is not the name"),
        (
            "oci_default_credentials {\n discover_ambient_credentials = false\n docker_style_config_files = []\n}",
            "has no meaning",
        ),
    ] {
        let fault = fault(text);
        assert!(fault.starts_with(".tofurc:") && fault.contains(expected), "{text}\n{fault}");
    }
    let home = Home::new();
    fs::create_dir(home.path(".tofurc")).expect("a directory");
    assert_eq!(home.error(), "the CLI configuration at .tofurc cannot be read");
}

#[test]
fn nothing_that_is_in_a_file_is_told() {
    let installation = |text: &str| format!("provider_installation {{\n{text}\n}}");
    for text in [
        installation("network_mirror { url = \"http://s3cret@m.example/\" }"),
        installation("dev_overrides { \"https://s3cret@e.com/a/b\" = \"x\" }"),
        installation("dev_overrides { \"a/b\" = { s3cret = 1 } }"),
        installation("direct { include = [\"s3cret/*/*/*\"] }"),
        installation("direct { include = [\"s3_cret/*/*\"] }"),
        installation("s3cret {}"),
        installation("oci_mirror { repository_template = \"s3cret:/${hostname}/${namespace}/${type}\" }"),
        installation("oci_mirror { repository_template = \"r/${s3cret}\" }"),
        "host \"https://s3cret\" {}".to_owned(),
        "credentials \"s3_cret\" {}".to_owned(),
        "credentials_helper \"../s3cret\" {}".to_owned(),
        "credentials_helper \"s3cret\" {}\ncredentials_helper \"b\" {}".to_owned(),
        "oci_credentials \"s3cret@r.example/a\" {}".to_owned(),
        "s3cret = 1\ns3cret = 2".to_owned(),
        "s3cret s3cret".to_owned(),
    ] {
        let fault = fault(&text);
        assert!(
            fault.starts_with(".tofurc:") && !fault.contains("s3cret") && !fault.contains("s3_cret"),
            "{fault}"
        );
    }
    let mirror = |url: &str| installation(&format!("network_mirror {{ url = \"{url}\" }}"));
    for text in ["s3cret = 1".to_owned(), mirror("https://s3cret@m.example/a")] {
        let [warning] = &Home::new().file(".tofurc", &text).warnings()[..] else { panic!("one: {text}") };
        assert!(warning.starts_with(".tofurc:") && !warning.contains("s3cret"), "{warning}");
    }
    let query = mirror("https://m.example/providers/?a=b");
    assert_eq!(Home::new().file(".tofurc", &query).warnings(), [""; 0]);
}

#[test]
fn who_asks_registries_of_containers_is_read() {
    let home = Home::new().file(
        ".tofurc",
        "oci_credentials \"e.com/a\" {\n username = \"u\"\n password = \"p\"\n}\noci_credentials \"f.com\" {\n access_token = \"a\"\n \
         refresh_token = \"r\"\n}\noci_credentials \"g.com\" { docker_credentials_helper = \"x\" }\noci_default_credentials {\n \
         docker_style_config_files = [\"d.json\", \"/e.json\"]\n docker_credentials_helper = \"y\"\n}",
    );
    let config = home.load();
    let secrets: Vec<&OciSecret> =
        config.oci_credentials.iter().map(|credentials| &credentials.secret).collect();
    let password = OciSecret::Password { username: "u".to_owned(), password: Secret::new("p".to_owned()) };
    let tokens = OciSecret::Tokens {
        access_token: Secret::new("a".to_owned()),
        refresh_token: Secret::new("r".to_owned()),
    };
    assert_eq!(secrets, [&password, &tokens, &OciSecret::Helper("x".to_owned())]);
    let files = config.oci_default_credentials.docker_style_config_files;
    assert_eq!(files, Some(vec![home.path("d.json"), Path::new("/e.json").to_owned()]));
    assert_eq!(config.oci_default_credentials.docker_credentials_helper.as_deref(), Some("y"));
}

#[test]
fn implied_mirrors_are_those_of_opentofu() {
    let home = Home::new().variable("XDG_DATA_HOME", "data");
    let directories = implied_mirrors(&home.environment(), Path::new("/w"));
    assert_eq!(directories[0], Path::new("/w/terraform.d/plugins"));
    assert_eq!(directories[1], home.path(".terraform.d/plugins"));
    assert_eq!(directories[2], home.path("data/opentofu/plugins"));
    if cfg!(target_os = "linux") {
        assert_eq!(directories[3], home.path("data/terraform/plugins"));
        assert_eq!(directories[4], Path::new("/usr/local/share/terraform/plugins"));
        assert_eq!(directories.len(), 6);
    }
}
