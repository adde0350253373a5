//! Responses with a long text, which is sent in chunks.
//!
//! tonic encodes a message as a whole, and a package schema may have hundreds of megabytes. So a
//! handler returns the message without the text, with the text as an extension of the response, and
//! the body that tonic has made is replaced: it yields the beginning of the message, the text in
//! chunks, and the trailers. A chunk is requested when the connection has room for it, and one more is
//! read ahead meanwhile.
//!
//! A text that cannot be read to its end makes the response an error: the client has no whole message
//! then, and many show that instead of the status. So the reason is logged as well.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::Frame;
use isthmus_common::{error_chain, spawn_blocking};
use isthmus_provider::schema_cache::Document;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use tokio::task::JoinHandle;
use tonic::body::Body;
use tonic::codegen::http::{self, HeaderMap, HeaderValue};
use tonic::{Response, Status};

use crate::status::RequestError;
use isthmus_session::daemon::{Session, Text};
use isthmus_session::engine::{EngineLog, LogLine, Severity};

/// Bytes before a message: a flag and the length.
const PREFIX: usize = 5;

/// A message whose last field is a text.
#[derive(Clone, Debug)]
struct StreamedMessage {
    beginning: Bytes,
    text: Text,
    log: EngineLog,
}

/// A response with the text in a field of the message, which has no higher one. The message has at
/// most [`LARGEST_MESSAGE`](isthmus_context::LARGEST_MESSAGE) bytes.
pub(crate) fn streamed<Answer: Message>(
    session: &Session,
    answer: Answer,
    field: u32,
    text: Text,
) -> Response<Answer> {
    let beginning = beginning(&answer, field, text.size());
    let mut response = Response::new(answer);
    response.extensions_mut().insert(StreamedMessage { beginning, text, log: session.log() });
    response
}

/// A message up to the text of this size.
fn beginning(answer: &impl Message, field: u32, size: u64) -> Bytes {
    let mut fields = answer.encode_to_vec();
    encode_key(field, WireType::LengthDelimited, &mut fields);
    encode_varint(size, &mut fields);
    let length = size.saturating_add(u64::try_from(fields.len()).unwrap_or(u64::MAX));
    let mut beginning = Vec::with_capacity(PREFIX + fields.len());
    // Not compressed.
    beginning.push(0);
    beginning.extend(u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    beginning.extend(fields);
    beginning.into()
}

/// The response with the body of its streamed message, if it has one.
pub(super) fn with_text(mut response: http::Response<Body>) -> http::Response<Body> {
    match response.extensions_mut().remove::<StreamedMessage>() {
        Some(message) => response.map(|_| Body::new(StreamedBody::new(message))),
        None => response,
    }
}

#[derive(Debug)]
struct StreamedBody {
    next: Next,
    log: EngineLog,
}

/// What a body yields next.
#[derive(Debug)]
enum Next {
    Beginning(Bytes, Text),
    Memory(Bytes),
    Chunk(Reading),
    Trailers(Result<(), RequestError>),
    Nothing,
}

/// A chunk of a document that is being read.
#[derive(Debug)]
struct Reading {
    document: Arc<Document>,
    number: usize,
    /// With the buffer that it is read into.
    chunk: JoinHandle<(Option<io::Result<Bytes>>, BytesMut)>,
    /// The buffer of the chunk before, which is being sent. Two are used by turns: memory that is given
    /// back and taken again for each chunk costs as much as reading it.
    spare: BytesMut,
}

impl Next {
    /// The chunk with this number, or what is behind the last one.
    fn chunk(document: Arc<Document>, number: usize, mut buffer: BytesMut, spare: BytesMut) -> Self {
        if number >= document.chunks() {
            return Self::finished();
        }
        let read = Arc::clone(&document);
        let chunk = spawn_blocking(move || (read.chunk(number, &mut buffer), buffer));
        Self::Chunk(Reading { document, number, chunk, spare })
    }

    /// What follows a text that was read to its end.
    fn finished() -> Self {
        Self::Trailers(Ok(()))
    }
}

impl StreamedBody {
    fn new(StreamedMessage { beginning, text, log }: StreamedMessage) -> Self {
        Self { next: Next::Beginning(beginning, text), log }
    }

    /// What follows a text that cannot be read to its end.
    fn broken(&self, error: &dyn std::error::Error) -> Next {
        let message = format!("failed to send a document of the schema cache: {}", error_chain(error));
        self.log.send(LogLine { severity: Severity::Error, message, urn: String::new() });
        Next::Trailers(Err(RequestError::DamagedDocument))
    }
}

impl http_body::Body for StreamedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let body = self.get_mut();
        loop {
            let (next, frame) = match std::mem::replace(&mut body.next, Next::Nothing) {
                Next::Beginning(beginning, Text::Memory(text)) => {
                    (Next::Memory(text), Some(Frame::data(beginning)))
                }
                Next::Beginning(beginning, Text::Cached(document)) => {
                    let (buffer, spare) = (BytesMut::new(), BytesMut::new());
                    (Next::chunk(document, 0, buffer, spare), Some(Frame::data(beginning)))
                }
                Next::Memory(text) => (Next::finished(), Some(Frame::data(text))),
                Next::Chunk(mut reading) => match Pin::new(&mut reading.chunk).poll(context) {
                    Poll::Pending => {
                        body.next = Next::Chunk(reading);
                        return Poll::Pending;
                    }
                    Poll::Ready(Ok((Some(Ok(chunk)), buffer))) => {
                        let Reading { document, number, spare, .. } = reading;
                        (Next::chunk(document, number + 1, spare, buffer), Some(Frame::data(chunk)))
                    }
                    Poll::Ready(Ok((None, _))) => (Next::finished(), None),
                    Poll::Ready(Ok((Some(Err(error)), _))) => (body.broken(&error), None),
                    Poll::Ready(Err(error)) => (body.broken(&error), None),
                },
                Next::Trailers(status) => {
                    let mut trailers = HeaderMap::new();
                    match status {
                        Ok(()) => {
                            trailers.insert(Status::GRPC_STATUS, HeaderValue::from_static("0"));
                        }
                        Err(error) => Status::from(error).add_header(&mut trailers)?,
                    }
                    (Next::Nothing, Some(Frame::trailers(trailers)))
                }
                Next::Nothing => return Poll::Ready(None),
            };
            body.next = next;
            if let Some(frame) = frame {
                return Poll::Ready(Some(Ok(frame)));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.next, Next::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use isthmus_proto::pulumirpc::{GetMappingResponse, GetSchemaResponse};
    use isthmus_provider::schema_cache::SchemaCache;

    use super::*;

    const TEXT: &str = "{\"a\": \"text\"}";

    /// What a client gets of a response whose other fields are in `answer`.
    async fn sent<Answer: Message>(answer: Answer, field: u32, text: Text) -> (Vec<u8>, HeaderMap) {
        let message = StreamedMessage {
            beginning: beginning(&answer, field, text.size()),
            text,
            log: EngineLog::start(None),
        };
        let mut response = http::Response::new(Body::empty());
        response.extensions_mut().insert(message);
        let collected = with_text(response).into_body().collect().await.expect("a body");
        let trailers = collected.trailers().expect("trailers").clone();
        (collected.to_bytes().to_vec(), trailers)
    }

    fn decoded<Answer: Message + Default>(bytes: &[u8]) -> Answer {
        let (prefix, message) = bytes.split_at(PREFIX);
        let length = u32::try_from(message.len()).expect("it is short").to_be_bytes();
        assert_eq!(prefix, [&[0][..], &length].concat());
        Answer::decode(message).expect("a message")
    }

    #[tokio::test]
    async fn a_client_gets_the_message_that_tonic_would_send() {
        let (bytes, trailers) = sent(GetSchemaResponse::default(), 1, TEXT.to_owned().into()).await;
        assert_eq!(decoded::<GetSchemaResponse>(&bytes).schema, TEXT);
        assert_eq!(trailers["grpc-status"], "0");
        let answer = GetMappingResponse { provider: "test".to_owned(), data: Bytes::new() };
        let (bytes, _) = sent(answer, 2, TEXT.to_owned().into()).await;
        let expected = GetMappingResponse { provider: "test".to_owned(), data: TEXT.into() };
        assert_eq!(decoded::<GetMappingResponse>(&bytes), expected);
        let (bytes, _) = sent(GetSchemaResponse::default(), 1, String::new().into()).await;
        assert_eq!(decoded::<GetSchemaResponse>(&bytes).schema, "");
    }

    #[tokio::test]
    async fn a_document_is_sent_in_chunks_and_fails_where_it_is_damaged() {
        let directory = tempfile::tempdir().expect("a directory");
        let cache = SchemaCache::new(directory.path().to_owned());
        let text = TEXT.repeat(60_000);
        let keep = || {
            let kept = cache.keep_document(&[b"key"], vec![], |to| to.write_all(text.as_bytes()));
            Text::Cached(Arc::new(kept.expect("it can be written")))
        };
        let (bytes, trailers) = sent(GetSchemaResponse::default(), 1, keep()).await;
        assert_eq!(decoded::<GetSchemaResponse>(&bytes).schema, text);
        assert_eq!(trailers["grpc-status"], "0");

        let damaged = keep();
        let files = std::fs::read_dir(directory.path()).expect("the directory").flatten();
        let file = files.map(|file| file.path()).find(|path| path.to_string_lossy().contains("document-"));
        let file = std::fs::File::options().write(true).open(file.expect("a document")).expect("a file");
        isthmus_platform::files::FileExt::write_all_at(&file, b"!", 600_000).expect("a file of ours");
        let (bytes, trailers) = sent(GetSchemaResponse::default(), 1, damaged).await;
        assert!(bytes.len() < text.len(), "the message is not whole");
        assert_eq!(trailers["grpc-status"], "10", "{trailers:?}");
    }
}
