//! One resource, as an engine speaks about it.

use isthmus_proto::pulumirpc::check_request::AutonamingOptions;
use isthmus_proto::pulumirpc::{
    CheckRequest, CheckResponse, CreateRequest, DeleteRequest, DiffRequest, DiffResponse, ReadRequest,
    UpdateRequest, diff_response, property_diff,
};
use serde_json::{Value as Json, json};
use tonic::Status;

use super::{Session, bag, json_of};

pub(crate) use isthmus_test_engine::{half_made, is_awaited};

/// The seed that an engine sends.
const SEED: [u8; 32] = [7; 32];

/// A resource of a program.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    session: Session,
    token: String,
    name: String,
    urn: String,
    /// In seconds; 0: none.
    timeout: f64,
    ignored: Vec<String>,
}

/// What an engine stores of a resource.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stored {
    pub(crate) id: String,
    pub(crate) inputs: Json,
    pub(crate) outputs: Json,
}

/// What Check answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Checked {
    pub(crate) inputs: Json,
    /// Property and reason of each.
    pub(crate) failures: Vec<(String, String)>,
}

/// What Diff answers, in short.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Whether there is any.
    pub(crate) some: bool,
    pub(crate) replaces: Vec<String>,
    pub(crate) delete_before_replace: bool,
    /// `add NAME`, `update NAME`, `delete NAME`, with `-replace` behind the verb where it replaces; in order.
    pub(crate) changes: Vec<String>,
}

impl Resource {
    pub(super) fn new(session: Session, token: &str, name: &str) -> Self {
        let urn = format!("urn:pulumi:{}::contract::{token}::{name}", session.stack());
        Self {
            session,
            token: token.to_owned(),
            name: name.to_owned(),
            urn,
            timeout: 0.0,
            ignored: Vec::new(),
        }
    }

    /// The same with `customTimeouts` of so many seconds for whatever is done to it.
    pub(crate) fn within(&self, seconds: f64) -> Self {
        Self { timeout: seconds, ..self.clone() }
    }

    /// The same with `ignoreChanges`.
    pub(crate) fn ignoring(&self, paths: &[&str]) -> Self {
        Self { ignored: paths.iter().map(|path| (*path).to_owned()).collect(), ..self.clone() }
    }

    /// The same below a parent of this type.
    pub(crate) fn below(&self, parent: &str) -> Self {
        let Self { token, name, .. } = self;
        Self {
            urn: format!("urn:pulumi:{}::contract::{parent}${token}::{name}", self.session.stack()),
            ..self.clone()
        }
    }

    /// How the engine calls it.
    pub(crate) fn urn(&self) -> &str {
        &self.urn
    }

    /// Check of a new resource.
    pub(crate) async fn check(&self, news: &Json) -> Result<Checked, Status> {
        self.check_again(&json!({}), news).await
    }

    /// Check of a resource that has inputs already.
    pub(crate) async fn check_again(&self, olds: &Json, news: &Json) -> Result<Checked, Status> {
        self.check_named(olds, news, &SEED, None).await
    }

    /// Check with all that an engine has to say about names.
    pub(crate) async fn check_named(
        &self,
        olds: &Json,
        news: &Json,
        seed: &[u8],
        autonaming: Option<AutonamingOptions>,
    ) -> Result<Checked, Status> {
        let request = CheckRequest {
            urn: self.urn.clone(),
            olds: Some(bag(olds)),
            news: Some(bag(news)),
            random_seed: seed.to_vec().into(),
            name: self.name.clone(),
            r#type: self.token.clone(),
            autonaming,
            ..Default::default()
        };
        let answer = self
            .session
            .call("Check", request, async |mut client, request| client.check(request).await)
            .await?;
        Ok(Checked::from(answer))
    }

    /// Check that has nothing to complain about: the inputs.
    pub(crate) async fn checked(&self, news: &Json) -> Result<Json, Status> {
        let checked = self.check(news).await?;
        assert_eq!(checked.failures, [], "Check has nothing to complain about");
        Ok(checked.inputs)
    }

    /// The whole of Diff's answer.
    pub(crate) async fn diff_in_full(
        &self,
        stored: &Stored,
        news: &Json,
        ignore_changes: &[&str],
    ) -> Result<DiffResponse, Status> {
        let request = DiffRequest {
            id: stored.id.clone(),
            urn: self.urn.clone(),
            olds: Some(bag(&stored.outputs)),
            old_inputs: Some(bag(&stored.inputs)),
            news: Some(bag(news)),
            ignore_changes: ignore_changes.iter().map(|path| (*path).to_owned()).collect(),
            name: self.name.clone(),
            r#type: self.token.clone(),
        };
        self.session.call("Diff", request, async |mut client, request| client.diff(request).await).await
    }

    pub(crate) async fn diff(&self, stored: &Stored, news: &Json) -> Result<Difference, Status> {
        let ignored: Vec<&str> = self.ignored.iter().map(String::as_str).collect();
        Ok(Difference::from(self.diff_in_full(stored, news, &ignored).await?))
    }

    pub(crate) async fn preview_create(&self, inputs: &Json) -> Result<Json, Status> {
        Ok(self.send_create(inputs, true).await?.outputs)
    }

    pub(crate) async fn create(&self, inputs: &Json) -> Result<Stored, Status> {
        self.send_create(inputs, false).await
    }

    /// Check and Create.
    pub(crate) async fn make(&self, news: &Json) -> Result<Stored, Status> {
        self.create(&self.checked(news).await?).await
    }

    async fn send_create(&self, inputs: &Json, preview: bool) -> Result<Stored, Status> {
        let request = CreateRequest {
            urn: self.urn.clone(),
            properties: Some(bag(inputs)),
            preview,
            name: self.name.clone(),
            r#type: self.token.clone(),
            timeout: self.timeout,
            ..Default::default()
        };
        let name = if preview { "Create (preview)" } else { "Create" };
        let answer = self
            .session
            .call(name, request, async |mut client, request| client.create(request).await)
            .await?;
        let outputs = json_of(&answer.properties.expect("Create answers with properties"));
        Ok(Stored { id: answer.id, inputs: inputs.clone(), outputs })
    }

    pub(crate) async fn preview_update(&self, stored: &Stored, news: &Json) -> Result<Json, Status> {
        Ok(self.send_update(stored, news, true).await?.outputs)
    }

    pub(crate) async fn update(&self, stored: &Stored, news: &Json) -> Result<Stored, Status> {
        self.send_update(stored, news, false).await
    }

    async fn send_update(&self, stored: &Stored, news: &Json, preview: bool) -> Result<Stored, Status> {
        let request = UpdateRequest {
            id: stored.id.clone(),
            urn: self.urn.clone(),
            olds: Some(bag(&stored.outputs)),
            old_inputs: Some(bag(&stored.inputs)),
            news: Some(bag(news)),
            ignore_changes: self.ignored.clone(),
            preview,
            name: self.name.clone(),
            r#type: self.token.clone(),
            timeout: self.timeout,
            ..Default::default()
        };
        let name = if preview { "Update (preview)" } else { "Update" };
        let answer = self
            .session
            .call(name, request, async |mut client, request| client.update(request).await)
            .await?;
        let outputs = json_of(&answer.properties.expect("Update answers with properties"));
        Ok(Stored { id: stored.id.clone(), inputs: news.clone(), outputs })
    }

    /// Reads what the engine knows. `None`: it is gone.
    pub(crate) async fn refresh(&self, stored: &Stored) -> Result<Option<Stored>, Status> {
        self.read(&stored.id, Some(&stored.inputs), Some(&stored.outputs)).await
    }

    /// Reads what the engine does not know. `None`: there is none.
    pub(crate) async fn import(&self, id: &str) -> Result<Option<Stored>, Status> {
        self.read(id, None, None).await
    }

    async fn read(
        &self,
        id: &str,
        inputs: Option<&Json>,
        outputs: Option<&Json>,
    ) -> Result<Option<Stored>, Status> {
        let request = ReadRequest {
            id: id.to_owned(),
            urn: self.urn.clone(),
            properties: outputs.map(bag),
            inputs: inputs.map(bag),
            name: self.name.clone(),
            r#type: self.token.clone(),
            timeout: self.timeout,
            ..Default::default()
        };
        let name = if outputs.is_some() { "Read (refresh)" } else { "Read (import)" };
        let answer =
            self.session.call(name, request, async |mut client, request| client.read(request).await).await?;
        match (answer.id.is_empty(), answer.properties, answer.inputs) {
            (false, Some(outputs), Some(inputs)) => {
                Ok(Some(Stored { id: answer.id, inputs: json_of(&inputs), outputs: json_of(&outputs) }))
            }
            // The engine imports whatever has properties.
            (true, None, None) => Ok(None),
            other => panic!("what is there has properties, and what is gone has none: {other:?}"),
        }
    }

    pub(crate) async fn delete(&self, stored: &Stored) -> Result<(), Status> {
        let request = DeleteRequest {
            id: stored.id.clone(),
            urn: self.urn.clone(),
            properties: Some(bag(&stored.outputs)),
            old_inputs: Some(bag(&stored.inputs)),
            name: self.name.clone(),
            r#type: self.token.clone(),
            timeout: self.timeout,
            ..Default::default()
        };
        self.session.call("Delete", request, async |mut client, request| client.delete(request).await).await
    }
}

impl From<CheckResponse> for Checked {
    fn from(response: CheckResponse) -> Self {
        let failures =
            response.failures.into_iter().map(|failure| (failure.property, failure.reason)).collect();
        Self { inputs: json_of(&response.inputs.expect("Check answers with inputs")), failures }
    }
}

impl From<DiffResponse> for Difference {
    fn from(response: DiffResponse) -> Self {
        let some = match response.changes() {
            diff_response::DiffChanges::DiffNone => false,
            diff_response::DiffChanges::DiffSome => true,
            diff_response::DiffChanges::DiffUnknown => panic!("Diff always knows"),
        };
        let mut changes: Vec<String> = response
            .detailed_diff
            .iter()
            .map(|(path, change)| {
                let verb = match change.kind() {
                    property_diff::Kind::Add => "add",
                    property_diff::Kind::AddReplace => "add-replace",
                    property_diff::Kind::Delete => "delete",
                    property_diff::Kind::DeleteReplace => "delete-replace",
                    property_diff::Kind::Update => "update",
                    property_diff::Kind::UpdateReplace => "update-replace",
                };
                format!("{verb} {path}")
            })
            .collect();
        changes.sort();
        Self {
            some,
            replaces: response.replaces,
            delete_before_replace: response.delete_before_replace,
            changes,
        }
    }
}
