//! Ephemeral resources: opened, renewed while in use, and closed; never stored.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use isthmus_common::Secret;
use isthmus_cty::Value;
use isthmus_proto::tfplugin6;

use super::deferral::DeferralSupport;
use super::{Diagnostic, Provider, ProviderError, Rpc, dynamic};
use isthmus_known_secrets::Retention;

/// An open ephemeral resource.
#[derive(Debug)]
pub struct Opened {
    /// Its wholly known result, which must not be stored.
    pub result: Secret<Value>,
    /// For renewing and closing it.
    pub lease: Lease,
}

/// The data for renewing and closing an open ephemeral resource.
#[derive(Debug)]
pub struct Lease {
    type_name: Arc<str>,
    /// The latest private data, which may contain secrets.
    private: Secret<Option<Bytes>>,
    renew_at: Option<SystemTime>,
}

impl Lease {
    /// Its type.
    pub fn type_name(&self) -> &Arc<str> {
        &self.type_name
    }

    /// When to renew it; `None`: never.
    pub fn renew_at(&self) -> Option<SystemTime> {
        self.renew_at
    }
}

impl Provider {
    /// Validates the configuration of an ephemeral resource, which may have unknown values.
    ///
    /// # Errors
    /// [`ProviderError::Diagnostics`] when it is invalid.
    pub async fn validate_ephemeral_resource(
        &self,
        type_name: &str,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let rpc = Rpc::ValidateEphemeralResourceConfig;
        let schema = self.catalogue().ephemeral_resource(type_name)?;
        self.note_secrets(&schema, config, Retention::Usual);
        let request = tfplugin6::validate_ephemeral_resource_config::Request {
            type_name: type_name.to_owned(),
            config: dynamic::encode(config, &schema.block.implied_type, self.operation(rpc), type_name)?,
        };
        let response: tfplugin6::validate_ephemeral_resource_config::Response =
            self.call(rpc, request).await?;
        self.refuse_errors(rpc, response.diagnostics, warnings)
    }

    /// Opens an ephemeral resource. `config` must be valid and wholly known. The caller must close
    /// it.
    ///
    /// # Errors
    /// When it was not opened; or its result is invalid, and it was closed again.
    pub async fn open_ephemeral_resource(
        &self,
        type_name: &str,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Opened, ProviderError> {
        let rpc = Rpc::OpenEphemeralResource;
        let schema = self.catalogue().ephemeral_resource(type_name)?;
        let value_type = &schema.block.implied_type;
        let request = tfplugin6::open_ephemeral_resource::Request {
            type_name: type_name.to_owned(),
            config: dynamic::encode(config, value_type, self.operation(rpc), type_name)?,
            client_capabilities: self.client_capabilities(DeferralSupport::Refused),
        };
        let response: tfplugin6::open_ephemeral_resource::Response = self.call(rpc, request).await?;
        self.refuse_errors(rpc, response.diagnostics, warnings)?;
        self.deferral(rpc, type_name, response.deferred, DeferralSupport::Refused)?;
        let lease = Lease {
            type_name: Arc::from(type_name),
            private: Secret::new(response.private),
            renew_at: response.renew_at.and_then(|at| time(at.seconds, at.nanos)),
        };
        let usable = self.decode(rpc, type_name, response.result.as_ref(), value_type).and_then(|result| {
            // All of it, whatever the schema says: only the program may see it.
            self.secrets().learn_value(&result, Retention::Usual);
            let wrong = |reason| Err(self.invalid_answer(rpc, type_name, reason));
            match &result {
                result if result.is_null() => wrong("it returned no value where one was expected"),
                result if !result.is_wholly_known() => wrong("it returned values that are not known"),
                _ => Ok(result),
            }
        });
        match usable {
            Ok(result) => Ok(Opened { result: Secret::new(result), lease }),
            Err(error) => {
                // It is open nevertheless. A failure to close it adds nothing to the error.
                let _ = self.close_ephemeral_resource(lease, warnings).await;
                Err(error)
            }
        }
    }

    /// Renews an ephemeral resource. After an error the lease is unchanged, and most likely lost.
    ///
    /// # Errors
    /// When the provider failed to renew it.
    pub async fn renew_ephemeral_resource(
        &self,
        lease: &mut Lease,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let rpc = Rpc::RenewEphemeralResource;
        let request = tfplugin6::renew_ephemeral_resource::Request {
            type_name: lease.type_name.to_string(),
            private: lease.private.expose().clone(),
        };
        let response: tfplugin6::renew_ephemeral_resource::Response = self.call(rpc, request).await?;
        self.refuse_errors(rpc, response.diagnostics, warnings)?;
        if response.private.is_some() {
            lease.private = Secret::new(response.private);
        }
        lease.renew_at = response.renew_at.and_then(|at| time(at.seconds, at.nanos));
        Ok(())
    }

    /// Closes an ephemeral resource.
    ///
    /// # Errors
    /// When the provider failed to close it.
    pub async fn close_ephemeral_resource(
        &self,
        lease: Lease,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let rpc = Rpc::CloseEphemeralResource;
        let request = tfplugin6::close_ephemeral_resource::Request {
            type_name: lease.type_name.to_string(),
            private: lease.private.expose().clone(),
        };
        let response: tfplugin6::close_ephemeral_resource::Response = self.call(rpc, request).await?;
        self.refuse_errors(rpc, response.diagnostics, warnings)
    }
}

/// Decodes a timestamp. One before 1970 is Go's zero time: none.
fn time(seconds: i64, nanoseconds: i32) -> Option<SystemTime> {
    let nanoseconds = u32::try_from(nanoseconds).ok().filter(|part| *part < 1_000_000_000).unwrap_or(0);
    let since = Duration::new(u64::try_from(seconds).ok()?, nanoseconds);
    SystemTime::UNIX_EPOCH.checked_add(since)
}

#[cfg(test)]
mod tests;
