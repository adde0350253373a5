//! The processes of isthmus and the provider behind them.
//!
//! Each entry that is written is a step of its own, so that a process can be killed before and after it.
//! The request to the provider is no step: a process that is killed before it was sent leaves what one
//! leaves that is killed before the provider has made the object.

use super::{
    BegunRule, Call, CancelRule, CreateRule, EvidenceRule, FailedRule, MadeRule, Object, Operation,
    Operations, PassedRule, Process, ReportRule, Settled, Step, Task, World,
};

impl Operations {
    pub(super) fn daemon_steps(&self, world: &World, next: &mut Vec<(Step, World)>) {
        for (index, process) in world.processes.iter().enumerate() {
            if !process.is_alive {
                continue;
            }
            for urn in 0..self.urns {
                self.call_steps(world, (index, urn), next);
            }
            // What is to be reported is, before Cancel is answered.
            if process.cancel && process.reports == 0 && process.delivered.is_none() {
                self.handle_cancel(world, index, next);
            }
            self.report_steps(world, index, next);
            if !process.is_connected && process.is_idle() && process.delivered.is_none() && !self.is_attached
            {
                let mut after = world.clone();
                after.processes[index] = Process { slot: process.slot, ..Process::default() };
                next.push((Step::ProcessExits { process: index }, after));
            }
            if world.budget.kills > 0 {
                kill(world, index, next);
            }
        }
    }

    fn call_steps(&self, world: &World, (process, urn): (usize, usize), next: &mut Vec<(Step, World)>) {
        let mut after = world.clone();
        let call = &mut after.processes[process].calls[urn];
        match *call {
            Call::None => {}
            Call::Received { is_replacement } => {
                *call = Call::Looked { is_replacement };
                if self.rules.create != CreateRule::Ignores {
                    self.find_lost(&mut after, process, urn);
                }
                next.push((Step::LookedForOpenCreations { process, urn }, after));
            }
            Call::Looked { is_replacement } => {
                let number = u8::try_from(world.operations.len()).expect("few operations");
                *call = Call::Begun(number);
                let run = world.processes[process].run;
                if self.rules.create == CreateRule::NamesEnded {
                    let ended = after.operations.iter_mut().filter(|old| old.urn == urn && old.is_ended);
                    ended.filter(|old| old.is_open() && old.run < run).for_each(|old| old.named = Some(run));
                }
                let mut operation = Operation::new(urn, process, run, is_replacement);
                operation.is_begun = self.rules.begun == BegunRule::BeforeRequest;
                after.operations.push(operation);
                after.last_change = world.engine.run;
                next.push((Step::BegunWritten { process, urn }, after));
            }
            Call::Begun(operation) => {
                self.crash(world, (process, urn), Some(operation), next);
                if world.budget.refusals > 0 {
                    let mut refused = world.clone();
                    refused.budget.refusals -= 1;
                    refused.operations[usize::from(operation)].settled = Some(Settled::NothingMade);
                    refused.answer(process, urn, Task::Done);
                    next.push((Step::Refused { urn, operation }, refused));
                }
                *call = Call::Applied(operation);
                after.operations[usize::from(operation)].object = Object::Exists;
                next.push((Step::ObjectMade { urn, operation }, after));
            }
            Call::Applied(operation) => {
                self.crash(world, (process, urn), Some(operation), next);
                if self.rules.made == MadeRule::AfterAnswer {
                    after.answer(process, urn, Task::Created(operation));
                    after.processes[process].calls[urn] = Call::AnsweredEarly(operation);
                    next.push((Step::CreateAnswered { process, operation }, after));
                } else {
                    *call = Call::Made(operation);
                    after.write_made(operation);
                    next.push((Step::MadeWritten { operation }, after));
                }
            }
            Call::AnsweredEarly(operation) => {
                *call = Call::None;
                after.write_made(operation);
                next.push((Step::MadeWritten { operation }, after));
            }
            Call::Made(operation) => {
                after.answer(process, urn, Task::Created(operation));
                if after.processes[process].is_connected {
                    after.processes[process].answered |= 1 << operation;
                }
                next.push((Step::CreateAnswered { process, operation }, after));
            }
            Call::Delete(operation) => {
                self.crash(world, (process, urn), None, next);
                after.operations[usize::from(operation)].object = Object::Deleted;
                self.crash(&after, (process, urn), None, next);
                after.answer(process, urn, Task::Deleted(operation));
                next.push((Step::DeleteAnswered { process, urn }, after));
            }
        }
    }

    /// The provider dies with the request; the engine gets an error.
    fn crash(
        &self,
        world: &World,
        (process, urn): (usize, usize),
        creation: Option<u8>,
        next: &mut Vec<(Step, World)>,
    ) {
        if world.budget.crashes == 0 {
            return;
        }
        let mut after = world.clone();
        after.budget.crashes -= 1;
        after.last_change = world.engine.run;
        if let Some(operation) = creation {
            let operation = &mut after.operations[usize::from(operation)];
            match self.rules.failed {
                FailedRule::Unknown => operation.is_unknown = true,
                FailedRule::Settles => operation.settled = Some(Settled::NothingMade),
            }
        }
        after.answer(process, urn, Task::Done);
        next.push((Step::ProviderCrashed { urn }, after));
    }

    /// A call of the engine carries this URN and id.
    pub(super) fn mentioned(&self, world: &mut World, urn: usize, id: u8) {
        for (number, operation) in world.operations.iter_mut().enumerate() {
            let is_it = match self.rules.evidence {
                EvidenceRule::UrnAndId => number == usize::from(id),
                EvidenceRule::Urn => operation.urn == urn,
            };
            if is_it && operation.is_open() && operation.is_made {
                operation.settled = Some(Settled::Mentioned);
            }
        }
    }

    fn handle_cancel(&self, world: &World, index: usize, next: &mut Vec<(Step, World)>) {
        let mut after = world.clone();
        let process = &mut after.processes[index];
        let run = process.run;
        let (is_idle, answered) = (process.is_idle(), process.answered);
        process.cancel = false;
        for (number, operation) in after.operations.iter_mut().enumerate() {
            if !operation.is_open() || !operation.is_made {
                continue;
            }
            match (answered & 1 << number != 0, self.rules.cancel) {
                (true, CancelRule::SettlesWhenBusy) if !is_idle => operation.settled = Some(Settled::Cancel),
                (true, CancelRule::SettlesWhenIdle) if is_idle => operation.settled = Some(Settled::Cancel),
                (true, CancelRule::MarksEnded) if is_idle => operation.is_ended = true,
                (false, _) if is_idle && !operation.is_ended => match self.rules.passed {
                    PassedRule::EachConnection => operation.passed |= 1 << index,
                    PassedRule::EachLaterRun if operation.run < run => operation.passed |= 1 << run,
                    PassedRule::EachLaterRun => {}
                },
                _ => {}
            }
        }
        if after.processes[index].is_ending {
            self.disconnect(&mut after, index);
        }
        next.push((Step::CancelHandled { process: index, is_idle }, after));
    }

    /// What a process reports when it is configured.
    pub(super) fn find_reports(&self, world: &mut World, process: usize) {
        let run = world.processes[process].run;
        for number in 0..world.operations.len() {
            let operation = &world.operations[number];
            let is_left = !operation.is_made && !world.processes[operation.process].is_alive;
            let is_passed = operation.is_made && operation.passed.count_ones() >= 2;
            let is_named = operation.named.is_some_and(|named| named < run);
            if operation.is_unknown || is_left || is_passed || is_named {
                let is_early = is_passed && !is_named && run - operation.run < 3;
                if self.claim(world, process, number) {
                    world.operations[number].is_early |= is_early;
                }
            }
        }
    }

    /// What a process reports when the engine creates a URN.
    fn find_lost(&self, world: &mut World, process: usize, urn: usize) {
        for number in 0..world.operations.len() {
            let operation = &world.operations[number];
            let is_named = operation.is_ended && self.rules.create == CreateRule::NamesEnded;
            if operation.urn == urn && operation.is_made && !is_named {
                self.claim(world, process, number);
            }
        }
    }

    /// Notes that the process reports an operation, unless it is settled or shown.
    fn claim(&self, world: &mut World, process: usize, number: usize) -> bool {
        let operation = &mut world.operations[number];
        let is_claimed = operation.claim.is_some_and(|holder| world.processes[holder].is_alive);
        let is_shown = operation.is_shown && self.rules.reports != ReportRule::NotRecorded;
        if !operation.is_open() || is_shown || is_claimed {
            return false;
        }
        if matches!(self.rules.reports, ReportRule::ClaimedBefore | ReportRule::ClaimedForLife) {
            operation.claim = Some(process);
        }
        world.processes[process].reports |= 1 << number;
        true
    }

    /// The connection is closed. Calls in progress go on, and reports are dropped.
    pub(super) fn disconnect(&self, world: &mut World, index: usize) {
        let process = &mut world.processes[index];
        if self.rules.reports == ReportRule::ClaimedBefore {
            for (number, operation) in world.operations.iter_mut().enumerate() {
                let is_pending = process.reports & 1 << number != 0;
                operation.claim = operation.claim.filter(|holder| *holder != index || !is_pending);
            }
        }
        process.is_connected = false;
        process.is_configured = false;
        process.cancel = false;
        process.is_ending = false;
        process.answered = 0;
        process.reports = 0;
    }

    fn report_steps(&self, world: &World, index: usize, next: &mut Vec<(Step, World)>) {
        let process = &world.processes[index];
        if let Some(operation) = process.delivered {
            let mut after = world.clone();
            after.operations[operation].is_shown = true;
            after.operations[operation].claim = None;
            after.processes[index].delivered = None;
            next.push((Step::ShownWritten { process: index, operation }, after));
        } else if process.reports != 0 && process.is_connected {
            let operation = process.reports.trailing_zeros() as usize;
            let mut after = world.clone();
            after.processes[index].reports &= !(1 << operation);
            after.processes[index].delivered = Some(operation);
            after.operations[operation].deliveries += 1;
            after.operations[operation].is_false_alarm |= world.is_saved(operation);
            next.push((Step::ReportDelivered { process: index, operation }, after));
        }
    }
}

/// The process dies. The engine's calls fail, except those whose answer it has.
fn kill(world: &World, index: usize, next: &mut Vec<(Step, World)>) {
    let process = &world.processes[index];
    let mut after = world.clone();
    after.budget.kills -= 1;
    after.last_change = world.engine.run;
    if let Some(operation) = process.delivered {
        after.operations[operation].deaths += 1;
    }
    for operation in &mut after.operations {
        operation.claim = operation.claim.filter(|holder| *holder != index);
    }
    after.processes[index] = Process { slot: process.slot, ..Process::default() };
    let mut has_answers = false;
    if process.is_connected && world.engine.is_running {
        after.engine.is_stopping = true;
        for (urn, call) in process.calls.iter().enumerate() {
            if *call != Call::None && after.engine.tasks[urn] == Task::Waiting {
                after.engine.tasks[urn] = Task::Done;
            }
        }
        let is_answered = |operation: u8| process.answered & 1 << operation != 0;
        let mut lost = after.clone();
        for task in &mut lost.engine.tasks {
            if matches!(*task, Task::Created(operation) if is_answered(operation)) {
                *task = Task::Done;
                has_answers = true;
            }
        }
        if has_answers {
            next.push((Step::ProcessKilled { process: index, answers_are_lost: true }, lost));
        }
    }
    next.push((Step::ProcessKilled { process: index, answers_are_lost: false }, after));
}

impl World {
    /// Sends an answer, if the connection is still there.
    fn answer(&mut self, process: usize, urn: usize, answer: Task) {
        self.processes[process].calls[urn] = Call::None;
        if self.processes[process].is_connected {
            self.engine.tasks[urn] = answer;
        }
    }

    fn write_made(&mut self, operation: u8) {
        self.last_change = self.engine.run;
        let operation = &mut self.operations[usize::from(operation)];
        operation.is_begun = true;
        operation.is_made = true;
    }
}

impl Operation {
    fn new(urn: usize, process: usize, run: u8, is_replacement: bool) -> Self {
        Self {
            urn,
            process,
            run,
            is_replacement,
            is_begun: false,
            is_made: false,
            is_unknown: false,
            is_ended: false,
            is_shown: false,
            named: None,
            claim: None,
            passed: 0,
            settled: None,
            object: Object::Never,
            deliveries: 0,
            deaths: 0,
            is_early: false,
            is_false_alarm: false,
        }
    }
}
