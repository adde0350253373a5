//! What the engine was last told of a resource, by which it is recognized.

use isthmus_proto::property::{Struct, Value};
use isthmus_state::Sent;
use prost::Message as _;

use crate::resource::journal::digest;

/// How many earlier versions are kept of one resource. There is more than one only where it is not clear which one the
/// engine has.
const MOST: usize = 4;

/// What an engine was last told of a resource. It is kept beside the object, to tell resources of one id apart.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct LastReported {
    /// The inputs that the resource was made with, as the engine sent them.
    #[prost(message, optional, tag = "1")]
    pub(super) inputs: Option<Struct>,
    /// The outputs that the engine got for them.
    #[prost(message, optional, tag = "2")]
    pub(super) outputs: Option<Struct>,
    /// What it was told before the last update: it still has that if it did not receive the answer.
    #[prost(message, repeated, tag = "3")]
    pub(super) earlier: Vec<Self>,
}

impl LastReported {
    /// What is kept beside an object. What cannot be read tells nothing: it is ours, and was checked with the record.
    pub(super) fn kept(companion: &bytes::Bytes) -> Self {
        Self::decode(companion.clone()).unwrap_or_default()
    }

    /// Everything that the engine may have of the resource, newest first.
    pub(super) fn versions(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.earlier)
    }

    /// What the engine may still have after an update for which it sent these inputs as the old ones.
    pub(super) fn before_update(&self, olds: &Struct) -> Vec<Self> {
        let bare = |told: &Self| Self { earlier: Vec::new(), ..told.clone() };
        let (same, other): (Vec<Self>, Vec<Self>) = self
            .versions()
            .filter(|told| told.outputs.is_some())
            .map(bare)
            .partition(|told| told.inputs.as_ref().is_some_and(|inputs| is_same(inputs, olds)));
        let mut known = if same.is_empty() { other } else { same };
        known.truncate(MOST);
        known
    }

    /// Whether the engine may have these inputs of the resource.
    pub(super) fn has_inputs(&self, inputs: &Struct) -> bool {
        self.versions().any(|told| told.inputs.as_ref().is_some_and(|told| is_same(told, inputs)))
    }

    /// The properties in which all that the engine sends for a deletion contradicts this. What the engine does not send is
    /// no contradiction; what it sends beyond the outputs is one unless it is among the inputs, where these are known.
    pub(super) fn contradicted_by(&self, everything: &Struct) -> Vec<String> {
        let all = self.all();
        let differs = |name: &str| match (all.get(name), everything.get(name)) {
            (Some(told), Some(sent)) => told != sent,
            (Some(_), None) => false,
            (None, sent) => self.inputs.is_some() && sent.is_some_and(|sent| !sent.is_null()),
        };
        let names = all.iter().chain(everything.iter()).map(|(name, _)| name);
        let mut differing: Vec<String> = names.filter(|name| differs(name)).map(str::to_owned).collect();
        differing.sort();
        differing.dedup();
        differing
    }

    /// The same to be compared with an object of which there are only the outputs.
    pub(super) fn outputs_alone(&self) -> Self {
        Self { outputs: self.outputs.clone(), ..Self::default() }
    }

    /// Whether the engine sends exactly this for a deletion.
    pub(super) fn is_exactly(&self, everything: &Struct) -> bool {
        is_same(&self.all(), everything)
    }

    /// Everything that the engine has of the resource, as it sends it for a deletion: the outputs over the inputs.
    pub(super) fn all(&self) -> Struct {
        let mut all = Struct::new();
        for bag in [&self.inputs, &self.outputs].into_iter().flatten() {
            let said = bag.iter().filter(|(_, value)| !value.is_null());
            all.extend(said.map(|(name, value)| (name.to_owned(), value.clone())));
        }
        all
    }
}

/// A digest of properties, in which a null is the same as none.
pub(super) fn digest_of(properties: &Struct) -> Sent {
    let said = properties.iter().filter(|(_, value)| !value.is_null());
    digest(&said.map(|(name, value)| (name.to_owned(), value.clone())).collect())
}

/// Whether two bags say the same; a null says nothing.
pub(super) fn is_same(one: &Struct, other: &Struct) -> bool {
    does_contain(one, other) && does_contain(other, one)
}

fn does_contain(whole: &Struct, part: &Struct) -> bool {
    said(part).all(|(name, value)| whole.get(name) == Some(value))
}

pub(super) fn said(bag: &Struct) -> impl Iterator<Item = (&str, &Value)> {
    bag.iter().filter(|(_, value)| !value.is_null())
}
