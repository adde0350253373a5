//! The same faults in the calls of the legacy engine.
//!
//! Its plugin has one provider, which starts with it, and keeps objects in its store: what is changed was made by another
//! process of the plugin, whose provider had no fault.

use std::sync::Arc;
use std::time::Instant;

use isthmus_proto::lumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::lumirpc::{
    CheckRequest, CreateRequest, CreateResponse, DeleteRequest, GetRequest, UpdateRequest,
};
use isthmus_proto::property::{Struct, Value};
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tonic::transport::Channel;

use super::{AT_ONCE, Call, FAULTS, LONGEST, Seen, Table, Way};
use crate::harness::processes::ended;
use crate::harness::{Host, PATIENCE, Protocol, Setup, Status};

const NOTE: &str = "sandbox:index/note:Note";

pub(super) const CALLS: [Call; 7] = [
    Call("ValidateResourceConfig", Some("ValidateResourceTypeConfig"), "", Way::Check),
    Call("PlanResourceChange", None, "", Way::Create),
    Call("ApplyResourceChange", None, " (create)", Way::Create),
    Call("ApplyResourceChange", None, " (update)", Way::Update),
    Call("ApplyResourceChange", None, " (delete)", Way::Delete),
    Call("UpgradeResourceState", None, "", Way::Refresh),
    Call("ReadResource", None, "", Way::Refresh),
];

/// Those without a Cancel.
pub(super) fn faults() -> Vec<(&'static str, &'static str)> {
    FAULTS.into_iter().filter(|(fault, _)| !matches!(*fault, "hang" | "late")).collect()
}

struct Cell {
    protocol: Protocol,
    call: &'static Call,
    fault: &'static str,
    directory: Arc<TempDir>,
}

type Client = ResourceProviderClient<Channel>;

fn note(body: &str) -> Struct {
    [("title", Value::from("Hello")), ("body", body.into())].into()
}

async fn create(client: &mut Client) -> Result<CreateResponse, Status> {
    let request = CreateRequest { r#type: NOTE.to_owned(), properties: Some(note("first")) };
    Ok(client.create(request).await?.into_inner())
}

impl Cell {
    fn setup(&self) -> Setup {
        Setup::sandbox(self.protocol).legacy().within(&self.directory)
    }

    async fn client(host: &Host) -> Client {
        ResourceProviderClient::new(host.channel().await)
    }

    /// The processes of the provider so far.
    fn processes(&self, host: &Host) -> Vec<u32> {
        let text = std::fs::read_to_string(format!("{}.processes", host.provider())).expect("it has started");
        text.lines().map(|line| line.parse().expect("a process id")).collect()
    }

    /// Does what has the method called.
    async fn go(&self, client: &mut Client, made: &CreateResponse) -> Result<(), Status> {
        let (id, r#type) = (made.id.clone(), NOTE.to_owned());
        match self.call.3 {
            Way::Check => drop(client.check(CheckRequest { r#type, properties: Some(note("first")) }).await?),
            Way::Create => drop(create(client).await?),
            Way::Update => {
                let (olds, news) = (Some(note("first")), Some(note("second")));
                drop(client.update(UpdateRequest { id, r#type, olds, news }).await?);
            }
            Way::Delete => {
                let mut properties = note("first");
                for (name, value) in made.properties.iter().flat_map(Struct::iter) {
                    properties.insert(name, value.clone());
                }
                drop(client.delete(DeleteRequest { id, r#type, properties: Some(properties) }).await?);
            }
            Way::Refresh => drop(client.get(GetRequest { id, r#type }).await?),
            other => panic!("the service has no {other:?}"),
        }
        Ok(())
    }

    async fn run(&self) -> Seen {
        let Call(six, _, what, _) = self.call;
        let cell = format!("{six}{what}, {}, protocol {}, legacy engine", self.fault, self.protocol);
        let host = self.setup().start().await;
        let made = create(&mut Self::client(&host).await).await;
        let made = made.unwrap_or_else(|status| panic!("before {cell}: {status}"));
        drop(host);

        let script = self.call.script(self.protocol, self.fault, "\"$REAL\"");
        let host = self.setup().wrapped(&script).start().await;
        let mut client = Self::client(&host).await;
        let begun = Instant::now();
        let outcome = self.go(&mut client, &made).await;
        assert!(begun.elapsed() < LONGEST, "{cell} took {:?}", begun.elapsed());
        if let Err(status) = &outcome {
            self.call.check_explanation(&cell, self.fault, self.protocol, status);
        }
        let before = self.processes(&host).len();
        create(&mut client).await.unwrap_or_else(|status| panic!("the call after {cell}: {status}"));
        assert!(host.lives(), "{cell}: the plugin goes on");
        let processes = self.processes(&host);
        drop(host);
        for process in &processes {
            ended(*process).await;
        }
        Seen::of(self.call, self.protocol, outcome.err(), processes.len() > before)
    }
}

/// Runs all cells of a protocol.
pub(super) async fn table(protocol: Protocol) -> Table {
    let room = Arc::new(Semaphore::new(AT_ONCE / 2));
    let mut cells = JoinSet::new();
    for call in &CALLS {
        for (fault, _) in faults() {
            let room = Arc::clone(&room);
            let directory = Arc::new(tempfile::tempdir().expect("a directory"));
            let cell = Cell { protocol, call, fault, directory };
            cells.spawn(async move {
                let _room = room.acquire_owned().await.expect("it is never closed");
                let seen = tokio::time::timeout(PATIENCE * 2, cell.run()).await;
                let name = format!("{}{}", call.0, call.2);
                let seen =
                    seen.unwrap_or_else(|_| panic!("{name} hangs with {fault} with the legacy engine"));
                ((fault, name), seen)
            });
        }
    }
    cells.join_all().await.into_iter().collect()
}
