//! What a preview prints, side by side: the same changes of the same resources under OpenTofu, the Go bridge and isthmus.
//!
//! `previews.txt` holds what each printed, case by case:
//!
//!     UPDATE_EXPECT=1 cargo test --test e2e previews::

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use fixtures::tools::tool;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::harness::{Bridge, Project, Provider};

const UPDATE: &str = "UPDATE_EXPECT";

const HEAD: &str = "\
# Made by tests/e2e/previews.rs: UPDATE_EXPECT=1 cargo test --test e2e previews::
#
# Of each case: what the program says of the resource before and after, then what a preview prints of the change. Lines in
# brackets are what `pulumi preview` without `--diff` says instead.
";

/// A resource that changes (`previews.json`). Both programs name its properties as Pulumi does.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    what: String,
    /// The type in Pulumi.
    kind: String,
    before: Map<String, Value>,
    after: Map<String, Value>,
    /// The id that it is imported by, instead of being created.
    import: Option<String>,
}

#[test]
fn a_preview_shows_what_changes_and_nothing_as_removed_that_stays() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("previews.json")).expect("a list of cases");
    let shown = [
        ("OpenTofu", tofu(&cases)),
        ("Go bridge", pulumi(Bridge::Go, "previews of the Go bridge", &cases)),
        ("isthmus", pulumi(Bridge::Ours, "previews", &cases)),
    ];
    let mut made = HEAD.to_owned();
    for case in &cases {
        let _ = writeln!(made, "\n==== {}: {}", case.name, case.what);
        let [before, after] = [&case.before, &case.after].map(|properties| json!(properties));
        let _ = writeln!(made, "{}: {before} => {after}", case.kind);
        for (who, shown) in &shown {
            let text = shown.get(&case.name).map_or("nothing\n", String::as_str);
            let _ = write!(made, "---- {who}\n{text}");
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/previews.txt");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, made).expect("the file can be written");
        return;
    }
    let expected = std::fs::read_to_string(&file).expect("the file");
    let differing = expected.lines().zip(made.lines()).find(|(expected, made)| expected != made);
    assert!(
        expected == made,
        "tests/e2e/previews.txt is not up to date, at {differing:?}: {UPDATE}=1 cargo test --test e2e previews::"
    );
}

/// What both tools find: an object that nobody has made.
fn existing() -> (&'static str, Value) {
    (
        "record/imported-1.json",
        json!({"id": "imported-1", "name": "imported", "title": "a", "size": 3, "revision": 1, "tags": {"k": "v"}}),
    )
}

/// The properties of one program, with the name that most cases do not give.
fn properties(case: &Case, side: fn(&Case) -> &Map<String, Value>) -> Map<String, Value> {
    let mut properties = side(case).clone();
    properties.entry("name").or_insert_with(|| json!(case.name));
    properties
}

/// What `pulumi preview` prints of each case.
fn pulumi(bridge: Bridge, name: &'static str, cases: &[Case]) -> BTreeMap<String, String> {
    let project = Project::bridged_by(bridge, name, &[Provider::Conformance]);
    let (object, content) = existing();
    project.write_object(object, &content);
    let program = |side: fn(&Case) -> &Map<String, Value>| {
        let resources: Map<String, Value> = cases
            .iter()
            .map(|case| {
                let mut resource = json!({
                    "type": format!("conformance:{}", case.kind),
                    "properties": properties(case, side),
                });
                if let Some(id) = &case.import {
                    resource["options"] = json!({ "import": id });
                }
                (case.name.clone(), resource)
            })
            .collect();
        project.program(&format!("resources: {}\n", Value::Object(resources)));
    };
    program(|case| &case.before);
    project.up_at_once();
    program(|case| &case.after);
    let details = project.run(&["preview", "--diff"]).succeeded();
    let rows = project.preview();
    let mut shown = BTreeMap::new();
    for case in cases {
        let urn = format!("::{}]", case.name);
        let mut text = block(&details.stdout, |lines| lines.iter().any(|line| line.ends_with(&urn)));
        let row = rows.stdout.lines().find(|line| line.split_whitespace().any(|word| word == case.name));
        if let Some((_, row)) = row.and_then(|row| row.split_once("[diff: ")) {
            let _ = writeln!(text, "[diff: {}", row.trim_end());
        }
        if !text.is_empty() {
            shown.insert(case.name.clone(), text);
        }
    }
    shown
}

/// The lines of the resource that `is_wanted` recognizes by its lines, without those that say which one it is.
fn block(text: &str, is_wanted: impl Fn(&[&str]) -> bool) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_head = |line: &str| line.ends_with(')') && line.contains(": (") && line.contains(':');
    let heads: Vec<usize> = (0..lines.len()).filter(|index| is_head(lines[*index])).collect();
    for (number, head) in heads.iter().enumerate() {
        let end = heads.get(number + 1).copied().unwrap_or(lines.len());
        let own: Vec<&str> = lines[*head..end]
            .iter()
            .copied()
            .take_while(|line| !line.starts_with("Resources:"))
            .filter(|line| !line.trim().is_empty())
            .collect();
        if is_wanted(&own) {
            let kept = own.iter().filter(|line| {
                let line = line.trim_start();
                !line.starts_with("[id=") && !line.starts_with("[urn=") && !line.starts_with("[provider=")
            });
            return kept.map(|line| format!("{}\n", line.trim_end())).collect();
        }
    }
    String::new()
}

/// What `tofu plan` prints of each case.
fn tofu(cases: &[Case]) -> BTreeMap<String, String> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let providers = tool("terraform-provider-conformance");
    let providers = providers.parent().expect("a file has a directory");
    let (object, content) = existing();
    let object = directory.path().join("objects").join(object);
    std::fs::create_dir_all(object.parent().expect("a kind has a directory")).expect("a new directory");
    std::fs::write(object, content.to_string()).expect("a file of ours");
    let settings = format!(
        "provider_installation {{\n  dev_overrides {{\n    \"isthmus/conformance\" = {providers:?}\n  }}\n  direct {{}}\n}}\n"
    );
    std::fs::write(directory.path().join("tofu.tfrc"), settings).expect("a file of ours");
    let run = |arguments: &[&str]| {
        let output = Command::new(tool("tofu"))
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", directory.path())
            .env("TF_CLI_CONFIG_FILE", directory.path().join("tofu.tfrc"))
            .env("CONFORMANCE_DIR", directory.path().join("objects"))
            .env("CHECKPOINT_DISABLE", "1")
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .output()
            .expect("OpenTofu starts");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{arguments:?}\n{stdout}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        stdout
    };
    let program = |side: fn(&Case) -> &Map<String, Value>| {
        let mut resources = Map::new();
        let mut imports = Vec::new();
        for case in cases {
            let kind = format!("conformance_{}", snake_case(&case.kind));
            if let Some(id) = &case.import {
                imports.push(json!({"to": format!("{kind}.{}", case.name), "id": id}));
            }
            let body = terraform(&Value::Object(properties(case, side)));
            resources.entry(kind).or_insert_with(|| json!({}))[&case.name] = body;
        }
        let program = json!({
            "terraform": {"required_providers": {"conformance": {"source": "isthmus/conformance"}}},
            "resource": resources,
            "import": imports,
        });
        std::fs::write(directory.path().join("main.tf.json"), program.to_string()).expect("a file of ours");
    };
    program(|case| &case.before);
    run(&["apply", "-auto-approve", "-input=false", "-no-color"]);
    program(|case| &case.after);
    let plan = run(&["plan", "-input=false", "-no-color"]);
    let mut shown = BTreeMap::new();
    for part in plan.split("\n\n").filter_map(|part| part.strip_prefix("  # ")) {
        let (head, body) = part.split_once('\n').unwrap_or((part, ""));
        let address = head.split_whitespace().next().unwrap_or_default();
        let Some(case) = cases.iter().find(|case| address.rsplit('.').next() == Some(&case.name)) else {
            continue;
        };
        let fate = head.split_once(' ').map_or("", |(_, fate)| fate);
        shown.insert(case.name.clone(), format!("{fate}\n{}\n", body.trim_end()));
    }
    shown
}

/// The same value with OpenTofu's names and functions.
fn terraform(value: &Value) -> Value {
    match value {
        Value::String(text) => json!(text.replace("${", "${conformance_attribute_string.")),
        Value::Array(elements) => elements.iter().map(terraform).collect(),
        Value::Object(members) => match members.get("fn::secret") {
            Some(secret) => json!(format!("${{sensitive({secret})}}")),
            None => members.iter().map(|(name, value)| (snake_case(name), terraform(value))).collect(),
        },
        other => other.clone(),
    }
}

/// Pulumi's name as Terraform has it; the lists of these resources are in the singular there.
fn snake_case(name: &str) -> String {
    let singular = match name {
        "plains" => "plain",
        "inners" => "inner",
        _ => name,
    };
    let mut snake = String::new();
    for letter in singular.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
