//! Package schemas and mappings that were rendered before.

use isthmus_platform::files::{FileExt as _, identity};
use std::path::PathBuf;

use http_body_util::BodyExt as _;
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::pulumirpc::{GetSchemaRequest, ParameterizeRequest, parameterize_request};
use prost::Message as _;
use tonic::transport::Endpoint;
use tower::{Service as _, ServiceExt as _};

use crate::harness::{Code, Host, Session, Setup, Status, json, on_one_protocol};

/// A package schema of eight megabytes.
const LARGE: (&str, &str) = ("SANDBOX_RESOURCES", "100x200");

/// A daemon whose cache has the provider's schema, the package schema and the mapping.
async fn acquainted(setup: &Setup) -> Result<Host, Status> {
    let host = setup.clone().start().await.with_own_provider();
    let session = host.parameterized().await?;
    host.schema_is_kept().await;
    session.schema().await?;
    session.mapping("terraform", "").await?;
    host.schemas_have("document-", 2).await;
    Ok(host)
}

fn files(host: &Host, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(host.schemas()).expect("the cache").flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    named.map(|entry| entry.path()).collect()
}

/// The file of the package schema, which is larger than the mapping.
fn schema_file(host: &Host) -> PathBuf {
    let size = |file: &PathBuf| file.metadata().expect("a file").len();
    files(host, "document-").into_iter().max_by_key(size).expect("there are two")
}

/// Changes a byte of a file in the middle.
fn damage(file: &PathBuf) {
    let content = std::fs::read(file).expect("a file");
    let middle = content.len() / 2;
    let file = std::fs::File::options().write(true).open(file).expect("a file");
    file.write_all_at(&[content[middle] ^ 1], middle as u64).expect("a file of ours");
}

/// Bytes of memory that are of the process alone.
fn anonymous_memory(host: &Host) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", host.process())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("Linux has it");
    let kilobytes: usize = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes << 10
}

async fn text(session: &Session) -> Result<String, Status> {
    let request = GetSchemaRequest::default();
    let answer =
        session.call("GetSchema", request, async |mut client, request| client.get_schema(request).await);
    Ok(answer.await?.schema)
}

on_one_protocol! {
    async fn a_second_process_sends_what_the_first_has_rendered(protocol) {
        let setup = Setup::sandbox(protocol).with(LARGE.0, LARGE.1);
        let first = acquainted(&setup).await?;
        let session = first.parameterized().await?;
        let (schema, mapping) = (text(&session).await?, session.mapping("terraform", "").await?);
        let seen = |file: &PathBuf| {
            let metadata = file.metadata().expect("a file");
            (identity(file, &metadata).expect("a file"), metadata.modified().expect("a time"))
        };
        let before: Vec<_> = files(&first, "document-").iter().map(seen).collect();

        let second = setup.beside(&first).start().await;
        let session = second.parameterized().await?;
        // What a package schema is rendered from is of no use any more.
        files(&first, "schema-").iter().filter(|file| !file.to_string_lossy().contains("schema-of-")).for_each(damage);
        assert!(text(&session).await? == schema, "the texts differ");
        assert_eq!(session.mapping("terraform", "").await?, mapping);
        assert_eq!(files(&first, "document-").iter().map(seen).collect::<Vec<_>>(), before);
        assert_eq!(second.children(), [0; 0], "no provider was started");
    }

    async fn what_is_left_out_is_said_each_time(protocol) {
        let setup = Setup::sandbox(protocol);
        let first = acquainted(&setup).await?;
        let warned = |host: &Host| {
            let lines = host.engine.shown();
            lines.iter().map(|line| line.message.clone()).filter(|text| text.contains("cannot be used")).count()
        };
        let expected = warned(&first);
        let second = setup.beside(&first).start().await;
        second.parameterized().await?.schema().await?;
        assert_eq!(warned(&second), expected, "{:?}", second.engine.shown());
    }

    async fn the_parameter_makes_another_document_and_the_language_of_the_project_does_not(protocol) {
        let setup = Setup::sandbox(protocol);
        let first = acquainted(&setup).await?;
        let session = first.parameterized().await?;
        let schema = text(&session).await?;
        for runtime in ["go", "nodejs", "java"] {
            let project = format!("name: test\nruntime: {runtime}\n");
            std::fs::write(first.directory().join("Pulumi.yaml"), project).expect("a file");
            assert!(text(&first.parameterized().await?).await? == schema, "{runtime}");
        }
        assert_eq!(first.schema_files("document-"), 2);
        let named = first.greeted().await?;
        named.parameterize(&[&first.provider(), "--provider-name", "dice"]).await?;
        assert!(text(&named).await?.contains("dice:index/note:Note"));
        assert_eq!(first.schema_files("document-"), 3);
        session.schema().await?;
        assert_eq!(first.schema_files("document-"), 3);
    }

    async fn a_document_that_is_lost_or_cut_short_is_rendered_again(protocol) {
        let setup = Setup::sandbox(protocol).with(LARGE.0, LARGE.1);
        let host = acquainted(&setup).await?;
        let session = host.parameterized().await?;
        let schema = text(&session).await?;
        let file = schema_file(&host);
        let whole = std::fs::read(&file).expect("a file");
        std::fs::remove_file(&file).expect("a file of ours");
        for damaged in [None, Some(&whole[..whole.len() / 2]), Some(&whole[..0]), Some(&whole[..100])] {
            if let Some(damaged) = damaged {
                std::fs::write(&file, damaged).expect("a file of ours");
            }
            assert!(text(&session).await? == schema, "the texts differ");
            assert!(std::fs::read(&file).expect("it was written again") == whole, "the files differ");
        }
    }

    async fn a_document_that_is_damaged_fails_once(protocol) {
        let setup = Setup::sandbox(protocol).with(LARGE.0, LARGE.1);
        let host = acquainted(&setup).await?;
        let session = host.parameterized().await?;
        let schema = text(&session).await?;
        let file = schema_file(&host);
        damage(&file);
        text(&session).await.expect_err("the message is not whole");
        host.engine.line("the reason", |line| {
            line.message.contains("failed to send a document of the schema cache")
                && line.message.contains("is damaged, and was removed")
        }).await;
        assert!(text(&session).await? == schema, "the texts differ");
        assert!(file.exists());
    }

    async fn a_damaged_schema_fails_the_calls_that_need_it_until_the_next_start(protocol) {
        let setup = Setup::sandbox(protocol).with(LARGE.0, LARGE.1);
        let first = acquainted(&setup).await?;
        let second = setup.clone().beside(&first).start().await;
        let session = second.parameterized().await?;
        let schema = text(&session).await?;
        let answer = files(&first, "schema-").into_iter().find(|file| !file.to_string_lossy().contains("schema-of-"));
        damage(&answer.expect("it was kept"));
        session.configure(&json!({})).await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        std::fs::remove_file(schema_file(&first)).expect("a file of ours");
        let status = text(&session).await.expect_err("one of a hundred schemas is damaged");
        assert_eq!(status.code(), Code::Aborted);
        assert!(status.message().contains("is damaged, and was removed\nhelp: run this again"), "{status}");

        let third = setup.beside(&first).start().await;
        assert!(text(&third.parameterized().await?).await? == schema, "the texts differ");
    }

    async fn a_client_that_stops_reading_half_way_costs_no_memory(protocol) {
        let setup = Setup::sandbox(protocol).with(LARGE.0, LARGE.1);
        let first = acquainted(&setup).await?;
        let host = setup.beside(&first).start().await;
        let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{}", host.port())).expect("an address");
        let mut channel = endpoint.initial_stream_window_size(65_535).connect().await.expect("it accepts connections");
        let args = parameterize_request::ParametersArgs { args: vec![host.provider()] };
        let parameters = Some(parameterize_request::Parameters::Args(args));
        let mut client = ResourceProviderClient::new(channel.clone());
        client.parameterize(ParameterizeRequest { parameters }).await?;

        let before = anonymous_memory(&host);
        let request = [&[0, 0, 0, 0, 0][..], &GetSchemaRequest::default().encode_to_vec()].concat();
        let request = http_body_util::Full::new(bytes::Bytes::from(request));
        let request = http::Request::post("/pulumirpc.ResourceProvider/GetSchema")
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(tonic::body::Body::new(request))
            .expect("a request");
        let answering = channel.ready().await.expect("it is connected").call(request);
        let mut answer = answering.await.expect("an answer").into_body();
        let mut received = 0;
        while received < 200_000 {
            let frame = answer.frame().await.expect("there is more").expect("a frame");
            received += frame.data_ref().map_or(0, bytes::Bytes::len);
        }
        // It is not read any further, and other calls are served.
        for _ in 0..20 {
            client.get_plugin_info(()).await?;
        }
        let used = anonymous_memory(&host).saturating_sub(before);
        assert!(used < 3 << 20, "{used} bytes are held for the client");
        drop(answer);
        client.get_plugin_info(()).await?;
    }

    async fn a_large_document_is_sent_within_little_memory(protocol) {
        let setup = Setup::sandbox(protocol).with(LARGE.0, LARGE.1);
        let first = acquainted(&setup).await?;
        let host = setup.beside(&first).start().await;
        let session = host.parameterized().await?;
        let before = anonymous_memory(&host);
        for _ in 0..3 {
            assert!(text(&session).await?.len() > 8 << 20);
        }
        let used = anonymous_memory(&host).saturating_sub(before);
        assert!(used < 4 << 20, "{used} bytes are held after three answers of eight megabytes");
    }
}
