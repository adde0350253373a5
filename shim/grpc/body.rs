//! Bodies as they arrive.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::RecvStream;
use http_body::{Body, Frame};
use tonic::Status;

use crate::error::broken;

/// The body of a request or a response. Dropping it before its end cancels the call.
#[derive(Debug)]
pub struct Incoming(RecvStream);

impl Incoming {
    pub(crate) fn new(stream: RecvStream) -> Self {
        Self(stream)
    }
}

impl Body for Incoming {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Self(stream) = &mut *self;
        let frame = match ready!(stream.poll_data(context)) {
            Some(data) => data.and_then(|data| {
                // What was read makes room for more.
                stream.flow_control().release_capacity(data.len())?;
                Ok(Some(Frame::data(data)))
            }),
            None => ready!(stream.poll_trailers(context)).map(|trailers| trailers.map(Frame::trailers)),
        };
        Poll::Ready(frame.map_err(broken).transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }
}
