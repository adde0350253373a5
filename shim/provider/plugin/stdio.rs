//! Prints of a provider's own code (`fmt.Print`, `log.Fatal`), which go-plugin redirects to a
//! stream.
//!
//! The redirection has no buffer: prints block until they are read. So the stream is opened right
//! after connecting, and read to its end. Messages are cut anywhere, hence joined into lines.

use isthmus_grpc::Channel;
use isthmus_proto::goplugin::grpc_stdio_client::GrpcStdioClient;
use isthmus_proto::goplugin::stdio_data;

use super::lines::Lines;
use super::logs::{Logs, Origin, Reading};

/// Reads until the provider exits, or has no such stream.
pub(super) async fn follow_prints(channel: Channel, logs: Logs) {
    // The service is optional, and a lost connection is reported elsewhere.
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
