//! OpenTofu: a project of many resources, planned and applied as people do it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use base64::Engine as _;
use isthmus_cty::json::Json as Document;
use serde_json::{Map, Value as Json, json};

use fixtures::tools::tool;

use crate::kinds::Provider;
use crate::preview::Preview;
use crate::providers::{Setting, link_providers, variables};
use crate::steps::Decision;

/// The type of the resources whose outputs choose among the arguments of others.
const CHOOSER: &str = "terraform_data";

/// A project and its state.
#[derive(Debug)]
pub(crate) struct Tofu {
    program: PathBuf,
    directory: PathBuf,
    environment: Vec<(String, String)>,
    /// The configurations of the providers, by their names.
    providers: Map<String, Json>,
}

/// A resource in the configuration.
#[derive(Clone, Debug)]
pub(crate) struct Configured {
    pub(crate) type_name: &'static str,
    pub(crate) name: String,
    /// Its arguments.
    pub(crate) body: Map<String, Json>,
    /// Whether a replacement is made before the old object goes.
    pub(crate) create_first: bool,
    /// The id that it is imported by.
    pub(crate) import: Option<String>,
}

/// A resource in the state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InState {
    pub(crate) attributes: Document,
    pub(crate) schema_version: i64,
    pub(crate) private: Vec<u8>,
    pub(crate) is_tainted: bool,
}

/// An expression that is 0, and unknown while the resource that chooses for this one is to change.
pub(crate) fn choice(name: &str) -> String {
    format!("{CHOOSER}.{}.output * 0", chooser_name(name))
}

fn chooser_name(name: &str) -> String {
    format!("of_{name}")
}

impl Tofu {
    /// An empty project in a directory of its own.
    pub(crate) fn new(setting: Setting, directory: &Path) -> Self {
        let providers = directory.join("providers");
        std::fs::create_dir_all(directory.join("objects")).expect("a directory in a directory of ours");
        link_providers(&providers);
        let providers = providers.to_str().expect("a path in UTF-8").to_owned();
        let overrides = Provider::ALL
            .map(|provider| format!("    {:?} = {providers:?}\n", format!("isthmus/{}", provider.name())));
        let settings = directory.join("tofu.tfrc");
        let text = format!(
            "provider_installation {{\n  dev_overrides {{\n{}  }}\n  direct {{}}\n}}\n",
            overrides.concat()
        );
        std::fs::write(&settings, text).expect("a file in a directory of ours");
        let mut environment: Vec<(String, String)> =
            variables(setting, directory).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let path = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
        environment.push(("TF_CLI_CONFIG_FILE".to_owned(), path(&settings)));
        environment.push(("HOME".to_owned(), path(directory)));
        environment.push(("TMPDIR".to_owned(), path(&std::env::temp_dir())));
        environment.push(("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()));
        environment.push(("CHECKPOINT_DISABLE".to_owned(), "1".to_owned()));
        let providers =
            Provider::ALL.map(|provider| (provider.name().to_owned(), json!({}))).into_iter().collect();
        Self { program: tool("tofu"), directory: directory.to_owned(), environment, providers }
    }

    /// Sets the configuration of a provider.
    pub(crate) fn configure(&mut self, provider: Provider, configuration: Map<String, Json>) {
        self.providers.insert(provider.name().to_owned(), Json::Object(configuration));
    }

    /// Sets an environment variable for it and for its providers.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Where its files are.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// A command that runs it.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.directory)
            .stdin(Stdio::null());
        command
    }

    /// Writes the program anew. `choosers` are the inputs of those resources that choose among the arguments of others, by the
    /// names of these.
    pub(crate) fn write(&self, resources: &[Configured], choosers: &BTreeMap<&str, usize>) {
        let mut by_type = BTreeMap::<&str, Map<String, Json>>::new();
        let mut imports = Vec::new();
        for resource in resources {
            let mut body = resource.body.clone();
            body.insert("lifecycle".to_owned(), json!({"create_before_destroy": resource.create_first}));
            by_type.entry(resource.type_name).or_default().insert(resource.name.clone(), Json::Object(body));
            if let Some(id) = &resource.import {
                imports.push(json!({"to": format!("{}.{}", resource.type_name, resource.name), "id": id}));
            }
        }
        for (name, turn) in choosers {
            let chooser = json!({"input": turn});
            by_type.entry(CHOOSER).or_default().insert(chooser_name(name), chooser);
        }
        let required = Provider::ALL.map(|provider| {
            (provider.name().to_owned(), json!({"source": format!("isthmus/{}", provider.name())}))
        });
        let mut program = json!({
            "terraform": {"required_providers": required.into_iter().collect::<Map<_, _>>()},
            "provider": self.providers,
        });
        if !by_type.is_empty() {
            program["resource"] = json!(by_type);
        }
        if !imports.is_empty() {
            program["import"] = json!(imports);
        }
        let text = serde_json::to_string_pretty(&program).expect("JSON can be written");
        std::fs::write(self.directory.join("main.tf.json"), text).expect("a file in a directory of ours");
    }

    /// Plans: what is to happen to which resource, and what it is to be. What is not named there stays as it is, and so do the
    /// resources of the `untouched` addresses.
    pub(crate) fn plan(&self, refresh: bool, untouched: &[String]) -> BTreeMap<String, (Decision, Preview)> {
        let refresh = if refresh { "-refresh=true" } else { "-refresh=false" };
        let exclusions: Vec<String> = untouched.iter().map(|address| format!("-exclude={address}")).collect();
        let mut arguments = vec!["plan", "-input=false", "-no-color", "-out=plan", refresh];
        arguments.extend(exclusions.iter().map(String::as_str));
        self.run(&arguments);
        let shown = self.run(&["show", "-json", "plan"]);
        let plan: Json = serde_json::from_str(&shown).expect("a plan is shown as JSON");
        let changes = plan["resource_changes"].as_array().cloned().unwrap_or_default();
        let changes = changes.iter().filter(|change| change["type"] != CHOOSER);
        let decided = changes.map(|change| {
            let actions: Vec<&str> = change["change"]["actions"]
                .as_array()
                .map(|actions| actions.iter().filter_map(Json::as_str).collect())
                .unwrap_or_default();
            let decision = match actions.as_slice() {
                ["no-op"] => Decision::Nothing,
                ["create"] => Decision::Create,
                ["update"] => Decision::Update,
                ["delete", "create"] => Decision::ReplaceDeletingFirst,
                ["create", "delete"] => Decision::ReplaceCreatingFirst,
                ["delete"] => Decision::Delete,
                other => panic!("OpenTofu plans {other:?}: {change}"),
            };
            let preview = Preview {
                after: change["change"]["after"].clone(),
                after_unknown: change["change"]["after_unknown"].clone(),
            };
            (change["name"].as_str().expect("a resource has a name").to_owned(), (decision, preview))
        });
        decided.collect()
    }

    /// Does what was planned last: what has failed, by the names of the resources, with the reasons.
    pub(crate) fn apply(&self) -> BTreeMap<String, Vec<String>> {
        let output = self.output(&["apply", "-input=false", "-json", "plan"]);
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines =
            stdout.lines().map(|line| serde_json::from_str::<Json>(line).expect("OpenTofu says it in JSON"));
        let lines: Vec<Json> = lines.collect();
        let of_type = |wanted: &'static str| lines.iter().filter(move |line| line["type"] == wanted);
        let errors = of_type("diagnostic").filter(|line| line["diagnostic"]["severity"] == "error");
        let errors: Vec<String> = errors
            .map(|line| format!("{}: {}", line["diagnostic"]["summary"], line["diagnostic"]["detail"]))
            .collect();
        // A diagnostic need not say which resource it is about, but in its text.
        let mut failures = BTreeMap::<String, Vec<String>>::new();
        for error in &errors {
            let words = error.split(|separator: char| separator.is_whitespace() || ",:".contains(separator));
            for (kind, name) in words.filter_map(|word| word.split_once('.')) {
                if Provider::ALL.iter().any(|provider| kind.starts_with(provider.name())) {
                    failures.entry(name.trim_end_matches('.').to_owned()).or_default().push(error.clone());
                }
            }
        }
        for line in of_type("apply_errored") {
            let name = line["hook"]["resource"]["resource_name"].as_str().unwrap_or_default();
            failures.entry(name.to_owned()).or_insert_with(|| errors.clone());
        }
        assert!(
            output.status.success() || !failures.is_empty(),
            "tofu apply failed:\n{stdout}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        failures
    }

    /// Destroys the resources of these addresses, and nothing else.
    pub(crate) fn destroy(&self, addresses: &[String]) {
        let targets: Vec<String> = addresses.iter().map(|address| format!("-target={address}")).collect();
        let mut arguments = vec!["destroy", "-input=false", "-no-color", "-auto-approve", "-refresh=false"];
        arguments.extend(targets.iter().map(String::as_str));
        self.run(&arguments);
    }

    /// What is in the state, by name.
    pub(crate) fn state(&self) -> BTreeMap<String, InState> {
        let Ok(text) = std::fs::read(self.state_file()) else { return BTreeMap::new() };
        let state = Document::parse(&text).expect("the state is JSON");
        let Some(Document::Array(resources)) = state.member("resources") else { return BTreeMap::new() };
        let mut all = BTreeMap::new();
        for resource in resources {
            if resource.member("type") == Some(&Document::String(CHOOSER.to_owned())) {
                continue;
            }
            let Some(Document::String(name)) = resource.member("name") else { panic!("{resource:?}") };
            let Some(Document::Array(instances)) = resource.member("instances") else {
                panic!("{resource:?}")
            };
            let instance = match instances.as_slice() {
                // Nothing came of it.
                [] => continue,
                [instance] => instance,
                several => panic!("{name} has {} objects", several.len()),
            };
            let private = match instance.member("private") {
                Some(Document::String(private)) => base64::engine::general_purpose::STANDARD
                    .decode(private)
                    .expect("private data is in base64"),
                _ => Vec::new(),
            };
            let schema_version = match instance.member("schema_version") {
                Some(Document::Number(number)) => number.parse().expect("a version is a number"),
                _ => 0,
            };
            let attributes = instance.member("attributes").expect("an object has attributes").clone();
            let is_tainted = instance.member("status") == Some(&Document::String("tainted".to_owned()));
            all.insert(name.clone(), InState { attributes, schema_version, private, is_tainted });
        }
        all
    }

    /// Forgets a resource, whose object stays.
    pub(crate) fn forget(&self, name: &str) {
        let text = std::fs::read_to_string(self.state_file()).expect("there is a state");
        let mut state: Json = serde_json::from_str(&text).expect("the state is JSON");
        if let Some(resources) = state["resources"].as_array_mut() {
            resources.retain(|resource| resource["name"] != name);
        }
        std::fs::write(self.state_file(), state.to_string()).expect("the state can be written");
    }

    /// The program, as it is now.
    pub(crate) fn program_of(&self, type_name: &str, name: &str) -> String {
        let text = std::fs::read_to_string(self.directory.join("main.tf.json")).unwrap_or_default();
        let program: Json = serde_json::from_str(&text).unwrap_or_default();
        serde_json::to_string_pretty(&program["resource"][type_name][name]).unwrap_or_default()
    }

    fn state_file(&self) -> PathBuf {
        self.directory.join("terraform.tfstate")
    }

    fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "tofu {} failed:\n{stdout}\n{}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        stdout
    }

    /// Runs it.
    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("OpenTofu starts")
    }
}
