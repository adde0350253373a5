//! One contestant, measured once.
//!
//! A bridge is first started with an empty home and killed: that is the first start on a machine, and the test of what a
//! killed bridge leaves behind. Then it works through both suites with a home that stays, as on a user's machine.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde::Serialize;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::bridge::{Bridge, BridgeClient, BridgeSpec, Ended, Killed, Startup};
use crate::calls::{Call, Latency, Samples};
use crate::engine::{Engine, Logged};
use crate::figures;
use crate::floor::{Floor, FloorClient};
use crate::machine;
use crate::options::Contestant;
use crate::processes::{CpuSeconds, Executable, Memory, Processes, Usage};
use crate::system_calls;
use crate::tools::Tools;
use crate::turns::{Turn, by_turns};
use crate::workload::Suite;

/// How many starts each suite has: they are short, and one alone shows what else the machine did just then.
const STARTS: usize = 5;

/// How often it is looked whether the machine runs out of memory.
const MEMORY_INTERVAL: Duration = Duration::from_secs(1);

/// Everything that does not change from one repetition to the next.
#[derive(Debug)]
pub(crate) struct Field<'a> {
    tools: &'a Tools,
    engine: &'a Engine,
    homes: TempDir,
}

/// The parts of a repetition.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Whether a start with an empty home comes first.
    pub(crate) first_start: bool,
    /// The suites, each with a start of its own.
    pub(crate) suites: Vec<Suite>,
    /// The phases of each suite.
    pub(crate) phases: Vec<PhaseSize>,
    /// Phases of the first suite in which system calls are counted. They come last and are not timed: counting slows down
    /// what makes many of them.
    pub(crate) counted: Vec<PhaseSize>,
}

/// The size of a phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseSize {
    /// Number of resources.
    pub(crate) resources: usize,
    /// Number of resources in progress at once.
    pub(crate) concurrency: usize,
}

impl fmt::Display for PhaseSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} resources, {} at a time", self.resources, self.concurrency)
    }
}

/// What one repetition has yielded.
#[derive(Debug, Serialize)]
pub(crate) struct Repetition {
    /// A start with an empty home, and its violent end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<FirstStart>,
    /// The calls of resources.
    pub(crate) suites: Vec<SuiteResult>,
    /// What the contestant logged to the engine meanwhile.
    pub(crate) logged: Logged,
}

impl Repetition {
    /// One suite's results, if it was measured.
    pub(crate) fn suite(&self, suite: Suite) -> Option<&SuiteResult> {
        self.suites.iter().find(|result| result.suite == suite)
    }
}

/// A start with an empty home.
#[derive(Debug, Serialize)]
pub(crate) struct FirstStart {
    /// How long it took.
    pub(crate) startup: Startup,
    /// What was left after SIGKILL.
    pub(crate) killed: Killed,
}

/// One suite's results.
#[derive(Debug, Serialize)]
pub(crate) struct SuiteResult {
    /// Which.
    pub(crate) suite: Suite,
    /// How long the starts took; the last one is that of the process that the calls go to.
    pub(crate) startups: Vec<Startup>,
    /// What was used up to Configure's answer.
    pub(crate) configured: Usage,
    /// The calls of resources.
    pub(crate) phases: Vec<Phase>,
    /// Their system calls.
    pub(crate) system_calls: Vec<SystemCalls>,
    /// How it ended; the floor's end is not of interest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Ended>,
}

impl SuiteResult {
    /// The median of a figure over the starts, if they have it.
    pub(crate) fn startup(&self, value: fn(&Startup) -> Option<f64>) -> Option<f64> {
        figures::median(self.startups.iter().filter_map(value).collect())
    }

    /// What was used in all, up to the last answer.
    pub(crate) fn worked(&self) -> &Usage {
        self.phases.last().map_or(&self.configured, |phase| &phase.usage)
    }

    /// CPU time for 1,000 calls of all phases.
    pub(crate) fn cpu_for_1000_calls(&self) -> CpuSeconds {
        let calls = self.phases.iter().map(|phase| phase.calls).sum();
        self.phases.iter().map(|phase| phase.cpu).sum::<CpuSeconds>().for_1000_of(calls)
    }
}

/// Many resources' lifecycles.
#[derive(Debug, Serialize)]
pub(crate) struct Phase {
    /// How many resources.
    pub(crate) resources: usize,
    /// How many at a time.
    pub(crate) concurrency: usize,
    /// How many calls.
    pub(crate) calls: usize,
    /// From the first call to the last answer.
    pub(crate) seconds: f64,
    /// How long the calls took, each.
    pub(crate) latencies: BTreeMap<Call, Latency>,
    /// CPU time during the phase.
    pub(crate) cpu: CpuSeconds,
    /// What was used since the start, up to the last answer.
    pub(crate) usage: Usage,
}

impl Phase {
    /// Calls in a second.
    #[expect(clippy::cast_precision_loss, reason = "calls stay far below 2^53")]
    pub(crate) fn throughput(&self) -> f64 {
        self.calls as f64 / self.seconds
    }

    /// Whole lifecycles of resources in a second.
    #[expect(clippy::cast_precision_loss, reason = "resources stay far below 2^53")]
    pub(crate) fn lifecycles(&self) -> f64 {
        self.resources as f64 / self.seconds
    }
}

/// System calls of many resources' lifecycles.
#[derive(Debug, Serialize)]
pub(crate) struct SystemCalls {
    /// How many resources at a time.
    pub(crate) concurrency: usize,
    /// How many calls of the engine.
    pub(crate) calls: usize,
    /// System calls of the bridge, where they can be counted.
    pub(crate) bridge: Option<u64>,
    /// The same of the provider.
    pub(crate) provider: Option<u64>,
}

impl SystemCalls {
    /// So many of them for each call of the engine.
    #[expect(clippy::cast_precision_loss, reason = "calls stay far below 2^53")]
    pub(crate) fn each(&self, count: u64) -> f64 {
        count as f64 / self.calls as f64
    }
}

impl<'a> Field<'a> {
    /// Prepares to measure.
    pub(crate) fn prepare(tools: &'a Tools, engine: &'a Engine) -> anyhow::Result<Self> {
        let homes = TempDir::with_prefix("isthmus-benches-homes-").context("no temporary directory")?;
        Ok(Self { tools, engine, homes })
    }

    /// Measures each contestant once in each turn, after a start of each that is not measured.
    pub(crate) async fn measure_by_turns(
        &self,
        turns: usize,
        contestants: &[Contestant],
        plan: impl Fn(Contestant) -> Plan,
    ) -> anyhow::Result<Vec<Turn<Repetition>>> {
        for &contestant in contestants {
            self.warm_up(contestant, &plan(contestant))
                .await
                .with_context(|| format!("starting {}", contestant.title()))?;
        }
        by_turns("calls", turns, contestants, async |contestant| {
            self.measure(contestant, &plan(contestant)).await
        })
        .await
    }

    /// Starts and ends a contestant once, so that its files are in memory when it is measured.
    async fn warm_up(&self, contestant: Contestant, plan: &Plan) -> anyhow::Result<()> {
        for &suite in &plan.suites {
            self.start(contestant, suite).await?.0.end().await?;
        }
        Ok(())
    }

    /// Measures a contestant.
    async fn measure(&self, contestant: Contestant, plan: &Plan) -> anyhow::Result<Repetition> {
        let before = self.engine.logged().await?;
        let first = match self.tools.bridge(contestant) {
            Some(executable) if plan.first_start => {
                let home =
                    TempDir::with_prefix_in("first-", self.homes.path()).context("no temporary directory")?;
                let spec = BridgeSpec {
                    executable: executable.to_owned(),
                    home: home.path().to_owned(),
                    variables: Vec::new(),
                };
                let provider = self.tools.provider(Suite::Random);
                let (bridge, startup) = Bridge::start(&spec, self.engine, Suite::Random, provider).await?;
                Some(FirstStart { startup, killed: bridge.kill().await? })
            }
            Some(_) | None => None,
        };
        let mut suites = Vec::new();
        for (at, &suite) in plan.suites.iter().enumerate() {
            let counted = if at == 0 { plan.counted.as_slice() } else { &[] };
            let result = self.run(contestant, suite, &plan.phases, counted).await;
            suites.push(result.with_context(|| format!("the suite {}", suite.package()))?);
        }
        let logged = self.engine.logged().await?.since(before);
        Ok(Repetition { first, suites, logged })
    }

    async fn run(
        &self,
        contestant: Contestant,
        suite: Suite,
        sizes: &[PhaseSize],
        counted: &[PhaseSize],
    ) -> anyhow::Result<SuiteResult> {
        let executable = Executable::at(self.tools.provider(suite))?;
        let mut startups = Vec::new();
        for _ in 1..STARTS {
            let (session, startup) = self.start(contestant, suite).await?;
            session.end().await?;
            startups.push(startup);
        }
        let (session, startup) = self.start(contestant, suite).await?;
        startups.push(startup);
        let outcome = async {
            let configured = session.usage(executable)?;
            let mut phases = Vec::new();
            for &size in sizes {
                let phase = phase(&session, suite, size, executable).await;
                phases.push(phase.with_context(|| size.to_string())?);
            }
            let mut system_calls = Vec::new();
            for &size in counted {
                let calls = count(&session, suite, size, executable).await;
                system_calls.push(calls.with_context(|| size.to_string())?);
            }
            anyhow::Ok((configured, phases, system_calls))
        };
        match outcome.await {
            Ok((configured, phases, system_calls)) => {
                let ended = session.end().await?;
                Ok(SuiteResult { suite, startups, configured, phases, system_calls, ended })
            }
            Err(error) => Err(session.explain(error)),
        }
    }

    async fn start(&self, contestant: Contestant, suite: Suite) -> anyhow::Result<(Session, Startup)> {
        let provider = self.tools.provider(suite);
        match self.tools.bridge(contestant) {
            Some(executable) => {
                let home = self.homes.path().join(contestant.to_string());
                std::fs::create_dir_all(&home)
                    .with_context(|| format!("{} cannot be made", home.display()))?;
                // The sandbox demands a directory, also for resources that it does not write there.
                let variables = vec![("SANDBOX_DIR", home.to_string_lossy().into_owned())];
                let spec = BridgeSpec { executable: executable.to_owned(), home, variables };
                let (bridge, startup) = Bridge::start(&spec, self.engine, suite, provider).await?;
                Ok((Session::Bridge(Box::new(bridge)), startup))
            }
            None => {
                let (floor, startup) = Floor::start(suite, provider).await?;
                Ok((Session::Floor(Box::new(floor)), startup))
            }
        }
    }
}

/// A contestant that has been started.
#[derive(Debug)]
enum Session {
    Bridge(Box<Bridge>),
    Floor(Box<Floor>),
}

/// Its connection.
#[derive(Clone, Debug)]
enum Client {
    Bridge(BridgeClient),
    Floor(FloorClient),
}

impl Session {
    fn client(&self) -> Client {
        match self {
            Self::Bridge(bridge) => Client::Bridge(bridge.client()),
            Self::Floor(floor) => Client::Floor(floor.client()),
        }
    }

    fn usage(&self, provider: Executable) -> anyhow::Result<Usage> {
        match self {
            Self::Bridge(bridge) => bridge.usage(provider),
            Self::Floor(floor) => floor.usage(provider),
        }
    }

    fn processes(&self, provider: Executable) -> anyhow::Result<Processes> {
        match self {
            Self::Bridge(bridge) => bridge.processes(provider),
            Self::Floor(floor) => floor.processes(provider),
        }
    }

    fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        match self {
            Self::Bridge(bridge) => bridge.explain(error),
            Self::Floor(_) => error,
        }
    }

    async fn end(self) -> anyhow::Result<Option<Ended>> {
        match self {
            Self::Bridge(bridge) => Ok(Some(bridge.end().await?)),
            Self::Floor(floor) => {
                floor.end().await;
                Ok(None)
            }
        }
    }
}

/// Times the calls of resources.
async fn phase(
    session: &Session,
    suite: Suite,
    size: PhaseSize,
    provider: Executable,
) -> anyhow::Result<Phase> {
    let PhaseSize { resources, concurrency } = size;
    let before = session.usage(provider)?.cpu;
    let began = Instant::now();
    let samples = lifecycles(session, suite, size, provider).await?;
    let seconds = began.elapsed().as_secs_f64();
    let usage = session.usage(provider)?;
    Ok(Phase {
        resources,
        concurrency,
        calls: samples.len(),
        seconds,
        latencies: samples.latencies(),
        cpu: usage.cpu.since(before),
        usage,
    })
}

/// Counts the system calls during calls of resources.
async fn count(
    session: &Session,
    suite: Suite,
    size: PhaseSize,
    provider: Executable,
) -> anyhow::Result<SystemCalls> {
    let processes = session.processes(provider)?;
    let of_bridge = system_calls::Counter::start(&processes.bridge)?;
    let of_provider = system_calls::Counter::start(&processes.provider)?;
    let calls = lifecycles(session, suite, size, provider).await?.len();
    let (bridge, provider) = (of_bridge.finish()?, of_provider.finish()?);
    Ok(SystemCalls { concurrency: size.concurrency, calls, bridge, provider })
}

/// Takes resources through their lifecycles.
async fn lifecycles(
    session: &Session,
    suite: Suite,
    PhaseSize { resources, concurrency }: PhaseSize,
    provider: Executable,
) -> anyhow::Result<Samples> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..concurrency {
        workers.spawn(work(session.client(), suite, Arc::clone(&next), resources));
    }
    let mut samples = Samples::default();
    let mut watch = tokio::time::interval(MEMORY_INTERVAL);
    // Leaving early ends the other workers.
    loop {
        tokio::select! {
            outcome = workers.join_next() => match outcome {
                Some(outcome) => samples.absorb(outcome.context("a worker panicked")??),
                None => return Ok(samples),
            },
            _ = watch.tick() => if machine::is_short_of_memory() {
                let Memory { resident, .. } = session.usage(provider)?.provider;
                bail!("the machine is short of memory; the provider has {:.0} MiB", resident.mib());
            },
        }
    }
}

async fn work(
    mut client: Client,
    suite: Suite,
    next: Arc<AtomicUsize>,
    count: usize,
) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= count {
            return Ok(samples);
        }
        let cases = suite.cases();
        let case = &cases[index % cases.len()];
        match &mut client {
            Client::Bridge(client) => client.live(case, index, &mut samples).await?,
            Client::Floor(client) => client.live(case, &mut samples).await?,
        }
    }
}
