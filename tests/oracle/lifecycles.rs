//! Lifecycles of resources (`inputs/lifecycles.json`): Create, Diff, Update, Read and Delete, with their previews, on
//! one stored state.
//!
//! What a bridge answers about a resource depends on the state that it is given. So both are given the same at every
//! step: each lifecycle is gone through twice, once on the state that isthmus answers with and once on that of the Go
//! bridge. This also shows that either reads what the other has stored. Each has objects of its own, which are alike.

use std::collections::BTreeMap;

use isthmus_proto::pulumirpc::parameterize_request::{Parameters, ParametersArgs};
use isthmus_proto::pulumirpc::{
    CreateRequest, DeleteRequest, DiffRequest, ParameterizeRequest, ReadRequest, UpdateRequest,
};
use isthmus_test_engine::{SIGNATURE, bag};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::bridge::Pair;
use crate::call::Call;
use crate::compare::Subject;
use crate::questions::Questions;
use crate::rows::configuration;
use crate::tools::{self, Cache};

/// How many lifecycles one pair of processes goes through: a few, so that several pairs share the work.
const AT_ONE_SITTING: usize = 12;

/// The Go bridge's setting for detailed differences.
const DETAILED: &str = "PULUMI_TF_BRIDGE_ACCURATE_PF_BRIDGE_PREVIEW";

/// The lifecycle of one resource: a preview of Create, Create, a Diff and a Read of what did not change, the steps, Delete.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Lifecycle {
    /// The provider's type.
    provider: String,
    /// The protocol that the conformance provider speaks; 6 if it is not said.
    #[serde(default = "six")]
    protocol: u8,
    /// The resource's token.
    token: String,
    /// What it is created with.
    inputs: Json,
    /// Outputs that the provider draws at random: compared by kind and length.
    #[serde(default)]
    drawn: Vec<String>,
    /// Properties that are sets, at any depth: their order is a difference of its own.
    #[serde(default)]
    sets: Vec<String>,
    #[serde(default)]
    steps: Vec<Step>,
    /// What the lifecycle is for.
    why: String,
}

/// What happens next.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Step {
    /// Diff, and the preview that an engine asks for next.
    Preview(Change),
    /// The same, and Update.
    Update(Change),
    /// A Read of what is stored.
    Refresh(String),
    /// A Read by an id.
    Import(String),
    /// A file of the provider's objects gets these members; with none, it is removed.
    Object(String, Option<Json>),
}

/// Other inputs.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Change {
    news: Json,
    #[serde(default)]
    ignore_changes: Vec<String>,
    why: String,
}

/// Whose state both bridges are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Keeper {
    Isthmus,
    GoBridge,
}

/// Lifecycles that one pair of processes goes through.
#[derive(Debug)]
pub(crate) struct Sitting {
    provider: String,
    protocol: u8,
    keeper: Keeper,
    lifecycles: Vec<Lifecycle>,
}

/// What an engine stores.
#[derive(Clone, Debug)]
struct Stored {
    id: String,
    inputs: Json,
    outputs: Json,
}

const fn six() -> u8 {
    6
}

/// The lifecycles by the processes that go through them.
pub(crate) fn sittings(lifecycles: Vec<Lifecycle>) -> Vec<Sitting> {
    let mut by_provider = BTreeMap::<_, Vec<Lifecycle>>::new();
    for lifecycle in lifecycles {
        by_provider.entry((lifecycle.provider.clone(), lifecycle.protocol)).or_default().push(lifecycle);
    }
    let mut sittings = Vec::new();
    for ((provider, protocol), lifecycles) in by_provider {
        for lifecycles in lifecycles.chunks(AT_ONE_SITTING) {
            for keeper in [Keeper::Isthmus, Keeper::GoBridge] {
                let (provider, lifecycles) = (provider.clone(), lifecycles.to_vec());
                sittings.push(Sitting { provider, protocol, keeper, lifecycles });
            }
        }
    }
    sittings
}

impl Lifecycle {
    /// How many questions of a table it is, each of which is several calls.
    pub(crate) const fn len(&self) -> usize {
        1 + self.steps.len()
    }
}

impl Sitting {
    /// Goes through all.
    pub(crate) async fn ask(self, cache: &Cache, questions: &Questions) {
        let Self { provider, protocol, keeper, lifecycles } = self;
        let mut variables = vec![("CONFORMANCE_PROTOCOL".to_owned(), protocol.to_string())];
        if keeper == Keeper::GoBridge {
            variables.push((DETAILED.to_owned(), "true".to_owned()));
        }
        let pair = Pair::start(cache, &variables).await;
        let what = format!("{provider} on protocol {protocol}, state of {keeper:?}");
        pair.handshake().await;
        let parameters = Parameters::Args(ParametersArgs { args: vec![tools::provider(&provider)] });
        let request = ParameterizeRequest { parameters: Some(parameters) };
        pair.ask(Call::Parameterize(request)).await;
        pair.ask(Call::Configure(configuration(&provider, &json!({})))).await;
        for (number, lifecycle) in lifecycles.iter().enumerate() {
            pair.forget_objects();
            // Isthmus tells a warning once a resource.
            let name = format!("thing-{number}");
            let what = format!("{what}: {}", lifecycle.why);
            Run { lifecycle, name, keeper, pair: &pair, questions, what }.go().await;
        }
    }
}

/// A lifecycle on its way.
struct Run<'a> {
    lifecycle: &'a Lifecycle,
    /// The resource's.
    name: String,
    keeper: Keeper,
    pair: &'a Pair,
    questions: &'a Questions,
    what: String,
}

impl Run<'_> {
    async fn go(&self) {
        let inputs = &self.lifecycle.inputs;
        self.ask("a preview", Call::Create(self.create(inputs, true))).await;
        let created = self.ask("as it is created", Call::Create(self.create(inputs, false))).await;
        let Some(mut stored) = stored(&created, "", inputs) else { return };
        self.preview(
            &stored,
            &Change { news: inputs.clone(), ignore_changes: Vec::new(), why: "nothing changes".to_owned() },
        )
        .await;
        self.ask("nothing changed", Call::Read(self.refresh(&stored))).await;
        for step in &self.lifecycle.steps {
            match step {
                Step::Preview(change) => {
                    self.preview(&stored, change).await;
                }
                Step::Update(change) => {
                    if self.preview(&stored, change).await {
                        let updated = Call::Update(self.update(&stored, change, false));
                        let updated = self.ask(&change.why, updated).await;
                        stored = self::stored(&updated, &stored.id, &change.news).unwrap_or(stored);
                    }
                }
                Step::Refresh(why) => {
                    let read = self.ask(why, Call::Read(self.refresh(&stored))).await;
                    let inputs = read["inputs"].clone();
                    match self::stored(&read, &stored.id, &inputs) {
                        Some(read) => stored = read,
                        None => return,
                    }
                }
                Step::Import(id) => {
                    let request = ReadRequest {
                        properties: None,
                        inputs: None,
                        id: id.clone(),
                        ..self.refresh(&stored)
                    };
                    self.ask(&format!("import of {id}"), Call::Read(request)).await;
                }
                Step::Object(path, members) => self.pair.change_object(path, members.as_ref()),
            }
        }
        self.ask("as it is deleted", Call::Delete(self.delete(&stored))).await;
    }

    /// Diff, and the preview of what it decides. Returns whether that is an update.
    async fn preview(&self, stored: &Stored, change: &Change) -> bool {
        let request = DiffRequest {
            id: stored.id.clone(),
            urn: self.urn(),
            olds: Some(bag(&stored.outputs)),
            old_inputs: Some(bag(&stored.inputs)),
            news: Some(bag(&change.news)),
            ignore_changes: change.ignore_changes.clone(),
            name: self.name.clone(),
            r#type: self.lifecycle.token.clone(),
        };
        let decided = self.ask(&change.why, Call::Diff(request)).await;
        if decided["replaces"].as_object().is_some_and(|replaces| !replaces.is_empty()) {
            self.ask(&change.why, Call::Create(self.create(&change.news, true))).await;
            return false;
        }
        let is_update = decided["changes"] == "DIFF_SOME";
        if is_update {
            self.ask(&change.why, Call::Update(self.update(stored, change, true))).await;
        }
        is_update
    }

    /// Makes a call to both, and returns the answer of the one whose state is stored.
    async fn ask(&self, why: &str, call: Call) -> Json {
        let name = call.name();
        let (ours, theirs) = self.pair.ask(call).await;
        let what = format!("{}; {why}", self.what);
        let shown = |answer: &Json| by_shape(answer.clone(), &self.lifecycle.drawn);
        let resource = self.lifecycle.token.rsplit(':').next().unwrap_or_default();
        let subject = Subject::resource(resource, &self.lifecycle.sets);
        self.questions.compare_about(&subject, &what, name, (&shown(&ours), &shown(&theirs)));
        match self.keeper {
            Keeper::Isthmus => ours,
            Keeper::GoBridge => theirs,
        }
    }

    fn urn(&self) -> String {
        format!("urn:pulumi:test::oracle::{}::{}", self.lifecycle.token, self.name)
    }

    fn create(&self, inputs: &Json, preview: bool) -> CreateRequest {
        CreateRequest {
            urn: self.urn(),
            properties: Some(bag(inputs)),
            preview,
            name: self.name.clone(),
            r#type: self.lifecycle.token.clone(),
            ..CreateRequest::default()
        }
    }

    fn update(&self, stored: &Stored, change: &Change, preview: bool) -> UpdateRequest {
        UpdateRequest {
            id: stored.id.clone(),
            urn: self.urn(),
            olds: Some(bag(&stored.outputs)),
            old_inputs: Some(bag(&stored.inputs)),
            news: Some(bag(&change.news)),
            ignore_changes: change.ignore_changes.clone(),
            preview,
            name: self.name.clone(),
            r#type: self.lifecycle.token.clone(),
            ..UpdateRequest::default()
        }
    }

    fn refresh(&self, stored: &Stored) -> ReadRequest {
        ReadRequest {
            id: stored.id.clone(),
            urn: self.urn(),
            properties: Some(bag(&stored.outputs)),
            inputs: Some(bag(&stored.inputs)),
            name: self.name.clone(),
            r#type: self.lifecycle.token.clone(),
            ..ReadRequest::default()
        }
    }

    fn delete(&self, stored: &Stored) -> DeleteRequest {
        DeleteRequest {
            id: stored.id.clone(),
            urn: self.urn(),
            properties: Some(bag(&stored.outputs)),
            old_inputs: Some(bag(&stored.inputs)),
            name: self.name.clone(),
            r#type: self.lifecycle.token.clone(),
            ..DeleteRequest::default()
        }
    }
}

/// What an engine stores of an answer; `None` if that is nothing.
fn stored(answer: &Json, id: &str, inputs: &Json) -> Option<Stored> {
    let id = answer["id"].as_str().unwrap_or(id);
    let mut outputs = answer["properties"].clone();
    if id.is_empty() || outputs.as_object().is_none_or(serde_json::Map::is_empty) {
        return None;
    }
    if let Some(meta) = outputs.get_mut("__meta") {
        *meta = json!(meta.to_string());
    }
    Some(Stored { id: id.to_owned(), inputs: inputs.clone(), outputs })
}

/// The answer with the kind and the length of what was drawn, instead of the value.
fn by_shape(mut answer: Json, drawn: &[String]) -> Json {
    for path in drawn {
        for place in ["", "/properties", "/inputs"] {
            if let Some(value) = answer.pointer_mut(&format!("{place}/{path}")) {
                *value = shape(value);
            }
        }
    }
    answer
}

fn shape(value: &Json) -> Json {
    match value {
        Json::String(text) => {
            json!(format!("text of up to {} characters", text.chars().count().next_power_of_two()))
        }
        Json::Number(_) => json!("a number"),
        Json::Array(values) => values.iter().map(shape).collect(),
        Json::Object(secret) if secret.contains_key(SIGNATURE) => {
            let mut secret = secret.clone();
            secret["value"] = shape(&secret["value"]);
            Json::Object(secret)
        }
        Json::Object(_) | Json::Null | Json::Bool(_) => value.clone(),
    }
}
