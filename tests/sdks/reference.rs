//! `isthmus docs`: its examples in YAML are programs that the engine accepts, and its pages are quick, legible and accessible in a
//! browser. Compilers take the examples in other languages together with the SDKs that these use (`go.rs`, `life.rs`).

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::{fs, iter};

use fixtures::tools::install_chromium;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::project::{Bridge, Provider, create_directory};
use crate::packages::{self, Package};
use crate::workshop::{Part, Workshop, sources};

/// The command for a package's provider.
fn docs(workshop: &Workshop, package: &Package) -> Command {
    let mut command = workshop.at_home(env!("CARGO_BIN_EXE_isthmus"));
    command.arg("docs").args(workshop.parameters(package)).envs(package.variables.iter().copied());
    command
}

/// The programs of a language on the pages of a package, by the path of the page.
fn examples(workshop: &Workshop, package: &Package, language: &str) -> BTreeMap<String, String> {
    let directory = workshop.project.path(&format!("reference/{}", package.name));
    create_directory(directory.parent().expect("a parent"));
    workshop.run("docs", docs(workshop, package).arg("--output").arg(&directory));
    let mut examples = BTreeMap::new();
    for file in workshop.files(&format!("reference/{}", package.name), ".html") {
        let page = fs::read_to_string(&file).expect("a page");
        let path = file.strip_prefix(&directory).expect("it is below").with_extension("");
        let path = path.to_str().expect("text").to_owned();
        if let Some(code) = example(&page, language) {
            examples.insert(path, code);
        }
    }
    assert!(!examples.is_empty(), "{directory:?}");
    examples
}

fn example(page: &str, language: &str) -> Option<String> {
    let (_, behind) = page.split_once(&format!("data-language=\"{language}\""))?;
    let (_, code) = behind.split_once("<code>")?;
    let (code, _) = code.split_once("</code>")?;
    Some(code.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"))
}

/// The programs in a language on the pages of packages, each with a name for its file. Those of what no SDK in the language can
/// have are left out, as tests of SDKs list them.
pub(crate) fn programs(workshop: &Workshop, packages: &[Package], language: &str) -> Vec<(String, String)> {
    let sdk = if language == "typescript" { "nodejs" } else { language };
    let mut programs = Vec::new();
    for package in packages {
        let left_out: Vec<_> = packages::left_out(sdk, package.name)
            .iter()
            .map(|left_out| {
                let (kind, name) = left_out.split_once(' ').expect("a kind and a name");
                format!("{kind}s/{name}")
            })
            .collect();
        for (page, code) in examples(workshop, package, language) {
            if !left_out.contains(&page) {
                let page = page.replace(|character: char| !character.is_ascii_alphanumeric(), "_");
                programs.push((format!("{}_{page}", package.name), code));
            }
        }
    }
    assert!(programs.len() > 300, "{programs:?}");
    programs
}

/// One program of all resources of a package and of calls of its provider functions. A resource is called by its page.
fn yaml_program(workshop: &Workshop, package: &Package, left_out: &[&str]) -> String {
    let mut sections: BTreeMap<String, String> = BTreeMap::new();
    for (page, code) in examples(workshop, package, "yaml") {
        // A data source and an action would be called with made-up arguments.
        let is_safe = page.starts_with("resources/") || page.starts_with("functions/");
        if !is_safe || left_out.contains(&page.as_str()) {
            continue;
        }
        let mut lines = code.lines().take_while(|line| *line != "outputs:");
        let section = sections.entry(lines.next().expect("a section").to_owned()).or_default();
        let name = page.replace(|character: char| !character.is_ascii_alphanumeric(), "_");
        for line in lines {
            let line = if line == "  example:" { format!("  {name}:") } else { line.to_owned() };
            *section += &line;
            section.push('\n');
        }
    }
    sections.into_iter().map(|(section, lines)| format!("{section}\n{lines}")).collect()
}

/// Pages of resources of which the provider requires one of several properties, a rule that is in no schema.
fn refused(package: &str) -> &'static [&'static str] {
    match package {
        "time" => &["resources/time_offset", "resources/time_rotating", "resources/time_sleep"],
        "local" => &["resources/local_file", "resources/local_sensitive_file"],
        "conformance" => &["resources/conformance_legacy_constrained"],
        _ => &[],
    }
}

#[test]
fn examples_in_yaml_are_previewed() {
    let workshop = Workshop::new("examples in YAML", Bridge::usual());
    let mut faults = Vec::new();
    for (package, provider) in packages::all().iter().zip([
        Provider::Random,
        Provider::Tls,
        Provider::Time,
        Provider::Local,
        Provider::Conformance,
    ]) {
        assert_eq!(package.name, provider.name());
        workshop.project.add_package(provider);
        workshop.project.program(&yaml_program(&workshop, package, refused(package.name)));
        let outcome = workshop.project.run(&["preview"]);
        faults.extend(outcome.stdout.lines().filter(|line| line.contains("rror")).map(str::to_owned));
        assert!(outcome.stdout.contains("to create"), "{outcome}");
    }
    assert_eq!(faults, [""; 0]);
}

/// Pages served by the command, until this goes.
struct Served {
    child: Child,
    /// Such as `http://127.0.0.1:40000/`.
    address: String,
}

impl Served {
    fn start(workshop: &Workshop, package: &Package) -> Self {
        let mut child = docs(workshop, package).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut address = String::new();
        said.read_line(&mut address).expect("its address");
        Self { child, address: address.trim().to_owned() }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // It ends by itself at a signal.
        id.map(|id| kill_process(id, Signal::INT));
        let _ = self.child.wait();
    }
}

/// What the browser has seen of pages.
fn look(workshop: &Workshop, pages: &[Value]) -> Value {
    install_chromium();
    let plan = json!({
        "axe": Part::Node.installed().join("node_modules/axe-core/axe.min.js"),
        "profile": workshop.project.path("browser"),
        "pages": pages,
    });
    workshop.project.write("plan.json", &plan.to_string());
    let mut browser = workshop.at_home("node");
    browser.arg(sources().join("programs/browser.mjs")).arg("plan.json");
    let ended = workshop.run("browser", &mut browser);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

/// Nothing is wrong with the pages, and nothing was loaded from elsewhere.
#[track_caller]
fn expect_legible(seen: &Value, addresses: &[&str]) {
    assert_eq!(seen["complaints"], json!([]), "{:#}", seen["complaints"]);
    for page in seen["pages"].as_array().expect("pages") {
        assert_eq!(page["violations"], json!([]), "{}: {:#}", page["url"], page["violations"]);
        assert_eq!(page["overflows"], json!(false), "{} scrolls sideways", page["url"]);
    }
    for request in seen["requests"].as_array().expect("requests") {
        let request = request.as_str().expect("text");
        let is_ours = addresses.iter().any(|address| request.starts_with(address));
        assert!(is_ours || request.starts_with("data:"), "{request}");
    }
}

#[test]
fn pages_of_every_schema_shape_are_accessible() {
    fixtures::needs!(Chromium);
    let all = packages::all();
    let workshop = Workshop::new("pages of every shape", Bridge::usual());
    let package = all.iter().find(|package| package.name == "conformance").expect("it is one of them");
    let served = Served::start(&workshop, package);
    let paths: Vec<String> = iter::once(String::new())
        .chain(examples(&workshop, package, "yaml").into_keys().map(|path| path + ".html"))
        .collect();
    let is_sample = |path: &str| {
        matches!(
            path,
            "" | "configuration.html" | "resources/conformance_record.html" | "functions/join_words.html"
        )
    };
    let pages: Vec<Value> =
        paths.iter().map(|path| json!({ "url": served.url(path), "everywhere": is_sample(path) })).collect();
    assert!(pages.len() > 150, "{paths:?}");
    let seen = look(&workshop, &pages);
    expect_legible(&seen, &[&served.address]);
    let columns = seen["pages"][0]["columns"].as_u64();
    assert!(
        columns.is_some_and(|columns| columns > 1),
        "columns of the first page on a desktop: {columns:?}"
    );
    // As files, pages do the same.
    let file = |path: &str| {
        format!("file://{}", workshop.project.path(&format!("reference/conformance/{path}")).display())
    };
    let page = json!({ "url": file("resources/conformance_record.html"), "query": "attribute_bool" });
    let seen = look(&workshop, &[page]);
    expect_legible(&seen, &[&file("")]);
    let led = seen["pages"][0]["led"].as_str().expect("a path").to_owned();
    assert!(led.ends_with("/resources/conformance_attribute_bool.html"), "{led}");
}

/// Where pages of a large provider open and are searched at once: sizes and steps, which are the same on every machine. On an idle
/// one with two cores such a page is open within 100 ms, and each letter of a search is answered within 50 ms.
const LIMITS: [(&str, u64); 4] =
    [("bytes", 300_000), ("elements", 5_500), ("executed", 100), ("searched", 60_000)];

#[test]
fn pages_of_a_large_provider_open_and_are_searched_at_once() {
    fixtures::needs!(Chromium);
    let large = packages::large();
    let package = large.iter().find(|package| package.name == "azurerm").expect("it is one of them");
    let workshop = Workshop::new("pages of a large provider", Bridge::usual());
    let served = Served::start(&workshop, package);
    let page = |path: &str, query: &str| json!({ "url": served.url(path), "query": query, "opens": 15, "everywhere": true });
    let seen = look(
        &workshop,
        &[
            page("", "storage account"),
            page("resources/azurerm_linux_web_app.html", "min_tls_version"),
            page("data-sources/azurerm_client_config.html", "kubernetesclu"),
        ],
    );
    expect_legible(&seen, &[&served.address]);
    let led: Vec<&str> =
        seen["pages"].as_array().expect("pages").iter().filter_map(|page| page["led"].as_str()).collect();
    assert_eq!(led[0], "/resources/azurerm_storage_account.html");
    assert_eq!(led[2], "/resources/azurerm_kubernetes_cluster.html");
    assert!(led[1].contains("azurerm_"), "{led:?}");
    for page in seen["pages"].as_array().expect("pages") {
        let measures = ["bytes", "elements", "executed", "searched", "opened", "answered"]
            .map(|name| format!("{name} {}", page[name]));
        eprintln!("{}: {}", page["url"], measures.join(", "));
        for (name, limit) in LIMITS {
            let measured = page[name].as_u64().expect("a number");
            assert!(measured <= limit, "{}: {name}: {measured}, not more than {limit}", page["url"]);
        }
    }
}
