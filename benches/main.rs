//! Measures isthmus beside the program that it replaces, and beside no bridge at all.
//!
//! The contestants are driven over the engine's own protocol, by the same calls, on the same machine, in the same minute:
//! they take turns, so that whatever else the machine does falls on all of them. docs/benchmarking.md tells which figure
//! answers which question.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the report goes to standard output, progress to standard error"
)]

mod attached;
mod bridge;
mod budgets;
mod calls;
mod engine;
mod figures;
mod floor;
mod growth;
mod large_schema;
mod machine;
mod main_job;
mod options;
mod plot;
mod processes;
mod repetition;
mod report;
mod stacks;
mod store;
mod summary;
mod system_calls;
mod tools;
mod turns;
mod waits;
mod workload;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;

use options::{Options, Part};
use report::Files;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        // The chain in one line, and never a backtrace: these are failures of programs under test, not of this one.
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> anyhow::Result<()> {
    if std::env::args().next().is_some_and(|name| Path::new(&name).ends_with(tools::PLUGIN)) {
        return waits::null::serve().await;
    }
    let options = Options::parse();
    let files = Files::reserve(&options.label)?;
    let table = match &options.part {
        None => main_job::run(&options, &files).await?,
        Some(Part::Attached) => attached::run(&options, &files).await?,
        Some(Part::Budgets(budgets)) => budgets::run(&options, budgets, &files).await?,
        Some(Part::Growth(growth)) => growth::run(&options, growth, &files).await?,
        Some(Part::LargeSchema(large)) => large_schema::run(&options, large, &files).await?,
        Some(Part::Stacks(stacks)) => stacks::run(&options, *stacks, &files).await?,
        Some(Part::Store(store)) => store::run(&options, store, &files).await?,
        Some(Part::Waits(waits)) => waits::run(&options, waits, &files).await?,
    };
    print!("{table}");
    eprintln!("written to {}", files.json().display());
    Ok(())
}
