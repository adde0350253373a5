//! `isthmus explain`: describes an error code.
//!
//! The pages are docs/errors, which are in the executable, so that they are those of its version and need no network.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::json_root;
use super::output::{USAGE_ERROR, fail, print};
use crate::error_code::ErrorCode;

const EXAMPLES: &str = "\
Examples:
  isthmus explain ISTHMUS-2003
  isthmus explain 2003
  isthmus explain";

/// Describe an error code, or list all codes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Explain {
    /// Code of an error, such as ISTHMUS-2003 (default: list all codes).
    code: Option<String>,
    /// Write a JSON object: the codes with their titles and texts.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(explain: &Explain) -> ExitCode {
    let codes = match explain.code.as_deref().map(str::parse::<ErrorCode>) {
        None => ErrorCode::ALL.to_vec(),
        Some(Ok(code)) => vec![code],
        Some(Err(unknown)) => {
            fail(&format!("{unknown}\nhelp: `isthmus explain` lists all codes"));
            return ExitCode::from(USAGE_ERROR);
        }
    };
    if explain.json {
        let all: Vec<Value> = codes.iter().map(|code| as_json(*code)).collect();
        print(&json_root::document("explain", json!({ "codes": all })));
    } else if explain.code.is_some() {
        codes.iter().for_each(|code| print(code.page()));
    } else {
        codes.iter().for_each(|code| print(&format!("{code}  {}\n", code.title())));
    }
    ExitCode::SUCCESS
}

fn as_json(code: ErrorCode) -> Value {
    json!({ "code": code.to_string(), "title": code.title(), "text": code.page() })
}
