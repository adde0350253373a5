//! Every mistake that can be made with a value: by programs, by users who edit states, and by providers.

use bytes::Bytes;
use isthmus_proto::pulumirpc::CheckResponse;
use prost::encoding::{encode_key, encode_varint};
use tonic::codegen::http::uri::PathAndQuery;

use super::marks::Search;
use crate::harness::resource::half_made;
use crate::harness::settings::Settings;
use crate::harness::{Json, Protocol, json, on_one_protocol, secret};

const LEAK: &str = "sandbox:index/leak:Leak";
const SIGNATURE: &str = "4dabf18193072939515e22adb298388d";
const SECRET: &str = "1b47061264138c4ac30d75fd1eb44270";
const FORMS: [&str; 8] = ["plain", "json", "quoted", "query", "base64", "base64url", "basic", "hex"];

/// The inputs with a mistake, made of its secret.
type Inputs = fn(String) -> Json;

fn part(protocol: Protocol) -> Search {
    Search::new(&format!("mistakes, protocol {protocol}"))
}

/// A request whose bag is bytes.
#[derive(Clone, PartialEq, prost::Message)]
struct RawCheck {
    #[prost(string, tag = "1")]
    urn: String,
    #[prost(bytes = "bytes", tag = "3")]
    news: Bytes,
}

/// A bag with one text, which is not UTF-8.
fn not_utf8(name: &str, text: &str) -> Bytes {
    let field = |tag: u32, content: &[u8]| {
        let mut bytes = Vec::new();
        encode_key(tag, prost::encoding::WireType::LengthDelimited, &mut bytes);
        encode_varint(content.len() as u64, &mut bytes);
        bytes.extend_from_slice(content);
        bytes
    };
    let value = field(3, &[text.as_bytes(), b"\xff"].concat());
    field(1, &[field(1, name.as_bytes()), field(2, &value)].concat()).into()
}

on_one_protocol! {
    async fn no_mistake_of_a_program_writes_a_value_in_the_clear(protocol) {
        let search = part(protocol);
        let host = search.sandbox(protocol).start().await;
        let session = host.session().await?;
        let leak = session.resource(LEAK, "leak");
        let rows: [(&str, Inputs, &str); 17] = [
            ("text for a number", |mark| json!({"size": secret(mark)}), "size: expected a number"),
            ("text for a sensitive number", |mark| json!({"pin": mark}), "pin: expected a number"),
            ("list for a text", |mark| json!({"open": [secret(mark)]}), "open: expected a string"),
            ("list for a sensitive text", |mark| json!({"secret": [mark]}), "secret: expected a string"),
            ("object for a sensitive text", |mark| json!({"secret": {mark: 1}}), "secret: expected a string"),
            ("list in a map", |mark| json!({"options": {"a": [secret(mark)]}}), "options.a: expected a string"),
            ("key of a secret map", |mark| json!({"options": secret(json!({mark: [1]}))}), "options: expected a string"),
            ("map for a set", |mark| json!({"names": {"a": secret(mark)}}), "names: expected a list"),
            ("object in a set", |mark| json!({"names": [{"a": secret(mark)}]}), "names[0]: expected a string"),
            ("text for blocks", |mark| json!({"logins": secret(mark)}), "logins: expected a list"),
            ("list in a block", |mark| json!({"logins": [{"password": [mark]}]}), "logins[0].password: expected"),
            ("unknown attribute", |mark| json!({"sceret": secret(mark)}), "sceret: unknown property"),
            ("unknown attribute of a block", |mark| json!({"logins": [{"pasword": secret(mark)}]}), "unknown property"),
            ("name of an attribute in a secret", |mark| json!({"logins": secret(json!([{mark: 1}]))}), "unknown property"),
            ("asset for a text", |mark| json!({"secret": {SIGNATURE: "c44067f5952c0a294b673a41bacd8c17", "text": mark}}), ""),
            ("secret without a value", |mark| json!({"secret": {SIGNATURE: SECRET, "valeu": mark}}), ""),
            ("special value that is none", |mark| json!({"secret": {SIGNATURE: mark}}), ""),
        ];
        for (what, inputs, says) in rows {
            match leak.check(&inputs(search.refused(what))).await {
                Ok(checked) => {
                    let [(property, reason)] = &checked.failures[..] else { panic!("{what}: one failure: {checked:?}") };
                    search.shown(what, &format!("{property}: {reason}"), says);
                }
                Err(status) => search.failed(what, &status, says),
            }
        }

        let urn = leak.urn().to_owned();
        let mut client = tonic::client::Grpc::new(host.channel().await);
        client.ready().await.expect("a connection");
        let check = RawCheck { urn, news: not_utf8("secret", &search.refused("text that is not UTF-8")) };
        let path = PathAndQuery::from_static("/pulumirpc.ResourceProvider/Check");
        let codec = tonic_prost::ProstCodec::<RawCheck, CheckResponse>::default();
        let status = client.unary(tonic::Request::new(check), path, codec).await.expect_err("no text");
        search.failed("not UTF-8", &status, "UTF-8");

        let mut config = json!({"tokne": secret(search.refused("unknown attribute of the configuration"))});
        for says in ["tokne", "token"] {
            let checked = session.check_config(&json!({}), &config).await?;
            search.shown("CheckConfig", &format!("{:?}", checked.failures), says);
            if let Err(status) = session.configure(&config).await {
                search.failed("Configure", &status, says);
            }
            config = json!({"token": [search.refused("list for a sensitive attribute of the configuration")]});
        }
        search.conclude(&host);
    }

    async fn no_json_in_a_configuration_is_quoted_beside_its_fault(protocol) {
        let search = part(protocol);
        let (_provider, host, session) = Settings::session(protocol).await?;
        let rows: [(&str, &dyn Fn(String) -> Json); 4] = [
            ("JSON that is cut off", &|mark| json!({"tags": secret(format!("{{\"a\": \"{mark}\""))})),
            ("JSON of the wrong type", &|mark| json!({"region": secret(format!("[[\"{mark}\"]]"))})),
            ("JSON for a number", &|mark| json!({"retryCount": secret(format!("\"{mark}\""))})),
            ("JSON in a block", &|mark| json!({"login": secret(format!("{{\"passWord\": [\"{mark}\"]}}"))})),
        ];
        for (what, config) in rows {
            let mut config = config(search.refused(what));
            config["apiKey"] = json!("good");
            let checked = session.check_config(&json!({}), &config).await?;
            assert_ne!(checked.failures, [], "{what}");
            search.shown(what, &format!("{:?}", checked.failures), "");
        }
        search.conclude(&host);
    }

    async fn no_state_that_was_edited_by_hand_is_quoted(protocol) {
        let search = part(protocol);
        let host = search.sandbox(protocol).start().await;
        let session = host.session().await?;
        let leak = session.resource(LEAK, "leak");
        let made = leak.make(&json!({"secret": search.mark("state that is edited"), "size": 1})).await?;
        let meta = |name: &str, mark: String| json!({"__meta": json!({name: mark}).to_string()});
        let rows: [(&str, &dyn Fn(String) -> Json); 8] = [
            ("`__meta` that is not JSON", &|mark| json!({"__meta": format!("{{\"private_state\": {mark}")})),
            ("private bytes that are not base64", &|mark| meta("private_state", format!("*{mark}"))),
            ("version that is not a number", &|mark| meta("schema_version", mark)),
            ("own object that is none", &|mark| meta("isthmus", mark)),
            ("delta that is none", &|mark| json!({"__pulumi_raw_state_delta": secret(json!({"obj": mark}))})),
            ("delta that does not fit", &|mark| json!({"__pulumi_raw_state_delta": secret(json!({"obj": {"ps": {mark: {"replace": {"raw": 1}}}}}))})),
            ("state of the wrong type", &|mark| json!({"size": secret(mark), "__pulumi_raw_state_delta": null})),
            ("list for a sensitive attribute in a state", &|mark| json!({"secret": [mark], "__pulumi_raw_state_delta": null})),
        ];
        for (what, change) in rows {
            let mut edited = made.clone();
            for (name, value) in change(search.refused(what)).as_object().expect("an object") {
                edited.outputs[name] = value.clone();
            }
            if let Err(status) = leak.refresh(&edited).await {
                search.failed(what, &status, "");
            }
            if let Err(status) = leak.delete(&edited).await {
                search.failed(what, &status, "");
            }
        }
        search.conclude(&host);
    }

    async fn no_provider_that_repeats_a_value_is_repeated(protocol) {
        let search = part(protocol);
        let host = search.sandbox(protocol).start().await;
        let session = host.session().await?;
        for how in ["error", "attribute", "status", "partial", "warning", "log", "print"] {
            for form in FORMS {
                let what = format!("provider's {how}, {form}");
                let leak = session.resource(LEAK, &format!("{how}-{form}"));
                let inputs = json!({"secret": search.mark(&what), "how": how, "during": "create", "form": form});
                match leak.make(&inputs).await {
                    Ok(made) => search.got(&what, &made.outputs),
                    Err(status) => search.failed(&what, &status, "[secret]"),
                }
            }
        }
        for how in ["garbage", "mistyped", "inconsistent"] {
            let what = format!("answer that is {how}");
            let inputs = json!({"secret": search.word(&what), "how": how, "during": "create"});
            let status = session.resource(LEAK, how).make(&inputs).await.expect_err(how);
            match half_made(&status).filter(|_| how == "inconsistent") {
                // What a provider puts into an attribute that is not sensitive is open in the outputs: its schema says so.
                Some(made) => search.shown(&what, &format!("{} {:?}", status.message(), made.reasons), "open"),
                None => search.failed(&what, &status, ""),
            }
        }
        let filler = "x".repeat(100_000);
        for (what, long) in [
            ("long text, at its beginning", format!("{}{filler}", search.mark("long text, at its beginning"))),
            ("long text, at its end", format!("{filler}{}", search.mark("long text, at its end"))),
        ] {
            let inputs = json!({"secret": long, "how": "error", "during": "create"});
            let status = session.resource(LEAK, "long").make(&inputs).await.expect_err("it fails");
            search.failed(what, &status, "[secret]");
        }
        let inputs = json!({"secret": search.mark("provider's panic"), "how": "panic", "during": "create", "form": "json"});
        let status = session.resource(LEAK, "panic").make(&inputs).await.expect_err("it panics");
        search.failed("a panic", &status, "goroutine 42");
        search.conclude(&host);
    }

    async fn no_provider_that_repeats_its_configuration_is_repeated(protocol) {
        for how in ["judge", "quote"] {
            let search = Search::new(&format!("configuration, protocol {protocol}"));
            let host = search.sandbox(protocol).with("SANDBOX_CONFIGURE", how).start().await;
            let session = host.parameterized().await?;
            let config = json!({"token": search.mark(&format!("token that the provider quotes ({how})"))});
            let checked = session.check_config(&json!({}), &config).await?;
            search.shown("CheckConfig", &format!("{:?}", checked.failures), "");
            if let Err(status) = session.configure(&config).await {
                search.failed("Configure", &status, "[secret]");
            }
            search.conclude(&host);
        }
    }
}
