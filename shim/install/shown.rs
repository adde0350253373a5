//! URLs in errors and warnings, without credentials.
//!
//! Registries sign links to archives in the query, which authorises a download.

use url::Url;

/// A URL without credentials.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // It fails only for URLs that cannot have them.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// A text that may be a URL: with `…` in place of its user and password, and without its query.
pub(crate) fn shown_text(text: &str) -> String {
    const HIDDEN: &str = "…";
    let is_scheme =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let scheme = text.split_once("://").filter(|(scheme, _)| is_scheme(scheme));
    let (scheme, rest) = scheme.map_or(("", text), |(scheme, rest)| (&text[..scheme.len() + 3], rest));
    let (authority, behind) = rest.split_at(rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len()));
    // Special characters may be unescaped in a password, whose end is then unknown.
    if behind.contains('@') && rest.split('@').next().is_some_and(|before| before.contains(':')) {
        return format!("{scheme}{HIDDEN}");
    }
    let path = behind.split(['?', '#']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        // Without a scheme, `random@3.8` is no user at a host.
        Some((user, host)) if !scheme.is_empty() || user.contains(':') => {
            format!("{scheme}{HIDDEN}@{host}{path}")
        }
        _ => format!("{scheme}{authority}{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_without_what_may_authorise() {
        for (text, expected) in [
            ("https://example.com/providers/", "https://example.com/providers/"),
            ("https://example.com:8443/providers@v1/", "https://…"),
            ("https://example.com/providers@v1/?token=s3cret#s3cret", "https://example.com/providers@v1/"),
            ("http://user:s3cret@example.com/a?token=s3cret", "http://…@example.com/a"),
            ("https://s3cret@example.com", "https://…@example.com"),
            ("https://user:s3@cret@example.com", "https://…@example.com"),
            ("https://user:s3/cret@example.com/a", "https://…"),
            ("https://user:s3?cret@example.com/a", "https://…"),
            ("https://user:s@3/cret@example.com", "https://…"),
            ("https:/user:s3cret@example.com", "…"),
            ("https:\\\\user:s3cret@example.com", "…"),
            ("user:s3cret@example.com:80/a?token=s3cret", "…@example.com:80/a"),
            ("user:s3cret@https://example.com", "…@https://example.com"),
            ("random@3.8", "random@3.8"),
            ("hashicorp/random@3.8", "hashicorp/random@3.8"),
            ("", ""),
        ] {
            assert_eq!(shown_text(text), expected, "{text}");
        }
    }
}
