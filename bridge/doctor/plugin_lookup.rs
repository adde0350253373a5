//! Which executable the Pulumi CLI would load as the plugin for this project, and why.
//!
//! The rules are those of the CLI (`GetPluginPath` in its `sdk/go/common/workspace/plugins.go`): `plugins` in the project file, then
//! `PATH` unless `PULUMI_IGNORE_AMBIENT_PLUGINS` is set, then the directory of exactly the version in the plugins directory, which
//! is ignored while an installation has not ended (`….partial`). The version is the one that SDKs and the project file name.
//! `pulumi package add` and `pulumi install` do without `PATH` (`cmd/pulumi/packageworkspace`, 3.274).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use semver::Version;

use super::finding::{Finding, Judgement};
use super::project_files;
use super::run_program::{is_executable, on_path, output_of};
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::home;
use isthmus_context::installed_plugins::{InstalledPlugin, highest, installed_plugins};
use isthmus_context::project::document::{PLUGIN, parse_version};
use isthmus_package::releases::{PLUGIN_VERSION, RELEASES};

/// Part of the help of every version of isthmus as a plugin.
const OWN_HELP: &str = "A resource plugin that a Pulumi engine starts.";

/// What the CLI reads as true.
const TRUE: [&str; 6] = ["1", "t", "T", "true", "TRUE", "True"];

/// Which program a plugin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Isthmus,
    Other,
    /// The file is missing, or this user may not execute it.
    Unusable,
    /// It is not started, because only the project names it.
    NotChosen,
}

/// Why the CLI loads a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// `plugins` in the project file.
    Project,
    Path,
    /// The plugins directory.
    Cache,
}

#[derive(Clone, Debug)]
struct Candidate {
    file: PathBuf,
    reason: Reason,
    kind: Kind,
}

/// What the CLI finds for a version.
#[derive(Clone, Debug)]
struct Lookup {
    version: Version,
    /// The files that name the version; empty for the default.
    named_by: BTreeSet<String>,
    found: Option<Candidate>,
    /// A plugin in the plugins directory that is not isthmus, behind isthmus on `PATH`.
    behind: Option<PathBuf>,
    /// Whether its directory is ignored, because an installation was interrupted.
    is_partial: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct PluginLookups {
    /// The plugins directory; `None` without a Pulumi home.
    plugins: Option<PathBuf>,
    lookups: Vec<Lookup>,
    /// The versions in the plugins directory.
    installed: Vec<Version>,
    /// What the CLI loads where no version is named, if that is not isthmus.
    unversioned: Option<InstalledPlugin>,
}

pub(super) async fn gather(world: &World, project: Option<&project_files::ProjectFiles>) -> PluginLookups {
    let program = format!("pulumi-resource-{PLUGIN}{}", std::env::consts::EXE_SUFFIX);
    let plugins = home::pulumi_cli_home(world.environment()).map(|home| home.join("plugins"));
    let mut versions = project.map(project_files::ProjectFiles::versions).unwrap_or_default();
    let installed = plugins.as_deref().map(installed_plugins).unwrap_or_default();
    if versions.is_empty() {
        versions = BTreeMap::from([(PLUGIN_VERSION, BTreeSet::new())]);
        if project.is_some_and(|project| project.is_hcl) {
            // Its host asks for any of them by itself.
            let known = installed.iter().filter(|plugin| RELEASES.contains(&plugin.version));
            versions.extend(known.map(|plugin| (plugin.version.clone(), BTreeSet::new())));
        }
    }
    let ignores_path = world.environment().text("PULUMI_IGNORE_AMBIENT_PLUGINS");
    let ignores_path = ignores_path.is_some_and(|value| TRUE.contains(&value));
    let ambient = if ignores_path { None } else { on_path(world.environment(), &program).into_iter().next() };
    let mut lookups = Vec::new();
    for (version, named_by) in versions {
        let configured = project.and_then(|project| project.plugin_directory.as_ref());
        let configured = configured.filter(|(_, only)| {
            only.as_ref().is_none_or(|only| parse_version(only).is_ok_and(|only| only == version))
        });
        let place = plugins.as_ref().map(|plugins| InstalledPlugin::at(plugins, version.clone()));
        let is_partial = place.as_ref().is_some_and(InstalledPlugin::is_partial);
        let cached = place.filter(|place| place.directory.is_dir() && !is_partial);
        let cached = cached.map(|place| place.file());
        let chosen = match (configured, &ambient, &cached) {
            (Some((directory, _)), ..) => Some((directory.join(&program), Reason::Project)),
            (None, Some(file), _) => Some((file.clone(), Reason::Path)),
            (None, None, Some(file)) => Some((file.clone(), Reason::Cache)),
            (None, None, None) => None,
        };
        let found = match chosen {
            Some((file, Reason::Project)) if !world.starts_named && is_executable(&file) => {
                Some(Candidate { kind: Kind::NotChosen, file, reason: Reason::Project })
            }
            Some((file, reason)) => Some(Candidate { kind: kind(&file).await, file, reason }),
            None => None,
        };
        let is_on_path =
            found.as_ref().is_some_and(|found| found.reason == Reason::Path && found.kind == Kind::Isthmus);
        let behind = match cached.filter(|_| is_on_path) {
            Some(file) if kind(&file).await == Kind::Other => Some(file),
            Some(_) | None => None,
        };
        lookups.push(Lookup { version, named_by, found, behind, is_partial });
    }
    let unversioned = match highest(&installed) {
        Some(highest) if kind(&highest.file()).await == Kind::Other => Some(highest.clone()),
        Some(_) | None => None,
    };
    let installed = installed.into_iter().map(|plugin| plugin.version).collect();
    PluginLookups { plugins, lookups, installed, unversioned }
}

async fn kind(file: &Path) -> Kind {
    if !is_executable(file) {
        return Kind::Unusable;
    }
    match output_of(file, "-help").await {
        Ok(help) if help.contains(OWN_HELP) => Kind::Isthmus,
        Ok(_) | Err(_) => Kind::Other,
    }
}

pub(super) fn judge(facts: &PluginLookups) -> Judgement {
    let Some(plugins) = &facts.plugins else {
        let text = "no Pulumi home: neither PULUMI_HOME nor HOME is set";
        return Judgement::new("none", vec![Finding::fault(ErrorCode::NoHomeDirectory, text)]);
    };
    let mut findings: Vec<_> =
        facts.lookups.iter().flat_map(|lookup| judge_one(lookup, plugins, &facts.installed)).collect();
    let is_looked_up =
        |other: &InstalledPlugin| facts.lookups.iter().any(|lookup| lookup.version == other.version);
    if let Some(other) = facts.unversioned.as_ref().filter(|other| !is_looked_up(other)) {
        let text = format!(
            "{} is not isthmus, and has the highest version, which the Pulumi CLI loads where none is named: by `pulumi package add \
             terraform-provider`, and for HCL if no plugin is on PATH",
            other.file().display()
        );
        let help = "run `isthmus install --plugin --everywhere`, which keeps a backup";
        findings.push(Finding::warning(ErrorCode::OtherPlugin, &text).advising(help));
    }
    let shown = facts.lookups.iter().map(|lookup| match &lookup.found {
        Some(Candidate { kind: Kind::NotChosen, file, reason }) => {
            format!(
                "{}: {} ({}; not started, --yes starts it)",
                lookup.version,
                file.display(),
                reason.shown()
            )
        }
        Some(found) => format!("{}: {} ({})", lookup.version, found.file.display(), found.reason.shown()),
        None => format!("{}: none", lookup.version),
    });
    Judgement::new(shown.collect::<Vec<_>>().join("; "), findings)
}

fn judge_one(lookup: &Lookup, plugins: &Path, installed: &[Version]) -> Vec<Finding> {
    let Lookup { version, named_by, found, behind, is_partial } = lookup;
    let by = match named_by.iter().next() {
        Some(first) if named_by.len() == 1 => format!(", which {first} names"),
        Some(first) => format!(", which {first} and {} more name", named_by.len() - 1),
        None => String::new(),
    };
    let install = if named_by.is_empty() {
        "run `isthmus install --plugin`".to_owned()
    } else {
        "run `isthmus install --plugin` in the project's directory".to_owned()
    };
    let Some(Candidate { file, reason, kind }) = found else {
        let others: Vec<String> = installed.iter().map(Version::to_string).collect();
        let detail = match (is_partial, others.is_empty()) {
            (true, _) => "an installation of it was interrupted, so the Pulumi CLI ignores it".to_owned(),
            (false, true) => format!("{} has no version of it", plugins.display()),
            (false, false) => {
                format!("{} has other versions of it: {}", plugins.display(), others.join(", "))
            }
        };
        let text = format!("the plugin is not installed in version {version}{by}: {detail}");
        return vec![Finding::fault(ErrorCode::PluginMissing, &text).advising(install)];
    };
    let shown = file.display();
    match (kind, reason) {
        (Kind::Isthmus | Kind::NotChosen, _) => {
            let warning = behind.as_ref().map(|behind| {
                let text = format!(
                    "{} is not isthmus; `pulumi package add` and `pulumi install` load it for version {version}{by}, although isthmus \
                     is on PATH",
                    behind.display()
                );
                let help = install.replace("--plugin", "--plugin --force");
                Finding::warning(ErrorCode::OtherPlugin, &text).advising(format!("{help}, which keeps a backup"))
            });
            warning.into_iter().collect()
        }
        (_, Reason::Path) => {
            let text = format!(
                "{shown}, which is not isthmus, is on PATH, and the Pulumi CLI uses it instead of version {version}{by}"
            );
            vec![Finding::fault(ErrorCode::PluginShadowed, &text)]
        }
        (Kind::Other, Reason::Cache) => {
            let text =
                format!("{shown} is not isthmus, and the Pulumi CLI loads it for version {version}{by}");
            let help = install.replace("--plugin", "--plugin --force");
            vec![
                Finding::fault(ErrorCode::OtherPlugin, &text)
                    .advising(format!("{help}, which keeps a backup")),
            ]
        }
        (Kind::Other, Reason::Project) => {
            let text = format!("{shown}, which `plugins` in the project file names, is not isthmus");
            let help = "change or remove the entry terraform-provider of `plugins` in the project file";
            vec![Finding::fault(ErrorCode::OtherPlugin, &text).advising(help)]
        }
        (Kind::Unusable, Reason::Project) => {
            let text =
                format!("{shown}, which `plugins` in the project file names, is not an executable file");
            let help = "change or remove the entry terraform-provider of `plugins` in the project file";
            vec![Finding::fault(ErrorCode::PluginMissing, &text).advising(help)]
        }
        (Kind::Unusable, Reason::Cache) => {
            let text =
                format!("{shown} is not an executable file, and is the plugin in version {version}{by}");
            vec![Finding::fault(ErrorCode::PluginMissing, &text).advising(install)]
        }
    }
}

impl Reason {
    fn shown(self) -> &'static str {
        match self {
            Self::Project => "`plugins` in the project file",
            Self::Path => "on PATH",
            Self::Cache => "in the plugins directory",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    fn lookup(found: Option<Candidate>) -> Lookup {
        Lookup { version: PLUGIN_VERSION, named_by: BTreeSet::new(), found, behind: None, is_partial: false }
    }

    #[test]
    fn each_way_to_a_plugin_is_judged_by_what_it_leads_to() {
        let judged = |reason, kind| {
            let found = Some(Candidate { file: "/p".into(), reason, kind });
            let lookup = lookup(found);
            let facts = PluginLookups {
                plugins: Some("/plugins".into()),
                lookups: vec![lookup],
                ..PluginLookups::default()
            };
            judge(&facts).findings.first().map(|finding| (finding.level, finding.code))
        };
        assert_eq!(judged(Reason::Cache, Kind::Isthmus), None);
        assert_eq!(judged(Reason::Project, Kind::Isthmus), None);
        assert_eq!(judged(Reason::Path, Kind::Isthmus), None);
        assert_eq!(judged(Reason::Path, Kind::Other), Some((Level::Fault, ErrorCode::PluginShadowed)));
        assert_eq!(judged(Reason::Cache, Kind::Other), Some((Level::Fault, ErrorCode::OtherPlugin)));
        assert_eq!(judged(Reason::Project, Kind::Other), Some((Level::Fault, ErrorCode::OtherPlugin)));
        assert_eq!(judged(Reason::Cache, Kind::Unusable), Some((Level::Fault, ErrorCode::PluginMissing)));
    }

    #[test]
    fn what_is_loaded_where_no_version_is_named_is_judged_beside_what_is_named() {
        let found = Some(Candidate { file: "/p".into(), reason: Reason::Cache, kind: Kind::Isthmus });
        let lookup = lookup(found);
        let plugins = Path::new("/plugins");
        let judged = |version| {
            let unversioned = Some(InstalledPlugin::at(plugins, version));
            let lookups = vec![lookup.clone()];
            let findings = judge(&PluginLookups {
                plugins: Some(plugins.into()),
                lookups,
                installed: Vec::new(),
                unversioned,
            })
            .findings;
            findings.iter().map(|finding| (finding.level, finding.code)).collect::<Vec<_>>()
        };
        assert_eq!(judged(Version::new(9, 0, 0)), [(Level::Warning, ErrorCode::OtherPlugin)]);
        assert_eq!(judged(PLUGIN_VERSION), [], "it was judged as that version");
    }
}
