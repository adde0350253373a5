//! Bodies as they arrive.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use h2::RecvStream;
use http_body::{Body, Frame};
use tonic::Status;

use crate::error::broken;
use crate::load::{Arrival, PREFIX};

/// The body of a request or a response. Dropping it before its end cancels the call.
pub struct Incoming {
    stream: RecvStream,
    /// Of a request.
    arrival: Option<Arrival>,
}

impl Incoming {
    /// The body of a response.
    pub(crate) fn new(stream: RecvStream) -> Self {
        Self { stream, arrival: None }
    }

    /// The body of a request.
    pub(crate) fn of_request(stream: RecvStream, arrival: Arrival) -> Self {
        Self { stream, arrival: Some(arrival) }
    }

    /// The only message of a call, with what precedes it.
    ///
    /// # Errors
    /// When the call ends, the message has more bytes than `most`, or another one follows.
    pub async fn only_message(mut self, most: usize) -> Result<Bytes, Status> {
        let mut content = BytesMut::new();
        while let Some(data) = poll_fn(|context| self.poll_data(context)).await {
            let data = data?;
            self.stream.flow_control().release_capacity(data.len()).map_err(broken)?;
            content.extend_from_slice(&data);
            let Some((prefix, message)) = content.split_at_checked(PREFIX) else { continue };
            let announced = prefix.iter().skip(1).fold(0, |length, byte| length << 8 | usize::from(*byte));
            if announced > most {
                let text = format!("the message has {announced} bytes, and at most {most} are taken");
                return Err(Status::out_of_range(text));
            }
            if message.len() > announced {
                return Err(Status::internal("the call has more than one message"));
            }
        }
        Ok(content.freeze())
    }

    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Status>>> {
        let Some(arrival) = &mut self.arrival else {
            return self.stream.poll_data(context).map_err(broken);
        };
        ready!(arrival.poll_room(context));
        match self.stream.poll_data(context) {
            Poll::Ready(data) => {
                if let Some(Ok(data)) = &data {
                    arrival.arrived(data);
                }
                Poll::Ready(data.map(|data| data.map_err(broken)))
            }
            Poll::Pending => arrival.poll_overdue(context).map(|overdue| Some(Err(overdue))),
        }
    }
}

impl Body for Incoming {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = match ready!(self.poll_data(context)) {
            Some(data) => data.and_then(|data| {
                // What was read makes room for more.
                self.stream.flow_control().release_capacity(data.len()).map_err(broken)?;
                Ok(Some(Frame::data(data)))
            }),
            None => {
                let trailers = ready!(self.stream.poll_trailers(context));
                trailers.map(|trailers| trailers.map(Frame::trailers)).map_err(broken)
            }
        };
        Poll::Ready(frame.transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Incoming").field(&self.stream).finish()
    }
}
