//! Answers that a provider need not give twice.
//!
//! Whether a configuration is valid, and what a stored state is in the current schema, follows from the request: the protocol
//! has both answered before the provider is configured. An engine has the same ones answered again and again: it checks a
//! resource for each step of a replacement, and each of Diff, Read, Update and Delete begins with the stored state. So a
//! process is not asked again for what it has just answered.
//!
//! A provider may look at more than the request, such as a file or an API. So answers are forgotten after a minute, and the
//! plan and the change themselves are always asked for. Only answers without diagnostics are remembered, since warnings are
//! shown each time.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use isthmus_cty::Value;
use isthmus_proto::tfplugin6;
use sha2::{Digest as _, Sha256};

/// Most answers: an engine returns to a resource after those that it has under way.
const MOST: usize = 512;

/// Most bytes of requests whose answers are states, which take up to several times as much.
const ROOM: usize = 512 << 10;

/// How long an answer holds: longer than an engine takes from one call about a resource to the next.
const AGE: Duration = Duration::from_secs(60);

/// What a process has answered.
#[derive(Debug, Default)]
pub(super) struct Answered(Mutex<Answers>);

#[derive(Debug, Default)]
struct Answers {
    by_request: HashMap<Request, Answer>,
    /// The oldest first.
    order: VecDeque<Request>,
    size: usize,
}

#[derive(Debug)]
struct Answer {
    /// The upgraded state; none of a valid configuration.
    state: Option<Value>,
    /// Bytes of the request.
    size: usize,
    /// When it was given.
    given: Instant,
}

/// The digest of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Request([u8; 32], usize);

impl Request {
    pub(super) fn of_validation(request: &tfplugin6::validate_resource_config::Request) -> Self {
        Self::of(b"validate", request)
    }

    pub(super) fn of_upgrade(request: &tfplugin6::upgrade_resource_state::Request) -> Self {
        Self::of(b"upgrade", request)
    }

    fn of(kind: &[u8], request: &impl prost::Message) -> Self {
        let encoded = request.encode_to_vec();
        let digest = Sha256::new().chain_update(kind).chain_update(&encoded).finalize();
        Self(digest.into(), encoded.len())
    }
}

impl Answered {
    /// Whether this validation has found nothing.
    pub(super) fn is_valid(&self, request: &Request) -> bool {
        self.answers().get(request, Instant::now()).is_some()
    }

    /// The state that this upgrade has resulted in.
    pub(super) fn upgraded(&self, request: &Request) -> Option<Value> {
        self.answers().get(request, Instant::now())?.state.clone()
    }

    pub(super) fn note_valid(&self, request: Request) {
        self.answers().insert(request, None);
    }

    pub(super) fn note_upgraded(&self, request: Request, state: &Value) {
        self.answers().insert(request, Some(state.clone()));
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        // What is missing is only called for again.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers {
    fn get(&self, request: &Request, now: Instant) -> Option<&Answer> {
        self.by_request.get(request).filter(|answer| now.saturating_duration_since(answer.given) < AGE)
    }

    fn insert(&mut self, request: Request, state: Option<Value>) {
        let size = if state.is_some() { request.1 } else { 0 };
        let answer = Answer { state, size, given: Instant::now() };
        if size > ROOM || self.by_request.insert(request, answer).is_some() {
            return;
        }
        self.order.push_back(request);
        self.size += size;
        while self.size > ROOM || self.order.len() > MOST {
            let Some(oldest) = self.order.pop_front() else { return };
            self.size -= self.by_request.remove(&oldest).map_or(0, |answer| answer.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: &str, size: usize) -> Request {
        let json = vec![b' '; size].into();
        let raw_state = Some(tfplugin6::RawState { json, ..Default::default() });
        Request::of_upgrade(&tfplugin6::upgrade_resource_state::Request {
            type_name: kind.to_owned(),
            version: 0,
            raw_state,
        })
    }

    #[test]
    fn only_the_same_request_is_answered() {
        let answered = Answered::default();
        let state = Value::from("state");
        answered.note_upgraded(request("a", 10), &state);
        assert_eq!(answered.upgraded(&request("a", 10)), Some(state));
        assert_eq!(answered.upgraded(&request("a", 11)), None);
        assert_eq!(answered.upgraded(&request("b", 10)), None);
    }

    #[test]
    fn an_answer_holds_for_a_minute_and_then_the_next_one_does() {
        let mut answers = Answers::default();
        answers.insert(request("a", 10), None);
        let given = answers.by_request[&request("a", 10)].given;
        assert!(answers.get(&request("a", 10), given + AGE / 2).is_some());
        assert!(answers.get(&request("a", 10), given + AGE).is_none());
        answers.insert(request("a", 10), None);
        assert!(answers.by_request[&request("a", 10)].given > given);
        assert_eq!(answers.order.len(), 1);
    }

    #[test]
    fn a_validation_and_an_upgrade_are_never_the_same() {
        let (validation, upgrade) = (Default::default(), Default::default());
        assert_ne!(Request::of_validation(&validation), Request::of_upgrade(&upgrade));
    }

    #[test]
    fn the_oldest_make_room() {
        let answered = Answered::default();
        for number in 0..100 {
            answered.note_upgraded(request(&number.to_string(), ROOM / 10), &Value::Null);
        }
        let is_kept = |number: i32| answered.upgraded(&request(&number.to_string(), ROOM / 10)).is_some();
        assert!(is_kept(99) && is_kept(92) && !is_kept(89));
        answered.note_upgraded(request("large", ROOM + 1), &Value::Null);
        assert!(answered.upgraded(&request("large", ROOM + 1)).is_none() && is_kept(99));
        for number in 0..2 * MOST {
            answered.note_valid(request(&number.to_string(), 1));
        }
        let answers = answered.answers();
        assert_eq!((answers.by_request.len(), answers.order.len(), answers.size), (MOST, MOST, 0));
    }
}
