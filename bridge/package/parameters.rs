//! Parameters: the provider of a package, from the command line and from SDKs.
//!
//! `pulumi package add terraform-provider …` passes command line arguments ([`Arguments`]); the
//! result is written into every generated SDK and passed back at each run ([`Parameter`]). Both
//! formats are the Go bridge's, so that existing projects and SDKs work with either bridge.

use std::env::consts::EXE_SUFFIX;

use isthmus_common::quoted;

mod arguments;
mod flags;
mod value;

pub use arguments::{Arguments, ArgumentsError, LocalArguments, RemoteArguments, Source, is_path};
pub use flags::FlagError;
pub use value::{Parameter, ParameterError, ParameterSource};

/// A session has one Terraform provider; a second one is rejected.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("provider is already parameterized to ({name}, {version})")]
pub struct AlreadyParameterized {
    /// The provider's type.
    pub name: String,
    /// The provider's version.
    pub version: String,
}

/// Prefix of the type in the file name of every provider.
pub const EXECUTABLE_PREFIX: &str = "terraform-provider-";

/// The version of a package whose provider is a file, which has no known version.
pub const LOCAL_VERSION: &str = "0.0.0";

/// The path does not contain the provider's type.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{quoted} is not the path of a file that is called terraform-provider-NAME, so its package has no name; rename \
     the file, or, to add a package, choose its name: `pulumi package add terraform-provider -- {path} --provider-name NAME`",
    quoted = quoted(.path)
)]
pub struct NotAProviderPath {
    pub path: String,
}

/// A path or name without the suffix of programs, whose letters have no case where there is one.
fn without_suffix<'p>(path: &'p str, suffix: &str) -> &'p str {
    match path.len().checked_sub(suffix.len()).and_then(|start| path.split_at_checked(start)) {
        Some((start, end)) if end.eq_ignore_ascii_case(suffix) => start,
        Some(_) | None => path,
    }
}

/// The type of the provider in a file: what follows the last `terraform-provider-` of its path, without the suffix of programs.
pub fn local_provider_type(path: &str) -> Result<&str, NotAProviderPath> {
    match without_suffix(path, EXE_SUFFIX).rsplit_once(EXECUTABLE_PREFIX) {
        Some((_, provider_type)) if !provider_type.is_empty() => Ok(provider_type),
        Some(_) | None => Err(NotAProviderPath { path: path.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_provider_is_called_by_the_end_of_its_path() {
        assert_eq!(local_provider_type("./bin/terraform-provider-random"), Ok("random"));
        assert_eq!(local_provider_type("/terraform-provider-a/terraform-provider-b_v1"), Ok("b_v1"));
        for path in ["./random", "./terraform-provider-"] {
            let error = local_provider_type(path).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("{path:?} is not the path of a file that is called")),
                "{error}"
            );
            assert!(
                error.contains("terraform-provider -- ./") && error.contains("--provider-name NAME`"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_suffix_of_programs_has_no_case() {
        for (path, expected) in [
            (r"C:\terraform-provider-a.exe", r"C:\terraform-provider-a"),
            ("terraform-provider-a.EXE", "terraform-provider-a"),
            ("terraform-provider-a.é", "terraform-provider-a.é"),
            ("exe", "exe"),
        ] {
            assert_eq!(without_suffix(path, ".exe"), expected);
        }
        assert_eq!(without_suffix("terraform-provider-a", ""), "terraform-provider-a");
    }

    #[test]
    fn a_path_of_windows_is_shown_as_it_is() {
        let error = local_provider_type(r"C:\bin\random").unwrap_err().to_string();
        assert!(error.starts_with(r#""C:\bin\random" is not the path"#), "{error}");
    }

    #[test]
    fn a_second_provider_is_refused_with_the_first_ones_name() {
        let error = AlreadyParameterized { name: "random".into(), version: "3.3.0".into() };
        assert_eq!(error.to_string(), "provider is already parameterized to (random, 3.3.0)");
    }
}
