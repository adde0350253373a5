//! `isthmus top`: what runs in a daemon, again and again.

use std::io::{self, IsTerminal as _, Read as _};
use std::time::{Duration, Instant};

use isthmus_platform::process::{Signals, Stops, stop_this};
use tokio::sync::mpsc;

use super::client::{Client, ClientError};
use super::overview::{Before, text};
use super::screen::Screen;
use crate::cli::output::{is_terminal, print};

/// How often it is shown.
const PERIOD: Duration = Duration::from_secs(2);

/// Shows what runs until the user ends it, or once without a terminal.
pub(super) async fn watch(client: &mut Client) -> Result<(), ClientError> {
    let first = client.overview().await?;
    if !is_terminal() {
        print(&text(&first, None));
        return Ok(());
    }
    let mut ends = Ends::new().map_err(ClientError::Terminal)?;
    let mut screen = Screen::enter().map_err(ClientError::Terminal)?;
    let (mut last, mut at) = (first, Instant::now());
    screen.show(&text(&last, None));
    loop {
        tokio::select! {
            () = tokio::time::sleep(PERIOD) => {}
            event = ends.next() => match event {
                Event::End => return Ok(()),
                Event::Stop => {
                    // The shell gets the terminal as it was, and so does this again.
                    drop(screen);
                    stop_this();
                    screen = Screen::enter().map_err(ClientError::Terminal)?;
                }
            },
        }
        let overview = client.overview().await?;
        let before = Before::new(&last, at.elapsed());
        screen.show(&text(&overview, Some(&before)));
        (last, at) = (overview, Instant::now());
    }
}

enum Event {
    /// The user ends it.
    End,
    /// The user stops it, to continue it later.
    Stop,
}

/// What ends or stops it: signals, and the key `q`.
#[derive(Debug)]
struct Ends {
    ends: Signals,
    stops: Stops,
    keys: mpsc::Receiver<()>,
}

impl Ends {
    fn new() -> io::Result<Self> {
        let (pressed, keys) = mpsc::channel(1);
        if io::stdin().is_terminal() {
            // In a thread of its own, because a read of standard input cannot be cancelled; the process ends with it.
            std::thread::spawn(move || {
                let mut key = [0];
                while let Ok(1) = io::stdin().read(&mut key) {
                    if key == *b"q" && pressed.blocking_send(()).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self { ends: Signals::new(), stops: Stops::new()?, keys })
    }

    async fn next(&mut self) -> Event {
        tokio::select! {
            _ = self.ends.next() => Event::End,
            () = self.stops.next() => Event::Stop,
            Some(()) = self.keys.recv() => Event::End,
        }
    }
}
