//! The marks, the forms that they are searched for in, and all that is searched.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use isthmus_sandbox::{Protocol, RequestRecord};
use tempfile::TempDir;

use crate::harness::resource::half_made;
use crate::harness::{Host, Json, Setup, Status, json_of};
use crate::secrets::strip_secrets;

/// What stands before the mark in a text: something to escape in every form.
const BEFORE: &str = "p\"s/w&r <é> ";

/// How every mark begins that is a text.
const WORD: &str = "Zaffre";

/// A search: one daemon, or some commands.
pub(super) struct Search {
    part: String,
    marks: RefCell<Vec<Mark>>,
    /// What engines and users were shown, and by what.
    shown: RefCell<Vec<(String, String)>>,
    /// What reached its destination, such as requests of the provider. It is not searched.
    arrived: RefCell<Vec<u8>>,
    /// Where the daemon writes its logs.
    logs: TempDir,
}

/// A secret.
#[derive(Clone, Debug)]
struct Mark {
    place: String,
    /// What is looked for.
    core: String,
    /// Whether it has to be in what has arrived.
    arrives: bool,
}

impl Search {
    pub(super) fn new(part: &str) -> Self {
        Self {
            part: part.to_owned(),
            marks: RefCell::default(),
            shown: RefCell::default(),
            arrived: RefCell::default(),
            logs: tempfile::tempdir().expect("a directory"),
        }
    }

    /// A daemon beside the sandbox that logs all that it can: to the engine and into a recording, or to a file.
    pub(super) fn sandbox(&self, protocol: Protocol) -> Setup {
        let file = |name: &str| self.logs.path().join(name).to_str().expect("UTF-8").to_owned();
        let setup = Setup::sandbox(protocol)
            .with("SANDBOX_ODD", "usable")
            .with("SANDBOX_REQUESTS", &file("requests"))
            .with("TF_LOG", "TRACE")
            .with("ISTHMUS_LOG_CALLS", "true")
            .with("PULUMI_TF_DEBUG_GRPC", &file("calls"));
        match protocol {
            Protocol::V5 => setup.with("TF_LOG_PATH", &file("lines")),
            // A session that is recorded uses no shared daemon, which the other protocol may.
            Protocol::V6 => setup.with("ISTHMUS_RECORD", &file("session.jsonl")),
        }
    }

    fn add(&self, place: &str, arrives: bool, core: impl FnOnce(usize) -> String) -> String {
        let mut marks = self.marks.borrow_mut();
        let core = core(marks.len());
        marks.push(Mark { place: place.to_owned(), core: core.clone(), arrives });
        core
    }

    /// A text that has to arrive.
    pub(super) fn mark(&self, place: &str) -> String {
        format!("{BEFORE}{}", self.add(place, true, core))
    }

    /// A text of letters and digits that has to arrive.
    pub(super) fn word(&self, place: &str) -> String {
        self.add(place, true, core)
    }

    /// A text of letters and digits that is refused before it arrives.
    pub(super) fn refused(&self, place: &str) -> String {
        self.add(place, false, core)
    }

    /// A number. Whether it has arrived is not known from bytes.
    pub(super) fn number(&self, place: &str) -> u64 {
        self.add(place, false, |number| (7_319_460_000 + number).to_string()).parse().expect("digits")
    }

    /// A secret that somebody else has made.
    pub(super) fn known(&self, place: &str, secret: &str) {
        assert!(secret.len() >= 8, "it would be found by chance: {place}");
        self.add(place, false, |_| secret.to_owned());
    }

    /// What has arrived.
    pub(super) fn arrived(&self, bytes: &[u8]) {
        self.arrived.borrow_mut().extend_from_slice(bytes);
    }

    /// A text that an engine or a user was shown.
    #[track_caller]
    pub(super) fn shown(&self, by: &str, text: &str, says: &str) {
        assert!(text.contains(says), "{by}: {says:?} is not in {text}");
        self.shown.borrow_mut().push((by.to_owned(), text.to_owned()));
    }

    /// Properties that an engine got: what is marked as secret has arrived, everything else was shown.
    pub(super) fn got(&self, by: &str, properties: &Json) {
        self.arrived(properties.to_string().as_bytes());
        let mut open = properties.clone();
        strip_secrets(&mut open);
        self.shown(by, &open.to_string(), "");
    }

    /// A failure that an engine got.
    #[track_caller]
    pub(super) fn failed(&self, by: &str, status: &Status, says: &str) {
        self.shown(by, status.message(), says);
        if let Some(made) = half_made(status) {
            self.shown(by, &made.reasons.join("\n"), "");
            made.inputs.iter().chain(&made.properties).for_each(|bag| self.got(by, &json_of(bag)));
        }
    }

    /// Searches what the daemon and its provider have written, and prints the rows.
    #[track_caller]
    pub(super) fn conclude(self, host: &Host) {
        let requests = std::fs::read_to_string(self.logs.path().join("requests")).unwrap_or_default();
        for line in requests.lines() {
            let record: RequestRecord = serde_json::from_str(line).expect("a record");
            self.arrived(&record.message().expect("base64"));
        }
        let own = |file: &Path| file.starts_with(host.directory().join("objects"));
        let mut searched = files(host.directory(), &|file| !own(file));
        searched.extend(files(self.logs.path(), &|file| !file.ends_with("requests")));
        searched.insert("standard error".to_owned(), host.stderr());
        for (number, line) in host.engine.lines().into_iter().enumerate() {
            searched.insert(format!("log line {number}"), line.message);
        }
        self.conclude_in(searched);
    }

    /// Searches these texts, and what was shown.
    #[track_caller]
    pub(super) fn conclude_in(self, mut searched: BTreeMap<String, String>) {
        for (number, (by, text)) in self.shown.take().into_iter().enumerate() {
            searched.insert(format!("{by} ({number})"), text);
        }
        let (files, bytes) = (searched.len(), searched.values().map(String::len).sum::<usize>());
        let arrived = String::from_utf8_lossy(&self.arrived.take()).into_owned();
        let mut leaks = Vec::new();
        // Few texts have a mark at all, which one search for each form shows.
        let beginnings = forms(WORD);
        let suspicious: BTreeMap<String, String> = searched
            .iter()
            .filter(|(_, text)| beginnings.iter().any(|(_, beginning)| text.contains(beginning)))
            .map(|(name, text)| (name.clone(), text.clone()))
            .collect();
        for mark in self.marks.take() {
            assert!(!mark.arrives || arrived.contains(&mark.core), "it did not arrive: {mark:?}");
            let is_usual = mark.core.starts_with(WORD);
            let found = found(&mark, if is_usual { &suspicious } else { &searched });
            println!(
                "| {} | {} | {files} | {} | {} |",
                self.part,
                mark.place,
                bytes.div_ceil(1024),
                found.len()
            );
            leaks.extend(found);
        }
        assert!(leaks.is_empty(), "{} leaks: {leaks:#?}", leaks.len());
    }
}

fn core(number: usize) -> String {
    format!("{WORD}{number:03}Quokka")
}

/// All forms of a mark. Escapes leave its letters and digits alone, so that most are found by the mark itself; those of a
/// program that escapes everything are among the forms.
fn forms(core: &str) -> Vec<(&'static str, String)> {
    let bytes = |form: &dyn Fn(u8) -> String| core.bytes().map(form).collect::<String>();
    let mut forms = vec![
        ("plain", core.to_owned()),
        ("hexadecimal", bytes(&|byte| format!("{byte:02x}"))),
        ("hexadecimal", bytes(&|byte| format!("{byte:02X}"))),
        ("URL", bytes(&|byte| format!("%{byte:02x}"))),
        ("URL", bytes(&|byte| format!("%{byte:02X}"))),
        ("JSON", bytes(&|byte| format!("\\u{byte:04x}"))),
        ("JSON", bytes(&|byte| format!("\\u{byte:04X}"))),
    ];
    for before in 0..3 {
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let encoded = engine.encode(format!("{}{core}", "_".repeat(before)));
            // What depends on the characters beside it is left out.
            forms.push(("base64", encoded[[0, 2, 3][before]..encoded.len() - 1].to_owned()));
        }
    }
    forms
}

/// Where a mark is found.
fn found(mark: &Mark, searched: &BTreeMap<String, String>) -> Vec<String> {
    let mut leaks = Vec::new();
    for (form, wanted) in forms(&mark.core) {
        for (name, text) in searched {
            let Some(at) = text.find(&wanted) else { continue };
            let begin = text.floor_char_boundary(at.saturating_sub(200));
            let around: String = text[begin..].chars().take(300).collect();
            leaks.push(format!("{}, {form}, in {name}: {around}", mark.place));
        }
    }
    leaks
}

/// The contents of all files in a directory. Links lead to programs.
pub(super) fn files(directory: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> BTreeMap<String, String> {
    let (mut found, mut directories) = (BTreeMap::new(), vec![directory.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).expect("a directory").flatten() {
            let (path, kind): (PathBuf, _) = (entry.path(), entry.file_type().expect("a kind"));
            if kind.is_dir() {
                directories.push(path);
            } else if kind.is_file() && is_wanted(&path) {
                // Some are removed meanwhile.
                if let Ok(content) = std::fs::read(&path)
                    // Not programs, which the tests link.
                    && !content.starts_with(b"\x7fELF")
                {
                    // A name is written as well.
                    let name = path.display().to_string();
                    let text = format!("{name}\n{}", String::from_utf8_lossy(&content));
                    found.insert(name, text);
                }
            }
        }
    }
    found
}

#[test]
fn a_mark_is_found_in_every_form() {
    let mark = Mark { place: "here".to_owned(), core: core(7), arrives: false };
    let value = format!("{BEFORE}{}.", mark.core);
    let hexadecimal: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let written = [
        value.clone(),
        serde_json::json!({ "a": value }).to_string(),
        format!("{value:?}"),
        hexadecimal.to_uppercase(),
        hexadecimal,
        value.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        value.bytes().map(|byte| format!("\\u{byte:04x}")).collect(),
        STANDARD_NO_PAD.encode(&value),
        URL_SAFE_NO_PAD.encode(format!("a{value}")),
        STANDARD_NO_PAD.encode(format!("ab{value}")),
    ];
    for text in written {
        let searched = BTreeMap::from([("there".to_owned(), text.clone())]);
        assert!(!found(&mark, &searched).is_empty(), "{text}");
    }
    let other = BTreeMap::from([("there".to_owned(), core(8))]);
    assert!(found(&mark, &other).is_empty());
}
