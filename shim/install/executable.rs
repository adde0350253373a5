//! The program of a provider that somebody put somewhere.

use std::path::{Path, PathBuf};

/// The program that `prefix` leads to.
///
/// A path names the beginning of a file's name, since released providers carry their version in it: with
/// `./terraform-provider-random` a file `terraform-provider-random_v3.6.0_x5` is found too. A file of exactly that name
/// comes first, then the lexically first one that goes on with `_` or `.`, as Terraform has it; files that may be executed
/// go before the archives and checksums that lie beside them. Where there is none the path itself is returned, so that
/// launching it says what is wrong with it.
pub fn find_executable(prefix: &Path) -> PathBuf {
    if prefix.is_file() {
        return prefix.to_owned();
    }
    let (Some(directory), Some(name)) = (prefix.parent(), prefix.file_name().and_then(|name| name.to_str()))
    else {
        return prefix.to_owned();
    };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    find_in_directory(directory, name).ok().flatten().unwrap_or_else(|| prefix.to_owned())
}

/// The program in a directory whose name is `name`, or goes on behind it with `_` or `.`.
///
/// The lexically first one counts, as Terraform has it, but files that may be executed go before the archives and checksums
/// that lie beside them.
pub(super) fn find_in_directory(directory: &Path, name: &str) -> std::io::Result<Option<PathBuf>> {
    let candidates = std::fs::read_dir(directory)?
        .filter_map(Result::ok)
        .filter(|entry| {
            let file = entry.file_name();
            let rest = file.to_str().and_then(|file| file.strip_prefix(name));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.'])) && entry.path().is_file()
        })
        .map(|entry| entry.path());
    Ok(candidates.min_by_key(|path| (!is_executable(path), path.clone())))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("exe"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(files: &[&str]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        for file in files {
            std::fs::write(directory.path().join(file), "").expect("a file");
        }
        directory
    }

    #[test]
    fn a_file_may_carry_its_version_behind_the_name() {
        let directory =
            directory(&["terraform-provider-random_v3.6.0_x5", "terraform-provider-randomizer", "README.md"]);
        let found = find_executable(&directory.path().join("terraform-provider-random"));
        assert_eq!(found, directory.path().join("terraform-provider-random_v3.6.0_x5"));
    }

    #[cfg(unix)]
    #[test]
    fn what_can_be_executed_goes_before_what_lies_beside_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = directory(&["terraform-provider-random.zip", "terraform-provider-random_v3.6.0"]);
        let program = directory.path().join("terraform-provider-random_v3.6.0");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        assert_eq!(find_executable(&directory.path().join("terraform-provider-random")), program);
    }

    #[test]
    fn a_file_of_exactly_that_name_comes_first() {
        let directory = directory(&["terraform-provider-random.exe", "terraform-provider-random"]);
        let wanted = directory.path().join("terraform-provider-random");
        assert_eq!(find_executable(&wanted), wanted);
    }

    #[test]
    fn what_is_not_there_is_left_to_the_launcher_to_complain_about() {
        let directory = directory(&[]);
        let wanted = directory.path().join("terraform-provider-random");
        assert_eq!(find_executable(&wanted), wanted);
    }
}
