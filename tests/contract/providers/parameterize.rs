//! Choosing the provider, and everything that can be wrong with the choice.

use std::path::Path;

use isthmus_platform::IS_WINDOWS;
use isthmus_proto::pulumirpc::parameterize_request;
use tokio::task::JoinSet;

use crate::harness::engine::Severity;
use crate::harness::host::{make_executable, program_path};
use crate::harness::{Code, Json, Outcome, Protocol, Setup, Status, json, on_one_protocol};

on_one_protocol! {
    async fn the_value_in_an_sdk_chooses_the_provider_that_it_was_made_for(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.greeted().await?;
        let value = json!({"local": {"path": host.provider()}, "includes": ["sandbox_note"]});
        let answer = session.parameterize_by_value(&value.to_string()).await?;
        assert_eq!((answer.name.as_str(), answer.version.as_str()), ("sandbox", "0.0.0"));
        // As of an explicit provider, to which engines give the version of the plugin.
        let answer = session.parameterize_as("1.4.0", &value.to_string()).await?;
        assert_eq!((answer.name.as_str(), answer.version.as_str()), ("sandbox", "1.4.0"));
        // Engines load the schema in that version, and refuse one of another.
        assert_eq!(session.schema_of("sandbox", "1.4.0").await?["version"], "1.4.0");
        assert_eq!(session.schema().await?["version"], "0.0.0");

        session.configure(&json!({})).await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        let status = session.faulty().check(&json!({"mode": "none"})).await.expect_err("it was not included");
        assert_eq!(status.code(), Code::NotFound);
    }

    async fn a_package_may_have_another_name_and_only_a_part_of_the_provider(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.greeted().await?;
        let words = ["--provider-name", "boxes", "--exclude=sandbox_faulty", &host.provider()];
        assert_eq!(session.parameterize(&words).await?.name, "boxes");

        let schema = session.schema().await?;
        assert_eq!(schema["name"], "boxes");
        assert!(schema["resources"]["boxes:index/note:Note"].is_object(), "{}", schema["resources"]);
        assert!(schema["resources"]["boxes:index/faulty:Faulty"].is_null());
    }

    async fn a_file_that_is_called_otherwise_takes_a_name_for_its_package(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let built = host.directory().join("built");
        file(&built, &format!("#!/bin/sh\nexec '{}' \"$@\"\n", host.provider()), 0o755);
        let built = program_path(&built);
        let built = built.to_str().expect("a path in UTF-8");
        for path in [built, "/bin/ls"] {
            let session = host.greeted().await?;
            let status = session.parameterize(&[path]).await.expect_err("it has no name");
            assert_says(&status, &[path, "terraform-provider-NAME", &format!("-- {path} --provider-name NAME`")]);
        }
        let session = host.greeted().await?;
        assert_eq!(session.parameterize(&["--provider-name=boxes", built]).await?.name, "boxes");
        assert!(session.schema().await?["resources"]["boxes:index/note:Note"].is_object());
    }

    async fn a_session_has_one_provider(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.parameterized().await?;
        session.parameterize(&[&host.provider()]).await?;

        let other = session.parameterize(&["--exclude=sandbox_note", &host.provider()]).await;
        let status = other.expect_err("it has one already");
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(status.message(), "provider is already parameterized to (sandbox, 0.0.0)");
        assert_eq!(host.provider_processes().len(), 1);
    }

    async fn every_kind_of_file_that_is_no_provider_is_named(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let cases: [NoProvider<'_>; 7] = [
            ("terraform-provider-missing", &|_| {}, &["does not exist"]),
            ("terraform-provider-directory", &|path| std::fs::create_dir(path).expect("a directory"), &["directory"]),
            ("terraform-provider-plain", &|path| file(path, "#!/bin/sh\n", 0o644), &["not executable", if IS_WINDOWS { "ends with .exe" } else { "chmod +x" }]),
            ("terraform-provider-text", &|path| file(path, "Hello there", 0o755), &["Hello there", "executable for"]),
            (
                "terraform-provider-garbage",
                &|path| file(path, "#!/bin/sh\necho 'Usage: something else'\n", 0o755),
                &["not a Terraform provider", "1|5 or 6|network|address|grpc|certificate", "Usage: something else"],
            ),
            (
                "terraform-provider-failing",
                &|path| file(path, "#!/bin/sh\necho 'no licence found' >&2\nexit 3\n", 0o755),
                &["ended before it announced itself", "exit status 3", "no licence found"],
            ),
            (
                "terraform-provider-mute",
                &|path| file(path, "#!/bin/sh\nexec >&-\necho closing >&2\nexec sleep 60\n", 0o755),
                &["closed its standard output", "closing"],
            ),
        ];
        for (name, make, wanted) in cases {
            let path = host.directory().join(name);
            make(&path);
            let program = program_path(&path);
            let path = if program.exists() { program } else { path };
            let path = path.to_str().expect("a path in UTF-8");
            let session = host.greeted().await?;
            let status = session.parameterize(&[path]).await.expect_err(name);
            assert_eq!(status.code(), Code::FailedPrecondition, "{name}: {status}");
            assert_says(&status, &[&[path], wanted].concat());
        }
    }
}

#[tokio::test]
async fn help_is_shown_instead_of_choosing_a_provider() -> Outcome {
    for (variable, documentation) in [("", false), ("0", false), ("true", true), ("1", true)] {
        let host = Setup::sandbox(Protocol::V6).with("PULUMI_DEV", variable).start().await;
        let session = host.greeted().await?;
        for flag in ["--help", "-h"] {
            let status = session.parameterize(&["a/b", flag]).await.expect_err(flag);
            assert_eq!((status.code(), status.message()), (Code::InvalidArgument, "help text displayed"));
        }
        let shown = host.engine.shown();
        let [usage, again] = &shown[..] else { panic!("one text for each call: {shown:?}") };
        assert_eq!((usage.severity, usage), (Severity::Info, again));
        for flag in ["--include", "--exclude", "--provider-name"] {
            assert!(usage.message.contains(flag), "{usage:?}");
        }
        assert_eq!(usage.message.contains("--fullDocs"), documentation, "PULUMI_DEV={variable}: {usage:?}");
    }
    Ok(())
}

#[tokio::test]
async fn what_is_asked_for_and_not_done_is_warned_about() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).start().await;
    host.place("registry.opentofu.org/acme/sandbox", "1.2.3");
    let provider = host.provider();
    std::fs::create_dir(host.directory().join("empty")).expect("a directory");
    let empty = host.directory().join("empty").display().to_string();
    let cases: [(&[&str], &[&str]); 3] = [
        (
            &[&provider, "--upstreamRepoPath", &empty],
            &["the provider's repository has no pages in docs/ or website/docs/"],
        ),
        (
            &[&provider, "--include=sandbox_note,sandbox_notes", "--exclude", "greeet"],
            &[
                "no \"sandbox_notes\", which --include names; did you mean \"sandbox_note\"?",
                "no \"greeet\", which --exclude or isthmus.toml names; did you mean \"greet\"?",
            ],
        ),
        (
            &[&provider, "--include=x", "--provider-name=box"],
            &["the provider sandbox has no \"x\", which --include names", "the package box is empty"],
        ),
    ];
    let mut seen = 0;
    for (words, wanted) in cases {
        host.greeted().await?.parameterize(words).await?;
        // They are there when the call answers.
        let mut shown = host.engine.shown().split_off(seen);
        seen += shown.len();
        shown.retain(|line| !line.message.contains(" is unverified: "));
        assert_eq!(shown.len(), wanted.len(), "{words:?}: {shown:?}");
        for (line, wanted) in shown.iter().zip(wanted) {
            assert_eq!(line.severity, Severity::Warning, "{line:?}");
            assert!(line.message.contains(wanted), "{wanted:?} is not in {line:?}");
        }
    }
    Ok(())
}

/// A page of a provider's repository.
const PAGE: &str = "---
page_title: note
---
# sandbox_note (Resource)

A note of the sandbox, like `sandbox_secret`. See `terraform plan`.

## Example Usage

```hcl
resource \"sandbox_note\" \"a\" {
  title = \"Hello\"
}
```

## Argument Reference

* `title` - (Required) The heading of the note.

## Import

```shell
terraform import sandbox_note.a 12
```
";

#[tokio::test]
async fn a_package_that_is_asked_for_with_the_providers_own_documentation_has_it_in_its_schema() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).start().await;
    let repository = host.directory().join("repository");
    std::fs::create_dir_all(repository.join("docs/resources")).expect("a directory");
    std::fs::create_dir_all(repository.join("website/docs/d")).expect("a directory");
    let data =
        "Finds notes.\n\n## Attributes Reference\n\n* `revision` - Its number.\n* `title` - Not this.\n";
    std::fs::write(repository.join("website/docs/d/note.html.markdown"), data).expect("a file");
    std::fs::write(repository.join("docs/resources/note.md"), PAGE).expect("a file");
    std::fs::write(repository.join("docs/index.md"), "# Sandbox\n\nNotes for everybody.\n").expect("a file");
    let provider = host.provider();
    let note = |schema: &Json| schema["resources"]["sandbox:index/note:Note"].clone();

    let without = host.greeted().await?;
    without.parameterize(&[&provider]).await?;
    let without = note(&without.schema().await?);

    let path = repository.display().to_string();
    let overview = host.directory().join("overview");
    let words =
        [&*provider, "--upstreamRepoPath", &path, "--indexDocOutDir", overview.to_str().expect("text")];
    let session = host.greeted().await?;
    session.parameterize(&words).await?;
    let schema = session.schema().await?;
    let described = note(&schema);
    let text = described["description"].as_str().expect("a description");
    assert!(
        text.starts_with("A note of the sandbox, like <span pulumi-lang-nodejs=\"`sandbox.Secret`\""),
        "{text}"
    );
    for part in [
        "See `pulumi preview`.",
        "<!--Start PulumiCodeChooser -->\n```typescript\n",
        "```terraform\nresource \"sandbox_note\" \"a\" {\n",
        "$ pulumi import sandbox:index/note:Note a 12\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(!text.contains("Argument Reference") && !text.contains("page_title"), "{text}");
    let data = &schema["functions"]["sandbox:index/getNote:getNote"];
    assert!(data["description"].as_str().is_some_and(|text| text.starts_with("Finds notes.\n")), "{data}");
    // Where the schema has a description, it stays.
    let of = |property: &str| data["outputs"]["properties"][property]["description"].clone();
    assert_eq!((of("revision"), of("title")), (json!("Its number."), json!("What the note is called.")));
    // Nothing but texts is another.
    assert_eq!(described["inputProperties"]["title"]["type"], without["inputProperties"]["title"]["type"]);
    assert_eq!(described["requiredInputs"], without["requiredInputs"]);
    assert_ne!(described["description"], without["description"]);

    let file = overview.join("_index.md");
    let text = std::fs::read_to_string(&file).expect("the overview");
    for part in [
        "title: Sandbox Provider\n",
        "layout: package\n",
        "Notes for everybody.",
        "## Configuration Reference\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(text.contains(&format!("pulumi package add terraform-provider {provider}\n")), "{text}");

    // One that isthmus made is replaced, another is not.
    std::fs::write(&file, text.clone() + "an older one").expect("a file");
    session.schema().await?;
    assert_eq!(std::fs::read_to_string(&file).expect("the overview"), text);
    std::fs::write(&file, "mine").expect("a file");
    session.schema().await?;
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "mine");
    host.engine
        .line("why not", |line| {
            line.severity == Severity::Warning && line.message.contains("the file was not made by isthmus")
        })
        .await;

    let status = host.greeted().await?.parameterize(&[&provider, "--upstreamRepoPath", "none"]).await;
    let status = status.expect_err("there is no repository");
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert_says(&status, &["failed to read the provider's repository"]);
    Ok(())
}

#[tokio::test]
async fn the_schema_is_that_of_the_package_whatever_part_is_named() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).start().await;
    let session = host.greeted().await?;
    assert_eq!(session.schema_of("sandbox", "1.0.0").await?["name"], "terraform-provider");
    let answer = session.parameterize(&[&host.provider()]).await?;
    let schema = session.schema_of(&answer.name, &answer.version).await?;
    assert_eq!(schema["name"], "sandbox");
    assert_eq!(session.schema().await?, schema);
    for version in ["v1.0.0", "1.0", "01.0.0", "x"] {
        let status = session.schema_of("sandbox", version).await.expect_err(version);
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_says(&status, &["invalid SubpackageVersion: "]);
    }
    Ok(())
}

/// A file's name, how it is made, and what the user is told of it.
type NoProvider<'a> = (&'a str, &'a dyn Fn(&Path), &'a [&'a str]);

/// What the sandbox answers the start with, and what the user is told.
const HANDSHAKES: [(&str, &[&str]); 14] = [
    ("garbage", &["not a Terraform provider", "1|5 or 6|network|address|grpc|certificate"]),
    ("short", &["its handshake line has 3 fields"]),
    ("core-version", &["version 2 of go-plugin's own protocol", "only version 1"]),
    ("application-version", &["offers version 4", "isthmus speaks versions 5 and 6"]),
    ("netrpc", &["\"netrpc\" instead of gRPC"]),
    ("foreign-address", &["not a loopback address"]),
    ("no-certificate", &["announced no certificate"]),
    ("wrong-certificate", &["certificate"]),
    ("garbage-certificate", &["certificate in its handshake line is not base64"]),
    ("noise", &["not a Terraform provider"]),
    ("endless", &["not a Terraform provider"]),
    ("dead-socket", &["socket"]),
    ("exit-before", &["ended before it announced itself", "exit status 3"]),
    ("exit-after", &["exit status 0"]),
];

#[tokio::test]
async fn every_wrong_start_of_a_provider_is_told_apart() -> Outcome {
    let mut starts = JoinSet::<Outcome>::new();
    for (handshake, wanted) in HANDSHAKES {
        starts.spawn(async move {
            let host = Setup::sandbox(Protocol::V6).with("SANDBOX_HANDSHAKE", handshake).start().await;
            let session = host.greeted().await?;
            let status = session.parameterize(&[&host.provider()]).await.expect_err(handshake);
            assert_eq!(status.code(), Code::FailedPrecondition, "{handshake}: {status}");
            assert_says(&status, &[&[host.provider().as_str()], wanted].concat());
            Ok(())
        });
    }
    while let Some(start) = starts.join_next().await {
        start.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
    }
    Ok(())
}

#[tokio::test]
async fn a_file_that_has_moved_and_a_directory_are_answered_with_what_to_do() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).start().await;
    let session = host.greeted().await?;
    let path = "/nowhere/terraform-provider-sandbox";
    let value = json!({"local": {"path": path}}).to_string();
    let status = session.parameterize_by_value(&value).await.expect_err("it is not there");
    assert_says(
        &status,
        &[
            "the file does not exist",
            &format!("the path {path} comes from the stack's state"),
            "`isthmus explain ISTHMUS-3001`",
        ],
    );
    // Here the user has just typed it.
    let status = session.parameterize(&[path]).await.expect_err("it is not there");
    assert!(!status.message().contains("stack's state"), "{status}");
    let provider = host.provider();
    let directory = Path::new(&provider).parent().and_then(Path::to_str).expect("a directory");
    let status = session.parameterize(&[directory]).await.expect_err("a directory");
    let inside = format!("name the executable inside it, {provider}");
    assert_says(
        &status,
        &[&format!("{directory} is not a provider: it is a directory; {inside}"), "ISTHMUS-3001"],
    );
    Ok(())
}

#[tokio::test]
async fn words_that_make_no_sense_are_refused_before_anything_is_started() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).start().await;
    let provider = host.provider();
    let cases: [(&[&str], &str); 9] = [
        (&[], "accepts between 1 and 2 arg(s), received 0\nhelp: name a provider, as in `pulumi package add"),
        (&["a/b", "1.0.0", "more"], "accepts between 1 and 2 arg(s), received 3"),
        // A shell has made these of an unquoted `~> 3.8`.
        (
            &["a/b", "~>", "3.8"],
            "received 3\nhelp: a version constraint is one argument: put quotes around the whole of it",
        ),
        (
            &["a/b", "/root"],
            "\"/root\": it is a path\nhelp: put quotes around the whole version constraint, as in '~> 3.8'",
        ),
        (&["a/b", "~"], "did you mean \"~>\"?\nhelp: put quotes around the whole version constraint"),
        (&[&provider, "1.0.0"], "local providers only accept one argument, found 2"),
        (&["--no-such-flag", &provider], "unknown flag: --no-such-flag"),
        (&["--includ=x", &provider], "unknown flag: --includ; did you mean --include?"),
        (
            &["--include=sandbox_note", "--exclude=sandbox_note", &provider],
            "tokens cannot be both included and excluded: sandbox_note",
        ),
    ];
    for (words, wanted) in cases {
        let session = host.greeted().await?;
        let status = session.parameterize(words).await.expect_err(wanted);
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert_says(&status, &[wanted]);
    }
    assert_eq!(host.call_names(), [""; 0], "no provider was started");
    Ok(())
}

#[tokio::test]
async fn a_value_that_makes_no_sense_is_refused() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).start().await;
    let session = host.greeted().await?;
    let both =
        r#"{"remote":{"url":"x.example/a/b","version":"1.0.0"},"local":{"path":"./terraform-provider-x"}}"#;
    for (value, wanted) in [
        ("", "pulumi package add"),
        ("no json", "pulumi package add"),
        ("{}", r#"must specify either "remote" or "local""#),
        (both, r#"cannot specify both "remote" and "local""#),
        (r#"{"local":{"path":""}}"#, "local.path cannot be empty"),
        (
            r#"{"remote":{"url":"a/b","version":1}}"#,
            "failed to unmarshal remote.version: invalid type: integer, expected a string",
        ),
        (r#"{"includes":"a"}"#, "failed to unmarshal includes: invalid type: string"),
    ] {
        let status = session.parameterize_by_value(value).await.expect_err(value);
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert_says(&status, &[wanted]);
    }
    let status = session.send_parameters(None).await.expect_err("neither words nor a value");
    assert_eq!(status.code(), Code::InvalidArgument);
    let value = parameterize_request::ParametersValue {
        name: "sandbox".to_owned(),
        version: "v1".to_owned(),
        value: json!({"local": {"path": host.provider()}}).to_string().into(),
    };
    let status = session.send_parameters(Some(parameterize_request::Parameters::Value(value))).await;
    assert_says(&status.expect_err("no version"), &["\"v1\" is not a version"]);
    Ok(())
}

fn file(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).expect("a file in a new directory");
    isthmus_platform::files::set_mode(path, mode).expect("a file of ours");
    if text.starts_with("#!") && mode == 0o755 {
        make_executable(path);
    }
}

fn assert_says(status: &Status, wanted: &[&str]) {
    for wanted in wanted {
        assert!(status.message().contains(wanted), "{wanted:?} is not in: {}", status.message());
    }
}
