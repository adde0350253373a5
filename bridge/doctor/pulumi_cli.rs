//! The Pulumi CLI: whether it is there, works, and knows packages with parameters.

use std::path::PathBuf;

use semver::Version;

use super::finding::{Finding, Judgement};
use super::run_program::{on_path, output_of};
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::project::document::parse_version;
use isthmus_platform::IS_WINDOWS;

/// The oldest version whose packages have parameters in project files, as Pulumi's documentation of "Any Terraform Provider" has it.
const OLDEST: Version = Version::new(3, 147, 0);

/// The most that is shown of what is no version, in characters.
const LONGEST_VERSION: usize = 60;

const PROGRAM: &str = if IS_WINDOWS { "pulumi.exe" } else { "pulumi" };

#[derive(Clone, Debug)]
pub(super) struct PulumiCli {
    program: PathBuf,
    /// What `pulumi version` prints, or why it prints nothing.
    answer: Result<String, String>,
}

/// `None` if there is none.
pub(super) async fn gather(world: &World) -> Option<PulumiCli> {
    let program = on_path(world.environment(), PROGRAM).into_iter().next()?;
    let answer = output_of(&program, "version").await;
    Some(PulumiCli { program, answer })
}

pub(super) fn judge(facts: Option<&PulumiCli>) -> Judgement {
    let Some(PulumiCli { program, answer }) = facts else {
        let finding = Finding::fault(ErrorCode::PulumiMissing, "`pulumi` is not on PATH");
        return Judgement::new("not found", vec![finding]);
    };
    let shown = program.display();
    let unusable = |reason: &str| {
        let text = format!("{shown} does not work: {reason}");
        Judgement::new(shown.to_string(), vec![Finding::fault(ErrorCode::PulumiUnusable, &text)])
    };
    let version = match answer {
        Ok(version) => version.trim(),
        Err(reason) => return unusable(reason),
    };
    let Ok(found) = parse_version(version) else {
        let beginning: String = version.chars().take(LONGEST_VERSION).collect();
        return unusable(&format!("`pulumi version` prints {beginning:?}, which is not a version"));
    };
    let mut findings = Vec::new();
    // A pre-release has what its release has.
    if (found.major, found.minor) < (OLDEST.major, OLDEST.minor) {
        let text =
            format!("{shown} is version {found}, and packages with parameters need {OLDEST} or a newer one");
        findings.push(Finding::fault(ErrorCode::PulumiTooOld, &text));
    }
    Judgement::new(format!("version {found}, {shown}"), findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cli_is_judged_by_what_it_prints() {
        let judged = |answer: Result<&str, &str>| {
            let answer = answer.map(str::to_owned).map_err(str::to_owned);
            let found = judge(Some(&PulumiCli { program: "/bin/pulumi".into(), answer }));
            found.findings.first().map(|finding| finding.code)
        };
        assert_eq!(judged(Ok("v3.259.0\n")), None);
        assert_eq!(judged(Ok("3.147.0-alpha.1")), None);
        assert_eq!(judged(Ok("v3.99.0")), Some(ErrorCode::PulumiTooOld));
        assert_eq!(judged(Ok("")), Some(ErrorCode::PulumiUnusable));
        assert_eq!(judged(Err("it does not start")), Some(ErrorCode::PulumiUnusable));
        assert_eq!(judge(None).findings[0].code, ErrorCode::PulumiMissing);
    }
}
