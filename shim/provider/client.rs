//! Calls of a provider's methods, for both protocols.

use std::marker::PhantomData;

use bytes::{Buf as _, Bytes};
use http::uri::PathAndQuery;
use tonic::codec::{Codec, DecodeBuf, Decoder};
use tonic::codegen::StdError;
use tonic::transport::Channel;
use tonic_prost::{ProstCodec, ProstEncoder};

use crate::plugin::{LARGEST_MESSAGE, ProtocolVersion};

/// A method of a provider's service. Protocol 5 calls some of them otherwise; protocol 6's names are used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the protocol, which documents them")]
pub enum Rpc {
    ApplyResourceChange,
    CallFunction,
    CloseEphemeralResource,
    ConfigureProvider,
    GetProviderSchema,
    GetResourceIdentitySchemas,
    ImportResourceState,
    InvokeAction,
    ListResource,
    MoveResourceState,
    OpenEphemeralResource,
    PlanAction,
    PlanResourceChange,
    ReadDataSource,
    ReadResource,
    RenewEphemeralResource,
    StopProvider,
    UpgradeResourceIdentity,
    UpgradeResourceState,
    ValidateActionConfig,
    ValidateDataResourceConfig,
    ValidateEphemeralResourceConfig,
    ValidateListResourceConfig,
    ValidateProviderConfig,
    ValidateResourceConfig,
}

impl Rpc {
    /// The method's name in the given protocol.
    pub const fn name(self, version: ProtocolVersion) -> &'static str {
        self.path(version).split_at("/tfplugin5.Provider/".len()).1
    }

    /// The method's name with its service, as gRPC has it.
    pub const fn path(self, version: ProtocolVersion) -> &'static str {
        match (version, self) {
            (ProtocolVersion::V5, Self::ApplyResourceChange) => "/tfplugin5.Provider/ApplyResourceChange",
            (ProtocolVersion::V5, Self::CallFunction) => "/tfplugin5.Provider/CallFunction",
            (ProtocolVersion::V5, Self::CloseEphemeralResource) => {
                "/tfplugin5.Provider/CloseEphemeralResource"
            }
            (ProtocolVersion::V5, Self::ConfigureProvider) => "/tfplugin5.Provider/Configure",
            (ProtocolVersion::V5, Self::GetProviderSchema) => "/tfplugin5.Provider/GetSchema",
            (ProtocolVersion::V5, Self::GetResourceIdentitySchemas) => {
                "/tfplugin5.Provider/GetResourceIdentitySchemas"
            }
            (ProtocolVersion::V5, Self::ImportResourceState) => "/tfplugin5.Provider/ImportResourceState",
            (ProtocolVersion::V5, Self::InvokeAction) => "/tfplugin5.Provider/InvokeAction",
            (ProtocolVersion::V5, Self::ListResource) => "/tfplugin5.Provider/ListResource",
            (ProtocolVersion::V5, Self::MoveResourceState) => "/tfplugin5.Provider/MoveResourceState",
            (ProtocolVersion::V5, Self::OpenEphemeralResource) => "/tfplugin5.Provider/OpenEphemeralResource",
            (ProtocolVersion::V5, Self::PlanAction) => "/tfplugin5.Provider/PlanAction",
            (ProtocolVersion::V5, Self::PlanResourceChange) => "/tfplugin5.Provider/PlanResourceChange",
            (ProtocolVersion::V5, Self::ReadDataSource) => "/tfplugin5.Provider/ReadDataSource",
            (ProtocolVersion::V5, Self::ReadResource) => "/tfplugin5.Provider/ReadResource",
            (ProtocolVersion::V5, Self::RenewEphemeralResource) => {
                "/tfplugin5.Provider/RenewEphemeralResource"
            }
            (ProtocolVersion::V5, Self::StopProvider) => "/tfplugin5.Provider/Stop",
            (ProtocolVersion::V5, Self::UpgradeResourceIdentity) => {
                "/tfplugin5.Provider/UpgradeResourceIdentity"
            }
            (ProtocolVersion::V5, Self::UpgradeResourceState) => "/tfplugin5.Provider/UpgradeResourceState",
            (ProtocolVersion::V5, Self::ValidateActionConfig) => "/tfplugin5.Provider/ValidateActionConfig",
            (ProtocolVersion::V5, Self::ValidateDataResourceConfig) => {
                "/tfplugin5.Provider/ValidateDataSourceConfig"
            }
            (ProtocolVersion::V5, Self::ValidateEphemeralResourceConfig) => {
                "/tfplugin5.Provider/ValidateEphemeralResourceConfig"
            }
            (ProtocolVersion::V5, Self::ValidateListResourceConfig) => {
                "/tfplugin5.Provider/ValidateListResourceConfig"
            }
            (ProtocolVersion::V5, Self::ValidateProviderConfig) => {
                "/tfplugin5.Provider/PrepareProviderConfig"
            }
            (ProtocolVersion::V5, Self::ValidateResourceConfig) => {
                "/tfplugin5.Provider/ValidateResourceTypeConfig"
            }
            (ProtocolVersion::V6, Self::ApplyResourceChange) => "/tfplugin6.Provider/ApplyResourceChange",
            (ProtocolVersion::V6, Self::CallFunction) => "/tfplugin6.Provider/CallFunction",
            (ProtocolVersion::V6, Self::CloseEphemeralResource) => {
                "/tfplugin6.Provider/CloseEphemeralResource"
            }
            (ProtocolVersion::V6, Self::ConfigureProvider) => "/tfplugin6.Provider/ConfigureProvider",
            (ProtocolVersion::V6, Self::GetProviderSchema) => "/tfplugin6.Provider/GetProviderSchema",
            (ProtocolVersion::V6, Self::GetResourceIdentitySchemas) => {
                "/tfplugin6.Provider/GetResourceIdentitySchemas"
            }
            (ProtocolVersion::V6, Self::ImportResourceState) => "/tfplugin6.Provider/ImportResourceState",
            (ProtocolVersion::V6, Self::InvokeAction) => "/tfplugin6.Provider/InvokeAction",
            (ProtocolVersion::V6, Self::ListResource) => "/tfplugin6.Provider/ListResource",
            (ProtocolVersion::V6, Self::MoveResourceState) => "/tfplugin6.Provider/MoveResourceState",
            (ProtocolVersion::V6, Self::OpenEphemeralResource) => "/tfplugin6.Provider/OpenEphemeralResource",
            (ProtocolVersion::V6, Self::PlanAction) => "/tfplugin6.Provider/PlanAction",
            (ProtocolVersion::V6, Self::PlanResourceChange) => "/tfplugin6.Provider/PlanResourceChange",
            (ProtocolVersion::V6, Self::ReadDataSource) => "/tfplugin6.Provider/ReadDataSource",
            (ProtocolVersion::V6, Self::ReadResource) => "/tfplugin6.Provider/ReadResource",
            (ProtocolVersion::V6, Self::RenewEphemeralResource) => {
                "/tfplugin6.Provider/RenewEphemeralResource"
            }
            (ProtocolVersion::V6, Self::StopProvider) => "/tfplugin6.Provider/StopProvider",
            (ProtocolVersion::V6, Self::UpgradeResourceIdentity) => {
                "/tfplugin6.Provider/UpgradeResourceIdentity"
            }
            (ProtocolVersion::V6, Self::UpgradeResourceState) => "/tfplugin6.Provider/UpgradeResourceState",
            (ProtocolVersion::V6, Self::ValidateActionConfig) => "/tfplugin6.Provider/ValidateActionConfig",
            (ProtocolVersion::V6, Self::ValidateDataResourceConfig) => {
                "/tfplugin6.Provider/ValidateDataResourceConfig"
            }
            (ProtocolVersion::V6, Self::ValidateEphemeralResourceConfig) => {
                "/tfplugin6.Provider/ValidateEphemeralResourceConfig"
            }
            (ProtocolVersion::V6, Self::ValidateListResourceConfig) => {
                "/tfplugin6.Provider/ValidateListResourceConfig"
            }
            (ProtocolVersion::V6, Self::ValidateProviderConfig) => {
                "/tfplugin6.Provider/ValidateProviderConfig"
            }
            (ProtocolVersion::V6, Self::ValidateResourceConfig) => {
                "/tfplugin6.Provider/ValidateResourceConfig"
            }
        }
    }
}

/// A connection to a provider's service. Cloning it shares the connection.
#[derive(Clone, Debug)]
pub struct Client {
    channel: Channel,
    version: ProtocolVersion,
}

impl Client {
    /// Speaks `version` over `channel`.
    pub fn new(channel: Channel, version: ProtocolVersion) -> Self {
        Self { channel, version }
    }

    /// The protocol that is spoken.
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Makes one call. There is no deadline: what a provider does may take hours, and only the user or the engine may
    /// decide that it took too long.
    pub async fn call<Request, Response>(&self, rpc: Rpc, request: Request) -> Result<Response, tonic::Status>
    where
        Request: prost::Message + Send + Sync + 'static,
        Response: prost::Message + Default + Send + Sync + 'static,
    {
        self.unary(rpc, request, ProstCodec::<Request, Response>::default()).await
    }

    /// Makes one call and leaves the answer as it came.
    pub async fn call_encoded<Request>(&self, rpc: Rpc, request: Request) -> Result<Bytes, tonic::Status>
    where
        Request: prost::Message + Send + Sync + 'static,
    {
        self.unary(rpc, request, AnswerAsBytes(PhantomData)).await
    }

    async fn unary<Own>(
        &self,
        rpc: Rpc,
        request: Own::Encode,
        codec: Own,
    ) -> Result<Own::Decode, tonic::Status>
    where
        Own: Codec,
        Own::Encode: Send + Sync + 'static,
        Own::Decode: Send + Sync + 'static,
    {
        let path = PathAndQuery::from_static(rpc.path(self.version));
        Ok(self.ready().await?.unary(tonic::Request::new(request), path, codec).await?.into_inner())
    }

    /// Makes one call that is answered by a stream of events.
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
        let mut grpc = self.ready().await?;
        Ok(grpc.server_streaming(tonic::Request::new(request), path, codec).await?.into_inner())
    }

    async fn ready(&self) -> Result<tonic::client::Grpc<Channel>, tonic::Status> {
        let mut grpc = tonic::client::Grpc::new(self.channel.clone())
            .max_decoding_message_size(LARGEST_MESSAGE)
            .max_encoding_message_size(LARGEST_MESSAGE);
        grpc.ready().await.map_err(|error| {
            let error: StdError = error.into();
            tonic::Status::unavailable(format!("the connection cannot be used: {error}"))
        })?;
        Ok(grpc)
    }
}

/// Writes requests as ever, and leaves answers as they come.
#[derive(Debug)]
struct AnswerAsBytes<Request>(PhantomData<Request>);

impl<Request: prost::Message + Send + 'static> Codec for AnswerAsBytes<Request> {
    type Encode = Request;
    type Decode = Bytes;
    type Encoder = ProstEncoder<Request>;
    type Decoder = AsBytes;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::default()
    }

    fn decoder(&mut self) -> AsBytes {
        AsBytes
    }
}

#[derive(Debug)]
struct AsBytes;

impl Decoder for AsBytes {
    type Item = Bytes;
    type Error = tonic::Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, tonic::Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    const ALL: [Rpc; 25] = [
        Rpc::ApplyResourceChange,
        Rpc::CallFunction,
        Rpc::CloseEphemeralResource,
        Rpc::ConfigureProvider,
        Rpc::GetProviderSchema,
        Rpc::GetResourceIdentitySchemas,
        Rpc::ImportResourceState,
        Rpc::InvokeAction,
        Rpc::ListResource,
        Rpc::MoveResourceState,
        Rpc::OpenEphemeralResource,
        Rpc::PlanAction,
        Rpc::PlanResourceChange,
        Rpc::ReadDataSource,
        Rpc::ReadResource,
        Rpc::RenewEphemeralResource,
        Rpc::StopProvider,
        Rpc::UpgradeResourceIdentity,
        Rpc::UpgradeResourceState,
        Rpc::ValidateActionConfig,
        Rpc::ValidateDataResourceConfig,
        Rpc::ValidateEphemeralResourceConfig,
        Rpc::ValidateListResourceConfig,
        Rpc::ValidateProviderConfig,
        Rpc::ValidateResourceConfig,
    ];

    /// The methods of a protocol's provider service, by its contract.
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
            for rpc in ALL {
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
        let renamed = ALL.into_iter().filter_map(|rpc| {
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
