//! Today's engine with a stack of notes, as far as a provider can see it, and everything that may die.
//!
//! It saves its state after each answer. A killed engine is one whose calls are dropped at once, and whose process (a shell
//! that stands for it) is killed: what it had saved, it has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::harness::processes::Signal;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tonic::Status;

use crate::harness::engine::Severity;
use crate::harness::host::EngineInput;
use crate::harness::resource::{Resource, Stored};
use crate::harness::{Json, Protocol, Session, Setup, json, processes};

const NOTE: &str = "sandbox:index/note:Note";
/// The variable by which the processes of a run are found.
const MARK: &str = "KILLS_MARK";
/// How long processes may outlive what they belong to. A machine that builds beside its tests is slow.
const LIMIT: Duration = Duration::from_secs(15);

/// What a program says of a resource. Another colour replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) body: usize,
    pub(super) color: usize,
}

pub(super) type Program = BTreeMap<String, Wish>;

/// What dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Victim {
    Daemon,
    Provider,
    Engine,
    EngineAndDaemon,
}

/// An engine, and what it has saved.
pub(super) struct Engine {
    pub(super) protocol: Protocol,
    directory: Arc<TempDir>,
    saved: Arc<Mutex<Saved>>,
    /// Everything that users were told, of runs so far.
    pub(super) reports: Vec<String>,
    /// How long the last process outlived its run, at most.
    pub(super) longest: Duration,
    /// How long the calls of the last run took.
    pub(super) took: Duration,
    /// Creations that the engine has no object of.
    pub(super) failed_creations: usize,
    runs: usize,
}

/// A stack's state.
#[derive(Clone, Debug, Default)]
pub(super) struct Saved {
    pub(super) resources: BTreeMap<String, Stored>,
    /// Replaced, and to be deleted.
    pub(super) condemned: Vec<(String, Stored)>,
    /// Creations that the engine has no object of, of all runs.
    failed_creations: usize,
}

impl Saved {
    /// The objects that the engine knows.
    pub(super) fn ids(&self) -> BTreeSet<String> {
        let all = self.resources.values().chain(self.condemned.iter().map(|(_, stored)| stored));
        all.map(|stored| stored.id.clone()).collect()
    }
}

/// What the provider has, and who knows of it.
#[derive(Debug)]
pub(super) struct Survey {
    /// Objects that the engine does not know: id and title.
    pub(super) strangers: Vec<(String, String)>,
}

impl Engine {
    pub(super) fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            directory: Arc::new(tempfile::tempdir().expect("a directory")),
            saved: Arc::default(),
            reports: Vec::new(),
            longest: Duration::ZERO,
            took: Duration::ZERO,
            failed_creations: 0,
            runs: 0,
        }
    }

    /// Runs a program with variables in the daemon's environment. `killing` says what dies, and after which time; `None`
    /// where it dies by itself, or not at all. Returns whether the run came to its end.
    pub(super) async fn run(
        &mut self,
        program: &Program,
        variables: &[(&str, &str)],
        killing: Option<(Victim, Duration)>,
    ) -> bool {
        self.runs += 1;
        let mark = format!("{}-{:p}-{}", std::process::id(), self.directory, self.runs);
        let mut setup = Setup::sandbox(self.protocol).within(&self.directory).with(MARK, &mark);
        setup = setup.with("ISTHMUS_STOP_GRACE_PERIOD", "1").below_an_engine(EngineInput::Pipe);
        for (name, value) in variables {
            setup = setup.with(name, value);
        }
        let host = setup.start().await;
        let deploying = async {
            let session = host.session().await?;
            deploy(session, program, &self.saved).await
        };
        let died = async {
            let Some((victim, moment)) = killing else { return std::future::pending().await };
            tokio::time::sleep(moment).await;
            match victim {
                Victim::Daemon => host.signal(Signal::KILL),
                Victim::Provider => {
                    // It may not have begun yet. Those of earlier runs are among them.
                    let living = || host.provider_processes().into_iter().filter(|id| processes::lives(*id));
                    while living().next().is_none() {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                    living().for_each(|provider| processes::signal(provider, Signal::KILL));
                }
                Victim::Engine => host.kill_starter(),
                Victim::EngineAndDaemon => {
                    host.signal(Signal::KILL);
                    host.kill_starter();
                }
            }
            // A killed engine hears of nothing any more. Of the others it hears.
            if !matches!(victim, Victim::Engine | Victim::EngineAndDaemon) {
                std::future::pending::<()>().await;
            }
        };
        let begun = Instant::now();
        let is_whole = tokio::select! {
            deployed = deploying => deployed.is_ok(),
            () = died => false,
        };
        self.took = begun.elapsed();
        // An engine ends its plugin after its run.
        host.kill_starter();
        self.expect_no_process(&mark).await;
        let failed_creations = self.saved().failed_creations;
        self.failed_creations = failed_creations;
        let reports = host.engine.shown().into_iter().filter(|line| line.severity == Severity::Warning);
        self.reports.extend(reports.map(|line| line.message).filter(|text| is_report(text)));
        is_whole
    }

    async fn expect_no_process(&mut self, mark: &str) {
        let since = Instant::now();
        loop {
            let left = processes::with_variable(MARK, mark);
            if left.is_empty() {
                break;
            }
            assert!(since.elapsed() < LIMIT, "processes are left: {left:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.longest = self.longest.max(since.elapsed());
    }

    /// Looks whether anything is lost: each object is known to the engine, or to `isthmus recover`.
    pub(super) fn survey(&self) -> Survey {
        let saved = self.saved().clone();
        let known = saved.ids();
        let strangers: Vec<(String, String)> =
            self.objects().into_iter().filter(|(id, _)| !known.contains(id)).collect();
        let open = self.recover(&["list", "--json"]);
        let open: Json = serde_json::from_str(&open).unwrap_or_else(|_| panic!("no JSON: {open}"));
        let open = open["operations"].as_array().expect("an array");
        for (id, title) in &strangers {
            assert!(
                open.iter().any(|open| is_listed(open, id, title)),
                "{id} of {title} is lost: the engine has {:?}, open are {open:#?}",
                self.saved().resources.get(title)
            );
        }
        Survey { strangers }
    }

    /// The provider's objects: id and title.
    fn objects(&self) -> Vec<(String, String)> {
        objects_in(&self.directory.path().join("objects"))
    }

    /// The names of the resources that the engine has, and how many replaced ones.
    pub(super) fn has(&self) -> (Vec<String>, usize) {
        let saved = self.saved();
        (saved.resources.keys().cloned().collect(), saved.condemned.len())
    }

    pub(super) fn recover(&self, words: &[&str]) -> String {
        let ran = Command::new(env!("CARGO_BIN_EXE_isthmus"))
            .arg("recover")
            .args(words)
            .env_clear()
            .env("ISTHMUS_HOME", self.directory.path().join("isthmus"))
            .output()
            .expect("isthmus starts");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    /// The file that fail points are noted in.
    pub(super) fn points_file(&self) -> PathBuf {
        self.directory.path().join("points")
    }

    fn saved(&self) -> MutexGuard<'_, Saved> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The provider's objects in a directory: id and title.
pub(super) fn objects_in(directory: &Path) -> Vec<(String, String)> {
    let files = std::fs::read_dir(directory).expect("the provider's directory");
    let files = files.map(|entry| entry.expect("an entry").path());
    let note = |path: PathBuf| {
        let name = path.file_name()?.to_str()?;
        let id = name.strip_prefix("sandbox_note.")?.strip_suffix(".json")?.to_owned();
        let object: Json = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        let text = object.to_string();
        let title = text.split("\"title\":").nth(1)?.split('"').nth(1)?.to_owned();
        Some((id, title))
    };
    files.filter_map(note).collect()
}

/// Whether an open operation of `isthmus recover list --json` is the creation of an object.
pub(super) fn is_listed(open: &Json, id: &str, title: &str) -> bool {
    let is_of_it = open["urn"].as_str().is_some_and(|urn| urn.ends_with(&format!("::{title}")));
    open["kind"] == "creation" && is_of_it && (open["id"] == *id || open["condition"] == "unknown")
}

/// Whether a warning is a report of an operation that is not settled.
pub(super) fn is_report(text: &str) -> bool {
    text.contains("isthmus recover") || text.contains("pulumi refresh --target")
}

/// Deploys a program: all resources at once, then what is to be deleted. Ends with the first call that nobody answers.
pub(super) async fn deploy(
    session: Session,
    program: &Program,
    saved: &Arc<Mutex<Saved>>,
) -> Result<(), Status> {
    let mut steps = JoinSet::new();
    for (name, wish) in program {
        steps.spawn(step(session.clone(), name.clone(), wish.clone(), Arc::clone(saved)));
    }
    ended(steps).await?;
    let mut steps = JoinSet::new();
    let dropped: Vec<(String, Stored)> = {
        let saved = lock(saved);
        let dropped = saved.resources.iter().filter(|(name, _)| !program.contains_key(*name));
        dropped
            .map(|(name, stored)| (name.clone(), stored.clone()))
            .chain(saved.condemned.iter().cloned())
            .collect()
    };
    for (name, stored) in dropped {
        let (session, saved) = (session.clone(), Arc::clone(saved));
        steps.spawn(async move {
            session.resource(NOTE, &name).delete(&stored).await?;
            let mut saved = lock(&saved);
            saved.resources.retain(|_, kept| kept.id != stored.id);
            saved.condemned.retain(|(_, kept)| kept.id != stored.id);
            Ok(())
        });
    }
    ended(steps).await?;
    session.cancel().await
}

/// All steps end, as an engine waits for them. The first failure, if any.
async fn ended(steps: JoinSet<Result<(), Status>>) -> Result<(), Status> {
    let results = steps.join_all().await;
    results.into_iter().collect()
}

/// What is done to one resource.
async fn step(session: Session, name: String, wish: Wish, saved: Arc<Mutex<Saved>>) -> Result<(), Status> {
    let resource = session.resource(NOTE, &name);
    let inputs = json!({"title": name, "body": format!("text {}", wish.body), "color": format!("color {}", wish.color)});
    let inputs = resource.checked(&inputs).await?;
    let known = lock(&saved).resources.get(&name).cloned();
    let Some(known) = known else {
        let made = created(&resource, &inputs, &saved).await?;
        lock(&saved).resources.insert(name, made);
        return Ok(());
    };
    let difference = resource.diff(&known, &inputs).await?;
    if !difference.replaces.is_empty() {
        let made = created(&resource, &inputs, &saved).await?;
        let mut saved = lock(&saved);
        saved.resources.insert(name.clone(), made);
        saved.condemned.push((name, known));
    } else if difference.some {
        match resource.update(&known, &inputs).await {
            Ok(changed) => drop(lock(&saved).resources.insert(name, changed)),
            Err(failure) => {
                // It may be gone: deleted by a run whose engine did not live to hear of it. Users refresh then.
                if resource.refresh(&known).await?.is_none() {
                    lock(&saved).resources.remove(&name);
                }
                return Err(failure);
            }
        }
    }
    Ok(())
}

async fn created(resource: &Resource, inputs: &Json, saved: &Mutex<Saved>) -> Result<Stored, Status> {
    // An engine that is killed meanwhile does not come back from the call.
    lock(saved).failed_creations += 1;
    let created = resource.create(inputs).await?;
    lock(saved).failed_creations -= 1;
    Ok(created)
}

pub(super) fn lock(saved: &Mutex<Saved>) -> MutexGuard<'_, Saved> {
    saved.lock().unwrap_or_else(PoisonError::into_inner)
}
