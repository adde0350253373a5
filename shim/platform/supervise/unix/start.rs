//! The start of a program by its guardian.
//!
//! Between fork and exec a child becomes the leader of a session, which identifies its descendants,
//! and requests a signal when its parent ends. `pre_exec` of the standard library is unsafe because
//! hardly anything is allowed there. In Linux the "parent" is the *thread* that started the child;
//! a guardian process has only one, and a guardian thread ends after its provider.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

use rustix::process::{getpid, setsid};

use super::super::system;

/// Starts `command` as the leader of a new session that dies with the calling thread.
pub(super) fn start(mut command: Command) -> io::Result<Child> {
    prepare(&mut command);
    command.spawn()
}

#[expect(unsafe_code, reason = "only between fork and exec can a child ask to die with its parent")]
fn prepare(command: &mut Command) {
    let parent = getpid();
    let ask = move || -> io::Result<()> {
        setsid()?;
        system::die_with(parent)
    };
    // SAFETY: the closure runs in the child of a process that may have several threads, where only
    // async-signal-safe functions may be called. It makes three bare system calls (setsid, prctl,
    // getppid), takes no lock, allocates nothing (an `io::Error` made of an error number is a
    // number), touches no file descriptor, and captures one integer by value.
    unsafe {
        command.pre_exec(ask);
    }
}

/// Marks inherited descriptors other than the standard streams close-on-exec, so that no child
/// process inherits them. Descriptors that this process opens are marked anyway.
///
/// Requires a single thread: another could close a descriptor meanwhile.
#[expect(unsafe_code, reason = "what was inherited is known by its number only")]
pub(super) fn keep_descriptors_from_children() {
    use rustix::fd::BorrowedFd;
    use rustix::io::{FdFlags, fcntl_setfd};

    // Without the list, the descriptors are inherited.
    let Ok(descriptors) = std::fs::read_dir(system::DESCRIPTORS) else { return };
    let numbers = descriptors.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for number in numbers.filter(|number| *number > 2) {
        // SAFETY: the descriptor was open a moment ago, and this is the only thread of the process,
        // which has closed none since. It is borrowed for one system call that only changes its
        // flags.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        let _ = fcntl_setfd(descriptor, FdFlags::CLOEXEC);
    }
}
