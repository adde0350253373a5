//! Dependencies between the instances of a state, and an order in which each comes after its own.
//!
//! A state lists the addresses of dependencies without instance keys: `module.net.random_pet.a`
//! stands for every instance. Of these, an instance depends on those that it can refer to: where its
//! own module path and that of the dependency begin with the same names, the instance keys are the
//! same too, because a module's configuration refers only to its own instance.

use std::collections::{BTreeSet, HashMap};

use isthmus_state::{ObjectAddress, ResourceMode};

/// Most instances of one dependency that are recorded for an instance. Beyond, only the one with the
/// same instance key is: thousands of instances that each depend on thousands would make a program
/// that nothing can run.
const MOST_INSTANCES: usize = 100;

/// The dependencies of all instances, by position.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Positions of the dependencies of each instance.
    pub of: Vec<BTreeSet<usize>>,
    /// All positions, each after those that it depends on.
    pub order: Vec<usize>,
    /// What was left out.
    pub omitted: Vec<Omitted>,
}

/// Dependencies that are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omitted {
    /// Position of the dependent instance.
    pub instance: usize,
    pub why: OmittedWhy,
}

/// Why dependencies are left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OmittedWhy {
    #[error("the dependency on {count} instances of {address} is not recorded: at most {MOST_INSTANCES} are")]
    TooMany { address: String, count: usize },
    #[error("the dependency on {address} is not recorded: it depends on this resource itself")]
    Cycle { address: String },
}

/// Resolves dependencies. `instances` are addresses, each with the addresses of its dependencies.
pub fn dependencies(instances: &[(&ObjectAddress, &[String])]) -> Dependencies {
    let mut by_address = HashMap::<String, Vec<usize>>::new();
    for (position, (address, _)) in instances.iter().enumerate() {
        if address.deposed.is_none() {
            by_address.entry(without_keys(address)).or_default().push(position);
        }
    }
    let mut found = Dependencies::default();
    for (position, (address, names)) in instances.iter().enumerate() {
        let mut of = BTreeSet::new();
        for name in names.iter() {
            let all = by_address.get(&normalised(name)).map(Vec::as_slice).unwrap_or_default();
            let reachable = || all.iter().copied().filter(|other| is_reachable(address, instances[*other].0));
            let count = reachable().count();
            if count <= MOST_INSTANCES {
                of.extend(reachable());
                continue;
            }
            let same = reachable().filter(|other| instances[*other].0.key == address.key);
            let same: Vec<usize> = same.take(MOST_INSTANCES).collect();
            if address.key.is_none() || same.is_empty() {
                let why = OmittedWhy::TooMany { address: name.clone(), count };
                found.omitted.push(Omitted { instance: position, why });
            } else {
                of.extend(same);
            }
        }
        of.remove(&position);
        found.of.push(of);
    }
    order(&mut found, instances);
    found
}

/// Orders the instances: by position, but each after its dependencies. Dependencies that close a
/// cycle are removed.
fn order(found: &mut Dependencies, instances: &[(&ObjectAddress, &[String])]) {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        New,
        Open,
        Done,
    }
    let mut visits = vec![Visit::New; found.of.len()];
    for start in 0..found.of.len() {
        if visits[start] != Visit::New {
            continue;
        }
        visits[start] = Visit::Open;
        let mut path = vec![(start, found.of[start].iter().copied().collect::<Vec<_>>().into_iter())];
        while let Some((position, rest)) = path.last_mut() {
            let position = *position;
            let Some(next) = rest.next() else {
                visits[position] = Visit::Done;
                found.order.push(position);
                path.pop();
                continue;
            };
            match visits[next] {
                Visit::Done => {}
                Visit::New => {
                    visits[next] = Visit::Open;
                    let inner: Vec<usize> = found.of[next].iter().copied().collect();
                    path.push((next, inner.into_iter()));
                }
                Visit::Open => {
                    found.of[position].remove(&next);
                    let why = OmittedWhy::Cycle { address: instances[next].0.to_string() };
                    found.omitted.push(Omitted { instance: position, why });
                }
            }
        }
    }
}

/// Whether the configuration of `from` can refer to `to`.
fn is_reachable(from: &ObjectAddress, to: &ObjectAddress) -> bool {
    let pairs = from.resource.module.iter().zip(&to.resource.module);
    let shared = pairs.take_while(|(from, to)| from.name == to.name);
    shared.into_iter().all(|(from, to)| from.key == to.key)
}

/// An address as in a list of dependencies.
pub fn without_keys(address: &ObjectAddress) -> String {
    let resource = &address.resource;
    let mut text = String::new();
    for step in &resource.module {
        text.push_str("module.");
        text.push_str(&step.name);
        text.push('.');
    }
    if resource.mode == ResourceMode::Data {
        text.push_str("data.");
    }
    text + &resource.type_name + "." + &resource.name
}

/// A dependency's address without instance keys, which some states have.
fn normalised(name: &str) -> String {
    name.parse::<ObjectAddress>().map_or_else(|_| name.to_owned(), |address| without_keys(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The dependencies of each, and the order, by addresses.
    fn resolved(instances: &[(&str, &[&str])]) -> (Vec<Vec<String>>, Vec<String>, Vec<String>) {
        let parsed: Vec<(ObjectAddress, Vec<String>)> = instances
            .iter()
            .map(|(address, names)| {
                let names = names.iter().map(|name| (*name).to_owned()).collect();
                (address.parse().expect("an address"), names)
            })
            .collect();
        let borrowed: Vec<(&ObjectAddress, &[String])> =
            parsed.iter().map(|(address, names)| (address, names.as_slice())).collect();
        let found = dependencies(&borrowed);
        let name = |position: &usize| parsed[*position].0.to_string();
        let of = found.of.iter().map(|of| of.iter().map(name).collect()).collect();
        let order = found.order.iter().map(name).collect();
        (of, order, found.omitted.iter().map(|omitted| omitted.why.to_string()).collect())
    }

    #[test]
    fn a_dependency_stands_for_all_instances_and_comes_first() {
        let (of, order, omitted) =
            resolved(&[("t.b", &["t.a", "data.t.x"]), ("t.a[0]", &[]), ("t.a[1]", &[]), ("t.c", &["t.b"])]);
        assert_eq!(of, [vec!["t.a[0]", "t.a[1]"], vec![], vec![], vec!["t.b"]]);
        assert_eq!(order, ["t.a[0]", "t.a[1]", "t.b", "t.c"]);
        assert!(omitted.is_empty());
    }

    #[test]
    fn within_a_module_only_its_own_instance_is_referred_to() {
        let (of, ..) = resolved(&[
            (r#"module.m["x"].t.a"#, &[]),
            (r#"module.m["y"].t.a"#, &[]),
            (r#"module.m["y"].t.b"#, &["module.m.t.a"]),
            ("t.c", &["module.m.t.a"]),
        ]);
        assert_eq!(of[2], [r#"module.m["y"].t.a"#]);
        assert_eq!(of[3], [r#"module.m["x"].t.a"#, r#"module.m["y"].t.a"#]);
    }

    #[test]
    fn of_too_many_instances_the_one_with_the_same_key_is_recorded() {
        let addresses: Vec<String> = (0..200).map(|number| format!("t.a[{number}]")).collect();
        let mut instances: Vec<(&str, &[&str])> =
            addresses.iter().map(|address| (address.as_str(), &[][..])).collect();
        instances.push(("t.b[7]", &["t.a"]));
        instances.push(("t.c", &["t.a"]));
        let (of, _, omitted) = resolved(&instances);
        assert_eq!(of[200], ["t.a[7]"]);
        assert_eq!(of[201], Vec::<String>::new());
        assert_eq!(omitted.len(), 1);
        assert!(omitted[0].contains("200 instances of t.a"), "{omitted:?}");
    }

    #[test]
    fn a_cycle_is_cut_and_reported() {
        let (of, order, omitted) = resolved(&[("t.a", &["t.b"]), ("t.b", &["t.a"])]);
        assert_eq!(of, [vec!["t.b".to_owned()], vec![]]);
        assert_eq!(order, ["t.b", "t.a"]);
        assert_eq!(omitted.len(), 1);
    }
}
