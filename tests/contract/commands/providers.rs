//! `isthmus providers list`, `verify` and `prune`, on a cache that is there.

use std::path::PathBuf;
use std::process::Command;

use isthmus_common::Platform;
use sha2::{Digest as _, Sha256};

use super::{HASHICORP, Machine};
use crate::commands::files::mark;
use crate::harness::{Json, json};

const KEY: &str = "0123456789ABCDEF0123456789ABCDEF01234567";

impl Machine {
    /// A provider as the Go bridge leaves it: without a record.
    fn leave(&self, name: &str, version: &str, content: &[u8]) -> PathBuf {
        let program = format!(
            "{HASHICORP}/{name}/{version}/{}/terraform-provider-{name}_v{version}",
            Platform::CURRENT
        );
        self.write(self.cache().join(program), content)
    }

    /// A provider with the record of an earlier installation.
    pub(super) fn installed(&self, name: &str, version: &str, content: &[u8]) -> PathBuf {
        let program = self.leave(name, version, content);
        let directory = program.parent().expect("a directory");
        let record = json!({
            "program": program.file_name().expect("a name").to_str().expect("text"),
            "sha256": hex::encode(Sha256::digest(content)),
            "archive_sha256": null,
            "verification": { "signed": { "key": KEY } },
            "stamp": [0, 0, 0, 0, 0, 0, 0, 0],
        });
        self.write(
            directory.with_file_name(format!("{}.verified.json", Platform::CURRENT)),
            // Every record begins so.
            record.to_string().replacen('{', "{\"format\":2,", 1).as_bytes(),
        );
        program
    }

    /// What an installation has left that was broken off.
    fn left_over(&self, name: &str, version: &str) -> PathBuf {
        let name = format!("{HASHICORP}/{name}/{version}/.{}.unfinished-x", Platform::CURRENT);
        let left = self.write(self.cache().join(name).join("archive.zip"), b"half of it");
        mark(left.parent().expect("a directory"), "an installation in progress");
        left
    }

    /// The bytes that an installation has left, with its marker.
    fn size_of_left_over(left: &std::path::Path) -> u64 {
        let files = std::fs::read_dir(left.parent().expect("a directory")).expect("a directory");
        files.map(|file| file.expect("a file").metadata().expect("a file").len()).sum()
    }

    fn versions(&self) -> Vec<String> {
        let listed: Json =
            serde_json::from_str(&self.isthmus(&["providers", "list", "--json"]).well()).expect("JSON");
        let packages = listed["packages"].as_array().expect("a list").iter();
        let name = |package: &Json| {
            let address = package["address"].as_str().expect("an address");
            let name = address.rsplit('/').next().expect("a name");
            format!("{name} {}", package["version"].as_str().expect("a version"))
        };
        packages.map(name).collect()
    }
}

#[test]
fn what_is_in_the_cache_is_listed_with_who_vouches_for_it() {
    let machine = Machine::new();
    let note = format!("note: no providers are installed in {}\n", machine.cache().display());
    for words in [&["providers", "list"][..], &["providers", "verify"], &["providers", "list", "--json"]] {
        let empty = machine.isthmus(words);
        assert_eq!((empty.code, &empty.stderr), (0, &note), "{words:?}: {empty:?}");
        assert_eq!(empty.stdout.is_empty(), !words.contains(&"--json"), "{words:?}: {empty:?}");
    }

    let program = machine.installed("random", "3.9.0", &[b'x'; 1234]);
    machine.leave("tls", "4.0.0", b"a program");
    let unfinished = Machine::size_of_left_over(&machine.left_over("tls", "4.0.0"));
    machine.write(machine.cache().join(format!("{HASHICORP}/tls/4.1.0/x\u{1b}/y")), b"");
    let listed = machine.isthmus(&["providers", "list"]);
    assert_eq!(listed.stderr, "");
    let table = listed.well();
    let platform = Platform::CURRENT;
    let expected = format!(
        "PROVIDER          VERSION  PLATFORM     VERIFIED                    SIZE    PROGRAM\n\
         hashicorp/random  3.9.0    {platform}  signed by 89ABCDEF01234567  1.2 kB  terraform-provider-random_v3.9.0\n\
         hashicorp/tls     4.0.0    {platform}  unverified                  9 B     terraform-provider-tls_v4.0.0\n\
         1.2 kB in {}\n\
         passed over \"{HASHICORP}/tls/4.1.0/x\\u{{1b}}\": it is not named by an operating system and a processor\n\
         1 not finished, by installations that are in progress or were interrupted ({unfinished} B); `isthmus providers prune` removes the latter\n",
        machine.cache().display()
    );
    assert_eq!(table, expected);

    let listed: Json =
        serde_json::from_str(&machine.isthmus(&["providers", "list", "--json"]).well()).expect("JSON");
    assert_eq!(
        listed["packages"][0],
        json!({
            "address": format!("{HASHICORP}/random"),
            "version": "3.9.0",
            "platform": platform.to_string(),
            "verification": { "kind": "signed", "key": KEY },
            "size": 1234,
            "directory": program.parent().expect("a directory"),
            "program": program,
        })
    );
    assert_eq!(listed["packages"][1]["verification"], Json::Null);
    assert_eq!(listed["skipped"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed["unfinished"][0]["size"], unfinished);
}

#[test]
fn an_altered_program_is_named_and_one_without_a_record_is_unverified() {
    let machine = Machine::new();
    let program = machine.installed("random", "3.9.0", b"a program");
    machine.leave("tls", "4.0.0", b"a program");
    let said = machine.isthmus(&["providers", "verify"]).well();
    let platform = Platform::CURRENT;
    assert!(
        said.contains(&format!("hashicorp/random 3.9.0 {platform}: as it was installed, signed by 89ABCDEF")),
        "{said}"
    );
    assert!(said.contains(&format!("hashicorp/tls 4.0.0 {platform}: unverified: ")), "{said}");

    std::fs::write(&program, b"A program").expect("a file");
    let said = machine.isthmus(&["providers", "verify"]).failed();
    assert!(
        said.contains(&format!(
            "hashicorp/random 3.9.0 {platform}: ALTERED: the program {}",
            program.display()
        )),
        "{said}"
    );
    assert!(said.contains("hashicorp/tls 4.0.0"), "the others are looked at all the same\n{said}");
    let one = machine.isthmus(&["providers", "verify", "tls@4.0.0"]).well();
    assert!(!one.contains("random"), "{one}");
    let said = machine.isthmus(&["providers", "verify", "tls@4.1.0"]).failed();
    assert!(said.contains("error: tls@4.1.0 is not in the cache of providers"), "{said}");
}

/// A process of a provider that runs until this is dropped.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn old_versions_make_room_but_for_what_runs() {
    let machine = Machine::new();
    let running = machine.installed("random", "3.7.0", b"");
    // A process of its own copies: a program that this one has written may be busy when it is started.
    std::fs::remove_file(&running).expect("it is there");
    let copied = Command::new("cp").arg("/bin/sleep").arg(&running).status().expect("it starts");
    assert!(copied.success());
    let started = Running(Command::new(&running).arg("1000").spawn().expect("it starts"));
    for version in ["3.8.0", "3.9.0", "3.10.0"] {
        machine.installed("random", version, b"a program");
    }
    machine.installed("tls", "4.0.0", b"a program");
    machine.leave("tls", "3.0.0", b"of others");
    let left = machine.left_over("tls", "4.0.0");
    let all = ["random 3.10.0", "random 3.9.0", "random 3.8.0", "random 3.7.0", "tls 4.0.0", "tls 3.0.0"];
    assert_eq!(machine.versions(), all);

    let said = machine.isthmus(&["providers", "prune", "--dry-run"]).well();
    let platform = Platform::CURRENT;
    assert!(said.contains(&format!("would remove hashicorp/random 3.9.0 {platform}: 9 B\n")), "{said}");
    let size = 2 * 9 + Machine::size_of_left_over(&left);
    assert!(said.ends_with(&format!("{size} B would be freed\n")), "{said}");
    assert!(left.is_file());
    assert_eq!(machine.versions(), all);

    let said = machine.isthmus(&["providers", "prune"]).well();
    assert!(said.contains(&format!("kept hashicorp/random 3.7.0 {platform}: it is running\n")), "{said}");
    assert!(said.contains(&format!("removed hashicorp/random 3.8.0 {platform}: 9 B\n")), "{said}");
    assert!(
        said.contains("removed leftovers of an installation, ")
            && said.ends_with(&format!("{size} B freed\n")),
        "{said}"
    );
    let kept = format!(
        "kept hashicorp/tls 3.0.0 {platform}: not installed by isthmus; remove it by name, as {HASHICORP}/tls@3.0.0\n"
    );
    assert!(said.contains(&kept), "{said}");
    assert_eq!(machine.versions(), ["random 3.10.0", "random 3.7.0", "tls 4.0.0", "tls 3.0.0"]);
    assert!(!left.exists());
    drop(started);

    assert_eq!(machine.isthmus(&["providers", "prune", "--older-than", "1h"]).well(), "0 B freed\n");
    machine.isthmus(&["providers", "prune", "random@3.10.0"]).well();
    assert_eq!(machine.versions(), ["random 3.7.0", "tls 4.0.0", "tls 3.0.0"]);
    machine.isthmus(&["providers", "prune", "--keep", "0", "tls"]).well();
    assert_eq!(machine.versions(), ["random 3.7.0", "tls 3.0.0"]);
    let said = machine.isthmus(&["providers", "prune", "--keep", "0"]).well();
    let altered = format!("kept hashicorp/random 3.7.0 {platform}: ");
    assert!(said.contains(&altered) && said.contains("remove it by name"), "{said}");
    assert_eq!(
        machine.versions(),
        ["random 3.7.0", "tls 3.0.0"],
        "they may be the only copies that there are"
    );
    machine.isthmus(&["providers", "prune", "random@3.7.0"]).well();
    assert_eq!(machine.versions(), ["tls 3.0.0"], "it was named");
    machine.isthmus(&["providers", "prune", "tls@3.0.0"]).well();
    assert_eq!(machine.versions(), [""; 0], "it was named");
    let said = machine.isthmus(&["providers", "prune", "tls"]).failed();
    assert!(said.contains("tls is not in the cache of providers"), "{said}");
}
