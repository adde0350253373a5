//! A client of protocol 5: its messages and own calls.

#[path = "lifecycle.rs"]
mod lifecycle;

use isthmus_cty::Type;
use isthmus_proto::tfplugin5 as message;
use isthmus_proto::tfplugin5::provider_client::ProviderClient;
use isthmus_sandbox::Protocol;
use tonic::transport::Channel;

type Client = ProviderClient<Channel>;

const PROTOCOL: Protocol = Protocol::V5;
const VALIDATE: &str = "ValidateResourceTypeConfig";

fn attribute_type(attribute: &message::schema::Attribute) -> Type {
    Type::from_json(&attribute.r#type).expect("a type")
}

async fn schema(client: &mut Client) -> message::get_provider_schema::Response {
    client.get_schema(message::get_provider_schema::Request {}).await.expect("a schema").into_inner()
}

async fn configure(client: &mut Client, config: message::DynamicValue) -> Vec<message::Diagnostic> {
    let request = message::configure::Request { config: Some(config), ..Default::default() };
    client.configure(request).await.expect("an answer").into_inner().diagnostics
}

async fn validate(
    client: &mut Client,
    type_name: &str,
    config: message::DynamicValue,
) -> Vec<message::Diagnostic> {
    let request = message::validate_resource_type_config::Request {
        type_name: type_name.to_owned(),
        config: Some(config),
        client_capabilities: None,
    };
    client.validate_resource_type_config(request).await.expect("an answer").into_inner().diagnostics
}

async fn stop(client: &mut Client) {
    client.stop(message::stop::Request {}).await.expect("an answer");
}
