//! The lifecycle of objects, call by call. Compiled for each protocol, with `super::message` and
//! the calls that differ.

use isthmus_cty::{Number, Type, Value, json, msgpack};
use isthmus_sandbox::{CallRecord, Encoding, Minor, Misbehaviour};
use prost::Message as _;
use tokio::time::{Duration, timeout};

use super::{Client, PROTOCOL, VALIDATE, attribute_type, configure, message, schema, stop, validate};
use crate::harness::{InProcess, attribute, edit, object, proposed, with};

/// Timeout of a call; generous for slow machines.
const PATIENCE: Duration = Duration::from_secs(30);

/// A configured provider and the type under test.
struct Subject {
    server: InProcess,
    client: Client,
    type_name: &'static str,
    kind: Type,
    computed: Vec<String>,
}

/// A state with its private data.
#[derive(Clone, Debug)]
struct Saved {
    state: Value,
    private: bytes::Bytes,
}

impl Subject {
    async fn new(type_name: &'static str) -> Self {
        Self::with_switches(type_name, Misbehaviour::default()).await
    }

    async fn with_switches(type_name: &'static str, switches: Misbehaviour) -> Self {
        let server = InProcess::start(PROTOCOL, switches).await;
        let mut client = Client::new(server.channel.clone()).max_decoding_message_size(256 << 20);
        let answer = schema(&mut client).await;
        let provider = answer.provider.expect("a schema of the provider");
        let resource = answer.resource_schemas.get(type_name).expect("a schema of the resource");
        let resource = message::Schema::decode(resource.clone()).expect("a schema");
        let block = resource.block.expect("a block");
        let computed = block.attributes.iter().filter(|attribute| attribute.computed);
        let computed = computed.map(|attribute| attribute.name.clone()).collect();
        let kind = block_type(&block);

        let provider = block_type(&provider.block.expect("a block"));
        let directory = server.objects().to_str().map(Value::string).expect("a path that is text");
        let config = encode(&object(&provider, &[("directory", directory)]), &provider);
        assert_eq!(configure(&mut client, config).await, []);
        Self { server, client, type_name, kind, computed }
    }

    fn config(&self, attributes: &[(&str, Value)]) -> Value {
        let Type::Object(kind) = &self.kind else { panic!("a resource is an object") };
        let mut config = object(&self.kind, attributes);
        for block in ["disk", "rule"] {
            if kind.attributes.contains_key(block) && attribute(&config, block).is_null() {
                let empty = if block == "disk" { Value::list([]) } else { Value::set([]) };
                config = with(&config, block, empty);
            }
        }
        config
    }

    fn encode(&self, value: &Value) -> Option<message::DynamicValue> {
        Some(encode(value, &self.kind))
    }

    fn decode(&self, value: Option<&message::DynamicValue>) -> Value {
        let value = value.expect("a value");
        if value.msgpack.is_empty() {
            json::from_json(&value.json, &self.kind).expect("JSON of the type")
        } else {
            msgpack::decode(&value.msgpack, &self.kind).expect("MessagePack of the type")
        }
    }

    async fn plan(
        &mut self,
        prior: Option<&Saved>,
        config: &Value,
    ) -> message::plan_resource_change::Response {
        let proposed = match prior {
            Some(prior) => proposed(config, &prior.state, &self.computed),
            None => config.clone(),
        };
        let request = message::plan_resource_change::Request {
            type_name: self.type_name.to_owned(),
            prior_state: self.encode(prior.map_or(&Value::Null, |prior| &prior.state)),
            proposed_new_state: self.encode(&proposed),
            config: self.encode(config),
            prior_private: prior.map(|prior| prior.private.clone()).unwrap_or_default(),
            ..Default::default()
        };
        self.client.plan_resource_change(request).await.expect("a plan").into_inner()
    }

    async fn apply(
        &mut self,
        prior: Option<&Saved>,
        config: &Value,
        plan: &message::plan_resource_change::Response,
    ) -> message::apply_resource_change::Response {
        self.try_apply(prior, config, plan).await.expect("an outcome")
    }

    async fn try_apply(
        &mut self,
        prior: Option<&Saved>,
        config: &Value,
        plan: &message::plan_resource_change::Response,
    ) -> Result<message::apply_resource_change::Response, tonic::Status> {
        let request = message::apply_resource_change::Request {
            type_name: self.type_name.to_owned(),
            prior_state: self.encode(prior.map_or(&Value::Null, |prior| &prior.state)),
            planned_state: plan.planned_state.clone(),
            config: self.encode(config),
            planned_private: plan.planned_private.clone(),
            ..Default::default()
        };
        Ok(self.client.apply_resource_change(request).await?.into_inner())
    }

    /// Plans and creates an object.
    async fn create(&mut self, config: &Value) -> Saved {
        let plan = self.plan(None, config).await;
        assert_eq!(plan.diagnostics, []);
        let applied = self.apply(None, config, &plan).await;
        assert_eq!(applied.diagnostics, []);
        Saved { state: self.decode(applied.new_state.as_ref()), private: applied.private }
    }

    async fn read(&mut self, saved: &Saved) -> message::read_resource::Response {
        let request = message::read_resource::Request {
            type_name: self.type_name.to_owned(),
            current_state: self.encode(&saved.state),
            private: saved.private.clone(),
            ..Default::default()
        };
        self.client.read_resource(request).await.expect("an answer").into_inner()
    }
}

#[tokio::test]
async fn a_note_is_created_updated_and_deleted() {
    let mut notes = Subject::new("sandbox_note").await;
    let config = notes.config(&[("title", Value::string("first")), ("color", Value::string("red"))]);

    let plan = notes.plan(None, &config).await;
    let planned = notes.decode(plan.planned_state.as_ref());
    assert!(matches!(attribute(&planned, "id"), Value::Unknown(_)), "{planned:?}");
    assert_eq!(*attribute(&planned, "priority"), number(3), "the default");
    let saved = notes.create(&config).await;
    assert!(saved.state.is_wholly_known(), "{saved:?}");
    assert_eq!(*attribute(&saved.state, "revision"), number(1));

    let unchanged = notes.plan(Some(&saved), &config).await;
    assert_eq!(notes.decode(unchanged.planned_state.as_ref()), saved.state);

    let config = with(&config, "title", Value::string("second"));
    let plan = notes.plan(Some(&saved), &config).await;
    assert_eq!(plan.requires_replace, []);
    let planned = notes.decode(plan.planned_state.as_ref());
    assert_eq!(attribute(&planned, "id"), attribute(&saved.state, "id"), "the id survives");
    assert!(matches!(attribute(&planned, "revision"), Value::Unknown(_)), "{planned:?}");
    let changed = notes.apply(Some(&saved), &config, &plan).await;
    let state = notes.decode(changed.new_state.as_ref());
    assert_eq!(*attribute(&state, "revision"), number(2));
    let saved = Saved { state, private: changed.private };

    let gone = message::plan_resource_change::Response {
        planned_state: notes.encode(&Value::Null),
        ..Default::default()
    };
    let removed = notes.apply(Some(&saved), &Value::Null, &gone).await;
    assert_eq!(removed.diagnostics, []);
    assert_eq!(notes.decode(removed.new_state.as_ref()), Value::Null);
    let read = notes.read(&saved).await;
    assert_eq!(notes.decode(read.new_state.as_ref()), Value::Null, "it is gone");
}

#[tokio::test]
async fn another_color_replaces_the_note() {
    let mut notes = Subject::new("sandbox_note").await;
    let config = notes.config(&[("title", Value::string("a")), ("color", Value::string("red"))]);
    let saved = notes.create(&config).await;

    let plan = notes.plan(Some(&saved), &with(&config, "color", Value::string("blue"))).await;

    assert_eq!(plan.requires_replace, [path("color")]);
}

#[tokio::test]
async fn drift_is_seen() {
    let mut notes = Subject::new("sandbox_note").await;
    let config = notes.config(&[("title", Value::string("before"))]);
    let saved = notes.create(&config).await;

    edit(&notes.server.objects(), "before", "after");

    let read = notes.read(&saved).await;
    assert_eq!(*attribute(&notes.decode(read.new_state.as_ref()), "title"), Value::string("after"));
}

#[tokio::test]
async fn a_bad_title_is_refused_and_a_questionable_one_warned_of() {
    let mut notes = Subject::new("sandbox_note").await;

    let empty = notes.config(&[("title", Value::string(""))]);
    let refused = validate(&mut notes.client, "sandbox_note", encode(&empty, &notes.kind)).await;
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0].severity(), message::diagnostic::Severity::Error);
    assert_eq!(refused[0].attribute, Some(path("title")));

    let questionable = notes.config(&[("title", Value::string("warn"))]);
    let warned = validate(&mut notes.client, "sandbox_note", encode(&questionable, &notes.kind)).await;
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert_eq!(warned[0].severity(), message::diagnostic::Severity::Warning);

    let unknown = notes.config(&[("title", Value::Unknown(None))]);
    assert_eq!(validate(&mut notes.client, "sandbox_note", encode(&unknown, &notes.kind)).await, []);
}

#[tokio::test]
async fn a_write_only_value_needs_a_client_that_does_not_store_it() {
    let mut notes = Subject::new("sandbox_note").await;
    let locked = notes.config(&[("title", Value::string("a")), ("passphrase", Value::string("p"))]);

    let refused = validate(&mut notes.client, "sandbox_note", encode(&locked, &notes.kind)).await;
    assert_eq!(refused[0].summary, "WriteOnly Attribute Not Allowed");

    let saved = notes.create(&locked).await;
    assert_eq!(*attribute(&saved.state, "passphrase"), Value::Null);
    assert_eq!(*attribute(&saved.state, "locked"), Value::Bool(true), "it was used");
}

#[tokio::test]
async fn a_note_is_imported_by_id_and_filled_in_by_reading() {
    let mut notes = Subject::new("sandbox_note").await;
    let config = notes.config(&[("title", Value::string("there already"))]);
    let saved = notes.create(&config).await;
    let id = attribute(&saved.state, "id").as_str().expect("an id").to_owned();

    let request = message::import_resource_state::Request {
        type_name: "sandbox_note".to_owned(),
        id,
        ..Default::default()
    };
    let imported = notes.client.import_resource_state(request).await.expect("an answer").into_inner();

    assert_eq!(imported.diagnostics, []);
    let [resource] = &imported.imported_resources[..] else { panic!("one resource: {imported:?}") };
    let state = notes.decode(resource.state.as_ref());
    let read = notes.read(&Saved { state, private: resource.private.clone() }).await;
    assert_eq!(notes.decode(read.new_state.as_ref()), saved.state);
    assert!(read.new_identity.is_some(), "{read:?}");
}

#[tokio::test]
async fn state_of_an_older_version_is_upgraded() {
    let mut notes = Subject::new("sandbox_note").await;
    let stored = br#"{"id":"n1","title":"old","text":"words","forgotten":true}"#;
    let request = message::upgrade_resource_state::Request {
        type_name: "sandbox_note".to_owned(),
        version: 0,
        raw_state: Some(message::RawState { json: bytes::Bytes::from_static(stored), ..Default::default() }),
    };

    let upgraded = notes.client.upgrade_resource_state(request).await.expect("an answer").into_inner();

    assert_eq!(upgraded.diagnostics, []);
    let state = notes.decode(upgraded.upgraded_state.as_ref());
    assert_eq!(*attribute(&state, "body"), Value::string("words"));
}

#[tokio::test]
async fn a_memo_moves_to_a_note_and_nothing_else_does() {
    let mut notes = Subject::new("sandbox_note").await;
    let stored = br#"{"id":"m1","name":"memo","text":"words"}"#;
    let request = |source: &str| message::move_resource_state::Request {
        source_type_name: source.to_owned(),
        source_state: Some(message::RawState {
            json: bytes::Bytes::from_static(stored),
            ..Default::default()
        }),
        target_type_name: "sandbox_note".to_owned(),
        ..Default::default()
    };

    let moved =
        notes.client.move_resource_state(request("sandbox_memo")).await.expect("an answer").into_inner();
    let state = notes.decode(moved.target_state.as_ref());
    assert_eq!(*attribute(&state, "title"), Value::string("memo"));

    let refused =
        notes.client.move_resource_state(request("random_pet")).await.expect("an answer").into_inner();
    assert_eq!(refused.diagnostics[0].summary, "Unable to Move Resource State");
}

#[tokio::test]
async fn a_server_has_blocks_with_computed_values_inside() {
    let mut servers = Subject::new("sandbox_server").await;
    let Type::Object(kind) = &servers.kind else { panic!("an object") };
    let [disk, rule] = ["disk", "rule"].map(|name| match kind.attributes.get(name) {
        Some(Type::List(element) | Type::Set(element)) => (**element).clone(),
        other => panic!("{name} is {other:?}"),
    });
    let config = servers.config(&[
        ("name", Value::string("s")),
        ("disk", Value::list([object(&disk, &[("mount", Value::string("/"))])])),
        (
            "rule",
            Value::set([object(&rule, &[("port", number(80))]), object(&rule, &[("port", number(443))])]),
        ),
        ("metadata", Value::dynamic(Type::tuple([Type::Bool]), Value::tuple([Value::Bool(true)]))),
    ]);

    let plan = servers.plan(None, &config).await;
    let planned = servers.decode(plan.planned_state.as_ref());
    let disks = attribute(&planned, "disk").elements().expect("a list");
    assert_eq!(*attribute(&disks[0], "size"), number(10), "the default inside of a block");
    assert!(matches!(attribute(&disks[0], "device"), Value::Unknown(_)), "{planned:?}");

    let saved = servers.create(&config).await;
    assert!(saved.state.is_wholly_known(), "{saved:?}");
    let rules = attribute(&saved.state, "rule").elements().expect("a set");
    assert_ne!(attribute(&rules[0], "id"), attribute(&rules[1], "id"));
    assert_eq!(attribute(&saved.state, "metadata"), attribute(&config, "metadata"));
}

#[tokio::test]
async fn a_server_notices_that_its_private_bytes_were_lost() {
    let mut servers = Subject::new("sandbox_server").await;
    let config = servers.config(&[("name", Value::string("s"))]);
    let saved = servers.create(&config).await;

    assert_eq!(servers.read(&saved).await.diagnostics, []);
    let lost = Saved { private: bytes::Bytes::new(), ..saved };
    assert_eq!(servers.read(&lost).await.diagnostics[0].summary, "The private state was lost");
}

#[tokio::test]
async fn a_server_that_times_out_is_created_incomplete() {
    let mut servers = Subject::new("sandbox_server").await;
    let Type::Object(kind) = &servers.kind else { panic!("an object") };
    let timeouts = object(&kind.attributes["timeouts"], &[("create", Value::string("20ms"))]);
    let config = servers.config(&[
        ("name", Value::string("s")),
        ("boot_time", Value::string("1h")),
        ("timeouts", timeouts),
    ]);

    let plan = servers.plan(None, &config).await;
    let applied = timeout(PATIENCE, servers.apply(None, &config, &plan)).await.expect("in time");

    assert_eq!(applied.diagnostics[0].summary, "The server did not boot within 20ms");
    let state = servers.decode(applied.new_state.as_ref());
    assert_eq!(*attribute(&state, "status"), Value::string("booting"));
}

#[tokio::test]
async fn a_call_that_hangs_ends_when_the_provider_is_stopped() {
    let directory = tempfile::tempdir().expect("a directory");
    let calls = directory.path().join("calls");
    let switches = Misbehaviour { calls: Some(calls.clone()), ..Misbehaviour::default() };
    let mut faulty = Subject::with_switches("sandbox_faulty", switches).await;
    let config = faulty.config(&[("mode", Value::string("hang"))]);
    let plan = faulty.plan(None, &config).await;
    let mut other = faulty.client.clone();

    let stop_when_called = async {
        let called = || CallRecord::read_all(&calls).is_ok_and(|calls| calls.iter().any(is_apply));
        while !called() {
            tokio::task::yield_now().await;
        }
        stop(&mut other).await;
    };
    let apply = faulty.try_apply(None, &config, &plan);
    let (applied, ()) =
        timeout(PATIENCE, async { tokio::join!(apply, stop_when_called) }).await.expect("it is stopped");

    assert_eq!(applied.expect_err("it was stopped").code(), tonic::Code::Cancelled);
}

#[tokio::test]
async fn faults_are_as_configured() {
    let mut faulty = Subject::new("sandbox_faulty").await;
    let mut outcome = async |mode: &str| {
        let config = faulty.config(&[("mode", Value::string(mode))]);
        let plan = faulty.plan(None, &config).await;
        faulty.apply(None, &config, &plan).await
    };

    assert_eq!(outcome("absent").await.new_state, None);
    assert_eq!(outcome("empty").await.new_state, Some(message::DynamicValue::default()));
    let json = outcome("json").await.new_state.expect("a value");
    assert!(json.msgpack.is_empty() && json.json.starts_with(b"{"), "{json:?}");
    let partial = outcome("partial").await;
    assert_eq!(partial.diagnostics.len(), 1);
    assert!(partial.new_state.is_some_and(|state| state.msgpack[..] != [0xc0]), "there is a state");
    let error = outcome("error").await;
    assert_eq!(error.diagnostics[0].attribute, Some(path("mode")));
    assert_eq!(error.new_state.expect("a value").msgpack[..], [0xc0], "there is no state");
    let severity = outcome("unknown-severity").await;
    assert_eq!(severity.diagnostics[0].severity, 7);
    let huge = outcome("huge").await;
    assert!(huge.new_state.is_some_and(|state| state.msgpack.len() > 8 << 20));
    let garbage = outcome("garbage").await.new_state.expect("a value");
    let kind = faulty.kind.clone();
    assert!(msgpack::decode(&garbage.msgpack, &kind).is_err());
}

#[tokio::test]
async fn answers_are_in_json_when_that_is_switched_on() {
    let switches = Misbehaviour { answer: Encoding::Json, ..Misbehaviour::default() };
    let mut notes = Subject::with_switches("sandbox_note", switches).await;
    let config = notes.config(&[("title", Value::string("a"))]);

    let plan = notes.plan(None, &config).await;
    let applied = notes.apply(None, &config, &plan).await;

    let state = applied.new_state.expect("a value");
    assert_eq!(state.msgpack.len(), 0);
    let text: serde_json::Value = serde_json::from_slice(&state.json).expect("JSON");
    assert_eq!(text["title"], "a");
}

#[tokio::test]
async fn answers_from_the_future_mean_the_same() {
    let switches = Misbehaviour { minor: Minor::Future, ..Misbehaviour::default() };
    let mut notes = Subject::with_switches("sandbox_note", switches).await;
    let config = notes.config(&[("title", Value::string("a"))]);

    let saved = notes.create(&config).await;

    assert_eq!(*attribute(&saved.state, "title"), Value::string("a"));
}

#[tokio::test]
async fn a_legacy_provider_has_nulls_for_blocks_and_sets_the_flag() {
    let switches = Misbehaviour { legacy: true, ..Misbehaviour::default() };
    let mut servers = Subject::with_switches("sandbox_server", switches).await;
    let config = servers.config(&[("name", Value::string("s"))]);

    let plan = servers.plan(None, &config).await;
    let applied = servers.apply(None, &config, &plan).await;

    assert!(plan.legacy_type_system && applied.legacy_type_system);
    assert_eq!(*attribute(&servers.decode(applied.new_state.as_ref()), "disk"), Value::Null);
}

#[tokio::test]
async fn a_note_is_found_by_its_title() {
    let mut notes = Subject::new("sandbox_note").await;
    let config = notes.config(&[("title", Value::string("wanted")), ("body", Value::string("here"))]);
    notes.create(&config).await;
    let answer = schema(&mut notes.client).await;
    let lookup = answer.data_source_schemas.get("sandbox_note").expect("a data source");
    let lookup = message::Schema::decode(lookup.clone()).expect("a schema");
    let kind = block_type(&lookup.block.expect("a block"));
    let request = |title: &str| message::read_data_source::Request {
        type_name: "sandbox_note".to_owned(),
        config: Some(encode(&object(&kind, &[("title", Value::string(title))]), &kind)),
        ..Default::default()
    };

    let found = notes.client.read_data_source(request("wanted")).await.expect("an answer").into_inner();
    let state = msgpack::decode(&found.state.expect("a value").msgpack, &kind).expect("a value of the type");
    assert_eq!(*attribute(&state, "body"), Value::string("here"));

    let missing = notes.client.read_data_source(request("unheard of")).await.expect("an answer").into_inner();
    assert_eq!(missing.diagnostics[0].attribute, Some(path("title")));
}

#[tokio::test]
async fn notes_are_listed_by_the_beginning_of_their_titles() {
    let mut notes = Subject::new("sandbox_note").await;
    for title in ["one", "two", "only"] {
        let config = notes.config(&[("title", Value::string(title))]);
        notes.create(&config).await;
    }
    let answer = schema(&mut notes.client).await;
    let search = answer.list_resource_schemas.get("sandbox_note").expect("a list resource");
    let search = message::Schema::decode(search.clone()).expect("a schema");
    let kind = block_type(&search.block.expect("a block"));
    let config = encode(&object(&kind, &[("title_prefix", Value::string("on"))]), &kind);
    let mut list = async |limit, include| {
        let request = message::list_resource::Request {
            type_name: "sandbox_note".to_owned(),
            config: Some(config.clone()),
            include_resource_object: include,
            limit,
        };
        let mut stream = notes.client.list_resource(request).await.expect("a stream").into_inner();
        let mut events = Vec::new();
        while let Some(event) = stream.message().await.expect("an event") {
            assert!(event.identity.is_some() && event.diagnostic.is_empty(), "{event:?}");
            assert_eq!(event.resource_object.is_some(), include);
            events.push(event.display_name);
        }
        events.sort();
        events
    };

    assert_eq!(list(10, true).await, ["one", "only"]);
    assert_eq!(list(1, false).await.len(), 1);
}

#[tokio::test]
async fn a_token_is_opened_renewed_and_closed() {
    let server = InProcess::start(PROTOCOL, Misbehaviour::default()).await;
    let mut client = Client::new(server.channel.clone());
    let answer = schema(&mut client).await;
    let token = answer.ephemeral_resource_schemas.get("sandbox_token").expect("an ephemeral resource");
    let kind = block_type(&message::Schema::decode(token.clone()).expect("a schema").block.expect("a block"));
    let config = object(&kind, &[("audience", Value::string("a")), ("lifetime", Value::string("1h"))]);
    let type_name = || "sandbox_token".to_owned();

    let request = message::open_ephemeral_resource::Request {
        type_name: type_name(),
        config: Some(encode(&config, &kind)),
        ..Default::default()
    };
    let opened = client.open_ephemeral_resource(request).await.expect("an answer").into_inner();
    let result =
        msgpack::decode(&opened.result.expect("a result").msgpack, &kind).expect("a value of the type");
    assert!(attribute(&result, "value").as_str().is_some_and(|value| value.len() == 32));
    assert!(opened.renew_at.is_some());

    let request =
        message::renew_ephemeral_resource::Request { type_name: type_name(), private: opened.private };
    let renewed = client.renew_ephemeral_resource(request.clone()).await.expect("an answer").into_inner();
    assert_eq!(renewed.diagnostics, []);
    let stale = client.renew_ephemeral_resource(request).await.expect("an answer").into_inner();
    assert_eq!(stale.diagnostics[0].summary, "The private bytes are out of date");

    let request =
        message::close_ephemeral_resource::Request { type_name: type_name(), private: renewed.private };
    let closed = client.close_ephemeral_resource(request).await.expect("an answer").into_inner();
    assert_eq!(closed.diagnostics, []);
}

#[tokio::test]
async fn a_plan_is_deferred_while_the_configuration_is_unknown() {
    let server = InProcess::start(PROTOCOL, Misbehaviour::default()).await;
    let mut client = Client::new(server.channel.clone());
    let answer = schema(&mut client).await;
    let provider = block_type(&answer.provider.and_then(|schema| schema.block).expect("a block"));
    let note = message::Schema::decode(answer.resource_schemas["sandbox_note"].clone()).expect("a schema");
    let kind = block_type(&note.block.expect("a block"));
    let unknown = object(&provider, &[("directory", Value::Unknown(None))]);
    assert_eq!(configure(&mut client, encode(&unknown, &provider)).await, []);

    let config = encode(&object(&kind, &[("title", Value::string("a"))]), &kind);
    let capabilities = message::ClientCapabilities { deferral_allowed: true, ..Default::default() };
    let request = message::plan_resource_change::Request {
        type_name: "sandbox_note".to_owned(),
        prior_state: Some(encode(&Value::Null, &kind)),
        proposed_new_state: Some(config.clone()),
        config: Some(config),
        client_capabilities: Some(capabilities),
        ..Default::default()
    };
    let plan = client.plan_resource_change(request).await.expect("a plan").into_inner();

    let reason = plan.deferred.map(|deferred| deferred.reason());
    assert_eq!(reason, Some(message::deferred::Reason::ProviderConfigUnknown));
}

#[tokio::test]
async fn functions_answer_without_a_configuration() {
    let server = InProcess::start(PROTOCOL, Misbehaviour::default()).await;
    let mut client = Client::new(server.channel.clone());
    let mut call = async |name: &str, arguments: &[Value]| {
        let kind = if name == "greet" { Type::String } else { Type::Number };
        let arguments = arguments.iter().map(|argument| encode(argument, &kind)).collect();
        let request = message::call_function::Request { name: name.to_owned(), arguments };
        client.call_function(request).await.expect("an answer").into_inner()
    };

    let greeting = call("greet", &[Value::string("Ada"), Value::string("?")]).await;
    let greeting = greeting.result.expect("a result");
    assert_eq!(msgpack::decode(&greeting.msgpack, &Type::String), Ok(Value::string("Hello, Ada?")));

    let overflow = call("sum", &[number(i64::MAX), number(1)]).await;
    assert_eq!(overflow.error.expect("an error").function_argument, Some(1));
}

#[tokio::test]
async fn objects_need_a_configured_provider() {
    let server = InProcess::start(PROTOCOL, Misbehaviour::default()).await;
    let mut client = Client::new(server.channel.clone());
    let schema = schema(&mut client).await;
    let provider = block_type(&schema.provider.and_then(|schema| schema.block).expect("a block"));

    let refused = configure(&mut client, encode(&object(&provider, &[]), &provider)).await;
    assert_eq!(refused[0].attribute, Some(path("directory")));
}

#[tokio::test]
async fn calls_are_recorded() {
    let directory = tempfile::tempdir().expect("a directory");
    let calls = directory.path().join("calls");
    let switches = Misbehaviour { calls: Some(calls.clone()), ..Misbehaviour::default() };
    let mut notes = Subject::with_switches("sandbox_note", switches).await;
    let config = notes.config(&[("title", Value::Unknown(None))]);
    validate(&mut notes.client, "sandbox_note", encode(&config, &notes.kind)).await;
    notes.plan(None, &config).await;

    let records = CallRecord::read_all(&calls).expect("a record");

    let names: Vec<&str> = records.iter().map(|record| record.call.as_str()).collect();
    let [.., _, validated, "PlanResourceChange"] = names[..] else { panic!("{names:?}") };
    assert_eq!(validated, VALIDATE);
    let plan = records.last().expect("the plan");
    assert_eq!(
        (plan.prior_null, plan.planned_null, plan.config_known),
        (Some(true), Some(false), Some(false))
    );
}

fn is_apply(record: &CallRecord) -> bool {
    record.call == "ApplyResourceChange"
}

fn number(number: i64) -> Value {
    Value::Number(Number::from(number))
}

fn encode(value: &Value, kind: &Type) -> message::DynamicValue {
    let msgpack = msgpack::encode(value, kind).expect("a value of the type");
    message::DynamicValue { msgpack: msgpack.into(), json: bytes::Bytes::new() }
}

fn path(name: &str) -> message::AttributePath {
    use message::attribute_path::Step;
    use message::attribute_path::step::Selector;
    message::AttributePath { steps: vec![Step { selector: Some(Selector::AttributeName(name.to_owned())) }] }
}

fn block_type(block: &message::schema::Block) -> Type {
    use message::schema::nested_block::NestingMode;
    let attributes =
        block.attributes.iter().map(|attribute| (attribute.name.as_str(), attribute_type(attribute)));
    let blocks = block.block_types.iter().map(|nested| {
        let one = block_type(nested.block.as_ref().expect("a block"));
        let kind = match nested.nesting() {
            NestingMode::List => Type::list(one),
            NestingMode::Set => Type::set(one),
            NestingMode::Map => Type::map(one),
            NestingMode::Single | NestingMode::Group => one,
            NestingMode::Invalid => panic!("{} has no nesting", nested.type_name),
        };
        (nested.type_name.as_str(), kind)
    });
    Type::object(attributes.chain(blocks))
}
