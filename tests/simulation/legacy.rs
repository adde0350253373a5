//! The legacy engine with an environment, as far as a provider can see it.
//!
//! It evaluates a program one resource after another, keeps what it was answered, and sends only inputs. What is replaced or not
//! wanted any more is deleted at the end. It has no refresh, no import and no new names: a renamed resource is another one.

use std::time::Duration;

use isthmus_grpc::Channel;
use isthmus_proto::lumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::lumirpc::{CheckRequest, CreateRequest, DeleteRequest, DiffRequest, UpdateRequest};
use isthmus_test_engine::{bag, json_of};
use serde_json::{Value as Json, json};
use tokio::io::DuplexStream;
use tonic::Status;

use crate::dice::Dice;
use crate::engine::{Habits, Program, Run, Saved, Stored, TOKEN, Wish, connect, save, serve_log};
use crate::network::End;
use crate::system;
use crate::world::{self, Shared};

/// An engine's run.
struct Engine {
    client: ResourceProviderClient<Channel>,
    saved: Shared<Saved>,
    dice: Shared<Dice>,
}

/// Runs as an engine's process: deploys a program by the plugin at the other end.
pub(crate) async fn run(run: Run, plugin: End, log: DuplexStream) {
    let Run { stack, program, habits, saved, outcome, dice, .. } = run;
    tokio::spawn(serve_log(log, saved.clone()));
    let client = ResourceProviderClient::new(connect(plugin));
    let engine = Engine { client, saved, dice: Shared::new(dice) };
    let deployed = match habits.interrupts {
        None => engine.deploy(&program, &habits).await,
        Some(milliseconds) => {
            let whole = engine.deploy(&program, &habits);
            let whole = tokio::time::timeout(Duration::from_millis(milliseconds), whole);
            whole.await.unwrap_or_else(|_| {
                world::count("runs that are interrupted");
                Err(Status::aborted("the run is interrupted"))
            })
        }
    };
    world::note(|| format!("the run of {stack} ends: {deployed:?}"));
    outcome.with(|outcome| {
        outcome.0 = Some(deployed.map_err(|status| format!("{:?}: {}", status.code(), status.message())));
    });
}

impl Engine {
    async fn deploy(&self, program: &Program, habits: &Habits) -> Result<(), Status> {
        if habits.previews {
            self.steps(program, true).await?;
        }
        self.steps(program, false).await?;
        self.deletions(program).await
    }

    /// Those first whose ids others have in their inputs.
    async fn steps(&self, program: &Program, preview: bool) -> Result<(), Status> {
        for is_dependent in [false, true] {
            for (name, wish) in program.iter().filter(|(_, wish)| wish.after.is_some() == is_dependent) {
                self.step(name, wish, preview).await?;
            }
        }
        Ok(())
    }

    async fn step(&self, name: &str, wish: &Wish, preview: bool) -> Result<(), Status> {
        let known = self.saved.with(|saved| saved.resources.get(name).cloned());
        let inputs = self.checked(self.inputs(name, wish)).await?;
        let Some(known) = known else {
            if !preview {
                let made = self.create(name, &inputs).await?;
                save(&self.saved, &self.dice, |saved| drop(saved.made(name, made))).await;
            }
            return Ok(());
        };
        if known.inputs == inputs {
            return Ok(());
        }
        let request = DiffRequest {
            id: known.id.clone(),
            r#type: TOKEN.to_owned(),
            olds: Some(bag(&known.inputs)),
            news: Some(bag(&inputs)),
        };
        let replaces = self.client.clone().diff(request).await?.into_inner().replaces;
        if preview {
            return Ok(());
        }
        if !replaces.is_empty() {
            let made = self.create(name, &inputs).await?;
            save(&self.saved, &self.dice, |saved| {
                saved.made(name, made);
                saved.condemned.push((name.to_owned(), known));
            })
            .await;
            return Ok(());
        }
        let request = UpdateRequest {
            id: known.id.clone(),
            r#type: TOKEN.to_owned(),
            olds: Some(bag(&known.inputs)),
            news: Some(bag(&inputs)),
        };
        self.saved.with(|saved| saved.uncertain.insert(name.to_owned()));
        let answer = self.client.clone().update(request).await?.into_inner();
        let outputs = json_of(&answer.properties.unwrap_or_default());
        let updated = Stored { id: known.id, inputs, outputs };
        save(&self.saved, &self.dice, |saved| {
            saved.resources.insert(name.to_owned(), updated);
            saved.uncertain.remove(name);
        })
        .await;
        Ok(())
    }

    fn inputs(&self, name: &str, wish: &Wish) -> Json {
        let body = wish.body(&self.saved);
        json!({"urnName": name, "name": wish.title, "body": body, "color": format!("color {}", wish.color)})
    }

    /// The inputs, over the defaults that the provider has for them.
    async fn checked(&self, inputs: Json) -> Result<Json, Status> {
        let request = CheckRequest { r#type: TOKEN.to_owned(), properties: Some(bag(&inputs)) };
        let answer = self.client.clone().check(request).await?.into_inner();
        if let Some(failure) = answer.failures.first() {
            return Err(Status::internal(format!("Check fails: {failure:?}")));
        }
        let mut checked = json_of(&answer.defaults.unwrap_or_default());
        if let (Json::Object(checked), Json::Object(inputs)) = (&mut checked, inputs) {
            checked.extend(inputs);
        }
        Ok(checked)
    }

    async fn create(&self, name: &str, inputs: &Json) -> Result<Stored, Status> {
        // An engine that is killed meanwhile does not come back from the call.
        self.saved.with(|saved| *saved.unanswered.entry(name.to_owned()).or_default() += 1);
        let request = CreateRequest { r#type: TOKEN.to_owned(), properties: Some(bag(inputs)) };
        let answer = self.client.clone().create(request).await.inspect_err(|status| {
            world::note(|| format!("creation of {name} fails: {}", status.message()));
            // The error says what is left.
            self.saved.with(|saved| saved.reports.push(status.message().to_owned()));
        })?;
        let answer = answer.into_inner();
        self.saved.with(|saved| {
            saved.answered.insert(name.to_owned(), system::now());
            saved.uncertain.remove(name);
        });
        world::note(|| format!("{name} is {}", answer.id));
        let outputs = json_of(&answer.properties.unwrap_or_default());
        Ok(Stored { id: answer.id, inputs: inputs.clone(), outputs })
    }

    async fn deletions(&self, program: &Program) -> Result<(), Status> {
        self.saved.with(|saved| {
            let dropped = saved.resources.extract_if(.., |name, _| !program.contains_key(name));
            saved.condemned.extend(dropped);
        });
        while let Some((_, condemned)) = self.saved.with(|saved| saved.condemned.first().cloned()) {
            let mut properties = condemned.inputs.clone();
            if let (Json::Object(all), Json::Object(outputs)) = (&mut properties, &condemned.outputs) {
                all.extend(outputs.clone());
            }
            let request = DeleteRequest {
                id: condemned.id.clone(),
                r#type: TOKEN.to_owned(),
                properties: Some(bag(&properties)),
            };
            self.client.clone().delete(request).await?;
            world::note(|| format!("{} is deleted", condemned.id));
            save(&self.saved, &self.dice, |saved| drop(saved.condemned.remove(0))).await;
        }
        Ok(())
    }
}
