//! The requests of both sides about one resource in one step, side by side.
//!
//! Neither side is the measure of the order of phases: an engine previews, then updates, and calls in between come from
//! wherever it likes; OpenTofu validates, plans and applies in processes of their own. So what is compared is which
//! different requests were made, and in which order those that change something were. That a request is repeated is a
//! difference of its own, to be covered by a rule; of those that change something none may be.

use serde_json::Value as Json;

use crate::providers::Service;
use crate::requests::Request;
use crate::steps::{Decision, Step};

/// One difference.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub(crate) what: What,
    pub(crate) method: &'static str,
    /// The service of isthmus that our side is driven through.
    pub(crate) service: Service,
    /// What was decided in the step.
    pub(crate) decision: Decision,
    pub(crate) step: Step,
    /// Our request, if there is one.
    pub(crate) ours: Option<Request>,
    /// That of OpenTofu, if there is one.
    pub(crate) theirs: Option<Request>,
}

/// What differs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    /// We made a request again.
    OursRepeated,
    /// OpenTofu did.
    TheirsRepeated,
    /// Only we made a request.
    OnlyOurs,
    /// Only OpenTofu did.
    OnlyTheirs,
    /// Only OpenTofu did, and we had made it in an earlier step.
    AnsweredBefore,
    /// Two requests differ at a place.
    Field { path: String, ours: Option<Json>, theirs: Option<Json> },
    /// What changes something is in another order.
    Order,
    /// We announced a capability. It is taken out before anything else is compared.
    Announced(&'static str),
}

/// Compares. `before` are our requests of earlier steps, with nothing announced.
pub(crate) fn differences(
    service: Service,
    decision: Decision,
    step: &Step,
    before: &[Request],
    ours: &[Request],
    theirs: &[Request],
) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut note = |what, ours: Option<&Request>, theirs: Option<&Request>| {
        let method = ours.or(theirs).map_or("", |request| request.method);
        found.push(Difference {
            what,
            method,
            service,
            decision,
            step: step.clone(),
            ours: ours.cloned(),
            theirs: theirs.cloned(),
        });
    };
    // Some calls announce more than others, which would make one request two.
    let plain: Vec<Request> = ours.iter().map(|request| request.announcing_less()).collect();
    for (plain, ours) in plain.iter().zip(ours) {
        for announcement in ANNOUNCEMENTS.iter().filter(|announcement| ours.announces(announcement)) {
            note(What::Announced(announcement), Some(ours), Some(plain));
        }
    }
    let ours = distinct(&plain, |request| note(What::OursRepeated, Some(request), None));
    let theirs = distinct(theirs, |request| note(What::TheirsRepeated, None, Some(request)));

    let acts = |requests: &[&Request]| -> Vec<Request> {
        requests.iter().copied().filter(|request| request.acts()).cloned().collect()
    };
    let (our_acts, their_acts) = (acts(&ours), acts(&theirs));
    if our_acts.len() == their_acts.len() {
        for (our, their) in our_acts.iter().zip(&their_acts) {
            if our.fields["prior_state"].is_null() != their.fields["prior_state"].is_null() {
                note(What::Order, Some(our), Some(their));
            }
        }
    }

    let mut our_rest: Vec<&Request> = ours.iter().copied().filter(|our| !theirs.contains(our)).collect();
    let mut their_rest: Vec<&Request> =
        theirs.iter().copied().filter(|their| !ours.contains(their)).collect();
    // First, because one of these may resemble another request of ours.
    their_rest.retain(|their| {
        if !step.unknown && their.is_about_unknown() {
            note(What::OnlyTheirs, None, Some(their));
            return false;
        }
        let is_answered = their.is_remembered() && before.contains(their);
        if is_answered {
            note(What::AnsweredBefore, None, Some(their));
        }
        !is_answered
    });
    while let Some((our, their, places)) = closest(&our_rest, &their_rest) {
        let (our, their) = (our_rest.remove(our), their_rest.remove(their));
        for Place { path, ours, theirs } in places {
            note(What::Field { path, ours, theirs }, Some(our), Some(their));
        }
    }
    for our in our_rest {
        note(What::OnlyOurs, Some(our), None);
    }
    for their in their_rest {
        note(What::OnlyTheirs, None, Some(their));
    }
    found
}

/// The capabilities that only isthmus has.
const ANNOUNCEMENTS: [&str; 2] = ["deferral_allowed", "computed_blocks_allowed"];

impl Request {
    fn announces(&self, capability: &str) -> bool {
        let capabilities = self.fields.get("client_capabilities").and_then(Json::as_str);
        capabilities.is_some_and(|capabilities| capabilities.contains(&format!("{capability}: true")))
    }

    /// Whether it is about a configuration of which something is unknown.
    pub(crate) fn is_about_unknown(&self) -> bool {
        self.fields.get("config").is_some_and(has_unknown)
    }

    /// Whether isthmus remembers the answer.
    pub(crate) fn is_remembered(&self) -> bool {
        matches!(self.method, "ValidateResourceConfig" | "UpgradeResourceState")
    }

    /// The request without those announcements.
    pub(crate) fn announcing_less(&self) -> Self {
        let mut request = self.clone();
        if let Some(capabilities) = request.fields.get_mut("client_capabilities")
            && let Some(text) = capabilities.as_str()
        {
            let less = ANNOUNCEMENTS.iter().fold(text.to_owned(), |text, capability| {
                text.replace(&format!("{capability}: true"), &format!("{capability}: false"))
            });
            *capabilities = Json::String(less);
        }
        request
    }
}

fn has_unknown(shown: &Json) -> bool {
    match shown {
        Json::Object(members) => members.contains_key("(unknown)") || members.values().any(has_unknown),
        Json::Array(elements) => elements.iter().any(has_unknown),
        _ => false,
    }
}

/// Each request once, but for those that change something.
fn distinct<'a>(requests: &'a [Request], mut repeated: impl FnMut(&'a Request)) -> Vec<&'a Request> {
    let mut seen: Vec<&Request> = Vec::new();
    for request in requests {
        if !request.acts() && seen.contains(&request) {
            repeated(request);
        } else {
            seen.push(request);
        }
    }
    seen
}

/// The two requests of one role that differ least, by their positions.
fn closest(ours: &[&Request], theirs: &[&Request]) -> Option<(usize, usize, Vec<Place>)> {
    let pairs = ours.iter().enumerate().flat_map(|(at, our)| {
        theirs.iter().enumerate().filter(|(_, their)| their.role() == our.role()).map(
            move |(their_at, their)| {
                let mut places = Vec::new();
                places_of(&mut String::new(), Some(&our.fields), Some(&their.fields), &mut places);
                (at, their_at, places)
            },
        )
    });
    pairs.min_by_key(|(_, _, places)| places.len())
}

/// A place at which two requests differ.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) path: String,
    pub(crate) ours: Option<Json>,
    pub(crate) theirs: Option<Json>,
}

/// All places at which two trees differ.
pub(crate) fn places(ours: &Json, theirs: &Json) -> Vec<Place> {
    let mut places = Vec::new();
    places_of(&mut String::new(), Some(ours), Some(theirs), &mut places);
    places
}

fn places_of(path: &mut String, ours: Option<&Json>, theirs: Option<&Json>, places: &mut Vec<Place>) {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) if ours == theirs => {}
        (Some(Json::Object(ours)), Some(Json::Object(theirs))) => {
            let mut names: Vec<&String> = ours.keys().chain(theirs.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let length = path.len();
                path.push('/');
                path.push_str(name);
                places_of(path, ours.get(name), theirs.get(name), places);
                path.truncate(length);
            }
        }
        (Some(Json::Array(ours)), Some(Json::Array(theirs))) if ours.len() == theirs.len() => {
            for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                let length = path.len();
                path.push_str(&format!("/{at}"));
                places_of(path, Some(ours), Some(theirs), places);
                path.truncate(length);
            }
        }
        (ours, theirs) => {
            places.push(Place { path: path.clone(), ours: ours.cloned(), theirs: theirs.cloned() });
        }
    }
}
