//! The tokens of `ISTHMUS_TOKENS`: who holds one is served.
//!
//! Each line of the file is a name and a token, or the token's SHA-256 as `sha256:` and hexadecimal digits. A file with tokens
//! themselves is its owner's alone. They are compared by their hashes in constant time, so that neither the time of an answer
//! nor a core dump tells much about them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use isthmus_common::permissions::{PermissionsError, require_private_file, require_trusted_file};
use isthmus_common::{Links, read_regular};
use sha2::{Digest as _, Sha256};
use tonic::codegen::http::{HeaderMap, header};

use super::Identity;
use super::reread::{Reread, Unreadable};
use isthmus_context::settings;

/// Before the hash of a token.
const HASHED: &str = "sha256:";

/// The least characters of a token: 128 bits in hexadecimal.
const SHORTEST: usize = 32;

/// Before a token in the header of a call, in either case.
const SCHEME: &str = "Bearer";

type Hash = [u8; 32];

/// Why the tokens cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    #[error("failed to read the tokens in {path}, which {setting} names", path = path.display(), setting = settings::TOKENS.name)]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the tokens that {setting} names are refused", setting = settings::TOKENS.name)]
    Permissions(#[from] PermissionsError),
    #[error("line {line} of {path} {fault}\nhelp: a line is a name and a token, or a name and `{HASHED}` with the token's SHA-256", path = path.display())]
    Line { path: PathBuf, line: usize, fault: LineFault },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineFault {
    #[error("is not a name and a token")]
    Form,
    #[error("has a name with other characters than letters, digits, `.`, `_` and `-`")]
    Name,
    #[error("has the name of another line")]
    Duplicate,
    #[error(
        "has a token of fewer than {SHORTEST} characters, or with other characters than visible ones of ASCII"
    )]
    Token,
    #[error("has a hash that is not 64 hexadecimal digits")]
    Hash,
}

/// Why no token identifies a call.
#[derive(Debug, thiserror::Error)]
pub enum TokenDenied {
    #[error(
        "the call has no token, and the connection no certificate that names its holder: this daemon serves only those who have either\nhelp: name the file of a token by {setting}",
        setting = settings::DAEMON_TOKEN_FILE.name
    )]
    Missing,
    #[error("the call's token is not one of this daemon's")]
    Unknown,
    #[error("the call's token differs from the one of the connection's first call")]
    Other,
    #[error("the daemon cannot read its tokens, so it serves none of their holders; its log says why")]
    Unreadable(Option<TokensError>),
}

/// The tokens in a file, which is read again when it changes.
#[derive(Debug)]
pub struct Tokens(Reread<PathBuf, Table, TokensError>);

type Table = BTreeMap<Arc<str>, Hash>;

impl Tokens {
    /// Reads the file. Blocks on the file system, as every method.
    pub fn read(path: PathBuf) -> Result<Self, TokensError> {
        Ok(Self(Reread::read(vec![path.clone()], path, |path| read(path))?))
    }

    /// Who makes a call with these headers.
    pub fn identify(&self, headers: &HeaderMap) -> Result<Identity, TokenDenied> {
        let header = headers.get(header::AUTHORIZATION).ok_or(TokenDenied::Missing)?;
        let split = header.to_str().ok().and_then(|value| value.split_once(' '));
        let (_, token) =
            split.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(SCHEME)).ok_or(TokenDenied::Missing)?;
        let table = self.0.current().map_err(|Unreadable { error }| TokenDenied::Unreadable(error))?;
        let hash: Hash = Sha256::digest(token.trim()).into();
        // All of them, so that the time does not depend on which one it is.
        let mut found = None;
        for (name, known) in &*table {
            if aws_lc_rs::constant_time::verify_slices_are_equal(known, &hash).is_ok() {
                found = Some(name);
            }
        }
        found.map(|name| Identity::Token(Arc::clone(name))).ok_or(TokenDenied::Unknown)
    }
}

/// The header that a token is sent in.
pub fn header_of(token: &str) -> String {
    format!("{SCHEME} {token}")
}

/// Whether it can be a token.
pub fn is_token(text: &str) -> bool {
    text.len() >= SHORTEST && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn read(path: &Path) -> Result<Table, TokensError> {
    require_trusted_file(path)?;
    let content = read_regular(path, Links::Follow);
    let content = content.and_then(|content| String::from_utf8(content).map_err(io::Error::other));
    let content = content.map_err(|source| TokensError::Read { path: path.to_owned(), source })?;
    let mut table = Table::new();
    let mut has_plain = false;
    for (number, line) in content.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, hash, is_plain) = entry(line).map_err(|fault| at(path, number, fault))?;
        has_plain |= is_plain;
        if table.insert(name.into(), hash).is_some() {
            return Err(at(path, number, LineFault::Duplicate));
        }
    }
    if has_plain {
        require_private_file(path)?;
    }
    Ok(table)
}

fn at(path: &Path, number: usize, fault: LineFault) -> TokensError {
    TokensError::Line { path: path.to_owned(), line: number + 1, fault }
}

/// A name, a hash, and whether the token itself was there.
fn entry(line: &str) -> Result<(&str, Hash, bool), LineFault> {
    let (name, token) = line.split_once(char::is_whitespace).ok_or(LineFault::Form)?;
    let token = token.trim_start();
    let is_named = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if !is_named {
        return Err(LineFault::Name);
    }
    if let Some(digits) = token.strip_prefix(HASHED) {
        let mut hash = Hash::default();
        hex::decode_to_slice(digits, &mut hash).map_err(|_| LineFault::Hash)?;
        return Ok((name, hash, false));
    }
    if !is_token(token) {
        return Err(LineFault::Token);
    }
    Ok((name, Sha256::digest(token).into(), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn a_line_is_a_name_and_a_token_or_its_hash() {
        let hashed = format!("build sha256:{}", hex::encode(Sha256::digest(TOKEN)));
        let plain = format!("build \t {TOKEN}");
        let (name, hash, is_plain) = entry(&plain).expect("an entry");
        assert_eq!((name, is_plain), ("build", true));
        assert_eq!(entry(&hashed), Ok(("build", hash, false)));
        assert_eq!(entry("build"), Err(LineFault::Form));
        assert_eq!(entry("a:b 0123456789abcdef0123456789abcdef"), Err(LineFault::Name));
        assert_eq!(entry("build short"), Err(LineFault::Token));
        assert_eq!(entry("build sha256:00"), Err(LineFault::Hash));
        assert_eq!(entry("build 0123456789abcdef 0123456789abcdef"), Err(LineFault::Token));
    }
}
