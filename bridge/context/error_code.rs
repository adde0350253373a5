//! Codes of failures that users meet, each with a section of `docs/errors.md`, which `isthmus explain CODE` prints as a page.
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

/// The sections of all codes.
const SECTIONS: &str = include_str!("../../docs/errors.md");

/// The heading of the second part of a section.
const REMEDY: &str = "\n#### What to do\n";

macro_rules! codes {
    ($($number:literal $name:ident)*) => {
        /// The code of a kind of failure. Its section of `docs/errors.md` describes it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $(#[doc = concat!("`ISTHMUS-", $number, "`")] $name,)*
        }

        impl ErrorCode {
            /// All codes, by number.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            const fn number(self) -> u16 {
                match self { $(Self::$name => $number,)* }
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
    /// Its section: the title, and the text below it. A test checks that each code has one.
    fn section(self) -> (&'static str, &'static str) {
        let heading = format!("\n### {self}: ");
        let section = SECTIONS.split_once(&heading).map_or("", |(_, section)| section);
        let end = ["\n### ", "\n## "].into_iter().filter_map(|next| section.find(next)).min();
        section[..end.unwrap_or(section.len())].split_once('\n').unwrap_or_default()
    }

    /// Its page, in Markdown.
    pub fn page(self) -> String {
        let (title, text) = self.section();
        format!("# {self}: {title}\n{}\n", text.trim_end().replace("\n#### ", "\n## "))
    }

    /// What the failure is, in a few words.
    pub fn title(self) -> &'static str {
        self.section().0
    }

    /// What to do, in one line: the second part of its section.
    pub fn remedy(self) -> String {
        let remedy = self.section().1.split_once(REMEDY).map_or("", |(_, remedy)| remedy);
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
    use super::*;

    #[test]
    fn each_code_has_a_section_and_each_section_a_code() {
        let headings = SECTIONS.lines().filter_map(|line| line.strip_prefix("### ")?.split(':').next());
        let codes: Vec<_> = ErrorCode::ALL.iter().map(ErrorCode::to_string).collect();
        assert_eq!(headings.collect::<Vec<_>>(), codes);
        for code in ErrorCode::ALL {
            assert!(!code.title().is_empty() && !code.remedy().is_empty(), "{}", code.page());
            // A terminal shows it.
            assert!(!code.remedy().contains("]("), "a link in {}", code.remedy());
        }
        assert!(
            SECTIONS.lines().all(|line| line.chars().count() <= 100),
            "a line is longer than 100 columns"
        );
        assert!(SECTIONS.len() < 40_000, "it is in the executable");
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
