//! The faults of a run: which, when, and what each does.

use std::time::Duration;

use super::{Broken, Scenario, Started};
use crate::system::{self, Death, Disk, Moment};
use crate::world;

#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// A party dies at a step.
    Dies(&'static str, Death),
    /// Somebody is killed at a moment.
    Killed(Duration),
    /// A connection is cut.
    Cut(Duration),
    Disk(Duration, Disk, Duration),
    /// The clock of the day jumps.
    Clock(Duration, i64),
    /// The provider needs long from then on.
    Hangs(Duration),
    /// All processes end, and files are as a disk has them.
    PowerLoss(Duration),
    /// The database's server stops for a time.
    Database(Duration, Duration),
}

impl Fault {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Dies("plugin", _) => "plugins that die at a step",
            Self::Dies("engine", _) => "engines that die at a step",
            Self::Dies(..) => "providers that die at a step",
            Self::Killed(_) => "kills at a moment",
            Self::Cut(_) => "cut connections",
            Self::Disk(_, Disk::Full, _) => "full disks",
            Self::Disk(_, Disk::NoSync, _) => "disks that cannot synchronise",
            Self::Disk(..) => "broken disks",
            Self::Clock(..) => "jumps of the clock",
            Self::Hangs(_) => "providers that need long",
            Self::PowerLoss(_) => "losses of power",
            Self::Database(..) => "stops of the database's server",
        }
    }
}

/// What happens at a moment of a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Timed {
    Kill,
    Cut,
    Slow,
    Clock(i64),
    Disk(Disk),
    PowerLoss,
    Database(Duration),
}

impl Scenario {
    /// Chooses a fault of a run that takes `slack` longer than an undisturbed one.
    pub(super) fn fault(&mut self, slack: Duration) -> Fault {
        let moment = {
            let micros = (self.usual + slack).as_micros() as u64;
            Duration::from_micros(self.dice.below(micros.max(1)))
        };
        let steps = |name: &str, scenario: &mut Self| {
            let most = scenario.steps.get(name).copied().unwrap_or(300) * 5 / 4;
            let moment = [Moment::Before, Moment::Amid, Moment::After][scenario.dice.index(3)];
            Death { step: 1 + scenario.dice.below(most.max(1)), moment }
        };
        if self.place.served && self.dice.one_in(4) {
            return Fault::Database(moment, Duration::from_millis(self.dice.below(40_000)));
        }
        match self.dice.below(13) {
            0..=2 => Fault::Dies("plugin", steps("plugin", self)),
            3 | 4 => Fault::Dies("engine", steps("engine", self)),
            5 | 6 => Fault::Dies("provider", steps("provider", self)),
            7 => Fault::Killed(moment),
            8 => Fault::Cut(moment),
            9 => {
                let disk = [Disk::Full, Disk::NoSync, Disk::Broken][self.dice.index(3)];
                let lasts = Duration::from_millis(self.dice.below(40));
                Fault::Disk(moment, disk, lasts)
            }
            10 => Fault::PowerLoss(moment),
            11 => {
                let hours = i64::try_from(self.dice.below(48)).expect("hours") - 24;
                // A lease that a clock ahead gave to a process is over when that has ended, which shows nowhere here: all parties
                // are of one process.
                let hours = if self.place.legacy { hours.min(0) } else { hours };
                Fault::Clock(moment, hours * 3_600_000_000_000)
            }
            _ => Fault::Hangs(moment),
        }
    }

    /// Lets a fault happen.
    pub(super) fn happen(&mut self, fault: Timed, running: &[Started]) -> Result<(), Broken> {
        world::note(|| format!("now: {fault:?}"));
        match fault {
            Timed::Kill => {
                let who = &running[self.dice.index(running.len())];
                match self.dice.below(3) {
                    0 => who.plugin.kill(),
                    1 => who.engine.kill(),
                    _ => {
                        who.plugin.kill();
                        who.engine.kill();
                    }
                }
            }
            Timed::Cut => world::cut_one(),
            Timed::Slow => self.cloud.with(|cloud| cloud.manners.slow = 20_000),
            Timed::Clock(ahead) => self.parties.change("plugin", |machine| machine.ahead = ahead),
            Timed::Disk(disk) => self.parties.change("plugin", |machine| machine.disk = disk),
            Timed::Database(lasts) => {
                self.server.with(|server| server.stopped_until = system::now() + lasts);
            }
            Timed::PowerLoss => {
                self.parties.kill_all();
                // Files of operations are not synchronised, unless the settings say so; the state store's database is, but for
                // what is settled.
                self.may_have_lost |= !self.place.durable && !self.place.served && !self.place.legacy;
                self.may_report |= self.place.legacy;
                let home = self.place.directory.join("home");
                if home.exists() {
                    system::lose_power(&home, &mut self.dice).map_err(|error| error.to_string())?;
                }
            }
        }
        Ok(())
    }
}
