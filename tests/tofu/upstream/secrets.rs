//! Reports about secrets.

use serde_json::json;

use super::{Report, report};
use crate::features::life::{Life, Side};
use crate::features::outcome::{Fact, Outcome};
use crate::features::program::{hidden, program};
use crate::features::secrets::kept;
use crate::kinds::Provider;

pub(super) const REPORTS: &[Report] = &[
    report!(
        "bridge#1051, pulumi-aws#1449",
        "sensitive results of data sources are in the clear",
        "a sensitive result of a data source"
    ),
    report!(
        "bridge#1028 closed",
        "what a program gives as a secret is in the clear in outputs",
        "a secret that a program gives to a plain attribute's list"
    ),
    report!(
        "pulumi-aws#2820",
        "a secret of the provider's configuration is in the clear in what repeats it",
        configured_secret
    ),
    report!(
        "bridge#3306 closed",
        "a provider refuses a write-only argument, because the client does not announce them",
        "a write-only attribute"
    ),
    report!(
        "bridge#2938 closed, bridge#3181 closed",
        "write-only arguments are stored in the clear",
        "a write-only attribute that the schema does not call sensitive"
    ),
    report!(
        "bridge#3231, bridge#3465 closed, pulumi-aws#4831",
        "ephemeral resources cannot be used",
        "an ephemeral resource"
    ),
];

async fn configured_secret(life: &mut Life) -> Outcome {
    life.configuration = json!({"region": hidden("hidden-region")});
    if let Err(text) = life.start(Provider::Conformance, &[]).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    // The data source tells the configured region.
    let record = json!({"name": life.name});
    let result = if life.side == Side::OpenTofu {
        let of = format!("conformance_record.{}", life.name);
        life.tofu_outputs(&json!({
            "resource": {"conformance_record": {&life.name: record}},
            "data": {"conformance_lookup": {"x": {"name": life.name, "depends_on": [of]}}},
            "output": {"region": {"value": "${data.conformance_lookup.x.region}"}},
        }))
    } else {
        life.up(&program("conformance_record", record.clone())).await;
        life.invoke("conformance:index/getLookup:getLookup", &record, false).await
    };
    match result {
        Ok(result) => {
            let (grade, fact) = kept(&result, &|_, json| *json == "hidden-region").outcome();
            Outcome::new(grade, [fact])
        }
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
    }
}
