//! How the stores of objects do with many: what grows with their number, and what does not.
//!
//! Objects go through the state store as the daemon sends them, encrypted and each durable before the next step of whoever sent
//! it; many at once come from as many tasks as there are in a busy daemon. PostgreSQL runs on the same machine, by the
//! distribution's settings, with `fsync`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use fixtures::postgres::PostgresServer;
use isthmus_cty::json::Json;
use isthmus_state::{
    EncryptedStore, Intent, KeySource, OperationKind, RecordNumber, Saved, SavedObject, Status, StoreAddress,
    StoreKey,
};
use serde::Serialize;

use crate::machine;
use crate::options::{Database, Options, StoreOptions};
use crate::report::{Conditions, Files};

/// How many calls each rate is of.
const CALLS: u64 = 2_000;

/// How many tasks call at once.
const AT_ONCE: u64 = 64;

/// A line of the table: what it is called, and the figure in it.
type Row = (&'static str, fn(&Measured) -> f64);

/// One store.
#[derive(Debug, Serialize)]
struct Measured {
    database: Database,
    /// The first quarter of the objects, the second, and so on.
    quarters: Vec<Quarter>,
    /// Opening the full store, in milliseconds.
    open: f64,
    /// The first look for an object that the store does not have, in milliseconds.
    first_miss: f64,
    /// One after the other, each, in microseconds.
    put: f64,
    get: f64,
    /// An intent and its end, in microseconds.
    intent: f64,
    /// Many at once, a second.
    gets_at_once: f64,
    /// Walking through all of them, a second.
    listed: f64,
    /// The process, after everything, in MiB.
    resident: f64,
}

#[derive(Debug, Serialize)]
struct Quarter {
    objects: u64,
    /// Many at once, a second.
    puts_at_once: f64,
    /// On the disk, in MiB.
    disk: f64,
    /// The process, in MiB.
    resident: f64,
}

#[derive(Debug, Serialize)]
struct StoreReport<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    load_after: String,
    objects: u64,
    stores: &'a [Measured],
}

/// Measures, writes the results, and returns the table.
pub(crate) async fn run(options: &Options, store: &StoreOptions, files: &Files) -> anyhow::Result<String> {
    let conditions = Conditions::observe(files, options, &[]);
    let mut stores = Vec::new();
    for &database in &store.databases {
        stores.push(measure(database, store.objects).await.with_context(|| format!("measuring {database}"))?);
    }
    let report =
        StoreReport { conditions, load_after: machine::load(), objects: store.objects, stores: &stores };
    let table = table(&report);
    files.write_both(&report, &table)?;
    Ok(table)
}

async fn measure(database: Database, objects: u64) -> anyhow::Result<Measured> {
    // Beside the sources and not in the system's temporary directory, which may be in memory.
    let directory = tempfile::Builder::new()
        .prefix("store-bench-")
        .tempdir_in(crate::options::workspace().join("target"))?;
    let (server, address) = match database {
        Database::Sqlite => (None, StoreAddress::in_directory(directory.path())),
        Database::Postgres => {
            let server = PostgresServer::start(None, true).map_err(|reason| anyhow!(reason))?;
            let address = StoreAddress::parse(&server.address("postgres"))?;
            (Some(server), address)
        }
    };
    let key = KeySource::Directory(directory.path().to_owned());
    let disk = || match &server {
        None => size_of(directory.path()),
        Some(server) => size_of(&server.directory),
    };
    let state_store = EncryptedStore::connect(&address, &key).await?;
    let mut quarters = Vec::new();
    for quarter in 0..4 {
        let (from, to) = (objects * quarter / 4, objects * (quarter + 1) / 4);
        eprintln!("{database}: objects up to {to}");
        let rate = at_once(from, to, {
            let state_store = state_store.clone();
            move |number| {
                let state_store = state_store.clone();
                async move { state_store.add(&key_of(number), &object(number)).await.map(drop) }
            }
        })
        .await?;
        quarters.push(Quarter {
            objects: to,
            puts_at_once: rate,
            disk: megabytes(disk()),
            resident: resident(),
        });
    }
    drop(state_store);

    eprintln!("{database}: calls");
    let began = Instant::now();
    let state_store = EncryptedStore::connect(&address, &key).await?;
    let open = milliseconds(began);
    let began = Instant::now();
    anyhow::ensure!(
        state_store.find(&key_of(objects)).await?.is_empty(),
        "an object that nobody has put there"
    );
    let first_miss = milliseconds(began);

    let began = Instant::now();
    for number in 0..CALLS {
        state_store.add(&key_of(objects + number), &object(number)).await?;
    }
    let put = microseconds(began);
    let began = Instant::now();
    for number in 0..CALLS {
        let found = state_store.find(&key_of(scattered(number, objects))).await?;
        anyhow::ensure!(found.len() == 1, "an object is missing");
    }
    let get = microseconds(began);
    let began = Instant::now();
    for number in 0..CALLS {
        let intent = Intent {
            intention: OperationKind::Update,
            key: key_of(number),
            subject: "urn:pulumi:dev::bench::random:index/randomPet:RandomPet::pet".to_owned(),
            prior: None,
            companion: Bytes::new(),
        };
        state_store.journal().begin(intent, None).await?.end().await?;
    }
    let intent = microseconds(began);
    let gets_at_once = at_once(0, CALLS * 10, {
        let state_store = state_store.clone();
        move |number| {
            let state_store = state_store.clone();
            async move { state_store.find(&key_of(scattered(number, objects))).await.map(drop) }
        }
    })
    .await?;
    let began = Instant::now();
    let (mut after, mut walked) = (Some(RecordNumber(0)), 0_usize);
    while let Some(from) = after {
        let page = state_store.page(None, from, 1000).await?;
        anyhow::ensure!(page.faults.is_empty(), "{:?}", page.faults);
        walked += page.records.len();
        after = page.next;
    }
    #[expect(clippy::cast_precision_loss, reason = "rates need no more digits")]
    let listed = walked as f64 / began.elapsed().as_secs_f64();
    Ok(Measured {
        database,
        quarters,
        open,
        first_miss,
        put,
        get,
        intent,
        gets_at_once,
        listed,
        resident: resident(),
    })
}

/// Calls for each number, many at once. Yields how many calls there were a second.
async fn at_once<Calling, E>(
    from: u64,
    to: u64,
    call: impl Fn(u64) -> Calling + Clone + Send + 'static,
) -> anyhow::Result<f64>
where
    Calling: Future<Output = Result<(), E>> + Send,
    E: std::error::Error + Send + Sync + 'static,
{
    let next = Arc::new(AtomicU64::new(from));
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..AT_ONCE {
        let (next, call) = (Arc::clone(&next), call.clone());
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= to {
                    return Ok::<_, E>(());
                }
                call(number).await?;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    #[expect(clippy::cast_precision_loss, reason = "rates need no more digits")]
    let calls = (to - from) as f64;
    Ok(calls / began.elapsed().as_secs_f64())
}

fn key_of(number: u64) -> StoreKey {
    StoreKey {
        package: "random".to_owned(),
        type_name: "random_pet".to_owned(),
        id: format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
    }
}

/// Some number below `objects`, another one for each.
fn scattered(number: u64, objects: u64) -> u64 {
    number.wrapping_mul(0x2545_f491_4f6c_dd1d) % objects
}

/// About as large as objects of providers are: some twenty attributes.
fn object(number: u64) -> Saved {
    let members = (0..20).map(|attribute| {
        let text = format!("{:032x}", u128::from(number) * 31 + attribute);
        (format!("attribute_{attribute}"), Json::String(text))
    });
    Saved {
        object: SavedObject {
            value: Json::Object(members.collect()),
            schema_version: 1,
            private: Bytes::from_static(b"{\"schema_version\":\"1\"}"),
            identity: None,
            address: None,
            component: None,
            status: Status::Ready,
            sensitive_paths: Vec::new(),
            dependencies: Vec::new(),
            create_before_destroy: false,
            provider: "provider[\"registry.terraform.io/hashicorp/random\"]".to_owned(),
        },
        companion: Bytes::from_static(&[0; 100]),
    }
}

fn size_of(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    entries
        .filter_map(Result::ok)
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// What the process has in memory, in MiB.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok());
    kilobytes.unwrap_or_default() / 1024.0
}

#[expect(clippy::cast_precision_loss, reason = "sizes need no more digits")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}

/// Of each call.
#[expect(clippy::cast_precision_loss, reason = "a few thousand")]
fn microseconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e6 / CALLS as f64
}

fn table(report: &StoreReport<'_>) -> String {
    let machine = &report.conditions.machine;
    let mut text = format!(
        "# Stores of {} objects, {}\n\n{}, {} cores, {} MiB, Linux {}; load before {}, after {}; commit {}.\n\n",
        report.objects,
        report.conditions.date,
        machine.cpu,
        machine.cores,
        machine.memory_mib,
        machine.kernel,
        machine.load_before,
        report.load_after,
        report.conditions.commit,
    );
    text.push_str("Putting objects there, 64 at once, each durable when it is answered:\n\n");
    text.push_str(
        "| store | objects | puts a second | on disk, MiB | resident, MiB |\n|---|---|---|---|---|\n",
    );
    for store in report.stores {
        for quarter in &store.quarters {
            let Quarter { objects, puts_at_once, disk, resident } = quarter;
            let database = store.database;
            // Writing into a text cannot fail.
            let _ =
                writeln!(text, "| {database} | {objects} | {puts_at_once:.0} | {disk:.0} | {resident:.0} |");
        }
    }
    text.push_str("\nThe full store:\n\n| |");
    for store in report.stores {
        let _ = write!(text, " {} |", store.database);
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(report.stores.len()));
    let rows: [Row; 8] = [
        ("opening it, ms", |store| store.open),
        ("the first look for what is not there, ms", |store| store.first_miss),
        ("a put, µs", |store| store.put),
        ("a get, µs", |store| store.get),
        ("an intent and its end, µs", |store| store.intent),
        ("gets a second, 64 at once", |store| store.gets_at_once),
        ("objects listed a second", |store| store.listed),
        ("resident, MiB", |store| store.resident),
    ];
    for (title, value) in rows {
        let _ = write!(text, "\n| {title} |");
        for store in report.stores {
            let _ = write!(text, " {:.1} |", value(store));
        }
    }
    text.push('\n');
    text
}
