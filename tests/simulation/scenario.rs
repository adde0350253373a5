//! What a seed makes of stacks, programs and runs.

mod faults;
mod promises;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use isthmus_session::engine::OfferedConnections;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::cloud::{Cloud, Manners};
use crate::dice::Dice;
use crate::engine::{Habits, Outcome, Program, Run, Saved, Wish};
use crate::network;
use crate::plugin::{self, Place, Server};
use crate::scenario::faults::{Fault, Timed};
use crate::system::{self, Death, Disk, Machine};
use crate::world::{self, Counts, Handle, Parties, Shared};
use crate::{engine, legacy};

/// How many resources a program has at most.
const RESOURCES: u64 = 5;

/// How long a run may take that nobody disturbs.
const PATIENCE: Duration = Duration::from_secs(600);

/// After so long, no lease of a dead process holds any more.
const LEASES: Duration = Duration::from_secs(61);

/// How long a plugin of a legacy engine takes to note that the engine has an answer.
const NOTED_AFTER: Duration = Duration::from_millis(30);

/// A broken promise.
pub(crate) type Broken = String;

/// What a seed was about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) counts: Counts,
    pub(crate) broken: Option<Broken>,
}

/// A stack, and who works on it.
#[derive(Debug)]
struct Stack {
    name: &'static str,
    saved: Shared<Saved>,
    program: Program,
    /// Resources whose legacy engine ended, or its plugin, so soon after the answer of their creation that the plugin could not note
    /// that the engine has it.
    hasty: BTreeSet<String>,
}

/// A seed on its way.
struct Scenario {
    dice: Dice,
    place: Place,
    cloud: Shared<Cloud>,
    server: Shared<Server>,
    parties: Parties,
    provider_death: Shared<Option<Death>>,
    stacks: Vec<Stack>,
    /// How long an undisturbed run takes.
    usual: Duration,
    /// Steps of an undisturbed run, by party.
    steps: BTreeMap<&'static str, u64>,
    /// Plugins that have outlived their engines.
    lingering: Vec<Started>,
    /// Power was lost, and the journal is not synchronised.
    may_have_lost: bool,
    /// A plugin was killed before it could tell the database what is settled.
    may_report: bool,
    /// The disk of plugins that have not ended was bad.
    has_bad_disk: bool,
}

/// Plays a seed, with files in a directory.
pub(crate) fn play(seed: u64, directory: &Path, traced: bool) -> Report {
    let mut dice = Dice::new(seed);
    system::begin(dice.split());
    world::begin(dice.split(), traced);
    let cloud = Shared::new(Cloud::new(dice.split()));
    let place = Place {
        directory: directory.to_owned(),
        durable: dice.one_in(4),
        served: dice.one_in(5),
        legacy: dice.one_in(4),
    };
    // A legacy engine does not say which environment a resource is of.
    let stacks = if dice.one_in(3) && !place.legacy { vec!["dev", "prod"] } else { vec!["dev"] };
    let mut scenario = Scenario {
        place,
        server: Shared::default(),
        provider_death: Shared::default(),
        parties: Parties::default(),
        stacks: stacks
            .into_iter()
            .map(|name| Stack {
                name,
                saved: Shared::default(),
                program: Program::new(),
                hasty: BTreeSet::new(),
            })
            .collect(),
        usual: Duration::from_millis(20),
        steps: BTreeMap::new(),
        lingering: Vec::new(),
        may_have_lost: false,
        may_report: false,
        has_bad_disk: false,
        cloud: cloud.clone(),
        dice,
    };
    let death = scenario.provider_death.clone();
    isthmus_provider::plugin::simulation::launch_by(plugin::launcher(cloud, death));
    isthmus_state::simulation::serve_from(directory.join("server.db"), Arc::new(scenario.server.clone()));
    if scenario.place.served {
        world::count("seeds with the database of a server");
    }
    if scenario.place.legacy {
        world::count("seeds with a legacy engine");
        world::be_steady();
    }
    let broken = scenario.play().err();
    drop(scenario);
    Report { counts: world::counts(), broken }
}

impl Scenario {
    fn play(&mut self) -> Result<(), Broken> {
        plugin::furnish(&self.place.directory).map_err(|error| error.to_string())?;
        self.change_programs();
        let runs = 2 + self.dice.below(4);
        for number in 0..runs {
            if number > 0 {
                self.change_programs();
                self.others_interfere();
            }
            // The first one, too: a creation of keys and directories may be cut off.
            if self.dice.one_in(4) {
                self.undisturbed()?;
            } else {
                self.disturbed()?;
            }
            self.survey()?;
        }
        self.end()
    }

    fn change_programs(&mut self) {
        let Self { dice, stacks, .. } = self;
        for stack in stacks {
            stack.program.retain(|_, wish| wish.import.is_none() || !dice.one_in(4));
            let names: Vec<String> = (0..RESOURCES).map(|number| format!("r{number}")).collect();
            for name in names {
                let present = stack.program.keys().find(|key| key.trim_end_matches('x') == name).cloned();
                match (dice.below(8), present) {
                    (0 | 1, Some(key)) => with_wish(&mut stack.program, &key, |wish| wish.body += 1),
                    (2, Some(key)) => with_wish(&mut stack.program, &key, |wish| wish.color += 1),
                    (3, Some(key)) => drop(stack.program.remove(&key)),
                    (4, Some(key)) => {
                        if let Some(wish) = stack.program.remove(&key) {
                            let wish = Wish { alias: Some(key.clone()), ..wish };
                            stack.program.insert(format!("{key}x"), wish);
                        }
                    }
                    (3..=7, None) => {
                        let wish = Wish {
                            title: engine::title(stack.name, &name),
                            delete_first: dice.one_in(3),
                            ..Wish::default()
                        };
                        stack.program.insert(name, wish);
                    }
                    _ => {}
                }
            }
            // Some have the id of another one.
            let first =
                stack.program.iter().find(|(_, wish)| wish.after.is_none()).map(|(name, _)| name.clone());
            let keys: Vec<String> = stack.program.keys().cloned().collect();
            for key in keys {
                let after = first.clone().filter(|first| *first != key && dice.one_in(4));
                with_wish(&mut stack.program, &key, |wish| wish.after = after);
            }
        }
    }

    fn others_interfere(&mut self) {
        // A legacy engine does not look for changes of others.
        if self.place.legacy {
            return;
        }
        if self.dice.one_in(5) {
            self.import();
        }
        if self.dice.one_in(6) {
            world::count("drifts");
            self.cloud.with(Cloud::drift);
        }
        if self.dice.one_in(10) {
            world::count("objects deleted by others");
            self.cloud.with(Cloud::lose);
        }
    }

    /// A user imports an object: one that no engine knows, or one that isthmus has not made.
    fn import(&mut self) {
        let strangers = self.strangers();
        let index = self.dice.index(self.stacks.len());
        let found = if strangers.is_empty() || self.dice.one_in(3) {
            let name = engine::title(self.stacks[index].name, "found");
            (self.cloud.with(|cloud| cloud.find(&name)), name)
        } else {
            strangers[self.dice.index(strangers.len())].clone()
        };
        let (id, title) = found;
        let Some(object) = self.cloud.with(|cloud| cloud.objects.get(&id).cloned()) else { return };
        let Some(stack) = self.stacks.iter_mut().find(|stack| title.starts_with(stack.name)) else { return };
        let name = format!("{}-{id}", title.rsplit('/').next().unwrap_or_default());
        let color = object.color.trim_start_matches("color ").parse().unwrap_or_default();
        stack.program.insert(name, Wish { title, color, import: Some(id), ..Wish::default() });
    }

    fn undisturbed(&mut self) -> Result<(), Broken> {
        self.cloud.with(|cloud| cloud.manners = Manners::default());
        world::count("runs without a fault");
        self.run(Vec::new(), &Habits::default(), true).map(drop)
    }

    /// A run with faults.
    fn disturbed(&mut self) -> Result<(), Broken> {
        world::count("runs with faults");
        let mut manners = Manners { slow: [1, 5, 50, 1500][self.dice.index(4)], ..Manners::default() };
        if self.dice.one_in(4) {
            let one_in = 1 + self.dice.below(4);
            match self.dice.below(3) {
                0 => manners.refuses = one_in,
                1 => manners.half_fails = one_in,
                _ => manners.breaks = one_in,
            }
        }
        self.cloud.with(|cloud| cloud.manners = manners);
        let slack = Duration::from_millis(manners.slow * 4);
        let mut faults = Vec::new();
        for _ in 0..=self.dice.below(2) {
            faults.push(self.fault(slack));
        }
        let habits = Habits {
            previews: self.dice.one_in(3),
            refreshes: self.dice.one_in(4),
            interrupts: self.dice.one_in(8).then(|| self.dice.below(100)),
            retains: self.dice.one_in(8),
            forgets: self.dice.one_in(12) && !self.place.legacy,
        };
        if habits.forgets {
            world::count("runs that cannot save their state");
        }
        self.run(faults, &habits, false).map(drop)
    }

    /// Runs all stacks' programs at once. Returns whether all runs came to their end.
    fn run(&mut self, faults: Vec<Fault>, habits: &Habits, is_undisturbed: bool) -> Result<bool, Broken> {
        let began = system::now();
        let mut victims = Vec::new();
        let (mut timed, mut deaths) = (Vec::new(), Vec::new());
        for fault in faults {
            world::note(|| format!("fault: {fault:?}"));
            world::count(fault.kind());
            match fault {
                Fault::Dies("provider", death) => self.provider_death.with(|next| *next = Some(death)),
                Fault::Dies(name, death) => deaths.push((name, death)),
                Fault::Killed(moment) => timed.push((moment, Timed::Kill)),
                Fault::Cut(moment) => timed.push((moment, Timed::Cut)),
                Fault::Hangs(moment) => timed.push((moment, Timed::Slow)),
                Fault::Database(moment, lasts) => timed.push((moment, Timed::Database(lasts))),
                Fault::PowerLoss(moment) => timed.push((moment, Timed::PowerLoss)),
                Fault::Clock(moment, ahead) => timed.push((moment, Timed::Clock(ahead))),
                Fault::Disk(moment, disk, lasts) => {
                    self.has_bad_disk = true;
                    timed.push((moment, Timed::Disk(disk)));
                    timed.push((moment + lasts, Timed::Disk(Disk::Sound)));
                }
            }
        }
        timed.sort_by_key(|(moment, _)| *moment);
        let mut outcomes = Vec::new();
        for index in 0..self.stacks.len() {
            let started = self.start(index, habits);
            for (name, death) in &deaths {
                let victim = if *name == "plugin" { &started.plugin } else { &started.engine };
                victims.push((victim.id, *death));
            }
            outcomes.push(started);
        }
        self.parties.run_until(began, || true);
        for (id, death) in victims {
            self.parties.plan(id, death);
        }
        let ended = |outcomes: &[Started]| outcomes.iter().all(|started| started.engine.has_ended());
        for (moment, fault) in timed {
            if self.parties.run_until(began + moment, || ended(&outcomes)) {
                break;
            }
            self.happen(fault, &outcomes)?;
        }
        if !self.parties.run_until(began + PATIENCE, || ended(&outcomes)) {
            if is_undisturbed {
                return Err(format!(
                    "a run hangs that nobody disturbs; alive: {:?}, outcomes: {:?}",
                    self.parties.living(),
                    outcomes
                        .iter()
                        .map(|started| started.outcome.with(|outcome| outcome.clone()))
                        .collect::<Vec<_>>()
                ));
            }
            world::count("runs that hang");
        }
        let took = system::now() - began;
        let mut is_whole = true;
        for started in &outcomes {
            started.engine.kill();
            if habits.forgets {
                let run = started.saved.with(|saved| saved.clone());
                self.stacks[started.stack].saved.with(|saved| saved.forget(run));
            }
            let outcome = started.outcome.with(|outcome| outcome.0.clone());
            is_whole &= matches!(outcome, Some(Ok(())));
            if is_undisturbed && let Some(Err(error)) = &outcome {
                world::note(|| format!("an undisturbed run fails: {error}"));
            }
        }
        world::count(if is_whole { "runs to their end" } else { "runs cut short" });
        for started in &outcomes {
            let stack = &mut self.stacks[started.stack];
            let answered = stack.saved.with(|saved| std::mem::take(&mut saved.answered));
            // What could not be noted then is noted by the next call about it, which need not come.
            let is_hasty = |at: Duration| self.has_bad_disk || at + NOTED_AFTER > system::now();
            stack.hasty.extend(answered.into_iter().filter(|(_, at)| is_hasty(*at)).map(|(name, _)| name));
        }
        // The next run may begin before a plugin has ended.
        if !is_undisturbed && self.dice.one_in(4) {
            world::count("plugins that outlive their engines");
            outcomes.iter().for_each(|started| started.stop.cancel());
            self.may_have_lost |= self.has_bad_disk && outcomes.iter().any(Started::is_cut_off);
            self.lingering.append(&mut outcomes);
            self.note_unjournalled();
            return Ok(is_whole);
        }
        outcomes.append(&mut self.lingering);
        // An engine ends its plugin: in order, or not.
        let in_order = self.dice.one_in(2);
        for started in &outcomes {
            if in_order { started.stop.cancel() } else { started.plugin.kill() }
        }
        let limit = system::now() + Duration::from_secs(60);
        if !self.parties.run_until(limit, || outcomes.iter().all(|started| started.plugin.has_ended())) {
            if is_undisturbed {
                return Err("a plugin does not end".to_owned());
            }
            outcomes.iter().for_each(|started| started.plugin.kill());
        }
        // The providers end with their plugins.
        let limit = system::now() + Duration::from_secs(10);
        self.parties.run_until(limit, || false);
        let left = self.parties.living();
        if !left.is_empty() {
            return Err(format!("processes are left: {left:?}"));
        }
        self.provider_death.with(|next| *next = None);
        self.note_unjournalled();
        self.may_have_lost |=
            std::mem::take(&mut self.has_bad_disk) && outcomes.iter().any(Started::is_cut_off);
        self.may_report |= self.server.with(|server| {
            let is_stopped = server.stopped_until > system::now();
            outcomes.iter().any(|started| {
                server.kept_waiting.contains(&started.plugin.id)
                    && (is_stopped || !started.plugin.has_ended_in_order())
            })
        });
        if is_undisturbed && is_whole {
            self.usual = took;
            self.steps = self.parties.steps.clone();
        }
        Ok(is_whole)
    }

    /// Where isthmus has said that it cannot journal, nothing is promised of what is cut off. It says so with the answer, so that one
    /// that dies with a bad disk may not have said it yet.
    fn note_unjournalled(&mut self) {
        let is_said = |text: &String| text.contains("Failed to write the journal");
        self.may_have_lost |=
            self.stacks.iter().any(|stack| stack.saved.with(|saved| saved.reports.iter().any(is_said)));
    }

    fn start(&mut self, index: usize, habits: &Habits) -> Started {
        let stack = &self.stacks[index];
        let (sender, connections) = mpsc::channel(4);
        let (ours, theirs) = network::connection();
        sender.try_send(Box::new(theirs) as Box<dyn isthmus_grpc::Stream>).ok();
        let (log, offered) = tokio::io::duplex(64 * 1024);
        let engine = OfferedConnections::default();
        engine.offer(offered);
        let stop = CancellationToken::new();
        let serving = {
            let (place, stop) = (self.place.clone(), stop.clone());
            async move {
                let _open = sender;
                plugin::serve(place, connections, engine, stop).await;
            }
        };
        let plugin = world::start("plugin", Machine::NEW, serving);
        for (name, wish) in &stack.program {
            world::note(|| format!("{} has {name}: {wish:?}", stack.name));
        }
        stack.saved.with(|saved| {
            for (name, stored) in &saved.resources {
                world::note(|| format!("{} knows {} as {name}", stack.name, stored.id));
            }
        });
        let outcome = Shared::<Outcome>::default();
        let saved = match habits.forgets {
            true => Shared::new(stack.saved.with(|saved| saved.clone())),
            false => stack.saved.clone(),
        };
        let run = Run {
            stack: stack.name.to_owned(),
            program: stack.program.clone(),
            habits: habits.clone(),
            saved: saved.clone(),
            outcome: outcome.clone(),
            dice: self.dice.split(),
            provider: self.place.provider().display().to_string(),
        };
        let engine = if self.place.legacy {
            world::start("engine", Machine::NEW, legacy::run(run, ours, log))
        } else {
            world::start("engine", Machine::NEW, engine::run(run, ours, log))
        };
        Started { stack: index, saved, plugin, engine, outcome, stop }
    }

    /// Nobody disturbs any more: everything becomes what the programs say, and what is there besides was reported.
    fn end(&mut self) -> Result<(), Broken> {
        self.cloud.with(|cloud| cloud.manners = Manners::default());
        let habits = Habits { refreshes: true, ..Habits::default() };
        for stack in &mut self.stacks {
            // For a stack without resources, an engine starts no plugin, which could report something.
            if stack.program.is_empty() {
                let wish = Wish { title: engine::title(stack.name, "last"), ..Wish::default() };
                stack.program.insert("last".to_owned(), wish);
            }
        }
        let mut whole = 0;
        let is_patient = self.dice.one_in(4);
        for _ in 0..8 {
            // The leases of those who have died are over.
            let later = system::now() + LEASES;
            self.parties.run_until(later, || false);
            system::wait_until(later);
            if self.run(Vec::new(), &habits, true)? {
                whole += 1;
            }
            // As often as it takes for reports that wait.
            if whole == 3 || whole > 0 && !is_patient && self.strangers().is_empty() {
                break;
            }
        }
        if whole == 0 {
            return Err("runs fail that nobody disturbs".to_owned());
        }
        self.survey()?;
        for stack in &self.stacks {
            let (has, condemned) = stack
                .saved
                .with(|saved| (saved.resources.keys().cloned().collect::<Vec<_>>(), saved.condemned.len()));
            let wanted: Vec<String> = stack.program.keys().cloned().collect();
            if has != wanted || condemned > 0 {
                return Err(format!(
                    "{} has {has:?} and {condemned} replaced, and not {wanted:?}",
                    stack.name
                ));
            }
        }
        self.objects_are_as_wished()?;
        self.reports()
    }
}

fn with_wish(program: &mut Program, key: &str, change: impl FnOnce(&mut Wish)) {
    if let Some(wish) = program.get_mut(key) {
        change(wish);
    }
}

/// What has been started for a stack.
struct Started {
    stack: usize,
    saved: Shared<Saved>,
    plugin: Handle,
    engine: Handle,
    outcome: Shared<Outcome>,
    stop: CancellationToken,
}

impl Started {
    /// Whether something of this run has died before it could tell all that it had to.
    fn is_cut_off(&self) -> bool {
        let has_answer = self.outcome.with(|outcome| match &outcome.0 {
            None => false,
            Some(Ok(())) => true,
            Some(Err(error)) => !error.starts_with("Unavailable"),
        });
        !has_answer || self.plugin.has_ended() && !self.plugin.has_ended_in_order()
    }
}
