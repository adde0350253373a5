//! Protocol 6: the newer names of some calls, and nested attributes.

#[path = "edge.rs"]
mod edge;

use bytes::Bytes;
use isthmus_proto::tfplugin6 as message;
use isthmus_proto::tfplugin6::provider_server::Provider;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status};

pub(crate) use edge::Edge;

use crate::protocol::{Feature, Minor};
use crate::schema::{Attribute, Presence, Shape};
use crate::wire;

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl Provider for Edge {
    async fn get_provider_schema(
        &self,
        request: Request<message::get_provider_schema::Request>,
    ) -> Answer<message::get_provider_schema::Response> {
        drop(request);
        Ok(Response::new(self.schema("GetProviderSchema")))
    }

    async fn validate_provider_config(
        &self,
        request: Request<message::validate_provider_config::Request>,
    ) -> Answer<message::validate_provider_config::Response> {
        let diagnostics =
            self.validate_provider("ValidateProviderConfig", request.get_ref().config.as_ref())?;
        Ok(Response::new(message::validate_provider_config::Response { diagnostics }))
    }

    async fn configure_provider(
        &self,
        request: Request<message::configure_provider::Request>,
    ) -> Answer<message::configure_provider::Response> {
        let request = request.into_inner();
        let client = request.client_capabilities;
        let diagnostics = self.configure_with("ConfigureProvider", request.config.as_ref(), client).await?;
        Ok(Response::new(message::configure_provider::Response { diagnostics }))
    }

    async fn validate_resource_config(
        &self,
        request: Request<message::validate_resource_config::Request>,
    ) -> Answer<message::validate_resource_config::Response> {
        let message::validate_resource_config::Request { type_name, config, client_capabilities } =
            request.into_inner();
        let name = "ValidateResourceConfig";
        let diagnostics = self.validate_resource(name, type_name, config, client_capabilities).await?;
        Ok(Response::new(message::validate_resource_config::Response { diagnostics }))
    }

    async fn validate_data_resource_config(
        &self,
        request: Request<message::validate_data_resource_config::Request>,
    ) -> Answer<message::validate_data_resource_config::Response> {
        let request = request.into_inner();
        let name = "ValidateDataResourceConfig";
        let diagnostics = self.validate_data_source(name, &request.type_name, request.config.as_ref())?;
        Ok(Response::new(message::validate_data_resource_config::Response { diagnostics }))
    }

    async fn stop_provider(
        &self,
        request: Request<message::stop_provider::Request>,
    ) -> Answer<message::stop_provider::Response> {
        drop(request);
        let error = self.stop_calls("StopProvider").await;
        Ok(Response::new(message::stop_provider::Response { error }))
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

/// Schemas that are faulty in a way of this protocol alone: an attribute with a type and attributes of its own, and one
/// whose attributes nest in a way that there is not.
fn own_broken_schemas() -> Vec<(&'static str, message::schema::Block)> {
    let nested = |nesting| Some(message::schema::Object { nesting, ..Default::default() });
    let block = |kind: &'static [u8], nested_type| {
        let attribute = message::schema::Attribute {
            name: "x".to_owned(),
            optional: true,
            r#type: Bytes::from_static(kind),
            nested_type,
            ..Default::default()
        };
        message::schema::Block { attributes: vec![attribute], ..Default::default() }
    };
    vec![
        ("sandbox_broken_both", block(b"\"string\"", nested(1))),
        ("sandbox_broken_attributes", block(b"", nested(77))),
    ]
}

/// Says that only the provider fills the block.
const fn mark_computed(block: &mut message::schema::Block) {
    block.computed = true;
}

const fn takes_computed_blocks(client: &message::ClientCapabilities) -> bool {
    client.computed_blocks_allowed
}

/// An attribute as protocol 6 writes it: either of a type, or with attributes of its own.
fn attribute_message(attribute: &Attribute, minor: Minor) -> message::schema::Attribute {
    let deprecation = attribute.deprecation.filter(|_| minor.has(Feature::Lists));
    let (kind, nested) = match &attribute.shape {
        Shape::Plain(kind) => (wire::type_json(kind), None),
        Shape::Nested(nesting, attributes) => {
            let attributes = edge::values::attribute_messages(attributes, minor);
            let nesting = nesting.number();
            (Bytes::new(), Some(message::schema::Object { attributes, nesting, ..Default::default() }))
        }
    };
    message::schema::Attribute {
        name: attribute.name.to_owned(),
        r#type: kind,
        nested_type: nested,
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
