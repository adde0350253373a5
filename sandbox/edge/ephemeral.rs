//! RPCs of ephemeral resources.

use std::time::{Duration, SystemTime};

use isthmus_cty::Value;

use super::message;
use super::provider::Edge;
use super::values::{Answered, decode, diagnostic_messages, encode_as};
use crate::calls::CallRecord;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::object::Object;
use crate::resource::Answer;
use crate::token::{self, Fault};

impl Edge {
    pub(crate) fn validate_ephemeral(
        &self,
        request: &message::validate_ephemeral_resource_config::Request,
    ) -> Answered<message::validate_ephemeral_resource_config::Response> {
        let config = decode(request.config.as_ref(), &self.provider.fixtures().token.kind)?;
        self.provider.record(&CallRecord {
            type_name: Some(request.type_name.clone()),
            config_known: Some(config.is_wholly_known()),
            ..CallRecord::of("ValidateEphemeralResourceConfig")
        });
        let diagnostics = match known_token(&request.type_name) {
            Ok(()) => token::validate(&Object::from_value(&config).unwrap_or_default()),
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
        let token = &self.provider.fixtures().token;
        let config = decode(request.config.as_ref(), &token.kind)?;
        self.provider.record(&CallRecord {
            type_name: Some(request.type_name.clone()),
            config_known: Some(config.is_wholly_known()),
            ..CallRecord::of("OpenEphemeralResource")
        });
        let config = Object::from_value(&config).unwrap_or_default();
        let fault = Fault::of(&config);
        if fault == Some(Fault::Deferred) {
            let deferred = message::Deferred { reason: message::deferred::Reason::AbsentPrereq.into() };
            return Ok(Response { deferred: Some(deferred), ..Response::default() });
        }
        let opened =
            known_token(&request.type_name).and_then(|()| self.provider.fixtures().tokens.open(config));
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
        match known_token(&request.type_name).and_then(|()| self.provider.fixtures().tokens.renew(&private)) {
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
        let closed =
            known_token(&request.type_name).and_then(|()| self.provider.fixtures().tokens.close(&private));
        let diagnostics = closed.err().map(Diagnostics::from).unwrap_or_default();
        message::close_ephemeral_resource::Response { diagnostics: diagnostic_messages(diagnostics) }
    }
}

fn known_token(type_name: &str) -> Result<(), Diagnostic> {
    if type_name == token::TYPE_NAME {
        return Ok(());
    }
    let detail = format!("The sandbox has no ephemeral resource {type_name:?}.");
    Err(Diagnostic::error("Ephemeral Resource Type Not Found", detail))
}

fn from_now(duration: Duration) -> prost_types::Timestamp {
    prost_types::Timestamp::from(SystemTime::now() + duration)
}
