//! Which parts of a value are secret, by path, ready for a walk.

use std::collections::HashMap;
use std::sync::Arc;

use isthmus_cty::{AttributePath, PathStep};

/// Secret paths as a tree, so that a walk asks one question a step however many paths there are.
#[derive(Debug, Default)]
pub(super) struct SecretPaths {
    /// The value here is secret as a whole.
    pub(super) secret: bool,
    names: HashMap<Arc<str>, Self>,
    indices: HashMap<usize, Self>,
}

impl SecretPaths {
    pub(super) fn new<'a>(paths: impl IntoIterator<Item = &'a AttributePath>) -> Self {
        let mut root = Self::default();
        for path in paths {
            let mut node = &mut root;
            for step in &path.0 {
                node = match step {
                    PathStep::Attribute(name) | PathStep::Key(name) => {
                        node.names.entry(Arc::clone(name)).or_default()
                    }
                    PathStep::Index(index) => node.indices.entry(*index).or_default(),
                    // Elements of sets are not told apart: the whole set is secret.
                    PathStep::Element(_) => break,
                };
            }
            node.secret = true;
        }
        root
    }

    /// Beneath the attribute or key of that name.
    pub(super) fn name(&self, name: &str) -> Option<&Self> {
        self.names.get(name)
    }

    /// Beneath the element at that index.
    pub(super) fn index(&self, index: usize) -> Option<&Self> {
        self.indices.get(&index)
    }
}
