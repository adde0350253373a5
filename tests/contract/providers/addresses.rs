//! Providers that are chosen by their address and version: out of the cache, or because they run already.

use std::path::{MAIN_SEPARATOR, Path};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use isthmus_common::Platform;

use crate::harness::engine::{Line, Severity};
use crate::harness::host::place;
use crate::harness::scripted::Ancient;
use crate::harness::{Code, Json, Outcome, Protocol, Session, Setup, Status, json, native, on_one_protocol};

const GO_BRIDGE: &str = "PULUMI_BRIDGE_REATTACH_PROVIDERS";
const TERRAFORM: &str = "TF_REATTACH_PROVIDERS";

on_one_protocol! {
    async fn the_newest_cached_version_that_will_do_is_chosen(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        for version in ["1.2.0", "1.10.0", "2.0.0-rc1", "3.0.0"] {
            host.place("registry.opentofu.org/acme/sandbox", version);
        }
        let session = host.greeted().await?;
        let answer = session.parameterize(&["Acme/Sandbox", "~> 1.2"]).await?;
        assert_eq!((answer.name.as_str(), answer.version.as_str()), ("sandbox", "1.10.0"));
        assert_eq!(session.plugin_version().await?, "1.10.0");

        let schema = session.schema().await?;
        assert_eq!((&schema["version"], &schema["publisher"]), (&json!("1.10.0"), &json!("acme")));
        assert_eq!(
            parameter(&session).await?,
            json!({"remote": {"url": "registry.opentofu.org/acme/sandbox", "version": "1.10.0"}})
        );
        session.configure(&json!({})).await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        let shown = host.engine.shown();
        let [Line { severity: Severity::Warning, message, .. }] = &shown[..] else { panic!("{shown:?}") };
        assert!(message.starts_with("acme/sandbox 1.10.0 is unverified: it was not installed by isthmus"), "{message}");
    }

    async fn without_a_constraint_the_newest_release_is_chosen(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        for version in ["1.2.0", "1.10.0", "2.0.0-rc1"] {
            host.place("registry.opentofu.org/hashicorp/sandbox", version);
        }
        // A bare name is one of HashiCorp's, as in Terraform.
        let session = host.greeted().await?;
        assert_eq!(session.parameterize(&["sandbox"]).await?.version, "1.10.0");
        let url = &parameter(&session).await?["remote"]["url"];
        assert_eq!(url, "registry.opentofu.org/hashicorp/sandbox");
        // Prereleases are for those who name them.
        let session = host.greeted().await?;
        assert_eq!(session.parameterize(&["sandbox", "2.0.0-rc1"]).await?.version, "2.0.0-rc1");
    }

    async fn the_value_in_an_sdk_chooses_exactly_its_version(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        for version in ["1.2.0", "1.2.1"] {
            host.place("example.com:8443/acme/sandbox", version);
        }
        let remote = json!({"url": "example.com:8443/acme/sandbox", "version": "1.2.0"});
        let value = json!({"remote": remote, "includes": ["sandbox_note"], "providerName": "box"});
        let session = host.greeted().await?;
        let answer = session.parameterize_by_value(&value.to_string()).await?;
        assert_eq!((answer.name.as_str(), answer.version.as_str()), ("box", "1.2.0"));
        assert_eq!(parameter(&session).await?, value);

        let other = value.to_string().replace("1.2.0", "1.2.2");
        let status = host.greeted().await?.parameterize_by_value(&other).await.expect_err("it is not there");
        assert_says(&status, &["satisfies \"1.2.2\"", "only 1.2.1, 1.2.0", &format!("1.2.2{MAIN_SEPARATOR}{}", Platform::CURRENT)]);
    }

    async fn asking_again_for_what_comes_to_the_same_is_answered(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        for version in ["1.2.0", "1.3.0"] {
            host.place("registry.opentofu.org/acme/sandbox", version);
        }
        let session = host.greeted().await?;
        session.parameterize(&["acme/sandbox", "~> 1.2"]).await?;
        session.parameterize(&["acme/sandbox"]).await?;
        session.parameterize(&["registry.opentofu.org/Acme/sandbox", "1.3"]).await?;
        let value = json!({"remote": {"url": "registry.opentofu.org/acme/sandbox", "version": "1.3.0"}});
        session.parameterize_by_value(&value.to_string()).await?;

        let provider = host.provider();
        let others: [&[&str]; 4] =
            [&["acme/sandbox", "1.2.0"], &["acme/sandbox", "9"], &["other/thing"], &[&provider]];
        for words in others {
            let status = session.parameterize(words).await.expect_err("it has one already");
            assert_eq!(status.code(), Code::InvalidArgument, "{words:?}");
            assert_eq!(status.message(), "provider is already parameterized to (sandbox, 1.3.0)", "{words:?}");
        }
        assert_eq!(host.provider_processes().len(), 1);
    }

    async fn what_is_missing_from_the_cache_can_be_put_there(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.greeted().await?;
        let status = session.parameterize(&["acme/sandbox", "~> 1.2"]).await.expect_err("it is not there");
        assert_eq!(status.code(), Code::FailedPrecondition);
        let directory = host.directory().join("pulumi/dynamic_tf_plugins/registry.opentofu.org/acme/sandbox");
        let expected = native(directory.join("VERSION").join(Platform::CURRENT.to_string()));
        let expected = format!("unpack the provider into {}", expected.display());
        assert_says(&status, &[
            "the cache has no acme/sandbox that satisfies \"~> 1.2\"",
            &expected,
            "or name its file: `pulumi package add terraform-provider ./terraform-provider-sandbox`",
        ]);

        std::fs::create_dir_all(&directory).expect("a directory in a directory of this test's own");
        let archive = format!("terraform-provider-sandbox_1.2.3_{}.zip", Platform::CURRENT);
        std::fs::write(directory.join(&archive), "PK").expect("a file in a new directory");
        host.place("registry.opentofu.org/acme/sandbox", "1.1.0");
        let status = session.parameterize(&["acme/sandbox", "~> 1.2"]).await.expect_err("it is packed");
        assert_says(&status, &["only 1.1.0", &format!("{archive}: it is still packed; unpack it into "), &expected]);

        host.place("registry.opentofu.org/acme/sandbox", "1.2.3");
        assert_eq!(session.parameterize(&["acme/sandbox", "~> 1.2"]).await?.version, "1.2.3");
    }

    async fn the_cache_may_be_elsewhere(protocol) {
        let elsewhere = tempfile::tempdir().expect("a directory");
        let path = elsewhere.path().to_str().expect("a path in UTF-8");
        let host = Setup::sandbox(protocol).with("PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR", path).start().await;
        // Not this one.
        host.place("registry.opentofu.org/acme/sandbox", "2.0.0");
        place(Path::new(&host.provider()), elsewhere.path(), "registry.opentofu.org/acme/sandbox", "1.2.3");
        let session = host.greeted().await?;
        assert_eq!(session.parameterize(&["acme/sandbox"]).await?.version, "1.2.3");
    }

    async fn a_provider_that_runs_already_is_joined_whatever_version_is_wanted(protocol) {
        let ancient = Ancient::start(protocol).await;
        for (variable, key) in [
            (GO_BRIDGE, "ancient"),
            (GO_BRIDGE, "Registry.OpenTofu.org/HashiCorp/Ancient"),
            (TERRAFORM, "ancient"),
            (TERRAFORM, "registry.terraform.io/hashicorp/ancient"),
        ] {
            let reattach = ancient.reattach_as(&[key, "acme/other"]);
            let host = Setup::sandbox(protocol).with(variable, &reattach).start().await;
            let session = host.greeted().await?;
            // Not even read is what is said about versions.
            let answer = session.parameterize(&["hashicorp/ancient", "no version"]).await?;
            assert_eq!((answer.name.as_str(), answer.version.as_str()), ("ancient", "0.0.0"), "{variable} {key}");
            let value = parameter(&session).await?;
            let remote = json!({"url": "registry.opentofu.org/hashicorp/ancient", "version": "0.0.0"});
            assert_eq!(value, json!({"remote": remote}));

            let again = host.greeted().await?;
            again.parameterize_by_value(&value.to_string()).await?;
            again.configure(&json!({})).await?;
            assert!(again.schema().await?["resources"]["ancient:index/thing:Thing"].is_object());
        }
    }

    async fn a_provider_of_another_address_is_not_joined(protocol) {
        let ancient = Ancient::start(protocol).await;
        let reattach = ancient.reattach_as(&["example.com/hashicorp/ancient", "acme/ancient"]);
        for variable in [GO_BRIDGE, TERRAFORM] {
            let host = Setup::sandbox(protocol).with(variable, &reattach).start().await;
            let session = host.greeted().await?;
            let status = session.parameterize(&["hashicorp/ancient"]).await.expect_err("it is another one");
            assert_says(&status, &["the cache has no hashicorp/ancient"]);
            session.parameterize(&["acme/ancient"]).await?;
        }
        // The Go bridge's variable is not about providers in files.
        let host = Setup::sandbox(protocol).with(GO_BRIDGE, &ancient.reattach()).start().await;
        let status = host.greeted().await?.parameterize(&["./terraform-provider-ancient"]).await;
        assert_says(&status.expect_err("there is no such file"), &["does not exist"]);
    }

    async fn damaged_variables_are_named(protocol) {
        let ancient = Ancient::start(protocol).await;
        let bad_key = ancient.reattach_as(&["acme/ancient", "bad key!"]);
        let twice = ancient.reattach_as(&["ancient", "hashicorp/ancient"]);
        let bad_entry = ancient.reattach().replace("grpc", "netrpc");
        let no_protocol = ancient.reattach().replace("ProtocolVersion\":", "ProtocolVersion\":1");
        let cases: [(&str, &str, &[&str]); 7] = [
            (GO_BRIDGE, "not json", &["cannot be read", "not a JSON object"]),
            (GO_BRIDGE, &bad_key, &["the key \"bad key!\"", "letters, digits and hyphens"]),
            (GO_BRIDGE, &twice, &["registry.opentofu.org/hashicorp/ancient twice"]),
            (GO_BRIDGE, &bad_entry, &["the entry for ancient", "\"netrpc\""]),
            (GO_BRIDGE, &no_protocol, &["the entry for ancient", "isthmus speaks versions 5 and 6"]),
            (TERRAFORM, "[]", &["cannot be read", "not a JSON object"]),
            (TERRAFORM, &bad_entry, &["the entry for ancient", "\"netrpc\""]),
        ];
        for (variable, value, wanted) in cases {
            let host = Setup::sandbox(protocol).with(variable, value).start().await;
            let status = host.greeted().await?.parameterize(&["hashicorp/ancient"]).await.expect_err(value);
            assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
            assert_says(&status, &[&[variable], wanted].concat());
        }
    }

    async fn a_provider_without_a_schema_of_its_configuration_is_refused_by_name(protocol) {
        let ancient = Ancient::without_configuration(protocol).await;
        let host = Setup::sandbox(protocol).with(TERRAFORM, &ancient.reattach()).start().await;
        let session = host.greeted().await?;
        let status = session.parameterize(&["./terraform-provider-ancient"]).await.expect_err("it has none");
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert_says(&status, &["the provider ancient cannot be used", "provider configuration"]);
    }
}

/// What an SDK of the Go bridge holds for version 3.3.0 of the random provider.
const RANDOM_3_3_0: &str = "eyJyZW1vdGUiOnsidXJsIjoicmVnaXN0cnkub3BlbnRvZnUub3JnL2hhc2hpY29ycC9yYW5kb20iLCJ2ZXJzaW9uIjoiMy4zLjAifX0=";

#[tokio::test]
async fn an_sdk_of_the_go_bridge_goes_on() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).start().await;
    let cache = host.directory().join("pulumi/dynamic_tf_plugins");
    place(
        &fixtures::tools::tool("terraform-provider-random"),
        &cache,
        "registry.opentofu.org/hashicorp/random",
        "3.3.0",
    );
    let session = host.greeted().await?;
    let value = String::from_utf8(STANDARD.decode(RANDOM_3_3_0).expect("base64")).expect("JSON");
    let answer = session.parameterize_by_value(&value).await?;
    assert_eq!((answer.name.as_str(), answer.version.as_str()), ("random", "3.3.0"));
    assert_eq!(session.schema().await?["parameterization"]["parameter"], RANDOM_3_3_0);

    session.configure(&json!({})).await?;
    let pet = session.resource("random:index/pet:Pet", "pet").make(&json!({"length": 2})).await?;
    assert!(pet.id.contains('-'), "{pet:?}");
    Ok(())
}

#[tokio::test]
async fn names_and_constraints_that_make_no_sense_are_refused() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).start().await;
    let cases: [(&[&str], &[&str]); 6] = [
        (&["a.b/c"], &["invalid provider name", "\"a.b/c\"", "contains a dot"]),
        (&["hashicorp/terraform-provider-random"], &["did you mean \"hashicorp/random\", or a file"]),
        (&["https://registry.opentofu.org/hashicorp/random"], &["leave out the scheme"]),
        (&["a/b", "=> 1.0"], &["could not parse version constraint \"=> 1.0\"", "did you mean \">=\"?"]),
        (&["a/b", "v1.0.0"], &["could not parse version constraint \"v1.0.0\"", "without a \"v\""]),
        (&["a/b", "latest"], &["could not parse version constraint \"latest\""]),
    ];
    for (words, wanted) in cases {
        let status = host.greeted().await?.parameterize(words).await.expect_err("no sense");
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert_says(&status, wanted);
    }
    Ok(())
}

/// What the schema gives to SDKs.
async fn parameter(session: &Session) -> Result<Json, Status> {
    let schema = session.schema().await?;
    let parameter = schema["parameterization"]["parameter"].as_str().expect("a text").to_owned();
    let parameter = STANDARD.decode(parameter).expect("base64");
    Ok(serde_json::from_slice(&parameter).expect("JSON"))
}

fn assert_says(status: &Status, wanted: &[&str]) {
    for wanted in wanted {
        assert!(status.message().contains(wanted), "{wanted:?} is not in: {}", status.message());
    }
}
