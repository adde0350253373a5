//! The command line.

use std::path::{Path, PathBuf};

use clap::Parser;
use serde::Serialize;

/// Measures isthmus beside the Go bridge, and beside the floor: the same provider calls without any bridge.
#[derive(Debug, Parser)]
#[command(name = "isthmus-benches")]
pub(crate) struct Options {
    /// The executable `isthmus`.
    #[arg(long, global = true, value_name = "PATH", default_value_os_t = workspace().join("target/release/isthmus"))]
    pub(crate) isthmus: PathBuf,
    /// The executable of the Go bridge.
    #[arg(long, global = true, value_name = "PATH",
          default_value_os_t = in_tools("go-bridge/pulumi-resource-terraform-provider"))]
    pub(crate) go_bridge: PathBuf,
    /// The provider `random`, which most calls go to.
    #[arg(long, global = true, value_name = "PATH", default_value_os_t = in_tools("terraform-provider-random"))]
    pub(crate) provider: PathBuf,
    /// The provider `time`, for updates in place: everything in `random` is replaced.
    #[arg(long, global = true, value_name = "PATH", default_value_os_t = in_tools("terraform-provider-time"))]
    pub(crate) time_provider: PathBuf,
    /// The provider `tls`, which has a configuration.
    #[arg(long, global = true, value_name = "PATH", default_value_os_t = in_tools("terraform-provider-tls"))]
    pub(crate) tls_provider: PathBuf,
    /// The sandbox provider, with the feature `misbehaviour`, which makes its schema large.
    #[arg(long, global = true, value_name = "PATH",
          default_value_os_t = workspace().join("target/release/terraform-provider-sandbox"))]
    pub(crate) sandbox: PathBuf,
    /// The Pulumi CLI; its YAML host is beside it.
    #[arg(long, global = true, value_name = "PATH", default_value_os_t = in_tools("pulumi"))]
    pub(crate) pulumi: PathBuf,
    /// The engine's side of the wire, on grpc-go.
    #[arg(long, global = true, value_name = "PATH", default_value_os_t = in_tools("bench-engine"))]
    pub(crate) engine: PathBuf,
    /// What calls the bridges.
    #[arg(long, global = true, value_enum, default_value_t = Caller::GrpcGo)]
    pub(crate) client: Caller,
    /// OpenTofu.
    #[arg(long, global = true, value_name = "PATH", default_value_os_t = in_tools("tofu"))]
    pub(crate) tofu: PathBuf,
    /// How many resources go through their lives in each phase (serial, concurrent) of each repetition.
    #[arg(long, global = true, value_name = "N", default_value_t = 200, value_parser = at_least_one)]
    pub(crate) count: usize,
    /// How many resources are under way at once, for each concurrent phase.
    #[arg(long, global = true, value_name = "N,N", value_delimiter = ',', default_values_t = [4, 32], value_parser = at_least_one)]
    pub(crate) concurrency: Vec<usize>,
    /// How often each contestant is measured; the contestants take turns [default: 5; 1 for `growth`].
    #[arg(long, global = true, value_name = "R", value_parser = at_least_one)]
    repetitions: Option<usize>,
    /// Goes into the names of the result files, after the date.
    #[arg(long, global = true, default_value = "trial", value_parser = label)]
    pub(crate) label: String,
    /// Whom to measure.
    #[arg(long, global = true, value_delimiter = ',', default_values_t = Contestant::ALL)]
    pub(crate) contestants: Vec<Contestant>,
    /// Something else than the main job.
    #[command(subcommand)]
    pub(crate) part: Option<Part>,
}

/// What is measured apart from the main job.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum Part {
    /// Measure what a plugin costs that passes its calls on to a shared daemon.
    Attached,
    /// Measure what the project has promised, and show each budget as held or missed.
    Budgets(BudgetOptions),
    /// Measure what grows with the number of resources, and with the size of a schema.
    Growth(GrowthOptions),
    /// How the bridges cope with a provider whose schema is as large as the largest ones.
    LargeSchema(LargeSchema),
    /// Start many stacks at once: beside a shared daemon, and each with a bridge of its own.
    Stacks(StacksOptions),
    /// How the stores of objects do with many objects.
    Store(StoreOptions),
    /// Run commands of the Pulumi CLI and of OpenTofu, as a user waits for them.
    Waits(WaitsOptions),
}

/// How many resources.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WaitsOptions {
    /// Resources of a stack, for each size.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [10, 100, 1000], value_parser = at_least_one)]
    pub(crate) sizes: Vec<usize>,
}

/// How many stacks, and how alike.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct StacksOptions {
    /// How many stacks begin at once.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = at_least_one)]
    pub(crate) stacks: usize,
    /// How many configurations of the provider they share.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = at_least_one)]
    pub(crate) configurations: usize,
}

/// The sections that are measured.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BudgetOptions {
    /// Measure only these sections.
    #[arg(long, value_name = "SECTION,SECTION", value_delimiter = ',')]
    only: Option<Vec<Section>>,
    /// Measure the CPU time of a release build from nothing, too.
    #[arg(long)]
    cold_build: bool,
}

impl BudgetOptions {
    /// Whether a section is measured.
    pub(crate) fn measures(&self, section: Section) -> bool {
        let cold_build = section == Section::ColdBuild;
        self.only.as_ref().map_or(!cold_build, |only| only.contains(&section))
            || cold_build && self.cold_build
    }
}

/// Budgets that are measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Section {
    /// CPU time, throughput, latencies, system calls and memory of resources' calls.
    Calls,
    /// Starts of the bridge.
    Start,
    /// The schema of a provider with 1,128 resources.
    LargeSchema,
    /// Commands of the Pulumi CLI.
    Cli,
    /// The executable's size.
    Size,
    /// The CPU time of a release build from nothing.
    ColdBuild,
}

/// What grows, and how far.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct GrowthOptions {
    /// The most resources that one process handles in one go.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = at_least_one)]
    pub(crate) most: usize,
    /// Measure only this.
    #[arg(long)]
    only: Option<GrowthPart>,
}

impl GrowthOptions {
    /// Whether a part is measured.
    pub(crate) fn measures(&self, part: GrowthPart) -> bool {
        self.only.is_none_or(|only| only == part)
    }
}

/// What something grows with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum GrowthPart {
    /// Resources that one process has handled.
    Resources,
    /// Resources in a schema.
    Schemas,
}

/// How many, and where.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StoreOptions {
    /// How many objects.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(4..))]
    pub(crate) objects: u64,
    /// Which stores.
    #[arg(long, value_delimiter = ',', default_values_t = [Database::Sqlite, Database::Postgres])]
    pub(crate) databases: Vec<Database>,
}

/// A form of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Database {
    /// A file.
    Sqlite,
    /// A database of a server that is started for it.
    Postgres,
}

impl std::fmt::Display for Database {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        })
    }
}

/// How large.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LargeSchema {
    /// How many resources, and how many attributes each has.
    #[arg(long, value_name = "RESOURCESxATTRIBUTES", default_value = "1500x200")]
    pub(crate) size: String,
    /// The provider's protocol.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(5..=6))]
    pub(crate) protocol: u8,
}

/// What calls the bridges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Caller {
    /// Go's library, as engines do.
    GrpcGo,
    /// Rust's, in the harness itself.
    Tonic,
}

impl Caller {
    /// What reports call it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::GrpcGo => "grpc-go",
            Self::Tonic => "tonic",
        }
    }
}

/// Somebody who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Contestant {
    /// Plugins of this project that pass their calls on to a shared daemon, where that is measured.
    #[value(skip)]
    Daemon,
    /// The plugin of this project.
    Isthmus,
    /// The program that it replaces.
    GoBridge,
    /// A bare client of the provider.
    Floor,
    /// A plugin that answers at once, where a bridge would have to work.
    #[value(skip)]
    Null,
    /// The program that the providers were made for.
    #[value(skip)]
    OpenTofu,
}

impl Contestant {
    /// Those of most parts, in the order of the table's columns.
    pub(crate) const ALL: [Self; 3] = [Self::Isthmus, Self::GoBridge, Self::Floor];

    /// What the table calls it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Daemon => "isthmus, shared daemon",
            Self::Isthmus => "isthmus",
            Self::GoBridge => "Go bridge",
            Self::Floor => "floor",
            Self::Null => "nothing",
            Self::OpenTofu => "OpenTofu",
        }
    }
}

impl std::fmt::Display for Contestant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Daemon => "daemon",
            Self::Isthmus => "isthmus",
            Self::GoBridge => "go-bridge",
            Self::Floor => "floor",
            Self::Null => "null",
            Self::OpenTofu => "opentofu",
        })
    }
}

impl Options {
    /// How often each contestant is measured.
    pub(crate) fn repetitions(&self) -> usize {
        let usual = if matches!(self.part, Some(Part::Growth(_))) { 1 } else { 5 };
        self.repetitions.unwrap_or(usual)
    }

    /// The contestants that are bridges: a bare client has no package.
    pub(crate) fn bridges(&self) -> Vec<Contestant> {
        let contestants = self.contestants.iter().copied();
        contestants.filter(|contestant| *contestant != Contestant::Floor).collect()
    }
}

/// The directory of the workspace, wherever the program is started.
pub(crate) fn workspace() -> &'static Path {
    const BENCHES: &str = env!("CARGO_MANIFEST_DIR");
    let benches = Path::new(BENCHES);
    benches.parent().unwrap_or(benches)
}

/// Where the tests look for the Go programs, too.
fn in_tools(name: &str) -> PathBuf {
    let directory = std::env::var_os("TEST_TOOLS_DIR");
    directory.map_or_else(|| workspace().join("target/tools"), PathBuf::from).join(name)
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{error}")),
    }
}

fn label(text: &str) -> Result<String, String> {
    let fits = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    if !text.is_empty() && text.chars().all(fits) {
        Ok(text.to_owned())
    } else {
        Err("letters, digits, '-', '_' and '.' only: it becomes part of a file's name".to_owned())
    }
}
