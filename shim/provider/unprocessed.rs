//! Whether a failed call is known not to have reached the provider's code.
//!
//! Only the transport proves that: there was no connection, the request never left, or HTTP/2 says
//! that the stream was not processed (RFC 9113, sections 6.8 and 8.7). A gRPC status proves nothing,
//! because a server may answer any of them after its handler has run.

use std::error::Error;

use isthmus_grpc::NotSent;

/// Whether the request of the call that failed with `status` was not processed.
pub(super) fn was_not_processed(status: &tonic::Status) -> bool {
    std::iter::successors(status.source(), |error: &&(dyn Error + 'static)| (*error).source())
        .any(|error| error.is::<NotSent>() || error.downcast_ref::<h2::Error>().is_some_and(is_refusal))
}

/// A stream that ends by the other side's GOAWAY is one that its last stream id does not include; the others go on.
fn is_refusal(error: &h2::Error) -> bool {
    let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    error.is_remote() && (refused || error.is_go_away())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use isthmus_grpc::{Channel, ChannelSettings, Stream};
    use isthmus_proto::tfplugin6::apply_resource_change;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{UnixListener, UnixStream};

    use super::*;
    use crate::plugin::ProtocolVersion;
    use crate::{Client, Rpc};

    const HEADERS: u8 = 1;
    const RST_STREAM: u8 = 3;
    const SETTINGS: u8 = 4;
    const GOAWAY: u8 = 7;

    const NO_ERROR: u32 = 0;
    const INTERNAL_ERROR: u32 = 2;
    const REFUSED_STREAM: u32 = 7;

    /// What the server does when the request has arrived.
    #[derive(Clone, Copy, Debug)]
    enum End {
        Reset(u32),
        /// The last stream id that it names, and the error code.
        GoAway(u32, u32),
        Close,
    }

    fn frame(kind: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).expect("a short payload").to_be_bytes();
        [&length[1..], &[kind, 0], &stream.to_be_bytes()[..], payload].concat()
    }

    /// Reads until the headers of a request, and ends it.
    async fn serve(mut stream: UnixStream, end: End) -> std::io::Result<()> {
        let mut preface = [0; 24];
        stream.read_exact(&mut preface).await?;
        stream.write_all(&frame(SETTINGS, 0, &[])).await?;
        let request = loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            stream.read_exact(&mut payload).await?;
            if head[3] == HEADERS {
                break u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            }
        };
        match end {
            End::Reset(code) => stream.write_all(&frame(RST_STREAM, request, &code.to_be_bytes())).await?,
            End::GoAway(last, code) => {
                let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
                stream.write_all(&frame(GOAWAY, 0, &payload)).await?;
            }
            End::Close => return Ok(()),
        }
        if let End::GoAway(last, _) = end
            && last >= request
        {
            // It would go on with this stream, and then its process dies.
            return Ok(());
        }
        // Until the client closes.
        stream.read_to_end(&mut Vec::new()).await.map(drop)
    }

    async fn connect(socket: &Path) -> Channel {
        let socket = socket.to_owned();
        let size = 1 << 20;
        let settings =
            ChannelSettings { stream_window: size, connection_window: size, largest_headers: size };
        let channel = Channel::new(http::uri::Authority::from_static("localhost"), settings, move || {
            let socket = socket.clone();
            async move { Ok(Box::new(UnixStream::connect(socket).await?) as Box<dyn Stream>) }
        });
        channel.connect().await.expect("it listens");
        channel
    }

    async fn status_of(end: End) -> tonic::Status {
        let directory = tempfile::tempdir().expect("a directory");
        let socket = directory.path().join("socket");
        let listener = UnixListener::bind(&socket).expect("a socket in the test's own directory");
        let serving = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a connection");
            drop(listener);
            serve(stream, end).await.ok();
        });
        let channel = connect(&socket).await;
        let status = call(&Client::new(channel.clone(), ProtocolVersion::V6)).await;
        drop(channel);
        serving.await.expect("the server ends with its connection");
        status
    }

    async fn call(client: &Client) -> tonic::Status {
        let request = apply_resource_change::Request::default();
        let answer: Result<apply_resource_change::Response, tonic::Status> =
            client.call(Rpc::ApplyResourceChange, request).await;
        answer.expect_err("there is no answer")
    }

    #[tokio::test]
    async fn only_what_the_transport_proves_counts() {
        for (end, expected) in [
            (End::Reset(REFUSED_STREAM), true),
            (End::Reset(INTERNAL_ERROR), false),
            (End::GoAway(0, NO_ERROR), true),
            (End::GoAway(0, INTERNAL_ERROR), true),
            (End::GoAway(1, NO_ERROR), false),
            (End::GoAway(1, INTERNAL_ERROR), false),
            (End::Close, false),
        ] {
            let status = status_of(end).await;
            assert_eq!(was_not_processed(&status), expected, "{end:?}: {status:?}");
        }
    }

    #[tokio::test]
    async fn what_was_never_sent_was_not_processed() {
        let directory = tempfile::tempdir().expect("a directory");
        let socket = directory.path().join("socket");
        let listener = UnixListener::bind(&socket).expect("a socket in the test's own directory");
        let channel = connect(&socket).await;
        drop(listener);
        let client = Client::new(channel, ProtocolVersion::V6);
        // The first call may find the old connection, which ends under it; there is no other.
        call(&client).await;
        let status = call(&client).await;
        assert!(was_not_processed(&status), "{status:?}");
    }

    #[test]
    fn no_status_of_a_server_is_a_proof() {
        for code in 1..=16 {
            let status = tonic::Status::new(tonic::Code::from(code), "busy");
            assert!(!was_not_processed(&status), "{status:?}");
        }
    }
}
