//! Which error has which code, by its type. What has none is not listed: its text says all there is to say.

use std::io::{self, ErrorKind};

use isthmus_install::{InstallError, Trouble};
use isthmus_operations::resource::JournalError;
use isthmus_provider::plugin::{LaunchError, LaunchProblem};
use isthmus_state::{EncryptedStoreError, JournalFilesError, KeyError, StoreError};

use crate::daemon::{InstallationError, StartError};
use isthmus_context::error_code::ErrorCode;
use isthmus_context::home::{OpenStoreError, StateDirectoryError};

/// The code of a failed installation.
pub fn of_installation(error: &InstallError) -> ErrorCode {
    match error.trouble() {
        Trouble::Altered => ErrorCode::ProviderAltered,
        Trouble::CertificateDates => ErrorCode::CertificateDates,
        Trouble::CertificateNotTrusted => ErrorCode::CertificateNotTrusted,
        Trouble::NoAuthorities => ErrorCode::AuthoritiesUnread,
        Trouble::Cache => ErrorCode::DirectoryUnusable,
        Trouble::Configuration => ErrorCode::NoInstallationMethod,
        Trouble::LockFile => ErrorCode::LockFileMismatch,
        Trouble::NoSpace => ErrorCode::LittleSpace,
        Trouble::NotAuthorized => ErrorCode::NotAuthorized,
        Trouble::Offline => ErrorCode::NetworkNotUsed,
        Trouble::Origin => ErrorCode::RegistryFault,
        Trouble::Proxy => ErrorCode::ProxyFailed,
        Trouble::ProxyAuthorization => ErrorCode::ProxyAuthentication,
        Trouble::ProxySetting => ErrorCode::InvalidProxy,
        Trouble::UnknownProvider => ErrorCode::UnknownProvider,
        Trouble::UnknownVersion => ErrorCode::UnknownVersion,
        Trouble::Unreachable => ErrorCode::RegistryUnreachable,
        Trouble::Verification => ErrorCode::VerificationFailed,
    }
}

/// The code of an invalid configuration of installations.
pub fn of_configuration(error: &InstallationError) -> ErrorCode {
    match error {
        InstallationError::NoCache(_) => ErrorCode::NoHomeDirectory,
        InstallationError::Config(_) => ErrorCode::InvalidCliConfiguration,
        InstallationError::Lock(_) => ErrorCode::LockFileUnreadable,
    }
}

/// The code of a provider that cannot be used.
pub fn of_start(error: &StartError) -> Option<ErrorCode> {
    match error {
        StartError::Launch(error) => Some(of_launch(error)),
        StartError::Altered(_) => Some(ErrorCode::ProviderAltered),
        StartError::Enforced { .. } => Some(ErrorCode::VerificationFailed),
        StartError::Provider(_) | StartError::Schema { .. } => Some(ErrorCode::ProviderFailed),
        StartError::NotOurs { .. } | StartError::EndedAgain { .. } => Some(ErrorCode::ProviderEnded),
        StartError::Replacement { source, .. } => of_start(source),
        StartError::Reattach(_) | StartError::OtherSchema => None,
    }
}

/// The code of a provider that does not start.
fn of_launch(error: &LaunchError) -> ErrorCode {
    match error.problem() {
        LaunchProblem::Executable(_) => ErrorCode::ProviderFileUnusable,
        LaunchProblem::EndedEarly | LaunchProblem::OutputClosed => ErrorCode::ProviderEnded,
        _ => ErrorCode::ProviderFailed,
    }
}

/// The code of a state store that cannot be opened.
pub fn of_open_store(error: &OpenStoreError) -> ErrorCode {
    match error {
        OpenStoreError::Place(StateDirectoryError::Home(_)) => ErrorCode::NoHomeDirectory,
        OpenStoreError::Place(StateDirectoryError::Untrusted(_)) => ErrorCode::NotTrusted,
        OpenStoreError::EncryptedStore(error) => of_encrypted_store(error),
    }
}

/// The code of a failure of the encrypted store.
pub fn of_encrypted_store(error: &EncryptedStoreError) -> ErrorCode {
    match error {
        EncryptedStoreError::Store(error) => of_store(error),
        EncryptedStoreError::Key(error) => of_key(error),
        EncryptedStoreError::Record { .. } | EncryptedStoreError::Incomplete { .. } => {
            ErrorCode::StoreDamaged
        }
        EncryptedStoreError::Envelope { .. } => ErrorCode::StoreNewer,
        _ => ErrorCode::StoreUnusable,
    }
}

fn of_key(error: &KeyError) -> ErrorCode {
    match error {
        KeyError::Missing { .. } | KeyError::NotSet { .. } | KeyError::Read { .. } => ErrorCode::KeyMissing,
        KeyError::Create { error, .. } => of_write(error).unwrap_or(ErrorCode::DirectoryUnusable),
        KeyError::Untrusted { .. } => ErrorCode::NotTrusted,
        KeyError::Malformed { .. } => ErrorCode::KeyMalformed,
        KeyError::WrongKey { .. } => ErrorCode::KeyWrong,
        KeyError::Damaged { .. } => ErrorCode::StoreDamaged,
        KeyError::Form { .. } => ErrorCode::StoreNewer,
        _ => ErrorCode::StoreUnusable,
    }
}

/// The code of a disk that nothing can be written to.
fn of_write(error: &io::Error) -> Option<ErrorCode> {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some(ErrorCode::LittleSpace),
        ErrorKind::ReadOnlyFilesystem => Some(ErrorCode::DirectoryUnusable),
        _ => None,
    }
}

/// The code of a failure of a store.
pub fn of_store(error: &StoreError) -> ErrorCode {
    match error {
        error if error.is_locked() => ErrorCode::StoreLocked,
        error if error.is_full() => ErrorCode::LittleSpace,
        StoreError::Corrupt { .. } | StoreError::Damaged { .. } => ErrorCode::StoreDamaged,
        StoreError::Format { .. } => ErrorCode::StoreNewer,
        StoreError::Foreign { .. } => ErrorCode::StoreForeign,
        StoreError::Create { .. } => ErrorCode::DirectoryUnusable,
        _ => ErrorCode::StoreUnusable,
    }
}

/// The code of a journal that cannot be read.
pub fn of_journal(error: &JournalError) -> ErrorCode {
    match error {
        JournalError::Files(JournalFilesError::Directory { error, .. }) => {
            of_write(error).unwrap_or(ErrorCode::JournalUnreadable)
        }
        JournalError::Files(JournalFilesError::Key(KeyError::Create { error, .. })) => {
            of_write(error).unwrap_or(ErrorCode::DirectoryUnusable)
        }
        JournalError::Files(_) => ErrorCode::JournalUnreadable,
        JournalError::Store(error) => of_encrypted_store(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Error;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_full_disk_has_one_code_whatever_is_written() {
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded] {
            let failed = || Error::from(kind);
            let installation = [
                InstallError::Write { path: "/cache".into(), source: failed() },
                InstallError::Copy { directory: "/mirror".into(), source: failed() },
            ];
            assert_eq!(installation.map(|error| of_installation(&error)), [ErrorCode::LittleSpace; 2]);
            let store = StoreError::Create { path: "/home".into(), error: failed() };
            assert_eq!(of_store(&store), ErrorCode::LittleSpace);
        }
        let full = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(13), None);
        let store = StoreError::Database { path: "/home".into(), doing: "writing", error: Arc::new(full) };
        assert_eq!(of_store(&store), ErrorCode::LittleSpace);
        let read_only =
            InstallError::Write { path: "/cache".into(), source: ErrorKind::ReadOnlyFilesystem.into() };
        assert_eq!(of_installation(&read_only), ErrorCode::DirectoryUnusable);
        for (kind, code) in [
            (ErrorKind::StorageFull, ErrorCode::LittleSpace),
            (ErrorKind::ReadOnlyFilesystem, ErrorCode::DirectoryUnusable),
            (ErrorKind::InvalidData, ErrorCode::JournalUnreadable),
        ] {
            let journal = JournalFilesError::Directory { path: "/home".into(), error: kind.into() };
            assert_eq!(of_journal(&journal.into()), code);
        }
        let key = || KeyError::Create { path: "/home".into(), error: ErrorKind::StorageFull.into() };
        assert_eq!(of_journal(&JournalFilesError::from(key()).into()), ErrorCode::LittleSpace);
        assert_eq!(of_encrypted_store(&key().into()), ErrorCode::LittleSpace);
    }
}
