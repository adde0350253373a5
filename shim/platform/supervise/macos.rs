//! macOS: kqueue for exits, libproc for lists. It has neither subreapers nor signals at a parent's death, so a
//! guardian that is killed leaves its provider to the daemon.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;

use rustix::event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents, kevent, kqueue};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, getsid, kill_process};

use super::unix::Process;

/// This executable.
pub(super) fn own_executable() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("isthmus"))
}

/// Where the descriptors of this process are listed.
pub(crate) const DESCRIPTORS: &str = "/dev/fd";

/// Becomes readable when its process has exited.
#[derive(Debug)]
pub(super) struct ExitHandle {
    queue: OwnedFd,
    id: Pid,
}

impl ExitHandle {
    /// Of a process that exists.
    pub(super) fn open(id: Pid) -> io::Result<Self> {
        let queue = kqueue()?;
        let exit = Event::new(
            EventFilter::Proc { pid: id, flags: ProcessEvents::EXIT },
            EventFlags::ADD | EventFlags::RECEIPT,
            std::ptr::null_mut(),
        );
        register(&queue, exit)?;
        Ok(Self { queue, id })
    }

    /// Kills the process; `false` if it has exited, or is not permitted.
    ///
    /// A signal goes to an id. Its process has not exited as long as the queue is empty, and the system gives an
    /// id again only after all others, so that the moment between both calls is enough for no other process.
    pub(super) fn kill(&self) -> bool {
        let mut watched = [PollFd::new(&self.queue, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut watched, Some(&now)), Ok(0)) && kill_process(self.id, Signal::KILL).is_ok()
    }
}

impl AsFd for ExitHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

impl AsRawFd for ExitHandle {
    fn as_raw_fd(&self) -> RawFd {
        self.queue.as_raw_fd()
    }
}

#[expect(unsafe_code, reason = "rustix cannot know that an event names no descriptor that may be closed")]
fn register(queue: &OwnedFd, exit: Event) -> io::Result<()> {
    // SAFETY: the event has a process, no descriptor; the list of answers is empty.
    unsafe { kevent(queue, &[exit], &mut [] as &mut [Event], None)? };
    Ok(())
}

/// There is no such signal here.
pub(super) fn die_with(_parent: Pid) -> io::Result<()> {
    Ok(())
}

/// Orphans become children of launchd.
pub(super) fn adopt_orphans() -> io::Result<()> {
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
