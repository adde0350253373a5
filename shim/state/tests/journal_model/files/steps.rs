//! The steps of processes and readers, one for each system call that others can notice.

use std::collections::BTreeSet;

use super::{
    CompactionRule, CreationRule, Entry, FailedAppendRule, Fault, File, FileNumber, Files, Listing, Number,
    OrderRule, Phase, Process, Reader, ReaderRule, RotationRule, Sight, Step, VictimRule, Work, World,
    open_of,
};

impl Files {
    pub(super) fn process_steps(&self, world: &World, next: &mut Vec<(Step, World)>) {
        let alive = world.processes.iter().filter(|process| process.is_alive).count();
        if world.budget.processes > 0 && alive < 2 {
            let mut after = world.clone();
            after.budget.processes -= 1;
            after.processes.push(Process { is_alive: true, ..Process::default() });
            next.push((Step::ProcessStarts { process: world.processes.len() }, after));
        }
        for (index, process) in world.processes.iter().enumerate().filter(|(_, process)| process.is_alive) {
            self.own_file_steps(world, index, next);
            match &process.work {
                Work::None => {
                    self.compaction_starts(world, index, next);
                    self.rotation_starts(world, index, next);
                }
                Work::Compacting { .. } | Work::Copying { .. } | Work::Removing { .. } => {
                    self.compaction_steps(world, index, next);
                }
                Work::Rotating { .. } | Work::Rotated { .. } => self.rotation_steps(world, index, next),
            }
            if world.budget.kills > 0 {
                kill(world, index, next);
            }
        }
    }

    /// Creating the own file, and appending to it.
    fn own_file_steps(&self, world: &World, index: usize, next: &mut Vec<(Step, World)>) {
        let process = &world.processes[index];
        if let Some(file) = process.creating {
            let mut after = world.clone();
            let (is_linked, lock) = (world.files[file].is_linked, world.files[file].lock);
            after.processes[index].creating = None;
            // Another process has locked or removed it meanwhile: this one creates another file.
            if lock.is_none() && (is_linked || self.rules.creation == CreationRule::Trusts) {
                after.files[file].lock = Some(index);
                after.processes[index].own = Some(file);
            } else {
                after.sights.insert(Sight::CreationLost);
            }
            next.push((Step::FileLocked { process: index, file, is_linked }, after));
            return;
        }
        let Some(own) = process.own else {
            if world.budget.operations > 0 || world.budget.settled > 0 {
                let mut after = world.clone();
                let file = after.create(None);
                after.processes[index].creating = Some(file);
                next.push((Step::FileCreated { process: index, file }, after));
            }
            return;
        };
        if world.budget.operations > 0 {
            let mut after = world.clone();
            after.budget.operations -= 1;
            let operation = Number::try_from(world.begun.len()).expect("few operations");
            after.append(own, Entry::Begun(operation));
            after.begun.insert(operation);
            next.push((Step::BegunWritten { process: index, operation }, after));
        }
        if world.budget.settled > 0 {
            for operation in world.open() {
                let mut after = world.clone();
                after.budget.settled -= 1;
                after.append(own, Entry::Settled(operation));
                after.settled.insert(operation);
                if !world.files[own].entries.contains(&Entry::Begun(operation)) {
                    after.sights.insert(Sight::SettledElsewhere);
                }
                next.push((Step::SettledWritten { process: index, operation }, after));
            }
        }
        if world.budget.failed_appends > 0 {
            let mut after = world.clone();
            after.budget.failed_appends -= 1;
            after.files[own].is_torn = self.rules.failed_append == FailedAppendRule::Follows;
            next.push((Step::AppendFailed { process: index }, after));
        }
    }

    fn compaction_starts(&self, world: &World, index: usize, next: &mut Vec<(Step, World)>) {
        if world.budget.compactions == 0 || world.directory_lock.is_some() || self.is_being_listed(world) {
            return;
        }
        let is_own = |file| world.processes[index].own == Some(file);
        let is_victim = |&(number, file): &(FileNumber, &File)| match self.rules.victims {
            VictimRule::Unlocked => file.lock.is_none() && !file.is_damaged,
            VictimRule::All => !is_own(number),
        };
        let victims: Vec<FileNumber> = world.linked().filter(is_victim).map(|(number, _)| number).collect();
        if victims.is_empty() {
            return;
        }
        let mut after = world.clone();
        after.budget.compactions -= 1;
        after.directory_lock = Some(index);
        for victim in &victims {
            let file = &mut after.files[*victim];
            if file.lock.is_none() {
                file.lock = Some(index);
            }
            if file.is_torn {
                after.sights.insert(Sight::TornTailCompacted);
            }
        }
        let step = Step::CompactionStarts { process: index, victims: victims.len() };
        after.processes[index].work = Work::Compacting { victims };
        next.push((step, after));
    }

    fn compaction_steps(&self, world: &World, index: usize, next: &mut Vec<(Step, World)>) {
        let mut after = world.clone();
        let step = match world.processes[index].work.clone() {
            Work::Compacting { victims } => {
                let pending = self.copies(world, &victims);
                let target = after.create(Some(index));
                after.processes[index].work = match self.rules.order {
                    OrderRule::WritesFirst => Work::Copying { victims, target, pending },
                    OrderRule::RemovesFirst => {
                        victims.iter().for_each(|victim| after.files[*victim].remove());
                        Work::Copying { victims: Vec::new(), target, pending }
                    }
                };
                Step::TargetCreated { process: index, file: target }
            }
            Work::Copying { victims, target, mut pending } if !pending.is_empty() => {
                let entry = pending.remove(0);
                after.append(target, entry);
                after.processes[index].work = Work::Copying { victims, target, pending };
                Step::CopyWritten { process: index, entry }
            }
            Work::Copying { victims, target, .. } => {
                after.files[target].lock = None;
                after.processes[index].work = Work::Removing { victims };
                Step::CopiesComplete { process: index }
            }
            Work::Removing { victims } if !victims.is_empty() => {
                // The order of the names is that of the directory, which is any.
                for (position, file) in victims.iter().copied().enumerate() {
                    let mut removed = after.clone();
                    let is_others = removed.files[file].lock.is_some_and(|holder| holder != index);
                    if is_others {
                        removed.fault = Some(Fault::LiveFileRemoved);
                    }
                    removed.files[file].remove();
                    let mut rest = victims.clone();
                    rest.remove(position);
                    removed.processes[index].work = Work::Removing { victims: rest };
                    next.push((Step::FileRemoved { process: index, file }, removed));
                }
                return;
            }
            _ => {
                after.directory_lock = None;
                after.processes[index].work = Work::None;
                Step::CompactionEnds { process: index }
            }
        };
        next.push((step, after));
    }

    /// The entries that replace the victims.
    fn copies(&self, world: &World, victims: &[FileNumber]) -> Vec<Entry> {
        let all: BTreeSet<Entry> = world.linked().flat_map(|(_, file)| file.readable()).copied().collect();
        let of = |number: &FileNumber| world.files[*number].readable().iter().copied();
        let mine: BTreeSet<Entry> = victims.iter().flat_map(of).collect();
        let others = world.linked().filter(|(number, _)| !victims.contains(number));
        let elsewhere: BTreeSet<Entry> = others.flat_map(|(_, file)| file.readable()).copied().collect();
        let is_copied = |entry: &&Entry| match (**entry, self.rules.compaction) {
            (Entry::Begun(number), _) => !all.contains(&Entry::Settled(number)),
            (Entry::Settled(_), CompactionRule::Open) => false,
            (Entry::Settled(number), CompactionRule::OpenAndSettledElsewhere) => {
                elsewhere.contains(&Entry::Begun(number))
            }
            (Entry::Settled(number), CompactionRule::OpenAndSettled) => all.contains(&Entry::Begun(number)),
        };
        mine.iter().filter(is_copied).copied().collect()
    }

    fn rotation_starts(&self, world: &World, index: usize, next: &mut Vec<(Step, World)>) {
        let Some(own) = world.processes[index].own else { return };
        if world.budget.rotations == 0 || world.files[own].entries.is_empty() {
            return;
        }
        let mut after = world.clone();
        after.budget.rotations -= 1;
        let target = after.create(Some(index));
        // Copies are one write here: that one can be cut short is explored with compaction.
        after.files[target].entries = self.copies(world, &[own]);
        after.processes[index].work = Work::Rotating { target, copied: world.files[own].entries.len() };
        next.push((Step::RotationStarts { process: index, file: target }, after));
    }

    fn rotation_steps(&self, world: &World, index: usize, next: &mut Vec<(Step, World)>) {
        let mut after = world.clone();
        let step = match world.processes[index].work {
            Work::Rotating { target, copied } => {
                let Some(own) = world.processes[index].own else { return };
                if self.rules.rotation == RotationRule::CopiesAll {
                    let later = world.files[own].entries[copied..].to_vec();
                    after.files[target].entries.extend(later);
                }
                after.processes[index].own = Some(target);
                after.processes[index].work = Work::Rotated { old: own };
                Step::Rotated { process: index, file: target }
            }
            Work::Rotated { old } if !self.is_being_listed(world) => {
                after.files[old].remove();
                after.processes[index].work = Work::None;
                Step::FileRemoved { process: index, file: old }
            }
            _ => return,
        };
        next.push((step, after));
    }

    /// Whether a reader holds the lock of the directory.
    fn is_being_listed(&self, world: &World) -> bool {
        let is_listing =
            world.reader.as_ref().is_some_and(|reader| matches!(reader.phase, Phase::Listing { .. }));
        self.rules.listing == Listing::OneByOneLocked && is_listing
    }

    pub(super) fn reader_steps(&self, world: &World, next: &mut Vec<(Step, World)>) {
        let Some(reader) = &world.reader else {
            if world.budget.reads > 0 {
                let mut after = world.clone();
                after.budget.reads -= 1;
                after.reader = Some(Reader {
                    open_at_start: world.open(),
                    settled_at_start: world.settled.clone(),
                    phase: Phase::Opening,
                    names: Vec::new(),
                    entries: BTreeSet::new(),
                });
                next.push((Step::ReaderStarts, after));
            }
            return;
        };
        let mut after = world.clone();
        let reading = after.reader.as_mut().expect("it is reading");
        match reader.phase {
            Phase::Opening => {
                if self.rules.listing != Listing::OneByOneLocked || world.directory_lock.is_none() {
                    // Newest first: a name that is added is where the reader has been.
                    reading.phase = Phase::Listing { position: world.files.len() };
                    next.push((Step::DirectoryOpened, after));
                }
                return;
            }
            Phase::Listing { position } => {
                self.name_steps(world, position, next);
                return;
            }
            Phase::Reading => {}
        }
        let step = match reader.names.first().copied() {
            None => {
                let open = open_of(&reader.entries);
                let missed =
                    reader.open_at_start.intersection(&world.open()).any(|number| !open.contains(number));
                if missed {
                    after.fault = Some(Fault::ReaderMissed);
                } else if open.iter().any(|number| reader.settled_at_start.contains(number)) {
                    after.fault = Some(Fault::ReaderInvented);
                }
                after.reader = None;
                Step::ReaderEnds
            }
            Some(file) if world.files[file].is_linked || self.rules.reader == ReaderRule::Ignores => {
                reading.names.remove(0);
                if world.files[file].is_linked {
                    reading.entries.extend(world.files[file].readable());
                }
                Step::FileRead { file }
            }
            Some(file) => {
                reading.entries.clear();
                reading.names.clear();
                reading.phase = Phase::Opening;
                after.sights.insert(Sight::ReaderStartedAgain);
                Step::FileGone { file }
            }
        };
        next.push((step, after));
    }

    fn name_steps(&self, world: &World, position: usize, next: &mut Vec<(Step, World)>) {
        let mut after = world.clone();
        let Some(reading) = after.reader.as_mut() else { return };
        let step = if self.rules.listing == Listing::AtOnce {
            reading.names = world.linked().map(|(number, _)| number).collect();
            reading.phase = Phase::Reading;
            Step::NamesRead { files: reading.names.len() }
        } else if let Some(position) = position.checked_sub(1) {
            if world.files[position].is_linked {
                reading.names.push(position);
            }
            reading.phase = Phase::Listing { position };
            Step::NameRead { position }
        } else {
            reading.phase = Phase::Reading;
            Step::NamesRead { files: reading.names.len() }
        };
        next.push((step, after));
    }
}

/// The process dies, perhaps in the middle of a write. Its locks are released.
fn kill(world: &World, index: usize, next: &mut Vec<(Step, World)>) {
    let mut after = world.clone();
    after.budget.kills -= 1;
    let process = std::mem::take(&mut after.processes[index]);
    if after.directory_lock == Some(index) {
        after.directory_lock = None;
    }
    for file in &mut after.files {
        file.lock = file.lock.filter(|holder| *holder != index);
    }
    let writing = match &process.work {
        Work::Copying { target, pending, .. } if !pending.is_empty() => Some(*target),
        _ => process.own,
    };
    match &process.work {
        Work::None => {}
        Work::Compacting { .. } | Work::Copying { .. } | Work::Removing { .. } => {
            after.sights.insert(Sight::CompactionKilled);
        }
        Work::Rotating { .. } | Work::Rotated { .. } => {
            after.sights.insert(Sight::RotationKilled);
        }
    }
    if let Some(writing) = writing {
        let mut torn = after.clone();
        torn.files[writing].is_torn = true;
        next.push((Step::Killed { process: index, is_torn: true }, torn));
    }
    next.push((Step::Killed { process: index, is_torn: false }, after));
}

impl World {
    fn create(&mut self, lock: Option<usize>) -> FileNumber {
        self.files.push(File { is_linked: true, lock, ..File::default() });
        self.files.len() - 1
    }

    fn append(&mut self, file: FileNumber, entry: Entry) {
        let file = &mut self.files[file];
        file.is_damaged |= file.is_torn;
        file.entries.push(entry);
        let is_twice = |(_, file): (FileNumber, &File)| file.entries.contains(&entry);
        if self.linked().filter(|file| is_twice(*file)).count() > 1 {
            self.sights.insert(Sight::OperationTwice);
        }
    }
}

impl File {
    /// Removes the name. A process that has it open can still write to it, but no reader finds that.
    fn remove(&mut self) {
        *self = Self { lock: self.lock, ..Self::default() };
    }
}
