//! The parties of a simulation, and the order in which they run.
//!
//! A party is a process of reality: an engine, a plugin or a provider. It has a runtime of its own, so that it can be killed alone, and
//! runs until it has nothing to do. Then another one does, in an order of the seed; when none has anything to do, time passes until
//! the next message arrives or the next timer is due.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::io::Write as _;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use isthmus_provider::plugin::{Ending, Exit};
use libc::c_int;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::dice::Dice;
use crate::network::Wire;
use crate::system::{self, Death, Machine};

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(World::default());
}

/// How long the providers of a plugin outlive it at most: their guardian ends them.
const GUARDIAN: Duration = Duration::from_millis(100);

/// What has not happened yet, and the parties.
#[derive(Debug, Default)]
struct World {
    dice: Dice,
    /// When something arrives, and at the end of which wire.
    arrivals: BinaryHeap<Reverse<(Duration, u64)>>,
    wires: Vec<Option<Wire>>,
    /// The connections that may be cut.
    connections: Vec<(Wire, Wire)>,
    /// Parties that others have started, and that do not run yet.
    started: Vec<Party>,
    next_party: u64,
    /// The party that runs.
    running: u64,
    /// How slow the network of this seed is.
    slowness: u64,
    /// Every message takes less than a millisecond.
    is_steady: bool,
    is_traced: bool,
    counts: Counts,
}

/// What has happened, by kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(pub(crate) std::collections::BTreeMap<&'static str, u64>);

impl Counts {
    pub(crate) fn add(&mut self, kind: &'static str, times: u64) {
        *self.0.entry(kind).or_default() += times;
    }

    pub(crate) fn join(&mut self, other: &Self) {
        for (kind, times) in &other.0 {
            self.add(kind, *times);
        }
    }
}

/// A process.
#[derive(Debug)]
pub(crate) struct Party {
    pub(crate) id: u64,
    pub(crate) name: &'static str,
    /// Who has started it.
    parent: u64,
    runtime: Option<Runtime>,
    /// What its runtime is woken by.
    waker: c_int,
    main: JoinHandle<()>,
    machine: Machine,
    /// When it has something to do by itself.
    timer: Option<Duration>,
    exit: watch::Sender<Option<Exit>>,
    /// Cancelled where it is to be killed.
    killed: CancellationToken,
    /// When it is killed because its parent is gone.
    orphaned: Option<Duration>,
}

/// What others have of a party.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    pub(crate) id: u64,
    pub(crate) exit: watch::Receiver<Option<Exit>>,
    pub(crate) killed: CancellationToken,
}

fn with<T>(work: impl FnOnce(&mut World) -> T) -> T {
    WORLD.with_borrow_mut(work)
}

/// Begins a simulation on this thread.
pub(crate) fn begin(mut dice: Dice, traced: bool) {
    let slowness = dice.below(4);
    WORLD.set(World { dice, is_traced: traced, slowness, ..World::default() });
}

/// Lets no message take so long that a plugin of a legacy engine believes that it has arrived: a plugin passes its answers to the
/// system of its engine, and waits for a moment.
pub(crate) fn be_steady() {
    with(|world| world.is_steady = true);
}

/// Shows what happens, where a seed is replayed.
pub(crate) fn note(text: impl FnOnce() -> String) {
    if with(|world| world.is_traced) {
        // There is no other place for it.
        let _ = writeln!(std::io::stderr().lock(), "{:>12.6} {}", system::now().as_secs_f64(), text());
    }
}

/// The party that runs.
pub(crate) fn running() -> u64 {
    with(|world| world.running)
}

/// Counts what happens.
pub(crate) fn count(kind: &'static str) {
    with(|world| world.counts.add(kind, 1));
}

/// Counts what happens, so many times.
pub(crate) fn add(kind: &'static str, times: u64) {
    with(|world| world.counts.add(kind, times));
}

/// What was counted.
pub(crate) fn counts() -> Counts {
    with(|world| world.counts.clone())
}

/// How long the next message takes.
pub(crate) fn delay() -> Duration {
    with(|world| {
        let (slowness, is_steady) = (world.slowness, world.is_steady);
        let dice = &mut world.dice;
        let microseconds = match dice.below(2000) {
            _ if is_steady => 20 + dice.below(200),
            0 => dice.below(3_000_000),
            1..40 => dice.below(20_000),
            _ => 20 + dice.below(200 * (1 + slowness * slowness)),
        };
        Duration::from_micros(microseconds)
    })
}

/// Remembers that something arrives.
pub(crate) fn arrives(moment: Duration, wire: Wire) {
    with(|world| {
        let number = world.wires.len() as u64;
        world.wires.push(Some(wire));
        world.arrivals.push(Reverse((moment, number)));
    });
}

/// Remembers a connection.
pub(crate) fn connected(there: Wire, back: Wire) {
    with(|world| world.connections.push((there, back)));
}

/// Cuts a connection, one of the last.
pub(crate) fn cut_one() {
    let cut = with(|world| {
        let length = world.connections.len();
        let from = length.saturating_sub(4);
        let index = from + world.dice.index((length - from).max(1));
        world.connections.get(index).cloned()
    });
    if let Some((there, back)) = cut {
        there.cut();
        back.cut();
    }
}

/// Starts a party, which the one that runs is the parent of.
pub(crate) fn start(
    name: &'static str,
    machine: Machine,
    main: impl Future<Output = ()> + Send + 'static,
) -> Handle {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_io().enable_time().build().expect("a runtime");
    let (main, waker) = system::woken_by(|| runtime.spawn(main));
    let (exit, exited) = watch::channel(None);
    let killed = CancellationToken::new();
    let token = killed.clone();
    let id = with(|world| {
        world.next_party += 1;
        let id = world.next_party;
        let parent = world.running;
        world.started.push(Party {
            id,
            name,
            parent,
            runtime: Some(runtime),
            waker,
            main,
            machine,
            timer: Some(Duration::ZERO),
            exit,
            killed: token,
            orphaned: None,
        });
        id
    });
    note(|| format!("{name} {id} starts"));
    Handle { id, exit: exited, killed }
}

impl Handle {
    pub(crate) fn has_ended(&self) -> bool {
        self.exit.borrow().is_some()
    }

    pub(crate) fn has_ended_in_order(&self) -> bool {
        self.exit.borrow().as_ref().is_some_and(|exit| exit.ending == Ending::Code(0))
    }

    pub(crate) fn kill(&self) {
        self.killed.cancel();
    }
}

impl Party {
    /// Runs it until it has nothing to do.
    fn run(&mut self) {
        let Some(runtime) = &self.runtime else { return };
        with(|world| world.running = self.id);
        let outside = system::exchange(self.machine);
        let mut is_idle = false;
        let idle = poll_fn(|context| {
            if std::mem::replace(&mut is_idle, true) {
                return Poll::Ready(());
            }
            system::when_idle(context.waker().clone());
            Poll::Pending
        });
        runtime.block_on(pin!(idle));
        self.timer = system::next_timer();
        system::forget_woken(self.waker);
        self.machine = system::exchange(outside);
        with(|world| world.running = 0);
    }

    /// Ends it: by itself, or killed.
    fn end(&mut self, ending: Ending) {
        let Some(runtime) = self.runtime.take() else { return };
        note(|| format!("{} {} ends: {ending} after {} steps", self.name, self.id, self.machine.steps));
        // What destructors do has no effect: a killed process has none.
        let machine = Machine { is_dead: true, ..self.machine };
        let outside = system::exchange(machine);
        runtime.shutdown_background();
        system::exchange(outside);
        self.exit.send_replace(Some(Exit { ending, last_lines: Vec::new(), panic: None }));
    }

    fn is_killed(&self) -> bool {
        self.killed.is_cancelled() || self.orphaned.is_some_and(|moment| moment <= system::now())
    }

    fn is_over(&self) -> bool {
        self.runtime.is_none()
    }
}

/// All parties, as whoever directs them has them.
#[derive(Debug, Default)]
pub(crate) struct Parties {
    parties: Vec<Party>,
    /// What the last party of each name has done.
    pub(crate) steps: std::collections::BTreeMap<&'static str, u64>,
}

impl Parties {
    /// Lets time pass until a condition holds; `false` if nothing more happens before, or not until `limit`.
    pub(crate) fn run_until(&mut self, limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
        loop {
            self.run_all();
            if condition() {
                return true;
            }
            let timers = self.parties.iter().flat_map(|party| [party.timer, party.orphaned]).flatten();
            let arrival = with(|world| world.arrivals.peek().map(|Reverse((moment, _))| *moment));
            let Some(next) = timers.chain(arrival).min() else { return false };
            if next > limit {
                system::wait_until(limit);
                return false;
            }
            system::wait_until(next);
            self.arrive();
        }
    }

    /// Delivers what has arrived.
    fn arrive(&mut self) {
        let now = system::now();
        loop {
            let wire = with(|world| {
                let Reverse((moment, number)) = *world.arrivals.peek()?;
                if moment > now {
                    return None;
                }
                world.arrivals.pop();
                let index = usize::try_from(number).expect("a length");
                world.wires[index].take()
            });
            let Some(wire) = wire else { return };
            wire.wake();
        }
    }

    /// Runs those who have something to do, until none has at this moment.
    fn run_all(&mut self) {
        loop {
            self.parties.append(&mut with(|world| std::mem::take(&mut world.started)));
            let (now, woken) = (system::now(), system::take_woken());
            let is_due = |moment: Option<Duration>| moment.is_some_and(|moment| moment <= now);
            let is_active =
                |party: &Party| party.is_killed() || is_due(party.timer) || woken.contains(&party.waker);
            let mut order: Vec<usize> = (0..self.parties.len()).collect();
            order.retain(|index| is_active(&self.parties[*index]));
            if order.is_empty() {
                return;
            }
            with(|world| {
                for last in (1..order.len()).rev() {
                    order.swap(last, world.dice.index(last + 1));
                }
            });
            for index in order {
                let party = &mut self.parties[index];
                if party.is_killed() {
                    party.end(Ending::Signal(9));
                    continue;
                }
                party.run();
                if party.machine.is_dead {
                    party.end(Ending::Signal(9));
                } else if party.main.is_finished() {
                    party.end(Ending::Code(0));
                }
            }
            self.bury();
        }
    }

    /// Forgets who has ended, and orphans the children.
    fn bury(&mut self) {
        let over: Vec<u64> =
            self.parties.iter().filter(|party| party.is_over()).map(|party| party.id).collect();
        if over.is_empty() {
            return;
        }
        for party in self.parties.iter().filter(|party| party.is_over()) {
            self.steps.insert(party.name, party.machine.steps);
        }
        self.parties.retain(|party| !party.is_over());
        for party in &mut self.parties {
            if over.contains(&party.parent) && party.orphaned.is_none() {
                let within = with(|world| world.dice.below(GUARDIAN.as_micros() as u64));
                party.orphaned = Some(system::now() + Duration::from_micros(within));
            }
        }
    }

    /// Lets the oldest living party of a name die at a step from now, or at once where it has none.
    pub(crate) fn plan(&mut self, id: u64, death: Death) {
        if let Some(party) = self.parties.iter_mut().find(|party| party.id == id) {
            party.machine.dies_at = Some(death);
        }
    }

    /// Kills all.
    pub(crate) fn kill_all(&mut self) {
        self.parties.iter_mut().for_each(|party| party.end(Ending::Signal(9)));
        self.bury();
    }

    /// Changes what the system is to the parties of a name.
    pub(crate) fn change(&mut self, name: &str, change: impl Fn(&mut Machine)) {
        for party in self.parties.iter_mut().filter(|party| party.name == name) {
            change(&mut party.machine);
        }
    }

    /// The names of those that live.
    pub(crate) fn living(&self) -> Vec<&'static str> {
        self.parties.iter().map(|party| party.name).collect()
    }
}

/// A place for what parties leave behind.
#[derive(Debug)]
pub(crate) struct Shared<T>(Arc<Mutex<T>>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Default> Default for Shared<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    pub(crate) fn with<Answer>(&self, work: impl FnOnce(&mut T) -> Answer) -> Answer {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
