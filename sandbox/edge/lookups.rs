//! RPCs of data sources.

use super::message;
use super::provider::Edge;
use super::values::{Answered, client_of, decode, diagnostic_messages, encode_as, meta_text};
use crate::calls::CallRecord;
use crate::object::Object;
use crate::protocol::Deferrable;
use crate::resources::note::NoteLookup;

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
        let object = Object::from_value(&config).unwrap_or_default();
        Ok(diagnostic_messages(NoteLookup::validate(&object)))
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
}
