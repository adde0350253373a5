//! Ephemeral resources: opened, renewed as long as they are used, and closed; never stored.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use isthmus_common::Secret;
use isthmus_cty::Value;
use isthmus_proto::tfplugin6;

use super::deferral::DeferralSupport;
use super::{Diagnostic, Provider, ProviderError, Rpc, dynamic};
use crate::Retention;

/// An ephemeral resource that is open.
#[derive(Debug)]
pub struct Opened {
    /// What it is, wholly known. It must not be stored.
    pub result: Secret<Value>,
    /// What it is renewed and closed with.
    pub lease: Lease,
}

/// What an open ephemeral resource is renewed and closed with.
#[derive(Debug)]
pub struct Lease {
    type_name: Arc<str>,
    /// The provider's own bytes, as it gave them last. There may be secrets in them.
    private: Secret<Option<Bytes>>,
    renew_at: Option<SystemTime>,
}

impl Lease {
    /// The ephemeral resource's type.
    pub fn type_name(&self) -> &Arc<str> {
        &self.type_name
    }

    /// When the provider wants it to be renewed; never, if it says nothing.
    pub fn renew_at(&self) -> Option<SystemTime> {
        self.renew_at
    }
}

impl Provider {
    /// Lets the provider judge the configuration of an ephemeral resource, in which anything may be unknown.
    ///
    /// # Errors
    /// [`ProviderError::Diagnostics`] when it is not acceptable.
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

    /// Opens an ephemeral resource. `config` must be valid and wholly known. What comes of it has to be closed.
    ///
    /// # Errors
    /// When nothing was opened; or what was opened cannot be used, and was closed again.
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
            // All of it, whatever the schema says of its parts: it is for nobody but the program.
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
                // It is open all the same. That it cannot be closed either adds nothing to what is wrong.
                let _ = self.close_ephemeral_resource(lease, warnings).await;
                Err(error)
            }
        }
    }

    /// Keeps an ephemeral resource from expiring. After an error the lease is as it was, and most likely lost.
    ///
    /// # Errors
    /// When the provider could not renew it.
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

    /// Closes an ephemeral resource, which is not open any more afterwards, or never will be known to be.
    ///
    /// # Errors
    /// When the provider could not close it.
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

/// A point in time from the wire. One before 1970 is Go's zero time, which stands for none.
fn time(seconds: i64, nanoseconds: i32) -> Option<SystemTime> {
    let nanoseconds = u32::try_from(nanoseconds).ok().filter(|part| *part < 1_000_000_000).unwrap_or(0);
    let since = Duration::new(u64::try_from(seconds).ok()?, nanoseconds);
    SystemTime::UNIX_EPOCH.checked_add(since)
}

#[cfg(test)]
mod tests;
