//! Codes of failures that users meet, each with a page: `isthmus explain CODE`.
//!
//! A text changes with every improvement of its wording; a code stays, and can be searched for. It is that of a kind of failure
//! with one remedy, whichever command or check meets it. A code is never given to another kind, and never removed.
//!
//! The thousands say what a code is about: 1 the machine, its settings and Pulumi; 2 installing providers; 3 provider processes;
//! 4 the state store; 5 the journal of operations; 6 the shared daemon.

use std::fmt;
use std::str::FromStr;

/// What all codes begin with.
const PREFIX: &str = "ISTHMUS-";

/// The heading of the second part of a page.
const REMEDY: &str = "\n## What to do\n";

macro_rules! codes {
    ($($number:literal $name:ident)*) => {
        /// The code of a kind of failure. Its page describes it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $(#[doc = concat!("`docs/errors/ISTHMUS-", $number, ".md`")] $name,)*
        }

        impl ErrorCode {
            /// All codes, by number.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            const fn number(self) -> u16 {
                match self { $(Self::$name => $number,)* }
            }

            /// Its page, in Markdown.
            pub const fn page(self) -> &'static str {
                match self { $(Self::$name => include_str!(concat!("../../docs/errors/ISTHMUS-", $number, ".md")),)* }
            }
        }
    };
}

codes! {
    1001 InvalidSetting
    1002 SettingWithoutEffect
    1003 NoHomeDirectory
    1004 DirectoryUnusable
    1005 NotTrusted
    1006 LittleSpace
    1007 NoExecution
    1008 WrongClock
    1101 PulumiMissing
    1102 PulumiTooOld
    1103 PulumiUnusable
    1104 ProjectUnreadable
    1105 StaleSdk
    1106 PluginMissing
    1107 PluginShadowed
    1108 OtherPlugin
    2001 InvalidCliConfiguration
    2002 RegistryUnreachable
    2003 CertificateNotTrusted
    2004 CertificateDates
    2005 AuthoritiesUnread
    2006 InvalidProxy
    2007 ProxyFailed
    2008 ProxyAuthentication
    2009 NotAuthorized
    2010 UnknownProvider
    2011 UnknownVersion
    2012 RegistryFault
    2013 VerificationFailed
    2014 ProviderAltered
    2015 LockFileMismatch
    2016 NetworkNotUsed
    2017 NoInstallationMethod
    2018 LockFileUnreadable
    3001 ProviderFileUnusable
    3002 ProviderEnded
    3003 ProviderFailed
    4001 StoreLocked
    4002 StoreDamaged
    4003 StoreNewer
    4004 StoreForeign
    4005 StoreUnusable
    4006 KeyMissing
    4007 KeyWrong
    4008 KeyMalformed
    5001 InterruptedOperations
    5002 JournalUnreadable
    6001 NoDaemon
    6002 DaemonNotTrusted
}

impl ErrorCode {
    /// What the failure is, in a few words: the title of its page.
    pub fn title(self) -> &'static str {
        let first = self.page().lines().next().unwrap_or_default();
        first.split_once(": ").map_or(first, |(_, title)| title)
    }

    /// What to do, in one line: the second part of its page.
    pub fn remedy(self) -> String {
        let page = self.page();
        let remedy = page.split_once(REMEDY).map_or("", |(_, remedy)| remedy);
        remedy.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// A text about a failure, with the line of help that leads to the page of its kind.
    pub fn named_in(text: String, code: Option<Self>) -> String {
        isthmus_common::with_help(text, code.map(Self::reference))
    }

    /// The line of help that leads to its page.
    pub fn reference(self) -> String {
        format!("`isthmus explain {self}` describes this error")
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{}", self.number())
    }
}

/// A text is no code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an error code{}", similar.map(|code| format!("; did you mean {code}?")).unwrap_or_default())]
pub struct UnknownCode {
    /// As the user wrote it.
    pub text: String,
    /// The code with the most digits in common, if it has three of them.
    pub similar: Option<ErrorCode>,
}

impl FromStr for ErrorCode {
    type Err = UnknownCode;

    /// Parses a code, with or without its prefix, in any case.
    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let upper = text.trim().to_ascii_uppercase();
        let digits = upper.strip_prefix(PREFIX).unwrap_or(&upper);
        let is_it = |code: &&Self| digits.parse() == Ok(code.number());
        Self::ALL.iter().find(is_it).copied().ok_or_else(|| {
            let likeness =
                |code: &Self| strsim::normalized_damerau_levenshtein(digits, &code.number().to_string());
            let similar = Self::ALL.iter().copied().filter(|code| likeness(code) >= 0.75);
            let similar = similar.max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
            UnknownCode { text: text.chars().take(60).collect(), similar }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_code_has_a_page_and_each_page_a_code() {
        let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
        let pages =
            std::fs::read_dir(pages).expect("a directory").map(|entry| entry.expect("an entry").file_name());
        let pages: BTreeSet<String> = pages.map(|name| name.to_string_lossy().into_owned()).collect();
        let codes: BTreeSet<String> = ErrorCode::ALL.iter().map(|code| format!("{code}.md")).collect();
        assert_eq!(pages, codes);
        for code in ErrorCode::ALL {
            let page = code.page();
            assert!(page.starts_with(&format!("# {code}: ")) && !code.remedy().is_empty(), "{code}: {page}");
            assert!(
                page.lines().all(|line| line.chars().count() <= 100),
                "{code}: a line is longer than 100 columns"
            );
            assert!(page.len() < 2_000, "{code}: pages are in the executable");
        }
    }

    #[test]
    fn numbers_ascend_and_are_given_once() {
        assert!(ErrorCode::ALL.is_sorted_by(|one, other| one.number() < other.number()));
    }

    #[test]
    fn a_code_is_found_by_its_number_and_a_similar_one_is_suggested() {
        for text in ["ISTHMUS-2003", "isthmus-2003", " 2003"] {
            assert_eq!(text.parse(), Ok(ErrorCode::CertificateNotTrusted), "{text}");
        }
        let unknown = "ISTHMUS-1109".parse::<ErrorCode>().expect_err("there is none");
        assert!(unknown.to_string().contains("did you mean ISTHMUS-110"), "{unknown}");
        let unknown = "E0308".parse::<ErrorCode>().expect_err("there is none");
        assert_eq!(unknown.to_string(), "\"E0308\" is not an error code");
    }
}
