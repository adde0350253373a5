//! The package that a provider is shown as: its schema and its mappings.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::harness::{Json, Setup, json, on_both_protocols};

on_both_protocols! {
    async fn the_schema_has_what_the_provider_has(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.parameterized().await?;
        let schema = session.schema().await?;

        assert_eq!((&schema["name"], &schema["version"]), (&json!("sandbox"), &json!("0.0.0")));
        let resources: Vec<&String> = schema["resources"].as_object().expect("resources").keys().collect();
        assert_eq!(
            resources,
            [
                "sandbox:index/bucket:Bucket",
                "sandbox:index/chore:Chore",
                "sandbox:index/faulty:Faulty",
                "sandbox:index/firewall:Firewall",
                "sandbox:index/job:Job",
                "sandbox:index/note:Note",
                "sandbox:index/secret:Secret",
                "sandbox:index/server:Server",
                "sandbox:index/task:Task",
            ]
        );
        let note = &schema["resources"]["sandbox:index/note:Note"];
        assert_eq!(note["requiredInputs"], json!(["title"]));
        assert_eq!(note["inputProperties"]["labels"]["additionalProperties"]["type"], "string");
        assert_eq!(note["inputProperties"]["secretHint"]["secret"], true);
        assert_eq!(note["inputProperties"]["checksum"], Json::Null, "what is computed is no input");
        assert_eq!(note["properties"]["checksum"]["type"], "string");
        for function in ["getNote:getNote", "greet:greet", "sum:sum"] {
            assert!(schema["functions"][format!("sandbox:index/{function}")].is_object(), "{function} is missing");
        }
        assert_eq!(schema["config"]["variables"]["token"]["secret"], true);
    }

    async fn the_parameter_in_a_schema_chooses_the_same_provider_again(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.greeted().await?;
        session.parameterize(&["--include=sandbox_note", &host.provider()]).await?;
        let schema = session.schema().await?;
        let base = &schema["parameterization"]["baseProvider"];
        assert_eq!(*base, json!({"name": "terraform-provider", "version": "1.4.0"}));

        let parameter = schema["parameterization"]["parameter"].as_str().expect("a text");
        let value = String::from_utf8(STANDARD.decode(parameter).expect("base64")).expect("JSON");
        let again = host.greeted().await?;
        again.parameterize_by_value(&value).await?;
        assert_eq!(again.schema().await?, schema);
    }

    async fn converters_get_a_mapping(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.parameterized().await?;
        for key in ["terraform", "tf"] {
            assert_eq!(session.mappings(key).await?, ["sandbox"]);
            for provider in ["", "sandbox"] {
                let mapping = session.mapping(key, provider).await?;
                assert_eq!(mapping.provider, "sandbox");
                let data: Json = serde_json::from_slice(&mapping.data).expect("a mapping is JSON");
                assert_eq!(data["name"], "sandbox");
                assert_eq!(data["resources"]["sandbox_note"]["tok"], "sandbox:index/note:Note");
            }
        }
        let renamed = host.greeted().await?;
        renamed.parameterize(&[&host.provider(), "--provider-name=box"]).await?;
        assert_eq!(renamed.mappings("terraform").await?, ["sandbox", "box"]);
        for provider in ["sandbox", "box"] {
            let mapping = renamed.mapping("terraform", provider).await?;
            assert_eq!(mapping.provider, provider);
            let data: Json = serde_json::from_slice(&mapping.data).expect("a mapping is JSON");
            assert_eq!(data["resources"]["sandbox_note"]["tok"], "box:index/note:Note");
        }
        session.mapping("terraform", "another").await.expect_err("there is no other provider");
        assert_eq!(session.mapping("helm", "").await?.provider, "");
        assert_eq!(session.mappings("helm").await?, [""; 0]);
    }
}
