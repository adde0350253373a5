//! One contestant, measured once.
//!
//! A bridge is first started with an empty home and killed: that is the first start on a machine, and the test of what a
//! killed bridge leaves behind. Then it works through both suites with a home that stays, as on a user's machine.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::Context as _;
use serde::Serialize;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::bridge::{Bridge, BridgeClient, BridgeSpec, Ended, Killed, Startup};
use crate::calls::{Call, Latency, Samples};
use crate::engine::{EngineService, Logged};
use crate::floor::{Floor, FloorClient};
use crate::options::{Contestant, Options};
use crate::processes::{CpuSeconds, Executable, Processes, Usage};
use crate::system_calls;
use crate::tools::Tools;
use crate::workload::Suite;

/// Everything that does not change from one repetition to the next.
#[derive(Debug)]
pub(crate) struct Field {
    tools: Tools,
    engine: EngineService,
    homes: TempDir,
    count: usize,
    concurrency: Vec<usize>,
}

/// What one repetition has yielded.
#[derive(Debug, Serialize)]
pub(crate) struct Repetition {
    /// Who was measured.
    pub(crate) contestant: Contestant,
    /// Which turn it was, from 1.
    pub(crate) turn: usize,
    /// A start with an empty home, and its violent end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<FirstStart>,
    /// The calls of resources.
    pub(crate) suites: Vec<SuiteResult>,
    /// What the contestant logged to the engine meanwhile.
    pub(crate) logged: Logged,
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
    /// How long the start took.
    pub(crate) startup: Startup,
    /// What was used up to Configure's answer.
    pub(crate) configured: Usage,
    /// One resource after another.
    pub(crate) serial: Phase,
    /// Several at a time, as many as was asked for.
    pub(crate) concurrent: Vec<Phase>,
    /// What was used in all, up to the last answer.
    pub(crate) worked: Usage,
    /// How it ended; the floor's end is not of interest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Ended>,
}

/// Many resources' lives.
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
    /// System calls of the bridge during the phase, where they can be counted.
    pub(crate) bridge_system_calls: Option<u64>,
    /// The same of the provider.
    pub(crate) provider_system_calls: Option<u64>,
}

impl Phase {
    /// Calls in a second.
    #[expect(clippy::cast_precision_loss, reason = "calls stay far below 2^53")]
    pub(crate) fn throughput(&self) -> f64 {
        self.calls as f64 / self.seconds
    }

    /// Whole lives of resources in a second.
    #[expect(clippy::cast_precision_loss, reason = "resources stay far below 2^53")]
    pub(crate) fn lifecycles(&self) -> f64 {
        self.resources as f64 / self.seconds
    }
}

impl Field {
    /// Prepares to measure.
    pub(crate) async fn prepare(tools: Tools, options: &Options) -> anyhow::Result<Self> {
        let homes = TempDir::with_prefix("isthmus-benches-homes-").context("no temporary directory")?;
        let engine = EngineService::start()?;
        let concurrency = options.concurrency.clone();
        Ok(Self { tools, engine, homes, count: options.count, concurrency })
    }

    /// What the programs are.
    pub(crate) fn tools(&self) -> &Tools {
        &self.tools
    }

    /// Starts and ends a contestant once, so that its files are in memory when it is measured.
    pub(crate) async fn warm_up(&self, contestant: Contestant) -> anyhow::Result<()> {
        for suite in SUITES {
            self.start(contestant, suite).await?.0.end().await?;
        }
        Ok(())
    }

    /// Measures a contestant.
    pub(crate) async fn measure(&self, contestant: Contestant, turn: usize) -> anyhow::Result<Repetition> {
        let before = self.engine.logged()?;
        let first = match self.bridge(contestant) {
            Some(executable) => {
                let home =
                    TempDir::with_prefix_in("first-", self.homes.path()).context("no temporary directory")?;
                let spec = BridgeSpec {
                    executable: executable.to_owned(),
                    home: home.path().to_owned(),
                    variables: Vec::new(),
                };
                let provider = self.provider(Suite::Random);
                let (bridge, startup) = Bridge::start(&spec, &self.engine, Suite::Random, provider).await?;
                Some(FirstStart { startup, killed: bridge.kill().await? })
            }
            None => None,
        };
        let mut suites = Vec::new();
        for suite in SUITES {
            let result = self.run(contestant, suite).await;
            suites.push(result.with_context(|| format!("the suite {}", suite.package()))?);
        }
        let logged = self.engine.logged()?.since(before);
        Ok(Repetition { contestant, turn, first, suites, logged })
    }

    async fn run(&self, contestant: Contestant, suite: Suite) -> anyhow::Result<SuiteResult> {
        let executable = Executable::at(self.provider(suite))?;
        let (session, startup) = self.start(contestant, suite).await?;
        let outcome = async {
            let configured = session.usage(executable)?;
            let serial = self.phase(&session, suite, 1, executable).await.context("one at a time")?;
            let mut concurrent = Vec::new();
            for &concurrency in &self.concurrency {
                let phase = self.phase(&session, suite, concurrency, executable).await;
                concurrent.push(phase.with_context(|| format!("{concurrency} at a time"))?);
            }
            anyhow::Ok((configured, serial, concurrent, session.usage(executable)?))
        };
        match outcome.await {
            Ok((configured, serial, concurrent, worked)) => {
                let ended = session.end().await?;
                Ok(SuiteResult { suite, startup, configured, serial, concurrent, worked, ended })
            }
            Err(error) => Err(session.explain(error)),
        }
    }

    async fn phase(
        &self,
        session: &Session,
        suite: Suite,
        concurrency: usize,
        provider: Executable,
    ) -> anyhow::Result<Phase> {
        let processes = session.processes(provider)?;
        let bridge_calls = system_calls::Counter::start(&processes.bridge);
        let provider_calls = system_calls::Counter::start(&processes.provider);
        let before = session.usage(provider)?.cpu;
        let next = Arc::new(AtomicUsize::new(0));
        let count = self.count;
        let mut workers = JoinSet::new();
        let began = Instant::now();
        for _ in 0..concurrency {
            workers.spawn(work(session.client(), suite, Arc::clone(&next), count));
        }
        let mut samples = Samples::default();
        // Leaving early ends the other workers.
        while let Some(outcome) = workers.join_next().await {
            samples.absorb(outcome.context("a worker panicked")??);
        }
        let seconds = began.elapsed().as_secs_f64();
        let cpu = session.usage(provider)?.cpu.since(before);
        Ok(Phase {
            resources: count,
            concurrency,
            calls: samples.len(),
            seconds,
            latencies: samples.latencies(),
            cpu,
            bridge_system_calls: bridge_calls.finish()?,
            provider_system_calls: provider_calls.finish()?,
        })
    }

    async fn start(&self, contestant: Contestant, suite: Suite) -> anyhow::Result<(Session, Startup)> {
        let provider = self.provider(suite);
        match self.bridge(contestant) {
            Some(executable) => {
                let home = self.homes.path().join(contestant.to_string());
                std::fs::create_dir_all(&home)
                    .with_context(|| format!("{} cannot be made", home.display()))?;
                let spec = BridgeSpec { executable: executable.to_owned(), home, variables: Vec::new() };
                let (bridge, startup) = Bridge::start(&spec, &self.engine, suite, provider).await?;
                Ok((Session::Bridge(Box::new(bridge)), startup))
            }
            None => {
                let (floor, startup) = Floor::start(suite, provider).await?;
                Ok((Session::Floor(Box::new(floor)), startup))
            }
        }
    }

    fn bridge(&self, contestant: Contestant) -> Option<&Path> {
        match contestant {
            Contestant::Isthmus => Some(&self.tools.isthmus),
            Contestant::GoBridge => Some(&self.tools.go_bridge),
            Contestant::Floor => None,
        }
    }

    fn provider(&self, suite: Suite) -> &Path {
        match suite {
            Suite::Random => &self.tools.random,
            Suite::Time => &self.tools.time,
        }
    }
}

const SUITES: [Suite; 2] = [Suite::Random, Suite::Time];

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
