//! Trusted CAs: those of the system, or of SSL_CERT_FILE and SSL_CERT_DIR.
//!
//! On Linux the rules are those of Go programs, so that the same CAs are trusted as by OpenTofu:
//! SSL_CERT_FILE replaces only the system's file, and SSL_CERT_DIR only its directories. So a file
//! with the CA of a company does not remove the others. An unreadable file is no error by itself,
//! because the other CAs may suffice; but it is reported when a certificate is not trusted.

use std::path::{Path, PathBuf};

use rustls::pki_types::CertificateDer;
use rustls_native_certs::{CertificateResult, load_certs_from_paths, load_native_certs};
use webpki::anchor_from_trusted_cert;

use isthmus_common::Environment;
use isthmus_platform::IS_LINUX;

const FILE: &str = "SSL_CERT_FILE";
const DIRECTORYS: &str = "SSL_CERT_DIR";

/// Files with all CAs on Linux systems; the first existing one counts.
const SYSTEM_FILES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// Directories with a file for each CA.
const SYSTEM_DIRECTORYS: [&str; 2] = ["/etc/ssl/certs", "/etc/pki/tls/certs"];

/// Configured locations of trusted CAs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Authorities {
    /// A file of certificates in PEM, in place of the system's.
    pub file: Option<PathBuf>,
    /// Directories of such files, in place of the system's; empty means the system's.
    pub directories: Vec<PathBuf>,
}

/// The trusted CAs.
#[derive(Debug)]
pub(crate) struct Trusted {
    /// Valid X.509 certificates, at least one.
    pub(crate) certificates: Vec<CertificateDer<'static>>,
    /// The locations that could not be read.
    pub(crate) unread: Option<String>,
}

impl Authorities {
    /// The locations in the environment.
    pub(crate) fn from_environment(environment: &Environment) -> Self {
        let directories = environment.path(DIRECTORYS).unwrap_or_default();
        let directories =
            std::env::split_paths(&directories).filter(|directory| !directory.as_os_str().is_empty());
        Self { file: environment.path(FILE), directories: directories.collect() }
    }

    /// Reads them, and adds others.
    pub(crate) fn read(&self, others: &[CertificateDer<'static>]) -> Result<Trusted, String> {
        let mut certificates = Vec::new();
        let mut unread = Vec::new();
        let mut take = |found: CertificateResult, variable: Option<&str>| {
            if let (Some(variable), [error, ..]) = (variable, found.errors.as_slice()) {
                unread.push(format!("{variable}: {error}"));
            }
            certificates.extend(found.certs);
        };
        if IS_LINUX || *self != Self::default() {
            let named = self.file.as_deref();
            let file = named.or_else(|| SYSTEM_FILES.iter().map(Path::new).find(|file| file.exists()));
            take(load_certs_from_paths(file, None), named.map(|_| FILE));
            let named = (!self.directories.is_empty()).then_some(DIRECTORYS);
            for directory in self.all_directories() {
                take(load_certs_from_paths(None, Some(directory)), named);
            }
        } else {
            take(load_native_certs(), None);
        }
        certificates.extend(others.iter().cloned());
        // Directories repeat the file's contents.
        certificates.sort_unstable_by(|one, other| one.as_ref().cmp(other.as_ref()));
        certificates.dedup();
        certificates.retain(|certificate| anchor_from_trusted_cert(certificate).is_ok());
        let unread = (!unread.is_empty()).then(|| unread.join("; "));
        if certificates.is_empty() {
            let why = unread.map_or_else(String::new, |unread| format!(": {unread}"));
            return Err(format!("no certificate authority is known{why}"));
        }
        Ok(Trusted { certificates, unread })
    }

    fn all_directories(&self) -> Vec<&Path> {
        if self.directories.is_empty() {
            SYSTEM_DIRECTORYS.iter().map(Path::new).collect()
        } else {
            self.directories.iter().map(PathBuf::as_path).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use isthmus_test_registry::Registry;

    use super::*;

    #[test]
    fn variables_name_a_file_and_directories() {
        let of = |variables: &[(&str, &str)]| {
            Authorities::from_environment(&Environment::from_iter(variables.iter().copied()))
        };
        assert_eq!(of(&[(FILE, ""), (DIRECTORYS, "")]), Authorities::default());
        let named = of(&[(FILE, "/a.pem"), (DIRECTORYS, "/b::/c")]);
        assert_eq!(named.file, Some("/a.pem".into()));
        assert_eq!(named.all_directories(), [Path::new("/b"), Path::new("/c")]);
        let alone = of(&[(FILE, "/a.pem")]);
        assert_eq!(
            alone.all_directories(),
            SYSTEM_DIRECTORYS.map(Path::new),
            "the rest of the world stays known"
        );
    }

    #[test]
    fn what_is_named_is_trusted_and_what_cannot_be_read_is_told() {
        let directory = tempfile::tempdir().expect("a directory");
        let (one, other) = (Registry::start(), Registry::start());
        let (file, empty) = (directory.path().join("one.pem"), directory.path().join("empty"));
        fs::write(&file, one.authority_pem()).expect("a file");
        fs::create_dir(&empty).expect("a directory");
        // Without the system's, which are in its directories if no others are configured.
        let directories = vec![empty];
        let known = |authorities: &Authorities, others: &[CertificateDer<'static>]| {
            authorities.read(others).map(|trusted| (trusted.certificates.len(), trusted.unread))
        };
        let authorities = Authorities { file: Some(file), directories: directories.clone() };
        assert_eq!(known(&authorities, &[]), Ok((1, None)));
        assert_eq!(known(&authorities, &[other.authority()]), Ok((2, None)));

        let missing = Authorities { file: Some(directory.path().join("missing.pem")), directories };
        let (count, unread) = known(&missing, &[other.authority()]).expect("somebody is known");
        let unread = unread.expect("it is not there");
        assert!(
            count == 1 && unread.starts_with("SSL_CERT_FILE: ") && unread.contains("missing.pem"),
            "{unread}"
        );
        let error = known(&missing, &[]).expect_err("nobody is known");
        assert!(error.starts_with("no certificate authority is known: SSL_CERT_FILE: "), "{error}");
    }
}
