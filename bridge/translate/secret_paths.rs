//! Secret paths of a value, indexed for a walk.

use std::collections::HashMap;
use std::sync::Arc;

use isthmus_cty::{AttributePath, PathStep};

/// Secret paths as a tree, so that a walk needs one lookup per step.
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
                    // Elements of sets cannot be addressed: the whole set is secret.
                    PathStep::Element(_) => break,
                };
            }
            node.secret = true;
        }
        root
    }

    /// The subtree of the attribute or key with this name.
    pub(super) fn name(&self, name: &str) -> Option<&Self> {
        self.names.get(name)
    }

    /// The subtree of the element at this index.
    pub(super) fn index(&self, index: usize) -> Option<&Self> {
        self.indices.get(&index)
    }
}
