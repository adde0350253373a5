//! Whole programs: resources that use each other, planned and deployed one after another, as that engine evaluates them.
//!
//! An input that is `${NAME}` is the id of the resource `NAME`, which comes before. The engine's snapshot follows each answer,
//! so what it knows when a call fails is what it has been told until then.

use isthmus_proto::property::{Struct, Value};

use super::{Engine, Goal, Plugin, State, Step};

impl Engine {
    /// The input that is the id of another resource.
    pub(crate) fn id_of(name: &str) -> Value {
        Value::from(format!("${{{name}}}"))
    }

    /// What the engine believes to exist: the ids in its environment, and those that it has yet to delete.
    pub(crate) fn believes_in(&self) -> Vec<&str> {
        let living = self.environment.iter().map(|(_, state)| state);
        living.chain(&self.condemned).map(|state| state.id.as_str()).collect()
    }

    /// What a deployment of the program would do to each resource; ids of what it would make are unknown.
    pub(crate) async fn plan_program(
        &self,
        plugin: &Plugin,
        program: &[Goal],
    ) -> Result<Vec<(String, Step)>, String> {
        let mut steps: Vec<(String, Step)> = Vec::new();
        for goal in program {
            let inputs = used(&goal.inputs, &|name| {
                let is_made = steps
                    .iter()
                    .any(|(known, step)| known == name && matches!(step, Step::Create | Step::Replace(_)));
                match self.known(name) {
                    Some(state) if !is_made => Value::from(state.id.clone()),
                    _ => isthmus_translate::property::unknown(),
                }
            });
            let goal = Goal { inputs, ..goal.clone() };
            let name = plugin.name(&goal).await?;
            let (step, _) = self.step(plugin, self.known(&name), &goal).await?;
            steps.push((name, step));
        }
        let unwanted = self.unwanted(&steps);
        steps.extend(unwanted.into_iter().map(|name| (name, Step::Delete)));
        Ok(steps)
    }

    /// Makes the environment what the program wants. After an error it is as far as the answers say.
    pub(crate) async fn deploy_program(
        &mut self,
        plugin: &Plugin,
        program: &[Goal],
    ) -> Result<Vec<(String, Step)>, String> {
        let mut steps: Vec<(String, Step)> = Vec::new();
        for goal in program {
            let inputs = used(&goal.inputs, &|name| {
                let state = self.known(name).unwrap_or_else(|| panic!("{name} comes after what uses it"));
                Value::from(state.id.clone())
            });
            let goal = Goal { inputs, ..goal.clone() };
            let name = plugin.name(&goal).await?;
            let old = self.known(&name);
            let (step, mut new) = self.step(plugin, old, &goal).await?;
            match (&step, old) {
                (Step::Same, _) => {}
                (Step::Update, Some(old)) => plugin.update(old, &mut new).await?,
                _ => plugin.create(&mut new).await?,
            }
            let place = self.environment.iter().position(|(known, _)| *known == name);
            match (&step, place) {
                (Step::Same, _) => {}
                (Step::Replace(_), Some(place)) => {
                    self.condemned.push(std::mem::replace(&mut self.environment[place].1, new));
                }
                (_, Some(place)) => self.environment[place].1 = new,
                (_, None) => self.environment.push((name.clone(), new)),
            }
            steps.push((name, step));
        }
        for name in self.unwanted(&steps) {
            let place = self.environment.iter().position(|(known, _)| *known == name);
            self.condemned.push(self.environment.remove(place.expect("it is there")).1);
            steps.push((name, Step::Delete));
        }
        while let Some(state) = self.condemned.first() {
            plugin.delete(state).await?;
            self.condemned.remove(0);
        }
        Ok(steps)
    }

    /// What is to be done for a resource, with its new inputs and defaults.
    async fn step(&self, plugin: &Plugin, old: Option<&State>, goal: &Goal) -> Result<(Step, State), String> {
        let mut new = State {
            type_token: goal.type_token.clone(),
            inputs: goal.inputs.clone(),
            defaults: old.map(|old| old.defaults.clone()).unwrap_or_default(),
            ..State::default()
        };
        new.defaults = plugin.defaults(&new).await?;
        let step = match old {
            None => Step::Create,
            Some(old) if old.all_inputs() == new.all_inputs() => Step::Same,
            Some(old) => match plugin.replaces(old, &new).await? {
                replaces if replaces.is_empty() => Step::Update,
                replaces => {
                    new.defaults = Struct::new();
                    new.defaults = plugin.defaults(&new).await?;
                    Step::Replace(replaces)
                }
            },
        };
        Ok((step, new))
    }

    /// The resources that the program does not want any more, newest first.
    fn unwanted(&self, steps: &[(String, Step)]) -> Vec<String> {
        let is_wanted = |name: &str| steps.iter().any(|(known, _)| known == name);
        let unwanted = self.environment.iter().rev().filter(|(name, _)| !is_wanted(name));
        unwanted.map(|(name, _)| name.clone()).collect()
    }

    fn known(&self, name: &str) -> Option<&State> {
        self.environment.iter().find(|(known, _)| known == name).map(|(_, state)| state)
    }
}

/// The inputs with what they use of other resources.
fn used(inputs: &Struct, id: &dyn Fn(&str) -> Value) -> Struct {
    inputs.iter().map(|(name, value)| (name.to_owned(), used_in(value, id))).collect()
}

fn used_in(value: &Value, id: &dyn Fn(&str) -> Value) -> Value {
    match value {
        Value::String(text) => match text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
            Some(name) => id(name),
            None => value.clone(),
        },
        Value::Struct(bag) => Value::Struct(used(bag, id)),
        Value::List(values) => Value::List(values.iter().map(|value| used_in(value, id)).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
