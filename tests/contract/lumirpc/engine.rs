//! The legacy engine, as far as a provider can see it.

mod program;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use isthmus_proto::lumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::lumirpc::{
    CheckRequest, CheckResponse, CreateRequest, DeleteRequest, DiffRequest, GetRequest, NameRequest,
    UpdateRequest,
};
use isthmus_proto::property::Struct;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tonic::transport::{Channel, Endpoint};
use tonic::{Response, Status};

use crate::harness::engine::Line;
use crate::harness::host::{named, program_path};
use crate::harness::{self, PATIENCE, processes};

/// What a program wants.
#[derive(Clone, Debug)]
pub(crate) struct Goal {
    pub(crate) type_token: String,
    pub(crate) inputs: Struct,
}

/// What becomes of a resource.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Same,
    Create,
    Update,
    Replace(Vec<String>),
    Delete,
}

/// What the engine keeps of a resource.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) type_token: String,
    pub(crate) id: String,
    pub(crate) inputs: Struct,
    pub(crate) defaults: Struct,
    pub(crate) outputs: Struct,
}

/// An engine with one package and one environment.
pub(crate) struct Engine {
    package: String,
    directory: tempfile::TempDir,
    /// Where the plugin keeps its store.
    home: PathBuf,
    provider: PathBuf,
    /// What else is in the plugin's environment.
    settings: Vec<(&'static str, String)>,
    /// Whether a process that stands for the engine starts the plugin.
    has_process: bool,
    service: harness::engine::Engine,
    /// In the order in which they were made.
    environment: Vec<(String, State)>,
    /// What has been replaced, and is to be deleted.
    condemned: Vec<State>,
}

/// One process of the plugin, for one command.
#[derive(Debug)]
pub(crate) struct Plugin {
    /// What the test has started: the plugin, or the process that stands for the engine.
    started: Child,
    process: u32,
    stderr: BufReader<ChildStderr>,
    client: ResourceProviderClient<Channel>,
}

impl Engine {
    /// With a provider that has to be built.
    pub(crate) async fn with_tool(package: &str) -> Self {
        let provider = format!("terraform-provider-{package}");
        let provider = tokio::task::spawn_blocking(move || fixtures::tools::tool(&provider)).await;
        Self::new(package, &provider.expect("a provider")).await
    }

    /// With the provider that the program has in itself.
    pub(crate) async fn with_sandbox() -> Self {
        Self::new("sandbox", Path::new(env!("CARGO_BIN_EXE_isthmus"))).await
    }

    /// With a provider that has to be built, put into place by `isthmus link`.
    pub(crate) async fn with_linked_tool(package: &str) -> Self {
        let engine = Self::with_tool(package).await;
        let directory = engine.directory.path();
        // What was there is out of the way: nothing but the link leads to the provider.
        let elsewhere = directory.join("elsewhere");
        std::fs::create_dir(&elsewhere).expect("a directory");
        let name = |name: &str| program_path(format!("{name}-{package}"));
        let provider = elsewhere.join(name("terraform-provider"));
        std::fs::rename(directory.join(name("terraform-provider")), &provider).expect("moved");
        std::fs::remove_file(directory.join(name("lumi-resource"))).expect("removed");
        let words = ["link", provider.to_str().expect("text"), "--dir", directory.to_str().expect("text")];
        let said = super::tofu::isthmus(directory, &words).succeeded();
        assert!(said.stdout.starts_with("linked: "), "{said:?}");
        let again = super::tofu::isthmus(directory, &words).succeeded();
        assert!(again.stdout.starts_with("linked already: "), "{again:?}");
        engine
    }

    /// With the program's own provider, unpacked in a cache of providers under this address, and put into place by `isthmus link`.
    pub(crate) async fn with_linked_address(address: &str, package: &str) -> Self {
        let engine = Self::new(package, Path::new(env!("CARGO_BIN_EXE_isthmus"))).await;
        let directory = engine.directory.path();
        // Nothing but the link leads to the provider.
        std::fs::remove_file(program_path(directory.join(format!("terraform-provider-{package}"))))
            .expect("removed");
        std::fs::remove_file(program_path(directory.join(format!("lumi-resource-{package}"))))
            .expect("removed");
        let cache = directory.join("cache");
        harness::host::place(Path::new(env!("CARGO_BIN_EXE_isthmus")), &cache, address, "1.0.0");
        let text = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
        let words = ["link", address, "1.0.0", "--as", package, "--dir", &text(directory)];
        let variables =
            [("PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR", text(&cache)), ("ISTHMUS_OFFLINE", "true".to_owned())];
        super::tofu::isthmus_with(directory, &words, &variables).succeeded();
        engine
    }

    async fn new(package: &str, provider: &Path) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        // Both are found by name: the plugin by the engine, the provider by the plugin on its PATH.
        let plugin = directory.path().join(format!("lumi-resource-{package}"));
        named(env!("CARGO_BIN_EXE_isthmus"), plugin);
        named(provider, directory.path().join(format!("terraform-provider-{package}")));
        Self {
            package: package.to_owned(),
            home: directory.path().to_owned(),
            provider: directory.path().to_owned(),
            settings: Vec::new(),
            has_process: false,
            directory,
            service: harness::engine::Engine::start().await,
            environment: Vec::new(),
            condemned: Vec::new(),
        }
    }

    /// With another store, perhaps one that another engine's plugin uses.
    pub(crate) fn with_store_in(self, home: &Path) -> Self {
        Self { home: home.to_owned(), ..self }
    }

    /// The directory with the plugin's store.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Sets a variable of the plugin's environment.
    pub(crate) fn set(&mut self, name: &'static str, value: &str) {
        self.settings.push((name, value.to_owned()));
    }

    /// Has the plugin started by a process of its own that stands for the engine, so that it can be killed.
    pub(crate) fn has_a_process(&mut self) {
        let pipe = self.directory.path().join("in");
        let made = std::process::Command::new("mkfifo").arg(pipe).status().expect("mkfifo");
        assert!(made.success(), "{made}");
        self.has_process = true;
    }

    /// The package's variables.
    pub(crate) fn configure(&self, variables: harness::Json) {
        self.service.set_variables(&self.module(), variables);
    }

    /// The package's variables cannot be evaluated.
    pub(crate) fn refuse_configuration(&self, reason: &str) {
        self.service.refuse_variables(&self.module(), reason);
    }

    fn module(&self) -> String {
        format!("{}:config/vars", self.package)
    }

    /// The modules whose variables were asked for.
    pub(crate) fn asked_for(&self) -> Vec<String> {
        self.service.asked_variables()
    }

    /// What the user was shown.
    pub(crate) fn shown(&self) -> Vec<Line> {
        self.service.shown()
    }

    /// What the engine keeps of a resource.
    pub(crate) fn resource(&self, name: &str) -> &State {
        let found = self.environment.iter().find(|(known, _)| known == name);
        &found.unwrap_or_else(|| panic!("no resource {name} in {:?}", self.environment)).1
    }

    /// Adds a resource to the environment that another engine has made.
    pub(crate) fn knows(&mut self, name: &str, state: State) {
        self.environment.push((name.to_owned(), state));
    }

    /// Starts the plugin.
    pub(crate) async fn start(&self) -> Plugin {
        self.try_start().await.unwrap_or_else(|failure| panic!("the plugin did not start: {failure}"))
    }

    /// Starts the plugin, or tells how it ended.
    pub(crate) async fn try_start(&self) -> Result<Plugin, String> {
        let program = self.directory.path().join(format!("lumi-resource-{}", self.package));
        let mut command = if self.has_process {
            // Only the shell can write into the plugin's input. What it says of a killed plugin is not the plugin's.
            let script = "exec 3<>in; \"$0\" \"$@\" <in 3>&- & exec 2>/dev/null; wait";
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", script]).arg(program).current_dir(self.directory.path());
            shell
        } else {
            Command::new(program)
        };
        let mut started = command
            // Without a host, as this engine writes it.
            .arg(self.service.address().trim_start_matches("127.0.0.1"))
            .args(["--logtostderr", "-v=9"])
            .env("PATH", &self.provider)
            .env("ISTHMUS_HOME", self.home())
            // Only the sandbox looks at it.
            .env("SANDBOX_ODD", "true")
            .env_remove("ISTHMUS_PROVIDER")
            .envs(isthmus_test_engine::provider_logging(self.directory.path()))
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the plugin");
        let mut stdout = BufReader::new(started.stdout.take().expect("its output"));
        let mut stderr = BufReader::new(started.stderr.take().expect("its errors"));
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, stdout.read_line(&mut line)).await;
        read.expect("the plugin neither prints its port nor ends").expect("its output can be read");
        let port: u16 = match line.strip_suffix('\n').map(str::parse) {
            Some(Ok(port)) => port,
            _ => {
                let mut errors = String::new();
                stderr.read_to_string(&mut errors).await.expect("its errors can be read");
                let status = started.wait().await.expect("its end").code();
                let code = status.map_or_else(|| "no status".to_owned(), |code| format!("status {code}"));
                assert!(line.is_empty(), "this is no port: {line:?}");
                return Err(format!("{code}, no port, {errors}"));
            }
        };
        let mut process = started.id().expect("a process that was not waited for");
        if self.has_process {
            process = processes::children(process)[0];
        }
        // No waiting: this engine calls as soon as it has the port.
        let channel =
            Endpoint::from_shared(format!("http://127.0.0.1:{port}")).expect("an address").connect().await;
        let channel = channel.expect("the plugin listens when it prints its port");
        Ok(Plugin { started, process, stderr, client: ResourceProviderClient::new(channel) })
    }

    /// What a deployment would do.
    pub(crate) async fn plan(&self, goals: &[Goal]) -> Result<Vec<(String, Step)>, String> {
        let plugin = self.start().await;
        let planned = self.plan_program(&plugin, goals).await;
        plugin.kill().await;
        planned
    }

    /// Makes the environment what the program wants.
    pub(crate) async fn deploy(&mut self, goals: &[Goal]) -> Result<Vec<(String, Step)>, String> {
        let plugin = self.start().await;
        let deployed = self.deploy_program(&plugin, goals).await;
        plugin.kill().await;
        deployed
    }

    /// A program's own look-up.
    pub(crate) async fn get(&self, type_token: &str, id: &str) -> Result<Option<Struct>, String> {
        let plugin = self.start().await;
        let request = GetRequest { id: id.to_owned(), r#type: type_token.to_owned() };
        let found = plugin.client.clone().get(request).await;
        plugin.kill().await;
        found.map(|response| response.into_inner().properties).map_err(message)
    }
}

impl State {
    /// The defaults, and over them the inputs that are not null.
    fn all_inputs(&self) -> Struct {
        overlaid(&self.defaults, &self.inputs)
    }

    fn all(&self) -> Struct {
        overlaid(&self.all_inputs(), &self.outputs)
    }
}

fn overlaid(below: &Struct, above: &Struct) -> Struct {
    let mut bag = below.clone();
    for (name, value) in above.iter().filter(|(_, value)| !value.is_null()) {
        bag.insert(name, value.clone());
    }
    bag
}

impl Plugin {
    async fn name(&self, goal: &Goal) -> Result<String, String> {
        let request = NameRequest { r#type: goal.type_token.clone(), properties: Some(goal.inputs.clone()) };
        self.client.clone().name(request).await.map(|response| response.into_inner().name).map_err(message)
    }

    pub(crate) async fn check(&self, type_token: &str, properties: Struct) -> Result<CheckResponse, String> {
        let request = CheckRequest { r#type: type_token.to_owned(), properties: Some(properties) };
        self.client.clone().check(request).await.map(Response::into_inner).map_err(message)
    }

    /// Checks, and yields the defaults; any failure stops everything.
    async fn defaults(&self, state: &State) -> Result<Struct, String> {
        let checked = self.check(&state.type_token, state.all_inputs()).await?;
        match &checked.failures[..] {
            [] => Ok(overlaid(&state.defaults, &checked.defaults.unwrap_or_default())),
            failures => Err(format!("{failures:?}")),
        }
    }

    async fn replaces(&self, old: &State, new: &State) -> Result<Vec<String>, String> {
        let request = DiffRequest {
            id: old.id.clone(),
            r#type: old.type_token.clone(),
            olds: Some(old.all_inputs()),
            news: Some(new.all_inputs()),
        };
        self.client
            .clone()
            .diff(request)
            .await
            .map(|response| response.into_inner().replaces)
            .map_err(message)
    }

    async fn create(&self, state: &mut State) -> Result<(), String> {
        let request =
            CreateRequest { r#type: state.type_token.clone(), properties: Some(state.all_inputs()) };
        let created = self.client.clone().create(request).await.map_err(message)?.into_inner();
        assert!(!created.id.is_empty(), "a resource without an id: {created:?}");
        state.id = created.id;
        state.outputs = created.properties.expect("outputs");
        Ok(())
    }

    /// Asks for a resource, and does not wait for it.
    pub(crate) fn begin_create(
        &self,
        goal: &Goal,
    ) -> tokio::task::JoinHandle<Result<Response<isthmus_proto::lumirpc::CreateResponse>, Status>> {
        let (mut client, goal) = (self.client.clone(), goal.clone());
        let request = CreateRequest { r#type: goal.type_token, properties: Some(goal.inputs) };
        tokio::spawn(async move { client.create(request).await })
    }

    async fn update(&self, old: &State, new: &mut State) -> Result<(), String> {
        let request = UpdateRequest {
            id: old.id.clone(),
            r#type: old.type_token.clone(),
            olds: Some(old.all_inputs()),
            news: Some(new.all_inputs()),
        };
        let updated = self.client.clone().update(request).await.map_err(message)?.into_inner();
        new.id.clone_from(&old.id);
        new.outputs = updated.properties.expect("outputs");
        Ok(())
    }

    pub(crate) async fn delete(&self, state: &State) -> Result<(), String> {
        let request = DeleteRequest {
            id: state.id.clone(),
            r#type: state.type_token.clone(),
            properties: Some(state.all()),
        };
        self.client.clone().delete(request).await.map(drop).map_err(message)
    }

    /// Kills its process, which may have ended.
    pub(crate) fn kill_process(&self) {
        processes::kill(self.process);
    }

    /// Kills the process that stands for the engine.
    pub(crate) fn kill_engine(&self) {
        assert_ne!(self.started.id(), Some(self.process), "the plugin was started by the test");
        processes::kill(self.started.id().expect("it has not been waited for"));
    }

    /// Ends the command as this engine does, and looks whether the user was shown anything as an error.
    pub(crate) async fn kill(mut self) {
        self.kill_process();
        self.started.wait().await.expect("its end");
        let mut errors = String::new();
        self.stderr.read_to_string(&mut errors).await.expect("its errors can be read");
        assert_eq!(errors, "", "each line on stderr is shown as an error");
    }
}

fn message(status: Status) -> String {
    status.message().to_owned()
}
