//! How an engine finds a package again: what an import file says of it.

use bytes::Bytes;
use prost::Message as _;

use super::catalogue::Identity;

/// The version and the parameter of a package, as the journal keeps them with an operation.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PackageReference {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
    /// The parameter value for SDKs.
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) parameter: Vec<u8>,
}

impl Identity {
    /// The encoded reference to this package.
    pub(crate) fn reference(&self) -> Bytes {
        let (version, parameter) = (self.version.to_string(), self.parameter.encode());
        Bytes::from(PackageReference { version, parameter }.encode_to_vec())
    }
}
