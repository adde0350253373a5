//! Protocol 5: the older names of some calls, a provider configuration that comes back "prepared", and no nested
//! attributes.

#[path = "edge.rs"]
mod edge;

use isthmus_proto::tfplugin5 as message;
use isthmus_proto::tfplugin5::provider_server::Provider;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status};

pub(crate) use edge::Edge;

use crate::protocol::{Feature, Minor};
use crate::schema::{Attribute, Presence};
use crate::wire;

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl Provider for Edge {
    async fn get_schema(
        &self,
        request: Request<message::get_provider_schema::Request>,
    ) -> Answer<message::get_provider_schema::Response> {
        drop(request);
        Ok(Response::new(self.schema("GetSchema")))
    }

    async fn prepare_provider_config(
        &self,
        request: Request<message::prepare_provider_config::Request>,
    ) -> Answer<message::prepare_provider_config::Response> {
        let request = request.into_inner();
        let diagnostics = self.validate_provider("PrepareProviderConfig", request.config.as_ref())?;
        let prepared_config = request.config;
        Ok(Response::new(message::prepare_provider_config::Response { prepared_config, diagnostics }))
    }

    async fn configure(
        &self,
        request: Request<message::configure::Request>,
    ) -> Answer<message::configure::Response> {
        let request = request.into_inner();
        let client = request.client_capabilities;
        let diagnostics = self.configure_with("Configure", request.config.as_ref(), client).await?;
        Ok(Response::new(message::configure::Response { diagnostics }))
    }

    async fn validate_resource_type_config(
        &self,
        request: Request<message::validate_resource_type_config::Request>,
    ) -> Answer<message::validate_resource_type_config::Response> {
        let message::validate_resource_type_config::Request { type_name, config, client_capabilities } =
            request.into_inner();
        let name = "ValidateResourceTypeConfig";
        let diagnostics = self.validate_resource(name, type_name, config, client_capabilities).await?;
        Ok(Response::new(message::validate_resource_type_config::Response { diagnostics }))
    }

    async fn validate_data_source_config(
        &self,
        request: Request<message::validate_data_source_config::Request>,
    ) -> Answer<message::validate_data_source_config::Response> {
        let request = request.into_inner();
        let name = "ValidateDataSourceConfig";
        let diagnostics = self.validate_data_source(name, &request.type_name, request.config.as_ref())?;
        Ok(Response::new(message::validate_data_source_config::Response { diagnostics }))
    }

    async fn stop(&self, request: Request<message::stop::Request>) -> Answer<message::stop::Response> {
        drop(request);
        let error = self.stop_calls("Stop").await;
        Ok(Response::new(message::stop::Response { error }))
    }

    async fn get_metadata(
        &self,
        request: Request<message::get_metadata::Request>,
    ) -> Answer<message::get_metadata::Response> {
        drop(request);
        Ok(Response::new(self.metadata("GetMetadata")))
    }

    async fn upgrade_resource_state(
        &self,
        request: Request<message::upgrade_resource_state::Request>,
    ) -> Answer<message::upgrade_resource_state::Response> {
        self.upgrade(request.into_inner()).await.map(Response::new)
    }

    async fn get_resource_identity_schemas(
        &self,
        request: Request<message::get_resource_identity_schemas::Request>,
    ) -> Answer<message::get_resource_identity_schemas::Response> {
        drop(request);
        Ok(Response::new(self.identity_schemas("GetResourceIdentitySchemas")))
    }

    async fn upgrade_resource_identity(
        &self,
        request: Request<message::upgrade_resource_identity::Request>,
    ) -> Answer<message::upgrade_resource_identity::Response> {
        self.upgrade_identity(request.into_inner()).await.map(Response::new)
    }

    async fn read_resource(
        &self,
        request: Request<message::read_resource::Request>,
    ) -> Answer<message::read_resource::Response> {
        self.read(request.into_inner()).await.map(Response::new)
    }

    async fn plan_resource_change(
        &self,
        request: Request<message::plan_resource_change::Request>,
    ) -> Answer<message::plan_resource_change::Response> {
        self.plan(request.into_inner()).await.map(Response::new)
    }

    async fn apply_resource_change(
        &self,
        request: Request<message::apply_resource_change::Request>,
    ) -> Answer<message::apply_resource_change::Response> {
        self.apply(request.into_inner()).await.map(Response::new)
    }

    async fn import_resource_state(
        &self,
        request: Request<message::import_resource_state::Request>,
    ) -> Answer<message::import_resource_state::Response> {
        self.import(request.into_inner()).await.map(Response::new)
    }

    async fn move_resource_state(
        &self,
        request: Request<message::move_resource_state::Request>,
    ) -> Answer<message::move_resource_state::Response> {
        self.move_state(request.into_inner()).await.map(Response::new)
    }

    async fn read_data_source(
        &self,
        request: Request<message::read_data_source::Request>,
    ) -> Answer<message::read_data_source::Response> {
        self.read_data(request.into_inner()).await.map(Response::new)
    }

    async fn get_functions(
        &self,
        request: Request<message::get_functions::Request>,
    ) -> Answer<message::get_functions::Response> {
        drop(request);
        Ok(Response::new(self.functions("GetFunctions")))
    }

    async fn call_function(
        &self,
        request: Request<message::call_function::Request>,
    ) -> Answer<message::call_function::Response> {
        self.call_function(request.get_ref()).map(Response::new)
    }

    async fn validate_ephemeral_resource_config(
        &self,
        request: Request<message::validate_ephemeral_resource_config::Request>,
    ) -> Answer<message::validate_ephemeral_resource_config::Response> {
        self.validate_ephemeral(request.get_ref()).map(Response::new)
    }

    async fn open_ephemeral_resource(
        &self,
        request: Request<message::open_ephemeral_resource::Request>,
    ) -> Answer<message::open_ephemeral_resource::Response> {
        self.open(request.get_ref()).map(Response::new)
    }

    async fn renew_ephemeral_resource(
        &self,
        request: Request<message::renew_ephemeral_resource::Request>,
    ) -> Answer<message::renew_ephemeral_resource::Response> {
        Ok(Response::new(self.renew(request.get_ref())))
    }

    async fn close_ephemeral_resource(
        &self,
        request: Request<message::close_ephemeral_resource::Request>,
    ) -> Answer<message::close_ephemeral_resource::Response> {
        Ok(Response::new(self.close(request.get_ref())))
    }

    async fn validate_list_resource_config(
        &self,
        request: Request<message::validate_list_resource_config::Request>,
    ) -> Answer<message::validate_list_resource_config::Response> {
        self.validate_list(request.get_ref()).map(Response::new)
    }

    async fn list_resource(
        &self,
        request: Request<message::list_resource::Request>,
    ) -> Answer<BoxStream<message::list_resource::Event>> {
        Ok(Response::new(Box::pin(tokio_stream::iter(self.list(request.into_inner()).await?))))
    }

    async fn validate_action_config(
        &self,
        request: Request<message::validate_action_config::Request>,
    ) -> Answer<message::validate_action_config::Response> {
        self.validate_action(request.get_ref()).map(Response::new)
    }

    async fn plan_action(
        &self,
        request: Request<message::plan_action::Request>,
    ) -> Answer<message::plan_action::Response> {
        Self::plan_action(self, request.get_ref()).map(Response::new)
    }

    async fn invoke_action(
        &self,
        request: Request<message::invoke_action::Request>,
    ) -> Answer<BoxStream<message::invoke_action::Event>> {
        let events = Self::invoke_action(self, request.get_ref())?;
        Ok(Response::new(Box::pin(events)))
    }
}

/// Schemas that are faulty in a way of this protocol alone.
fn own_broken_schemas() -> Vec<(&'static str, message::schema::Block)> {
    Vec::new()
}

/// Protocol 5 has no blocks that only the provider fills.
const fn mark_computed(_: &mut message::schema::Block) {}

const fn takes_computed_blocks(_: &message::ClientCapabilities) -> bool {
    false
}

/// An attribute as protocol 5 writes it, which knows no nested attributes; resources leave them out for it.
fn attribute_message(attribute: &Attribute, minor: Minor) -> message::schema::Attribute {
    let deprecation = attribute.deprecation.filter(|_| minor.has(Feature::Lists));
    message::schema::Attribute {
        name: attribute.name.to_owned(),
        r#type: wire::type_json(&attribute.implied_type()),
        description: attribute.description.to_owned(),
        required: attribute.presence == Presence::Required,
        optional: matches!(attribute.presence, Presence::Optional | Presence::OptionalComputed),
        computed: attribute.is_computed(),
        sensitive: attribute.sensitive,
        description_kind: message::StringKind::Plain.into(),
        #[expect(deprecated, reason = "the contract's word for the field that the message replaces")]
        deprecated: attribute.deprecation.is_some(),
        write_only: attribute.write_only,
        deprecation_message: deprecation.unwrap_or_default().to_owned(),
    }
}
