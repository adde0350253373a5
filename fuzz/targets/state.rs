//! State of Terraform and its stacks.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use bytes::Bytes;
use isthmus_state::stacks::{SequenceFile, StacksPlan, StacksState, differences};
use isthmus_state::tfstate::TfState;
use isthmus_state::{ComponentAddress, ObjectAddress, ProviderConfigAddress};

/// Addresses of objects, components and provider configurations.
pub(crate) fn addresses(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        one_form::<ObjectAddress>(text);
        one_form::<ComponentAddress>(text);
        one_form::<ProviderConfigAddress>(text);
    }
}

fn one_form<Address>(text: &str)
where
    Address: FromStr<Err: Debug + Display + PartialEq> + Display + Debug + PartialEq,
{
    match text.parse::<Address>() {
        Ok(address) => {
            let written = address.to_string();
            assert_eq!(written.parse::<Address>().as_ref(), Ok(&address), "{written}");
        }
        Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
    }
}

/// Records of a stack's state or plan.
pub(crate) fn stack_records(bytes: &[u8]) {
    let bytes = Bytes::copy_from_slice(bytes);
    let Some(kind) = SequenceFile::kind_of(&bytes) else { return };
    let Ok(file) = SequenceFile::read(&bytes, kind) else { return };
    let written = Bytes::from(file.write());
    assert_eq!(SequenceFile::read(&written, kind).ok().as_ref(), Some(&file));
    match file {
        SequenceFile::State(records) => {
            let shown = StacksState::read_to_show(records.clone());
            if let Ok(state) = StacksState::read(records) {
                assert!(shown.is_ok(), "what can be used can be shown: {shown:?}");
                written_again(state);
            }
        }
        SequenceFile::Plan(records) => {
            let _ = StacksPlan::read(records, None);
        }
    }
}

/// What is written has one form, and the same records.
fn written_again(state: StacksState) {
    let written = state.write();
    let again = StacksState::read(written.clone()).unwrap_or_else(|error| panic!("{error:?}"));
    assert!(differences(&again.records, &again.records).is_empty());
    assert_eq!(again.write(), written);
}

/// `terraform.tfstate`.
pub(crate) fn tfstate(bytes: &[u8]) {
    let Ok(state) = TfState::parse(bytes) else { return };
    let Ok(written) = state.write() else { return };
    let again = TfState::parse(written.as_bytes()).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(again.write().ok().as_ref(), Some(&written));
    assert_eq!(again.instances.len(), state.instances.len());
}
