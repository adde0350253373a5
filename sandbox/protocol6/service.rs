//! The service: calls with names of protocol 6, and those of both protocols.

use isthmus_proto::tfplugin6::provider_server::Provider;

use super::{Edge, message};
use crate::service::service;

service! {
    get_provider_schema(get_provider_schema) => |edge, _request| edge.schema("GetProviderSchema");
    validate_provider_config(validate_provider_config) => |edge, request| {
        let diagnostics = edge.validate_provider("ValidateProviderConfig", request.config.as_ref())?;
        message::validate_provider_config::Response { diagnostics }
    };
    configure_provider(configure_provider) => |edge, request| {
        let client = request.client_capabilities;
        let diagnostics = edge.configure_with("ConfigureProvider", request.config.as_ref(), client).await?;
        message::configure_provider::Response { diagnostics }
    };
    validate_resource_config(validate_resource_config) => |edge, request| {
        let message::validate_resource_config::Request { type_name, config, client_capabilities } = request;
        let name = "ValidateResourceConfig";
        let diagnostics = edge.validate_resource(name, type_name, config, client_capabilities).await?;
        message::validate_resource_config::Response { diagnostics }
    };
    validate_data_resource_config(validate_data_resource_config) => |edge, request| {
        let name = "ValidateDataResourceConfig";
        let diagnostics = edge.validate_data_source(name, &request.type_name, request.config.as_ref())?;
        message::validate_data_resource_config::Response { diagnostics }
    };
    stop_provider(stop_provider) => |edge, _request| message::stop_provider::Response { error: edge.stop_calls("StopProvider").await };
}
