//! What is asked of both bridges, and what came of it.

use std::sync::{Mutex, PoisonError};

use serde_json::Value as Json;

use crate::bridge::Pair;
use crate::call::Call;
use crate::compare::{Subject, differences};
use crate::rules::Finding;

/// Everything that was asked in a run.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    asked: Mutex<Asked>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// How many calls were made to both.
    pub(crate) calls: usize,
    /// In what their answers differed.
    pub(crate) findings: Vec<Finding>,
}

impl Questions {
    /// Makes a call to both, and returns our answer.
    pub(crate) async fn ask(&self, pair: &Pair, what: &str, call: Call) -> Json {
        let name = call.name();
        let (ours, theirs) = pair.ask(call).await;
        self.compare(what, name, &ours, &theirs);
        ours
    }

    /// Makes a call to both, and returns our answer if both gave one: if not, there is nothing more to compare.
    pub(crate) async fn ask_both(&self, pair: &Pair, what: &str, call: Call) -> Option<Json> {
        let name = call.name();
        let (ours, theirs) = pair.ask(call).await;
        self.compare(what, name, &ours, &theirs);
        let answered = |answer: &Json| answer.get("error").is_none();
        (answered(&ours) && answered(&theirs)).then_some(ours)
    }

    /// Compares two answers.
    pub(crate) fn compare(&self, what: &str, call: &'static str, ours: &Json, theirs: &Json) {
        self.compare_about(&Subject::default(), what, call, (ours, theirs));
    }

    /// Compares two answers about something.
    pub(crate) fn compare_about(
        &self,
        subject: &Subject,
        what: &str,
        call: &'static str,
        (ours, theirs): (&Json, &Json),
    ) {
        let found = differences(ours, theirs, subject).into_iter().map(|difference| Finding {
            question: what.to_owned(),
            call,
            difference,
        });
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.calls += 1;
        asked.findings.extend(found);
    }

    /// Ends the asking.
    pub(crate) fn asked(self) -> Asked {
        self.asked.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
