//! Settings that are not understood, as the user of the command line sees them.

use crate::harness::{Project, Provider};

const PROGRAM: &str = "resources:\n  pet:\n    type: random:Pet\n";

#[test]
fn a_setting_that_is_not_understood_is_shown_in_the_terminal() {
    let project = Project::new("a wrong setting", &[Provider::Random]);
    project.program(PROGRAM);
    project.set("ISTHMUS_SENSITIVE_OUTPUTS", "withheld");
    project.set("ISTHMUS_KEY", "sesame");
    let shown = project
        .up_fails()
        .says("invalid settings in the environment:")
        .says("ISTHMUS_SENSITIVE_OUTPUTS=\"withheld\": unknown value; expected `withhold` or `show`")
        .says("ISTHMUS_KEY: 6 characters instead of 64; expected 64 hexadecimal digits")
        .says("help: correct or unset these variables");
    for text in ["sesame", "prematurely", "always a bug"] {
        let is_shown = shown.stdout.contains(text) || shown.stderr.contains(text);
        assert!(!is_shown, "it says {text:?}\n{shown}");
    }
    project.set("ISTHMUS_SENSITIVE_OUTPUTS", "WITHHOLD");
    project.set("ISTHMUS_KEY", &"0123456789abcdef".repeat(4));
    project.up();
    project.destroy();
}
