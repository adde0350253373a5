//! Operating systems and architectures by Go's names, as in registries and caches.

use std::fmt;

/// A platform, such as `linux_amd64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Platform {
    /// Go's name of the operating system.
    pub os: &'static str,
    /// Go's name of the architecture.
    pub arch: &'static str,
}

impl Platform {
    /// The platform of this program.
    pub const CURRENT: Self = Self { os: go_os(std::env::consts::OS), arch: go_arch() };
}

impl Platform {
    /// Parses `OS_ARCH`; `None` for names that Go does not have.
    pub fn parse(text: &str) -> Option<Self> {
        let (os, arch) = text.split_once('_')?;
        let os = SYSTEMS.into_iter().find(|known| *known == os)?;
        let arch = PROCESSORS.into_iter().find(|known| *known == arch)?;
        Some(Self { os, arch })
    }
}

/// Go's operating systems, present and past.
const SYSTEMS: [&str; 16] = [
    "aix",
    "android",
    "darwin",
    "dragonfly",
    "freebsd",
    "illumos",
    "ios",
    "js",
    "linux",
    "nacl",
    "netbsd",
    "openbsd",
    "plan9",
    "solaris",
    "wasip1",
    "windows",
];

const PROCESSORS: [&str; 18] = [
    "386", "amd64", "amd64p32", "arm", "arm64", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc",
    "ppc64", "ppc64le", "riscv", "riscv64", "s390x", "sparc64", "wasm",
];

impl fmt::Display for Platform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}_{}", self.os, self.arch)
    }
}

/// Most have the same name in both languages.
const fn go_os(rust: &'static str) -> &'static str {
    match rust.as_bytes() {
        b"macos" => "darwin",
        _ => rust,
    }
}

/// Go's names of architectures include the byte order.
const fn go_arch() -> &'static str {
    let little = cfg!(target_endian = "little");
    match std::env::consts::ARCH.as_bytes() {
        b"x86_64" => "amd64",
        b"x86" => "386",
        b"aarch64" => "arm64",
        b"powerpc64" if little => "ppc64le",
        b"powerpc64" => "ppc64",
        b"mips64" if little => "mips64le",
        b"mips" if little => "mipsle",
        b"loongarch64" => "loong64",
        _ => std::env::consts::ARCH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_called_as_go_calls_it() {
        let platform = Platform::CURRENT.to_string();
        let known = ["linux", "darwin", "windows", "freebsd"];
        let (os, arch) = platform.split_once('_').expect("two names");
        assert!(known.contains(&os) && !["x86_64", "aarch64"].contains(&arch), "{platform}");
        assert_eq!(Platform::parse(&Platform::CURRENT.to_string()), Some(Platform::CURRENT));
        assert!(
            ["", "linux", "linux_", "linux_x86", "Linux_amd64", "linux_amd64_x"]
                .iter()
                .all(|text| Platform::parse(text).is_none())
        );
        assert_eq!((go_os("macos"), go_os("linux")), ("darwin", "linux"));
    }
}
