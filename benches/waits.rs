//! What a user waits for: commands of the real Pulumi CLI and of OpenTofu, from their start to their end.
//!
//! The same resources of the same provider are made by Pulumi with isthmus, by Pulumi with the Go bridge, and by OpenTofu. Pulumi
//! with a plugin that answers at once ([`null`]) shows what the CLI, its language host and its state take: no bridge with such
//! outputs can be faster. State is in files, nothing is asked of the network, and each turn begins with a new home.

pub(crate) mod null;
mod opentofu;
mod pulumi;

use std::time::Instant;

use anyhow::{Context as _, bail};
use serde::Serialize;
use tokio::process::Command;

use crate::engine::Engine;
use crate::figures::Figures;
use crate::machine;
use crate::options::{Contestant, Options, WaitsOptions};
use crate::plot::{Line, Plot};
use crate::processes::ended_children_cpu;
use crate::report::{self, Conditions, Files};
use crate::tools::{Need, Tools};
use crate::turns::{Turn, by_turns};
use crate::workload::Suite;

/// The columns of the table.
const CONTESTANTS: [Contestant; 4] =
    [Contestant::Null, Contestant::Isthmus, Contestant::GoBridge, Contestant::OpenTofu];

/// The resources of the sandbox's large schema, and the attributes of each.
const LARGE_SCHEMA: &str = "420x70";

/// A provider, and the resource that there are many of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stack {
    /// Pets of `random`.
    Random,
    /// Generated passwords of the sandbox, whose schema has 420 types of resources more.
    LargeSandbox,
}

impl Stack {
    const ALL: [Self; 2] = [Self::Random, Self::LargeSandbox];

    fn title(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::LargeSandbox => "sandbox with 420 types",
        }
    }

    fn suite(self) -> Suite {
        match self {
            Self::Random => Suite::Random,
            Self::LargeSandbox => Suite::Sandbox,
        }
    }

    /// The type of its resources in Pulumi.
    fn token(self) -> &'static str {
        match self {
            Self::Random => "random:index/pet:Pet",
            Self::LargeSandbox => "sandbox:index/secret:Secret",
        }
    }

    /// The type of its resources in Terraform, and their one argument.
    fn resource(self) -> (&'static str, &'static str, u32) {
        match self {
            Self::Random => ("random_pet", "length", 2),
            Self::LargeSandbox => ("sandbox_secret", "length", 16),
        }
    }

    /// What the environment tells the provider.
    fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Random => &[],
            Self::LargeSandbox => &[("SANDBOX_RESOURCES", LARGE_SCHEMA)],
        }
    }
}

/// How long a command took, and what it used.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Wait {
    /// From its start to its end.
    pub(crate) seconds: f64,
    /// CPU time of all of its processes, in seconds.
    pub(crate) cpu: f64,
}

/// The commands of a stack's life.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Waits {
    /// `pulumi package add`. OpenTofu has nothing like it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) package_add: Option<Wait>,
    /// `pulumi up` that creates the resources, preview included; `tofu apply`.
    pub(crate) up: Wait,
    /// The same, which finds them unchanged. OpenTofu reads them before it compares, and Pulumi does not.
    pub(crate) unchanged: Wait,
    /// `pulumi refresh`; `tofu apply -refresh-only`.
    pub(crate) refresh: Wait,
    /// `pulumi destroy`; `tofu destroy`.
    pub(crate) destroy: Wait,
}

/// A command of the table: its title, and its figure.
type Column = (&'static str, fn(&Waits) -> Option<Wait>);

const COMMANDS: [Column; 5] = [
    ("package add", |waits| waits.package_add),
    ("up", |waits| Some(waits.up)),
    ("up without changes", |waits| Some(waits.unchanged)),
    ("refresh", |waits| Some(waits.refresh)),
    ("destroy", |waits| Some(waits.destroy)),
];

#[derive(Debug, Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    load_after: String,
    repetitions: usize,
    stacks: Vec<Measured>,
}

/// Stacks of one size.
#[derive(Debug, Serialize)]
struct Measured {
    stack: Stack,
    resources: usize,
    turns: Vec<Turn<Waits>>,
}

impl Measured {
    fn figures(&self, wait: fn(&Waits) -> Option<Wait>, value: fn(&Wait) -> f64) -> Figures {
        Figures::of(&self.turns, |waits| wait(waits).as_ref().map(value))
    }
}

/// Measures, writes the results, and returns the table.
pub(crate) async fn run(options: &Options, waits: &WaitsOptions, files: &Files) -> anyhow::Result<String> {
    let tools = Tools::find(options, &[Need::Random, Need::Sandbox, Need::Pulumi, Need::OpenTofu])?;
    let conditions = Conditions::observe(files, options, &tools.programs);
    let engine = Engine::start(&tools.engine, options.client).await?;
    let mut stacks = Vec::new();
    for stack in Stack::ALL {
        for &resources in &waits.sizes {
            let what = format!("{resources} resources of {}", stack.title());
            let turns = by_turns(&what, options.repetitions(), &CONTESTANTS, async |contestant| {
                measure(contestant, stack, resources, &tools, &engine).await
            });
            stacks.push(Measured { stack, resources, turns: turns.await? });
        }
    }
    let report =
        Report { conditions, load_after: machine::load(), repetitions: options.repetitions(), stacks };
    let mut table = report.table();
    for stack in Stack::ALL {
        for (command, wait) in &COMMANDS[1..] {
            let name = format!("{}-{}", stack.suite().package(), command.replace(' ', "-"));
            let file = files.write_plot(&name, &report.plot(stack, command, *wait).svg())?;
            table += &format!("\n![{command}, {}]({file})\n", stack.title());
        }
    }
    files.write_both(&report, &table)?;
    Ok(table)
}

/// Takes a stack of so many resources through its life.
pub(crate) async fn measure(
    contestant: Contestant,
    stack: Stack,
    resources: usize,
    tools: &Tools,
    engine: &Engine,
) -> anyhow::Result<Waits> {
    match contestant {
        Contestant::OpenTofu => opentofu::measure(stack, resources, tools).await,
        _ => pulumi::measure(contestant, stack, resources, tools, engine).await,
    }
}

/// Runs a command, which has to succeed and to say `expected`.
async fn time(mut command: Command, name: &str, expected: &str) -> anyhow::Result<Wait> {
    let (began, before) = (Instant::now(), ended_children_cpu()?);
    let output = command.kill_on_drop(true).output().await;
    let output = output.with_context(|| format!("{name} cannot be started"))?;
    let wait = Wait { seconds: began.elapsed().as_secs_f64(), cpu: ended_children_cpu()? - before };
    let stdout = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || !stdout.contains(expected) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{name} has not said {expected:?}: {}\n{stdout}{stderr}", output.status);
    }
    Ok(wait)
}

impl Report<'_> {
    fn table(&self) -> String {
        let mut text = self.conditions.heading();
        text += &format!(
            "\nSeconds from the start of a command to its end, and CPU seconds of all its processes; medians of {} repetitions, in \
             parentheses the least and the most. Load after the end {}.\n\n",
            self.repetitions, self.load_after,
        );
        let mut titles = vec![String::new()];
        titles.extend(CONTESTANTS.map(|contestant| contestant.title().to_owned()));
        titles.push("isthmus ÷ nothing".to_owned());
        report::titles(&mut text, &titles);
        for measured in &self.stacks {
            let section = format!("{}, {} in a stack", measured.stack.title(), measured.resources);
            report::section(&mut text, &section, titles.len());
            for (command, wait) in COMMANDS {
                for unit in ["s", "CPU, s"] {
                    let value = if unit == "s" { |wait: &Wait| wait.seconds } else { |wait: &Wait| wait.cpu };
                    let figures = measured.figures(wait, value);
                    let mut cells = vec![format!("{command}, {unit}")];
                    cells.extend(CONTESTANTS.map(|contestant| figures.cell(contestant, 2)));
                    let ratio = figures.ratio(Contestant::Isthmus, Contestant::Null);
                    cells.push(ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")));
                    report::line(&mut text, &cells);
                }
            }
        }
        text
    }

    #[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53")]
    fn plot(&self, stack: Stack, command: &'static str, wait: fn(&Waits) -> Option<Wait>) -> Plot {
        let of_stack = || self.stacks.iter().filter(|measured| measured.stack == stack);
        // isthmus has the first colour, as in other plots.
        let lines = CONTESTANTS.into_iter().zip([2, 0, 1, 3]).map(|(contestant, colour)| {
            let points = of_stack().filter_map(|measured| {
                let median = measured.figures(wait, |wait| wait.seconds).median(contestant)?;
                Some((measured.resources as f64, median))
            });
            Line { name: contestant.title().to_owned(), colour, dashed: false, points: points.collect() }
        });
        Plot { title: command, x: "resources in the stack", y: "seconds", lines: lines.collect() }
    }
}
