//! Mistakes with secrets: whatever goes wrong, nothing that a terminal gets has the secret in it.
//!
//! Every secret has the word `zaffre` in it. After each command it is looked for in both outputs and in the engine's events, which
//! are what every other form of output is made of: as it is, and in base64 wherever it may stand there.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::harness::outcome::Outcome;
use crate::harness::{Bridge, Project, Provider};

const WORD: &str = "zaffre";
/// With something to escape in every form.
const SECRET: &str = "p\"ss/w&rd <1> zaffre";

/// A mistake: the properties of a `sandbox:Leak`, the command, and what it says besides, so that it is seen to be that mistake.
struct Mistake {
    properties: &'static str,
    command: &'static [&'static str],
    says: &'static str,
}

const PREVIEW: &[&str] = &["preview"];
const UP: &[&str] = &["up", "--yes", "--skip-preview"];

/// What `text` has of the word.
fn traces(text: &str) -> Vec<String> {
    let places = (0..3).map(|before| {
        let encoded = STANDARD_NO_PAD.encode(format!("{}{WORD}", "_".repeat(before)));
        // What depends on the characters beside it is left out.
        let first = [0, 2, 3][before];
        encoded[first..encoded.len() - 1].to_owned()
    });
    places.chain([WORD.to_owned()]).filter(|trace| text.contains(trace)).collect()
}

/// Everything that a terminal gets, or can get.
fn everything(outcome: &Outcome) -> [(&'static str, String); 3] {
    let events = serde_json::to_string(&outcome.events).expect("JSON");
    [
        ("standard output", outcome.stdout.clone()),
        ("standard error", outcome.stderr.clone()),
        ("the events", events),
    ]
}

/// Where the command has told the secret, with what stands around it.
fn told(outcome: &Outcome) -> Vec<String> {
    let mut told = Vec::new();
    for (place, text) in everything(outcome) {
        for trace in traces(&text) {
            let at = text.find(&trace).expect("it is there");
            let begin = text.floor_char_boundary(at.saturating_sub(120));
            let end = text.floor_char_boundary(at + 60);
            told.push(format!("{} has {trace:?} in {place}: …{}…", outcome.command, &text[begin..end]));
        }
    }
    told
}

/// A project of the sandbox, with the secret in a file. Were it configured, the engine would replace it by itself.
fn project(name: &'static str) -> Project {
    let project = Project::bare(name, &[Provider::Sandbox]);
    project.set("SANDBOX_ODD", "usable");
    project.set("SANDBOX_DIR", project.path("").to_str().expect("test directories have plain names"));
    project.set("LEAK_SECRET", SECRET);
    project.switch_to(Bridge::usual());
    project.add_package(Provider::Sandbox);
    project.create_stack();
    project.write("hush", SECRET);
    project
}

/// What programs have of the secret: as `hush`, unmarked as `open`, and without a type that would be looked at before the engine
/// is asked, by itself (`text`, `shown`) and within a list and an object.
const VARIABLES: &str = "variables:
  open: {fn::readFile: ./hush}
  hush: {fn::secret: {fn::readFile: ./hush}}
  text: {fn::invoke: {function: sandbox:oddSame, arguments: {value: '${hush}'}}}
  shown: {fn::invoke: {function: sandbox:oddSame, arguments: {value: '${open}'}}}
  list: {fn::invoke: {function: sandbox:oddSame, arguments: {value: ['${hush}']}}}
  listed: {fn::invoke: {function: sandbox:oddSame, arguments: {value: ['${open}']}}}
  object: {fn::invoke: {function: sandbox:oddSame, arguments: {value: {key: '${hush}'}}}}
";

/// A program with these variables and this.
fn program(project: &Project, body: &str) {
    project.program(&format!("{VARIABLES}{body}"));
}

fn leak(properties: &str) -> String {
    format!("resources:\n  leak:\n    type: sandbox:Leak\n    properties: {properties}\n")
}

/// Makes every mistake, and fails with all that were told.
#[track_caller]
fn make_all(project: &Project, mistakes: &[Mistake]) {
    let mut all = Vec::new();
    for Mistake { properties, command, says } in mistakes {
        program(project, &leak(properties));
        let outcome = project.run(command);
        let told = told(&outcome);
        if told.is_empty() {
            drop(outcome.says(says));
        }
        all.extend(told.into_iter().map(|told| format!("{properties}\n    {told}")));
    }
    assert!(all.is_empty(), "{} of {} tell the secret:\n{}", all.len(), mistakes.len(), all.join("\n"));
}

#[test]
fn no_mistake_of_a_program_prints_a_secret() {
    let project = project("mistakes of programs");
    make_all(
        &project,
        &[
            Mistake { properties: "{size: '${text}'}", command: PREVIEW, says: "size: expected a number" },
            Mistake {
                properties: "{size: '${text}'}",
                command: &["preview", "--diff"],
                says: "expected a number",
            },
            Mistake {
                properties: "{size: '${text}'}",
                command: &["preview", "--json"],
                says: "expected a number",
            },
            Mistake { properties: "{size: '${text}'}", command: UP, says: "size: expected a number" },
            Mistake { properties: "{open: '${list}'}", command: PREVIEW, says: "open: expected a string" },
            Mistake { properties: "{open: '${object}'}", command: PREVIEW, says: "open: expected a string" },
            Mistake {
                properties: "{options: {a: '${list}'}}",
                command: PREVIEW,
                says: "options.a: expected",
            },
            Mistake { properties: "{names: '${object}'}", command: PREVIEW, says: "names: expected a list" },
            Mistake { properties: "{names: ['${object}']}", command: PREVIEW, says: "names[0]: expected" },
            Mistake {
                properties: "{logins: [{user: '${list}'}]}",
                command: PREVIEW,
                says: "logins[0].user: exp",
            },
            Mistake {
                properties: "{logins: '${object}'}",
                command: PREVIEW,
                says: "logins[0]: unknown property",
            },
            // Nothing marks these; the schema says that they are sensitive.
            Mistake { properties: "{pin: '${shown}'}", command: PREVIEW, says: "pin: expected a number" },
            Mistake {
                properties: "{secret: '${listed}'}",
                command: PREVIEW,
                says: "secret: expected a string",
            },
            Mistake {
                properties: "{secret: '${hush}', how: attribute, during: validate}",
                command: PREVIEW,
                says: "Examine values at 'leak.open'",
            },
            Mistake {
                properties: "{open: '${hush}', how: attribute, during: validate, form: json}",
                command: PREVIEW,
                says: "Examine values at 'leak.open'",
            },
        ],
    );
    project.expect_no_process();
}

#[test]
fn no_text_of_a_provider_prints_a_secret() {
    let project = project("texts of providers");
    project.set("TF_LOG", "DEBUG");
    // Not to a file, whatever the test run has set.
    project.set("TF_LOG_PATH", "");
    make_all(
        &project,
        &[
            Mistake {
                properties: "{secret: '${hush}', how: error, during: plan}",
                command: &["preview", "--diff"],
                says: "<[secret]>",
            },
            Mistake {
                properties: "{secret: '${hush}', how: error, during: create}",
                command: UP,
                says: "<[secret]>",
            },
            Mistake {
                properties: "{secret: '${open}', how: error, during: create}",
                command: UP,
                says: "<[secret]>",
            },
            Mistake {
                properties: "{open: '${hush}', how: error, during: create}",
                command: UP,
                says: "<[secret]>",
            },
            Mistake {
                properties: "{secret: '${hush}', how: error, during: create, form: json}",
                command: UP,
                says: "<{\"password\":\"[secret]\"}>",
            },
            Mistake {
                properties: "{secret: '${hush}', how: error, during: create, form: quoted}",
                command: UP,
                says: "<\"[secret]\">",
            },
            Mistake {
                properties: "{secret: '${hush}', how: error, during: create, form: query}",
                command: UP,
                says: "password=[secret]&x=y",
            },
            Mistake {
                properties: "{secret: '${hush}', how: error, during: create, form: base64}",
                command: UP,
                says: "<[secret]>",
            },
            Mistake {
                properties: "{secret: '${hush}', how: error, during: create, form: base64url}",
                command: UP,
                says: "<[secret]>",
            },
            Mistake {
                properties: "{secret: '${hush}', how: error, during: create, form: basic}",
                command: UP,
                says: "Authorization: Basic ",
            },
            Mistake {
                properties: "{secret: '${hush}', how: status, during: create}",
                command: UP,
                says: "<[secret]>",
            },
            Mistake {
                properties: "{secret: '${hush}', how: panic, during: create}",
                command: UP,
                says: "goroutine 42",
            },
            Mistake {
                properties: "{secret: '${hush}', how: log, during: plan}",
                command: PREVIEW,
                says: "<[secret]>",
            },
            Mistake {
                properties: "{secret: '${hush}', how: print, during: plan}",
                command: PREVIEW,
                says: "<[secret]>",
            },
            Mistake {
                properties: "{secret: '${hush}', how: warning, during: plan}",
                command: PREVIEW,
                says: "<[secret]>",
            },
            Mistake {
                properties: "{secret: '${hush}', how: partial, during: create}",
                command: UP,
                says: "<[secret]>",
            },
            Mistake {
                properties: "{secret: '${hush}', how: partial, during: create}",
                command: PREVIEW,
                says: "replace",
            },
        ],
    );
    program(&project, "");
    assert_eq!(told(&project.destroy()), Vec::<String>::new());
}

#[test]
fn no_operation_on_what_there_is_prints_a_secret() {
    let project = project("operations");
    let during = |operations: &str, size: u32| {
        leak(&format!("{{secret: '${{hush}}', how: error, during: {operations}, size: {size}}}"))
    };
    let mut all = Vec::new();
    let mut fails = |project: &Project, arguments: &[&str], says: &str| {
        let outcome = project.run(arguments).failed();
        let told = told(&outcome);
        if told.is_empty() {
            drop(outcome.says(says));
        }
        all.extend(told);
    };
    program(&project, &during("nothing", 1));
    project.up_at_once();
    program(&project, &during("update", 2));
    fails(&project, &["up", "--yes", "--skip-preview", "--diff"], "<[secret]>");
    program(&project, &during("read+delete", 2));
    project.up_at_once();
    fails(&project, &["refresh", "--yes", "--skip-preview"], "<[secret]>");
    fails(&project, &["destroy", "--yes", "--skip-preview"], "<[secret]>");
    program(&project, &during("nothing", 3));
    project.up_at_once();
    project.destroy();

    // The engine has never seen the secret of what is imported.
    fails(&project, &["import", "sandbox:index/leak:Leak", "found", "error", "--yes"], "<[secret]>");

    let hanging = "{secret: '${hush}', how: hang, during: create}";
    program(&project, &format!("{}    options: {{customTimeouts: {{create: 1s}}}}\n", leak(hanging)));
    fails(&project, UP, "<[secret]>");

    let provider = |properties: &str| {
        format!(
            "resources:\n  mine:\n    type: pulumi:providers:sandbox\n    properties: {properties}\n  note:\n    \
             type: sandbox:Note\n    properties: {{title: x}}\n    options: {{provider: '${{mine}}'}}\n"
        )
    };
    program(&project, &provider("{token: '${object}'}"));
    fails(&project, PREVIEW, "mine.token");
    // Without functions, whose default provider has no token that is accepted either, and may be asked first.
    let hush = "variables:\n  hush: {fn::secret: {fn::readFile: ./hush}}\n";
    project.program(&format!("{hush}{}", provider("{token: '${hush}'}")));
    project.set("SANDBOX_CONFIGURE", "judge");
    fails(&project, PREVIEW, "Examine values at 'mine.token'");
    project.set("SANDBOX_CONFIGURE", "quote");
    fails(&project, UP, "has expired");
    project.set("SANDBOX_CONFIGURE", "accept");
    // The engine takes these out by itself, in the form that they were configured in.
    program(&project, "resources:\n  note:\n    type: sandbox:Note\n    properties: {title: x}\n");
    project.run(&["config", "set", "--secret", "sandbox:tokne", SECRET]).succeeded();
    fails(&project, PREVIEW, "Did you mean `sandbox:token`?");
    assert!(all.is_empty(), "{} commands tell the secret:\n{}", all.len(), all.join("\n"));
    project.expect_no_process();
}

#[test]
fn a_generated_password_of_the_wrong_type_is_not_printed() {
    let project = Project::new("a password for a number", &[Provider::Random, Provider::Sandbox]);
    project.set("SANDBOX_ODD", "usable");
    project.set("SANDBOX_DIR", project.path("").to_str().expect("test directories have plain names"));
    // The function gives back what it is given, of any type: the program would not be run with text for a number.
    project.program(
        "variables:\n  text: {fn::invoke: {function: sandbox:oddSame, arguments: {value: '${password.result}'}}}\n\
         resources:\n  password:\n    type: random:Password\n    properties: {length: 20, special: false}\n  \
         pet:\n    type: random:Pet\n    properties: {length: '${text}'}\n",
    );
    let failed = project.up_fails().says("length: expected a number");
    let [password] = project.resources_in_the_clear(["password"]);
    let password = password["outputs"]["result"]["plaintext"].as_str().expect("a password").trim_matches('"');
    assert_eq!(password.len(), 20);
    for (place, text) in everything(&failed) {
        assert!(!text.contains(password), "the password is in {place}\n{failed}");
    }
    project.destroy();
}
