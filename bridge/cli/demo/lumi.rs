//! The legacy service, called as the legacy engine does: name, check, diff, create, get, update,
//! delete.
//!
//! That engine stores and sends no Terraform state; the daemon's state store has it.

use isthmus_grpc::Channel;
use isthmus_proto::lumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::lumirpc::{
    CheckRequest, CreateRequest, DeleteRequest, DiffRequest, GetRequest, NameRequest, UpdateRequest,
};
use isthmus_proto::property::{Struct, Value};

use super::host::{Host, package};
use super::inputs::Role;
use super::report::{DemoError, Report, expect};
use super::today::{DRIFT, drift};
use isthmus_package::names::casing::{lower_first, upper_camel};

/// A resource as that engine stores it.
struct StoredResource {
    id: String,
    /// Inputs over defaults.
    inputs: Struct,
    outputs: Struct,
}

struct Play<'a> {
    host: &'a Host,
    client: ResourceProviderClient<Channel>,
    report: &'a mut Report,
    token: String,
}

pub(super) async fn play(host: &mut Host, role: &Role, report: &mut Report) -> Result<(), DemoError> {
    let client = ResourceProviderClient::new(host.channel.clone()).max_decoding_message_size(usize::MAX);
    let mut play = Play { host, client, report, token: token(role) };
    play.name(&role.inputs).await?;
    let mut stored = play.create(&role.inputs).await?;
    if let Some(inputs) = &role.updated {
        let replaces = play.diff(&stored, inputs).await?;
        expect("diff", replaces.is_empty(), "this change must not need a replacement")?;
        play.update(&mut stored, inputs).await?;
    }
    if let Some(inputs) = &role.replaced {
        let replaces = play.diff(&stored, inputs).await?;
        expect("diff", !replaces.is_empty(), "this change must need a replacement")?;
        stored = play.replace(stored, inputs).await?;
    }
    if let Some(inputs) = &role.changed {
        let replaces = play.diff(&stored, inputs).await?;
        if replaces.is_empty() {
            play.update(&mut stored, inputs).await?;
        } else {
            stored = play.replace(stored, inputs).await?;
        }
    }
    play.get(role, &stored).await?;
    play.delete("delete", &stored).await
}

impl Play<'_> {
    async fn name(&mut self, inputs: &Struct) -> Result<(), DemoError> {
        let mut properties = inputs.clone();
        properties.insert("urnName", "demo");
        let request = NameRequest { r#type: self.token.clone(), properties: Some(properties) };
        let (answer, step) = self.host.step("name", self.client.clone().name(request)).await?;
        expect(step.name, answer.name == "demo", "the name must be the one that was given")?;
        self.report.step(step, "the resource is called demo");
        Ok(())
    }

    /// Returns the inputs with the defaults that the daemon adds.
    async fn check(&mut self, inputs: &Struct) -> Result<Struct, DemoError> {
        let request = CheckRequest { r#type: self.token.clone(), properties: Some(inputs.clone()) };
        let (answer, step) = self.host.step("check", self.client.clone().check(request)).await?;
        if let Some(failure) = answer.failures.first() {
            return Err(DemoError::refused(step.name, &failure.property, &failure.reason));
        }
        self.report.step(step, "the inputs are right");
        let mut checked = answer.defaults.unwrap_or_default();
        for (name, value) in inputs.iter() {
            checked.insert(name, value.clone());
        }
        Ok(checked)
    }

    async fn create(&mut self, inputs: &Struct) -> Result<StoredResource, DemoError> {
        let inputs = self.check(inputs).await?;
        let request = CreateRequest { r#type: self.token.clone(), properties: Some(inputs.clone()) };
        let (answer, step) = self.host.step("create", self.client.clone().create(request)).await?;
        expect(step.name, !answer.id.is_empty(), "the created object has no id")?;
        self.report.step(step, &format!("made, with the id {}", answer.id));
        Ok(StoredResource { id: answer.id, inputs, outputs: answer.properties.unwrap_or_default() })
    }

    async fn diff(&mut self, stored: &StoredResource, news: &Struct) -> Result<Vec<String>, DemoError> {
        let news = self.check(news).await?;
        let request = DiffRequest {
            id: stored.id.clone(),
            r#type: self.token.clone(),
            olds: Some(stored.inputs.clone()),
            news: Some(news),
        };
        let (answer, step) = self.host.step("diff", self.client.clone().diff(request)).await?;
        let outcome = if answer.replaces.is_empty() {
            "to be changed in place".to_owned()
        } else {
            format!("to be replaced, because of {}", answer.replaces.join(", "))
        };
        self.report.step(step, &outcome);
        Ok(answer.replaces)
    }

    async fn update(&mut self, stored: &mut StoredResource, news: &Struct) -> Result<(), DemoError> {
        let request = UpdateRequest {
            id: stored.id.clone(),
            r#type: self.token.clone(),
            olds: Some(stored.inputs.clone()),
            news: Some(news.clone()),
        };
        let (answer, step) = self.host.step("update", self.client.clone().update(request)).await?;
        stored.outputs = answer.properties.unwrap_or_default();
        stored.inputs = news.clone();
        self.report.step(step, "changed in place, from the state in the daemon's store");
        Ok(())
    }

    async fn replace(&mut self, old: StoredResource, news: &Struct) -> Result<StoredResource, DemoError> {
        let new = self.create(news).await?;
        expect("replacement", new.id != old.id, "a replacement must be another object")?;
        self.delete("delete old", &old).await?;
        Ok(new)
    }

    async fn get(&mut self, role: &Role, stored: &StoredResource) -> Result<(), DemoError> {
        if role.provider.is_none() {
            drift(self.host, &stored.id)?;
        }
        let properties = self.read("get", &stored.id).await?;
        if role.provider.is_some() {
            return expect("get", properties.is_some(), "the created object must exist");
        }
        let body = properties.as_ref().and_then(|properties| properties.get("body")).and_then(Value::as_str);
        expect("get", body == Some(DRIFT), "the drift must be detected")?;

        // An object without a record.
        let object = |id: &str| self.host.objects.join(format!("sandbox_note.{id}.json"));
        let foreign = "made-elsewhere";
        let failed = |reason: String| DemoError::Call { step: "import", reason };
        let text = std::fs::read_to_string(object(&stored.id)).map_err(|error| failed(error.to_string()))?;
        std::fs::write(object(foreign), text.replace(&stored.id, foreign))
            .map_err(|error| failed(error.to_string()))?;
        let properties = self.read("import", foreign).await?;
        expect("import", properties.is_some(), "an object made elsewhere must be found by its id")
    }

    async fn read(&mut self, name: &'static str, id: &str) -> Result<Option<Struct>, DemoError> {
        let request = GetRequest { id: id.to_owned(), r#type: self.token.clone() };
        let (answer, step) = self.host.step(name, self.client.clone().get(request)).await?;
        let outcome =
            if answer.properties.is_some() { "read as it is now" } else { "the object does not exist" };
        self.report.step(step, outcome);
        Ok(answer.properties)
    }

    async fn delete(&mut self, name: &'static str, stored: &StoredResource) -> Result<(), DemoError> {
        let mut properties = stored.inputs.clone();
        for (name, value) in stored.outputs.iter() {
            properties.insert(name, value.clone());
        }
        let request =
            DeleteRequest { id: stored.id.clone(), r#type: self.token.clone(), properties: Some(properties) };
        let ((), step) = self.host.step(name, self.client.clone().delete(request)).await?;
        self.report.step(step, "deleted");
        Ok(())
    }
}

/// `sandbox:note:Note`, as programs of the legacy engine write it.
fn token(role: &Role) -> String {
    let package = package(role);
    let bare = role.resource.strip_prefix(&format!("{package}_")).unwrap_or(&role.resource);
    let name = upper_camel(bare);
    format!("{package}:{}:{name}", lower_first(&name))
}
