//! One resource, taken through the same steps by OpenTofu, by the Go bridge and by the daemon, and what is seen of it.
//!
//! Whoever writes a scenario does not ask which of the three it is, unless the feature is one that is not called alike:
//! then it is for the scenario to say what each is asked.

mod engine;
mod opentofu;

use std::path::PathBuf;
use std::sync::Arc;

use fixtures::tools::tool;
use isthmus_package::shape::ResourceShape;
use isthmus_sandbox::RequestRecord;
use isthmus_test_engine::{bag, json_of, unknown};
use isthmus_translate::meta::Meta;
use serde_json::Value as Json;
use tokio::sync::OnceCell;
use tokio::task::block_in_place;

use super::outcome::{Fact, When};
use super::program::{Phase, Program, pulumi};
use crate::daemon::{Daemon, Launch, Named, Stored};
use crate::kinds::Provider;
use crate::providers::{Schemas, Setting, link_providers, variables};
use crate::steps::Decision;
use crate::tofu::Tofu;

/// Who takes a resource through its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    OpenTofu,
    GoBridge,
    Isthmus,
}

impl Side {
    pub(crate) const ALL: [Self; 3] = [Self::OpenTofu, Self::GoBridge, Self::Isthmus];

    /// What stands before the provider.
    pub(crate) fn program(self) -> PathBuf {
        match self {
            Self::OpenTofu => tool("tofu"),
            Self::GoBridge => tool("go-bridge"),
            Self::Isthmus => PathBuf::from(env!("CARGO_BIN_EXE_isthmus")),
        }
    }

    const fn directory(self) -> &'static str {
        match self {
            Self::OpenTofu => "opentofu",
            Self::GoBridge => "go-bridge",
            Self::Isthmus => "isthmus",
        }
    }
}

/// What all scenarios share.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) schemas: std::collections::BTreeMap<Provider, Arc<Schemas>>,
    pub(crate) directory: PathBuf,
    /// For scenarios that want nothing special.
    bridges: [OnceCell<Arc<Daemon>>; 2],
}

impl Stage {
    /// Nothing is started yet, but to ask for schemas.
    pub(crate) async fn new(directory: PathBuf) -> Self {
        let schemas = Schemas::of_all(
            Setting::PLAIN,
            &[("SANDBOX_ODD", "usable"), ("CONFORMANCE_VARIANTS", "crossed")],
        )
        .await;
        Self { schemas, directory, bridges: Default::default() }
    }
}

/// One resource under one of the three.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) side: Side,
    /// What the resource is called, in the program and by its attribute `name`.
    pub(crate) name: String,
    stage: Arc<Stage>,
    provider: Provider,
    /// The configuration of the provider, as programs have arguments.
    pub(crate) configuration: Json,
    /// Where its objects and the record of requests are.
    directory: PathBuf,
    bridge: Option<Arc<Daemon>>,
    project: Option<Tofu>,
    starts: usize,
    pub(crate) stored: Option<Stored>,
    program: Option<Program>,
    is_half_made: bool,
    seen_requests: usize,
}

/// What was seen of a step.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) decision: Decision,
    /// The places that a preview shows as changing.
    pub(crate) shown: Vec<String>,
    /// Which of them are said to replace.
    pub(crate) replacing: Vec<String>,
    /// What a preview shows of the result; what is not known is [`unknown`].
    pub(crate) planned: Json,
    pub(crate) refused: Option<(When, String)>,
    pub(crate) warnings: Vec<String>,
}

impl Seen {
    const fn nothing() -> Self {
        Self {
            decision: Decision::Nothing,
            shown: Vec::new(),
            replacing: Vec::new(),
            planned: Json::Null,
            refused: None,
            warnings: Vec::new(),
        }
    }

    fn refuse(mut self, when: When, text: impl Into<String>) -> Self {
        self.refused = Some((when, text.into()));
        self
    }

    /// Whether all went well.
    pub(crate) const fn is_good(&self) -> bool {
        self.refused.is_none()
    }

    /// The decision, or the refusal.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        match &self.refused {
            Some((when, text)) => vec![Fact::Refuses(*when, text.clone())],
            None => vec![Fact::Decides(self.decision)],
        }
    }

    /// The refusal, where there was one.
    pub(crate) fn refusal(&self) -> Option<Fact> {
        self.refused.as_ref().map(|(when, text)| Fact::Refuses(*when, text.clone()))
    }

    /// The same with the places that are shown.
    pub(crate) fn facts_and_places(&self) -> Vec<Fact> {
        let mut facts = self.facts();
        if self.is_good() && !matches!(self.decision, Decision::Nothing | Decision::Delete) {
            facts.push(Fact::Shows(self.shown.clone()));
        }
        facts
    }

    /// Whether the preview says replacement, in either order.
    pub(crate) const fn replaces(&self) -> bool {
        matches!(self.decision, Decision::ReplaceCreatingFirst | Decision::ReplaceDeletingFirst)
    }
}

/// A request that the provider got.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// As protocol 6 calls it.
    pub(crate) method: String,
    pub(crate) message: bytes::Bytes,
}

impl Life {
    /// Nothing has happened yet.
    pub(crate) fn new(side: Side, name: String, stage: Arc<Stage>) -> Self {
        let shared = stage.directory.join(side.directory());
        let mut life = Self {
            side,
            name,
            provider: Provider::Conformance,
            configuration: Json::Object(serde_json::Map::new()),
            directory: shared.clone(),
            bridge: None,
            project: None,
            starts: 0,
            stored: None,
            program: None,
            is_half_made: false,
            seen_requests: 0,
            stage,
        };
        if side == Side::OpenTofu {
            life.directory = shared.join(&life.name);
            life.project = Some(Tofu::new(Setting::PLAIN, &life.directory));
        }
        life
    }

    /// Starts what stands before the provider anew, with more variables, in a directory of this life's own.
    pub(crate) async fn start(&mut self, provider: Provider, more: &[(&str, &str)]) -> Result<(), String> {
        self.provider = provider;
        let home = self.next_home();
        self.starts += 1;
        if let Some(project) = &mut self.project {
            for (name, value) in more {
                project.set(name, value);
            }
            return Ok(());
        }
        let own = self.stage.directory.join(self.side.directory()).join(&self.name);
        self.directory.clone_from(&own);
        // The one before ends first, as an engine ends it.
        self.bridge = None;
        let bridge = self.launch(more, &own, &home).await?;
        self.bridge = Some(Arc::new(bridge));
        Ok(())
    }

    /// Puts a file where what is started next will run.
    pub(crate) fn place(&self, name: &str, text: &str) {
        let home = self.next_home();
        std::fs::create_dir_all(&home).expect("a directory in a directory of ours");
        std::fs::write(home.join(name), text).expect("a file of ours");
    }

    /// The working directory of what is started next.
    pub(crate) fn next_home(&self) -> PathBuf {
        let own = self.stage.directory.join(self.side.directory()).join(&self.name);
        own.join(format!("home-{}", self.starts + 1))
    }

    async fn launch(
        &self,
        more: &[(&str, &str)],
        directory: &std::path::Path,
        home: &std::path::Path,
    ) -> Result<Daemon, String> {
        std::fs::create_dir_all(directory.join("objects")).expect("a directory in a directory of ours");
        std::fs::create_dir_all(home).expect("a directory in a directory of ours");
        let programs = home.join("providers");
        link_providers(&programs);
        let mut all: Vec<(String, String)> =
            variables(Setting::PLAIN, directory).map(|(name, value)| (name.to_owned(), value)).into();
        all.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let shape = self.stage.schemas[&self.provider].configuration();
        let takes_secrets = self.side == Side::Isthmus;
        let configuration = pulumi(&self.configuration, &shape.object, Phase::Preview, takes_secrets);
        let launch = Launch {
            bridge: &self.side.program(),
            provider: &programs.join(format!("terraform-provider-{}", self.provider.name())),
            variables: &all,
            home,
            configuration: bag(&configuration),
        };
        Daemon::launch(&launch).await
    }

    /// Either bridge; the shared one unless this life has its own.
    pub(crate) async fn bridge(&self) -> Arc<Daemon> {
        if let Some(bridge) = &self.bridge {
            return Arc::clone(bridge);
        }
        let cell = &self.stage.bridges[usize::from(self.side == Side::Isthmus)];
        let shared = cell.get_or_init(|| async {
            let home = self.directory.join("home");
            Arc::new(self.launch(&[], &self.directory, &home).await.expect("the bridge is ready"))
        });
        Arc::clone(shared.await)
    }

    /// The resource type, as bridges see it.
    pub(crate) fn shape(&self, type_name: &str) -> Arc<ResourceShape> {
        self.stage.schemas[&self.provider].shape(type_name)
    }

    /// The type of the values of the provider's configuration.
    pub(crate) fn configuration_type(&self) -> isthmus_cty::Type {
        self.stage.schemas[&self.provider].provider()
    }

    pub(crate) fn named(&self, program: &Program) -> Named {
        Named {
            token: self.shape(program.type_name).token.clone(),
            name: self.name.clone(),
            options: program.options.clone(),
        }
    }

    /// What a program comes to: a preview, then an update.
    pub(crate) async fn up(&mut self, program: &Program) -> Seen {
        self.step(Some(program), true, false).await
    }

    /// A preview only.
    pub(crate) async fn preview(&mut self, program: &Program) -> Seen {
        self.step(Some(program), false, false).await
    }

    /// The same after what is there was read.
    pub(crate) async fn refresh_and_preview(&mut self, program: &Program) -> Seen {
        self.step(Some(program), false, true).await
    }

    /// A preview, and an update, after what is there was read.
    pub(crate) async fn refresh_and_up(&mut self, program: &Program) -> Seen {
        self.step(Some(program), true, true).await
    }

    /// The resource goes.
    pub(crate) async fn remove(&mut self) -> Seen {
        self.step(None, true, false).await
    }

    async fn step(&mut self, program: Option<&Program>, update: bool, refresh: bool) -> Seen {
        if self.side == Side::OpenTofu {
            block_in_place(|| self.tofu_step(program, update, refresh, None))
        } else {
            self.bridge_step(program, update, refresh).await
        }
    }

    /// Ends what stands before the provider as an engine ends a plugin, and as OpenTofu ends by itself.
    pub(crate) fn kill(&self) {
        if let Some(bridge) = &self.bridge {
            bridge.kill();
        }
    }

    /// What is there is imported, and then there is a preview of the program.
    pub(crate) async fn import_and_preview(&mut self, program: &Program, id: &str) -> Seen {
        if self.side == Side::OpenTofu {
            return block_in_place(|| self.tofu_step(Some(program), false, false, Some(id)));
        }
        let bridge = self.bridge().await;
        match bridge.import(&self.named(program), id).await {
            Ok(Some(stored)) => self.stored = Some(stored),
            Ok(None) => return Seen::nothing().refuse(When::Import, "the object does not exist"),
            Err(text) => return Seen::nothing().refuse(When::Import, text),
        }
        self.program = Some(program.clone());
        self.preview(program).await
    }

    /// The engine, or OpenTofu, forgets the resource, whose object stays.
    pub(crate) fn forget(&mut self) {
        if let Some(project) = &self.project {
            project.forget(&self.name);
        }
        self.stored = None;
    }

    /// The provider's objects of this life, of a kind.
    pub(crate) fn objects(&self, kind: &str) -> Vec<Json> {
        self.objects_named(kind, &self.name)
    }

    /// The provider's objects of a kind, by the beginning of their names.
    pub(crate) fn objects_named(&self, kind: &str, prefix: &str) -> Vec<Json> {
        let files =
            std::fs::read_dir(self.directory.join("objects").join(kind)).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = files.map(|file| file.path()).collect();
        paths.sort();
        let own = paths
            .iter()
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)));
        own.map(|path| {
            let text = std::fs::read_to_string(path).expect("an object can be read");
            serde_json::from_str(&text).expect("an object is JSON")
        })
        .collect()
    }

    /// The file of the only object, as the provider wrote it.
    pub(crate) fn object_text(&self, kind: &str) -> String {
        let path = self.directory.join("objects").join(kind).join(format!("{}-1.json", self.name));
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// Somebody else changes the only object, or removes it.
    pub(crate) fn change_object(&self, kind: &str, change: impl FnOnce(Json) -> Option<Json>) {
        let directory = self.directory.join("objects").join(kind);
        let path = directory.join(format!("{}-1.json", self.name));
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        match change(serde_json::from_str(&text).expect("an object is JSON")) {
            Some(object) => std::fs::write(path, object.to_string()),
            None => std::fs::remove_file(path),
        }
        .expect("a file of ours");
    }

    /// Asks the provider to go wrong with this resource.
    pub(crate) fn trouble(&self, troubles: &Json) {
        let directory = self.directory.join("objects/trouble");
        std::fs::create_dir_all(&directory).expect("a directory in a directory of ours");
        std::fs::write(directory.join(format!("{}.json", self.name)), troubles.to_string())
            .expect("a file of ours");
    }

    /// Whether what is stored is marked as half made.
    pub(crate) fn is_tainted(&self) -> bool {
        if let Some(project) = &self.project {
            return project.state().get(&self.name).is_some_and(|state| state.is_tainted);
        }
        self.stored
            .as_ref()
            .is_some_and(|stored| Meta::from_properties(&stored.outputs).is_ok_and(|meta| meta.tainted))
    }

    /// Whether something is stored.
    pub(crate) fn is_stored(&self) -> bool {
        match &self.project {
            Some(project) => project.state().contains_key(&self.name),
            None => self.stored.is_some(),
        }
    }

    /// The text of everything that is stored: of bridges what the engine stores, of OpenTofu its state.
    pub(crate) fn stored_text(&self) -> String {
        match &self.project {
            Some(project) => {
                std::fs::read_to_string(project.directory().join("terraform.tfstate")).unwrap_or_default()
            }
            None => self.stored.as_ref().map_or_else(String::new, |stored| {
                format!("{} {}", json_of(&stored.inputs), json_of(&stored.outputs))
            }),
        }
    }

    /// The outputs that an engine has.
    pub(crate) fn outputs(&self) -> Json {
        self.stored.as_ref().map_or(Json::Null, |stored| json_of(&stored.outputs))
    }

    /// The processes that the provider was asked in.
    pub(crate) fn provider_processes(&self) -> std::collections::BTreeSet<u32> {
        self.records().into_iter().map(|record| record.process).collect()
    }

    /// What the provider was asked about this life since this was called last.
    pub(crate) fn asked(&mut self) -> Vec<Asked> {
        let name = self.name.clone().into_bytes();
        let own = self.all_asked().into_iter();
        let own: Vec<Asked> =
            own.filter(|asked| asked.message.windows(name.len()).any(|window| window == name)).collect();
        let new = own[self.seen_requests.min(own.len())..].to_vec();
        self.seen_requests = own.len();
        new
    }

    /// All that the provider was asked, by whomever.
    pub(crate) fn all_asked(&self) -> Vec<Asked> {
        let records = self.records().into_iter().map(|record| {
            let method = record.method.rsplit('/').next().unwrap_or_default().to_owned();
            Asked { method, message: record.message().expect("a message in base64") }
        });
        records.collect()
    }

    fn records(&self) -> Vec<RequestRecord> {
        let file = self.directory.join(format!("requests-{}", self.provider.name()));
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
        complete.lines().map(|line| serde_json::from_str(line).expect("a line is a record")).collect()
    }
}

/// The places in a tree at which something is not known.
pub(crate) fn unknowns(json: &Json) -> usize {
    match json {
        Json::Array(items) => items.iter().map(unknowns).sum(),
        Json::Object(members) => members.values().map(unknowns).sum(),
        json => usize::from(*json == unknown()),
    }
}
