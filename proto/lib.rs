//! The protocols that isthmus speaks, as messages, clients and servers.
//!
//! Everything here is generated from the `.proto` files next to this one (see `build.rs`), except for [`property`], the
//! property bag: `google.protobuf.Struct` as prost has it stops at 33 levels and forgets the order of properties.
//!
//! - upwards: [`pulumirpc`] and [`codegen`] for today's engines, [`lumirpc`] for the legacy engine;
//! - downwards: [`tfplugin5`] and [`tfplugin6`], the provider protocols, over [`goplugin`];
//! - between a plugin and a shared daemon: [`daemon`];
//! - saved objects: [`tfstackdata1`], made of pieces of [`tfplan`];
//! - and what gRPC itself brings along: [`health`], and [`rpc`] for details of errors.
//!
//! Fields of type `bytes` are [`bytes::Bytes`]: a decoded message shares the buffer that it came in.

pub mod property;

#[cfg(test)]
mod tests;

/// Declares the module of one package: the code that the build script made of it.
macro_rules! package {
    ($(#[$documentation:meta])* $module:ident, $package:literal) => {
        $(#[$documentation])*
        #[allow(
            clippy::all,
            missing_debug_implementations,
            unreachable_pub,
            unused_qualifications,
            rustdoc::invalid_html_tags,
            reason = "generated code, whose shape is not ours"
        )]
        pub mod $module {
            tonic::include_proto!($package);
        }
    };
}

package!(
    /// The resource provider of the legacy engine, and the engine's own service.
    lumirpc,
    "lumirpc"
);
package!(
    /// Today's resource provider, the engine's services for it, and the details of its errors.
    pulumirpc,
    "pulumirpc"
);
package!(
    /// What the engine knows of other packages: mappings and schemas.
    codegen,
    "codegen"
);
package!(
    /// A plugin's calls of a shared daemon.
    daemon,
    "isthmus.daemon.v1"
);
package!(
    /// Terraform's provider protocol 5, minor 10. The schemas in `get_provider_schema::Response` are left encoded.
    tfplugin5,
    "tfplugin5"
);
package!(
    /// Terraform's provider protocol 6, minor 11. The schemas in `get_provider_schema::Response` are left encoded.
    tfplugin6,
    "tfplugin6"
);
package!(
    /// The services that every go-plugin process offers beside its own; their package is called `plugin`.
    goplugin,
    "plugin"
);
package!(
    /// The records that Terraform's stacks keep, and our format of saved objects.
    tfstackdata1,
    "tfstackdata1"
);
package!(
    /// Pieces of Terraform's plan file that the records are made of.
    tfplan,
    "tfplan"
);
package!(
    /// gRPC's health checking protocol.
    health,
    "grpc.health.v1"
);
package!(
    /// The rich form of a gRPC status.
    rpc,
    "google.rpc"
);

/// All contracts as an encoded `google.protobuf.FileDescriptorSet`, as they are written: here the schemas in the answer to
/// a provider's schema call are messages.
pub const DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
