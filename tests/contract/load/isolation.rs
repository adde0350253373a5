//! Two sessions of a shared daemon with different configurations, hence processes: what the provider of the one does wrong
//! does not disturb the other.
//!
//! `ISTHMUS_LOAD_CALLS` says how many lifecycles are timed in each phase.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::driver::{Timings, lifecycle};
use super::setting;
use crate::harness::{Host, Session, Setup, Status, json, on_one_protocol};

/// Lifecycles in each phase of the slice.
const SLICE: u64 = 20;

/// How long a call may take beside a provider that misbehaves, in milliseconds: far less than a call that waits for that provider, and
/// far more than one that shares the processors with it.
const WAITING: f64 = 5000.0;

/// What a provider does wrong, again and again.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    /// It ends in the middle of a call.
    Crash,
    /// It takes 128 MiB of memory with the first change that it makes, more than it is allowed, and is replaced.
    Leak,
    /// It logs 10,000 lines in a call.
    Flood,
}

const ALL: [Wrong; 3] = [Wrong::Crash, Wrong::Leak, Wrong::Flood];

impl Wrong {
    /// How the plugin is started whose provider does it.
    fn setup(self, setup: Setup) -> Setup {
        match self {
            Self::Crash | Self::Flood => setup,
            Self::Leak => {
                setup.with("SANDBOX_FAULT", "ApplyResourceChange:grow").with("ISTHMUS_PROVIDER_MEMORY", "64")
            }
        }
    }

    /// Does it once.
    async fn make(self, session: &Session, number: u64) -> Result<(), Status> {
        let faulty = session.resource("sandbox:index/faulty:Faulty", &format!("faulty-{number}"));
        match self {
            Self::Crash => {
                let status =
                    faulty.create(&json!({"mode": "crash"})).await.expect_err("the provider crashes");
                assert!(!status.message().is_empty());
            }
            Self::Leak => drop(session.note().make(&json!({"title": "leak"})).await?),
            Self::Flood => drop(faulty.create(&json!({"mode": "flood"})).await?),
        }
        Ok(())
    }
}

/// How long calls took, in milliseconds: half of them, all but a hundredth, and the longest.
#[derive(Clone, Copy, Debug)]
struct Quantiles {
    half: f64,
    most: f64,
    longest: f64,
}

impl fmt::Display for Quantiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { half, most, longest } = self;
        write!(formatter, "p50 {half:.1} ms, p99 {most:.1} ms, at most {longest:.1} ms")
    }
}

async fn timed(session: &Session, lifecycles: u64) -> Result<Quantiles, Status> {
    let mut timings = Timings::default();
    for number in 0..lifecycles {
        lifecycle(session.client(), &format!("calm-{number}"), &mut timings).await?;
    }
    let mut times: Vec<u32> = timings.0.into_values().flatten().collect();
    times.sort_unstable();
    let at = |percent: usize| f64::from(times[(times.len() - 1) * percent / 100]) / 1e3;
    Ok(Quantiles { half: at(50), most: at(99), longest: at(100) })
}

async fn configured(host: &Host, token: &str) -> Result<Session, Status> {
    let session = host.parameterized().await?;
    session.configure(&json!({"token": token})).await?;
    Ok(session)
}

on_one_protocol! {
    async fn a_session_is_not_disturbed_by_the_provider_of_another(protocol) {
        let lifecycles = setting("ISTHMUS_LOAD_CALLS", SLICE);
        let setup = Setup::sandbox(protocol).without_a_record().with_daemon();
        let setup = match std::env::var_os("ISTHMUS_LOAD_EXECUTABLE") {
            Some(executable) => setup.build(executable.into()),
            None => setup,
        };
        let host = setup.clone().start().await.with_own_provider();
        // Another build of the program has a provider that does nothing wrong.
        std::fs::copy(env!("CARGO_BIN_EXE_isthmus"), host.provider()).expect("a provider can be replaced");
        let calm = configured(&host, "calm").await?;
        timed(&calm, lifecycles / 10).await?;
        let before = timed(&calm, lifecycles).await?;
        println!("protocol {protocol}: nothing is wrong: {before}");
        for wrong in ALL {
            let other = wrong.setup(setup.clone()).beside(&host).start().await;
            let session = configured(&other, "wrong").await?;
            // It has begun before the calls are timed.
            wrong.make(&session, 0).await?;
            let (over, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(1)));
            let misbehaving = tokio::spawn({
                let (over, count) = (Arc::clone(&over), Arc::clone(&count));
                async move {
                    while !over.load(Ordering::Relaxed) {
                        wrong.make(&session, count.fetch_add(1, Ordering::Relaxed)).await?;
                    }
                    Ok::<_, Status>(())
                }
            });
            let during = timed(&calm, lifecycles).await?;
            over.store(true, Ordering::Relaxed);
            misbehaving.await.expect("it does not panic")?;
            let count = count.load(Ordering::Relaxed);
            println!("protocol {protocol}: {wrong:?}, {count} times: {during}");
            assert!(count > 1, "{wrong:?} happened meanwhile");
            assert!(during.longest <= WAITING, "{wrong:?}: a call took {} ms", during.longest);
        }
    }
}
