//! All files of a reference, each made when it is asked for.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::html;
use super::member::{Member, MemberError, Members, PageKind};
use super::page::{Digest, Page, digest};
use super::upstream::Documents;
use isthmus_package::catalogue::{Package, TokenError};
use isthmus_package::schema::in_parallel;

/// The reference of a package.
#[derive(Debug)]
pub struct Site {
    package: Arc<Package>,
    members: Members,
    documents: Arc<Documents>,
    digests: OnceLock<Vec<Digest>>,
    search: OnceLock<String>,
}

/// A file of it.
#[derive(Debug)]
pub struct File {
    pub content_type: &'static str,
    pub content: String,
    /// The version that it has for ever, which links to it name as their query; `None` if it has none.
    pub version: Option<&'static str>,
}

/// Members whose schemas are decoded together; few are in memory at a time.
const TOGETHER: usize = 64;

const HTML: &str = "text/html; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

const INDEX: &str = "index.html";
const STYLE: &str = "style.css";
const SCRIPT: &str = "script.js";
const SEARCH: &str = "search.js";

impl Site {
    pub fn new(package: Arc<Package>, documents: Arc<Documents>) -> Self {
        let (digests, search) = (OnceLock::new(), OnceLock::new());
        Self { members: Members::of(&package), package, documents, digests, search }
    }

    /// The file at a path such as `resources/random_pet.html`; `None` if there is none.
    pub fn file(&self, path: &str) -> Option<File> {
        let (content_type, content) = match path {
            "" | INDEX => (HTML, html::index(&self.package, &self.members, self.digests())),
            STYLE => ("text/css; charset=utf-8", html::STYLE.to_owned()),
            SCRIPT => (JAVASCRIPT, html::SCRIPT.to_owned()),
            SEARCH => (JAVASCRIPT, self.search().to_owned()),
            _ => (HTML, self.page_at(self.members.at(path)?)),
        };
        let version = matches!(path, STYLE | SCRIPT).then(html::version);
        Some(File { content_type, content, version })
    }

    /// The page about a member.
    ///
    /// # Errors
    /// When its schema is invalid.
    pub fn page(&self, member: &Member) -> Result<Page, TokenError> {
        let mut page = Page::of(&self.package, member)?;
        self.documents.complete(member, &mut page);
        Ok(page)
    }

    /// The member that a user names.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn find(&self, wanted: &str) -> Result<&Member, MemberError> {
        self.members.find(&self.package.identity().name, wanted)
    }

    /// The page of an unknown path.
    pub fn not_found(&self) -> String {
        html::not_found(&self.package)
    }

    /// The paths of all files.
    pub fn paths(&self) -> Vec<String> {
        let fixed = [INDEX, STYLE, SCRIPT, SEARCH].map(str::to_owned);
        fixed.into_iter().chain(self.members.all().iter().map(Member::path)).collect()
    }

    /// What the search looks in. A large provider's takes a while, so it is made before it is needed.
    pub fn search(&self) -> &str {
        self.search.get_or_init(|| search_script(&self.members, self.digests()))
    }

    /// What lists have of each member.
    fn digests(&self) -> &[Digest] {
        self.digests.get_or_init(|| {
            let all = self.members.all().chunks(TOGETHER);
            all.flat_map(|some| in_parallel(some, |member| digest(&self.package, member))).collect()
        })
    }

    fn page_at(&self, member: &Member) -> String {
        match self.page(member) {
            Ok(page) => html::member(&self.package, &page, self.documents.of(member)),
            Err(error) => html::broken(&self.package, member, &isthmus_common::error_chain(&error)),
        }
    }
}

/// What the search of a page looks in: the names of all members and of their properties. A digest belongs to each member.
///
/// It is a script rather than data, because a browser reads no data beside a page that is a file.
fn search_script(members: &Members, digests: &[Digest]) -> String {
    let entries: Vec<Value> =
        members.all().iter().zip(digests).map(|(member, digest)| entry(member, digest)).collect();
    let kinds = PageKind::ALL.map(PageKind::name);
    format!("isthmusReference={};\n", json!({ "kinds": kinds, "members": entries }))
}

/// PageKind, Pulumi's name, Terraform's name, path, properties.
fn entry(member: &Member, digest: &Digest) -> Value {
    let name = if member.kind == PageKind::Configuration { "configuration" } else { member.name() };
    let kind = PageKind::ALL.iter().position(|kind| *kind == member.kind);
    json!([kind, name, member.terraform, member.path(), digest.properties.join(" ")])
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::page::digest;
    use isthmus_package::testing::package;

    #[test]
    fn every_member_is_in_it_even_with_an_invalid_schema() {
        let package = package();
        let members = Members::of(&package);
        let digests: Vec<Digest> = members.all().iter().map(|member| digest(&package, member)).collect();
        let script = search_script(&members, &digests);
        let data = script.strip_prefix("isthmusReference=").and_then(|rest| rest.strip_suffix(";\n"));
        let data: Value = serde_json::from_str(data.expect("one assignment")).expect("JSON");
        let members: Vec<String> =
            data["members"].as_array().expect("a list").iter().map(ToString::to_string).collect();
        assert_eq!(
            members,
            [
                r#"[0,"configuration","test","configuration.html","proxy url"]"#,
                r#"[1,"Broken","test_broken","resources/test_broken.html",""]"#,
                r#"[1,"Pet","test_pet","resources/test_pet.html","id length"]"#,
                r#"[2,"getPet","test_pet","data-sources/test_pet.html","id length"]"#,
                r#"[3,"parseName","parse_name","functions/parse_name.html","name"]"#,
            ]
        );
    }
}
