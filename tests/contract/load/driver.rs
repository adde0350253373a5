//! Lifecycles of resources by either service, each call timed.
//!
//! The clients are tonic's own, without a transcript, whose memory would grow with every call.

use std::collections::BTreeMap;
use std::time::Instant;

use isthmus_proto::lumirpc::resource_provider_client::ResourceProviderClient as LumiClient;
use isthmus_proto::property::{Struct, Value};
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient as PulumiClient;
use isthmus_proto::{lumirpc, pulumirpc};
use tonic::transport::Channel;
use tonic::{Response, Status};

use crate::harness::{Protocol, Setup};

/// A call as the report names it: the service's package and the method.
pub(super) type Call = (&'static str, &'static str);

/// The times that answers took, in microseconds.
#[derive(Debug, Default)]
pub(super) struct Timings(pub(super) BTreeMap<Call, Vec<u32>>);

/// The services whose lifecycles a connection carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    Pulumi,
    Lumi,
}

impl Timings {
    async fn of<T>(
        &mut self,
        call: Call,
        answering: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Status> {
        let began = Instant::now();
        let answer = answering.await?;
        let took = u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX);
        self.0.entry(call).or_default().push(took);
        Ok(answer.into_inner())
    }

    pub(super) fn append(&mut self, others: Self) {
        for (call, mut times) in others.0 {
            self.0.entry(call).or_default().append(&mut times);
        }
    }
}

/// A daemon that serves both services with one sandbox provider. `ISTHMUS_LOAD_EXECUTABLE` is another build of it, such as
/// a release.
pub(super) fn daemon(protocol: Protocol) -> Setup {
    let setup = Setup::sandbox(protocol).legacy().without_a_record();
    match std::env::var_os("ISTHMUS_LOAD_EXECUTABLE") {
        Some(executable) => setup.build(executable.into()),
        None => setup,
    }
}

impl Service {
    /// One resource from Check to Delete.
    pub(super) async fn lifecycle(
        self,
        channel: &Channel,
        name: &str,
        timings: &mut Timings,
    ) -> Result<(), Status> {
        match self {
            Self::Pulumi => lifecycle(PulumiClient::new(channel.clone()), name, timings).await,
            Self::Lumi => lumi(channel, name, timings).await,
        }
    }
}

fn note(title: &str, body: &str) -> Struct {
    [("title", Value::from(title)), ("body", Value::from(body))].into()
}

/// One resource from Check to Delete by today's service.
pub(super) async fn lifecycle(
    mut client: PulumiClient<Channel>,
    name: &str,
    timings: &mut Timings,
) -> Result<(), Status> {
    let r#type = || "sandbox:index/note:Note".to_owned();
    let urn = format!("urn:pulumi:test::load::sandbox:index/note:Note::{name}");
    let check = pulumirpc::CheckRequest {
        urn: urn.clone(),
        olds: Some(Struct::new()),
        news: Some(note(name, "a")),
        random_seed: vec![7; 32].into(),
        name: name.to_owned(),
        r#type: r#type(),
        ..Default::default()
    };
    let checked = timings.of(("pulumirpc", "Check"), client.check(check)).await?;
    assert_eq!(checked.failures, [], "Check has nothing to complain about");
    let inputs = checked.inputs;
    let create = pulumirpc::CreateRequest {
        urn: urn.clone(),
        properties: inputs.clone(),
        name: name.to_owned(),
        r#type: r#type(),
        ..Default::default()
    };
    let created = timings.of(("pulumirpc", "Create"), client.create(create)).await?;
    let id = created.id;
    let read = pulumirpc::ReadRequest {
        id: id.clone(),
        urn: urn.clone(),
        properties: created.properties.clone(),
        inputs: inputs.clone(),
        name: name.to_owned(),
        r#type: r#type(),
        ..Default::default()
    };
    let read = timings.of(("pulumirpc", "Read"), client.read(read)).await?;
    assert_eq!(read.id, id, "what was created is read");
    let diff = |old_inputs: &Option<Struct>, olds: &Option<Struct>, body: &str| pulumirpc::DiffRequest {
        id: id.clone(),
        urn: urn.clone(),
        olds: olds.clone(),
        old_inputs: old_inputs.clone(),
        news: Some(note(name, body)),
        name: name.to_owned(),
        r#type: r#type(),
        ..Default::default()
    };
    let request = diff(&inputs, &read.properties, "b");
    let differs = timings.of(("pulumirpc", "Diff of a change"), client.diff(request)).await?;
    assert_eq!(differs.changes(), pulumirpc::diff_response::DiffChanges::DiffSome);
    let news = Some(note(name, "b"));
    let update = pulumirpc::UpdateRequest {
        id: id.clone(),
        urn: urn.clone(),
        olds: read.properties,
        old_inputs: inputs,
        news: news.clone(),
        name: name.to_owned(),
        r#type: r#type(),
        ..Default::default()
    };
    let updated = timings.of(("pulumirpc", "Update"), client.update(update)).await?.properties;
    let request = diff(&news, &updated, "b");
    let same = timings.of(("pulumirpc", "Diff"), client.diff(request)).await?;
    assert_eq!(same.changes(), pulumirpc::diff_response::DiffChanges::DiffNone);
    let delete = pulumirpc::DeleteRequest {
        id: id.clone(),
        urn: urn.clone(),
        properties: updated,
        old_inputs: news,
        name: name.to_owned(),
        r#type: r#type(),
        ..Default::default()
    };
    timings.of(("pulumirpc", "Delete"), client.delete(delete)).await
}

async fn lumi(channel: &Channel, name: &str, timings: &mut Timings) -> Result<(), Status> {
    let mut client = LumiClient::new(channel.clone());
    let r#type = || "sandbox:note:Note".to_owned();
    let (first, second) = (note(name, "a"), note(name, "b"));
    let check = lumirpc::CheckRequest { r#type: r#type(), properties: Some(first.clone()) };
    let checked = timings.of(("lumirpc", "Check"), client.check(check)).await?;
    assert_eq!(checked.failures, [], "Check has nothing to complain about");
    let create = lumirpc::CreateRequest { r#type: r#type(), properties: Some(first.clone()) };
    let id = timings.of(("lumirpc", "Create"), client.create(create)).await?.id;
    let get = lumirpc::GetRequest { id: id.clone(), r#type: r#type() };
    let read = timings.of(("lumirpc", "Get"), client.get(get)).await?.properties;
    assert!(read.is_some(), "what was created is read");
    let diff = |olds: &Struct| lumirpc::DiffRequest {
        id: id.clone(),
        r#type: r#type(),
        olds: Some(olds.clone()),
        news: Some(second.clone()),
    };
    let in_place = timings.of(("lumirpc", "Diff of a change"), client.diff(diff(&first))).await?;
    assert_eq!(in_place.replaces, Vec::<String>::new());
    let update = lumirpc::UpdateRequest {
        id: id.clone(),
        r#type: r#type(),
        olds: Some(first.clone()),
        news: Some(second.clone()),
    };
    let updated = timings.of(("lumirpc", "Update"), client.update(update)).await?.properties;
    let same = timings.of(("lumirpc", "Diff"), client.diff(diff(&second))).await?;
    assert_eq!(same.replaces, Vec::<String>::new());
    let delete = lumirpc::DeleteRequest { id: id.clone(), r#type: r#type(), properties: updated };
    timings.of(("lumirpc", "Delete"), client.delete(delete)).await
}
