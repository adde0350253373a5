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

mod bridge;
mod calls;
mod engine;
mod floor;
mod large_schema;
mod machine;
mod options;
mod processes;
mod repetition;
mod report;
mod store;
mod summary;
mod system_calls;
mod tools;
mod workload;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;

use machine::Machine;
use options::{Options, Part};
use repetition::Field;
use report::{Files, Report};
use tools::Tools;

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
    if std::env::args().nth(1).as_deref() == Some(engine::ENGINE) {
        return engine::serve().await;
    }
    let options = Options::parse();
    let date = machine::today();
    let files = Files::reserve(&date, &options.label)?;
    let machine = Machine::describe();
    if let Some(Part::Store(store)) = &options.part {
        print!("{}", store::run(&options, store, (&date, machine), &files).await?);
        return Ok(());
    }
    let tools = Tools::find(&options)?;
    if let Some(Part::LargeSchema(large)) = &options.part {
        print!("{}", large_schema::run(&options, large, &tools, (&date, machine), &files).await?);
        return Ok(());
    }
    let field = Field::prepare(tools, &options).await?;

    for &contestant in &options.contestants {
        field.warm_up(contestant).await.with_context(|| format!("starting {}", contestant.title()))?;
    }
    let mut repetitions = Vec::new();
    for turn in 1..=options.repetitions {
        for &contestant in &options.contestants {
            eprintln!("{turn} of {}: {}", options.repetitions, contestant.title());
            let repetition = field.measure(contestant, turn).await;
            repetitions.push(repetition.with_context(|| format!("measuring {}", contestant.title()))?);
        }
    }

    let report = Report {
        date,
        label: &options.label,
        commit: machine::commit(),
        machine,
        programs: &field.tools().programs,
        count: options.count,
        concurrency: options.concurrency.clone(),
        repetitions: options.repetitions,
        summary: summary::summarise(&repetitions),
        raw: repetitions,
    };
    print!("{}", files.write(&report)?);
    eprintln!("written to {}", files.json().display());
    Ok(())
}
