//! Makes the calls of a session again, and compares them with those that were recorded.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::uri::PathAndQuery;
use isthmus_cty::json::Json;
use isthmus_grpc::{Channel, Encoded};
use isthmus_provider::plugin::ProtocolVersion;
use prost::Message as _;

use super::Recording;
use super::comparison::{Bound, Difference, lines};
use super::format::{WITHHELD, object};
use super::placeholders::without_placeholder;
use super::reader::read_message;
use super::recorded::{RecordedCall, RecordedSession, is_about_process};
use super::scripted::{Script, only_confirms};
use super::session::SERVICE;
use crate::walk::{METHODS, Subject, rpc_of};
use isthmus_context::LARGEST_MESSAGE;
use isthmus_translate::meta::META_KEY;

/// In a line about private data of a provider.
const PRIVATE_LINE: &str = "_private.(private): ";

/// Makes the calls of a session.
#[derive(Debug)]
pub struct Player<'a> {
    session: &'a RecordedSession,
    channel: Channel,
    recording: Arc<Recording>,
    script: Option<Script>,
    is_other: bool,
    /// Of all of its calls.
    bound: Mutex<Bound>,
}

impl<'a> Player<'a> {
    /// A player of a session's calls, which are recorded again; `script`: with the recorded responses of the provider.
    pub fn new(
        session: &'a RecordedSession,
        channel: Channel,
        recording: Arc<Recording>,
        script: Option<Script>,
    ) -> Self {
        let is_other = script.is_none();
        Self { session, channel, recording, script, is_other, bound: Mutex::default() }
    }

    /// Makes a call again. Returns whether it could be made.
    pub async fn play(&self, call: &RecordedCall, differences: &mut Vec<Difference>) -> bool {
        let path = format!("/{SERVICE}/{}", call.method);
        let Some((types, target)) =
            METHODS.get(&path).zip(PathAndQuery::from_maybe_shared(path.clone()).ok())
        else {
            return false;
        };
        let mut request = call.request.clone();
        if self.is_other {
            without_private(&mut request);
        }
        let Some(message) = read_message(&types.request, &request, Subject::Engine) else {
            return false;
        };
        let children = self.session.children(call.sequence);
        // No provider can answer with what was withheld.
        let is_stream = |call: &RecordedCall| matches!(call.method.as_str(), "InvokeAction" | "ListResource");
        let has_answer =
            |call: &RecordedCall| !is_stream(call) && !call.outcome.as_ref().is_ok_and(is_withheld);
        if self.script.is_some() && !children.iter().all(|call| has_answer(call)) {
            return false;
        }
        if let Some(script) = &self.script {
            script.play(&children);
        }
        self.recording.take();
        let mut client = tonic::client::Grpc::new(self.channel.clone())
            .max_decoding_message_size(LARGEST_MESSAGE)
            .max_encoding_message_size(LARGEST_MESSAGE);
        let request = tonic::Request::new(Bytes::from(message.encode_to_vec()));
        // How it ends is recorded.
        drop(client.unary(request, target, Encoded).await);
        let lines: Vec<_> = self.recording.take().iter().filter_map(RecordedCall::read).collect();
        let (engine, provider): (Vec<_>, Vec<_>) = lines.into_iter().partition(RecordedCall::is_engines);
        let Some(again) = engine.first() else { return false };
        let provider: Vec<_> = provider.into_iter().filter(|call| !is_about_process(&call.method)).collect();
        self.compare(call, again, &children, provider, differences);
        true
    }

    fn compare(
        &self,
        call: &RecordedCall,
        again: &RecordedCall,
        recorded: &[Arc<RecordedCall>],
        mut provider: Vec<RecordedCall>,
        differences: &mut Vec<Difference>,
    ) {
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let mut add = |part: String, lines: Vec<String>| {
            if !lines.is_empty() {
                let (method, subject) = (call.method.clone(), call.subject());
                differences.push(Difference {
                    session: self.session.id.clone(),
                    sequence: call.sequence,
                    method,
                    subject,
                    part,
                    lines,
                });
            }
        };
        add("response".to_owned(), outcomes(call, again, &mut bound));
        for call in recorded {
            let method = common_name(&call.method);
            match provider.iter().position(|again| common_name(&again.method) == method) {
                None if self.is_elsewhere(call, |other| other.sequence < call.sequence) => {}
                None => add(method.to_owned(), vec!["- this call of the provider".to_owned()]),
                Some(position) => {
                    let again = provider.remove(position);
                    let mut requests = lines(&call.request, &again.request, &mut bound);
                    // That of a recording is the same.
                    let mut responses =
                        if self.is_other { outcomes(call, &again, &mut bound) } else { Vec::new() };
                    if self.is_other {
                        // Its private data is its own.
                        [&mut requests, &mut responses]
                            .into_iter()
                            .for_each(|lines| lines.retain(|line| !line.contains(PRIVATE_LINE)));
                    }
                    add(format!("{method} request"), requests);
                    add(format!("{method} response"), responses);
                }
            }
        }
        // Equal validations are made once, and which call makes them depends on which is the first.
        let is_new =
            |again: &RecordedCall| !only_confirms(&again.method) && !self.is_elsewhere(again, |_| true);
        for again in provider.into_iter().filter(is_new) {
            add(common_name(&again.method).to_owned(), vec!["+ this call of the provider".to_owned()]);
        }
    }

    /// Whether the session has another call of the provider that is equal to this one.
    fn is_elsewhere(&self, call: &RecordedCall, is_other: impl Fn(&RecordedCall) -> bool) -> bool {
        let mut others = self.session.calls.iter().filter(|other| is_other(other));
        others.any(|other| other.method == call.method && other.request == call.request)
    }
}

/// Whether anything of a message was withheld.
fn is_withheld(json: &Json) -> bool {
    match json {
        Json::Object(members) => members.iter().any(|(name, value)| name == WITHHELD || is_withheld(value)),
        Json::Array(elements) => elements.iter().any(is_withheld),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

/// A method's name in protocol 6: another version of a provider may speak another protocol.
fn common_name(method: &str) -> &str {
    rpc_of(method).map_or(method, |rpc| rpc.name(ProtocolVersion::V6))
}

fn outcomes(recorded: &RecordedCall, replayed: &RecordedCall, bound: &mut Bound) -> Vec<String> {
    let outcome = |call: &RecordedCall| match &call.outcome {
        Ok(response) => response.clone(),
        Err(status) => object([("status", status.clone())]),
    };
    lines(&outcome(recorded), &outcome(replayed), bound)
}

/// Removes placeholders of private data, which another provider does not take.
fn without_private(json: &mut Json) {
    match json {
        Json::Object(members) => {
            for (name, value) in members.iter_mut() {
                if let (META_KEY, Json::String(text)) = (name.as_str(), &mut *value)
                    && let Ok(serde_json::Value::Object(mut meta)) = serde_json::from_str(text)
                {
                    let private = meta.remove("private_state");
                    let private = private.as_ref().and_then(serde_json::Value::as_str);
                    let private = private.and_then(|text| BASE64.decode(text).ok()).unwrap_or_default();
                    let kept = without_placeholder(&private);
                    if !kept.is_empty() {
                        meta.insert("private_state".to_owned(), BASE64.encode(kept).into());
                    }
                    *text = serde_json::Value::Object(meta).to_string();
                } else {
                    without_private(value);
                }
            }
        }
        Json::Array(elements) => elements.iter_mut().for_each(without_private),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}
