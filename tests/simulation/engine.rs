//! An engine with a stack, as far as a provider can see it.
//!
//! It saves its state a moment after each answer. A killed engine has what it had saved.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use http::uri::Authority;
use isthmus_common::BoxFuture;
use isthmus_grpc::{Channel, ChannelSettings, Load, ServerSettings, serve_connection};
use isthmus_proto::pulumirpc::engine_server::EngineServer;
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::pulumirpc::{self as message, parameterize_request, property_diff};
use isthmus_test_engine::{bag, half_made, json_of};
use serde_json::{Value as Json, json};
use tokio::io::DuplexStream;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tonic::codegen::Service as _;
use tonic::{Request, Response, Status};

use crate::cloud;
use crate::dice::Dice;
use crate::network::{self, End};
use crate::world::{self, Shared};

pub(crate) const TOKEN: &str = "sim:index/thing:Thing";

/// What a program says of a resource. Another colour replaces it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) title: String,
    pub(crate) body: u64,
    pub(crate) color: u64,
    /// Its body has the id of this one.
    pub(crate) after: Option<String>,
    /// It had this name before.
    pub(crate) alias: Option<String>,
    /// It is deleted before another one is made in its place.
    pub(crate) delete_first: bool,
    /// Where the engine has none, it imports this object.
    pub(crate) import: Option<String>,
}

impl Wish {
    /// The body, with the id of the resource that it comes after: unknown until that is made.
    pub(crate) fn body(&self, saved: &Shared<Saved>) -> Json {
        match &self.after {
            None => json!(format!("text {}", self.body)),
            Some(after) => match saved.with(|saved| saved.resources.get(after).cloned()) {
                Some(stored) => json!(format!("text {} after {}", self.body, stored.id)),
                None => isthmus_test_engine::unknown(),
            },
        }
    }
}

pub(crate) type Program = BTreeMap<String, Wish>;

/// What an engine stores of a resource.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stored {
    pub(crate) id: String,
    pub(crate) inputs: Json,
    pub(crate) outputs: Json,
}

/// A stack's state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Saved {
    pub(crate) resources: BTreeMap<String, Stored>,
    /// Replaced, and to be deleted.
    pub(crate) condemned: Vec<(String, Stored)>,
    /// How often a creation of a resource has not been answered with an object.
    pub(crate) unanswered: BTreeMap<String, u64>,
    /// Objects that it does not want to know any more, and their resources.
    pub(crate) released: BTreeMap<String, String>,
    /// Objects of runs that could not save their state, and their resources, which were not made again since.
    pub(crate) forgotten: BTreeMap<String, String>,
    /// When a legacy engine had the object of a creation, by resource.
    pub(crate) answered: BTreeMap<String, Duration>,
    /// Resources whose last update a legacy engine has no success of. It does not look at them again where the program says again what
    /// it said before.
    pub(crate) uncertain: BTreeSet<String>,
    /// What users were told.
    pub(crate) reports: Vec<String>,
}

impl Saved {
    /// Saves what a creation was answered with, and returns what was in its place.
    pub(crate) fn made(&mut self, name: &str, made: Stored) -> Option<Stored> {
        if let Some(unanswered) = self.unanswered.get_mut(name) {
            *unanswered -= 1;
        }
        self.forgotten.retain(|_, forgotten| forgotten != name);
        self.resources.insert(name.to_owned(), made)
    }

    /// What is left of a run that could not save its state: what its users were told, and what it did not learn.
    pub(crate) fn forget(&mut self, run: Self) {
        self.forgotten = run.forgotten;
        for (name, stored) in &run.resources {
            if !self.ids().contains(&stored.id) {
                *self.unanswered.entry(name.clone()).or_default() += 1;
                self.forgotten.insert(stored.id.clone(), name.clone());
            }
        }
        for (name, times) in run.unanswered {
            let unanswered = self.unanswered.entry(name).or_default();
            *unanswered = times.max(*unanswered);
        }
        self.reports = run.reports;
    }

    pub(crate) fn ids(&self) -> BTreeSet<String> {
        let all = self.resources.values().chain(self.condemned.iter().map(|(_, stored)| stored));
        all.map(|stored| stored.id.clone()).chain(self.released.keys().cloned()).collect()
    }
}

/// What a run does besides the deployment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Habits {
    pub(crate) previews: bool,
    pub(crate) refreshes: bool,
    /// It asks for the end after so many milliseconds.
    pub(crate) interrupts: Option<u64>,
    /// Removed resources stay at the provider.
    pub(crate) retains: bool,
    /// It cannot save its state.
    pub(crate) forgets: bool,
}

/// An engine's run.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    client: ResourceProviderClient<Channel>,
    stack: String,
    saved: Shared<Saved>,
    dice: Shared<Dice>,
}

/// How a run ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome(pub(crate) Option<Result<(), String>>);

const SETTINGS: ChannelSettings =
    ChannelSettings { stream_window: 1 << 20, connection_window: 1 << 20, largest_headers: 1 << 20 };

/// What a run needs.
pub(crate) struct Run {
    pub(crate) stack: String,
    pub(crate) program: Program,
    pub(crate) habits: Habits,
    pub(crate) saved: Shared<Saved>,
    pub(crate) outcome: Shared<Outcome>,
    pub(crate) dice: Dice,
    /// The provider's file.
    pub(crate) provider: String,
}

/// Runs as an engine's process: deploys a program by the plugin at the other end.
pub(crate) async fn run(run: Run, plugin: End, log: DuplexStream) {
    let Run { stack, program, habits, saved, outcome, dice, provider } = run;
    tokio::spawn(serve_log(log, saved.clone()));
    let engine = Engine {
        client: ResourceProviderClient::new(connect(plugin)),
        stack,
        saved: saved.clone(),
        dice: Shared::new(dice),
    };
    let deployed = engine.deploy(&program, &habits, &provider).await;
    world::note(|| format!("the run of {} ends: {deployed:?}", engine.stack));
    outcome.with(|outcome| {
        outcome.0 = Some(deployed.map_err(|status| format!("{:?}: {}", status.code(), status.message())));
    });
}

/// Reaches the plugin by its only connection.
pub(crate) fn connect(plugin: End) -> Channel {
    let plugin = Shared::new(Some(plugin));
    Channel::new(Authority::from_static("plugin"), SETTINGS, move || {
        let end = plugin.with(Option::take);
        async move {
            let end = end.ok_or(std::io::ErrorKind::ConnectionRefused)?;
            Ok(Box::new(end) as Box<dyn isthmus_grpc::Stream>)
        }
    })
}

impl Engine {
    async fn deploy(&self, program: &Program, habits: &Habits, provider: &str) -> Result<(), Status> {
        self.begin(provider).await?;
        let Some(milliseconds) = habits.interrupts else {
            self.changes(program, habits).await?;
            return self.cancel().await;
        };
        let changes = self.changes(program, habits);
        tokio::pin!(changes);
        tokio::select! {
            done = &mut changes => {
                done?;
                self.cancel().await
            }
            () = tokio::time::sleep(Duration::from_millis(milliseconds)) => {
                world::count("runs that are interrupted");
                let (done, cancelled) = tokio::join!(changes, self.cancel());
                done.and(cancelled)
            }
        }
    }

    async fn begin(&self, provider: &str) -> Result<(), Status> {
        let mut client = self.client.clone();
        let handshake = message::ProviderHandshakeRequest {
            configure_with_urn: true,
            ..message::ProviderHandshakeRequest::default()
        };
        client.handshake(handshake).await?;
        let words = parameterize_request::ParametersArgs { args: vec![provider.to_owned()] };
        let parameters = Some(parameterize_request::Parameters::Args(words));
        client.parameterize(message::ParameterizeRequest { parameters }).await?;
        let configure = message::ConfigureRequest {
            args: Some(bag(&json!({}))),
            accept_secrets: true,
            accept_resources: true,
            sends_old_inputs: true,
            sends_old_inputs_to_delete: true,
            urn: Some(format!("urn:pulumi:{}::sim::pulumi:providers:sim::default", self.stack)),
            ..message::ConfigureRequest::default()
        };
        client.configure(configure).await.map(drop)
    }

    async fn cancel(&self) -> Result<(), Status> {
        self.client.clone().cancel(()).await.map(drop)
    }

    async fn changes(&self, program: &Program, habits: &Habits) -> Result<(), Status> {
        if habits.refreshes {
            self.refresh().await?;
        }
        if habits.previews {
            self.steps(program, true).await?;
        }
        self.steps(program, false).await?;
        self.deletions(program, habits).await
    }

    /// All steps end, as an engine waits for them. The first failure, if any.
    async fn steps(&self, program: &Program, preview: bool) -> Result<(), Status> {
        for is_dependent in [false, true] {
            let mut steps = JoinSet::new();
            for (name, wish) in program.iter().filter(|(_, wish)| wish.after.is_some() == is_dependent) {
                let (engine, name, wish) = (self.clone(), name.clone(), wish.clone());
                let step = async move { engine.step(&name, &wish, preview).await };
                steps.spawn(Box::pin(step) as BoxFuture<'static, Result<(), Status>>);
            }
            ended(steps).await?;
        }
        Ok(())
    }

    async fn refresh(&self) -> Result<(), Status> {
        let known = self.saved.with(|saved| saved.resources.clone());
        let mut steps = JoinSet::new();
        for (name, stored) in known {
            let engine = self.clone();
            steps.spawn(async move { engine.refreshed(&name, &stored).await });
        }
        ended(steps).await
    }

    async fn refreshed(&self, name: &str, stored: &Stored) -> Result<(), Status> {
        let request = message::ReadRequest {
            id: stored.id.clone(),
            urn: self.urn(name),
            properties: Some(bag(&stored.outputs)),
            inputs: Some(bag(&stored.inputs)),
            name: name.to_owned(),
            r#type: TOKEN.to_owned(),
            ..message::ReadRequest::default()
        };
        let read = self.read(request).await?;
        self.save(|saved| match read {
            Some(read) => drop(saved.resources.insert(name.to_owned(), read)),
            None => drop(saved.resources.remove(name)),
        })
        .await;
        Ok(())
    }

    async fn read(&self, request: message::ReadRequest) -> Result<Option<Stored>, Status> {
        let answer = self.client.clone().read(request).await?.into_inner();
        let read = answer.properties.zip(answer.inputs).filter(|_| !answer.id.is_empty());
        Ok(read.map(|(outputs, inputs)| Stored {
            id: answer.id,
            inputs: json_of(&inputs),
            outputs: json_of(&outputs),
        }))
    }

    /// What is imported. `None`: it is gone, and the user drops the import.
    async fn import(&self, name: &str, id: &str, preview: bool) -> Result<Option<Stored>, Status> {
        let request = message::ReadRequest {
            id: id.to_owned(),
            urn: self.urn(name),
            name: name.to_owned(),
            r#type: TOKEN.to_owned(),
            ..message::ReadRequest::default()
        };
        let read = match self.read(request).await {
            Err(status) if status.message().contains(cloud::GONE) => None,
            read => read?,
        };
        if let Some(read) = read.clone().filter(|_| !preview) {
            world::count("imports");
            self.save(|saved| drop(saved.resources.insert(name.to_owned(), read))).await;
        }
        Ok(read)
    }

    /// What is done to one resource.
    async fn step(&self, name: &str, wish: &Wish, preview: bool) -> Result<(), Status> {
        let old = wish.alias.clone().filter(|alias| {
            self.saved
                .with(|saved| !saved.resources.contains_key(name) && saved.resources.contains_key(alias))
        });
        let known_as = old.as_deref().unwrap_or(name);
        let mut known = self.saved.with(|saved| saved.resources.get(known_as).cloned());
        if let (None, Some(id)) = (&known, &wish.import) {
            known = self.import(name, id, preview).await?;
        }
        let news = self.inputs(wish);
        let inputs = self.checked(name, known.as_ref(), &news).await?;
        let Some(known) = known else {
            if let Some(made) = self.create(name, &inputs, preview).await? {
                self.save(|saved| drop(saved.made(name, made))).await;
            }
            return Ok(());
        };
        let request = message::DiffRequest {
            id: known.id.clone(),
            urn: self.urn(name),
            olds: Some(bag(&known.outputs)),
            old_inputs: Some(bag(&known.inputs)),
            news: Some(bag(&inputs)),
            name: name.to_owned(),
            r#type: TOKEN.to_owned(),
            ..message::DiffRequest::default()
        };
        let difference = self.client.clone().diff(request).await?.into_inner();
        if old.is_some() && !preview {
            self.save(|saved| {
                if let Some(known) = saved.resources.remove(known_as) {
                    saved.resources.insert(name.to_owned(), known);
                }
            })
            .await;
        }
        let replaces = !difference.replaces.is_empty()
            || difference.detailed_diff.values().any(|change| {
                use property_diff::Kind;
                matches!(change.kind(), Kind::AddReplace | Kind::DeleteReplace | Kind::UpdateReplace)
            });
        let is_same = difference.changes == message::diff_response::DiffChanges::DiffNone as i32;
        match (replaces, preview) {
            (true, true) => self.create(name, &inputs, true).await.map(drop),
            (true, false) if wish.delete_first || difference.delete_before_replace => {
                self.delete(name, &known).await?;
                self.save(|saved| saved.resources.retain(|_, kept| kept.id != known.id)).await;
                if let Some(made) = self.create(name, &inputs, false).await? {
                    self.save(|saved| drop(saved.made(name, made))).await;
                }
                Ok(())
            }
            (true, false) => {
                if let Some(made) = self.create(name, &inputs, false).await? {
                    self.save(|saved| {
                        saved.made(name, made);
                        saved.condemned.push((name.to_owned(), known));
                    })
                    .await;
                }
                Ok(())
            }
            (false, _) if is_same => Ok(()),
            (false, _) => self.update(name, &known, &inputs, preview).await,
        }
    }

    fn inputs(&self, wish: &Wish) -> Json {
        let body = wish.body(&self.saved);
        json!({"name": wish.title, "body": body, "color": format!("color {}", wish.color)})
    }

    async fn checked(&self, name: &str, known: Option<&Stored>, news: &Json) -> Result<Json, Status> {
        let request = message::CheckRequest {
            urn: self.urn(name),
            olds: Some(bag(known.map_or(&json!({}), |known| &known.inputs))),
            news: Some(bag(news)),
            random_seed: vec![7; 32].into(),
            name: name.to_owned(),
            r#type: TOKEN.to_owned(),
            ..message::CheckRequest::default()
        };
        let answer = self.client.clone().check(request).await?.into_inner();
        match answer.failures.first() {
            None => Ok(json_of(&answer.inputs.unwrap_or_default())),
            Some(failure) => Err(Status::internal(format!("Check fails: {failure:?}"))),
        }
    }

    /// Creates an object. `None`: it is only previewed.
    async fn create(&self, name: &str, inputs: &Json, preview: bool) -> Result<Option<Stored>, Status> {
        let request = message::CreateRequest {
            urn: self.urn(name),
            properties: Some(bag(inputs)),
            preview,
            name: name.to_owned(),
            r#type: TOKEN.to_owned(),
            ..message::CreateRequest::default()
        };
        if preview {
            self.client.clone().create(request).await?;
            return Ok(None);
        }
        // An engine that is killed meanwhile does not come back from the call.
        self.saved.with(|saved| *saved.unanswered.entry(name.to_owned()).or_default() += 1);
        match self.client.clone().create(request).await {
            Ok(answer) => {
                let answer = answer.into_inner();
                let outputs = json_of(&answer.properties.unwrap_or_default());
                Ok(Some(Stored { id: answer.id, inputs: inputs.clone(), outputs }))
            }
            Err(status) => {
                let Some(half) = half_made(&status) else {
                    world::note(|| format!("creation of {name} fails: {}", status.message()));
                    return Err(status);
                };
                let made = Stored {
                    id: half.id,
                    inputs: half.inputs.as_ref().map_or_else(|| inputs.clone(), json_of),
                    outputs: json_of(&half.properties.unwrap_or_default()),
                };
                self.save(|saved| {
                    if let Some(known) = saved.made(name, made) {
                        saved.condemned.push((name.to_owned(), known));
                    }
                })
                .await;
                Err(status)
            }
        }
    }

    async fn update(&self, name: &str, known: &Stored, inputs: &Json, preview: bool) -> Result<(), Status> {
        let request = message::UpdateRequest {
            id: known.id.clone(),
            urn: self.urn(name),
            olds: Some(bag(&known.outputs)),
            old_inputs: Some(bag(&known.inputs)),
            news: Some(bag(inputs)),
            preview,
            name: name.to_owned(),
            r#type: TOKEN.to_owned(),
            ..message::UpdateRequest::default()
        };
        let updated = match self.client.clone().update(request).await {
            Ok(answer) => {
                let outputs = json_of(&answer.into_inner().properties.unwrap_or_default());
                Ok(Stored { id: known.id.clone(), inputs: inputs.clone(), outputs })
            }
            Err(status) => match half_made(&status) {
                Some(half) => {
                    let half = Stored {
                        id: known.id.clone(),
                        inputs: half.inputs.as_ref().map_or_else(|| inputs.clone(), json_of),
                        outputs: json_of(&half.properties.unwrap_or_default()),
                    };
                    if !preview {
                        self.save(|saved| drop(saved.resources.insert(name.to_owned(), half))).await;
                    }
                    return Err(status);
                }
                None => Err(status),
            },
        };
        match updated {
            // A preview saves nothing.
            outcome if preview => outcome.map(drop),
            Ok(stored) => {
                self.save(|saved| drop(saved.resources.insert(name.to_owned(), stored))).await;
                Ok(())
            }
            Err(status) => {
                // It may be gone: deleted by a run whose engine did not live to hear of it. Users refresh then.
                self.refreshed(name, known).await?;
                Err(status)
            }
        }
    }

    async fn delete(&self, name: &str, known: &Stored) -> Result<(), Status> {
        let request = message::DeleteRequest {
            id: known.id.clone(),
            urn: self.urn(name),
            properties: Some(bag(&known.outputs)),
            old_inputs: Some(bag(&known.inputs)),
            name: name.to_owned(),
            r#type: TOKEN.to_owned(),
            ..message::DeleteRequest::default()
        };
        self.client.clone().delete(request).await.map(drop)
    }

    async fn deletions(&self, program: &Program, habits: &Habits) -> Result<(), Status> {
        let (dropped, condemned) = self.saved.with(|saved| {
            let dropped: Vec<(String, Stored)> = saved
                .resources
                .iter()
                .filter(|(name, _)| !program.contains_key(*name))
                .map(|(name, stored)| (name.clone(), stored.clone()))
                .collect();
            (dropped, saved.condemned.clone())
        });
        if habits.retains {
            self.save(|saved| {
                for (name, stored) in &dropped {
                    saved.resources.remove(name);
                    saved.released.insert(stored.id.clone(), name.clone());
                }
            })
            .await;
        }
        let dropped = if habits.retains { Vec::new() } else { dropped };
        let mut steps = JoinSet::new();
        for (name, stored) in dropped.into_iter().chain(condemned) {
            let engine = self.clone();
            steps.spawn(async move {
                engine.delete(&name, &stored).await?;
                let save = |saved: &mut Saved| {
                    saved.resources.retain(|_, kept| kept.id != stored.id);
                    saved.condemned.retain(|(_, kept)| kept.id != stored.id);
                };
                engine.save(save).await;
                Ok(())
            });
        }
        ended(steps).await
    }

    async fn save(&self, change: impl FnOnce(&mut Saved)) {
        save(&self.saved, &self.dice, change).await;
    }

    fn urn(&self, name: &str) -> String {
        format!("urn:pulumi:{}::sim::{TOKEN}::{name}", self.stack)
    }
}

/// Saves a change of the state, a moment after its cause.
pub(crate) async fn save(saved: &Shared<Saved>, dice: &Shared<Dice>, change: impl FnOnce(&mut Saved)) {
    let pause = dice.with(|dice| dice.below(500));
    tokio::time::sleep(Duration::from_micros(pause)).await;
    saved.with(change);
}

async fn ended(mut steps: JoinSet<Result<(), Status>>) -> Result<(), Status> {
    let mut first = Ok(());
    while let Some(step) = steps.join_next().await {
        let step = step.unwrap_or_else(|error| Err(Status::internal(error.to_string())));
        first = first.and(step);
    }
    first
}

/// Takes what users are told.
pub(crate) async fn serve_log(log: DuplexStream, saved: Shared<Saved>) {
    let load = Load::new(network::LOAD);
    let settings = ServerSettings { window: 1 << 20, most_calls: 4096 };
    let mut server = EngineServer::new(Listener(saved));
    let call = move |request| {
        let answer = server.call(request);
        async move { answer.await.unwrap_or_else(|never| match never {}) }
    };
    serve_connection(log, call, settings, &load, &CancellationToken::new()).await;
}

#[derive(Debug)]
struct Listener(Shared<Saved>);

#[tonic::async_trait]
impl message::engine_server::Engine for Listener {
    async fn log(&self, request: Request<message::LogRequest>) -> Result<Response<()>, Status> {
        let line = request.into_inner();
        if line.severity() == message::LogSeverity::Warning {
            world::note(|| format!("warning: {}", line.message));
            self.0.with(|saved| saved.reports.push(line.message));
        }
        Ok(Response::new(()))
    }
}

/// The name of a resource's objects, which a new name of the resource does not change.
pub(crate) fn title(stack: &str, name: &str) -> String {
    format!("{stack}/{name}")
}
