//! The log of what is said to and by a provider.

use crate::harness::host::mode;
use crate::harness::{Json, Setup, json, on_both_protocols, secret};

const VARIABLE: &str = "PULUMI_TF_DEBUG_GRPC";

on_both_protocols! {
    async fn every_call_is_in_the_log_and_no_value_is(protocol) {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("calls.json");
        let host = Setup::conformance(protocol).with(VARIABLE, file.to_str().expect("UTF-8")).start().await;
        let session = host.parameterized().await?;
        session.configure(&json!({"region": "north", "token": secret("sesame")})).await?;
        session.record().make(&json!({"name": "aladdin", "secret": secret("lamp")})).await?;
        session.invoke("conformance:index/getLookup:getLookup", &json!({"name": "nobody"})).await?.expect_err("nobody");

        let text = std::fs::read_to_string(&file).expect("the log");
        for value in ["sesame", "lamp", "north", "aladdin", "c2VzYW1l"] {
            assert!(!text.contains(value), "{value} is in the log: {text}");
        }
        let records: Vec<Json> = serde_json::from_str(&format!("[{}]", text.trim_end().trim_end_matches(','))).expect("JSON");
        let five = protocol.to_string() == "5";
        let names: Vec<_> = records.iter().filter_map(|record| record["name"].as_str()).collect();
        for wanted in [
            if five { "GetSchema" } else { "GetProviderSchema" },
            if five { "Configure" } else { "ConfigureProvider" },
            "PlanResourceChange",
            "ApplyResourceChange",
            "ReadDataSource",
        ] {
            assert!(names.contains(&wanted), "{wanted}: {names:?}");
        }
        let of = |name| records.iter().find(|record| record["name"] == name).expect("a record");
        let schema: Json = serde_json::from_str(of(names[0])["response"].as_str().expect("text")).expect("JSON");
let attributes = schema["resource_schemas"]["conformance_record"]["block"]["attributes"].as_array().expect("a list");
        assert!(attributes.iter().any(|attribute| attribute["name"] == "title"), "schemas are there in full");
        let read = of("ReadDataSource");
        let request = read["request"].as_str().expect("text");
        assert!(request.starts_with("type_name:\"conformance_lookup\" config:{msgpack:\"<"), "{request}");
        let response: Json = serde_json::from_str(read["response"].as_str().expect("text")).expect("JSON");
        assert_eq!(response["diagnostics"][0]["attribute"]["steps"][0]["attribute_name"], "name");
        assert_eq!(mode(&file), 0o600);
    }

    async fn a_log_that_cannot_be_written_stops_nothing(protocol) {
        let setup = Setup::sandbox(protocol).with(VARIABLE, "/dev/full");
        let (host, session) = setup.session().await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        host.engine.line("why there is no log", |line| line.message.contains(VARIABLE)).await;
    }
}
