//! What a provider's own code prints (`fmt.Print`, `log.Fatal`), which go-plugin redirects into a stream.
//!
//! The redirection has no buffer: a provider that prints stands still until somebody reads. So the stream is opened
//! once, right after connecting, and read to its end. Its messages are cut anywhere, hence put together into lines.

use isthmus_proto::goplugin::grpc_stdio_client::GrpcStdioClient;
use isthmus_proto::goplugin::stdio_data;
use tonic::transport::Channel;

use super::lines::Lines;
use super::logs::{Logs, Origin, Reading};

/// Reads until the provider ends, or answers that it has no such stream.
pub(super) async fn follow_prints(channel: Channel, logs: Logs) {
    // Not having the service is nothing to speak of, and losing the connection is noticed by everyone else.
    let Ok(answer) = GrpcStdioClient::new(channel).stream_stdio(()).await else { return };
    let mut stream = answer.into_inner();
    let mut stdout = (Lines::default(), Reading::new(logs.clone(), Origin::Printed));
    let mut stderr = (Lines::default(), Reading::new(logs, Origin::Printed));
    while let Ok(Some(data)) = stream.message().await {
        let (lines, reading) = match data.channel() {
            stdio_data::Channel::Stderr => &mut stderr,
            stdio_data::Channel::Stdout | stdio_data::Channel::Invalid => &mut stdout,
        };
        lines.push(&data.data, |piece| reading.piece(piece));
    }
    for (mut lines, mut reading) in [stdout, stderr] {
        lines.finish(|piece| reading.piece(piece));
    }
}
