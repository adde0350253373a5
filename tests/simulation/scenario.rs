//! What a seed makes of stacks, programs, runs and faults, and what must be true whatever it is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use isthmus_session::engine::OfferedConnections;
use isthmus_state::{Condition, OpenIntents, OperationKind};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::cloud::{Cloud, Manners};
use crate::dice::Dice;
use crate::engine::{self, Habits, Outcome, Program, Run, Saved, Wish};
use crate::network;
use crate::plugin::{self, Place, Server};
use crate::system::{self, Death, Disk, Machine, Moment};
use crate::world::{self, Counts, Handle, Parties, Shared};

/// How many resources a program has at most.
const RESOURCES: u64 = 5;

/// How long a run may take that nobody disturbs.
const PATIENCE: Duration = Duration::from_secs(600);

/// After so long, no lease of a dead process holds any more.
const LEASES: Duration = Duration::from_secs(61);

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
}

/// A seed on its way.
struct Scenario {
    dice: Dice,
    place: Place,
    cloud: Shared<Cloud>,
    server: Shared<Server>,
    parties: Parties,
    provider_death: Shared<Option<Death>>,
    providers: Shared<Vec<u64>>,
    stacks: Vec<Stack>,
    /// How long an undisturbed run takes.
    usual: Duration,
    /// Steps of an undisturbed run, by party.
    steps: BTreeMap<&'static str, u64>,
    strangers: BTreeSet<String>,
    /// Plugins that have outlived their engines.
    lingering: Vec<Started>,
    /// Power was lost, and the journal is not synchronised.
    may_have_lost: bool,
}

/// Plays a seed, with files in a directory.
pub(crate) fn play(seed: u64, directory: &Path, traced: bool) -> Report {
    let mut dice = Dice::new(seed);
    system::begin(dice.split());
    world::begin(dice.split(), traced);
    let cloud = Shared::new(Cloud::new(dice.split()));
    let stacks = if dice.one_in(3) { vec!["dev", "prod"] } else { vec!["dev"] };
    let mut scenario = Scenario {
        place: Place { directory: directory.to_owned(), durable: dice.one_in(4), served: dice.one_in(5) },
        server: Shared::default(),
        provider_death: Shared::default(),
        providers: Shared::default(),
        parties: Parties::default(),
        stacks: stacks
            .into_iter()
            .map(|name| Stack { name, saved: Shared::default(), program: Program::new() })
            .collect(),
        usual: Duration::from_millis(20),
        steps: BTreeMap::new(),
        strangers: BTreeSet::new(),
        lingering: Vec::new(),
        may_have_lost: false,
        cloud: cloud.clone(),
        dice,
    };
    let (death, providers) = (scenario.provider_death.clone(), scenario.providers.clone());
    isthmus_provider::plugin::simulation::launch_by(plugin::launcher(cloud, death, providers));
    isthmus_state::simulation::serve_from(
        directory.join("server.db"),
        plugin::reach(scenario.server.clone()),
    );
    if scenario.place.served {
        world::count("seeds with the database of a server");
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
                            body: 0,
                            color: 0,
                            after: None,
                            alias: None,
                            delete_first: dice.one_in(3),
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
        if self.dice.one_in(6) {
            world::count("drifts");
            self.cloud.with(Cloud::drift);
        }
        if self.dice.one_in(10) {
            world::count("objects deleted by others");
            self.cloud.with(Cloud::lose);
        }
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
            forgets: self.dice.one_in(12),
        };
        if habits.forgets {
            world::count("runs that cannot save their state");
        }
        self.run(faults, &habits, false).map(drop)
    }

    fn fault(&mut self, slack: Duration) -> Fault {
        let moment = {
            let micros = (self.usual + slack).as_micros() as u64;
            Duration::from_micros(self.dice.below(micros.max(1)))
        };
        let steps = |name: &str, scenario: &mut Self| {
            let most = scenario.steps.get(name).copied().unwrap_or(300) * 5 / 4;
            let moment = [Moment::Before, Moment::Amid, Moment::After][scenario.dice.index(3)];
            Death { step: 1 + scenario.dice.below(most.max(1)), moment }
        };
        if self.place.served && self.dice.one_in(4) {
            return Fault::Database(moment, Duration::from_millis(self.dice.below(40_000)));
        }
        match self.dice.below(13) {
            0..=2 => Fault::Dies("plugin", steps("plugin", self)),
            3 | 4 => Fault::Dies("engine", steps("engine", self)),
            5 | 6 => Fault::Dies("provider", steps("provider", self)),
            7 => Fault::Killed(moment),
            8 => Fault::Cut(moment),
            9 => {
                let disk = [Disk::Full, Disk::NoSync, Disk::Broken][self.dice.index(3)];
                let lasts = Duration::from_millis(self.dice.below(40));
                Fault::Disk(moment, disk, lasts)
            }
            10 => Fault::PowerLoss(moment),
            11 => {
                let hours = i64::try_from(self.dice.below(48)).expect("hours") - 24;
                Fault::Clock(moment, hours * 3_600_000_000_000)
            }
            _ => Fault::Hangs(moment),
        }
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
        // The next run may begin before a plugin has ended.
        if !is_undisturbed && self.dice.one_in(4) {
            world::count("plugins that outlive their engines");
            outcomes.iter().for_each(|started| started.stop.cancel());
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
        if is_undisturbed && is_whole {
            self.usual = took;
            self.steps = self.parties.steps.clone();
        }
        Ok(is_whole)
    }

    /// Where isthmus has said that it cannot journal, nothing is promised of what is cut off.
    fn note_unjournalled(&mut self) {
        let is_said = |text: &String| text.contains("Failed to write the journal");
        self.may_have_lost |=
            self.stacks.iter().any(|stack| stack.saved.with(|saved| saved.reports.iter().any(is_said)));
    }

    fn happen(&mut self, fault: Timed, running: &[Started]) -> Result<(), Broken> {
        world::note(|| format!("now: {fault:?}"));
        match fault {
            Timed::Kill => {
                let who = &running[self.dice.index(running.len())];
                match self.dice.below(3) {
                    0 => who.plugin.kill(),
                    1 => who.engine.kill(),
                    _ => {
                        who.plugin.kill();
                        who.engine.kill();
                    }
                }
            }
            Timed::Cut => world::cut_one(),
            Timed::Slow => self.cloud.with(|cloud| cloud.manners.slow = 20_000),
            Timed::Clock(ahead) => self.parties.change("plugin", |machine| machine.ahead = ahead),
            Timed::Disk(disk) => self.parties.change("plugin", |machine| machine.disk = disk),
            Timed::Database(lasts) => {
                self.server.with(|server| server.stopped_until = system::now() + lasts);
            }
            Timed::PowerLoss => {
                self.parties.kill_all();
                self.may_have_lost |= !self.place.durable && !self.place.served;
                let home = self.place.directory.join("home");
                if home.exists() {
                    system::lose_power(&home, &mut self.dice).map_err(|error| error.to_string())?;
                }
            }
        }
        Ok(())
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
        let engine = world::start("engine", Machine::NEW, engine::run(run, ours, log));
        Started { stack: index, saved, plugin, engine, outcome, stop }
    }

    /// What `isthmus recover` knows.
    fn open(&mut self) -> Result<OpenIntents, Broken> {
        system::wait_until(self.server.with(|server| server.stopped_until));
        let found = Shared::default();
        world::start("recover", Machine::NEW, plugin::recover(self.place.clone(), found.clone()));
        let limit = system::now() + PATIENCE;
        self.parties.run_until(limit, || found.with(|found| found.is_some()));
        let open = found.with(Option::take).ok_or("`isthmus recover` hangs")?;
        let open = open.map_err(|error| format!("`isthmus recover` fails: {error}"))?;
        if let Some(fault) = open.faults.first() {
            return Err(format!("the journal cannot be read: {fault:?}"));
        }
        Ok(open)
    }

    /// Each object is known to an engine or to `isthmus recover`.
    fn survey(&mut self) -> Result<(), Broken> {
        let open = self.open()?;
        let strangers = self.strangers();
        for (id, name) in &strangers {
            let is_known = open.intents.iter().any(|open| is_creation_of(open, id, name));
            if !is_known && !self.may_have_lost {
                return Err(format!(
                    "{id} of {name} is lost: no engine has it, and open are {:#?}",
                    open.intents
                        .iter()
                        .map(|open| (&open.intent.subject, &open.intent.key.id, &open.condition))
                        .collect::<Vec<_>>()
                ));
            }
        }
        self.strangers.extend(strangers.into_iter().map(|(id, _)| id));
        Ok(())
    }

    /// The objects that no engine knows: id and name.
    fn strangers(&self) -> Vec<(String, String)> {
        let known: BTreeSet<String> =
            self.stacks.iter().flat_map(|stack| stack.saved.with(|saved| saved.ids())).collect();
        self.cloud.with(|cloud| {
            let objects = cloud.objects.iter().filter(|(id, _)| !known.contains(*id));
            objects.map(|(id, object)| (id.clone(), object.name.clone())).collect()
        })
    }

    /// Nobody disturbs any more: everything becomes what the programs say, and what is there besides was reported.
    fn end(&mut self) -> Result<(), Broken> {
        self.cloud.with(|cloud| cloud.manners = Manners::default());
        let habits = Habits { refreshes: true, ..Habits::default() };
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

    fn objects_are_as_wished(&self) -> Result<(), Broken> {
        for stack in &self.stacks {
            let stored = stack.saved.with(|saved| saved.resources.clone());
            for (name, wish) in &stack.program {
                let id = &stored[name].id;
                let Some(object) = self.cloud.with(|cloud| cloud.objects.get(id).cloned()) else {
                    return Err(format!("{name} of {} is {id}, which is not there", stack.name));
                };
                let body = match &wish.after {
                    None => format!("text {}", wish.body),
                    Some(after) => format!("text {} after {}", wish.body, stored[after].id),
                };
                if object.body != body
                    || object.color != format!("color {}", wish.color)
                    || object.name != wish.title
                {
                    return Err(format!("{id} is {object:?}, and not as {wish:?} says"));
                }
                let outputs = &stored[name].outputs;
                if outputs["body"] != object.body
                    || outputs["version"].as_str() != Some(&*object.version.to_string())
                {
                    return Err(format!("the state of {name} is {outputs}, and {id} is {object:?}"));
                }
            }
        }
        Ok(())
    }

    fn reports(&self) -> Result<(), Broken> {
        let strangers = self.strangers();
        for stack in &self.stacks {
            let saved = stack.saved.with(|saved| saved.clone());
            let reports = &saved.reports;
            let creations: BTreeSet<&String> = reports.iter().filter(|text| is_of_creation(text)).collect();
            for (id, name) in strangers.iter().filter(|(_, name)| name.starts_with(stack.name)) {
                let title = name.rsplit('/').next().unwrap_or_default();
                let is_of_it = |report: &String| {
                    report.contains(&format!("{id} "))
                        || report.contains(&format!("{id},"))
                        || report.contains(&format!("\"{id}\""))
                        || report.contains(&format!("::{title}"))
                };
                // Where the resource is not created again, nothing shows that the engine does not know it.
                let is_ended = saved.forgotten.get(id).is_some_and(|name| !stack.program.contains_key(name));
                if !self.may_have_lost && !is_ended && !reports.iter().any(is_of_it) {
                    return Err(format!("{id} of {name} was not reported: {reports:#?}"));
                }
            }
            let strangers = strangers.iter().filter(|(_, name)| name.starts_with(stack.name)).count() as u64;
            world::add("reports of creations", creations.len() as u64);
            world::add("objects that no engine knows", strangers);
            // It has said itself that it may report more.
            if self.may_have_lost || reports.iter().any(|text| text.contains("Failed to record")) {
                continue;
            }
            for report in creations {
                let is_of = |name: &String| {
                    let base = name.trim_end_matches('x');
                    let mut urn = report.split("::");
                    urn.nth(3).is_some_and(|rest| {
                        rest.split([' ', '"']).next().unwrap_or_default().trim_end_matches('x') == base
                    })
                };
                let has_cause = saved.unanswered.iter().any(|(name, times)| *times > 0 && is_of(name))
                    || saved.released.values().any(is_of);
                if !has_cause {
                    return Err(format!("a report without a cause: {report}"));
                }
            }
        }
        Ok(())
    }
}

/// Whether a warning reports the creation of an object.
fn is_of_creation(text: &str) -> bool {
    text.contains("isthmus recover dismiss")
}

fn with_wish(program: &mut Program, key: &str, change: impl FnOnce(&mut Wish)) {
    if let Some(wish) = program.get_mut(key) {
        change(wish);
    }
}

/// Whether an operation is the creation of an object: by its id, or by its resource where the id is not known.
fn is_creation_of(open: &isthmus_state::OpenIntent, id: &str, name: &str) -> bool {
    let Some((stack, title)) = name.split_once('/') else { return false };
    let urn = &open.intent.subject;
    let resource = urn.rsplit("::").next().unwrap_or_default().trim_end_matches('x');
    let is_of_it = urn.contains(&format!(":{stack}::")) && resource == title;
    let is_unknown = !matches!(open.condition, Condition::Unconfirmed);
    open.intent.intention == OperationKind::Create && is_of_it && (open.intent.key.id == id || is_unknown)
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

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// A party dies at a step.
    Dies(&'static str, Death),
    /// Somebody is killed at a moment.
    Killed(Duration),
    /// A connection is cut.
    Cut(Duration),
    Disk(Duration, Disk, Duration),
    /// The clock of the day jumps.
    Clock(Duration, i64),
    /// The provider needs long from then on.
    Hangs(Duration),
    /// All processes end, and files are as a disk has them.
    PowerLoss(Duration),
    /// The database's server stops for a time.
    Database(Duration, Duration),
}

impl Fault {
    fn kind(&self) -> &'static str {
        match self {
            Self::Dies("plugin", _) => "plugins that die at a step",
            Self::Dies("engine", _) => "engines that die at a step",
            Self::Dies(..) => "providers that die at a step",
            Self::Killed(_) => "kills at a moment",
            Self::Cut(_) => "cut connections",
            Self::Disk(_, Disk::Full, _) => "full disks",
            Self::Disk(_, Disk::NoSync, _) => "disks that cannot synchronise",
            Self::Disk(..) => "broken disks",
            Self::Clock(..) => "jumps of the clock",
            Self::Hangs(_) => "providers that need long",
            Self::PowerLoss(_) => "losses of power",
            Self::Database(..) => "stops of the database's server",
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Timed {
    Kill,
    Cut,
    Slow,
    Clock(i64),
    Disk(Disk),
    PowerLoss,
    Database(Duration),
}
