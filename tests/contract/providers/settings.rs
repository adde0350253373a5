//! A configuration of every shape: how it travels, what is said about it, and what the provider gets.

use std::collections::HashMap;

use isthmus_proto::pulumirpc::{ConfigureErrorMissingKeys, ConfigureRequest};
use prost::Message as _;

use crate::harness::settings::Settings;
use crate::harness::{Code, Json, Setup, Status, json, on_both_protocols, secret, unknown};

const EXPLICIT: &str = "urn:pulumi:test::contract::pulumi:providers:settings::mine";
const DEFAULT: &str = "urn:pulumi:test::contract::pulumi:providers:settings::default_1_2_3";

/// What Configure misses, by the detail that engines read.
fn missing(status: &Status) -> Vec<(String, String)> {
    let status = isthmus_proto::rpc::Status::decode(status.details()).expect("details are a status");
    let name = "type.googleapis.com/pulumirpc.ConfigureErrorMissingKeys";
    let detail = status.details.into_iter().find(|detail| detail.type_url == name).expect("a detail");
    let detail = ConfigureErrorMissingKeys::decode(&*detail.value).expect("a detail of the type it says");
    detail.missing_keys.into_iter().map(|key| (key.name, key.description)).collect()
}

on_both_protocols! {
    async fn values_are_stored_as_text_however_they_came(protocol) {
        let (_provider, _host, session) = Settings::session(protocol).await?;
        let text = json!({
            "apiKey": secret("k"),
            "anything": "{\"a\":[1,\"b\"]}",
            "debug": "true",
            "endpoints": "[{\"insecure\":true,\"url\":\"u\"}]",
            "limits": "{\"maxSize\":5,\"soft\":false}",
            "login": secret("{\"passWord\":\"p\",\"userName\":\"u\"}"),
            "regions": "[\"a\",\"b\"]",
            "retryCount": "1e+21",
            "tags": "{\"a\":\"\\u003c1\\u003e\\u0026\",\"b\":\"é\"}",
            "zones": "[\"z\"]",
        });
        let values = json!({
            "apiKey": "k",
            "anything": {"a": [1, "b"]},
            "debug": true,
            "endpoints": [{"url": "u", "insecure": true}],
            "limits": {"soft": false, "maxSize": 5},
            "login": {"userName": "u", "passWord": "p"},
            "regions": ["a", "b"],
            "retryCount": 1e21,
            "tags": {"b": "é", "a": "<1>&"},
            "zones": ["z"],
        });
        for news in [&values, &text] {
            let checked = session.check_config(&json!({}), news).await?;
            assert_eq!(checked.failures, []);
            assert_eq!(checked.inputs, text);
        }
    }

    async fn odd_values_are_stored_as_the_go_bridge_stores_them(protocol) {
        let (_provider, _host, session) = Settings::session(protocol).await?;
        for (name, given, stored) in [
            ("debug", json!(""), json!("false")),
            ("retryCount", json!(""), json!("0")),
            ("regions", json!(""), json!("[]")),
            ("tags", json!(""), json!("{}")),
            ("retryCount", json!(123.456), json!("123.456")),
            ("retryCount", json!("null"), json!("")),
            ("retryCount", json!(null), json!("")),
            ("debug", json!(" true "), json!("true")),
            ("regions", json!("[\"a\", 1, true]"), json!("[\"a\",1,true]")),
            ("regions", json!(["a", unknown()]), unknown()),
            ("login", json!({"passWord": unknown()}), unknown()),
            ("regions", json!(["a", secret("b")]), secret("[\"a\",\"b\"]")),
            ("regions", json!(format!("[{}]", secret("a"))), secret("[\"a\"]")),
            ("debug", secret("true"), secret("true")),
            // What engines add, and once added.
            ("version", json!("1.2.3"), json!("1.2.3")),
            ("pluginDownloadURL", json!("u"), json!("u")),
            ("name", json!("settings"), json!("settings")),
            ("parameterization", json!({"value": "x"}), json!({"value": "x"})),
            ("__internal", json!({"a": 1}), json!({"a": 1})),
        ] {
            let checked = session.check_config(&json!({}), &json!({"apiKey": 123.456, name: given})).await?;
            assert_eq!(checked.failures, [], "{name}: {given}");
            assert_eq!(checked.inputs[name], stored, "{name}: {given}");
            assert_eq!(checked.inputs["apiKey"], secret("123.456"));
        }
    }

    async fn names_as_in_terraform_are_taken_with_a_warning(protocol) {
        let (_provider, host, session) = Settings::session(protocol).await?;
        let news = json!({
            "api_key": "k",
            "limits": "{\"max_size\":5,\"soft\":false}",
            "login": {"user_name": "u", "pass_word": secret("p")},
            "version": "1.2.3",
        });
        let checked = session.check_config(&json!({}), &news).await?;
        assert_eq!(checked.failures, []);
        let stored = json!({
            "apiKey": secret("k"),
            "limits": "{\"maxSize\":5,\"soft\":false}",
            "login": secret("{\"passWord\":\"p\",\"userName\":\"u\"}"),
            "version": "1.2.3",
        });
        assert_eq!(checked.inputs, stored);
        let mut warnings: Vec<_> = host.engine.shown().iter().map(|line| line.message.clone()).collect();
        warnings.sort_unstable();
        let warning = |path, name| format!("`{path}` of the provider's configuration is called `{name}`, as in Terraform");
        assert_eq!(
            warnings,
            [
                warning("apiKey", "api_key"),
                warning("limits.maxSize", "max_size"),
                warning("login.passWord", "pass_word"),
                warning("login.userName", "user_name"),
            ]
        );
        // As from a state that the Go bridge has written.
        session.configure(&news).await?;
        let checked = session.check_config(&json!({}), &json!({"apiKey": "k", "api_key": "k"})).await?;
        let [(_, reason)] = &checked.failures[..] else { panic!("one failure: {checked:?}") };
        assert!(reason.contains("Did you mean `settings:apiKey`?"), "{reason}");
    }

    async fn what_does_not_fit_the_schema_is_told_where_it_is(protocol) {
        let (_provider, _host, session) = Settings::session(protocol).await?;
        for (name, given, property, text) in [
            ("debug", json!("yes"), "debug", "expected a boolean: `true` or `false`; found text that is not JSON"),
            ("debug", json!("1"), "debug", "expected a boolean, found a number"),
            ("retryCount", json!("x"), "retryCount", "expected a number; found text that is not JSON"),
            (
                "regions",
                json!("{}"),
                "regions",
                "expected a list, found an object; there can be several here, so put it into a list, even if it is the only one",
            ),
            ("regions", json!([{"a": 1}]), "regions[0]", "expected a string, found an object"),
            ("endpoints", json!("[{\"insecure\":\"x\",\"url\":\"u\"}]"), "endpoints[0].insecure", "expected a boolean, found a string; write true or false, without quotes"),
            ("login", json!({"userName": "u", "user_name": "u"}), "login.user_name", "unknown property; Terraform's `user_name` is `userName` here"),
            ("limits", json!({"maxSize": 1, "max_size": 1}), "limits.max_size", "unknown property; Terraform's `max_size` is `maxSize` here"),
        ] {
            let checked = session.check_config(&json!({}), &json!({"apiKey": "k", name: given})).await?;
            let [(at, reason)] = &checked.failures[..] else { panic!("one failure of {name}: {checked:?}") };
            // Of what is further down, and what the schema does not know, only the text tells.
            assert_eq!(at, if property == name { property } else { "" });
            let stop = if text.ends_with('?') { "" } else { "." };
            let path = if property == name { "" } else { "--path " };
            let expected = format!(
                "could not validate provider configuration: {text}{stop} Check `pulumi config get {path}settings:{property}`."
            );
            assert_eq!(*reason, expected);
        }
    }

    async fn what_the_provider_says_comes_in_the_words_of_the_go_bridge(protocol) {
        let (_provider, _host, session) = Settings::session(protocol).await?;
        let prefix = "could not validate provider configuration: ";
        for (urn, news, expected) in [
            (DEFAULT, json!({}), vec![(
                "",
                "Provider is missing a required configuration key, try `pulumi config set settings:apiKey`: The key.".to_owned(),
            )]),
            (EXPLICIT, json!({}), vec![("", "Missing required property 'apiKey': The key.".to_owned())]),
            // A sensitive property has no name here, because engines print the value of one that has. The key is "bad", which the
            // provider says of it as well.
            (DEFAULT, json!({"apiKey": "bad"}), vec![(
                "",
                format!("{prefix}Bad key. The \"api_key\" is [secret]. Check `pulumi config get settings:apiKey`."),
            )]),
            (EXPLICIT, json!({"apiKey": "bad"}), vec![(
                "",
                format!("{prefix}Bad key. The \"api_key\" is [secret]. Examine values at 'mine.apiKey'."),
            )]),
            (DEFAULT, json!({"apiKey": "nested"}), vec![
                ("", format!("{prefix}Bad user. Check `pulumi config get --path settings:login.userName`.")),
                ("", format!("{prefix}Bad tag. no. Check `pulumi config get --path settings:tags[\"a b\"]`.")),
                (
                    "",
                    "Provider is missing a required configuration key, try `pulumi config set --path settings:endpoints[1].url`"
                        .to_owned(),
                ),
            ]),
            (EXPLICIT, json!({"apiKey": "root"}), vec![("", format!("{prefix}Bad: Set \"retryCount\"."))]),
            (DEFAULT, json!({"apiKey": "k", "debugg": "x", "retry": "1"}), vec![
                (
                    "",
                    "`settings:debugg` is not a valid configuration key for the settings provider. Did you mean \
                     `settings:debug`? If the referenced key is not intended for the provider, please choose a different \
                     namespace from `settings:`."
                        .to_owned(),
                ),
                (
                    "",
                    "`settings:retry` is not a valid configuration key for the settings provider. If the referenced key is \
                     not intended for the provider, please choose a different namespace from `settings:`."
                        .to_owned(),
                ),
            ]),
            (EXPLICIT, json!({"apiKey": "k", "retryCounts": 1}), vec![(
                "",
                format!("{prefix}Invalid or unknown key. Examine values at 'mine.retryCounts'. Did you mean `retryCount`?"),
            )]),
            // Both kinds at once.
            (EXPLICIT, json!({"apiKeys": "k"}), vec![
                ("", "Missing required property 'apiKey': The key.".to_owned()),
                ("", format!("{prefix}Invalid or unknown key. Examine values at 'mine.apiKeys'. Did you mean `apiKey`?")),
            ]),
        ] {
            let checked = session.check_config_of(urn, &news).await?;
            let found: Vec<_> =
                checked.failures.iter().map(|(property, reason)| (property.as_str(), reason.clone())).collect();
            assert_eq!(found, expected, "{urn} with {news}");
        }
    }

    async fn a_difference_of_texts_alone_is_none(protocol) {
        let (_provider, _host, session) = Settings::session(protocol).await?;
        let old = json!({
            "apiKey": "k", "tags": "{\"a\":\"1\",\"b\":\"2\"}", "zones": "[\"a\",\"b\"]", "debug": "true", "regions": "[\"a\"]",
        });
        let new = json!({
            "apiKey": "k", "tags": "{ \"b\": \"2\", \"a\": 1 }", "zones": ["b", "a"], "debug": true, "regions": ["a"],
            "retryCount": null,
        });
        let same = session.diff_config(&old, &new).await?;
        assert_eq!(same.changes(), isthmus_proto::pulumirpc::diff_response::DiffChanges::DiffNone, "{same:?}");
        assert!(same.diffs.is_empty() && same.detailed_diff.is_empty(), "{same:?}");

        let other = json!({
            "apiKey": unknown(), "tags": "{\"b\":\"3\",\"c d\":\"1\"}", "debug": "true", "regions": "[\"a\",\"b\"]", "version": "2",
        });
        let different = session.diff_config(&old, &other).await?;
        assert_eq!(different.diffs, ["apiKey", "regions", "tags", "version", "zones"]);
        let mut paths: Vec<_> = different.detailed_diff.keys().collect();
        paths.sort();
        assert_eq!(paths, ["apiKey", "regions[1]", "tags.a", "tags.b", "tags[\"c d\"]", "version", "zones"]);
        assert!(different.detailed_diff.values().all(|change| change.input_diff), "{different:?}");
        assert_eq!(different.replaces, [""; 0]);
    }

    async fn the_provider_gets_values_of_its_types(protocol) {
        let (provider, _host, session) = Settings::session(protocol).await?;
        let arguments = json!({
            "apiKey": secret("k"),
            "anything": "{\"a\":[1,\"b\"]}",
            "debug": secret("true"),
            "endpoints": format!("[{{\"url\":{}}}]", secret("u")),
            "limits": "{\"maxSize\":\"5\"}",
            "login": {"userName": secret("u")},
            "regions": ["a", 1],
            "retryCount": "9007199254740993",
            "tags": "{\"a\":true}",
            "zones": "[\"z\",\"z\"]",
            "version": "1.2.3",
        });
        session.configure(&arguments).await?;
        assert_eq!(
            provider.configuration(),
            json!({
                "anything": {"value": {"a": [1, "b"]}, "type": ["object", {"a": ["tuple", ["number", "string"]]}]},
                "api_key": "k",
                "debug": true,
                "endpoint": [{"insecure": null, "url": "u"}],
                "limits": {"max_size": 5, "soft": null},
                "login": [{"pass_word": null, "user_name": "u"}],
                "region": ["a", "1"],
                "retry_count": 9_007_199_254_740_993_i64,
                "tags": {"a": "true"},
                "zones": ["z"],
            })
        );
    }

    async fn engines_of_old_pass_a_map_of_texts(protocol) {
        let (provider, _host, session) = Settings::session(protocol).await?;
        let configure = async |variables: &[(&str, &str)]| {
            let variables: HashMap<String, String> =
                variables.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
            let request = ConfigureRequest { variables, ..Default::default() };
            session.call("Configure", request, async |mut client, request| client.configure(request).await).await
        };
        let status = configure(&[("apiKey", "k")]).await.expect_err("a key without a namespace");
        assert_eq!(status.code(), Code::InvalidArgument);
        configure(&[
            ("settings:config:apiKey", "0012345678901234567890"),
            ("settings:config:retryCount", "5"),
            ("settings:config:regions", "[\"a\"]"),
            ("settings:debug", "true"),
        ])
        .await?;
        let expected =
            json!({"api_key": "0012345678901234567890", "retry_count": 5, "region": ["a"], "debug": true});
        assert_eq!(provider.configuration(), expected);
    }

    async fn what_is_missing_is_told_as_engines_want_it(protocol) {
        let (provider, _host, session) = Settings::session(protocol).await?;
        for arguments in [json!({}), json!({"apiKey": null}), json!({"debug": "true", "version": "1.0.0"})] {
            let status = session.configure(&arguments).await.expect_err("a key is missing");
            assert_eq!(missing(&status), [("settings:apiKey".to_owned(), "The key.".to_owned())]);
        }
        assert!(provider.configurations().is_empty(), "it was not asked");
        // Nothing is lost by it.
        session.configure(&json!({"apiKey": "k"})).await?;
    }

    async fn what_is_wrong_with_stored_configuration_is_an_error_with_its_path(protocol) {
        let (provider, _host, session) = Settings::session(protocol).await?;
        for (arguments, wanted) in [
            (json!({"apiKey": "k", "retryCount": "x"}), "retryCount: expected a number; found text that is not JSON"),
            (json!({"apiKey": "k", "regions": "[{}]"}), "regions[0]: expected a string, found an object"),
        ] {
            let status = session.configure(&arguments).await.expect_err("it does not fit");
            assert_eq!(status.code(), Code::InvalidArgument);
            assert!(status.message().contains(wanted), "{status}");
        }
        assert!(provider.configurations().is_empty(), "it was not asked");
    }

    async fn what_another_version_has_stored_too_much_is_left_out(protocol) {
        let (provider, host, session) = Settings::session(protocol).await?;
        let arguments = json!({"apiKey": "k", "retired": "x", "login": "{\"userName\":\"u\",\"realm\":\"r\"}"});
        session.configure(&arguments).await?;
        assert_eq!(
            provider.configuration(),
            json!({"api_key": "k", "login": [{"pass_word": null, "user_name": "u"}]})
        );
        let shown = host.engine.shown();
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert!(shown[0].message.contains("`settings:retired` has no effect"), "{shown:?}");
    }

    async fn a_refusal_speaks_of_properties(protocol) {
        let (_provider, _host, session) = Settings::session(protocol).await?;
        let status = session.configure(&json!({"apiKey": "refused"})).await.expect_err("it is refused");
        assert_eq!(
            status.message(),
            "Refused: The \"apiKey\" does not go with \"retryCount\", nor with \"nothing\""
        );
    }

    async fn a_second_configuration_is_refused_unless_it_is_the_first(protocol) {
        let (provider, _host, session) = Settings::session(protocol).await?;
        session.configure(&json!({"apiKey": "k", "tags": "{\"a\":\"1\",\"b\":\"2\"}"})).await?;
        session.configure(&json!({"apiKey": secret("k"), "tags": {"b": "2", "a": "1"}, "version": "1"})).await?;
        let status = session.configure(&json!({"apiKey": "other"})).await.expect_err("it has one");
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert!(status.message().contains("configured already, with another configuration"), "{status}");
        assert_eq!(provider.configurations().len(), 1);
    }

    async fn what_is_not_known_yet_reaches_the_provider_as_such(protocol) {
        let (provider, _host, session) = Settings::session(protocol).await?;
        session.configure(&json!({"apiKey": unknown(), "regions": format!("[\"a\",\"{}\"]", unknown().as_str().expect("text"))})).await?;
        let configurations = provider.configurations();
        assert!(!configurations[0].is_wholly_known(), "{configurations:?}");
        let status = session.terraform_config().await.expect_err("it is not known");
        assert!(status.message().contains("All inputs to provider configuration must be known"), "{status}");
    }

    async fn a_program_for_terraform_gets_the_configuration_in_its_names(protocol) {
        let (_provider, _host, session) = Settings::session(protocol).await?;
        let nothing = json!({
            "anything": secret(null()), "api_key": secret(null()), "debug": secret(null()), "endpoint": secret(null()),
            "limits": secret(null()), "login": secret(null()), "region": secret(null()), "retry_count": secret(null()),
            "tags": secret(null()), "zones": secret(null()),
        });
        assert_eq!(session.terraform_config().await?, json!({"result": nothing}), "nothing is known");
        session.check_config(&json!({}), &json!({"apiKey": "k"})).await?;
        let mut checked = nothing.clone();
        checked["api_key"] = secret("k");
        assert_eq!(session.terraform_config().await?, json!({"result": checked}), "as it was checked");
        let arguments = json!({
            "apiKey": secret("k"),
            "anything": "{\"a\":[1,\"b\"]}",
            "endpoints": "[{\"url\":\"u\"}]",
            "limits": "{\"maxSize\":5}",
            "login": {"userName": "u"},
            "regions": "[\"a\"]",
            "retryCount": "5",
            "tags": "{\"x y\":\"z\"}",
            "zones": "[\"a\"]",
        });
        session.configure(&arguments).await?;
        let expected = json!({
            "anything": secret(json!({"a": [1, "b"]})),
            "api_key": secret("k"),
            "debug": secret(null()),
            "endpoint": secret(json!([{"insecure": null, "url": "u"}])),
            "limits": secret(json!({"max_size": 5, "soft": null})),
            "login": secret(json!([{"pass_word": null, "user_name": "u"}])),
            "region": secret(json!(["a"])),
            "retry_count": secret(5),
            "tags": secret(json!({"x y": "z"})),
            "zones": secret(json!(["a"])),
        });
        assert_eq!(session.terraform_config().await?, json!({"result": expected}));
        // The schema says that there is this method.
        let schema = session.schema().await?;
        let token = schema["provider"]["methods"]["terraformConfig"].as_str().expect("a token");
        assert!(schema["functions"][token].is_object(), "{token}");
        let arguments = json!({"__self__": "urn:pulumi:test::contract::pulumi:providers:settings::mine::1"});
        assert_eq!(session.call_method(token, &arguments).await?, json!({"result": expected}));
    }

    async fn a_method_that_there_is_not_is_an_error(protocol) {
        let (_provider, _host, session) = Settings::session(protocol).await?;
        for token in ["pulumi:providers:settings/other", "settings:index:terraformConfig", ""] {
            let status = session.call_method(token, &json!({})).await.expect_err("no such method");
            assert_eq!(status.code(), Code::NotFound);
            assert!(status.message().starts_with(&format!("unknown method {token}")), "{status}");
        }
    }

    async fn a_plugin_without_a_provider_has_nothing_to_configure(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.greeted().await?;
        let bare = json!({"version": "1.4.0"});
        assert_eq!(session.check_config(&json!({}), &bare).await?.inputs, bare);
        assert_eq!(session.diff_config(&bare, &json!({"version": "1.1.4"})).await?.diffs, ["version"]);
        session.configure(&bare).await?;
        let token = "pulumi:providers:terraform-provider/terraformConfig";
        assert_eq!(session.call_method(token, &json!({})).await?, json!({"result": {}}));
        // What is meant for a provider must not be lost.
        for status in [
            session.configure(&json!({"token": "x"})).await.expect_err("for whom?"),
            session.check_config(&json!({}), &json!({"token": "x"})).await.expect_err("for whom?"),
        ] {
            assert!(status.message().contains("Parameterize must precede"), "{status}");
        }
    }

    async fn functions_take_and_return_values_of_any_type(protocol) {
        let (provider, _host, session) = Settings::session(protocol).await?;
        for (function, argument, result) in [
            ("person", json!({"firstName": "Ada", "howOld": 36}), json!({"firstName": "Ada", "howOld": 36})),
            ("person", json!({"firstName": "Ada"}), json!({"firstName": "Ada"})),
            ("pair", json!(["a", 1]), json!({"result": {"t0": "a", "t1": 1}})),
            ("pair", json!({"t0": "a", "t1": "1"}), json!({"result": {"t0": "a", "t1": 1}})),
            ("anything", json!({"a": [1, true, null, "x"]}), json!({"result": {"a": [1, true, null, "x"]}})),
            ("anything", json!([1, 2]), json!({"result": [1, 2]})),
            ("anything", json!(null), json!({})),
            ("anything", unknown(), json!({"result": unknown()})),
            ("person", json!({"firstName": unknown()}), json!({"firstName": unknown(), "howOld": unknown()})),
            ("person", json!({"firstName": secret("Ada"), "howOld": 36}), json!({"firstName": secret("Ada"), "howOld": secret(36)})),
            ("anything", secret(json!([1])), json!({"result": secret(json!([1]))})),
        ] {
            let token = format!("settings:index/{function}:{function}");
            let returned = session.invoke(&token, &json!({"whatItIs": argument})).await?;
            assert_eq!(returned, Ok(result), "{function} of {argument}");
        }
        assert!(provider.configurations().is_empty(), "functions need no configuration");
    }

    async fn arguments_that_a_function_does_not_take_are_failures(protocol) {
        let (_provider, _host, session) = Settings::session(protocol).await?;
        for (function, arguments, property, reason) in [
            ("person", json!({"whatItIs": "x"}), "whatItIs", "expected an object, found a string"),
            ("person", json!({"whatItIs": {"howOld": "x"}}), "", "whatItIs.howOld: expected a number, found a string that is not one"),
            ("person", json!({}), "whatItIs", "function \"person\" requires a non-null value for argument \"whatItIs\""),
            ("pair", json!({"whatItIs": ["a"]}), "whatItIs", "expected a tuple of 2 elements, found 1"),
            ("anything", json!({"whatIsIt": 1}), "", "whatIsIt: unexpected argument for function \"anything\"; did you mean `whatItIs`?"),
            ("anything", json!({"zzz": 1}), "", "zzz: unexpected argument for function \"anything\""),
            (
                "anything",
                json!({"furtherOnes": "a"}),
                "furtherOnes",
                "expected a list, found a string; put it into a list, even if it is the only one",
            ),
            ("anything", json!({"furtherOnes": ["a", null]}), "furtherOnes", "function \"anything\" requires a non-null value for argument \"furtherOnes\""),
        ] {
            let token = format!("settings:index/{function}:{function}");
            let failures = session.invoke(&token, &arguments).await?.expect_err("wrong arguments");
            assert_eq!(failures, [(property.to_owned(), reason.to_owned())], "{function} of {arguments}");
        }
        let status = session.invoke("settings:index/fail:fail", &json!({"whatItIs": "x"})).await.expect_err("it fails");
        assert_eq!(status.message(), "function \"fail\" returned an error: it always does");
        assert_ne!(status.code(), Code::Unknown);
        let status = session.invoke("settings:index/persons:persons", &json!({})).await.expect_err("no such function");
        assert!(status.message().contains("did you mean \"settings:index/person:person\"?"), "{status}");
    }
}

fn null() -> Json {
    Json::Null
}
