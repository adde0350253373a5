//! The blocks `oci_credentials` and `oci_default_credentials`.

use isthmus_common::Secret;

use super::reader::Reader;
use super::section::{Decoded, Located};
use crate::auth::{OciCredentials, OciDefaultCredentials, OciPrefix, OciSecret, is_program_name};
use crate::cli_config::ConfigFault;
use crate::hcl::{Body, Position};

pub(super) fn read(reader: &mut Reader<'_>, body: &Body) -> Decoded<()> {
    for block in body.labelled("oci_credentials", "oci_credentials \"REGISTRY[/REPOSITORY]\" { … }") {
        let (label, block) = block?;
        let prefix = OciPrefix::parse(&label.text)
            .map_err(|fault| Located { position: label.position, fault: fault.into() })?;
        reader.warn_of_others(
            block,
            &["username", "password", "access_token", "refresh_token", "docker_credentials_helper"],
        );
        if reader.config.oci_credentials.iter().any(|other| other.prefix == prefix) {
            let first = "with this label".to_owned();
            let fault = ConfigFault::Several { block: "oci_credentials", first };
            return Err(Located { position: label.position, fault });
        }
        let secret = secret(block, &prefix, label.position)?;
        reader.config.oci_credentials.push(OciCredentials { prefix, secret });
    }
    for item in body.items.iter().filter(|item| item.name.text == "oci_default_credentials") {
        let block = item.block("oci_default_credentials { … }")?;
        let position = item.name.position;
        if let Some(first) = reader.config.oci_default_credentials.place.clone() {
            let first = format!("at {first}");
            let fault = ConfigFault::Several { block: "oci_default_credentials", first };
            return Err(Located { position, fault });
        }
        reader.warn_of_others(
            block,
            &["discover_ambient_credentials", "docker_style_config_files", "docker_credentials_helper"],
        );
        // Relative to the configuration file.
        let directory = reader.file.parent().map(std::path::Path::to_owned).unwrap_or_default();
        let files = block.texts("docker_style_config_files")?;
        let files =
            files.map(|files| files.into_iter().map(|(_, file)| directory.join(file)).collect::<Vec<_>>());
        let discover = block.flag("discover_ambient_credentials")?.unwrap_or(true);
        if !discover && files.is_some() {
            return Err(Located { position, fault: ConfigFault::OciContradiction });
        }
        reader.config.oci_default_credentials = OciDefaultCredentials {
            discover_ambient_credentials: discover,
            docker_style_config_files: files,
            docker_credentials_helper: helper(block, position)?,
            place: Some(format!("{}:{position}", reader.file.display())),
        };
    }
    Ok(())
}

fn secret(block: &Body, prefix: &OciPrefix, position: Position) -> Decoded<OciSecret> {
    let text = |name| Ok(block.text(name)?.map(str::to_owned));
    let given = (text("username")?, text("password")?, text("access_token")?, text("refresh_token")?);
    match (given, helper(block, position)?) {
        ((Some(username), Some(password), None, None), None) => {
            Ok(OciSecret::Password { username, password: Secret::new(password) })
        }
        ((None, None, Some(access), Some(refresh)), None) => {
            Ok(OciSecret::Tokens { access_token: Secret::new(access), refresh_token: Secret::new(refresh) })
        }
        ((None, None, None, None), Some(_)) if prefix.repository.is_some() => {
            Err(Located { position, fault: ConfigFault::OciHelperOfRepository })
        }
        ((None, None, None, None), Some(helper)) => Ok(OciSecret::Helper(helper)),
        _ => Err(Located { position, fault: ConfigFault::OciSecret }),
    }
}

fn helper(block: &Body, position: Position) -> Decoded<Option<String>> {
    match block.text("docker_credentials_helper")? {
        Some(name) if !is_program_name(name) => Err(Located { position, fault: ConfigFault::Helper }),
        name => Ok(name.map(str::to_owned)),
    }
}
