//! The engine and the user.
//!
//! The engine sends Diff for what it knows, Create for what it does not, Delete for what the program has
//! dropped, and replaces by creating first. It saves its state after each answer. When that fails it makes
//! no further call, and ends as it always does, with Cancel.

use super::{Call, Engine, Object, Operations, Process, Record, Settled, Step, Task, World};

impl Operations {
    pub(super) fn engine_steps(&self, world: &World, next: &mut Vec<(Step, World)>) {
        if !world.engine.is_running {
            self.run_starts(world, next);
            return;
        }
        for (process, connected) in world.processes.iter().enumerate() {
            if connected.is_connected && !connected.is_configured && !world.engine.is_stopping {
                let mut after = world.clone();
                after.processes[process].is_configured = true;
                self.find_reports(&mut after, process);
                next.push((Step::Configured { process }, after));
            }
        }
        for urn in 0..self.urns {
            self.resource_steps(world, urn, next);
        }
        if world.budget.interrupts > 0 && !world.engine.is_stopping {
            let mut after = world.clone();
            after.budget.interrupts -= 1;
            after.engine.is_stopping = true;
            after.connected().for_each(|process| process.cancel = true);
            next.push((Step::Interrupted, after));
        }
        self.run_ends(world, next);
        if world.budget.kills > 0 {
            let mut after = world.clone();
            after.budget.kills -= 1;
            after.engine.stop();
            for process in 0..after.processes.len() {
                if after.processes[process].is_connected {
                    self.disconnect(&mut after, process);
                }
            }
            next.push((Step::EngineKilled, after));
        }
    }

    /// A run starts when the processes of the last one have answered Cancel, or the engine was killed.
    fn run_starts(&self, world: &World, next: &mut Vec<(Step, World)>) {
        if world.budget.runs == 0 || world.processes.iter().any(|process| process.is_connected) {
            return;
        }
        let all = (1 << self.urns) - 1;
        for program in if self.is_fixed { all } else { 0 }..=all {
            let mut after = world.clone();
            after.budget.runs -= 1;
            after.engine.run += 1;
            after.engine.is_running = true;
            after.engine.program = program;
            after.engine.memory = after.saved;
            after.engine.tasks[..self.urns].fill(Task::Todo);
            for slot in 0..self.processes {
                let attached = after.processes.iter_mut().find(|process| {
                    self.is_attached && process.is_alive && process.slot == slot && process.is_idle()
                });
                let process = match attached {
                    Some(process) => process,
                    None => after.processes.push_mut(Process { slot, is_alive: true, ..Process::default() }),
                };
                process.is_connected = true;
                process.run = after.engine.run;
            }
            next.push((Step::RunStarts { program }, after));
        }
    }

    fn resource_steps(&self, world: &World, urn: usize, next: &mut Vec<(Step, World)>) {
        let engine = &world.engine;
        match engine.tasks[urn] {
            Task::Done | Task::Waiting => {}
            Task::Created(_) | Task::Deleted(_) => Self::save(world, urn, next),
            Task::Todo | Task::Cleanup if engine.is_stopping => {}
            task @ (Task::Todo | Task::Cleanup) => {
                let serving = world.processes.iter().position(|process| {
                    process.is_connected && process.is_configured && process.slot == urn % self.processes
                });
                let Some(process) = serving else { return };
                match (engine.memory[urn], engine.program & 1 << urn != 0) {
                    (Record { replaced: Some(old), .. }, _) => self.delete(world, (process, urn), old, next),
                    _ if task == Task::Cleanup => next.push((Step::Skipped { urn }, done(world, urn))),
                    (Record { current: None, .. }, false) => {
                        next.push((Step::Skipped { urn }, done(world, urn)));
                    }
                    (Record { current: None, .. }, true) => create(world, (process, urn), false, true, next),
                    (Record { current: Some(old), .. }, false) => {
                        self.delete(world, (process, urn), old, next);
                        skip(world, urn, next);
                    }
                    (Record { current: Some(current), .. }, true) => {
                        skip(world, urn, next);
                        if world.budget.forced_replacements > 0 {
                            let mut forced = world.clone();
                            forced.budget.forced_replacements -= 1;
                            create(&forced, (process, urn), true, false, next);
                        }
                        let mut compared = world.clone();
                        self.mentioned(&mut compared, urn, current);
                        if world.budget.replacements > 0 {
                            let mut replaced = compared.clone();
                            replaced.budget.replacements -= 1;
                            create(&replaced, (process, urn), true, true, next);
                        }
                        next.push((Step::Compared { urn }, done(&compared, urn)));
                    }
                }
            }
        }
    }

    fn save(world: &World, urn: usize, next: &mut Vec<(Step, World)>) {
        let mut after = world.clone();
        let record = &mut after.engine.memory[urn];
        after.engine.tasks[urn] = match world.engine.tasks[urn] {
            Task::Created(made) => {
                record.replaced = record.current;
                record.current = Some(made);
                if record.replaced.is_some() { Task::Cleanup } else { Task::Done }
            }
            Task::Deleted(old) if record.replaced == Some(old) => {
                record.replaced = None;
                Task::Done
            }
            _ => {
                record.current = None;
                Task::Done
            }
        };
        if world.budget.save_failures > 0 {
            let mut failed = after.clone();
            failed.budget.save_failures -= 1;
            failed.engine.is_stopping = true;
            next.push((Step::SaveFailed { urn }, failed));
        }
        after.saved = after.engine.memory;
        next.push((Step::Saved { urn }, after));
    }

    fn delete(
        &self,
        world: &World,
        (process, urn): (usize, usize),
        operation: u8,
        next: &mut Vec<(Step, World)>,
    ) {
        let mut after = world.clone();
        self.mentioned(&mut after, urn, operation);
        after.engine.tasks[urn] = Task::Waiting;
        after.processes[process].calls[urn] = Call::Delete(operation);
        next.push((Step::DeleteSent { urn, operation }, after));
    }

    /// The run ends when no call is in progress and none is to come.
    fn run_ends(&self, world: &World, next: &mut Vec<(Step, World)>) {
        let ends = |task: &Task| match task {
            Task::Done => true,
            Task::Todo | Task::Cleanup => world.engine.is_stopping,
            Task::Waiting | Task::Created(_) | Task::Deleted(_) => false,
        };
        if world.engine.tasks.iter().all(ends) {
            let mut after = world.clone();
            after.orderly |= 1 << after.engine.run;
            after.engine.stop();
            after.connected().for_each(|process| {
                process.cancel = true;
                process.is_ending = true;
            });
            next.push((Step::RunEnds, after));
        }
    }

    /// The user looks at an open operation between two runs, removes the object unless the engine knows it,
    /// and dismisses the operation.
    pub(super) fn user_steps(world: &World, next: &mut Vec<(Step, World)>) {
        if world.budget.dismissals == 0 || world.engine.is_running {
            return;
        }
        for operation in 0..world.operations.len() {
            if !world.operations[operation].is_open() || world.is_in_progress(operation) {
                continue;
            }
            let mut after = world.clone();
            after.budget.dismissals -= 1;
            let is_saved = world.is_saved(operation);
            let dismissed = &mut after.operations[operation];
            if dismissed.object == Object::Exists && !is_saved {
                dismissed.object = Object::Deleted;
            }
            dismissed.settled = Some(Settled::Dismissed);
            next.push((Step::Dismissed { operation }, after));
        }
    }
}

fn create(
    world: &World,
    (process, urn): (usize, usize),
    is_replacement: bool,
    is_compared: bool,
    next: &mut Vec<(Step, World)>,
) {
    let mut after = world.clone();
    after.engine.tasks[urn] = Task::Waiting;
    after.processes[process].calls[urn] = Call::Received { is_replacement };
    next.push((Step::CreateSent { urn, is_replacement, is_compared }, after));
}

fn skip(world: &World, urn: usize, next: &mut Vec<(Step, World)>) {
    if world.budget.skips > 0 {
        let mut after = done(world, urn);
        after.budget.skips -= 1;
        next.push((Step::Skipped { urn }, after));
    }
}

fn done(world: &World, urn: usize) -> World {
    let mut after = world.clone();
    after.engine.tasks[urn] = Task::Done;
    after
}

impl World {
    fn connected(&mut self) -> impl Iterator<Item = &mut Process> {
        self.processes.iter_mut().filter(|process| process.is_connected)
    }
}

impl Engine {
    /// Forgets all but the number of the run.
    fn stop(&mut self) {
        *self = Self { run: self.run, ..Self::default() };
    }
}
