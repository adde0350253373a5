//! What a package is: its schema, its mappings and its identity, asked of both bridges in every way to choose it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use isthmus_proto::pulumirpc::parameterize_request::{Parameters, ParametersArgs, ParametersValue};
use isthmus_proto::pulumirpc::{
    GetMappingRequest, GetMappingsRequest, GetSchemaRequest, ParameterizeRequest,
};
use serde_json::Value as Json;

use crate::bridge::{Pair, Variables};
use crate::call::Call;
use crate::questions::Questions;
use crate::tools;
use crate::tools::Cache;

/// A way to choose a package.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// What the provider is told by its environment.
    pub(crate) variables: Variables,
    /// Words of a command line; `{random}` is the path of that provider.
    pub(crate) words: Vec<String>,
}

/// All that are compared.
pub(crate) fn choices() -> Vec<Choice> {
    let choice = |words: &[&str], variables: &[(&str, &str)]| Choice {
        variables: variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
    };
    let mut choices = vec![
        choice(&["{random}", "--include=random_pet,random_password"], &[]),
        choice(&["{random}", "--exclude", "random_pet", "--exclude", "random_uuid,random_nothing"], &[]),
        choice(&["--provider-name=dice", "{random}"], &[]),
        choice(&["{tls}", "--include=tls_private_key", "--exclude=tls_certificate"], &[]),
        choice(&["{tls}", "--provider-name", "transport-layer"], &[]),
        choice(&["{time}", "--provider-name=clock", "--exclude=time_offset"], &[]),
        choice(&["{local}", "--include=local_file,direxists"], &[]),
    ];
    choices.extend(["{random}", "{tls}", "{time}", "{local}"].map(|provider| choice(&[provider], &[])));
    for protocol in ["5", "6"] {
        let variables = &[("CONFORMANCE_PROTOCOL", protocol)];
        choices.push(choice(&["{conformance}"], variables));
        choices.push(choice(&["{conformance}", "--provider-name=con-form"], variables));
        choices.push(choice(
            &["{conformance}", "--exclude=conformance_legacy,shout", "--provider-name", "part"],
            variables,
        ));
    }
    // What the Go bridge stumbles over, or the engine over what it makes of it.
    for variant in [
        "get_thing",
        "conformance_clash_rule",
        "prefixes",
        "conformance_tuples",
        "tuple_result",
        "grammar",
        "conformance_reserved_urn",
        "conformance_reserved_pulumi",
        "conformance_reserved_id",
        "conformance_reserved_inner",
        "conformance_reserved",
        "conformance_faulty_type",
        "conformance_faulty_nesting",
        "conformance_faulty_flagless",
        "conformance_faulty_twice",
        "conformance_faulty_both",
        "conformance_faulty_nameless",
        "conformance_faulty_limits",
        "conformance_faultless",
    ] {
        choices.push(choice(&["{conformance}"], &[("CONFORMANCE_VARIANTS", variant)]));
    }
    // Of registries, with what lies in the cache.
    choices.extend([
        choice(&["hashicorp/random"], &[]),
        choice(&["hashicorp/random", "~> 3.8.0", "--exclude=random_pet"], &[]),
        choice(&["Registry.OpenTofu.org/HashiCorp/Random", "=3.9.0", "--provider-name=dice"], &[]),
        choice(&["hashicorp/time", "<1,>=0.13"], &[]),
        choice(&["registry.terraform.io/hashicorp/tls", "4.1.0", "--include=tls_private_key"], &[]),
        choice(&["pulumi/local", "1.0.0-rc.1"], &[]),
        choice(&["registry.example.com/isthmus/conformance"], &[]),
        choice(&["registry.example.com/isthmus/conformance", "> 2", "--provider-name=con-form"], &[]),
    ]);
    choices
}

/// Asks about the plugin itself, before anything was chosen.
pub(crate) async fn unparameterized(cache: &Cache, questions: &Questions) {
    let pair = Pair::start(cache, &Variables::new()).await;
    let what = "before Parameterize";
    let (ours, theirs) = pair.handshake().await;
    questions.compare(what, "Handshake", &ours, &theirs);
    identity(&pair, what, questions).await;
}

/// Chooses a package by words, and again by the value that its schema holds, and asks about it both times.
pub(crate) async fn package(cache: &Cache, choice: Choice, questions: &Questions) {
    let Choice { variables, words } = choice;
    let what = format!("{} {variables:?}", words.join(" "));
    let args = words.iter().map(|word| with_paths(word)).collect();
    let pair = Pair::start(cache, &variables).await;
    if !parameterize(&pair, &what, Parameters::Args(ParametersArgs { args }), questions).await {
        return;
    }
    let Some(schema) = identity(&pair, &what, questions).await else { return };
    drop(pair);

    let parameterization = &schema["parameterization"];
    let value = parameterization["parameter"].as_str().unwrap_or_else(|| panic!("{what}: no parameter"));
    let value = STANDARD.decode(value).unwrap_or_else(|error| panic!("{what}: {error}"));
    let value = ParametersValue {
        name: schema["name"].as_str().unwrap_or_default().to_owned(),
        version: schema["version"].as_str().unwrap_or_default().to_owned(),
        value: value.into(),
    };
    let what = format!("{what}, as an SDK remembers it");
    let pair = Pair::start(cache, &variables).await;
    if parameterize(&pair, &what, Parameters::Value(value), questions).await {
        identity(&pair, &what, questions).await;
    }
}

/// `{random}` as the path of that provider.
pub(crate) fn with_paths(word: &str) -> String {
    ["random", "tls", "time", "local", "conformance"].iter().fold(word.to_owned(), |word, provider| {
        word.replace(&format!("{{{provider}}}"), &tools::provider(provider))
    })
}

/// Whether both have chosen.
async fn parameterize(pair: &Pair, what: &str, parameters: Parameters, questions: &Questions) -> bool {
    let request = ParameterizeRequest { parameters: Some(parameters) };
    questions.ask_both(pair, what, Call::Parameterize(request)).await.is_some()
}

/// Everything that says what the package is. Returns our schema, if there are two.
async fn identity(pair: &Pair, what: &str, questions: &Questions) -> Option<Json> {
    questions.ask(pair, what, Call::GetPluginInfo).await;
    // Converters ask for nothing else, generators for the schema alone; either must be answered alone.
    let request = GetMappingRequest { key: "terraform".to_owned(), provider: String::new() };
    questions.ask_both(pair, &format!("{what}, before GetSchema"), Call::GetMapping(request)).await?;
    let schema = questions.ask_both(pair, what, Call::GetSchema(GetSchemaRequest::default())).await?;
    let name = schema["name"].as_str().unwrap_or_default().to_owned();
    let mut providers = vec![String::new(), "another".to_owned(), name];
    for key in ["terraform", "tf", "pulumi"] {
        let what = format!("{what}, key {key}");
        let answer =
            questions.ask(pair, &what, Call::GetMappings(GetMappingsRequest { key: key.to_owned() })).await;
        providers.extend(answer["providers"][0].as_str().map(str::to_owned));
        providers.sort();
        providers.dedup();
    }
    for (key, provider) in providers
        .iter()
        .map(|provider| ("terraform", provider))
        .chain([("tf", &providers[0]), ("pulumi", &providers[0])])
    {
        let what = format!("{what}, key {key}, provider {provider:?}");
        let request = GetMappingRequest { key: key.to_owned(), provider: provider.clone() };
        questions.ask(pair, &what, Call::GetMapping(request)).await;
    }
    Some(schema)
}
