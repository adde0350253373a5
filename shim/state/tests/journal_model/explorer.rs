//! Breadth-first exploration of a model, with a visited set.
//!
//! The crate `stateright` does the same, but brings 45 packages and a web server with it. This is what
//! the models need: all states within their bounds, the shortest trace to a violation, and proof that
//! the states that a promise is about were reached at all.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt::{Debug, Write as _};
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// A state machine with a finite number of states.
pub(crate) trait Model {
    /// All that decides what can happen next.
    type State: Clone + Hash;
    /// What leads from one state to the next.
    type Step: Copy + Debug;

    /// The state that all begins with.
    fn initial(&self) -> Self::State;

    /// All that can happen next.
    fn next(&self, state: &Self::State) -> Vec<(Self::Step, Self::State)>;

    /// What must hold in every state.
    fn promises(&self) -> Vec<Property<Self::State>>;

    /// What must hold in some state: otherwise the model does not reach what its promises are about.
    fn sightings(&self) -> Vec<Property<Self::State>>;
}

/// A named predicate.
pub(crate) type Property<State> = (&'static str, fn(&State) -> bool);

/// What an exploration has found.
#[derive(Debug)]
struct Explored {
    /// Number of distinct states.
    states: usize,
    /// Length of the longest shortest path.
    depth: usize,
    /// The promises that were violated, each with a shortest trace.
    violations: BTreeMap<&'static str, String>,
    /// The sightings that no state has shown.
    unseen: Vec<&'static str>,
}

/// A state that was reached, without the state itself.
struct Node<Step> {
    parent: usize,
    depth: usize,
    step: Option<Step>,
}

/// Explores all states of a model.
fn explore<M: Model>(model: &M) -> Explored {
    explore_until(model, None)
}

/// Explores a model until the promise is violated, and returns the trace.
fn find_violation<M: Model>(model: &M, promise: &str) -> Option<String> {
    explore_until(model, Some(promise)).violations.remove(promise)
}

fn explore_until<M: Model>(model: &M, promise: Option<&str>) -> Explored {
    let promises = model.promises();
    let mut unseen = model.sightings();
    let mut violations = BTreeMap::new();
    let mut visited = HashSet::new();
    let mut nodes = vec![Node { parent: 0, depth: 0, step: None }];
    let initial = model.initial();
    visited.insert(fingerprint(&initial));
    let mut frontier = VecDeque::from([(0, initial)]);
    while let Some((index, state)) = frontier.pop_front() {
        for (name, holds) in &promises {
            if !violations.contains_key(name) && !holds(&state) {
                violations.insert(*name, trace(&nodes, index));
            }
        }
        unseen.retain(|(_, is_seen)| !is_seen(&state));
        if promise.is_some_and(|promise| violations.contains_key(promise)) {
            break;
        }
        let depth = nodes[index].depth + 1;
        for (step, next) in model.next(&state) {
            if visited.insert(fingerprint(&next)) {
                frontier.push_back((nodes.len(), next));
                nodes.push(Node { parent: index, depth, step: Some(step) });
            }
        }
    }
    let depth = nodes.last().map_or(0, |node| node.depth);
    let unseen = unseen.into_iter().map(|(name, _)| name).collect();
    Explored { states: nodes.len(), depth, violations, unseen }
}

/// 128 bits stand for a state: two of some million states share one with a probability below 10^-24.
fn fingerprint(state: &impl Hash) -> u128 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    let first = hasher.finish();
    hasher.write_u8(1);
    u128::from(first) << 64 | u128::from(hasher.finish())
}

fn trace<Step: Copy + Debug>(nodes: &[Node<Step>], mut index: usize) -> String {
    let mut steps = Vec::new();
    while let Some(step) = nodes[index].step {
        steps.push(step);
        index = nodes[index].parent;
    }
    let mut trace = String::new();
    for (number, step) in steps.iter().rev().enumerate() {
        writeln!(trace, "{:3} {step:?}", number + 1).expect("a string can be written to");
    }
    trace
}

/// Explores a model within each of several bounds. Requires that all promises hold in each, and that each
/// sighting is made in one. Returns lines for the log.
#[track_caller]
pub(crate) fn expect_promises<'a, M: Model + 'a>(models: impl IntoIterator<Item = (&'a str, M)>) -> String {
    let mut log = String::new();
    let mut unseen: Option<Vec<&str>> = None;
    for (name, model) in models {
        let explored = explore(&model);
        if let Some((promise, trace)) = explored.violations.first_key_value() {
            panic!("{name}: violated: {promise}\n{trace}");
        }
        writeln!(log, "{name}: {} states, depth {}", explored.states, explored.depth)
            .expect("a string can be written to");
        unseen = Some(match unseen {
            None => explored.unseen,
            Some(unseen) => unseen.into_iter().filter(|name| explored.unseen.contains(name)).collect(),
        });
    }
    let unseen = unseen.unwrap_or_default();
    assert!(unseen.is_empty(), "never reached: {unseen:?}");
    log
}

/// Requires that a model violates a promise. Returns the shortest trace for the log.
#[track_caller]
pub(crate) fn expect_violation<M: Model>(model: &M, promise: &str) -> String {
    let trace = find_violation(model, promise);
    trace.unwrap_or_else(|| panic!("no state violates: {promise}"))
}
