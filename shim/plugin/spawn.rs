//! The one thread that starts provider processes, and the only unsafe code of the project.
//!
//! A provider must not outlive the daemon, however that ends, and a daemon that is killed cannot clean up. Linux can
//! kill a child when its parent goes, but by "parent" it means the *thread* that started the child: started from a
//! worker thread that retires, a provider would be killed while the daemon lives. Hence one thread that starts every
//! child and never ends. It also buries those whose owners could not wait for them.
//!
//! The parent-death signal has to be asked for in the child, between fork and exec; the standard library offers that
//! moment as `pre_exec`, which is unsafe because hardly anything is allowed there. On systems without such a signal
//! a provider dies with an orderly end of the daemon only.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use super::process::ChildProcess;

/// Starts `command` in a process group of its own, on the thread that never ends.
///
/// A caller that is cancelled leaves nothing behind: a child that nobody takes is killed.
pub(super) async fn spawn(command: Command) -> io::Result<SpawnedChild> {
    let (reply, answer) = oneshot::channel();
    send(Order::Spawn { command: Box::new(command), reply })?;
    answer.await.unwrap_or_else(|_| Err(io::Error::other("the thread that starts processes has ended")))
}

/// Sees to it that a killed child, which its owner did not wait for, does not stay a zombie.
pub(super) fn bury(child: Child) {
    // The thread exists, since it started this child; at the end of the program there is nothing left to clean up.
    let _ = send(Order::Bury(child));
}

/// A started child with its pipes.
#[derive(Debug)]
pub(super) struct SpawnedChild {
    pub(super) process: ChildProcess,
    pub(super) stdout: Option<std::process::ChildStdout>,
    pub(super) stderr: Option<std::process::ChildStderr>,
}

enum Order {
    Spawn { command: Box<Command>, reply: oneshot::Sender<io::Result<SpawnedChild>> },
    Bury(Child),
}

/// How often killed children are looked at that have not gone yet. Only runs while there are any.
const BURIAL_INTERVAL: Duration = Duration::from_millis(20);

fn send(order: Order) -> io::Result<()> {
    static ORDERS: Mutex<Option<Sender<Order>>> = Mutex::new(None);
    let mut orders = ORDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let sender = match &*orders {
        Some(sender) => sender,
        None => {
            let (sender, receiver) = channel();
            thread::Builder::new().name("isthmus-spawner".to_owned()).spawn(move || serve(&receiver))?;
            orders.insert(sender)
        }
    };
    sender.send(order).map_err(|_| io::Error::other("the thread that starts processes has ended"))
}

/// Runs for as long as the program: the sender is in a static.
fn serve(orders: &Receiver<Order>) {
    let mut dying: Vec<Child> = Vec::new();
    loop {
        let order = if dying.is_empty() {
            orders.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            orders.recv_timeout(BURIAL_INTERVAL)
        };
        match order {
            // A reply that nobody waits for comes back, and its child dies with it.
            Ok(Order::Spawn { command, reply }) => drop(reply.send(start(*command))),
            Ok(Order::Bury(child)) => dying.push(child),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        dying.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }
}

fn start(mut command: Command) -> io::Result<SpawnedChild> {
    command.process_group(0);
    die_with_parent(&mut command);
    let mut child = command.spawn()?;
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    Ok(SpawnedChild { process: ChildProcess::new(child), stdout, stderr })
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "only between fork and exec can a child ask to die with its parent")]
fn die_with_parent(command: &mut Command) {
    use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

    let parent: Pid = getpid();
    let ask = move || -> io::Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the request, and its signal will then never come.
        if getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
    };
    // SAFETY: the closure runs in the child of a multi-threaded process, where only async-signal-safe functions may
    // be called. It makes two bare system calls (prctl, getppid), takes no lock, allocates nothing (an `io::Error`
    // made of an error number is a number), touches no file descriptor, and captures one integer by value.
    unsafe {
        command.pre_exec(ask);
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_command: &mut Command) {}
