//! `isthmus.toml` beside a project file: names of packages that the user has chosen.
//!
//! It is read where an SDK is made (`pulumi package add`, `pulumi install`), and the SDK contains
//! what it says about the package: programs, stacks and the plugin agree until the SDK is made anew.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Project, read_file};
use crate::names::choices::{ChosenName, NameChoices, PropertyNames, SingleItems};
use crate::names::plain_results::PlainResults;

/// The file's name.
pub(crate) const FILE: &str = "isthmus.toml";

/// The file of a project.
#[derive(Clone, Debug)]
pub(crate) struct NamesFile {
    packages: BTreeMap<String, PackageNames>,
}

/// What it says about a package.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub(crate) struct PackageNames {
    property_names: PropertyNames,
    single_items: SingleItems,
    types: BTreeMap<String, ChosenName>,
    properties: BTreeMap<String, BTreeMap<String, ChosenName>>,
    /// Terraform names, as for `--exclude`.
    pub(crate) exclude: Vec<String>,
    plain_results: Option<PlainResults>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum NamesFileError {
    #[error("failed to read {path}", path = path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("invalid {path}: {reason}\nhelp: `isthmus explain names` describes its tables", path = path.display())]
    Invalid { path: PathBuf, reason: String },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    packages: BTreeMap<String, PackageNames>,
}

impl NamesFile {
    /// The file of the project around a directory, or of the directory itself if it is in no project. Blocks on the file system.
    pub(crate) fn around(directory: &Path) -> Result<Option<Self>, NamesFileError> {
        let project = Project::around(directory);
        let path = project.map_or_else(|| directory.to_owned(), |project| project.directory).join(FILE);
        let text = match read_file(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(NamesFileError::Read { path, source }),
        };
        match Self::parse(&text) {
            Ok(packages) => Ok(Some(Self { packages })),
            Err(error) => {
                Err(NamesFileError::Invalid { path, reason: error.to_string().trim_end().to_owned() })
            }
        }
    }

    fn parse(text: &str) -> Result<BTreeMap<String, PackageNames>, toml::de::Error> {
        Ok(toml::from_str::<Document>(text)?.packages)
    }

    /// What it says about the package of this name.
    pub(crate) fn package(&self, name: &str) -> Option<&PackageNames> {
        self.packages.get(name)
    }
}

impl PackageNames {
    pub(crate) fn choices(&self) -> NameChoices {
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
            ("[packages.a]\nproperty-name = \"terraform\"", "property-name"),
            ("[packages.a]\nproperty-names = \"snake\"", "snake"),
            ("[package.a]", "package"),
            ("[packages.a.types]\nx = \"a b\"", "invalid name \"a b\""),
            ("[packages.a]\nplain-results = [\"a\"]", "invalid function \"a\""),
        ] {
            let error = NamesFile::parse(text).expect_err(text).to_string();
            assert!(error.contains(reason) && error.contains("line "), "{error}");
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
}
