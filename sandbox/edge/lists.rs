//! RPCs of list resources.

use std::sync::Arc;

use tonic::Status;

use super::message;
use super::provider::Edge;
use super::values::{Answered, decode, diagnostic_messages, encode, identity_of};
use crate::calls::CallRecord;
use crate::diagnostics::Diagnostic;
use crate::object::Object;
use crate::provider::Provider;
use crate::resource::Answer;
use crate::resources::fixtures::note_list::NoteList;

impl Edge {
    pub(crate) fn validate_list(
        &self,
        request: &message::validate_list_resource_config::Request,
    ) -> Answered<message::validate_list_resource_config::Response> {
        let config = decode(request.config.as_ref(), &self.provider.fixtures().search.kind)?;
        self.provider.record(&CallRecord {
            type_name: Some(request.type_name.clone()),
            config_known: Some(config.is_wholly_known()),
            ..CallRecord::of("ValidateListResourceConfig")
        });
        let config = Object::from_value(&config).unwrap_or_default();
        let diagnostics = diagnostic_messages(NoteList::validate(&config));
        Ok(message::validate_list_resource_config::Response { diagnostics })
    }

    pub(crate) async fn list(
        &self,
        request: message::list_resource::Request,
    ) -> Answered<Box<dyn Iterator<Item = Answered<message::list_resource::Event>> + Send>> {
        use message::list_resource::Event;
        let listing = request.config.clone();
        let listed = self.about_resource(request.type_name, move |provider, entry, call| {
            let record = CallRecord::of("ListResource");
            provider.record(&CallRecord { type_name: Some(call.type_name().to_owned()), ..record });
            let config = decode(request.config.as_ref(), &provider.fixtures().search.kind)?;
            let config = Object::from_value(&config).unwrap_or_default();
            let limit = usize::try_from(request.limit).ok().filter(|limit| *limit > 0);
            match NoteList::read(call, &config, limit.unwrap_or(usize::MAX)) {
                Err(diagnostic) => Ok(vec![trouble(diagnostic)]),
                Ok(notes) => notes
                    .into_iter()
                    .map(|note| {
                        let display_name = note.text("title").unwrap_or_default().to_owned();
                        let state = note.into_value();
                        Ok(Event {
                            identity: identity_of(provider, entry, &state, "ListResource")?,
                            display_name,
                            resource_object: match request.include_resource_object {
                                true => encode(provider, entry, Answer::State(state))?,
                                false => None,
                            },
                            diagnostic: Vec::new(),
                        })
                    })
                    .collect(),
            }
        });
        let events = listed.await?.unwrap_or_else(|diagnostic| vec![trouble(diagnostic)]);
        let config = decode(listing.as_ref(), &self.provider.fixtures().search.kind)?;
        let mode = Object::from_value(&config).unwrap_or_default();
        let mode = mode.text("mode").unwrap_or_default();
        let events = misbehaving(mode, events);
        Ok(if mode == "endless" {
            Box::new(Endless { events, provider: Arc::clone(&self.provider) })
        } else {
            events
        })
    }
}

/// An endless list; when the client cancels it, this is recorded as the call `ListResource ended`.
struct Endless {
    events: Box<dyn Iterator<Item = Answered<message::list_resource::Event>> + Send>,
    provider: Arc<Provider>,
}

impl Iterator for Endless {
    type Item = Answered<message::list_resource::Event>;

    fn next(&mut self) -> Option<Self::Item> {
        self.events.next()
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.provider.record(&CallRecord::of("ListResource ended"));
    }
}

/// A list that misbehaves as configured: additional events, faulty events, or endless.
fn misbehaving(
    mode: &str,
    events: Vec<message::list_resource::Event>,
) -> Box<dyn Iterator<Item = Answered<message::list_resource::Event>> + Send> {
    let warning = |text: &str| diagnostic_messages(Diagnostic::warning(text, "It was asked to warn.").into());
    let good = events.clone().into_iter().map(Ok);
    match mode {
        "warning" => {
            let general = message::list_resource::Event {
                diagnostic: warning("The list may not be complete"),
                ..Default::default()
            };
            let each = events.into_iter().map(move |event| message::list_resource::Event {
                diagnostic: warning(&format!("{} is old", event.display_name)),
                ..event
            });
            Box::new(std::iter::once(general).chain(each).map(Ok))
        }
        "error" => {
            let error = trouble(Diagnostic::error("The list is cut short", "It was asked to fail."));
            Box::new(good.take(1).chain(std::iter::once(Ok(error))))
        }
        "break" => {
            Box::new(good.take(1).chain(std::iter::once(Err(Status::internal("the sandbox broke off")))))
        }
        "anonymous" => {
            let bare = |event| message::list_resource::Event { identity: None, ..event };
            Box::new(events.into_iter().map(bare).map(Ok))
        }
        "endless" => Box::new(events.into_iter().cycle().map(Ok)),
        _ => Box::new(good),
    }
}

/// An event with a diagnostic only.
fn trouble(diagnostic: Diagnostic) -> message::list_resource::Event {
    let diagnostic = diagnostic_messages(diagnostic.into());
    message::list_resource::Event { diagnostic, ..Default::default() }
}
