//! Requests that cannot be decoded fail with INVALID_ARGUMENT.
//!
//! tonic answers INTERNAL, which the engine reads as an unknown outcome (see `status`). But such
//! requests have reached no handler, and no handler here answers INTERNAL: that code only comes
//! from tonic, for a message that is not protobuf, nests too deeply, is not UTF-8, is truncated, or
//! is missing.

use tonic::codegen::http::{HeaderMap, Response};
use tonic::{Code, Status};

use crate::status::RequestError;

/// The response with INVALID_ARGUMENT in place of INTERNAL.
pub(super) fn of_undecodable<Body>(mut response: Response<Body>) -> Response<Body> {
    // The status is in the headers exactly if the response has no body.
    if let Some(status) = Status::from_header_map(response.headers())
        && status.code() == Code::Internal
    {
        let invalid = Status::from(RequestError::Invalid(format!("invalid request: {}", status.message())));
        let mut headers = HeaderMap::new();
        // A text from a header fits into one.
        if invalid.add_header(&mut headers).is_ok() {
            response.headers_mut().extend(headers);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: &Status) -> Status {
        let mut response = Response::new(());
        status.add_header(response.headers_mut()).expect("headers");
        let response = of_undecodable(response);
        Status::from_header_map(response.headers()).expect("a status")
    }

    #[test]
    fn only_what_no_handler_answers_becomes_an_invalid_argument() {
        let answer = answered(&Status::internal("failed to decode Protobuf message: wire type"));
        assert_eq!(answer.code(), Code::InvalidArgument);
        assert_eq!(answer.message(), "invalid request: failed to decode Protobuf message: wire type");
        for code in [Code::Unknown, Code::OutOfRange, Code::Unimplemented, Code::FailedPrecondition] {
            let answer = answered(&Status::new(code, "as it was"));
            assert_eq!((answer.code(), answer.message()), (code, "as it was"));
        }
        let good = of_undecodable(Response::new(()));
        assert!(good.headers().is_empty(), "an answer with a body has its status behind it");
    }
}
