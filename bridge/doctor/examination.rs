//! The checks in their order, each with what it needs of those before.

use isthmus_common::blocking;

use super::check::Check;
use super::finding::{Judgement, Level};
use super::world::World;
use super::{
    cache, clock, configuration, daemon_socket, environment, home_directory, operations, plugin_lookup,
    project_files, provider_start, pulumi_cli, registry, space, state_store,
};

/// A check and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    pub check: Check,
    pub judgement: Judgement,
}

/// Why a check is not made.
const FAULT_ABOVE: &str = "not examined because of a fault above";

/// Makes the checks that are chosen. `begin` is called before each.
pub async fn examine(world: &World, chosen: &[Check], begin: &(dyn Fn(Check) + Sync)) -> Vec<Examined> {
    let mut all: Vec<Examined> = Vec::new();
    let project = in_background(world, project_files::gather).await;
    let project = project.as_ref();
    // What several checks are about.
    let mut configured = None;
    let mut cached = None;
    let mut answers = Vec::new();
    let store = state_store::store(world);
    let mut is_store_usable = false;
    for check in Check::ALL.into_iter().filter(|check| chosen.contains(check)) {
        begin(check);
        let has_fault = |others: &[Check]| {
            all.iter().any(|one| others.contains(&one.check) && one.judgement.level() == Some(Level::Fault))
        };
        if matches!(check, Check::Cache | Check::Providers) && cached.is_none() {
            cached = in_background(world, cache::gather).await;
        }
        let judgement = match check {
            Check::Settings => environment::settings(world),
            Check::Home => in_background(world, home_directory::examine).await,
            Check::Space => space::judge(&in_background(world, space::gather).await),
            Check::Pulumi => pulumi_cli::judge(pulumi_cli::gather(world).await.as_ref()),
            Check::Project => project_files::judge(project),
            Check::Plugin
                if has_fault(&[Check::Project]) && project.is_some_and(|it| it.versions().is_empty()) =>
            {
                Judgement::skipped(FAULT_ABOVE)
            }
            Check::Plugin => plugin_lookup::judge(&plugin_lookup::gather(world, project).await),
            Check::Configuration => {
                let (judgement, installer) = in_background(world, configuration::examine).await;
                configured = Some(installer);
                judgement
            }
            Check::Certificates => in_background(world, environment::certificates).await,
            Check::Proxy => environment::proxy(world),
            Check::Registry if world.is_offline => Judgement::skipped("the network is not used"),
            Check::Registry if has_fault(&[Check::Configuration, Check::Proxy]) => {
                Judgement::skipped(FAULT_ABOVE)
            }
            Check::Registry => {
                let installer = match configured.take() {
                    Some(installer) => installer,
                    None => in_background(world, configuration::examine).await.1,
                };
                match installer {
                    Some(installer) => {
                        answers = registry::gather(&installer, registry::addresses(world, project)).await;
                        registry::judge(&answers)
                    }
                    None => Judgement::skipped("the CLI configuration cannot be read"),
                }
            }
            Check::Clock => clock::judge(&clock::gather(&answers)),
            Check::Cache => cache::judge(cached.as_ref()),
            Check::Providers => {
                let wanted = provider_start::wanted(world, project, cached.as_ref());
                let has_packages = project.is_some_and(project_files::ProjectFiles::has_packages);
                provider_start::examine(world, wanted, has_packages).await
            }
            Check::Store => match &store {
                Ok(store) => {
                    let (judgement, is_usable) = state_store::examine(world, store).await;
                    is_store_usable = is_usable;
                    judgement
                }
                Err(_) => Judgement::skipped(FAULT_ABOVE),
            },
            // The journal needs the same key.
            Check::Operations if has_fault(&[Check::Store]) => Judgement::skipped(FAULT_ABOVE),
            Check::Operations => match operations::gather(world, &store, is_store_usable).await {
                Some(facts) => operations::judge(&facts),
                None => Judgement::skipped(FAULT_ABOVE),
            },
            Check::Daemon => daemon_socket::examine(world).await,
        };
        all.push(Examined { check, judgement });
    }
    all
}

/// What blocks on the file system, on a thread for it.
async fn in_background<Gathered: Send + 'static>(
    world: &World,
    gather: impl FnOnce(&World) -> Gathered + Send + 'static,
) -> Gathered {
    let world = world.clone();
    blocking(move || gather(&world)).await
}
