//! The block `provider_installation`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::reader::Reader;
use super::section::{Decoded, Located};
use crate::ProviderAddress;
use crate::cli_config::{
    ConfigFault, InstallationMethod, MethodLocation, PatternError, ProviderInstallation, ProviderPattern,
    RepositoryTemplate,
};
use crate::hcl::{Body, Item};

pub(super) fn read(reader: &mut Reader<'_>, body: &Body) -> Decoded<()> {
    for item in body.items.iter().filter(|item| item.name.text == "provider_installation") {
        let block = item.block("provider_installation { … }")?;
        if let Some(first) = &reader.config.provider_installation {
            let fault =
                ConfigFault::Several { block: "provider_installation", first: format!("at {}", first.place) };
            return Err(Located { position: item.name.position, fault });
        }
        let place = format!("{}:{}", reader.file.display(), item.name.position);
        let mut installation = ProviderInstallation { place, ..Default::default() };
        for item in &block.items {
            if item.name.text == "dev_overrides" {
                if !installation.methods.is_empty() {
                    return Err(Located { position: item.name.position, fault: ConfigFault::OverridesFirst });
                }
                overrides(item, &mut installation.dev_overrides)?;
            } else {
                installation.methods.push(method(reader, item)?);
            }
        }
        reader.config.provider_installation = Some(installation);
    }
    Ok(())
}

fn overrides(item: &Item, overrides: &mut BTreeMap<ProviderAddress, PathBuf>) -> Decoded<()> {
    for item in &item.block("dev_overrides { \"ADDRESS\" = \"DIRECTORY\" }")?.items {
        let address = ProviderAddress::parse(&item.name.text)
            .map_err(|_| Located { position: item.name.position, fault: ConfigFault::Address })?;
        overrides.insert(address, Path::new(item.value.text("dev_overrides")?).components().collect());
    }
    Ok(())
}

fn method(reader: &mut Reader<'_>, item: &Item) -> Decoded<InstallationMethod> {
    let name = item.name.text.as_str();
    let (form, own): (_, &[&'static str]) = match name {
        "direct" => ("direct { … }", &["download_retry_count"]),
        "filesystem_mirror" => ("filesystem_mirror { path = \"…\" }", &["path"]),
        "network_mirror" => {
            ("network_mirror { url = \"…\" }", &["url", "download_retry_count", "trust_all_hashes"])
        }
        "oci_mirror" => ("oci_mirror { repository_template = \"…\" }", &["repository_template"]),
        _ => {
            let fault = ConfigFault::Method;
            return Err(Located { position: item.name.position, fault });
        }
    };
    let block = item.block(form)?;
    let include = patterns(block, "include")?;
    let exclude = patterns(block, "exclude")?;
    let required = |argument| {
        let fault = ConfigFault::Missing { block: name.to_owned(), argument };
        block.some_text(argument)?.ok_or(Located { position: item.name.position, fault })
    };
    let position_of = |argument| block.argument(argument).map_or(item.name.position, |value| value.position);
    let download_retry_count = block.count("download_retry_count")?;
    let location = match name {
        "filesystem_mirror" => {
            let path = required("path")?.into();
            let place = format!("{}:{}", reader.file.display(), position_of("path"));
            MethodLocation::FilesystemMirror { path, place }
        }
        "network_mirror" => {
            let url = required("url")?.to_owned();
            let host = url.strip_prefix("https://").unwrap_or_default();
            if host.is_empty() || host.starts_with('/') {
                return Err(Located { position: position_of("url"), fault: ConfigFault::Url });
            }
            let path = host.split(['?', '#']).next().unwrap_or_default();
            if path.contains('/') && !path.ends_with('/') {
                let text =
                    "this address does not end with a slash, so the part behind its last one is ignored";
                reader.warn(position_of("url"), text);
            }
            let trust_all_hashes = block.flag("trust_all_hashes")?.unwrap_or_default();
            MethodLocation::NetworkMirror { url, download_retry_count, trust_all_hashes }
        }
        "oci_mirror" => {
            let repository = RepositoryTemplate::parse(required("repository_template")?, &include);
            let position = position_of("repository_template");
            let repository = repository.map_err(|fault| Located { position, fault: fault.into() })?;
            MethodLocation::OciMirror { repository }
        }
        _ => MethodLocation::Direct { download_retry_count },
    };
    let known: Vec<&str> = own.iter().copied().chain(["include", "exclude"]).collect();
    reader.warn_of_others(block, &known);
    Ok(InstallationMethod { location, include, exclude })
}

fn patterns(block: &Body, name: &str) -> Decoded<Vec<ProviderPattern>> {
    let texts = block.texts(name)?.unwrap_or_default().into_iter();
    let located = |position| move |error: PatternError| Located { position, fault: error.into() };
    texts.map(|(position, text)| ProviderPattern::parse(text).map_err(located(position))).collect()
}
