//! `isthmus explain`: describes error codes, settings and the file of chosen names.
//!
//! What it prints is in the executable, so that it is that of its version, and needs neither a network nor this repository: texts of
//! the program name no other page.

use std::process::ExitCode;
use std::sync::LazyLock;

use clap::Args;
use regex::Regex;
use serde_json::{Value, json};

use super::json_root;
use super::output::{USAGE_ERROR, fail, print};
use isthmus_context::error_code::ErrorCode;
use isthmus_context::settings::{self, Setting};
use isthmus_reference::plain_text;

const EXAMPLES: &str = "\
Examples:
  isthmus explain ISTHMUS-2003
  isthmus explain 2003
  isthmus explain
  isthmus explain ISTHMUS_OFFLINE
  isthmus explain settings
  isthmus explain names";

/// The topics that are neither codes nor variables.
const SETTINGS: &str = "settings";
const NAMES: &str = "names";

const NAMES_PAGE: &str = include_str!("../../docs/names.md");

/// Describe an error code or a setting, or list all codes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Explain {
    /// Code of an error, such as ISTHMUS-2003; a variable, such as ISTHMUS_OFFLINE; `settings` for all of them; `names` for the file in which a
    /// project chooses names (default: list all codes).
    topic: Option<String>,
    /// Write a JSON object: codes with their titles and texts, settings with their effects, or the text of a topic.
    #[arg(long)]
    json: bool,
}

/// What is described.
enum Topic {
    Codes(Vec<ErrorCode>),
    Settings(Vec<Setting>),
    Names,
}

pub(super) fn run(explain: &Explain) -> ExitCode {
    let topic = match topic(explain.topic.as_deref()) {
        Ok(topic) => topic,
        Err(unknown) => {
            fail(&unknown);
            return ExitCode::from(USAGE_ERROR);
        }
    };
    if explain.json {
        let members = match &topic {
            Topic::Codes(codes) => json!({ "codes": codes.iter().map(code_as_json).collect::<Vec<_>>() }),
            Topic::Settings(all) => {
                json!({ "settings": all.iter().map(setting_as_json).collect::<Vec<_>>() })
            }
            Topic::Names => json!({ "text": NAMES_PAGE }),
        };
        print(&json_root::document("explain", members));
        return ExitCode::SUCCESS;
    }
    match &topic {
        Topic::Codes(codes) if explain.topic.is_some() => codes.iter().for_each(|code| print(&code.page())),
        Topic::Codes(codes) => codes.iter().for_each(|code| print(&format!("{code}  {}\n", code.title()))),
        Topic::Settings(all) => all.iter().for_each(|setting| print(&setting_as_text(setting))),
        Topic::Names => print(NAMES_PAGE),
    }
    ExitCode::SUCCESS
}

fn topic(text: Option<&str>) -> Result<Topic, String> {
    match text {
        None => Ok(Topic::Codes(ErrorCode::ALL.to_vec())),
        Some(SETTINGS) => Ok(Topic::Settings(settings::ALL.to_vec())),
        Some(NAMES) => Ok(Topic::Names),
        Some(name) if name.starts_with(settings::PREFIX) => {
            settings::find(name).map(|setting| Topic::Settings(vec![setting])).map_err(|unknown| {
                format!("{unknown}\nhelp: `isthmus explain {SETTINGS}` describes all variables")
            })
        }
        Some(text) => text
            .parse::<ErrorCode>()
            .map(|code| Topic::Codes(vec![code]))
            .map_err(|unknown| format!("{unknown}\nhelp: `isthmus explain` lists all codes")),
    }
}

fn code_as_json(code: &ErrorCode) -> Value {
    json!({ "code": code.to_string(), "title": code.title(), "text": code.page() })
}

fn setting_as_json(setting: &Setting) -> Value {
    let [value, default, effect] = texts(setting);
    let of = setting.scope.description();
    json!({ "name": setting.name, "of": of, "value": value, "without_it": default, "effect": effect })
}

fn setting_as_text(setting: &Setting) -> String {
    let [value, default, effect] = texts(setting);
    let (name, of) = (setting.name, setting.scope.description());
    format!(
        "{name}\n  {effect}\n  value: {value}\n  without it: {default}\n  in the environment of: {of}\n\n"
    )
}

/// A setting's value, default and effect, without what leads elsewhere in the book.
fn texts(Setting { value, default, effect, .. }: &Setting) -> [String; 3] {
    static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"; see below| \(\[[^\]]*\]\([^)]*\)\)").expect("the pattern of this file is valid")
    });
    [value, default, effect].map(|text| plain_text(&REFERENCE.replace_all(text, "")))
}
