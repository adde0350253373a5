//! Windows: job objects. A program and all that it starts are in a job, and the system ends what is in a job with the last handle
//! of it, which is this process's. So no guardian is needed: also a daemon that is killed leaves nothing.
//!
//! The program starts suspended, so that it starts nothing before it is in its job. This process is in a job of its own kind, which
//! its programs begin in: so one that is killed between the start of a program and its job leaves nothing either.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle, RawHandle};
use std::process::{ExitCode, ExitStatus, Stdio};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::windows::named_pipe::{NamedPipeServer, PipeMode, ServerOptions};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::Storage::FileSystem::SYNCHRONIZE;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_BREAKAWAY_OK,
    JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectExtendedLimitInformation, SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW, CREATE_SUSPENDED, INFINITE, OpenThread,
    PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_TERMINATE, ResumeThread, THREAD_SUSPEND_RESUME,
    TerminateProcess, WaitForSingleObject,
};

use super::Spawned;
use super::ending::Ending;
use super::program::{Guardian, OtherSession, OtherSessions, Program, SpawnError};
use crate::process::windows as process;

/// What a program writes, to be read without blocking.
pub type Output = NamedPipeServer;

/// A program in its job. Dropping it kills all that is in the job.
#[derive(Debug)]
pub struct ChildProcess {
    id: Option<u32>,
    job: Arc<Job>,
    has_ended: AtomicBool,
}

impl ChildProcess {
    /// Its process id, while it is valid.
    pub fn id(&self) -> Option<u32> {
        self.id.filter(|_| !self.has_ended.load(Ordering::Acquire))
    }

    /// Its exit was reported.
    pub fn note_end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    /// Kills the program and all that it has started. No effect after its exit.
    pub fn kill(&self) {
        self.job.end();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The exit of a program.
#[derive(Debug)]
pub struct Reports {
    child: Child,
    job: Arc<Job>,
}

impl Reports {
    /// Waits for the program's exit, after which nothing that it has started runs either.
    pub async fn ended(&mut self) -> Ending {
        let ending = self.child.wait().await.map_or(Ending::Unknown, Ending::from);
        self.job.end();
        ending
    }

    /// None: what leaves the job is not seen any more.
    pub async fn other_session(&mut self) -> Option<OtherSession> {
        None
    }
}

/// Starts a program. Cancellation leaves no process.
///
/// # Errors
/// When the job or the program cannot be started.
pub async fn spawn(_: &Guardian, program: Program) -> Result<Spawned, SpawnError> {
    Job::contain_this().map_err(SpawnError::Guardian)?;
    let job = Arc::new(Job::new(program.other_sessions).map_err(SpawnError::Guardian)?);
    let (stdout, stdout_end) = output().await.map_err(SpawnError::Guardian)?;
    let (stderr, stderr_end) = output().await.map_err(SpawnError::Guardian)?;
    let mut command = Command::new(&program.executable);
    command.args(&program.args).env_clear().envs(&program.environment);
    command.stdin(Stdio::null()).stdout(stdout_end).stderr(stderr_end).kill_on_drop(true);
    // Without our console, whose events are for the daemon alone.
    command.creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP);
    if let Some(directory) = &program.working_directory {
        command.current_dir(directory);
    }
    let child = command.spawn().map_err(SpawnError::Program)?;
    // It holds the ends of the pipes for the program.
    drop(command);
    job.adopt(&child).and_then(|()| resume(&child)).map_err(SpawnError::Guardian)?;
    let process = ChildProcess { id: child.id(), job: Arc::clone(&job), has_ended: AtomicBool::new(false) };
    Ok(Spawned { process, reports: Reports { child, job }, stdout, stderr })
}

/// A pipe, whose end for reading does not block, and its end for a program.
async fn output() -> io::Result<(Output, Stdio)> {
    // No other process guesses the name; one that has it finds no further instance.
    let name = crate::local::windows::new_name()?;
    let ours = ServerOptions::new()
        .access_inbound(true)
        .access_outbound(false)
        .first_pipe_instance(true)
        .max_instances(1)
        .pipe_mode(PipeMode::Byte)
        .create(&name)?;
    let theirs = OpenOptions::new().write(true).share_mode(0).open(&name)?;
    // It is already; without the call, nothing is read.
    ours.connect().await?;
    Ok((ours, Stdio::from(theirs)))
}

/// A job, which ends with this handle.
#[derive(Debug)]
struct Job(OwnedHandle);

impl Job {
    #[expect(unsafe_code, reason = "jobs have no other interface")]
    fn new(other_sessions: OtherSessions) -> io::Result<Self> {
        // SAFETY: it gets neither attributes nor a name.
        let job = unsafe { CreateJobObjectW(ptr::null(), ptr::null()) };
        if job.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just created, and nothing else closes it.
        let job = Self(unsafe { OwnedHandle::from_raw_handle(job) });
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
            | match other_sessions {
                // A process that leaves a job does so on purpose, as with `setsid` elsewhere.
                OtherSessions::Leave => JOB_OBJECT_LIMIT_BREAKAWAY_OK,
                OtherSessions::Kill => 0,
            };
        // SAFETY: the structure is the one of the class, and its size is passed on.
        let result = unsafe {
            SetInformationJobObject(
                job.0.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() as u32,
            )
        };
        if result == 0 { Err(io::Error::last_os_error()) } else { Ok(job) }
    }

    /// Puts this process into a job, once, so that what it starts from now on ends with it.
    fn contain_this() -> io::Result<()> {
        static OWN: Mutex<Option<Job>> = Mutex::new(None);
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        if own.is_none() {
            let job = Self::new(OtherSessions::Leave)?;
            job.add(process::own_process())?;
            *own = Some(job);
        }
        Ok(())
    }

    fn adopt(&self, child: &Child) -> io::Result<()> {
        self.add(child.raw_handle().ok_or_else(ended_at_once)?)
    }

    #[expect(unsafe_code, reason = "jobs have no other interface")]
    fn add(&self, process: RawHandle) -> io::Result<()> {
        // SAFETY: both handles are open.
        let result = unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), process) };
        if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Ends all that is in it.
    #[expect(unsafe_code, reason = "jobs have no other interface")]
    fn end(&self) {
        // SAFETY: the handle is open.
        unsafe { TerminateJobObject(self.0.as_raw_handle(), 1) };
    }
}

fn ended_at_once() -> io::Error {
    io::Error::other("it ended at once")
}

/// Lets a program run that was started suspended: its only thread.
#[expect(unsafe_code, reason = "the standard library does not give the thread's handle")]
fn resume(child: &Child) -> io::Result<()> {
    let id = child.id().ok_or_else(ended_at_once)?;
    // SAFETY: the call takes two numbers.
    let snapshot = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) };
    if snapshot == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just opened, and nothing else closes it.
    let snapshot = unsafe { OwnedHandle::from_raw_handle(snapshot) };
    let mut entry = THREADENTRY32 { dwSize: size_of::<THREADENTRY32>() as u32, ..Default::default() };
    // SAFETY: the snapshot is open, and the entry has its size, as both calls want it.
    let mut more = unsafe { Thread32First(snapshot.as_raw_handle(), &raw mut entry) };
    while more != 0 {
        if entry.th32OwnerProcessID == id {
            // SAFETY: the call takes numbers.
            let thread = unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID) };
            if thread.is_null() {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: it was just opened, and nothing else closes it.
            let thread = unsafe { OwnedHandle::from_raw_handle(thread) };
            // SAFETY: the handle is open.
            let result = unsafe { ResumeThread(thread.as_raw_handle()) };
            return if result == u32::MAX { Err(io::Error::last_os_error()) } else { Ok(()) };
        }
        // SAFETY: as before.
        more = unsafe { Thread32Next(snapshot.as_raw_handle(), &raw mut entry) };
    }
    Err(io::Error::other("its thread was not found"))
}

/// A process that is not our child: of a reattached provider, or our parent.
#[derive(Debug)]
pub struct ForeignProcess {
    handle: Arc<OwnedHandle>,
    ended: watch::Receiver<()>,
}

impl ForeignProcess {
    /// Finds a process by its id. `None` if it does not exist, or is not visible from here.
    pub fn find(id: u32) -> Option<Self> {
        let killable = process::opened(id, SYNCHRONIZE | PROCESS_TERMINATE);
        let handle = Arc::new(killable.or_else(|| process::opened(id, SYNCHRONIZE))?);
        let (sender, ended) = watch::channel(());
        let waited = Arc::clone(&handle);
        // A wait cannot be cancelled, and has a thread that ends with either process.
        let thread = std::thread::Builder::new().name("isthmus-foreign".to_owned());
        thread.spawn(move || wait_for(&waited, sender)).ok()?;
        Some(Self { handle, ended })
    }

    /// Waits for its exit.
    pub async fn ended(&self) {
        // It sends nothing, and goes with the process.
        while self.ended.clone().changed().await.is_ok() {}
    }

    /// Kills it.
    #[expect(unsafe_code, reason = "the standard library kills children only")]
    pub fn kill(&self) {
        // SAFETY: the handle is open. It fails if the process has exited, or may not be killed.
        unsafe { TerminateProcess(self.handle.as_raw_handle(), 1) };
    }
}

#[expect(unsafe_code, reason = "the standard library waits for children only")]
fn wait_for(process: &OwnedHandle, sender: watch::Sender<()>) {
    // SAFETY: the handle is open.
    unsafe { WaitForSingleObject(process.as_raw_handle(), INFINITE) };
    drop(sender);
}

/// No process of this executable is a guardian here.
pub fn guardian_role(_: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    None
}

/// The resident memory of a program and of the processes below it, in bytes; 0 if they have exited.
///
/// It blocks.
pub fn resident_memory(leader: u32) -> u64 {
    let listed = process::processes();
    let mut members = vec![leader];
    let mut next = 0;
    while let Some(parent) = members.get(next).copied() {
        next += 1;
        let children = listed.iter().filter(|process| process.parent == parent).map(|process| process.id);
        let new: Vec<u32> = children.filter(|child| !members.contains(child)).collect();
        members.extend(new);
    }
    let opened = members.into_iter().filter_map(|id| process::opened(id, PROCESS_QUERY_LIMITED_INFORMATION));
    opened.map(|process| process::resident_memory(process.as_raw_handle())).sum()
}

/// This executable.
pub(super) fn own_executable() -> std::path::PathBuf {
    std::env::current_exe().unwrap_or_else(|_| std::path::PathBuf::from("isthmus"))
}

/// Processes end by no signals here.
pub(super) fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}

/// None.
pub(super) fn signal_name(_: i32) -> Option<&'static str> {
    None
}
