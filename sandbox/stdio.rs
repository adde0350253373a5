//! The second way out for text: what go-plugin takes from a program's standard output after the handshake and streams
//! to the client over gRPC. The process's own stdout carries nothing but the handshake line.

use std::sync::Mutex;

use tokio::sync::mpsc;

/// Text on its way to the client.
#[derive(Debug)]
pub(crate) struct Stdio {
    #[cfg_attr(not(feature = "misbehaviour"), expect(dead_code, reason = "only resources of tests print"))]
    sender: mpsc::UnboundedSender<Printed>,
    receiver: Mutex<Option<mpsc::UnboundedReceiver<Printed>>>,
}

/// A piece of text, and which of the two streams it was printed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Printed {
    /// Whether it was printed as an error.
    pub error: bool,
    /// The text, which may be any bytes.
    pub text: Vec<u8>,
}

impl Default for Stdio {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { sender, receiver: Mutex::new(Some(receiver)) }
    }
}

impl Stdio {
    /// Prints to the client's standard output. Text that nobody asks for waits, however long; only the faulty resource
    /// prints much.
    #[cfg(feature = "misbehaviour")]
    pub(crate) fn print(&self, text: &str) {
        drop(self.sender.send(Printed { error: false, text: text.as_bytes().to_vec() }));
    }

    /// The stream of all that is printed. There is one reader, the first; everybody after gets `None`.
    pub(crate) fn take(&self) -> Option<mpsc::UnboundedReceiver<Printed>> {
        self.receiver.lock().ok()?.take()
    }
}
