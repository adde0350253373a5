//! Decoding of one file, and merging with earlier ones: the first one counts for simple settings,
//! the last one for a host's.

mod installation;
mod oci;
mod reader;
mod section;

use std::path::Path;

use isthmus_common::{Environment, Links, Secret, read_regular};

use super::expand::expand;
use super::{CliConfig, CliConfigError, ConfigFault, files};
use crate::address::normalise_host;
use crate::auth::{CredentialsHelper, is_program_name};
use crate::hcl::{self, Body, Key, Position};
use reader::Reader;
use section::{Decoded, Located};

/// Known names in a file. Those after the empty line do not concern providers, or have no effect
/// any more.
const KNOWN: [&str; 13] = [
    "credentials",
    "credentials_helper",
    "host",
    "oci_credentials",
    "oci_default_credentials",
    "plugin_cache_dir",
    "plugin_cache_may_break_dependency_lock_file",
    "provider_installation",
    "registry_protocols",
    //
    "disable_checkpoint",
    "disable_checkpoint_signature",
    "providers",
    "provisioners",
];

pub(super) fn file(
    file: &Path,
    environment: &Environment,
    config: &mut CliConfig,
) -> Result<(), CliConfigError> {
    // What a variable names may be a pipe of the shell, as for Terraform.
    let is_named = files::VARIABLES.iter().any(|name| environment.path(name).is_some());
    let read = if is_named { std::fs::read(file) } else { read_regular(file, Links::FollowOrNull) };
    let bytes = read.map_err(|source| CliConfigError::Read { path: file.to_owned(), source })?;
    content(file, &bytes, environment, config)
}

/// Decodes the bytes of a file, whose path is for errors.
pub(crate) fn content(
    file: &Path,
    bytes: &[u8],
    environment: &Environment,
    config: &mut CliConfig,
) -> Result<(), CliConfigError> {
    let body = hcl::parse(bytes).map_err(|error| CliConfigError::Syntax { file: file.to_owned(), error })?;
    Reader { file, environment, config }.read(&body).map_err(|Located { position, fault }| {
        CliConfigError::Content { file: file.to_owned(), position, fault: Box::new(fault) }
    })
}

impl Reader<'_> {
    fn read(&mut self, body: &Body) -> Decoded<()> {
        self.warn_of_others(body, &KNOWN);
        let directory = body.some_text("plugin_cache_dir")?;
        if let Some(directory) = directory.filter(|_| self.config.plugin_cache_dir.is_none()) {
            self.config.plugin_cache_dir = Some(expand(directory, self.environment).into());
        }
        self.config.plugin_cache_may_break_dependency_lock_file |=
            body.flag("plugin_cache_may_break_dependency_lock_file")?.unwrap_or_default();
        self.hosts(body)?;
        self.credentials(body)?;
        self.credentials_helper(body)?;
        self.registry_protocols(body)?;
        installation::read(self, body)?;
        oci::read(self, body)
    }

    fn hosts(&mut self, body: &Body) -> Decoded<()> {
        for block in body.labelled("host", "host \"HOST\" { services = { … } }") {
            let (label, block) = block?;
            let host = host(label)?;
            self.warn_of_others(block, &["services"]);
            let services = self.config.hosts.entry(host).or_default();
            let Some(value) = block.argument("services") else { continue };
            let hcl::Content::Body(named) = &value.content else {
                return Err(value.wrong("services", "a block"));
            };
            for item in &named.items {
                // Other kinds of services have settings in place of an address.
                if let hcl::Content::String(address) = &item.value.content {
                    services.insert(item.name.text.clone(), address.clone());
                }
            }
        }
        Ok(())
    }

    fn credentials(&mut self, body: &Body) -> Decoded<()> {
        for block in body.labelled("credentials", "credentials \"HOST\" { token = \"…\" }") {
            let (label, block) = block?;
            let host = host(label)?;
            // Future kinds of credentials are ignored.
            match block.some_text("token")? {
                Some(token) => self.config.credentials.insert(host, Secret::new(token.to_owned())),
                None => self.config.credentials.remove(&host),
            };
        }
        Ok(())
    }

    fn credentials_helper(&mut self, body: &Body) -> Decoded<()> {
        for block in body.labelled("credentials_helper", "credentials_helper \"NAME\" { args = […] }") {
            let (label, block) = block?;
            let name = label.text.clone();
            if !is_program_name(&name) {
                return Err(Located { position: label.position, fault: ConfigFault::Helper });
            }
            if self.config.credentials_helper.as_ref().is_some_and(|first| first.name != name) {
                let first = "with another name".to_owned();
                let fault = ConfigFault::Several { block: "credentials_helper", first };
                return Err(Located { position: label.position, fault });
            }
            self.warn_of_others(block, &["args"]);
            let arguments = block.texts("args")?.unwrap_or_default();
            let arguments = arguments.into_iter().map(|(_, argument)| argument.to_owned()).collect();
            self.config.credentials_helper =
                Some(CredentialsHelper { name, arguments, directories: Vec::new() });
        }
        Ok(())
    }

    fn registry_protocols(&mut self, body: &Body) -> Decoded<()> {
        let mut first: Option<Position> = None;
        for item in body.items.iter().filter(|item| item.name.text == "registry_protocols") {
            if let Some(first) = first.replace(item.name.position) {
                let first = format!("at {}:{first}", self.file.display());
                let fault = ConfigFault::Several { block: "registry_protocols", first };
                return Err(Located { position: item.name.position, fault });
            }
            let block = item.block("registry_protocols { … }")?;
            self.warn_of_others(block, &["retry_count", "request_timeout_seconds"]);
            let settings = &mut self.config.registry_protocols;
            settings.retry_count = settings.retry_count.or(block.count("retry_count")?);
            settings.request_timeout_seconds =
                settings.request_timeout_seconds.or(block.count("request_timeout_seconds")?);
        }
        Ok(())
    }
}

fn host(label: &Key) -> Decoded<String> {
    normalise_host(&label.text).map_err(|_| Located { position: label.position, fault: ConfigFault::Host })
}
