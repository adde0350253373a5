//! The files of `deploy/`, read by the libraries of the programs that they are for (`tests/tools/deployment`). The units of systemd
//! are in `units.rs`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::root;

/// The page with the table of the daemon's metrics and their labels.
const METRICS: &str = "docs/observability.md";

const ALERTS: &str = "deploy/prometheus/alerts.yaml";
const DASHBOARD: &str = "deploy/grafana/dashboard.json";
const COMPOSE: &str = "deploy/compose.yaml";
const KUBERNETES: &str = "deploy/kubernetes";

/// A copy of what is in `deploy/`, for changes.
struct Copy {
    directory: TempDir,
}

impl Copy {
    /// With the first `from` in a file replaced.
    fn changed(file: &str, from: &str, to: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory of this test's own");
        let copied = Command::new("cp").arg("-r").arg(root().join("deploy")).arg(directory.path()).status();
        assert!(copied.expect("cp starts").success());
        let copy = Self { directory };
        let text = text(&copy.path(file));
        assert!(text.contains(from), "{file} has no {from:?}");
        std::fs::write(copy.path(file), text.replacen(from, to, 1)).expect("a file of this test's own");
        copy
    }

    fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files of a directory.
fn texts(directory: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(texts(&path));
        } else {
            let text = text(&path);
            found.push((path, text));
        }
    }
    found
}

/// What the tool reads of a file, or its faults.
fn read(subcommand: &str, file: &Path) -> Result<Value, String> {
    let mut command = Command::new(fixtures::tools::tool("deployment"));
    command.arg(subcommand).current_dir(root());
    if subcommand != "compose" {
        command.arg(METRICS);
    }
    let Output { status, stdout, stderr } = command.arg(file).output().expect("it starts");
    if status.success() {
        Ok(serde_json::from_slice(&stdout).expect("JSON"))
    } else {
        Err(String::from_utf8_lossy(&stderr).into_owned())
    }
}

/// The blocks of a page in a language of which each has this text.
fn block<'page>(page: &'page str, language: &str, text: &str) -> &'page str {
    let fence = format!("```{language}\n");
    let blocks = page.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let blocks: Vec<&str> = blocks.filter(|block| block.contains(text)).collect();
    let [block] = blocks[..] else { panic!("one block of {language} has {text:?}: {blocks:?}") };
    block
}

#[test]
fn files_and_pages_of_deployment_name_settings_that_exist() {
    let settings = text(&root().join("docs/settings.md"));
    let name = regex::Regex::new(r"(?-u:\b)ISTHMUS_[A-Z_]*[A-Z](?-u:\b)").expect("a pattern");
    // Variables of the Compose file itself, and of the tests' tools.
    let others = ["ISTHMUS_IMAGE", "ISTHMUS_PORT"];
    let mut seen = 0;
    for (file, text) in ["deploy", "docs/deploy"].iter().flat_map(|directory| texts(&root().join(directory)))
    {
        for found in name.find_iter(&text).map(|found| found.as_str()) {
            seen += 1;
            let is_setting = others.contains(&found) || settings.contains(&format!("| `{found}` |"));
            assert!(is_setting, "{}: {found} is no setting", file.display());
        }
    }
    assert!(seen > 50, "{seen}: the pattern finds them");
}

#[test]
fn kubernetes_decodes_each_object_strictly_and_references_lead_somewhere() {
    let page = text(&root().join("docs/deploy/kubernetes.md"));
    let created =
        regex::Regex::new(r"create secret generic ([^ \n]+)(( --from-[^ \n]+)+)").expect("a pattern");
    let created: BTreeSet<&str> =
        created.captures_iter(&page).map(|found| found.get(1).expect("it took part").as_str()).collect();
    let mut by_hand = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    let layers = [
        ("base", 3),
        ("overlays/cloudnative-pg", 2),
        ("overlays/complete", 1),
        ("overlays/team-a", 3),
        ("overlays/team-b", 3),
    ];
    for (layer, secrets) in layers {
        let read = read("kubernetes", &Path::new(KUBERNETES).join(layer))
            .unwrap_or_else(|faults| panic!("{faults}"));
        let missing: Vec<&String> = read["secrets"].as_object().expect("Secrets").keys().collect();
        assert_eq!(missing.len(), secrets, "{layer}: {missing:?}");
        by_hand.extend(missing.into_iter().cloned());
        let objects = read["objects"].as_array().expect("objects");
        kinds.extend(objects.iter().map(|object| object["kind"].as_str().expect("a kind").to_owned()));
    }
    assert_eq!(created, by_hand.iter().map(String::as_str).collect(), "the page makes the Secrets");
    let wanted = [
        "Certificate",
        "Cluster",
        "Deployment",
        "HorizontalPodAutoscaler",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "PrometheusRule",
        "Service",
        "ServiceAccount",
        "ServiceMonitor",
    ];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), wanted);
}

#[test]
fn a_mistake_in_a_manifest_is_found() {
    let base = "deploy/kubernetes/base";
    for (file, from, to, fault) in [
        ("deployment.yaml", "readOnlyRootFilesystem", "readOnlyRootFileSystem", "unknown field"),
        (
            "deployment.yaml",
            "readOnlyRootFilesystem: true",
            "readOnlyRootFilesystem: false",
            "lacks readOnly",
        ),
        ("deployment.yaml", "mountPath: /tmp", "mountPath: [/tmp]", "mountPath"),
        ("deployment.yaml", "            - name: key\n", "            - name: keys\n", "no volume \"keys\""),
        (
            "deployment.yaml",
            "              port: metrics",
            "              port: status",
            "has the port status",
        ),
        ("service.yaml", "targetPort: plugins", "targetPort: grpc", "has the port grpc"),
        ("disruption-budget.yaml", "app.kubernetes.io/name: isthmus", "app: isthmus", "does not select"),
        ("autoscaler.yaml", "    name: isthmus", "    name: daemon", "it scales Deployment/daemon"),
        ("../components/cloudnative-pg/cluster.yaml", "instances: 3", "replicas: 3", "unknown field"),
        ("../components/cert-manager/certificate.yaml", "dnsNames", "dnsName", "unknown field"),
        (
            "../components/prometheus-operator/service-monitor.yaml",
            "port: metrics",
            "port: http",
            "the port \"http\"",
        ),
        (
            "../components/prometheus-operator/rules.yaml",
            "isthmus_pool_waiting",
            "isthmus_x",
            "no metric \"isthmus_x\"",
        ),
    ] {
        let copy = Copy::changed(&format!("{base}/{file}"), from, to);
        let faults = read("kubernetes", &copy.path("deploy/kubernetes/overlays/complete"));
        let faults = faults.expect_err(&format!("{file} with {to:?}"));
        assert!(faults.contains(fault), "{file} with {to:?}: {faults}");
    }
}

#[test]
fn alert_rules_query_metrics_of_the_daemon_and_are_the_same_for_the_operator() {
    let rules = read("alerts", Path::new(ALERTS)).unwrap_or_else(|faults| panic!("{faults}"));
    let rules = rules.as_array().expect("rules");
    assert!(rules.len() > 5);
    for rule in rules {
        let severity = rule["labels"]["severity"].as_str().unwrap_or_default();
        assert!(["critical", "warning", "info"].contains(&severity), "{rule}");
        assert!(
            ["summary", "description"].iter().all(|text| rule["annotations"][text].is_string()),
            "{rule}"
        );
    }
    // The resource of the operator has the groups of the file, indented.
    let groups = |file: &str| {
        let text = text(&root().join(file));
        let lines = text.lines().map(str::trim).skip_while(|line| *line != "groups:");
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(groups(ALERTS), groups("deploy/kubernetes/components/prometheus-operator/rules.yaml"));

    for (from, to, fault) in [
        ("isthmus_pool_waiting", "isthmus_waiting", "the daemon has no metric \"isthmus_waiting\""),
        ("outcome!~", "status!~", "the metric \"isthmus_calls_total\" has no label \"status\""),
        ("by (provider)", "by (program)", "none of its metrics has the label \"program\""),
        ("absent(", "absent((", "unclosed left parenthesis"),
        ("for: 5m", "for: soon", "soon"),
        ("severity:", "severities: [", "yaml"),
    ] {
        let faults = read("alerts", &Copy::changed(ALERTS, from, to).path(ALERTS)).expect_err(to);
        assert!(faults.contains(fault), "{to:?}: {faults}");
    }
}

#[test]
fn every_panel_of_the_dashboard_queries_metrics_of_the_daemon() {
    let panels = read("dashboard", Path::new(DASHBOARD)).unwrap_or_else(|faults| panic!("{faults}"));
    let queries = panels.to_string();
    // Each metric is on some panel.
    let metric =
        regex::Regex::new(r"(?m)^\| `([a-z0-9_]+)` \| (counter|gauge|histogram)").expect("a pattern");
    let page = text(&root().join(METRICS));
    let names: Vec<&str> =
        metric.captures_iter(&page).map(|found| found.get(1).expect("it took part").as_str()).collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        assert!(queries.contains(name), "no panel has {name}");
    }
    for (from, to, fault) in [
        ("sum(isthmus_sessions", "sum(isthmus_runs", "the daemon has no metric \"isthmus_runs\""),
        ("sum by (rpc)", "sum by (method)", "none of its metrics has the label \"method\""),
        ("sum by (rpc) (rate(", "sum by (rpc) (rate((", "unclosed left parenthesis"),
    ] {
        let faults = read("dashboard", &Copy::changed(DASHBOARD, from, to).path(DASHBOARD)).expect_err(to);
        assert!(faults.contains(fault), "{to:?}: {faults}");
    }
}

#[test]
fn compose_loads_its_file_whose_secrets_the_commands_of_the_page_make() {
    let project = read("compose", Path::new(COMPOSE)).unwrap_or_else(|faults| panic!("{faults}"));
    let daemon = &project["services"]["isthmus"];
    assert_eq!(daemon["read_only"], true);
    assert_eq!(daemon["user"], "65532:65532");
    assert_eq!(daemon["depends_on"]["postgres"]["condition"], "service_healthy");
    for service in ["isthmus", "postgres"] {
        assert!(project["services"][service]["healthcheck"]["test"].is_array(), "{service}");
    }
    let misspelt = Copy::changed(COMPOSE, "depends_on:", "depend_on:");
    let faults = read("compose", &misspelt.path(COMPOSE)).expect_err("a misspelt key");
    assert!(faults.contains("depend_on"), "{faults}");
    let dangling = Copy::changed(COMPOSE, "networks: [database]", "networks: [databases]");
    let faults = read("compose", &dangling.path(COMPOSE)).expect_err("a network that is not there");
    assert!(faults.contains("databases"), "{faults}");

    let page = text(&root().join("docs/deploy/compose.md"));
    let directory = tempfile::tempdir().expect("a directory of this test's own");
    let lines = block(&page, "sh", "openssl rand");
    let verified = "\nopenssl verify -CAfile authority.crt -purpose sslserver -verify_hostname \"$HOST\" tls.crt\n\
                    openssl verify -CAfile authority.crt -purpose sslclient ci.crt\n";
    let shell = Command::new("sh")
        .args(["-e", "-c", &format!("{lines}{verified}")])
        .current_dir(directory.path())
        .output()
        .expect("it starts");
    assert!(shell.status.success(), "{}", String::from_utf8_lossy(&shell.stderr));
    let made = |name: &str| text(&directory.path().join("secrets").join(name));
    assert_eq!(made("state.key").trim().len(), 64);
    assert!(made("pgpass").ends_with(&made("postgres.password")));
    let owned = block(&page, "sh", "chown");
    for (name, secret) in project["secrets"].as_object().expect("secrets") {
        let path = secret["file"].as_str().expect("a file");
        assert!(path.ends_with(&format!("deploy/secrets/{name}")), "{path}");
        made(name);
        let is_daemons =
            daemon["secrets"].as_array().expect("secrets").iter().any(|of| of["source"] == **name);
        assert_eq!(owned.split_whitespace().any(|word| word == name), is_daemons, "{name}");
    }
}
