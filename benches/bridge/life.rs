//! The life of one resource, as the engine's calls.
//!
//! Answers are looked at, not only timed: a bridge that answers fast and wrong must not win.

use anyhow::{Context as _, bail};
use isthmus_proto::property::Struct;
use isthmus_proto::pulumirpc::diff_response::DiffChanges;
use isthmus_proto::pulumirpc::{
    CheckRequest, CheckResponse, CreateRequest, CreateResponse, DeleteRequest, DiffRequest, DiffResponse,
    ReadRequest, ReadResponse, UpdateRequest, UpdateResponse,
};

use crate::calls::{Call, Samples};
use crate::engine::{Client, Took};
use crate::workload::{Case, Change, bag};

/// The connection to a bridge. Copies share it.
#[derive(Clone, Debug)]
pub(crate) struct BridgeClient(Client);

/// Makes a call, and notes how long it took.
macro_rules! timed {
    ($samples:expr, $call:expr, $future:expr) => {{
        let answer = $future.await.with_context(|| format!("{} failed", $call.title()))?;
        $samples.add($call, Took::of(&answer));
        answer.into_inner()
    }};
}

impl BridgeClient {
    pub(super) fn new(client: Client) -> Self {
        Self(client)
    }

    /// Takes resource number `index` from its first Check to its Delete.
    pub(crate) async fn live(
        &mut self,
        case: &Case,
        index: usize,
        samples: &mut Samples,
    ) -> anyhow::Result<()> {
        let name = format!("resource-{index}");
        let who = Who {
            urn: format!("urn:pulumi:bench::isthmus::{}::{name}", case.token),
            name,
            token: case.token,
        };
        self.walk(case, &who, samples).await.with_context(|| who.urn.clone())
    }

    /// A call that is answered from memory.
    pub(crate) async fn empty(&mut self) -> anyhow::Result<()> {
        self.0.get_plugin_info(()).await.context("GetPluginInfo failed").map(drop)
    }

    /// Checks the first resource of a stack.
    pub(crate) async fn check_first(
        &mut self,
        stack: &str,
        token: &'static str,
        inputs: Struct,
    ) -> anyhow::Result<Struct> {
        let check = Who::first(stack, token).check(Struct::new(), inputs);
        accepted(self.0.check(check).await.context("Check failed")?.into_inner())
    }

    /// Plans the first resource of a stack.
    pub(crate) async fn preview_first(
        &mut self,
        stack: &str,
        token: &'static str,
        inputs: Struct,
    ) -> anyhow::Result<()> {
        let create = Who::first(stack, token).create(inputs, true);
        let planned = self.0.create(create).await.context("Create (preview) failed")?.into_inner();
        bag_of(planned.properties, "Create (preview)").map(drop)
    }

    /// Makes the first resource of a stack, and returns its outputs: Check and Create.
    pub(crate) async fn create_first(
        &mut self,
        stack: &str,
        token: &'static str,
        inputs: Struct,
    ) -> anyhow::Result<Struct> {
        let inputs = self.check_first(stack, token, inputs).await?;
        let create = Who::first(stack, token).create(inputs, false);
        let created = self.0.create(create).await.context("Create failed")?.into_inner();
        if created.id.is_empty() {
            bail!("Create answered without an id");
        }
        bag_of(created.properties, "Create")
    }

    async fn walk(&mut self, case: &Case, who: &Who, samples: &mut Samples) -> anyhow::Result<()> {
        let client = &mut self.0;

        let request = who.check(Struct::new(), bag(case.inputs));
        let inputs = accepted(timed!(samples, Call::Check, client.check(request)))?;

        let preview: CreateResponse =
            timed!(samples, Call::CreatePreview, client.create(who.create(inputs.clone(), true)));
        bag_of(preview.properties, "Create (preview)")?;

        let created: CreateResponse =
            timed!(samples, Call::Create, client.create(who.create(inputs.clone(), false)));
        let mut outputs = bag_of(created.properties, "Create")?;
        let id = created.id;
        if id.is_empty() {
            bail!("Create answered without an id");
        }

        let request = who.diff(&id, &outputs, &inputs, inputs.clone());
        let same: DiffResponse = timed!(samples, Call::Diff, client.diff(request));
        if same.changes() != DiffChanges::DiffNone {
            bail!("Diff finds changes where there are none: {same:?}");
        }

        let request = ReadRequest {
            id: id.clone(),
            urn: who.urn.clone(),
            properties: Some(outputs.clone()),
            inputs: Some(inputs.clone()),
            name: who.name.clone(),
            r#type: who.token.to_owned(),
            ..ReadRequest::default()
        };
        let read: ReadResponse = timed!(samples, Call::Read, client.read(request));
        if read.id != id {
            bail!("Read was asked for {id:?} and found {:?}", read.id);
        }
        outputs = bag_of(read.properties, "Read")?;

        let request = who.check(inputs.clone(), bag(case.changed));
        let changed = accepted(timed!(samples, Call::Check, client.check(request)))?;
        let request = who.diff(&id, &outputs, &inputs, changed.clone());
        let diff: DiffResponse = timed!(samples, Call::DiffChanged, client.diff(request));
        let replaced = if diff.replaces.is_empty() { Change::InPlace } else { Change::Replace };
        if diff.changes() != DiffChanges::DiffSome || replaced != case.change {
            bail!("Diff is expected to find a change ({:?}), and answers {diff:?}", case.change);
        }

        let mut old_inputs = inputs;
        if case.change == Change::InPlace {
            let request = who.update(&id, &outputs, &old_inputs, changed.clone(), true);
            let preview: UpdateResponse = timed!(samples, Call::UpdatePreview, client.update(request));
            bag_of(preview.properties, "Update (preview)")?;
            let request = who.update(&id, &outputs, &old_inputs, changed.clone(), false);
            let updated: UpdateResponse = timed!(samples, Call::Update, client.update(request));
            outputs = bag_of(updated.properties, "Update")?;
            old_inputs = changed;
        }

        let request = DeleteRequest {
            id,
            urn: who.urn.clone(),
            properties: Some(outputs),
            old_inputs: Some(old_inputs),
            name: who.name.clone(),
            r#type: who.token.to_owned(),
            ..DeleteRequest::default()
        };
        timed!(samples, Call::Delete, client.delete(request));
        Ok(())
    }
}

fn accepted(answer: CheckResponse) -> anyhow::Result<Struct> {
    if let Some(failure) = answer.failures.first() {
        bail!("Check refused valid inputs: {} {}", failure.property, failure.reason);
    }
    bag_of(answer.inputs, "Check")
}

fn bag_of(bag: Option<Struct>, call: &str) -> anyhow::Result<Struct> {
    match bag {
        Some(bag) if !bag.is_empty() => Ok(bag),
        Some(_) | None => bail!("{call} answered without properties"),
    }
}

/// What every request says of its resource.
struct Who {
    urn: String,
    name: String,
    token: &'static str,
}

impl Who {
    fn first(stack: &str, token: &'static str) -> Self {
        let name = "first".to_owned();
        Self { urn: format!("urn:pulumi:{stack}::isthmus::{token}::{name}"), name, token }
    }

    fn check(&self, olds: Struct, news: Struct) -> CheckRequest {
        CheckRequest {
            urn: self.urn.clone(),
            olds: Some(olds),
            news: Some(news),
            random_seed: bytes::Bytes::from_static(&[7; 32]),
            name: self.name.clone(),
            r#type: self.token.to_owned(),
            ..CheckRequest::default()
        }
    }

    fn create(&self, inputs: Struct, preview: bool) -> CreateRequest {
        CreateRequest {
            urn: self.urn.clone(),
            properties: Some(inputs),
            preview,
            name: self.name.clone(),
            r#type: self.token.to_owned(),
            ..CreateRequest::default()
        }
    }

    fn diff(&self, id: &str, olds: &Struct, old_inputs: &Struct, news: Struct) -> DiffRequest {
        DiffRequest {
            id: id.to_owned(),
            urn: self.urn.clone(),
            olds: Some(olds.clone()),
            news: Some(news),
            old_inputs: Some(old_inputs.clone()),
            name: self.name.clone(),
            r#type: self.token.to_owned(),
            ..DiffRequest::default()
        }
    }

    fn update(
        &self,
        id: &str,
        olds: &Struct,
        old_inputs: &Struct,
        news: Struct,
        preview: bool,
    ) -> UpdateRequest {
        UpdateRequest {
            id: id.to_owned(),
            urn: self.urn.clone(),
            olds: Some(olds.clone()),
            news: Some(news),
            preview,
            old_inputs: Some(old_inputs.clone()),
            name: self.name.clone(),
            r#type: self.token.to_owned(),
            ..UpdateRequest::default()
        }
    }
}
