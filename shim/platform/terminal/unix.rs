//! Linux and macOS.

use std::io;

use rustix::fs::{FileType, fstat, stat};
use rustix::stdio::stdout;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};

/// Columns and rows of the terminal that is standard output, if it tells them.
pub fn size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(stdout()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then(|| (size.ws_col.into(), size.ws_row.into()))
}

/// Whether standard output is the null device.
///
/// # Errors
/// When the system does not say.
pub fn is_discarded() -> io::Result<bool> {
    let (out, null) = (fstat(stdout())?, stat("/dev/null")?);
    let is_device = FileType::from_raw_mode(out.st_mode) == FileType::CharacterDevice;
    Ok(is_device && out.st_rdev == null.st_rdev)
}

/// Lets standard input have keys as they are pressed, without showing them, if it is a terminal. Dropping this gives back what was
/// there.
#[derive(Debug)]
pub struct Keys {
    saved: Option<Termios>,
}

impl Keys {
    /// From now on.
    ///
    /// # Errors
    /// When the terminal refuses it.
    pub fn take() -> io::Result<Self> {
        let saved = tcgetattr(io::stdin()).ok();
        if let Some(saved) = &saved {
            let mut silent = saved.clone();
            silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
            silent.special_codes[SpecialCodeIndex::VMIN] = 1;
            silent.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(io::stdin(), OptionalActions::Now, &silent)?;
        }
        Ok(Self { saved })
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(saved) = &self.saved {
            // A terminal that is gone has nothing to be given back.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, saved);
        }
    }
}
