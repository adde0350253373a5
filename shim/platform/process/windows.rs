//! Windows: users have identifiers of variable length, and consoles send events instead of signals.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle};
use std::path::PathBuf;
use std::ptr;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::signal::windows::{CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown};
use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};
use windows_sys::Win32::Foundation::{ERROR_INVALID_PARAMETER, FILETIME, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Security::{
    CheckTokenMembership, GetLengthSid, GetTokenInformation, IsValidSid, PSID, TOKEN_QUERY, TOKEN_USER,
    TokenUser,
};
use windows_sys::Win32::Storage::FileSystem::{FILE_TYPE_PIPE, GetFileType, GetFinalPathNameByHandleW};
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent};
use windows_sys::Win32::System::Diagnostics::Debug::{SEM_NOGPFAULTERRORBOX, SetErrorMode};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Registry::{HKEY_LOCAL_MACHINE, RRF_RT_REG_SZ, RegGetValueW};
use windows_sys::Win32::System::SystemInformation::{ComputerNamePhysicalDnsHostname, GetComputerNameExW};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetExitCodeProcess, GetProcessHandleCount, GetProcessTimes, OpenProcess,
    OpenProcessToken, PROCESS_QUERY_LIMITED_INFORMATION, QueryFullProcessImageNameW, TerminateProcess,
};

use super::{Ends, OpenFilesLimit, Usage};
use crate::files::windows::{terminated, text, wide};

/// A user of this machine, or a group: its security identifier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct User {
    length: usize,
    bytes: [u8; LONGEST],
}

/// Bytes of the longest identifier: a head, and 15 numbers.
const LONGEST: usize = 68;
/// What precedes the numbers: revision, count, authority.
const HEAD: usize = 8;

impl User {
    /// The user whose rights this process has.
    pub fn current() -> Self {
        static CURRENT: LazyLock<Option<User>> = LazyLock::new(|| User::of_process(own_process()));
        // Without a token no process runs.
        CURRENT.unwrap_or(Self { length: 0, bytes: [0; LONGEST] })
    }

    /// The user of a process, if this one may know.
    #[expect(unsafe_code, reason = "tokens have no other interface")]
    pub(crate) fn of_process(process: HANDLE) -> Option<Self> {
        let mut token = ptr::null_mut();
        // SAFETY: the process is open, and the token is written to during the call.
        if unsafe { OpenProcessToken(process, TOKEN_QUERY, &raw mut token) } == 0 {
            return None;
        }
        // SAFETY: it was just opened, and nothing else closes it.
        let token = unsafe { OwnedHandle::from_raw_handle(token) };
        // With the alignment of the structure that the buffer begins with.
        let mut buffer = [0_u64; 64];
        let mut length = 0;
        // SAFETY: the buffer has as many bytes as the call gets as its length.
        let result = unsafe {
            GetTokenInformation(
                token.as_raw_handle(),
                TokenUser,
                buffer.as_mut_ptr().cast(),
                size_of_val(&buffer) as u32,
                &raw mut length,
            )
        };
        // SAFETY: the call has written such a structure, whose identifier is in the same buffer.
        (result != 0).then(|| unsafe { Self::from_sid((*buffer.as_ptr().cast::<TOKEN_USER>()).User.Sid) })?
    }

    /// Copies an identifier; `None` for none.
    ///
    /// # Safety
    /// It must be null, or point to an identifier.
    #[expect(unsafe_code, reason = "identifiers have no other interface")]
    pub(crate) unsafe fn from_sid(sid: PSID) -> Option<Self> {
        // SAFETY: as the caller promises.
        if sid.is_null() || unsafe { IsValidSid(sid) } == 0 {
            return None;
        }
        // SAFETY: it is a valid identifier.
        let length =
            usize::try_from(unsafe { GetLengthSid(sid) }).ok().filter(|length| *length <= LONGEST)?;
        let mut bytes = [0; LONGEST];
        // SAFETY: it has that many bytes, and the array is at least as long.
        unsafe { ptr::copy_nonoverlapping(sid.cast::<u8>(), bytes.as_mut_ptr(), length) };
        Some(Self { length, bytes })
    }

    fn numbers(&self) -> impl Iterator<Item = u32> {
        let numbers = self.bytes[..self.length].get(HEAD..).unwrap_or_default();
        numbers.chunks_exact(4).map(|number| u32::from_le_bytes(number.try_into().unwrap_or_default()))
    }

    fn authority(&self) -> u64 {
        self.bytes[2..HEAD].iter().fold(0, |authority, byte| authority << 8 | u64::from(*byte))
    }

    /// Whether this is the system, its administrators, or its installer, which may do anything anyway.
    pub fn is_root(self) -> bool {
        const SYSTEM: u32 = 18;
        const BUILT_IN: [u32; 2] = [32, 544];
        const INSTALLER: u32 = 80;
        if self.authority() != 5 {
            return false;
        }
        let numbers: Vec<u32> = self.numbers().collect();
        numbers == [SYSTEM] || numbers == BUILT_IN || numbers.first() == Some(&INSTALLER)
    }

    /// Whether it stands for the owner of a file, without naming one.
    pub(crate) fn is_placeholder(self) -> bool {
        // S-1-3-0 is the creator, and S-1-3-4 is the owner.
        self.authority() == 3 && self.numbers().next().is_some_and(|number| matches!(number, 0 | 4))
    }

    /// Whether the user of this process is one of the administrators, with their rights.
    #[expect(unsafe_code, reason = "tokens have no other interface")]
    pub(crate) fn current_is_administrator() -> bool {
        let mut administrators: [u8; 16] = [1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 32, 2, 0, 0];
        let mut is_member = 0;
        // SAFETY: the identifier is the group's, S-1-5-32-544, and the answer is written to during the call.
        let result = unsafe {
            CheckTokenMembership(ptr::null_mut(), administrators.as_mut_ptr().cast(), &raw mut is_member)
        };
        result != 0 && is_member != 0
    }
}

/// As messages and the system's programs name it: `S-1-5-…`.
impl fmt::Display for User {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "S-{}-{}", self.bytes[0], self.authority())?;
        self.numbers().try_for_each(|number| write!(formatter, "-{number}"))
    }
}

impl fmt::Debug for User {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// This process.
#[expect(unsafe_code, reason = "the handle of this process has no other interface")]
pub(crate) fn own_process() -> HANDLE {
    // SAFETY: the call returns a constant.
    unsafe { GetCurrentProcess() }
}

/// Kills this process, so that nothing of it is cleaned up.
#[expect(unsafe_code, reason = "the standard library runs handlers at an exit")]
pub fn kill_this() {
    // SAFETY: a process may kill itself.
    unsafe { TerminateProcess(own_process(), 9) };
}

/// Nothing: no console stops a program here.
pub fn stop_this() {}

/// Asks a child of this process, which leads a group of its own, to end.
#[expect(unsafe_code, reason = "consoles have no other interface")]
pub fn terminate(child: u32) {
    // SAFETY: the call takes two numbers.
    unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, child) };
}

/// The process that started this one, unless it has ended.
pub fn parent() -> Option<u32> {
    let own = std::process::id();
    let parent = processes().into_iter().find(|process| process.id == own)?.parent;
    // Its id may be another process's by now, which began later than this one.
    let began = times(opened(parent, PROCESS_QUERY_LIMITED_INFORMATION)?.as_raw_handle())?.began;
    (began <= times(own_process())?.began).then_some(parent)
}

/// A process, as the system lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) id: u32,
    /// Its id may be another process's by now.
    pub(crate) parent: u32,
}

/// All processes.
#[expect(unsafe_code, reason = "processes are listed by no other interface")]
pub(crate) fn processes() -> Vec<Listed> {
    // SAFETY: the call takes two numbers.
    let snapshot = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) };
    if snapshot == INVALID_HANDLE_VALUE {
        return Vec::new();
    }
    // SAFETY: it was just opened, and nothing else closes it.
    let snapshot = unsafe { OwnedHandle::from_raw_handle(snapshot) };
    let mut entry = PROCESSENTRY32W { dwSize: size_of::<PROCESSENTRY32W>() as u32, ..Default::default() };
    let mut found = Vec::new();
    // SAFETY: the snapshot is open, and the entry has its size, as both calls want it.
    let mut more = unsafe { Process32FirstW(snapshot.as_raw_handle(), &raw mut entry) };
    while more != 0 {
        found.push(Listed { id: entry.th32ProcessID, parent: entry.th32ParentProcessID });
        // SAFETY: as before.
        more = unsafe { Process32NextW(snapshot.as_raw_handle(), &raw mut entry) };
    }
    found
}

/// The ids of the processes that a process has started.
#[cfg(feature = "testing")]
pub fn children(process: u32) -> Vec<u32> {
    let began = |id| Some(times(opened(id, PROCESS_QUERY_LIMITED_INFORMATION)?.as_raw_handle())?.began);
    let Some(parent_began) = began(process) else { return Vec::new() };
    let listed = processes().into_iter().filter(|listed| listed.parent == process).map(|listed| listed.id);
    // The parent of what began earlier was another process, whose id this one has now.
    listed.filter(|id| began(*id).is_some_and(|began| began >= parent_began)).collect()
}

/// A process that this one may look at.
#[expect(unsafe_code, reason = "the standard library opens no processes")]
pub(crate) fn opened(id: u32, rights: u32) -> Option<OwnedHandle> {
    // SAFETY: the call takes numbers.
    let handle = unsafe { OpenProcess(rights, 0, id) };
    // SAFETY: it was just opened, and nothing else closes it.
    (!handle.is_null()).then(|| unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// The events that end a program: a console's interrupt, a request to end, the console's or the session's end.
#[derive(Debug)]
pub struct Signals {
    interrupt: Option<CtrlC>,
    terminate: Option<CtrlBreak>,
    close: Option<CtrlClose>,
    logoff: Option<CtrlLogoff>,
    shutdown: Option<CtrlShutdown>,
}

/// Nothing: who leads a group of its own, as a provider does, gets none.
///
/// # Errors
/// Never.
pub fn ignore_interrupts() -> io::Result<()> {
    Ok(())
}

impl Signals {
    /// Within a runtime, and before there is anything that an event must not end.
    pub fn new() -> Self {
        Self {
            close: ctrl_close().ok(),
            logoff: ctrl_logoff().ok(),
            shutdown: ctrl_shutdown().ok(),
            ..Self::but_hangup()
        }
    }

    /// The same, but a console's end has its default action.
    pub fn but_hangup() -> Self {
        let (interrupt, terminate) = (ctrl_c().ok(), ctrl_break().ok());
        Self { interrupt, terminate, close: None, logoff: None, shutdown: None }
    }

    /// Waits for the next one.
    pub async fn next(&mut self) -> Ends {
        macro_rules! next {
            ($event:expr) => {
                async {
                    match &mut $event {
                        Some(event) => drop(event.recv().await),
                        None => std::future::pending().await,
                    }
                }
            };
        }
        tokio::select! {
            () = next!(self.interrupt) => Ends::Interrupt,
            () = next!(self.terminate) => Ends::Terminate,
            () = next!(self.close) => Ends::Terminate,
            () = next!(self.logoff) => Ends::Terminate,
            () = next!(self.shutdown) => Ends::Terminate,
        }
    }
}

impl Default for Signals {
    fn default() -> Self {
        Self::new()
    }
}

/// What stops a program, to continue it later: nothing here.
#[derive(Debug)]
pub struct Stops(());

impl Stops {
    /// From now on.
    ///
    /// # Errors
    /// Never.
    pub fn new() -> io::Result<Self> {
        Ok(Self(()))
    }

    /// Never returns.
    pub async fn next(&mut self) {
        std::future::pending().await
    }
}

/// Reads standard input to its end; never returns if it is no pipe.
pub async fn standard_input_ended() {
    let is_pipe = file_type(&io::stdin()) == FILE_TYPE_PIPE;
    if !is_pipe {
        return std::future::pending().await;
    }
    // A read cannot be cancelled, and has a thread that ends with the process.
    let (sender, ended) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        drop(io::copy(&mut io::stdin(), &mut io::sink()));
        drop(sender);
    });
    drop(ended.await);
}

#[expect(unsafe_code, reason = "kinds of handles have no other interface")]
fn file_type(file: &impl std::os::windows::io::AsRawHandle) -> u32 {
    // SAFETY: the handle is open.
    unsafe { GetFileType(file.as_raw_handle()) }
}

/// None.
pub fn open_files_limit() -> OpenFilesLimit {
    OpenFilesLimit { soft: None, hard: None }
}

/// Nothing.
///
/// # Errors
/// Never.
pub fn set_open_files_limit(_: OpenFilesLimit) -> io::Result<()> {
    Ok(())
}

/// Forbids the reports of crashes, with the memory of the process, of this process and of those that it starts.
#[expect(unsafe_code, reason = "modes of errors have no other interface")]
pub fn forbid_core_dumps() {
    // SAFETY: the call takes a number.
    unsafe { SetErrorMode(SEM_NOGPFAULTERRORBOX) };
}

/// Nothing: a write to a full disk fails.
pub fn survive_limit_of_file_sizes() {}

/// Where standard output goes, if that has a name.
#[expect(unsafe_code, reason = "paths of handles have no other interface")]
pub fn standard_output_file() -> Option<PathBuf> {
    let mut path = [0_u16; 1 << 10];
    #[expect(clippy::disallowed_methods, reason = "nothing is written to it")]
    let out = io::stdout();
    // SAFETY: the buffer has as many units as the call gets as its length.
    let length =
        unsafe { GetFinalPathNameByHandleW(out.as_raw_handle(), path.as_mut_ptr(), path.len() as u32, 0) };
    let length = usize::try_from(length).ok().filter(|length| (1..path.len()).contains(length))?;
    Some(PathBuf::from(text(&path[..length])))
}

/// The executables that run on this machine, as far as this user may see them.
pub fn executables() -> impl Iterator<Item = PathBuf> {
    processes().into_iter().filter_map(|process| executable(process.id))
}

#[expect(unsafe_code, reason = "the standard library opens no processes")]
fn executable(id: u32) -> Option<PathBuf> {
    let process = opened(id, PROCESS_QUERY_LIMITED_INFORMATION)?;
    let mut path = [0_u16; 1 << 10];
    let mut length = path.len() as u32;
    // SAFETY: the buffer has as many units as `length` says.
    let result =
        unsafe { QueryFullProcessImageNameW(process.as_raw_handle(), 0, path.as_mut_ptr(), &raw mut length) };
    (result != 0).then(|| PathBuf::from(text(&path)))
}

/// What this process uses.
#[expect(unsafe_code, reason = "the standard library does not tell what a process uses")]
pub fn usage() -> Usage {
    let mut open_files = 0;
    // SAFETY: the number is written to during the call.
    unsafe { GetProcessHandleCount(own_process(), &raw mut open_files) };
    let cpu = times(own_process()).map_or(0, |times| times.kernel + times.user);
    Usage {
        resident_memory: resident_memory(own_process()),
        cpu: Duration::from_nanos(cpu.saturating_mul(100)),
        open_files: usize::try_from(open_files).unwrap_or_default(),
    }
}

/// Bytes that a process has in memory; 0 if the system does not tell.
#[expect(unsafe_code, reason = "the standard library does not tell what a process uses")]
pub(crate) fn resident_memory(process: HANDLE) -> u64 {
    let mut counters = PROCESS_MEMORY_COUNTERS::default();
    let size = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
    // SAFETY: the process is open, and the structure has the size that the call gets.
    let result = unsafe { K32GetProcessMemoryInfo(process, &raw mut counters, size) };
    if result == 0 { 0 } else { counters.WorkingSetSize as u64 }
}

/// In units of 100 ns; `began` since 1601.
#[derive(Clone, Copy, Debug)]
struct Times {
    began: u64,
    kernel: u64,
    user: u64,
}

#[expect(unsafe_code, reason = "the standard library does not tell times of processes")]
fn times(process: HANDLE) -> Option<Times> {
    let mut times = [FILETIME::default(); 4];
    let [began, ended, kernel, user] = &mut times;
    // SAFETY: the process is open, and the four times are written to during the call.
    let result = unsafe { GetProcessTimes(process, began, ended, kernel, user) };
    let number = |time: FILETIME| wide(time.dwHighDateTime, time.dwLowDateTime);
    let [began, _, kernel, user] = times.map(number);
    (result != 0).then_some(Times { began, kernel, user })
}

/// The name of this machine; empty if the system does not tell.
#[expect(unsafe_code, reason = "the standard library does not tell the name of the machine")]
pub fn host() -> String {
    let mut name = [0_u16; 256];
    let mut length = name.len() as u32;
    // SAFETY: the buffer has as many units as `length` says.
    unsafe { GetComputerNameExW(ComputerNamePhysicalDnsHostname, name.as_mut_ptr(), &raw mut length) };
    text(&name).to_string_lossy().into_owned()
}

/// Identifies this machine; empty if the system does not tell. An id and the time at which a process began mean one process of
/// it, since it was installed.
#[expect(unsafe_code, reason = "the registry has no other interface")]
pub fn machine() -> String {
    let key = terminated("SOFTWARE\\Microsoft\\Cryptography".as_ref());
    let value = terminated("MachineGuid".as_ref());
    let mut found = [0_u16; 64];
    let mut bytes = size_of_val(&found) as u32;
    // SAFETY: both names end with a zero, and the buffer has as many bytes as `bytes` says.
    let result = unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            value.as_ptr(),
            RRF_RT_REG_SZ,
            ptr::null_mut(),
            found.as_mut_ptr().cast(),
            &raw mut bytes,
        )
    };
    if result == 0 { text(&found).to_string_lossy().into_owned() } else { String::new() }
}

/// Whether an open process has exited.
#[expect(unsafe_code, reason = "the standard library opens no processes")]
fn has_exited(process: &OwnedHandle) -> bool {
    const RUNS: u32 = 259;
    let mut code = 0;
    // SAFETY: the process is open, and the number is written to during the call.
    let result = unsafe { GetExitCodeProcess(process.as_raw_handle(), &raw mut code) };
    result != 0 && code != RUNS
}

/// When a running process began: ids are reused.
pub fn began(process: u32) -> Option<String> {
    let process = opened(process, PROCESS_QUERY_LIMITED_INFORMATION)?;
    (!has_exited(&process))
        .then(|| times(process.as_raw_handle()))
        .flatten()
        .map(|times| times.began.to_string())
}

/// Whether no process has this id. One that [`began`] does not find may be another user's.
pub fn is_gone(process: u32) -> bool {
    match opened(process, PROCESS_QUERY_LIMITED_INFORMATION) {
        Some(process) => has_exited(&process),
        None => io::Error::last_os_error().raw_os_error() == Some(ERROR_INVALID_PARAMETER.cast_signed()),
    }
}

/// Nothing: the system shows neither memory nor environment of a process to other users. Those of the same user can read both.
pub fn hide_from_other_processes(_: &[&str]) {}

/// The environment of this process.
///
/// # Errors
/// Never.
pub fn environment_without(_: &[&str]) -> io::Result<Vec<(OsString, OsString)>> {
    Ok(std::env::vars_os().collect())
}

/// The user's directory, as Go's `os/user` finds it.
pub fn home_of_account() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}
