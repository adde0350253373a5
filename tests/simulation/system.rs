//! The system calls that a simulation answers itself: clocks, sleeping, random numbers, waiting for events, and files.
//!
//! isthmus, its libraries and the standard library are in the simulation as they are: they call the C library, whose functions this
//! program replaces by its own of the same names. On a thread of a simulation these answer from its [`Machine`]: time passes only when
//! nobody has anything to do, random numbers are those of the seed, and a write is what the seed makes of it. On every other thread,
//! and for every other file, they make the system call. This is the only place with `unsafe` code: functions that C calls have no
//! other form.
//!
//! Each change of a file or a connection is a *step*. A party dies before, after or in the middle of one, and what it does afterwards
//! has no effect: so it is with SIGKILL, whose moment nobody can choose but by what others see of it.
#![expect(
    unsafe_code,
    reason = "functions of the C library are replaced by functions with its calling convention"
)]

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::task::Waker;
use std::time::Duration;

use libc::{c_char, c_int, c_long, c_uint, c_void, clockid_t, mode_t, off_t, size_t, ssize_t, timespec};

use crate::dice::Dice;

/// When a simulation begins, in seconds since 1970: some day of 2026.
const BEGINNING: i64 = 1_790_000_000;

const SECOND: u64 = 1_000_000_000;

thread_local! {
    static IS_SIMULATED: Cell<bool> = const { Cell::new(false) };
    static NOW: Cell<u64> = const { Cell::new(0) };
    static RANDOM: RefCell<Dice> = const { RefCell::new(Dice::ZERO) };
    static IDLE: RefCell<Option<Waker>> = const { RefCell::new(None) };
    static WAIT: Cell<Option<u64>> = const { Cell::new(None) };
    static WOKEN: RefCell<BTreeSet<c_int>> = const { RefCell::new(BTreeSet::new()) };
    static SYNCED: RefCell<BTreeMap<u64, u64>> = const { RefCell::new(BTreeMap::new()) };
    static NAMED: RefCell<BTreeSet<u64>> = const { RefCell::new(BTreeSet::new()) };
    static PARTY: Cell<Machine> = const { Cell::new(Machine::NEW) };
}

/// What the system is to the party that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    /// Steps so far.
    pub(crate) steps: u64,
    /// The step at which it dies.
    pub(crate) dies_at: Option<Death>,
    pub(crate) is_dead: bool,
    /// How far its clock of the day is ahead, in nanoseconds.
    pub(crate) ahead: i64,
    /// Its disk is full, or fails.
    pub(crate) disk: Disk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Death {
    pub(crate) step: u64,
    pub(crate) moment: Moment,
}

/// When it dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Before,
    /// After half of a write.
    Amid,
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disk {
    Sound,
    /// Writes fail after a part, with this error.
    Full,
    /// Writes succeed, and `fsync` fails.
    NoSync,
    /// Everything fails.
    Broken,
}

/// What becomes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Done,
    /// It is done by half, and its party is dead.
    Half,
    /// It has no effect.
    Dead,
}

impl Machine {
    pub(crate) const NEW: Self =
        Self { steps: 0, dies_at: None, is_dead: false, ahead: 0, disk: Disk::Sound };
}

/// Makes this thread that of a simulation.
pub(crate) fn begin(dice: Dice) {
    IS_SIMULATED.set(true);
    RANDOM.set(dice);
    isthmus_common::simulation::begin();
}

/// The time since the beginning.
pub(crate) fn now() -> Duration {
    Duration::from_nanos(NOW.get())
}

/// Lets time pass, up to a moment.
pub(crate) fn wait_until(moment: Duration) {
    let moment = u64::try_from(moment.as_nanos()).unwrap_or(u64::MAX);
    NOW.set(NOW.get().max(moment));
}

/// Sets what the system is from now on, and returns what it was.
pub(crate) fn exchange(machine: Machine) -> Machine {
    PARTY.replace(machine)
}

/// Whether the party that runs is dead.
pub(crate) fn is_dead() -> bool {
    PARTY.get().is_dead
}

/// A step of the party that runs.
pub(crate) fn step() -> Fate {
    let mut machine = PARTY.get();
    if machine.is_dead {
        return Fate::Dead;
    }
    machine.steps += 1;
    let death = machine.dies_at.filter(|death| death.step == machine.steps);
    machine.is_dead = death.is_some();
    PARTY.set(machine);
    match death.map(|death| death.moment) {
        None => Fate::Done,
        Some(moment) => {
            // What runs now does not come back from this.
            wake_idle();
            match moment {
                Moment::Before => Fate::Dead,
                Moment::Amid => Fate::Half,
                Moment::After => Fate::Done,
            }
        }
    }
}

/// What the party that runs lets another machine do, whose clock and disk are sound. To ask for it is a step; half of it is not done.
pub(crate) fn on_another_machine(work: &mut dyn FnMut()) {
    let fate = step();
    if fate != Fate::Done {
        return;
    }
    let party = exchange(Machine::NEW);
    work();
    exchange(party);
}

/// Woken when the runtime of this thread has nothing to do.
pub(crate) fn when_idle(waker: Waker) {
    WAIT.set(None);
    IDLE.set(Some(waker));
}

/// When the runtime that was idle last has something to do again.
pub(crate) fn next_timer() -> Option<Duration> {
    WAIT.get().map(Duration::from_nanos)
}

/// A party is told within its own run.
fn wake_idle() {
    if let Some(waker) = IDLE.take() {
        waker.wake();
    }
}

/// The runtimes that were woken from without since, each by the descriptor that it is woken by.
pub(crate) fn take_woken() -> BTreeSet<c_int> {
    WOKEN.take()
}

/// The runtime that does this needs no other to wake it.
pub(crate) fn forget_woken(descriptor: c_int) {
    WOKEN.with_borrow_mut(|woken| woken.remove(&descriptor));
}

/// The descriptor of the runtime that this wakes.
pub(crate) fn woken_by<T>(work: impl FnOnce() -> T) -> (T, c_int) {
    let others = WOKEN.take();
    let done = work();
    let descriptor = WOKEN.with_borrow(|woken| woken.first().copied()).expect("a runtime that is woken");
    WOKEN.with_borrow_mut(|woken| woken.extend(others));
    (done, descriptor)
}

fn is_simulated() -> bool {
    IS_SIMULATED.get()
}

fn fail(error: c_int) -> c_int {
    // SAFETY: the address of this thread's `errno` is valid as long as the thread runs.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Whether a descriptor is that of a file.
fn is_file(descriptor: c_int) -> bool {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: there is room for the answer, which is read only if it was given.
    unsafe {
        libc::fstat(descriptor, status.as_mut_ptr()) == 0
            && status.assume_init().st_mode & libc::S_IFMT == libc::S_IFREG
    }
}

/// A change of a file that has no halves. `None`: it is done.
fn refused() -> Option<c_int> {
    if !is_simulated() {
        return None;
    }
    match step() {
        Fate::Dead => Some(fail(libc::EIO)),
        Fate::Done | Fate::Half => match PARTY.get().disk {
            Disk::Broken => Some(fail(libc::EIO)),
            Disk::Full => Some(fail(libc::ENOSPC)),
            Disk::Sound | Disk::NoSync => None,
        },
    }
}

#[unsafe(no_mangle)]
extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    if !is_simulated() {
        // SAFETY: the caller's own arguments.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) } as c_int;
    }
    // Reading a clock takes time, so that no loop waits for ever.
    let now = NOW.get() + 20;
    NOW.set(now);
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    let nanoseconds = match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => {
            BEGINNING * SECOND as i64 + PARTY.get().ahead + now
        }
        _ => 1000 * SECOND as i64 + now,
    };
    let read =
        timespec { tv_sec: nanoseconds / SECOND as i64, tv_nsec: (nanoseconds % SECOND as i64) as c_long };
    // SAFETY: the caller gives room for the time.
    unsafe { time.write(read) };
    0
}

/// Sleeping threads do not run others here: time passes.
#[unsafe(no_mangle)]
extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    if !is_simulated() {
        // SAFETY: the caller's own arguments.
        let slept = unsafe { libc::syscall(libc::SYS_clock_nanosleep, clock, flags, time, left) };
        // SAFETY: as above; this function returns the error itself.
        return if slept == 0 { 0 } else { unsafe { *libc::__errno_location() } };
    }
    // SAFETY: the caller gives a time.
    let time = unsafe { time.read() };
    let nanoseconds = time.tv_sec as u64 * SECOND + time.tv_nsec as u64;
    match flags & libc::TIMER_ABSTIME {
        0 => NOW.set(NOW.get() + nanoseconds),
        _ => NOW.set(NOW.get().max(nanoseconds.saturating_sub(1000 * SECOND))),
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int {
    clock_nanosleep(libc::CLOCK_MONOTONIC, 0, time, left)
}

/// A runtime waits: whoever wants to know is told, and it goes on.
#[unsafe(no_mangle)]
extern "C" fn epoll_wait(
    epoll: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    milliseconds: c_int,
) -> c_int {
    if !is_simulated() {
        // SAFETY: the caller's own arguments.
        let got = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait,
                epoll,
                events,
                most,
                milliseconds,
                std::ptr::null::<c_void>(),
                8,
            )
        };
        return got as c_int;
    }
    if milliseconds != 0 {
        let wait = u64::try_from(milliseconds).ok().map(|milliseconds| NOW.get() + milliseconds * 1_000_000);
        WAIT.set(wait);
        wake_idle();
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn getrandom(buffer: *mut c_void, length: size_t, flags: c_uint) -> ssize_t {
    if !is_simulated() {
        // SAFETY: the caller's own arguments.
        return unsafe { libc::syscall(libc::SYS_getrandom, buffer, length, flags) } as ssize_t;
    }
    // SAFETY: the caller gives room for so many bytes.
    let bytes = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length) };
    RANDOM.with_borrow_mut(|dice| dice.fill(bytes));
    length as ssize_t
}

#[unsafe(no_mangle)]
extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    if flags & libc::O_CREAT != 0
        && let Some(refused) = refused()
    {
        return refused;
    }
    // SAFETY: the caller's own arguments.
    unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode) as c_int }
}

#[unsafe(no_mangle)]
extern "C" fn pwrite64(descriptor: c_int, bytes: *const c_void, length: size_t, offset: off_t) -> ssize_t {
    // SAFETY: the caller's own arguments, or a part of them.
    let write = |length: size_t| unsafe {
        libc::syscall(libc::SYS_pwrite64, descriptor, bytes, length, offset) as ssize_t
    };
    match written(length) {
        Ok(length) => write(length),
        Err((part, error)) => {
            write(part);
            fail(error) as ssize_t
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn write(descriptor: c_int, bytes: *const c_void, length: size_t) -> ssize_t {
    // SAFETY: the caller's own arguments, or a part of them.
    let write =
        |length: size_t| unsafe { libc::syscall(libc::SYS_write, descriptor, bytes, length) as ssize_t };
    let is_of_file = is_file(descriptor);
    // Runtimes are woken by what is written to their `eventfd`; they are never asleep here.
    if is_simulated() && length == 8 && !is_of_file {
        WOKEN.with_borrow_mut(|woken| woken.insert(descriptor));
        return 8;
    }
    // What is shown of a replay must not change it, even in a file.
    if !is_simulated() || !is_of_file || descriptor <= libc::STDERR_FILENO {
        return write(length);
    }
    match written(length) {
        Ok(length) => write(length),
        Err((part, error)) => {
            write(part);
            fail(error) as ssize_t
        }
    }
}

/// How much of a write is done, and with which error it fails.
fn written(length: size_t) -> Result<size_t, (size_t, c_int)> {
    if !is_simulated() {
        return Ok(length);
    }
    match (step(), PARTY.get().disk) {
        (Fate::Dead, _) => Err((0, libc::EIO)),
        (Fate::Half, _) => Err((length / 2, libc::EIO)),
        (Fate::Done, Disk::Full) => Err((length / 2, libc::ENOSPC)),
        (Fate::Done, Disk::Broken) => Err((0, libc::EIO)),
        (Fate::Done, Disk::Sound | Disk::NoSync) => Ok(length),
    }
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate64(descriptor: c_int, length: off_t) -> c_int {
    // A full disk has room for less.
    if is_simulated() && (step() == Fate::Dead || PARTY.get().disk == Disk::Broken) {
        return fail(libc::EIO);
    }
    // SAFETY: the caller's own arguments.
    unsafe { libc::syscall(libc::SYS_ftruncate, descriptor, length) as c_int }
}

#[unsafe(no_mangle)]
extern "C" fn fsync(descriptor: c_int) -> c_int {
    if !is_simulated() {
        // SAFETY: the caller's own arguments.
        return unsafe { libc::syscall(libc::SYS_fsync, descriptor) as c_int };
    }
    match (step(), PARTY.get().disk) {
        (Fate::Dead, _) | (_, Disk::NoSync | Disk::Broken) => fail(libc::EIO),
        (_, Disk::Sound | Disk::Full) => {
            note_synchronised(descriptor);
            0
        }
    }
}

/// Remembers what a file or a directory has now.
fn note_synchronised(descriptor: c_int) {
    let path = format!("/proc/self/fd/{descriptor}");
    let Ok(metadata) = fs::metadata(&path) else { return };
    if metadata.is_dir() {
        let entries = fs::read_dir(&path).into_iter().flatten().flatten();
        let named = entries.filter_map(|entry| Some(entry.metadata().ok()?.ino()));
        NAMED.with_borrow_mut(|names| names.extend(named));
    } else {
        SYNCED.with_borrow_mut(|synced| synced.insert(metadata.ino(), metadata.len()));
    }
}

/// What a loss of power leaves of the files in a directory: what was synchronised, and of the rest what the seed says. No party lives
/// any more.
pub(crate) fn lose_power(directory: &Path, dice: &mut Dice) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(directory)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, metadata) = (entry.path(), entry.metadata()?);
        if metadata.is_dir() {
            lose_power(&path, dice)?;
            continue;
        }
        let is_named = NAMED.with_borrow(|names| names.contains(&metadata.ino()));
        if !is_named && dice.one_in(2) {
            fs::remove_file(&path)?;
            continue;
        }
        let synced = SYNCED.with_borrow(|synced| synced.get(&metadata.ino()).copied()).unwrap_or(0);
        if synced < metadata.len() {
            let length = synced + dice.below(metadata.len() - synced + 1);
            OpenOptions::new().write(true).open(&path)?.set_len(length)?;
        }
    }
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(descriptor: c_int) -> c_int {
    fsync(descriptor)
}

#[unsafe(no_mangle)]
extern "C" fn rename(old: *const c_char, new: *const c_char) -> c_int {
    if let Some(refused) = refused() {
        return refused;
    }
    // SAFETY: the caller's own arguments.
    unsafe { libc::syscall(libc::SYS_renameat2, libc::AT_FDCWD, old, libc::AT_FDCWD, new, 0) as c_int }
}

#[unsafe(no_mangle)]
extern "C" fn unlink(path: *const c_char) -> c_int {
    if is_simulated() && step() == Fate::Dead {
        return fail(libc::EIO);
    }
    // SAFETY: the caller's own arguments.
    unsafe { libc::syscall(libc::SYS_unlinkat, libc::AT_FDCWD, path, 0) as c_int }
}

#[unsafe(no_mangle)]
extern "C" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    if let Some(refused) = refused() {
        return refused;
    }
    // SAFETY: the caller's own arguments.
    unsafe { libc::syscall(libc::SYS_mkdirat, libc::AT_FDCWD, path, mode) as c_int }
}
