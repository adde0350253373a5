//! Today's service: preview, create, no-op diff, update, replacement, refresh after drift, import, delete.

use isthmus_common::counted;
use isthmus_grpc::Channel;
use isthmus_proto::property::Struct;
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::pulumirpc::{
    CheckRequest, ConfigureRequest, CreateRequest, DeleteRequest, DiffRequest, DiffResponse,
    GetSchemaRequest, ParameterizeRequest, ProviderHandshakeRequest, ReadRequest, UpdateRequest,
    diff_response,
    parameterize_request::{Parameters, ParametersArgs},
};

use super::host::{Host, package};
use super::inputs::Role;
use super::report::{DemoError, Report, expect};
use isthmus_package::names::casing::{lower_first, pulumi_to_terraform, upper_camel};
use isthmus_package::names::tokens::{member_name, nearest};

/// A resource as the engine stores it.
#[derive(Clone, Debug)]
struct StoredResource {
    id: String,
    inputs: Struct,
    outputs: Struct,
}

struct Play<'a> {
    host: &'a Host,
    client: ResourceProviderClient<Channel>,
    report: &'a mut Report,
    urn: String,
    token: String,
}

pub(super) async fn play(host: &mut Host, role: &Role, report: &mut Report) -> Result<(), DemoError> {
    let client = ResourceProviderClient::new(host.channel.clone()).max_decoding_message_size(usize::MAX);
    let mut play = Play { host, client, report, urn: String::new(), token: String::new() };
    play.begin(role).await?;
    let mut stored = play.create(role.inputs.clone()).await?;
    play.compare("no-op diff", &stored, &stored.inputs.clone(), |step, diff| {
        expect(step, !changes(diff), "an unchanged resource must have no differences")
    })
    .await?;
    if let Some(inputs) = &role.updated {
        let checked = play.check(inputs, &stored.inputs).await?;
        play.compare("diff", &stored, &checked, |step, diff| {
            expect(step, changes(diff), "changed inputs must be a difference")?;
            expect(step, diff.replaces.is_empty(), "this change must not need a replacement")
        })
        .await?;
        play.update(&mut stored, checked).await?;
    }
    if let Some(inputs) = &role.replaced {
        let checked = play.check(inputs, &stored.inputs).await?;
        play.compare("diff", &stored, &checked, |step, diff| {
            expect(step, !diff.replaces.is_empty(), "this change must need a replacement")
        })
        .await?;
        stored = play.replace(stored, checked).await?;
    }
    if let Some(inputs) = &role.changed {
        let checked = play.check(inputs, &stored.inputs).await?;
        let diff = play.compare("diff", &stored, &checked, |_, _| Ok(())).await?;
        if !diff.replaces.is_empty() {
            stored = play.replace(stored, checked).await?;
        } else if changes(&diff) {
            play.update(&mut stored, checked).await?;
        }
    }
    play.refresh(role, &mut stored).await?;
    play.import(role, &stored).await?;
    play.delete(role, &stored).await
}

impl Play<'_> {
    async fn begin(&mut self, role: &Role) -> Result<(), DemoError> {
        let request = ProviderHandshakeRequest { configure_with_urn: true, ..Default::default() };
        let (_, step) = self.host.step("handshake", self.client.clone().handshake(request)).await?;
        self.report.step(step, "the daemon takes secrets");

        let arguments = ParametersArgs { args: vec![self.host.provider.display().to_string()] };
        let request = ParameterizeRequest { parameters: Some(Parameters::Args(arguments)) };
        let (answer, step) =
            self.host.step("parameterize", self.client.clone().parameterize(request)).await?;
        expect(step.name, answer.name == package(role), format!("the package is called {}", answer.name))?;
        self.report.step(step, &format!("the provider is the package {}", answer.name));

        let (answer, step) =
            self.host.step("schema", self.client.clone().get_schema(GetSchemaRequest::default())).await?;
        let schema: serde_json::Value = serde_json::from_str(&answer.schema)
            .map_err(|error| DemoError::Call { step: step.name, reason: error.to_string() })?;
        let resources = schema.get("resources").and_then(serde_json::Value::as_object);
        self.token = token(role, resources.map(|resources| resources.keys()).into_iter().flatten())?;
        self.urn = format!("urn:pulumi:demo::demo::{}::demo", self.token);
        let count = resources.map_or(0, serde_json::Map::len);
        self.report.step(step, &format!("{}, among them {}", counted(count, "resource"), self.token));

        let urn = format!("urn:pulumi:demo::demo::pulumi:providers:{}::default", package(role));
        let news = Some(role.config.clone());
        let request =
            CheckRequest { urn: urn.clone(), olds: Some(Struct::default()), news, ..Default::default() };
        let (answer, step) =
            self.host.step("check config", self.client.clone().check_config(request)).await?;
        refuse_failures(step.name, &answer.failures)?;
        self.report.step(step, "the configuration is right");
        let request = ConfigureRequest {
            args: answer.inputs,
            accept_secrets: true,
            accept_resources: true,
            urn: Some(urn),
            ..Default::default()
        };
        let (_, step) = self.host.step("configure", self.client.clone().configure(request)).await?;
        self.report.step(step, "the provider is configured");
        Ok(())
    }

    async fn check(&mut self, news: &Struct, olds: &Struct) -> Result<Struct, DemoError> {
        let request = CheckRequest {
            urn: self.urn.clone(),
            r#type: self.token.clone(),
            olds: Some(olds.clone()),
            news: Some(news.clone()),
            ..Default::default()
        };
        let (answer, step) = self.host.step("check", self.client.clone().check(request)).await?;
        refuse_failures(step.name, &answer.failures)?;
        self.report.step(step, "the inputs are right");
        Ok(answer.inputs.unwrap_or_default())
    }

    async fn create(&mut self, inputs: Struct) -> Result<StoredResource, DemoError> {
        let inputs = self.check(&inputs, &Struct::default()).await?;
        let request = CreateRequest {
            urn: self.urn.clone(),
            r#type: self.token.clone(),
            properties: Some(inputs.clone()),
            preview: true,
            ..Default::default()
        };
        let (answer, step) = self.host.step("preview", self.client.clone().create(request.clone())).await?;
        expect(step.name, answer.id.is_empty(), "a preview must make nothing, and so have no id")?;
        self.report.step(step, "this is what would be made");

        let request = CreateRequest { preview: false, ..request };
        let (answer, step) = self.host.step("create", self.client.clone().create(request)).await?;
        expect(step.name, !answer.id.is_empty(), "the created object has no id")?;
        self.report.step(step, &format!("made, with the id {}", answer.id));
        Ok(StoredResource { id: answer.id, inputs, outputs: answer.properties.unwrap_or_default() })
    }

    async fn compare(
        &mut self,
        name: &'static str,
        stored: &StoredResource,
        news: &Struct,
        judge: impl Fn(&'static str, &DiffResponse) -> Result<(), DemoError>,
    ) -> Result<DiffResponse, DemoError> {
        let request = DiffRequest {
            id: stored.id.clone(),
            urn: self.urn.clone(),
            r#type: self.token.clone(),
            olds: Some(stored.outputs.clone()),
            old_inputs: Some(stored.inputs.clone()),
            news: Some(news.clone()),
            ..Default::default()
        };
        let (answer, step) = self.host.step(name, self.client.clone().diff(request)).await?;
        judge(step.name, &answer)?;
        let outcome = match (changes(&answer), answer.replaces.is_empty()) {
            (false, _) => "nothing to do".to_owned(),
            (true, true) => format!("to be changed in place: {}", answer.diffs.join(", ")),
            (true, false) => format!("to be replaced, because of {}", answer.replaces.join(", ")),
        };
        self.report.step(step, &outcome);
        Ok(answer)
    }

    async fn update(&mut self, stored: &mut StoredResource, news: Struct) -> Result<(), DemoError> {
        let request = UpdateRequest {
            id: stored.id.clone(),
            urn: self.urn.clone(),
            r#type: self.token.clone(),
            olds: Some(stored.outputs.clone()),
            old_inputs: Some(stored.inputs.clone()),
            news: Some(news.clone()),
            ..Default::default()
        };
        let (answer, step) = self.host.step("update", self.client.clone().update(request)).await?;
        stored.outputs = answer.properties.unwrap_or_default();
        stored.inputs = news;
        self.report.step(step, "changed in place");
        Ok(())
    }

    async fn replace(&mut self, old: StoredResource, news: Struct) -> Result<StoredResource, DemoError> {
        let new = self.create(news).await?;
        expect("replacement", new.id != old.id, "a replacement must be another object")?;
        self.remove("delete old", &old).await?;
        Ok(new)
    }

    async fn refresh(&mut self, role: &Role, stored: &mut StoredResource) -> Result<(), DemoError> {
        if role.provider.is_none() {
            drift(self.host, &stored.id)?;
        }
        let request = ReadRequest {
            id: stored.id.clone(),
            urn: self.urn.clone(),
            r#type: self.token.clone(),
            inputs: Some(stored.inputs.clone()),
            properties: Some(stored.outputs.clone()),
            ..Default::default()
        };
        let (answer, step) = self.host.step("refresh", self.client.clone().read(request)).await?;
        expect(step.name, answer.id == stored.id, "the object must be found under its id")?;
        let outputs = answer.properties.unwrap_or_default();
        let outcome = if role.provider.is_none() {
            let body = outputs.get("body").and_then(|body| body.as_str());
            expect(step.name, body == Some(DRIFT), "the drift must be detected")?;
            "read again; the drift is detected"
        } else {
            "read again"
        };
        self.report.step(step, outcome);
        stored.outputs = outputs;
        stored.inputs = answer.inputs.unwrap_or_default();
        Ok(())
    }

    async fn import(&mut self, role: &Role, stored: &StoredResource) -> Result<(), DemoError> {
        let request = ReadRequest {
            id: stored.id.clone(),
            urn: self.urn.clone(),
            r#type: self.token.clone(),
            ..Default::default()
        };
        let imported = self.host.step("import", self.client.clone().read(request)).await;
        match imported {
            Ok((answer, step)) => {
                expect(step.name, answer.id == stored.id, "the imported object must have the id")?;
                expect(step.name, answer.inputs.is_some(), "an import must yield inputs")?;
                self.report.step(step, "taken over by its id alone");
                Ok(())
            }
            // Not every resource can be imported; the sandbox's can.
            Err(DemoError::Call { reason, .. }) if role.provider.is_some() => {
                self.report.left_out("import", &reason);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn delete(&mut self, role: &Role, stored: &StoredResource) -> Result<(), DemoError> {
        self.remove("delete", stored).await?;
        if role.provider.is_some() {
            return Ok(());
        }
        let request = ReadRequest {
            id: stored.id.clone(),
            urn: self.urn.clone(),
            r#type: self.token.clone(),
            inputs: Some(stored.inputs.clone()),
            properties: Some(stored.outputs.clone()),
            ..Default::default()
        };
        let (answer, step) = self.host.step("refresh", self.client.clone().read(request)).await?;
        expect(step.name, answer.id.is_empty(), "the deleted object must be gone")?;
        self.report.step(step, "it is gone");
        Ok(())
    }

    async fn remove(&mut self, name: &'static str, stored: &StoredResource) -> Result<(), DemoError> {
        let request = DeleteRequest {
            id: stored.id.clone(),
            urn: self.urn.clone(),
            r#type: self.token.clone(),
            properties: Some(stored.outputs.clone()),
            old_inputs: Some(stored.inputs.clone()),
            ..Default::default()
        };
        let ((), step) = self.host.step(name, self.client.clone().delete(request)).await?;
        self.report.step(step, "deleted");
        Ok(())
    }
}

/// The body that the demonstration writes into a note to cause drift.
pub(super) const DRIFT: &str = "Changed outside of Pulumi.";

/// Changes an object of the sandbox in its file.
pub(super) fn drift(host: &Host, id: &str) -> Result<(), DemoError> {
    let file = host.objects.join(format!("sandbox_note.{id}.json"));
    let failed = |reason: String| DemoError::Call { step: "drift", reason };
    let text = std::fs::read(&file).map_err(|error| failed(format!("{}: {error}", file.display())))?;
    let mut object: serde_json::Value =
        serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
    let body = object.pointer_mut("/body").ok_or_else(|| failed("the note has no body".to_owned()))?;
    *body = DRIFT.into();
    std::fs::write(&file, object.to_string()).map_err(|error| failed(error.to_string()))
}

fn changes(diff: &DiffResponse) -> bool {
    diff.changes == diff_response::DiffChanges::DiffSome as i32
}

fn refuse_failures(
    step: &'static str,
    failures: &[isthmus_proto::pulumirpc::CheckFailure],
) -> Result<(), DemoError> {
    match failures.first() {
        None => Ok(()),
        Some(failure) => Err(DemoError::refused(step, &failure.property, &failure.reason)),
    }
}

/// The token of the Terraform type `role.resource`, found by similarity.
fn token<'a>(role: &Role, tokens: impl Iterator<Item = &'a String>) -> Result<String, DemoError> {
    let package = package(role);
    let bare = role.resource.strip_prefix(&format!("{package}_")).unwrap_or(&role.resource);
    let wanted = upper_camel(bare).to_lowercase();
    let tokens: Vec<&String> = tokens.collect();
    if let Some(token) = tokens.iter().find(|token| member_name(token).to_lowercase() == wanted) {
        return Ok((*token).clone());
    }
    let mut reason = format!("the package {package} has no resource for {}", role.resource);
    if let Some(nearest) = nearest(&wanted, tokens.iter().map(|token| token.as_str())) {
        // The schema has no Terraform types; this is one that yields the token.
        let name = pulumi_to_terraform(&lower_first(member_name(nearest)));
        reason.push_str(&format!("; did you mean {:?}?", format!("{package}_{name}")));
    }
    Err(DemoError::Call { step: "schema", reason })
}
