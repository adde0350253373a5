//! macOS: kqueue for exits, libproc for lists.

use std::io;
use std::mem::size_of;
use std::os::fd::OwnedFd;

use rustix::event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents, kevent, kqueue};
use rustix::process::{Pid, getsid};

pub(crate) use super::plain::DESCRIPTORS;
pub(super) use super::plain::{ExitHandle, adopt_orphans, descendants, die_with, mark, own_executable};
use super::unix::Process;

/// Becomes readable when a process has exited.
pub(super) fn readable_at_exit(id: Pid) -> io::Result<OwnedFd> {
    let queue = kqueue()?;
    let exit = Event::new(
        EventFilter::Proc { pid: id, flags: ProcessEvents::EXIT },
        EventFlags::ADD | EventFlags::RECEIPT,
        std::ptr::null_mut(),
    );
    register(&queue, exit)?;
    Ok(queue)
}

#[expect(unsafe_code, reason = "rustix cannot know that an event names no descriptor that may be closed")]
fn register(queue: &OwnedFd, exit: Event) -> io::Result<()> {
    // SAFETY: the event has a process, no descriptor; the list of answers is empty.
    unsafe { kevent(queue, &[exit], &mut [] as &mut [Event], None)? };
    Ok(())
}

/// Process lists show the first argument.
pub(super) fn set_own_name() {}

/// All processes of this user.
pub(crate) fn processes() -> Vec<Process> {
    ids().into_iter().filter_map(process).collect()
}

#[expect(unsafe_code, reason = "libproc has no other interface")]
fn ids() -> Vec<Pid> {
    // More may begin meanwhile.
    const MORE: usize = 64;
    // SAFETY: without a buffer the call only counts.
    let count = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) };
    let mut ids = vec![0_i32; usize::try_from(count).unwrap_or_default() + MORE];
    let bytes = libc::c_int::try_from(ids.len() * size_of::<i32>()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the buffer has as many bytes as the call gets as its length.
    let written = unsafe { libc::proc_listallpids(ids.as_mut_ptr().cast(), bytes) };
    ids.truncate(usize::try_from(written).unwrap_or_default());
    ids.into_iter().filter_map(Pid::from_raw).collect()
}

/// Reads a process; `None` if it does not exist or is another user's.
pub(crate) fn process(id: Pid) -> Option<Process> {
    let info: libc::proc_bsdinfo = information(id, libc::PROC_PIDTBSDINFO)?;
    let name = info.pbi_comm.iter().take_while(|byte| **byte != 0).map(|byte| byte.cast_unsigned());
    let name: Vec<u8> = name.collect();
    Some(Process {
        id,
        command: String::from_utf8_lossy(&name).into_owned(),
        has_ended: info.pbi_status == libc::SZOMB,
        parent: i32::try_from(info.pbi_ppid).ok().and_then(Pid::from_raw),
        session: getsid(Some(id)).ok(),
        started: info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec,
    })
}

/// The environment that a process was started with, after its arguments, each variable before a NUL; empty if it is not
/// accessible.
#[expect(unsafe_code, reason = "sysctl has no other interface")]
pub(super) fn environment(id: Pid) -> Vec<u8> {
    // As long as arguments and environment may be together.
    const LONGEST: usize = 1 << 20;
    let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, id.as_raw_nonzero().get()];
    let mut answer = vec![0; LONGEST];
    let mut length = answer.len();
    // SAFETY: the name has three numbers, the buffer as many bytes as `length` says; the call writes no new value.
    let result = unsafe {
        libc::sysctl(
            name.as_mut_ptr(),
            3,
            answer.as_mut_ptr().cast(),
            &raw mut length,
            std::ptr::null_mut(),
            0,
        )
    };
    answer.truncate(if result == 0 { length } else { 0 });
    answer
}

/// Now, in the unit of [`Process::started`]: microseconds since 1970.
pub(super) fn now() -> Option<u64> {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().ok()?;
    u64::try_from(since.as_micros()).ok()
}

/// The resident memory of one process, in bytes; `None` if it has exited or is another user's.
pub(super) fn resident_memory(id: Pid) -> Option<u64> {
    let info: libc::proc_taskinfo = information(id, libc::PROC_PIDTASKINFO)?;
    Some(info.pti_resident_size)
}

#[expect(unsafe_code, reason = "libproc has no other interface")]
fn information<T>(id: Pid, flavour: libc::c_int) -> Option<T> {
    let mut answer = std::mem::MaybeUninit::<T>::zeroed();
    let bytes = libc::c_int::try_from(size_of::<T>()).ok()?;
    // SAFETY: the buffer has as many bytes as the call gets as its length; `flavour` is the one of `T` in both uses, and its
    // structures consist of numbers, for which zero is a value.
    let written = unsafe {
        libc::proc_pidinfo(id.as_raw_nonzero().get(), flavour, 0, answer.as_mut_ptr().cast(), bytes)
    };
    // SAFETY: it was zero before, so that every byte of it has a value.
    (written == bytes).then(|| unsafe { answer.assume_init() })
}
