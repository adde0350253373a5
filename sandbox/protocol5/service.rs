//! The service: calls with names of protocol 5, and those of both protocols.

use isthmus_proto::tfplugin5::provider_server::Provider;

use super::{Edge, message};
use crate::service::service;

service! {
    get_schema(get_provider_schema) => |edge, _request| edge.schema("GetSchema");
    prepare_provider_config(prepare_provider_config) => |edge, request| {
        let diagnostics = edge.validate_provider("PrepareProviderConfig", request.config.as_ref())?;
        message::prepare_provider_config::Response { prepared_config: request.config, diagnostics }
    };
    configure(configure) => |edge, request| {
        let client = request.client_capabilities;
        let diagnostics = edge.configure_with("Configure", request.config.as_ref(), client).await?;
        message::configure::Response { diagnostics }
    };
    validate_resource_type_config(validate_resource_type_config) => |edge, request| {
        let message::validate_resource_type_config::Request { type_name, config, client_capabilities } = request;
        let name = "ValidateResourceTypeConfig";
        let diagnostics = edge.validate_resource(name, type_name, config, client_capabilities).await?;
        message::validate_resource_type_config::Response { diagnostics }
    };
    validate_data_source_config(validate_data_source_config) => |edge, request| {
        let name = "ValidateDataSourceConfig";
        let diagnostics = edge.validate_data_source(name, &request.type_name, request.config.as_ref())?;
        message::validate_data_source_config::Response { diagnostics }
    };
    stop(stop) => |edge, _request| message::stop::Response { error: edge.stop_calls("Stop").await };
}
