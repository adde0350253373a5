//! What was last reported to the engine of a resource, which identifies it.

use isthmus_proto::property::{Struct, Value};
use isthmus_state::Sent;
use prost::Message as _;

use isthmus_operations::resource::failed_deletions::digest;

/// How many earlier versions a record has. There are several only while it is not certain which one
/// the engine has.
const MOST: usize = 4;

/// What was last reported to an engine of a resource, stored beside the object to distinguish
/// resources of one id.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct LastReported {
    /// The inputs of the last create or update, as the engine sent them.
    #[prost(message, optional, tag = "1")]
    pub(super) inputs: Option<Struct>,
    /// The outputs that were returned for them.
    #[prost(message, optional, tag = "2")]
    pub(super) outputs: Option<Struct>,
    /// Versions before the last update: the engine still has one if it did not receive the answer.
    #[prost(message, repeated, tag = "3")]
    pub(super) earlier: Vec<Self>,
    /// An update has failed since, and what it left could not be read.
    #[prost(bool, tag = "4")]
    pub(super) unrefreshed: bool,
}

impl LastReported {
    /// Decodes the message beside an object. Undecodable bytes count as empty: they are ours, and
    /// were authenticated with the record.
    pub(super) fn is_stored(companion: &bytes::Bytes) -> Self {
        Self::decode(companion.clone()).unwrap_or_default()
    }

    /// All versions that the engine may have, newest first.
    pub(super) fn versions(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.earlier)
    }

    /// The versions that the engine may have after an update with these old inputs.
    pub(super) fn before_update(&self, olds: &Struct) -> Vec<Self> {
        let bare = |reported: &Self| Self { earlier: Vec::new(), ..reported.clone() };
        let (same, other): (Vec<Self>, Vec<Self>) = self
            .versions()
            .filter(|reported| reported.outputs.is_some())
            .map(bare)
            .partition(|reported| reported.inputs.as_ref().is_some_and(|inputs| is_same(inputs, olds)));
        let mut known = if same.is_empty() { other } else { same };
        known.truncate(MOST);
        known
    }

    /// Whether the engine may have stored these inputs.
    pub(super) fn has_inputs(&self, inputs: &Struct) -> bool {
        self.versions()
            .any(|reported| reported.inputs.as_ref().is_some_and(|reported| is_same(reported, inputs)))
    }

    /// The properties in which the engine's properties for a deletion contradict this. A property
    /// that the engine does not send is no contradiction; one beyond the outputs is, unless it is
    /// among the inputs or these are unknown.
    pub(super) fn contradicted_by(&self, everything: &Struct) -> Vec<String> {
        let all = self.all();
        let differs = |name: &str| match (all.get(name), everything.get(name)) {
            (Some(reported), Some(sent)) => reported != sent,
            (Some(_), None) => false,
            (None, sent) => self.inputs.is_some() && sent.is_some_and(|sent| !sent.is_null()),
        };
        let names = all.iter().chain(everything.iter()).map(|(name, _)| name);
        let mut differing: Vec<String> = names.filter(|name| differs(name)).map(str::to_owned).collect();
        differing.sort();
        differing.dedup();
        differing
    }

    /// A copy for comparison with an object of which only the outputs are known.
    pub(super) fn outputs_alone(&self) -> Self {
        Self { outputs: self.outputs.clone(), ..Self::default() }
    }

    /// Whether the engine sends exactly this for a deletion.
    pub(super) fn is_exactly(&self, everything: &Struct) -> bool {
        is_same(&self.all(), everything)
    }

    /// All properties as the engine sends them for a deletion: outputs over inputs.
    pub(super) fn all(&self) -> Struct {
        let mut all = Struct::new();
        for bag in [&self.inputs, &self.outputs].into_iter().flatten() {
            let non_null = bag.iter().filter(|(_, value)| !value.is_null());
            all.extend(non_null.map(|(name, value)| (name.to_owned(), value.clone())));
        }
        all
    }
}

/// A digest of properties that ignores nulls.
pub(super) fn digest_of(properties: &Struct) -> Sent {
    let non_null = properties.iter().filter(|(_, value)| !value.is_null());
    digest(&non_null.map(|(name, value)| (name.to_owned(), value.clone())).collect())
}

/// Whether two bags are equal apart from nulls.
pub(super) fn is_same(one: &Struct, other: &Struct) -> bool {
    does_contain(one, other) && does_contain(other, one)
}

fn does_contain(whole: &Struct, part: &Struct) -> bool {
    non_null(part).all(|(name, value)| whole.get(name) == Some(value))
}

pub(super) fn non_null(bag: &Struct) -> impl Iterator<Item = (&str, &Value)> {
    bag.iter().filter(|(_, value)| !value.is_null())
}
