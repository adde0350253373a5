//! Tables of inputs (`inputs/*.json`): a file a call, a row a question.
//!
//! One process of either bridge answers all rows about one provider, where the calls allow it. Rows hold no results: what is
//! right is what both bridges answer, or what a rule says.

use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use isthmus_proto::pulumirpc::check_request::AutonamingOptions;
use isthmus_proto::pulumirpc::check_request::autonaming_options::Mode;
use isthmus_proto::pulumirpc::parameterize_request::{Parameters, ParametersArgs, ParametersValue};
use isthmus_proto::pulumirpc::{
    CheckRequest, ConfigureRequest, DiffRequest, InvokeRequest, ParameterizeRequest,
};
use isthmus_test_engine::bag;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::bridge::{Pair, Variables};
use crate::call::Call;
use crate::lifecycles::{self, Lifecycle};
use crate::packages::with_paths;
use crate::questions::Questions;
use crate::tools::{self, Cache};

/// A row about a parameterized provider.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Row {
    /// The provider's type.
    provider: String,
    /// The protocol that the conformance provider speaks; 6 if it is not said.
    #[serde(default)]
    protocol: Option<u8>,
    /// The resource's, data source's or function's token.
    #[serde(default, alias = "tok")]
    token: String,
    #[serde(default)]
    urn: String,
    #[serde(default)]
    olds: Option<Json>,
    #[serde(default)]
    news: Option<Json>,
    #[serde(default)]
    args: Option<Json>,
    /// Configuration as engines of old sent it.
    #[serde(default)]
    variables: HashMap<String, String>,
    /// What the provider is configured with before it is asked.
    #[serde(default)]
    configure: Option<Json>,
    /// In base64.
    #[serde(default)]
    random_seed: Option<String>,
    #[serde(default)]
    autonaming: Option<Autonaming>,
    #[serde(default)]
    ignore_changes: Vec<String>,
    /// What the row is for.
    why: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Autonaming {
    #[serde(default)]
    proposed_name: String,
    mode: String,
}

/// A row about the choice of a provider.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Choosing {
    /// Words of a command line; `{random}` is the path of that provider.
    #[serde(default)]
    words: Option<Vec<String>>,
    /// What an SDK remembers.
    #[serde(default)]
    value: Option<String>,
    /// What was chosen before in the same process.
    #[serde(default)]
    after: Option<Vec<String>>,
    why: String,
}

/// Every table. Each has its number of rows in the total.
pub(crate) fn tables() -> Vec<Table> {
    vec![
        Table::Parameterize(read(include_str!("inputs/parameterize.json"))),
        Table::Rows(Kind::CheckConfig, read(include_str!("inputs/check_config.json"))),
        Table::Rows(Kind::Configure, read(include_str!("inputs/configure.json"))),
        Table::Rows(Kind::Check, read(include_str!("inputs/check.json"))),
        Table::Rows(Kind::Check, read(include_str!("inputs/check_errors.json"))),
        Table::Rows(Kind::Check, read(include_str!("inputs/check_shapes.json"))),
        Table::Rows(Kind::Invoke, read(include_str!("inputs/invoke.json"))),
        Table::Rows(Kind::DiffConfig, read(include_str!("inputs/diff_config.json"))),
        Table::Lifecycles(read(include_str!("inputs/lifecycles.json"))),
    ]
}

/// The rows of one call.
#[derive(Debug)]
pub(crate) enum Table {
    Parameterize(Choosings),
    Rows(Kind, Vec<Row>),
    Lifecycles(Vec<Lifecycle>),
}

/// The rows of Parameterize.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Choosings(Vec<Choosing>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    CheckConfig,
    Configure,
    Check,
    Invoke,
    DiffConfig,
}

/// Questions that one process answers.
#[derive(Debug)]
pub(crate) enum Sitting {
    Parameterize(Choosings),
    Rows { kind: Kind, provider: String, protocol: u8, rows: Vec<Row> },
    Lifecycles(lifecycles::Sitting),
}

impl Table {
    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Parameterize(rows) => rows.0.len(),
            Self::Rows(_, rows) => rows.len(),
            Self::Lifecycles(lifecycles) => lifecycles.iter().map(Lifecycle::len).sum(),
        }
    }

    /// The rows by the process that answers them.
    pub(crate) fn sittings(self) -> Vec<Sitting> {
        let (kind, rows) = match self {
            Self::Parameterize(rows) => return vec![Sitting::Parameterize(rows)],
            Self::Rows(kind, rows) => (kind, rows),
            Self::Lifecycles(lifecycles) => {
                return lifecycles::sittings(lifecycles).into_iter().map(Sitting::Lifecycles).collect();
            }
        };
        let mut sittings = BTreeMap::<_, Vec<Row>>::new();
        for (number, row) in rows.into_iter().enumerate() {
            // A process is configured once.
            let own = if kind == Kind::Configure { number } else { 0 };
            let configuration = row.configure.clone().unwrap_or_else(|| json!({})).to_string();
            let key = (row.provider.clone(), row.protocol.unwrap_or(6), configuration, own);
            sittings.entry(key).or_default().push(row);
        }
        sittings
            .into_iter()
            .map(|((provider, protocol, ..), rows)| Sitting::Rows { kind, provider, protocol, rows })
            .collect()
    }
}

impl Sitting {
    /// Asks all.
    pub(crate) async fn ask(self, cache: &Cache, questions: &Questions) {
        match self {
            Self::Parameterize(rows) => ask_choosings(cache, rows.0, questions).await,
            Self::Lifecycles(sitting) => sitting.ask(cache, questions).await,
            Self::Rows { kind, provider, protocol, rows } => {
                let variables = vec![("CONFORMANCE_PROTOCOL".to_owned(), protocol.to_string())];
                let pair = Pair::start(cache, &variables).await;
                let what = format!("{provider} on protocol {protocol}");
                pair.handshake().await;
                let args = vec![tools::provider(&provider)];
                let parameters = Parameters::Args(ParametersArgs { args });
                let request = ParameterizeRequest { parameters: Some(parameters) };
                questions.ask(&pair, &what, Call::Parameterize(request)).await;
                if matches!(kind, Kind::Check | Kind::Invoke) {
                    let first =
                        rows.first().and_then(|row| row.configure.clone()).unwrap_or_else(|| json!({}));
                    questions.ask(&pair, &what, Call::Configure(configuration(&provider, &first))).await;
                }
                for row in rows {
                    let what = format!("{what}: {}", row.why);
                    questions.ask(&pair, &what, row.call(kind)).await;
                }
            }
        }
    }
}

impl Row {
    fn call(self, kind: Kind) -> Call {
        match kind {
            Kind::CheckConfig => Call::CheckConfig(self.check_config()),
            Kind::Configure => Call::Configure(ConfigureRequest {
                variables: self.variables,
                args: self.args.as_ref().map(bag),
                ..configuration(&self.provider, &json!({}))
            }),
            Kind::Check => Call::Check(self.check()),
            Kind::DiffConfig => Call::DiffConfig(DiffRequest {
                id: "id".to_owned(),
                urn: provider_urn(&self.provider),
                olds: self.olds.as_ref().map(bag),
                old_inputs: self.olds.as_ref().map(bag),
                news: self.news.as_ref().map(bag),
                ignore_changes: self.ignore_changes,
                name: "default".to_owned(),
                r#type: format!("pulumi:providers:{}", self.provider),
            }),
            Kind::Invoke => Call::Invoke(InvokeRequest {
                tok: self.token,
                args: Some(bag(&self.args.unwrap_or_else(|| json!({})))),
                preview: false,
            }),
        }
    }

    fn check_config(self) -> CheckRequest {
        let token = format!("pulumi:providers:{}", self.provider);
        let urn = if self.urn.is_empty() { provider_urn(&self.provider) } else { self.urn.clone() };
        self.check_request(urn, token)
    }

    fn check(self) -> CheckRequest {
        let token = self.token.clone();
        let urn = if self.urn.is_empty() {
            format!("urn:pulumi:test::oracle::{token}::thing")
        } else {
            self.urn.clone()
        };
        self.check_request(urn, token)
    }

    fn check_request(self, urn: String, token: String) -> CheckRequest {
        let object = |json: Option<Json>| Some(bag(&json.unwrap_or_else(|| json!({}))));
        CheckRequest {
            name: urn.rsplit("::").next().unwrap_or_default().to_owned(),
            urn,
            r#type: token,
            olds: object(self.olds),
            news: object(self.news.or(self.args)),
            random_seed: self.random_seed.map_or_else(Vec::new, |seed| seed_of(&seed)).into(),
            autonaming: self.autonaming.map(Autonaming::options),
            ..CheckRequest::default()
        }
    }
}

impl Autonaming {
    fn options(self) -> AutonamingOptions {
        let mode = match self.mode.to_ascii_lowercase().as_str() {
            "propose" => Mode::Propose,
            "enforce" => Mode::Enforce,
            "disable" => Mode::Disable,
            other => panic!("no engine knows a mode {other:?}"),
        };
        AutonamingOptions { proposed_name: self.proposed_name, mode: mode as i32 }
    }
}

pub(crate) fn configuration(provider: &str, arguments: &Json) -> ConfigureRequest {
    ConfigureRequest {
        args: Some(bag(arguments)),
        accept_secrets: true,
        accept_resources: true,
        sends_old_inputs: true,
        sends_old_inputs_to_delete: true,
        urn: Some(provider_urn(provider)),
        name: Some("default".to_owned()),
        r#type: Some(format!("pulumi:providers:{provider}")),
        ..ConfigureRequest::default()
    }
}

fn provider_urn(provider: &str) -> String {
    format!("urn:pulumi:test::oracle::pulumi:providers:{provider}::default")
}

fn seed_of(base64: &str) -> Vec<u8> {
    STANDARD.decode(base64).unwrap_or_else(|error| panic!("the seed {base64:?} is not base64: {error}"))
}

/// A process whose provider was chosen can choose no other; one that refused a choice goes on.
async fn ask_choosings(cache: &Cache, rows: Vec<Choosing>, questions: &Questions) {
    let mut pair = Pair::start(cache, &Variables::new()).await;
    for row in rows {
        let what = format!("Parameterize: {}", row.why);
        if let Some(first) = &row.after {
            questions.ask(&pair, &what, Call::Parameterize(by_words(first))).await;
        }
        let request = match (&row.words, &row.value) {
            (Some(words), None) => by_words(words),
            (None, Some(value)) => by_value(with_paths(value)),
            (None, None) => ParameterizeRequest { parameters: None },
            (Some(_), Some(_)) => panic!("{what}: words or a value, not both"),
        };
        let (ours, theirs) = pair.ask(Call::Parameterize(request)).await;
        questions.compare(&what, "Parameterize", &ours, &theirs);
        // There is a provider, or no process any longer.
        let over =
            |answer: &Json| answer.get("error").is_none_or(|error| error["message"] == "transport error");
        if row.after.is_some() || over(&ours) || over(&theirs) {
            pair = Pair::start(cache, &Variables::new()).await;
        }
    }
}

fn by_words(words: &[String]) -> ParameterizeRequest {
    let args = words.iter().map(|word| with_paths(word)).collect();
    ParameterizeRequest { parameters: Some(Parameters::Args(ParametersArgs { args })) }
}

fn by_value(value: String) -> ParameterizeRequest {
    let value = ParametersValue { name: "any".to_owned(), version: "1.0.0".to_owned(), value: value.into() };
    ParameterizeRequest { parameters: Some(Parameters::Value(value)) }
}

fn read<Rows: for<'a> Deserialize<'a>>(text: &str) -> Rows {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("a table of inputs cannot be read: {error}"))
}
