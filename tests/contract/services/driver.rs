//! One way to speak to either service: the calls that both have, with the messages of each.

use isthmus_proto::lumirpc::resource_provider_client::ResourceProviderClient as LumiClient;
use isthmus_proto::lumirpc::{
    CheckRequest, CreateRequest, DeleteRequest, DiffRequest, GetRequest, UpdateRequest,
};
use isthmus_proto::property::Struct;
use tonic::Status;
use tonic::transport::Channel;

use crate::harness::engine::SIGNATURE;
use crate::harness::resource::{Resource, half_made};
use crate::harness::{Host, Json, PATIENCE, Protocol, Session, Setup, Stored, bag, json, json_of};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Today,
    Legacy,
}

/// Where a scenario runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) service: Service,
    pub(crate) protocol: Protocol,
}

impl At {
    /// Starts the daemon beside the sandbox provider.
    pub(crate) async fn sandbox(self) -> Result<Client, Status> {
        self.start(Setup::sandbox(self.protocol)).await
    }

    /// Starts the daemon beside the provider on HashiCorp's libraries.
    pub(crate) async fn conformance(self) -> Result<Client, Status> {
        self.start(Setup::conformance(self.protocol)).await
    }

    /// Starts the daemon in the role of this service, and configures its provider with nothing.
    pub(crate) async fn start(self, setup: Setup) -> Result<Client, Status> {
        match self.service {
            Service::Today => {
                let (host, session) = setup.session().await?;
                Ok(Client { host, connection: Connection::Today(session) })
            }
            Service::Legacy => {
                let host = setup.legacy().start().await;
                let client = LumiClient::new(host.channel().await);
                Ok(Client { host, connection: Connection::Legacy(client) })
            }
        }
    }
}

/// An engine with one connection.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) host: Host,
    connection: Connection,
}

#[derive(Clone, Debug)]
enum Connection {
    Today(Session),
    Legacy(LumiClient<Channel>),
}

impl Client {
    /// Speaks about a resource.
    pub(crate) fn resource(&self, token: &str) -> Driven {
        match &self.connection {
            Connection::Today(session) => Driven::Today(session.resource(token, "it")),
            Connection::Legacy(client) => {
                Driven::Legacy(LegacyResource { client: client.clone(), token: token.to_owned() })
            }
        }
    }

    /// What only today's service has.
    pub(crate) fn session(&self) -> Option<&Session> {
        match &self.connection {
            Connection::Today(session) => Some(session),
            Connection::Legacy(_) => None,
        }
    }

    pub(crate) fn note(&self) -> Driven {
        self.resource("sandbox:index/note:Note")
    }

    pub(crate) fn faulty(&self) -> Driven {
        self.resource("sandbox:index/faulty:Faulty")
    }

    pub(crate) fn server(&self) -> Driven {
        self.resource("sandbox:index/server:Server")
    }

    pub(crate) fn record(&self) -> Driven {
        self.resource("conformance:index/record:Record")
    }

    /// How often the provider was called to apply something.
    pub(crate) fn applied(&self) -> usize {
        self.host.count("ApplyResourceChange")
    }

    /// The warnings that were shown.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.host.engine.warnings()
    }
}

/// A resource of either service. Scenarios have bags as today's engine sends them; the legacy engine has no secrets.
#[derive(Debug)]
pub(crate) enum Driven {
    Today(Resource),
    Legacy(LegacyResource),
}

#[derive(Debug)]
pub(crate) struct LegacyResource {
    client: LumiClient<Channel>,
    token: String,
}

impl Driven {
    /// Check: the inputs, and the property and reason of each failure.
    pub(crate) async fn check(&self, news: &Json) -> Result<(Json, Vec<(String, String)>), Status> {
        match self {
            Self::Today(resource) => {
                let checked = resource.check(news).await?;
                Ok((checked.inputs, checked.failures))
            }
            Self::Legacy(resource) => {
                let request = CheckRequest { r#type: resource.token.clone(), properties: Some(named(news)) };
                let checked = resource.call(async |mut client| client.check(request).await).await?;
                let failures = checked.failures.into_iter();
                let failures = failures.map(|failure| (failure.property, failure.reason)).collect();
                let defaults = json_of(&checked.defaults.unwrap_or_default());
                Ok((overlaid(&defaults, &plain(news)), failures))
            }
        }
    }

    pub(crate) async fn create(&self, inputs: &Json) -> Result<Stored, Status> {
        match self {
            Self::Today(resource) => resource.create(inputs).await,
            Self::Legacy(resource) => {
                let request =
                    CreateRequest { r#type: resource.token.clone(), properties: Some(named(inputs)) };
                let made = resource.call(async |mut client| client.create(request).await).await?;
                let outputs = json_of(&made.properties.expect("Create returns properties"));
                Ok(Stored { id: made.id, inputs: inputs.clone(), outputs })
            }
        }
    }

    /// Check, which may not fail, and Create.
    pub(crate) async fn make(&self, news: &Json) -> Result<Stored, Status> {
        let (inputs, failures) = self.check(news).await?;
        assert_eq!(failures, [], "{news}");
        self.create(&inputs).await
    }

    /// The properties that Diff replaces the resource for.
    pub(crate) async fn replaces(&self, stored: &Stored, news: &Json) -> Result<Vec<String>, Status> {
        match self {
            Self::Today(resource) => Ok(resource.diff(stored, news).await?.replaces),
            Self::Legacy(resource) => {
                let request = DiffRequest {
                    id: stored.id.clone(),
                    r#type: resource.token.clone(),
                    olds: Some(named(&stored.inputs)),
                    news: Some(named(news)),
                };
                Ok(resource.call(async |mut client| client.diff(request).await).await?.replaces)
            }
        }
    }

    pub(crate) async fn update(&self, stored: &Stored, news: &Json) -> Result<Stored, Status> {
        match self {
            Self::Today(resource) => resource.update(stored, news).await,
            Self::Legacy(resource) => {
                let request = UpdateRequest {
                    id: stored.id.clone(),
                    r#type: resource.token.clone(),
                    olds: Some(named(&stored.inputs)),
                    news: Some(named(news)),
                };
                let updated = resource.call(async |mut client| client.update(request).await).await?;
                let outputs = json_of(&updated.properties.expect("Update returns properties"));
                Ok(Stored { id: stored.id.clone(), inputs: news.clone(), outputs })
            }
        }
    }

    /// The outputs as they are now. `None`: there is no such object.
    pub(crate) async fn read(&self, stored: &Stored) -> Result<Option<Json>, Status> {
        match self {
            Self::Today(resource) => Ok(resource.refresh(stored).await?.map(|read| read.outputs)),
            Self::Legacy(resource) => resource.get(&stored.id).await,
        }
    }

    /// The outputs of an object that the engine does not know.
    pub(crate) async fn look_up(&self, id: &str) -> Result<Option<Json>, Status> {
        match self {
            Self::Today(resource) => Ok(resource.import(id).await?.map(|read| read.outputs)),
            Self::Legacy(resource) => resource.get(id).await,
        }
    }

    /// What an engine stores of an object that it takes over, with the inputs of its program: today's by an import.
    pub(crate) async fn take_over(&self, id: &str, inputs: &Json) -> Result<Stored, Status> {
        let outputs = self.look_up(id).await?.expect("it is there");
        Ok(Stored { id: id.to_owned(), inputs: inputs.clone(), outputs })
    }

    pub(crate) async fn delete(&self, stored: &Stored) -> Result<(), Status> {
        match self {
            Self::Today(resource) => resource.delete(stored).await,
            Self::Legacy(resource) => {
                let request = DeleteRequest {
                    id: stored.id.clone(),
                    r#type: resource.token.clone(),
                    properties: Some(bag(&overlaid(&json_of(&named(&stored.inputs)), &stored.outputs))),
                };
                resource.call(async |mut client| client.delete(request).await).await
            }
        }
    }

    /// What the engine stores of a resource after an update that has failed.
    pub(crate) fn after_failure(&self, stored: &Stored, status: &Status) -> Stored {
        match (self, half_made(status)) {
            (Self::Today(_), Some(partial)) => {
                let outputs = json_of(&partial.properties.expect("a partial result has properties"));
                Stored { outputs, ..stored.clone() }
            }
            (Self::Today(_), None) | (Self::Legacy(_), _) => stored.clone(),
        }
    }

    /// What only today's service has.
    pub(crate) fn today(&self) -> &Resource {
        match self {
            Self::Today(resource) => resource,
            Self::Legacy(_) => panic!("the legacy service cannot express this"),
        }
    }
}

impl LegacyResource {
    async fn call<T>(
        &self,
        call: impl AsyncFnOnce(LumiClient<Channel>) -> Result<tonic::Response<T>, Status>,
    ) -> Result<T, Status> {
        let answer = tokio::time::timeout(PATIENCE, call(self.client.clone())).await;
        Ok(answer.expect("a call hangs")?.into_inner())
    }

    async fn get(&self, id: &str) -> Result<Option<Json>, Status> {
        let request = GetRequest { id: id.to_owned(), r#type: self.token.clone() };
        let found = self.call(async |mut client| client.get(request).await).await?;
        Ok(found.properties.as_ref().map(json_of))
    }
}

/// Inputs as a legacy program gives them: with the resource's name, and without marks of secrets.
fn named(inputs: &Json) -> Struct {
    bag(&overlaid(&json!({"urnName": "it"}), &plain(inputs)))
}

fn plain(value: &Json) -> Json {
    match value {
        Json::Object(members) if members.contains_key(SIGNATURE) => plain(&members["value"]),
        Json::Object(members) => {
            Json::Object(members.iter().map(|(name, value)| (name.clone(), plain(value))).collect())
        }
        Json::Array(values) => values.iter().map(plain).collect(),
        other => other.clone(),
    }
}

/// One bag, and over it what is not null in the other, as the legacy engine lays them over each other.
fn overlaid(below: &Json, above: &Json) -> Json {
    let mut bag = below.clone();
    for (name, value) in above.as_object().expect("a bag") {
        if !value.is_null() {
            bag[name] = value.clone();
        }
    }
    bag
}
