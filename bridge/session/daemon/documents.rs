//! Package schemas and mappings: from the schema cache, or rendered.
//!
//! Both are functions of the provider's schema, the package's identity, the version of the plugin, and the
//! sources that isthmus was built from ([`SOURCES`]). All processes read a document that one of them rendered
//! from the cache, whether the provider runs or not. A document can have hundreds of megabytes, so isthmus
//! writes it to the cache in parts and reads it from there in chunks. Only without a cache is it in memory as
//! a whole.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use isthmus_provider::schema_cache::{Document, SchemaCache};
use serde::Serialize;

use super::Session;
use super::documentation::Documentation;
use crate::engine::Severity;
use isthmus_package::catalogue::{Package, TokenError};
use isthmus_package::mapping;
use isthmus_package::schema::{self, Rendering};

/// Identifies the sources of this build, in 16 hexadecimal digits, as the build script hashes them.
const SOURCES: &str = env!("ISTHMUS_SOURCES");

/// The text of a document.
#[derive(Clone, Debug)]
pub enum Text {
    Memory(Bytes),
    Cached(Arc<Document>),
}

/// A document, and what is to be said of it.
#[derive(Debug)]
struct Rendered {
    text: Text,
    warnings: Vec<String>,
    /// Why it was not cached.
    failure: Option<String>,
}

impl Text {
    /// In bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Memory(text) => u64::try_from(text.len()).unwrap_or(u64::MAX),
            Self::Cached(document) => document.size(),
        }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::Memory(text.into())
    }
}

impl Session {
    /// The schema of the session's package. Warns of members that are left out.
    ///
    /// # Errors
    /// When a part of the provider's schema cannot be read.
    pub async fn package_schema(&self, package: Arc<Package>) -> Result<Text, TokenError> {
        let plugin_version = self.context().plugin_version().to_string();
        let of = Arc::clone(&package);
        let Some(documentation) = self.documentation().cloned() else {
            return self
                .document(&of, move |cache| {
                    let options = ["schema", plugin_version.as_str()].map(str::as_bytes);
                    rendered(cache, &package, &options, || schema::package_schema(&package, &plugin_version))
                })
                .await;
        };
        let text = self.described_schema(package, plugin_version, documentation.clone()).await?;
        let written = isthmus_common::blocking(move || documentation.write_overview(&of)).await;
        if let Some((file, Err(error))) = written {
            self.warn_now([format!("failed to write {}: {error}", file.display())]).await;
        }
        Ok(text)
    }

    /// The schema with the provider's own documentation.
    async fn described_schema(
        &self,
        package: Arc<Package>,
        plugin_version: String,
        Documentation { documents, .. }: Documentation,
    ) -> Result<Text, TokenError> {
        let of = Arc::clone(&package);
        self.document(&of, move |cache| {
            let digest = documents.digest();
            let options = [&b"schema"[..], plugin_version.as_bytes(), &digest];
            rendered(cache, &package, &options, || {
                schema::described_schema(&package, &plugin_version, &documents.described(&package))
            })
        })
        .await
    }

    /// The mapping of the session's package. Warns of members that are left out.
    ///
    /// # Errors
    /// When a part of the provider's schema cannot be read.
    pub async fn mapping(&self, package: Arc<Package>) -> Result<Text, TokenError> {
        let of = Arc::clone(&package);
        self.document(&of, move |cache| {
            rendered(cache, &package, &[b"mapping"], || mapping::rendering(&package))
        })
        .await
    }

    async fn document(
        &self,
        package: &Package,
        find: impl FnOnce(Option<&SchemaCache>) -> Result<Rendered, TokenError> + Send + 'static,
    ) -> Result<Text, TokenError> {
        let cache = self.daemon().schemas.clone();
        // What another session renders meanwhile is in the cache then.
        let rendering = self.daemon().packages.rendering(package);
        let found = {
            let _rendering = rendering.lock().await;
            isthmus_common::blocking(move || find(cache.as_ref())).await?
        };
        let runtime = if found.warnings.is_empty() { None } else { self.runtime().await };
        for warning in found.warnings {
            if !runtime.as_ref().is_some_and(|runtime| schema::is_of_another_language(&warning, runtime)) {
                self.warn(warning, "");
            }
        }
        if let Some(failure) = found.failure
            && self.daemon().should_report_cache_failure()
        {
            self.send_log(Severity::Debug, failure, "");
        }
        self.log().flush().await;
        Ok(found.text)
    }
}

/// The document of a package with these options. Blocks on the file system.
fn rendered<Content: Serialize>(
    cache: Option<&SchemaCache>,
    package: &Package,
    options: &[&[u8]],
    render: impl FnOnce() -> Rendering<Content>,
) -> Result<Rendered, TokenError> {
    let identity = package.identity();
    let (fingerprint, version) = (package.catalogue().fingerprint(), identity.version.to_string());
    let parameter = identity.parameter.encode();
    let mut key: Vec<&[u8]> = vec![
        SOURCES.as_bytes(),
        fingerprint.bytes(),
        identity.name.as_bytes(),
        version.as_bytes(),
        &parameter,
    ];
    key.extend(options);

    if let Some(document) = cache.and_then(|cache| cache.document(&key)) {
        let warnings = document.notes().to_vec();
        if let Some(text) = opened(document) {
            return Ok(Rendered { text, warnings, failure: None });
        }
    }
    let rendering = render();
    if let Some(unreadable) = rendering.unreadable() {
        return Err(unreadable.clone());
    }
    let warnings: Vec<_> = rendering.left_out.iter().map(ToString::to_string).collect();
    let kept = cache.map(|cache| cache.keep_document(&key, warnings.clone(), |to| rendering.write(to)));
    let (document, failure) = match kept.transpose() {
        Ok(document) => (document, None),
        Err(error) => {
            let reason = isthmus_common::error_chain(&error);
            (None, Some(format!("package schemas are not cached: {reason}")))
        }
    };
    let text = document.and_then(opened).unwrap_or_else(|| rendering.to_json().into());
    Ok(Rendered { text, warnings, failure })
}

/// A document's text. That of one chunk is read at once, since it is no less memory to read it later; if
/// it is damaged, it is as if it were not there. Blocks on the file system.
fn opened(document: Document) -> Option<Text> {
    match document.chunks() {
        0 | 1 => document
            .chunk(0, &mut BytesMut::new())
            .transpose()
            .ok()
            .map(|text| Text::Memory(text.unwrap_or_default())),
        _ => Some(Text::Cached(document.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use isthmus_package::parameters::Parameter;
    use isthmus_package::testing::{listable, local, package, package_of, schema as provider_schema};

    /// A cache and how often something was rendered for it.
    struct Counted {
        cache: SchemaCache,
        directory: tempfile::TempDir,
        count: Cell<usize>,
    }

    impl Counted {
        fn new() -> Self {
            let directory = tempfile::tempdir().expect("a directory");
            let cache = SchemaCache::new(directory.path().join("cache"));
            Self { cache, directory, count: Cell::default() }
        }

        fn schema(&self, package: &Package, version: &str) -> Rendered {
            let render = || {
                self.count.set(self.count.get() + 1);
                schema::package_schema(package, version)
            };
            rendered(Some(&self.cache), package, &[b"schema", version.as_bytes()], render)
                .expect("it is in memory")
        }
    }

    fn text(of: &Rendered) -> String {
        match &of.text {
            Text::Memory(text) => String::from_utf8(text.to_vec()).expect("it is text"),
            Text::Cached(document) => {
                let chunks = (0..).map_while(|number| document.chunk(number, &mut BytesMut::new()));
                let chunks: Vec<_> = chunks.map(|chunk| chunk.expect("it is whole")).collect();
                String::from_utf8(chunks.concat()).expect("it is text")
            }
        }
    }

    #[test]
    fn what_was_rendered_once_is_the_same_from_the_cache_with_its_warnings() {
        let counted = Counted::new();
        let [first, second] = [(); 2].map(|()| counted.schema(&package(), "1.4.0"));
        assert_eq!(counted.count.get(), 1);
        let expected = schema::package_schema(&package(), "1.4.0");
        assert_eq!([text(&first), text(&second)], [expected.to_json(), expected.to_json()]);
        let warnings: Vec<_> = expected.left_out.iter().map(ToString::to_string).collect();
        assert!(!warnings.is_empty());
        assert_eq!([first.warnings, second.warnings], [warnings.clone(), warnings]);
    }

    #[test]
    fn whatever_changes_a_document_makes_it_another() {
        let counted = Counted::new();
        counted.schema(&package(), "1.4.0");
        let parameters = [
            Parameter { provider_name: Some("dice".into()), ..local("./terraform-provider-test") },
            Parameter { excludes: vec!["test_pet".into()], ..local("./terraform-provider-test") },
            Parameter { includes: vec!["test_pet".into()], ..local("./terraform-provider-test") },
            local("../terraform-provider-test"),
        ];
        for parameter in parameters {
            counted.schema(&package_of(parameter), "1.4.0");
        }
        counted.schema(&package(), "1.1.4");
        let nothing = provider_schema(vec![], vec![]);
        counted.schema(&listable(&nothing, &nothing), "1.4.0");
        assert_eq!(counted.count.get(), 7);
        let mapped =
            rendered(Some(&counted.cache), &package(), &[b"mapping"], || mapping::rendering(&package()));
        assert_eq!(text(&mapped.expect("it is in memory")), mapping::rendering(&package()).to_json());
    }

    #[test]
    fn without_a_cache_that_can_be_written_a_document_is_in_memory() {
        let counted = Counted::new();
        std::fs::write(counted.directory.path().join("cache"), "in the way").expect("a file");
        let expected = schema::package_schema(&package(), "1.4.0").to_json();
        for time in 1..=2 {
            let of = counted.schema(&package(), "1.4.0");
            assert!(matches!(of.text, Text::Memory(_)));
            assert_eq!((text(&of), counted.count.get()), (expected.clone(), time));
            assert!(of.failure.is_some_and(|failure| failure.contains("failed to write the schema cache")));
        }
        let render = || schema::package_schema(&package(), "1.4.0");
        let of = rendered(None, &package(), &[b"schema"], render).expect("it is in memory");
        assert_eq!((text(&of), of.failure), (expected, None));
    }
}
