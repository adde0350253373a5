//! `isthmus.toml` beside a project file: names of packages that the user has chosen.
//!
//! It is read where an SDK is made (`pulumi package add`, `pulumi install`), and the SDK contains
//! what it says about the package: programs, stacks and the plugin agree until the SDK is made anew.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Project, read_file};
use isthmus_common::file_fault::FileFault;
use isthmus_package::names::choices::{ChosenName, NameChoices, PropertyNames, SingleItems};
use isthmus_package::names::plain_results::PlainResults;

/// The file's name.
pub const FILE: &str = "isthmus.toml";

/// The file of a project.
#[derive(Clone, Debug)]
pub struct NamesFile {
    packages: BTreeMap<String, PackageNames>,
}

/// What it says about a package.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct PackageNames {
    property_names: PropertyNames,
    single_items: SingleItems,
    types: BTreeMap<String, ChosenName>,
    properties: BTreeMap<String, BTreeMap<String, ChosenName>>,
    /// Terraform names, as for `--exclude`.
    pub exclude: Vec<String>,
    plain_results: Option<PlainResults>,
}

#[derive(Debug, thiserror::Error)]
pub enum NamesFileError {
    #[error("failed to read {path}", path = path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("invalid {path}: {fault}\nhelp: `isthmus explain names` describes its tables", path = path.display())]
    Invalid { path: PathBuf, fault: FileFault },
    #[error("{path} is a link that leads out of the project, so it is not read\nhelp: put the file itself there", path = path.display())]
    Outside { path: PathBuf },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    packages: BTreeMap<String, PackageNames>,
}

impl NamesFile {
    /// The file of the project around a directory, or of the directory itself if it is in no project. Blocks on the file system.
    pub fn around(directory: &Path) -> Result<Option<Self>, NamesFileError> {
        let project = Project::around(directory);
        let directory = project.map_or_else(|| directory.to_owned(), |project| project.directory);
        let path = directory.join(FILE);
        if leads_out(&path, &directory) {
            return Err(NamesFileError::Outside { path });
        }
        let text = match read_file(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(NamesFileError::Read { path, source }),
        };
        match Self::parse(&text) {
            Ok(packages) => Ok(Some(Self { packages })),
            Err(fault) => Err(NamesFileError::Invalid { path, fault }),
        }
    }

    fn parse(text: &str) -> Result<BTreeMap<String, PackageNames>, FileFault> {
        let document = toml::from_str::<Document>(text).map_err(|error| FileFault::of_toml(text, &error))?;
        Ok(document.packages)
    }

    /// What it says about the package of this name.
    pub fn package(&self, name: &str) -> Option<&PackageNames> {
        self.packages.get(name)
    }
}

/// Whether a path is a link to something outside of a directory.
fn leads_out(path: &Path, directory: &Path) -> bool {
    let inside = |real: PathBuf| directory.canonicalize().is_ok_and(|directory| real.starts_with(directory));
    path.is_symlink() && path.canonicalize().is_ok_and(|real| !inside(real))
}

impl PackageNames {
    pub fn choices(&self) -> NameChoices {
        NameChoices {
            property_names: self.property_names,
            single_items: self.single_items,
            types: self.types.clone(),
            properties: self.properties.clone(),
            plain_results: self.plain_results.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_by_package() {
        let text = r#"
            [packages.aws]
            property-names = "terraform"
            single-items = "lists"
            exclude = ["aws_old"]
            plain-results = ["data.aws_user"]
            [packages.aws.types]
            aws_vpc = "Network"
            "data.aws_vpc" = "findNetwork"
            [packages.aws.properties.aws_vpc]
            "rule.to_port" = "upTo"
        "#;
        let packages = NamesFile::parse(text).expect("it is valid");
        let json = serde_json::to_string(&packages["aws"].choices()).expect("text");
        assert_eq!(
            json,
            "{\"propertyNames\":\"terraform\",\"singleItems\":\"lists\",\"types\":{\"aws_vpc\":\"Network\",\
             \"data.aws_vpc\":\"findNetwork\"},\"properties\":{\"aws_vpc\":{\"rule.to_port\":\"upTo\"}},\
             \"plainResults\":[\"data.aws_user\"]}"
        );
        assert_eq!(packages["aws"].exclude, ["aws_old"]);
    }

    #[test]
    fn what_is_not_understood_is_an_error_with_its_line() {
        for (text, reason) in [
            (
                "[packages.a]\nproperty-name = \"terraform\"",
                "line 2, column 1: unknown field, expected one of `property-names`",
            ),
            ("[packages.a]\nproperty-names = \"snake\"", "line 2, column 18: unknown variant, expected"),
            ("[package.a]", "line 1, column 2: unknown field, expected `packages`"),
            ("[packages.a.types]\nx = \"a b\"", "line 2, column 5: invalid name"),
            ("[packages.a]\nplain-results = [\"a\"]", "line 2, column 17: invalid function"),
        ] {
            let error = NamesFile::parse(text).expect_err(text).to_string();
            assert!(error.starts_with(reason), "{error}");
        }
    }

    #[test]
    fn it_stands_beside_the_project_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let below = directory.path().join("a/b");
        std::fs::create_dir_all(&below).expect("new directories");
        assert!(NamesFile::around(&below).expect("there is none").is_none());
        std::fs::write(directory.path().join("Pulumi.yaml"), "name: x\nruntime: yaml\n").expect("a new file");
        std::fs::write(directory.path().join(FILE), "[packages.a]\nexclude = [\"b\"]\n").expect("a new file");
        let found = NamesFile::around(&below).expect("it is valid").expect("it is there");
        assert_eq!(found.package("a").expect("it is named").exclude, ["b"]);
        assert!(found.package("b").is_none());
    }

    #[test]
    fn a_link_is_followed_within_the_project_only() {
        let directory = tempfile::tempdir().expect("a directory");
        let (project, file) = (directory.path().join("project"), directory.path().join("project").join(FILE));
        std::fs::create_dir(&project).expect("a new directory");
        std::fs::write(project.join("Pulumi.yaml"), "name: x\nruntime: yaml\n").expect("a new file");
        for (target, is_read) in [(project.join("names"), true), (directory.path().join("names"), false)] {
            std::fs::write(&target, "[packages.a]\n").expect("a new file");
            isthmus_platform::files::symlink(&target, &file).expect("a new link");
            let found = NamesFile::around(&project);
            assert_eq!(found.is_ok(), is_read, "{target:?}: {found:?}");
            std::fs::remove_file(&file).expect("it is ours");
        }
    }
}
