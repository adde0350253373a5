//! Names as the Go bridge itself gives them.
//!
//! `testdata/go_bridge_names.jsonl` was printed by version 3.136 of the Go bridge, one provider a line: some made to show a
//! rule each, the others put together from the words that real providers use. Providers that it refuses are not among
//! them; nor are those of which it calls two things alike.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::properties::{Nameable, ResourceNaming, resource_names};
use super::tokens::{Tokens, data_source_tokens, function_tokens, resource_prefix, resource_tokens};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Provider {
    package: String,
    prefix: String,
    resources: BTreeMap<String, Resource>,
    /// Terraform's names and the tokens.
    data_sources: BTreeMap<String, String>,
    functions: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Resource {
    token: String,
    /// Terraform's name, and then what the attribute is (`list:oc`: a list that is optional and computed) and Pulumi's name.
    attributes: BTreeMap<String, (String, String)>,
}

fn providers() -> Vec<Provider> {
    let lines = include_str!("testdata/go_bridge_names.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn names<T>(things: &BTreeMap<String, T>) -> Vec<&str> {
    things.keys().map(String::as_str).collect()
}

#[test]
fn tokens_are_those_of_the_go_bridge() {
    let mut compared = 0;
    for provider in providers() {
        let Provider { package, prefix, resources, data_sources, functions } = provider;
        let all = names(&resources);
        assert_eq!(resource_prefix(&all, &package), prefix, "{all:?}");
        let of_resources = resource_tokens(&package, &prefix, &all, &all);
        let of_data_sources = data_source_tokens(&package, &prefix, &names(&data_sources), &of_resources);
        let of_functions = function_tokens(&package, &names(&functions), &[&of_resources, &of_data_sources]);
        let expected = resources.into_iter().map(|(name, resource)| (name, resource.token));
        for (tokens, expected) in [
            (of_resources, expected.collect::<BTreeMap<_, _>>()),
            (of_data_sources, data_sources),
            (of_functions, functions),
        ] {
            compared += expected.len();
            assert_eq!(printed(&tokens), expected, "package {package}");
        }
    }
    assert!(compared > 300, "only {compared} tokens were compared");
}

fn printed(tokens: &Tokens) -> BTreeMap<String, String> {
    tokens.iter().map(|(terraform, token)| (terraform.to_string(), token.to_owned())).collect()
}

#[test]
fn property_names_are_those_of_the_go_bridge() {
    let mut compared = 0;
    for Provider { package, prefix, resources, .. } in providers() {
        for (terraform_type, Resource { attributes, .. }) in resources {
            let fields: Vec<_> = attributes
                .iter()
                .map(|(terraform, (kind, _))| Nameable {
                    terraform,
                    several: kind.starts_with("list") || kind.starts_with("set"),
                })
                .collect();
            let id_stays = attributes.get("id").is_some_and(|(kind, _)| kind == "string:c");
            let naming = ResourceNaming {
                package: &package,
                prefix: &prefix,
                terraform_type: &terraform_type,
                id_stays,
            };
            let expected: Vec<_> = attributes.values().map(|(_, name)| name.as_str()).collect();
            compared += expected.len();
            assert_eq!(resource_names(&fields, &naming), expected, "{terraform_type}: {attributes:?}");
        }
    }
    assert!(compared > 1000, "only {compared} names were compared");
}
