//! Import: whatever was made, in whatever shape, shows no difference once it was imported.
//!
//! Both providers are walked: each resource is made three times, with all that can be set, with the zero value of
//! everything, and with what has to be set only; then it is imported, checked and compared, as an engine does.

use isthmus_proto::pulumirpc::ListRequest;

use crate::harness::resource::{Difference, Resource};
use crate::harness::{
    Code, Host, Json, Outcome, Protocol, Session, Setup, Status, Stored, json, on_both_protocols, secret,
    unknown,
};

/// What cannot be walked: a tuple's elements are not alike, which its type in a package does not tell (tuples have a test
/// of their own); of legacy shapes the provider keeps nothing but the id; and of a planned legacy it keeps a hash, from which
/// nobody knows what a program would have to write.
const NOT_WALKED: [&str; 3] = [
    "conformance:index/tuples:Tuples",
    "conformance:index/legacyShapes:LegacyShapes",
    "conformance:index/legacyPlanned:LegacyPlanned",
];

/// How a resource is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    /// With all that can be set.
    Everything,
    /// With all that can be set, and nothing in it: empty texts and collections, zeros, falsehoods.
    Zeros,
    /// With what has to be set.
    Needs,
}

/// Imports what was made, and tells what then is not as it was.
async fn differences_after_import(
    resource: &Resource,
    id: &str,
    made: &Stored,
) -> Result<Vec<String>, Status> {
    let Some(mut imported) = resource.import(id).await? else {
        return Ok(vec!["it is not there".to_owned()]);
    };
    // What is write-only is in no state, so a program has to say it again.
    if let (Json::Null, Json::String(_)) = (&imported.inputs["neededWo"], &made.inputs["neededWo"]["value"]) {
        imported.inputs["neededWo"] = made.inputs["neededWo"].clone();
    }
    let mut found = Vec::new();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            found.push(what);
        }
    };
    let checked = resource.check_again(&imported.inputs, &imported.inputs).await?;
    expect(checked.failures.is_empty(), format!("{:?} for {}", checked.failures, imported.inputs));
    let difference = resource.diff(&imported, &checked.inputs).await?;
    expect(!difference.some, format!("{difference:?} for {}", imported.inputs));
    // The program that made it is not another one.
    let difference = resource.diff(&imported, &made.inputs).await?;
    expect(!difference.some, format!("by its own program: {difference:?} for {}", made.inputs));
    // What is imported goes on as if it had been made here.
    let Some(read) = resource.refresh(&imported).await? else { return Ok(vec!["it is gone".to_owned()]) };
    expect(read.inputs == imported.inputs, format!("refreshed: {} from {}", read.inputs, imported.inputs));
    let difference = resource.diff(&read, &checked.inputs).await?;
    expect(!difference.some, format!("once refreshed: {difference:?}"));
    Ok(found)
}

/// Imports what was made, and expects that nothing differs from it.
async fn import_is_no_change(resource: &Resource, id: &str, made: &Stored, what: &str) -> Outcome {
    assert_eq!(differences_after_import(resource, id, made).await?, [""; 0], "{what}");
    Ok(())
}

on_both_protocols! {
    async fn whatever_the_conformance_provider_has_is_imported_without_a_difference(protocol) {
        let variants = "collisions,prefixes,tuples,properties,grammar,reserved,faulty";
        let setup = Setup::conformance(protocol).with("CONFORMANCE_VARIANTS", variants);
        let (host, session) = setup.session().await?;
        let schema = session.schema().await?;
        let (mut walked, mut problems) = (0, Vec::new());
        for (token, described) in members(&schema["resources"]) {
            if NOT_WALKED.contains(&token.as_str()) {
                continue;
            }
            for fill in [Fill::Everything, Fill::Zeros, Fill::Needs] {
                match makes_and_imports(&host, &session, &schema, (token, described), fill).await? {
                    Walked::Not(reason) => println!("{token} with {fill:?} is not walked: {reason}"),
                    Walked::With(found) => {
                        walked += 1;
                        problems.extend(found.iter().map(|problem| format!("{token} with {fill:?}: {problem}")));
                    }
                }
            }
        }
        assert_eq!(problems, [""; 0], "{walked} were walked");
        // Nearly all of them: what a resource takes, its types do not always tell.
        let all = 3 * (members(&schema["resources"]).count() - NOT_WALKED.len());
        assert!(walked * 10 > all * 9, "only {walked} of {all} were walked");
    }

    async fn an_import_that_is_not_one_object_of_the_type_is_an_error_that_explains_it(protocol) {
        for (answer, words) in [
            ("none", "it found no object under this id, and gave no reason; check the id"),
            ("several", "it found 2 objects under this id (sandbox_note, sandbox_note), and a resource is one object"),
            ("foreign", "it found a sandbox_elsewhere under this id; import it as that"),
        ] {
            let (_host, session) = Setup::sandbox(protocol).with("SANDBOX_IMPORT", answer).session().await?;
            let made = session.note().make(&json!({"title": "Hello"})).await?;
            let status = session.note().import(&made.id).await.expect_err(answer);
            let words = format!("the sandbox_note cannot be imported from the provider sandbox: {words}");
            assert!(status.message().contains(&words), "{status}");
            assert_eq!(status.code(), Code::Aborted, "{status}");
        }
    }

    async fn a_program_looks_a_resource_up_by_its_id_and_part_of_its_state(session: sandbox) {
        let note = session.note();
        let made = note.make(&json!({"title": "Hello", "body": "World"})).await?;
        // What an engine sends for `.get` with a state: the program's own words on both sides.
        let told = json!({"title": "Hi"});
        let asked = Stored { id: made.id.clone(), inputs: told.clone(), outputs: told };
        let found = note.refresh(&asked).await?.expect("the note is there");
        assert_eq!((&found.id, &found.outputs), (&made.id, &made.outputs));
        assert_eq!(found.inputs, json!({"title": "Hello"}));
        let elsewhere = Stored { id: "no-such-note".to_owned(), ..asked };
        assert_eq!(note.refresh(&elsewhere).await?, None);
    }

    async fn a_sensitive_value_that_no_read_returns_is_no_change_until_the_program_changes_it(protocol) {
        let setup = Setup::sandbox(protocol).with("SANDBOX_SENSITIVE", "withheld");
        let (host, session) = setup.session().await?;
        let note = session.note();
        let program = |title: &str, hint: &str| json!({"title": title, "secretHint": secret(hint)});
        let made = note.make(&program("Hello", "mat")).await?;
        let imported = note.import(&made.id).await?.expect("it is there");
        assert_eq!((&imported.inputs["secretHint"], &imported.outputs["secretHint"]), (&Json::Null, &Json::Null));

        // The program sets it for the first time; the engine stores its inputs, and nothing else changes.
        assert_eq!(note.diff(&imported, &program("Hello", "mat")).await?, Difference::default());
        let words = "The value of `secretHint` could not be read when this was imported";
        host.engine.line(words, |line| line.message.contains(words) && line.urn == note.urn()).await;
        let told = host.engine.shown().len();
        let settled = Stored { inputs: program("Hello", "mat"), ..imported.clone() };
        let read = note.refresh(&settled).await?.expect("it is there");
        assert_eq!(read.inputs, settled.inputs, "a refresh does not forget the program's value");
        for stored in [&settled, &read] {
            assert_eq!(note.diff(stored, &program("Hello", "mat")).await?, Difference::default());
            let difference = note.diff(stored, &program("Hello", "gate")).await?;
            assert!(difference.changes.contains(&"update secretHint".to_owned()), "{difference:?}");
        }
        assert_eq!(host.engine.shown().len(), told, "the user is told once");
        // A value that is not known yet will be what is there, and what is not to be changed is what the inputs have.
        let unknown_hint = json!({"title": "Hello", "secretHint": unknown()});
        assert_eq!(note.diff(&imported, &unknown_hint).await?, Difference::default());
        let ignoring = note.ignoring(&["secretHint"]);
        for stored in [&imported, &settled] {
            assert_eq!(ignoring.diff(stored, &program("Hello", "gate")).await?, Difference::default());
            assert!(ignoring.diff(stored, &program("Hi", "gate")).await?.some);
        }
        let kept = ignoring.update(&settled, &program("Hey", "gate")).await?;
        assert_eq!(kept.outputs["secretHint"], secret("mat"));
        note.update(&kept, &program("Hello", "mat")).await?;
        // Another change is an update, with the program's value as what was there before.
        let changed = note.update(&settled, &program("Hi", "mat")).await?;
        assert_eq!((&changed.outputs["title"], &changed.outputs["secretHint"]), (&json!("Hi"), &secret("mat")));
        assert!(!changed.outputs["__meta"].as_str().expect("a text").contains("unread"));
        assert_eq!(note.diff(&changed, &program("Hi", "mat")).await?, Difference::default());
        assert!(note.diff(&changed, &program("Hi", "gate")).await?.some);
        assert_eq!(host.objects()[0]["secret_hint"], "mat");

        // So it is where the program says nothing of it at first.
        let changed = note.update(&imported, &json!({"title": "Hey"})).await?;
        assert_eq!(note.diff(&changed, &program("Hey", "mat")).await?, Difference::default());
    }

    async fn a_write_only_value_is_no_change_of_what_was_imported(session: sandbox) {
        let note = session.note();
        let made = note.make(&json!({"title": "Hello"})).await?;
        let imported = note.import(&made.id).await?.expect("it is there");
        let news = json!({"title": "Hello", "passphrase": secret("sesame")});
        assert_eq!(note.diff(&imported, &news).await?, Difference::default());
    }

    async fn the_inputs_of_an_import_are_those_that_the_provider_generates(protocol) {
        for (answer, priority, warning) in [
            ("config", Json::Null, None),
            ("none", json!(3), None),
            ("refuse", json!(3), Some("The provider generated no configuration: No configuration is generated")),
            ("null", json!(3), Some("The provider generated no configuration: the provider sandbox answered")),
        ] {
            let setup = Setup::sandbox(protocol).with("SANDBOX_GENERATE", answer);
            let (host, session) = setup.session().await?;
            let note = session.note();
            let hint = secret("under the mat");
            let news = json!({"title": "Hello", "body": "", "labels": {"a": "b"}, "secretHint": hint});
            let made = note.make(&news).await?;
            let imported = note.import(&made.id).await?.expect("it is there");
            // The schema alone does not tell that the priority is a default.
            let mut expected = json!({"title": "Hello", "body": "", "labels": {"a": "b"}, "secretHint": hint});
            if !priority.is_null() {
                expected["priority"] = priority;
            }
            assert_eq!(imported.inputs, expected, "{answer}");
            assert_eq!(note.diff(&imported, &imported.inputs).await?, Difference::default(), "{answer}");
            let asked = host.call_names().iter().any(|name| name == "GenerateResourceConfig");
            assert_eq!(asked, answer != "none", "{answer}");
            let shown: Vec<String> = host.engine.shown().into_iter().map(|line| line.message).collect();
            assert_eq!(shown.len(), usize::from(warning.is_some()), "{answer}: {shown:?}");
            if let Some(warning) = warning {
                assert!(shown[0].contains(warning), "{shown:?}");
            }
        }
    }

    async fn what_is_listed_is_imported_as_the_provider_generates_it(protocol) {
        let setup = Setup::sandbox(protocol).with("SANDBOX_GENERATE", "config");
        let (_host, session) = setup.session().await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        let request = ListRequest { token: "sandbox:index/note:Note".to_owned(), ..ListRequest::default() };
        let listed = session.list(request).await?;
        let [(id, _)] = &*listed.results else { panic!("there is one note: {listed:?}") };
        let imported = session.note().import(id).await?.expect("it is there");
        assert_eq!(imported.inputs, json!({"title": "Hello"}));
    }

    async fn what_the_provider_refuses_of_imported_inputs_is_taken_out(protocol) {
        for generate in ["none", "config"] {
            let (host, session) = Setup::sandbox(protocol).with("SANDBOX_GENERATE", generate).session().await?;
            let note = session.note();
            let made = note.make(&json!({"title": "Hello", "labels": {"a": "b", "c": "d"}})).await?;
            // Somebody gives it an empty label, which no program may.
            host.tamper(|object| object["labels"]["a"] = json!(""));
            let imported = note.import(&made.id).await?.expect("it is there");
            assert_eq!(imported.inputs["labels"], json!({"c": "d"}), "{generate}");
            let checked = note.check_again(&imported.inputs, &imported.inputs).await?;
            assert_eq!(checked.failures, [], "{generate}");
            let difference = note.diff(&imported, &checked.inputs).await?;
            assert!(difference.changes.contains(&"delete labels.a".to_owned()), "{generate}: {difference:?}");
        }
    }

    async fn an_import_that_fails_tells_what_is_taken(protocol) {
        let setup = Setup::sandbox(protocol).with("SANDBOX_IMPORT", "none");
        let (_host, session) = setup.session().await?;
        let status = session.note().import("no-such-note").await.expect_err("there is none");
        let form = "the provider describes attribute `id`, by which most resources are imported, as \"What the sandbox calls the note.\"; in place of an id, its identity is \
                    taken, a JSON object of \"id\" (a string)";
        assert!(status.message().ends_with(&format!("check the id\nhelp: {form}")), "{status}");

        let (host, session) = Setup::sandbox(protocol).session().await?;
        assert_eq!(session.note().import("no-such-note").await?, None);
        let words = format!("No sandbox_note has this id; {form}");
        host.engine.line(&words, |line| line.message.contains(&words)).await;
    }

    async fn tuples_are_imported_without_a_difference(protocol) {
        let setup = Setup::conformance(protocol).with("CONFORMANCE_VARIANTS", "tuples");
        let (host, session) = setup.session().await?;
        let tuples = session.resource("conformance:index/tuples:Tuples", "thing");
        let row = |text: &str, number: f64, truth: bool| json!({"t0": text, "t1": number, "t2": truth});
        let made = tuples.make(&json!({
            "row": row("", 0.0, false),
            "rows": [row("a", 1.5, true), row("", 0.0, false)],
            "rowsByName": {"a": {"t0": "", "t1": []}, "b": {"t0": "x", "t1": [0, 1]}},
            "boxed": {"row": {"t0": "", "t1": {"x": 0, "y": 1}}},
        })).await?;
        let id = host.objects()[0]["id"].as_str().expect("a text").to_owned();
        import_is_no_change(&tuples, &id, &made, "tuples").await?;
    }

    async fn a_note_of_the_sandbox_is_imported_without_a_difference(session: sandbox) {
        let note = session.note();
        for (what, news) in [
            ("everything", json!({
                "title": "Hello", "body": "World", "labels": {"a": "b", "c": "d"}, "pinned": true, "priority": 7,
                "secretHint": "mat", "tag": "x", "color": "red",
            })),
            ("zeros", json!({
                "title": "Hello", "body": "", "labels": {}, "pinned": false, "priority": 0, "secretHint": "",
                "tag": "", "color": "",
            })),
            ("needs", json!({"title": "Hello"})),
        ] {
            let made = note.make(&news).await?;
            import_is_no_change(&note, &made.id, &made, what).await?;
            note.delete(&made).await?;
        }
    }

    async fn a_server_of_the_sandbox_is_imported_without_a_difference(protocol) {
        let (_host, session) = Setup::sandbox(protocol).session().await?;
        let server = session.resource("sandbox:index/server:Server", "server");
        let mut everything = json!({
            "name": "web", "image": "linux",
            "disks": [{"mount": "/", "size": 0}, {"mount": "", "size": 20}],
            "rules": [{"port": 443}, {"port": 80, "cidr": ""}, {"port": 0, "cidr": "10.0.0.0/8"}],
            "limits": {"cpu": 0, "zone": ""},
            "metadata": {"owner": "", "tags": ["x", 1, false, {}]},
        });
        let mut zeros = json!({"name": "", "image": "", "disks": [], "rules": [], "limits": {}, "metadata": ""});
        if protocol == Protocol::V6 {
            everything["network"] = json!({"name": "", "mtu": 0});
            everything["interfaces"] = json!([{"name": "eth0", "primary": false}, {"name": ""}]);
            everything["volumes"] = json!({"": {"size": 0, "key": ""}, "b": {"size": 2}});
            zeros["interfaces"] = json!([]);
            zeros["volumes"] = json!({});
        }
        // A disk without room is refused.
        everything["disks"][0]["size"] = json!(1);
        for (what, news) in [("everything", everything), ("zeros", zeros), ("needs", json!({"name": "web"}))] {
            let made = server.make(&news).await?;
            import_is_no_change(&server, &made.id, &made, what).await?;
            server.delete(&made).await?;
        }
    }
}

/// What became of a resource on the way.
enum Walked {
    /// It was never there, or never at rest.
    Not(String),
    /// It was imported, and this is what then was not as it had been.
    With(Vec<String>),
}

/// Makes a resource and imports it.
async fn makes_and_imports(
    host: &Host,
    session: &Session,
    schema: &Json,
    (token, described): (&String, &Json),
    fill: Fill,
) -> Result<Walked, Status> {
    let resource = session.resource(token, "thing");
    let mut news = object(schema, described, ("inputProperties", "requiredInputs"), fill, 0);
    let mut checked = resource.check(&news).await?;
    // Types of the package do not tell what in them only the provider sets, nor what excludes what: that is taken out.
    for _ in 0..3 {
        if checked.failures.is_empty() {
            break;
        }
        // Where a part of the property may be secret, the path is in the text.
        let check_failures =
            checked.failures.iter().map(|(property, reason)| match reason.split_once(": ") {
                Some((path, _)) if property.is_empty() => path,
                _ => property.as_str(),
            });
        check_failures
            .filter(|property| *property != "name")
            .for_each(|property| remove(&mut news, property));
        checked = resource.check(&news).await?;
    }
    if !checked.failures.is_empty() {
        return Ok(Walked::Not(format!("it is never filled: {:?}", checked.failures)));
    }
    let before: Vec<Json> = host.objects();
    let made = match resource.create(&checked.inputs).await {
        Ok(made) => made,
        Err(status) => return Ok(Walked::Not(format!("it is never made: {status}"))),
    };
    let difference = resource.diff(&made, &made.inputs).await?;
    if difference.some {
        resource.delete(&made).await?;
        return Ok(Walked::Not(format!("it is never at rest: {difference:?}")));
    }
    let mut objects = host.objects();
    objects.retain(|object| !before.contains(object));
    let ids: Vec<&str> = objects.iter().filter_map(|object| object["id"].as_str()).collect();
    let [id] = &*ids else { panic!("{token} is one object with an id: {objects:?}") };
    let found = differences_after_import(&resource, id, &made).await?;
    resource.delete(&made).await?;
    Ok(Walked::With(found))
}

/// Takes out what is at a path such as `a.b[0]["c.d"]`, if there is anything.
fn remove(bag: &mut Json, path: &str) {
    let pointer = path.replace("[\"", "/").replace("\"]", "").replace(['[', '.'], "/").replace(']', "");
    let pointer = format!("/{}", pointer.replace("t/wo", "t.wo"));
    let (above, last) = pointer.rsplit_once('/').expect("a path has a beginning");
    let above = bag.pointer_mut(above).and_then(Json::as_object_mut);
    above.and_then(|above| above.remove(last));
}

fn members(of: &Json) -> impl Iterator<Item = (&String, &Json)> {
    of.as_object().into_iter().flatten()
}

/// An object of a type of the package schema.
fn object(schema: &Json, of: &Json, (properties, required): (&str, &str), fill: Fill, number: usize) -> Json {
    let is_required = |name: &str| of[required].as_array().is_some_and(|names| names.contains(&json!(name)));
    // Time limits are texts of a form of their own.
    let filled = members(&of[properties]).filter(|(name, _)| *name != "timeouts").filter_map(|(name, of)| {
        let fill = match fill {
            // A name is not required, because one is made up; here it is given.
            Fill::Zeros | Fill::Needs if is_required(name) || name == "name" => Fill::Everything,
            Fill::Needs => return None,
            fill => fill,
        };
        Some((name.clone(), value(schema, of, fill, number)))
    });
    Json::Object(filled.collect())
}

/// A value of a type of the package schema; the elements of a collection differ in `number`.
fn value(schema: &Json, of: &Json, fill: Fill, number: usize) -> Json {
    let is_zero = fill == Fill::Zeros;
    // Twice the same type, which is `any` in Go.
    if let Some(either) = of["oneOf"].get(0) {
        return value(schema, either, fill, number);
    }
    if let Some(reference) = of["$ref"].as_str() {
        return match reference.strip_prefix("#/types/") {
            Some(token) => object(schema, &schema["types"][token], ("properties", "required"), fill, number),
            None if is_zero => json!(""),
            None => json!(format!("any {number}")),
        };
    }
    let several = |of: &Json| -> Vec<Json> { (0..2).map(|number| value(schema, of, fill, number)).collect() };
    match of["type"].as_str() {
        Some("boolean") => json!(!is_zero && number == 0),
        Some("integer" | "number") if is_zero => json!(0),
        Some("integer" | "number") => json!(number + 1),
        Some("string") if is_zero => json!(""),
        Some("string") => json!(format!("text {number}")),
        Some("array") if is_zero => json!([]),
        Some("array") => json!(several(&of["items"])),
        Some("object") if is_zero => json!({}),
        Some("object") => {
            let keys = ["one", "t.wo"].map(str::to_owned);
            Json::Object(keys.into_iter().zip(several(&of["additionalProperties"])).collect())
        }
        other => panic!("no such type: {other:?} of {of}"),
    }
}
