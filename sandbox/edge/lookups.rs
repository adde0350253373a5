//! The calls about what has no state: data sources, functions, ephemeral resources, lists. Actions have their own file.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use isthmus_cty::Value;
use tonic::Status;

use super::values::{client_of, decode, diagnostic_messages, encode, encode_as, identity_of, meta_text};
use super::{Answered, Edge, message};
use crate::calls::CallRecord;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::provider::Provider;
use crate::resources::{Answer, NoteList};
use crate::switches::Deferrable;
use crate::token::Fault;
use crate::{object, token};

impl Edge {
    pub(crate) fn validate_data_source(
        &self,
        call: &str,
        type_name: &str,
        config: Option<&message::DynamicValue>,
    ) -> Answered<Vec<message::Diagnostic>> {
        let data_source = match self.provider.data_source(type_name) {
            Ok(data_source) => data_source,
            Err(diagnostic) => return Ok(diagnostic_messages(diagnostic.into())),
        };
        let config = decode(config, &data_source.kind)?;
        self.provider.record(&CallRecord {
            type_name: Some(type_name.to_owned()),
            config_known: Some(config.is_wholly_known()),
            ..CallRecord::of(call)
        });
        let object = object::Object::from_value(&config).unwrap_or_default();
        Ok(diagnostic_messages(crate::resources::NoteLookup::validate(&object)))
    }

    pub(crate) async fn read_data(
        &self,
        request: message::read_data_source::Request,
    ) -> Answered<message::read_data_source::Response> {
        use message::read_data_source::Response;
        self.blocking(move |provider, cancelled, runtime| {
            let data_source = match provider.data_source(&request.type_name) {
                Ok(data_source) => data_source,
                Err(diagnostic) => {
                    let diagnostics = diagnostic_messages(diagnostic.into());
                    return Ok(Response { diagnostics, ..Response::default() });
                }
            };
            let config = decode(request.config.as_ref(), &data_source.kind)?;
            provider.record(&CallRecord {
                type_name: Some(request.type_name.clone()),
                config_known: Some(config.is_wholly_known()),
                deferral_allowed: Some(client_of(request.client_capabilities).deferral),
                provider_meta: meta_text(provider, request.provider_meta.as_ref())?,
                ..CallRecord::of("ReadDataSource")
            });
            if let Some(reason) = provider.deferral(Deferrable::Data) {
                let deferred = Some(message::Deferred { reason });
                return Ok(Response { state: request.config, deferred, ..Response::default() });
            }
            let call = provider.call(&request.type_name, &data_source.kind, cancelled, runtime);
            let outcome = provider.read_data_source(&call, &config);
            Ok(Response {
                state: encode_as(provider, outcome.state, &data_source.kind)?,
                diagnostics: diagnostic_messages(outcome.diagnostics),
                deferred: None,
            })
        })
        .await
    }

    pub(crate) fn call_function(
        &self,
        request: &message::call_function::Request,
    ) -> Answered<message::call_function::Response> {
        use message::call_function::Response;
        let record = CallRecord::of("CallFunction");
        self.provider.record(&CallRecord { type_name: Some(request.name.clone()), ..record });
        let refused = |text: String, argument| Response {
            error: Some(message::FunctionError { text, function_argument: argument }),
            result: None,
        };
        let found = self.provider.functions().iter().find(|function| function.name == request.name);
        let Some(function) = found else {
            return Ok(refused(format!("the sandbox has no function {:?}", request.name), None));
        };
        if !function.takes(request.arguments.len()) {
            return Ok(refused(
                format!("{} does not take {} arguments", function.name, request.arguments.len()),
                None,
            ));
        }
        let parameters = (0..).map_while(|position| function.parameter(position));
        let arguments = request.arguments.iter().zip(parameters);
        let arguments = arguments.map(|(argument, parameter)| decode(Some(argument), &parameter.kind));
        match (function.call)(&arguments.collect::<Answered<Vec<_>>>()?) {
            Ok(result) => {
                let result = encode_as(&self.provider, Answer::State(result), &function.returns)?;
                Ok(Response { result, error: None })
            }
            Err(error) => Ok(refused(error.text, error.argument)),
        }
    }

    pub(crate) fn validate_ephemeral(
        &self,
        request: &message::validate_ephemeral_resource_config::Request,
    ) -> Answered<message::validate_ephemeral_resource_config::Response> {
        let config = decode(request.config.as_ref(), &self.provider.token().kind)?;
        self.provider.record(&CallRecord {
            type_name: Some(request.type_name.clone()),
            config_known: Some(config.is_wholly_known()),
            ..CallRecord::of("ValidateEphemeralResourceConfig")
        });
        let diagnostics = match known_token(&request.type_name) {
            Ok(()) => token::validate(&object::Object::from_value(&config).unwrap_or_default()),
            Err(diagnostic) => diagnostic.into(),
        };
        let diagnostics = diagnostic_messages(diagnostics);
        Ok(message::validate_ephemeral_resource_config::Response { diagnostics })
    }

    pub(crate) fn open(
        &self,
        request: &message::open_ephemeral_resource::Request,
    ) -> Answered<message::open_ephemeral_resource::Response> {
        use message::open_ephemeral_resource::Response;
        let token = self.provider.token();
        let config = decode(request.config.as_ref(), &token.kind)?;
        self.provider.record(&CallRecord {
            type_name: Some(request.type_name.clone()),
            config_known: Some(config.is_wholly_known()),
            ..CallRecord::of("OpenEphemeralResource")
        });
        let config = object::Object::from_value(&config).unwrap_or_default();
        let fault = Fault::of(&config);
        if fault == Some(Fault::Deferred) {
            let deferred = message::Deferred { reason: message::deferred::Reason::AbsentPrereq.into() };
            return Ok(Response { deferred: Some(deferred), ..Response::default() });
        }
        let opened = known_token(&request.type_name).and_then(|()| self.provider.tokens().open(config));
        match opened {
            Ok((mut object, held)) => Ok(Response {
                result: {
                    if fault == Some(Fault::Unknown) {
                        object.set("value", Value::Unknown(None));
                    }
                    encode_as(&self.provider, Answer::State(object.into_value()), &token.kind)?
                },
                renew_at: held.renew_within.map(from_now),
                private: Some(held.private),
                ..Response::default()
            }),
            Err(diagnostic) => {
                Ok(Response { diagnostics: diagnostic_messages(diagnostic.into()), ..Response::default() })
            }
        }
    }

    pub(crate) fn renew(
        &self,
        request: &message::renew_ephemeral_resource::Request,
    ) -> message::renew_ephemeral_resource::Response {
        use message::renew_ephemeral_resource::Response;
        let private = request.private.clone().unwrap_or_default();
        self.provider.record(&CallRecord {
            type_name: Some(request.type_name.clone()),
            private: Some(String::from_utf8_lossy(&private).into_owned()),
            ..CallRecord::of("RenewEphemeralResource")
        });
        match known_token(&request.type_name).and_then(|()| self.provider.tokens().renew(&private)) {
            Ok(held) => Response {
                renew_at: held.renew_within.map(from_now),
                private: Some(held.private),
                diagnostics: Vec::new(),
            },
            Err(diagnostic) => {
                Response { diagnostics: diagnostic_messages(diagnostic.into()), ..Response::default() }
            }
        }
    }

    pub(crate) fn close(
        &self,
        request: &message::close_ephemeral_resource::Request,
    ) -> message::close_ephemeral_resource::Response {
        let private = request.private.clone().unwrap_or_default();
        self.provider.record(&CallRecord {
            type_name: Some(request.type_name.clone()),
            private: Some(String::from_utf8_lossy(&private).into_owned()),
            ..CallRecord::of("CloseEphemeralResource")
        });
        let closed = known_token(&request.type_name).and_then(|()| self.provider.tokens().close(&private));
        let diagnostics = closed.err().map(Diagnostics::from).unwrap_or_default();
        message::close_ephemeral_resource::Response { diagnostics: diagnostic_messages(diagnostics) }
    }

    pub(crate) fn validate_list(
        &self,
        request: &message::validate_list_resource_config::Request,
    ) -> Answered<message::validate_list_resource_config::Response> {
        let config = decode(request.config.as_ref(), &self.provider.search().kind)?;
        self.provider.record(&CallRecord {
            type_name: Some(request.type_name.clone()),
            config_known: Some(config.is_wholly_known()),
            ..CallRecord::of("ValidateListResourceConfig")
        });
        let config = object::Object::from_value(&config).unwrap_or_default();
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
            let config = decode(request.config.as_ref(), &provider.search().kind)?;
            let config = object::Object::from_value(&config).unwrap_or_default();
            let limit = usize::try_from(request.limit).ok().filter(|limit| *limit > 0);
            match NoteList::read(call, &config, limit.unwrap_or(usize::MAX)) {
                Err(diagnostic) => Ok(vec![trouble(diagnostic)]),
                Ok(notes) => notes
                    .into_iter()
                    .map(|note| {
                        let display_name = note.text("title").unwrap_or_default().to_owned();
                        let state = note.into_value();
                        Ok(Event {
                            identity: identity_of(provider, entry, &state)?,
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
        let config = decode(listing.as_ref(), &self.provider.search().kind)?;
        let mode = object::Object::from_value(&config).unwrap_or_default();
        let mode = mode.text("mode").unwrap_or_default();
        let events = misbehaving(mode, events);
        Ok(if mode == "endless" {
            Box::new(Endless { events, provider: Arc::clone(&self.provider) })
        } else {
            events
        })
    }
}

/// A list that only the client ends, which is recorded as the call `ListResource ended`.
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

/// A list as it was asked for: with more events, with other events, or without an end.
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

/// An event of a list that says only what went wrong.
fn trouble(diagnostic: Diagnostic) -> message::list_resource::Event {
    let diagnostic = diagnostic_messages(diagnostic.into());
    message::list_resource::Event { diagnostic, ..Default::default() }
}

fn known_token(type_name: &str) -> Result<(), Diagnostic> {
    if type_name == token::TYPE_NAME {
        return Ok(());
    }
    let detail = format!("The sandbox has no ephemeral resource {type_name:?}.");
    Err(Diagnostic::error("Ephemeral Resource Type Not Found", detail))
}

/// The time so long from now.
fn from_now(duration: Duration) -> prost_types::Timestamp {
    prost_types::Timestamp::from(SystemTime::now() + duration)
}
