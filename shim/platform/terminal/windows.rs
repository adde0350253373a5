//! Windows: the console.

use std::io;
use std::os::windows::io::{AsRawHandle as _, RawHandle};

use windows_sys::Win32::Storage::FileSystem::{FILE_TYPE_CHAR, GetFileType};
use windows_sys::Win32::System::Console::{
    CONSOLE_MODE, CONSOLE_SCREEN_BUFFER_INFO, ENABLE_ECHO_INPUT, ENABLE_LINE_INPUT, GetConsoleMode,
    GetConsoleScreenBufferInfo, SetConsoleMode,
};

/// Columns and rows of the console that is standard output.
#[expect(unsafe_code, reason = "consoles have no other interface")]
pub fn size() -> Option<(usize, usize)> {
    let mut found = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the handle is open, and the structure is written to during the call.
    let result = unsafe { GetConsoleScreenBufferInfo(output(), &raw mut found) };
    let window = found.srWindow;
    let length = |first: i16, last: i16| usize::try_from(i32::from(last) - i32::from(first) + 1).ok();
    (result != 0).then_some(())?;
    Some((length(window.Left, window.Right)?, length(window.Top, window.Bottom)?))
}

/// Whether standard output is the null device: a device that is no console.
///
/// # Errors
/// Never.
#[expect(unsafe_code, reason = "kinds of handles have no other interface")]
pub fn is_discarded() -> io::Result<bool> {
    // SAFETY: the handle is open.
    Ok(unsafe { GetFileType(output()) } == FILE_TYPE_CHAR && mode(output()).is_none())
}

/// Lets standard input have keys as they are pressed, without showing them, if it is a console. Dropping this gives back what was
/// there.
#[derive(Debug)]
pub struct Keys {
    saved: Option<CONSOLE_MODE>,
}

impl Keys {
    /// From now on.
    ///
    /// # Errors
    /// When the console refuses it.
    pub fn take() -> io::Result<Self> {
        let saved = mode(io::stdin().as_raw_handle());
        if let Some(saved) = saved {
            change_to(saved & !(ENABLE_ECHO_INPUT | ENABLE_LINE_INPUT))?;
        }
        Ok(Self { saved })
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(saved) = self.saved {
            // A console that is gone has nothing to be given back.
            let _ = change_to(saved);
        }
    }
}

fn output() -> RawHandle {
    #[expect(clippy::disallowed_methods, reason = "nothing is written to it")]
    io::stdout().as_raw_handle()
}

#[expect(unsafe_code, reason = "consoles have no other interface")]
fn mode(handle: RawHandle) -> Option<CONSOLE_MODE> {
    let mut mode = 0;
    // SAFETY: the handle is open, and the mode is written to during the call, which fails for what is no console.
    (unsafe { GetConsoleMode(handle, &raw mut mode) } != 0).then_some(mode)
}

#[expect(unsafe_code, reason = "consoles have no other interface")]
fn change_to(mode: CONSOLE_MODE) -> io::Result<()> {
    // SAFETY: the handle is open.
    let result = unsafe { SetConsoleMode(io::stdin().as_raw_handle(), mode) };
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
