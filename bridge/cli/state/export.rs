//! `isthmus state export`: objects for Terraform and OpenTofu.
//!
//! Values, private data and schema versions are exported as stored, so that Terraform continues
//! where the legacy engine stopped.

mod addresses;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use isthmus_common::counted;
use isthmus_common::permissions::PRIVATE_FILE;
use isthmus_install::ProviderAddress;
use isthmus_state::stacks::{ComponentObject, SequenceFile, StacksState};
use isthmus_state::tfstate::{Collision, Instance, TfState};
use isthmus_state::{ComponentAddress, ObjectAddress, ProviderConfigAddress, StoredStack};

use super::error::StateError;
use super::record::{Record, Records, records, warn_of};
use super::{EMPTY, open_existing_state_store};
use crate::cli::output;
use crate::cli::output::{Outcome, inform, print, warn};
use addresses::Addresses;
use isthmus_context::home::{self, OpenStoreError};
use isthmus_context::new_file::write_file;
use isthmus_context::random_uuid::random_uuid;
use isthmus_context::settings::Settings;

const EXAMPLES: &str = "\
Examples:
  isthmus state export --output terraform.tfstate
  isthmus state export --package random --addresses names.json --output terraform.tfstate
  isthmus state export --provider acme=example.com/acme/acme | tofu state push -

An object that was imported from a Terraform state keeps its resource instance address. isthmus makes the address of any other from its
id, such as random_pet.able-dog; --addresses maps addresses of your configuration to records (NUMBER or TYPE/ID), as in
{\"random_pet.dog\": \"random_pet/able-dog\"}.

With --format stacks the file is a sequence of length-delimited tfstackdata1 records: the imported records of a stack, unchanged, and the
present objects. EXPERIMENTAL: Terraform documents the format as private and may change it.

isthmus reports records that it cannot read on standard error, and exports the others; the exit code is then 1.

The file contains every value in the clear, secrets and private data included; only its owner can read it.";

/// Export objects to a terraform.tfstate or to stack records.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Export {
    /// Format of the export.
    #[arg(long, value_enum, default_value_t = Format::Tfstate)]
    format: Format,
    /// With `--format stacks`: component instance of objects that were imported without one.
    #[arg(long, default_value = "component.main")]
    component: ComponentAddress,
    /// Output file (default: standard output).
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Overwrite the output file.
    #[arg(long, requires = "output")]
    force: bool,
    /// Only objects of this package.
    #[arg(long)]
    package: Option<String>,
    /// JSON file of resource instance addresses.
    #[arg(long, value_name = "FILE")]
    addresses: Option<PathBuf>,
    /// Provider source address of a package, instead of the one in its records.
    #[arg(long, value_name = "PACKAGE=ADDRESS", value_parser = pair)]
    provider: Vec<(String, String)>,
    /// Lineage of the existing state that the export continues (default: a new one).
    #[arg(long)]
    lineage: Option<String>,
    /// Serial, larger than the existing state's.
    #[arg(long, default_value_t = 1)]
    serial: u64,
}

/// What an export is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A terraform.tfstate of version 4.
    Tfstate,
    /// A sequence of tfstackdata1 records. Experimental.
    Stacks,
}

/// The two sides of `NAME=VALUE`.
pub(in crate::cli) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("it is written NAME=VALUE".to_owned()),
    }
}

impl Export {
    pub(super) async fn run(&self, settings: &Settings) -> Result<Outcome, StateError> {
        let state_store = open_existing_state_store(settings).await?;
        let providers = self.providers()?;
        let Records { records: found, faults } = records(&state_store, self.package.as_deref()).await?;
        warn_of(&faults);
        let addresses = Addresses::read(self.addresses.as_deref(), &found, &state_store)?;
        let stack = match self.format {
            Format::Tfstate => StoredStack::default(),
            Format::Stacks => state_store.stack_records().all().await?,
        };
        warn_of(&stack.faults);
        let (objects, others) = (found.len(), stack.records.len());
        if found.is_empty() && faults.is_empty() && self.package.is_none() {
            inform(EMPTY);
        }
        let addressed = addresses.give(found, |record| self.component_of(record)).into_iter();
        let addressed = addressed.map(|(address, record)| (address, with_provider(record, &providers)));
        let bytes = match self.format {
            Format::Tfstate => self.tfstate(addressed)?.into_bytes(),
            Format::Stacks => self.stacks(&stack, addressed)?,
        };
        self.deliver(&bytes, &home::state_store(settings).map_err(OpenStoreError::from)?.files())?;
        if let Some(output) = &self.output {
            let others = match others {
                0 => String::new(),
                others => format!(" and {} of a stack", counted(others, "other record")),
            };
            print(&format!("wrote {}{others} to {}\n", counted(objects, "object"), output.display()));
        }
        Ok(Outcome::of(faults.is_empty() && stack.faults.is_empty()))
    }

    fn tfstate(&self, objects: impl Iterator<Item = (ObjectAddress, Record)>) -> Result<String, Collision> {
        let mut state = TfState::new(self.lineage.clone().unwrap_or_else(random_uuid));
        state.serial = self.serial;
        state.instances = objects.map(|(address, record)| Instance::new(address, record.object)).collect();
        state.write()
    }

    /// The stored records of a stack, with the objects as they are now.
    fn stacks(
        &self,
        stack: &StoredStack,
        objects: impl Iterator<Item = (ObjectAddress, Record)>,
    ) -> Result<Vec<u8>, Collision> {
        warn("experimental: Terraform documents the format of stack records as private and may change it");
        let mut state = StacksState { records: stack.contents(), ..StacksState::default() };
        let mut taken = HashSet::new();
        for (address, record) in objects {
            let component = self.component_of(&record).unwrap_or_else(|| self.component.clone());
            if !taken.insert((component.clone(), address.clone())) {
                return Err(Collision { address: Box::new(address) });
            }
            let mut object = record.object;
            object.address = Some(address);
            state.components.entry(component.clone()).or_default();
            state.objects.push(ComponentObject { component, object });
        }
        if state.components.is_empty() && state.records.is_empty() {
            state.components.entry(self.component.clone()).or_default();
        }
        Ok(SequenceFile::State(state.write()).write())
    }

    /// The component that a record's address is relative to. `None`: the root module, or that of `--component`.
    fn component_of(&self, record: &Record) -> Option<ComponentAddress> {
        let component = record.object.component.clone();
        component.filter(|component| self.format == Format::Stacks && *component != self.component)
    }

    fn providers(&self) -> Result<Vec<(&str, String)>, StateError> {
        let read = |(package, address): &'_ (String, String)| match ProviderAddress::parse(address) {
            Ok(known) => Ok(ProviderConfigAddress::new(known.to_string()).to_string()),
            Err(error) => Err(StateError::ProviderAddress { option: format!("{package}={address}"), error }),
        };
        self.provider.iter().map(|option| Ok((option.0.as_str(), read(option)?))).collect()
    }

    /// Writes the export; `own_files` are those of the store.
    fn deliver(&self, bytes: &[u8], own_files: &[PathBuf]) -> Result<(), StateError> {
        let Some(output) = &self.output else {
            output::write(bytes);
            return Ok(());
        };
        let is_same = |own: &Path| matches!((own.canonicalize(), output.canonicalize()), (Ok(own), Ok(output)) if own == output);
        if own_files.iter().any(|own| is_same(own)) {
            return Err(StateError::Own(output.clone()));
        }
        warn("the file contains secrets in the clear: delete it after use");
        write_private(output, bytes, self.force)
    }
}

/// Writes a file that only its owner can read, atomically.
fn write_private(file: &Path, bytes: &[u8], overwrite: bool) -> Result<(), StateError> {
    write_file(file, bytes, PRIVATE_FILE, overwrite).map_err(|error| {
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            StateError::Exists(file.to_owned())
        } else {
            StateError::Write { file: file.to_owned(), error }
        }
    })
}

fn with_provider(mut record: Record, providers: &[(&str, String)]) -> Record {
    if let Some((_, provider)) = providers.iter().find(|(package, _)| *package == record.key.package) {
        record.object.provider.clone_from(provider);
    }
    record
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn a_file_is_not_overwritten_without_being_asked_and_belongs_to_its_owner() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("terraform.tfstate");
        write_private(&file, b"one", false).expect("written");
        assert_eq!(isthmus_platform::files::mode(&std::fs::metadata(&file).expect("a file")) & 0o777, 0o600);
        let error = write_private(&file, b"two", false).expect_err("it is there");
        assert!(error.to_string().contains("--force"), "{error}");
        assert_eq!(std::fs::read(&file).expect("a file"), b"one");
        write_private(&file, b"two", true).expect("overwritten");
        assert_eq!(std::fs::read(&file).expect("a file"), b"two");
        assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 1);
    }
}
