//! Secrets of the provider's configuration, in what repeats them.

use crate::harness::{Json, Protocol, Setup, Status, json, on_one_protocol, secret};

/// What a data source, and a record's title, repeat of the configured region.
async fn repeated(protocol: Protocol, region: Json) -> Result<[Json; 2], Status> {
    let host = Setup::conformance(protocol).start().await;
    let session = host.parameterized().await?;
    session.configure(&json!({"region": region})).await?;
    let record = session.record().make(&json!({"name": "first", "title": "in hidden-region"})).await?;
    let found = session.invoke("conformance:index/getLookup:getLookup", &json!({"name": "first"})).await?;
    Ok([found.expect("a record")["region"].clone(), record.outputs["title"].clone()])
}

on_one_protocol! {
    async fn what_repeats_a_secret_of_the_configuration_is_secret(protocol) {
        let repeated = repeated(protocol, secret("hidden-region")).await?;
        assert_eq!(repeated, [secret("hidden-region"), secret("in hidden-region")]);
    }

    async fn what_repeats_an_open_configuration_is_open(protocol) {
        let repeated = repeated(protocol, json!("hidden-region")).await?;
        assert_eq!(repeated, [json!("hidden-region"), json!("in hidden-region")]);
    }
}
