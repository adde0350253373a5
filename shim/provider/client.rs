//! Calls of a provider's RPC methods, for both protocols.

use bytes::Bytes;
use http::uri::PathAndQuery;
use isthmus_grpc::{Channel, Encoded};
use tonic_prost::ProstCodec;

use crate::plugin::{LARGEST_MESSAGE, ProtocolVersion, STREAM_SETTINGS};

macro_rules! methods {
    ($($six:ident, $five:ident;)*) => {
        /// An RPC method, by its name in protocol 6.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the names are those of the protocol, which documents them")]
        pub enum Rpc {
            $($six,)*
        }

        impl Rpc {
            /// All methods. The position of each is its discriminant.
            pub const ALL: &[Self] = &[$(Self::$six,)*];

            /// The full method name of gRPC.
            pub const fn path(self, version: ProtocolVersion) -> &'static str {
                match (version, self) {
                    $((ProtocolVersion::V5, Self::$six) => concat!("/tfplugin5.Provider/", stringify!($five)),
                    (ProtocolVersion::V6, Self::$six) => concat!("/tfplugin6.Provider/", stringify!($six)),)*
                }
            }
        }
    };
}

// Protocol 6 alone has methods for state stores: backends of Terraform, which isthmus never calls.
methods! {
    ApplyResourceChange, ApplyResourceChange;
    CallFunction, CallFunction;
    CloseEphemeralResource, CloseEphemeralResource;
    ConfigureProvider, Configure;
    GenerateResourceConfig, GenerateResourceConfig;
    GetProviderSchema, GetSchema;
    GetResourceIdentitySchemas, GetResourceIdentitySchemas;
    ImportResourceState, ImportResourceState;
    InvokeAction, InvokeAction;
    ListResource, ListResource;
    MoveResourceState, MoveResourceState;
    OpenEphemeralResource, OpenEphemeralResource;
    PlanAction, PlanAction;
    PlanResourceChange, PlanResourceChange;
    ReadDataSource, ReadDataSource;
    ReadResource, ReadResource;
    RenewEphemeralResource, RenewEphemeralResource;
    StopProvider, Stop;
    UpgradeResourceIdentity, UpgradeResourceIdentity;
    UpgradeResourceState, UpgradeResourceState;
    ValidateActionConfig, ValidateActionConfig;
    ValidateDataResourceConfig, ValidateDataSourceConfig;
    ValidateEphemeralResourceConfig, ValidateEphemeralResourceConfig;
    ValidateListResourceConfig, ValidateListResourceConfig;
    ValidateProviderConfig, PrepareProviderConfig;
    ValidateResourceConfig, ValidateResourceTypeConfig;
}

impl Rpc {
    /// The method's name in a protocol.
    pub const fn name(self, version: ProtocolVersion) -> &'static str {
        self.path(version).split_at("/tfplugin5.Provider/".len()).1
    }
}

/// A connection to a provider's service. Clones share it.
#[derive(Clone, Debug)]
pub struct Client {
    channel: Channel,
    version: ProtocolVersion,
}

impl Client {
    /// A client of protocol `version` over `channel`.
    pub fn new(channel: Channel, version: ProtocolVersion) -> Self {
        Self { channel, version }
    }

    /// Its protocol version.
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Makes a call without a deadline: an operation may take hours, and only the user or the
    /// engine can limit it.
    pub async fn call<Request, Response>(&self, rpc: Rpc, request: Request) -> Result<Response, tonic::Status>
    where
        Request: prost::Message,
        Response: prost::Message + Default,
    {
        decoded(self.call_encoded(rpc, request.encode_to_vec().into()).await?)
    }

    /// Makes a call with an encoded request, and returns the encoded response.
    ///
    /// All calls go through this one function: tonic's client, which moves a request from one future to the next, is
    /// compiled once, and its futures stay small.
    pub(crate) async fn call_encoded(&self, rpc: Rpc, request: Bytes) -> Result<Bytes, tonic::Status> {
        let path = PathAndQuery::from_static(rpc.path(self.version));
        Ok(of_channel(self.channel.clone())
            .unary(tonic::Request::new(request), path, Encoded)
            .await?
            .into_inner())
    }

    /// Makes a call with a streamed response, over a connection of its own: an engine may leave a list unread for as long as it likes,
    /// and what the provider has sent of it would take the room of other calls' responses.
    pub async fn stream<Request, Event>(
        &self,
        rpc: Rpc,
        request: Request,
    ) -> Result<tonic::Streaming<Event>, tonic::Status>
    where
        Request: prost::Message + Send + Sync + 'static,
        Event: prost::Message + Default + Send + Sync + 'static,
    {
        let path = PathAndQuery::from_static(rpc.path(self.version));
        let codec = ProstCodec::<Request, Event>::default();
        let mut grpc = of_channel(self.channel.apart(STREAM_SETTINGS));
        Ok(grpc.server_streaming(tonic::Request::new(request), path, codec).await?.into_inner())
    }
}

fn of_channel(channel: Channel) -> tonic::client::Grpc<Channel> {
    tonic::client::Grpc::new(channel)
        .max_decoding_message_size(LARGEST_MESSAGE)
        .max_encoding_message_size(LARGEST_MESSAGE)
}

/// Decodes a response, as tonic's codec does.
pub(crate) fn decoded<Response: prost::Message + Default>(
    response: Bytes,
) -> Result<Response, tonic::Status> {
    Response::decode(response).map_err(|error| tonic::Status::internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    /// The methods of a protocol's service.
    fn methods(package: &str) -> Vec<String> {
        let contracts = prost_types::FileDescriptorSet::decode(isthmus_proto::DESCRIPTOR_SET)
            .expect("they were written so");
        let of_package = contracts.file.iter().filter(|file| file.package() == package);
        let services =
            of_package.flat_map(|file| &file.service).filter(|service| service.name() == "Provider");
        services.flat_map(|service| &service.method).map(|method| method.name().to_owned()).collect()
    }

    #[test]
    fn every_method_is_called_by_a_name_that_its_protocol_has() {
        for (version, package) in [(ProtocolVersion::V5, "tfplugin5"), (ProtocolVersion::V6, "tfplugin6")] {
            let methods = methods(package);
            for rpc in Rpc::ALL {
                assert!(
                    methods.iter().any(|method| method == rpc.name(version)),
                    "{rpc:?} in {package}: {methods:?}"
                );
                assert_eq!(rpc.path(version), format!("/{package}.Provider/{}", rpc.name(version)));
            }
        }
    }

    #[test]
    fn methods_that_protocol_5_calls_otherwise_have_its_names() {
        let renamed = Rpc::ALL.iter().filter_map(|rpc| {
            let [five, six] = [ProtocolVersion::V5, ProtocolVersion::V6].map(|version| rpc.name(version));
            (five != six).then(|| format!("{six} was {five}"))
        });
        assert_eq!(
            renamed.collect::<Vec<_>>(),
            [
                "ConfigureProvider was Configure",
                "GetProviderSchema was GetSchema",
                "StopProvider was Stop",
                "ValidateDataResourceConfig was ValidateDataSourceConfig",
                "ValidateProviderConfig was PrepareProviderConfig",
                "ValidateResourceConfig was ValidateResourceTypeConfig",
            ]
        );
    }
}
