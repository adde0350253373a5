//! What an engine says first, and what a daemon that was not told which provider it is for has to say.

use isthmus_proto::pulumirpc::ConstructRequest;
use tonic::codegen::http::uri::PathAndQuery;

use crate::harness::engine::PLUGIN;
use crate::harness::host::named;
use crate::harness::{Code, Outcome, Protocol, Setup, json, on_one_protocol};

#[tokio::test]
async fn the_handshake_says_what_the_daemon_takes() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).start().await;
    let session = host.connect().await;

    let answer = session.handshake(host.engine.address()).await?;

    assert!(answer.accept_secrets && answer.supports_autonaming_configuration);
    assert!(!answer.accept_outputs && !answer.accepts_outputs_in_invoke && !answer.accepts_byte_string);
    Ok(())
}

on_one_protocol! {
    async fn the_version_is_the_plugins_until_a_provider_is_chosen(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.greeted().await?;
        assert_eq!(session.plugin_version().await?, "1.4.0");
        session.parameterize(&[&host.provider()]).await?;
        assert_eq!(session.plugin_version().await?, "0.0.0", "a provider from a file has no version");
    }

    async fn an_engine_that_cannot_be_reached_does_not_stop_the_daemon(protocol) {
        // Nobody listens on port 1. Flags of an engine's own stand before the address.
        let setup = Setup::sandbox(protocol).arguments(&["--logtostderr", "-v=9", "127.0.0.1:1"]);
        let host = setup.start().await;
        let session = host.connect().await;
        session.parameterize(&[&host.provider()]).await?;
        session.configure(&json!({})).await?;

        let note = session.note();
        let made = note.make(&json!({"title": "warn"})).await?;
        note.delete(&made).await?;

        host.prints("the engine at 127.0.0.1:1 did not answer").await;
        // What the engine cannot be told goes to stderr.
        host.prints("A questionable title").await;
    }

    async fn what_a_bridged_provider_does_not_have_is_unimplemented(protocol) {
        let host = Setup::sandbox(protocol).start().await;
        let session = host.session().await?;

        let construct = session.call("Construct", ConstructRequest::default(), async |mut client, request| {
            client.construct(request).await
        });
        assert_eq!(construct.await.expect_err("no components").code(), Code::Unimplemented);
    }
}

/// The expectations are what the Go bridge prints.
#[test]
fn the_version_of_the_plugin_and_its_mapping_are_printed() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = named(env!("CARGO_BIN_EXE_isthmus"), directory.path().join(PLUGIN));
    let printed = |words: &[&str]| {
        let printed = std::process::Command::new(&program).args(words).output();
        let printed = printed.expect("the daemon starts");
        assert!(printed.status.success(), "{words:?}: {printed:?}");
        String::from_utf8(printed.stdout).expect("text")
    };
    assert_eq!(printed(&["-version"]), "v1.4.0\n");
    assert_eq!(printed(&["-tracing", "file:/tmp/trace", "--version"]), "v1.4.0\n");
    let mapping = "{\"provider\":{},\"name\":\"terraform-provider\",\"version\":\"v1.4.0\"}\n";
    assert_eq!(printed(&["-get-provider-info"]), mapping);
    assert!(printed(&["-help"]).contains("-get-provider-info"));
}

#[tokio::test]
async fn a_call_of_another_age_is_unimplemented() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).start().await;
    let mut client = tonic::client::Grpc::new(host.channel().await);
    client.ready().await.expect("a connection");
    // Engines before 3.129 had it.
    let path = PathAndQuery::from_static("/pulumirpc.ResourceProvider/StreamInvoke");
    let codec = tonic_prost::ProstCodec::<(), ()>::default();
    let status = client.unary(tonic::Request::new(()), path, codec).await.expect_err("there is no such call");
    assert_eq!(status.code(), Code::Unimplemented);
    Ok(())
}

#[tokio::test]
async fn calls_that_need_a_provider_say_that_there_is_none_yet() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).start().await;
    let session = host.greeted().await?;

    let status = session.note().check(&json!({"title": "Hello"})).await.expect_err("no provider");
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(status.message().contains("Parameterize"), "{status}");
    assert_eq!(
        session.configure(&json!({"directory": "/"})).await.expect_err("no provider").code(),
        Code::FailedPrecondition
    );
    let status = session.invoke("sandbox:index/getNote:getNote", &json!({})).await.expect_err("no provider");
    assert_eq!(status.code(), Code::FailedPrecondition);

    session.cancel().await?;
    assert_eq!(session.mappings("terraform").await?, ["terraform-provider"], "as the Go bridge says");
    let schema = session.schema().await?;
    assert_eq!(schema["name"], "terraform-provider", "the plugin has a schema of its own");
    Ok(())
}
