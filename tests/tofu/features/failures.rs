//! What becomes of an operation that fails, and of a provider that breaks the rules.

use serde_json::{Value as Json, json};

use super::changes::contains;
use super::life::{Life, Seen, Side};
use super::outcome::{Fact, Grade, Outcome};
use super::program::{Program, program};
use super::{Feature, scenario};
use crate::kinds::Provider;
use crate::steps::Decision;

pub(crate) const FEATURES: &[Feature] = &[
    scenario!("a create that fails half-way", "an existing object must not be forgotten", half_created),
    scenario!("an update that fails half-way", "the state says what exists", half_updated),
    scenario!("a delete that fails half-way", "the next attempt goes on where it ended", half_deleted),
    scenario!("a provider that ends while it creates", "the outcome is unknown", dies),
    scenario!(
        "the plan of an end (`plan_destroy`)",
        "a provider can refuse or warn before it is done",
        planned_end
    ),
    scenario!("a plan that breaks Terraform's rules", "its responses cannot be relied on", invalid_plan),
    scenario!("a result that is not what was planned", "you agreed to another change", inconsistent_result),
    scenario!("another plan at the update than in the preview", "the same", inconsistent_final_plan),
    scenario!("something unknown in the result of a create", "it could never be used", unknown_result),
    scenario!("a delete that leaves the object there", "it must not be forgotten", leftover),
    scenario!("a warning of the provider, in the preview", "you have to read it", warned),
    scenario!("the place of a provider's error", "you have to find it", place_of_an_error),
];

fn flaky(life: &Life, parts: &[&str]) -> Program {
    program("conformance_flaky", json!({"name": life.name, "parts": parts}))
}

async fn half_created(life: &mut Life) -> Outcome {
    let all = flaky(life, &["one", "two", "three", "four"]);
    life.trouble(&json!({"create": "half", "once": true}));
    let failed = life.up(&all).await;
    let (is_stored, is_tainted) = (life.is_stored(), life.is_tainted());
    let next = life.up(&all).await;
    let left = life.objects("flaky").len();
    let mut facts = vec![Fact::Is(match (failed.is_good(), is_stored, is_tainted) {
        (true, ..) => "nothing failed",
        (_, true, true) => "kept, as tainted",
        (_, true, false) => "kept",
        (_, false, _) => "forgotten",
    })];
    facts.extend(next_time(&next));
    facts.push(Fact::Counted("objects in the end", left));
    Outcome::whole_if(is_stored && is_tainted && next.replaces() && left == 1, facts)
}

/// What the next run comes to.
fn next_time(next: &Seen) -> Vec<Fact> {
    vec![Fact::Then("then", next.facts())]
}

async fn half_updated(life: &mut Life) -> Outcome {
    let before = flaky(life, &["one", "two"]);
    life.up(&before).await;
    let after = flaky(life, &["one", "two", "three", "four", "five", "six", "seven", "eight"]);
    life.trouble(&json!({"update": "half", "once": true}));
    let failed = life.up(&after).await;
    let object = life.objects("flaky").first().cloned().unwrap_or_default();
    let same = life.state()["written"] == object["state"]["written"];
    let next = life.up(&after).await;
    let mut facts = vec![Fact::Is(match (failed.is_good(), same) {
        (true, _) => "nothing failed",
        (false, true) => "the state is what exists",
        (false, false) => "the state is the old one",
    })];
    facts.extend(next_time(&next));
    Outcome::whole_if(!failed.is_good() && same && next.is_good() && next.decision == Decision::Update, facts)
}

async fn half_deleted(life: &mut Life) -> Outcome {
    let all = flaky(life, &["part-a", "part-b", "part-c", "part-d"]);
    life.up(&all).await;
    life.trouble(&json!({"delete": "half", "once": true}));
    let failed = life.remove().await;
    life.asked();
    let next = life.remove().await;
    let asked = life.asked();
    let last = asked.iter().rfind(|asked| asked.method == "ApplyResourceChange");
    let goes_on = last.is_some_and(|asked| !contains(&asked.message, "part-d"));
    let left = life.objects("flaky").len();
    let mut facts = vec![Fact::Is(match (failed.is_good(), goes_on) {
        (true, _) => "nothing failed",
        (false, true) => "the next attempt begins with what was left",
        (false, false) => "the next attempt begins with what was there at first",
    })];
    facts.extend(next.refusal());
    Outcome::whole_if(!failed.is_good() && goes_on && next.is_good() && left == 0, facts)
}

async fn dies(life: &mut Life) -> Outcome {
    if let Err(text) = life.start(Provider::Conformance, &[]).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    life.trouble(&json!({"create": "exit"}));
    let failed = life.up(&flaky(life, &["one"])).await;
    let Some((_, said)) = &failed.refused else { return Outcome::missing(failed.facts()) };
    let how = said.contains("exit status");
    let told =
        Fact::Is(if how { "says how the process ended" } else { "does not say how the process ended" });
    if life.side == Side::OpenTofu {
        return Outcome::new(Grade::Partly, [told]);
    }
    // Engines take these codes for “may have happened”.
    let code = said.split(':').next().unwrap_or_default();
    let may_have_happened = ["Unknown", "Internal", "DataLoss"].contains(&code);
    let engine = Fact::Is(if may_have_happened {
        "the engine's status: it may have happened"
    } else {
        "the engine's status: nothing has happened"
    });
    let grade = match (may_have_happened, how) {
        (true, true) => Grade::Whole,
        (true, false) => Grade::Partly,
        (false, _) => Grade::Missing,
    };
    Outcome::new(grade, [told, engine])
}

fn planner(life: &Life, how: &Json) -> Program {
    let mut body = json!({"name": life.name, "value": "a"});
    for (name, value) in how.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    program("conformance_planner", body)
}

async fn planned_end(life: &mut Life) -> Outcome {
    let all = planner(life, &json!({"on_destroy": "error"}));
    life.up(&all).await;
    let seen = life.remove().await;
    let is_there = !life.objects("planner").is_empty();
    let mut facts: Vec<Fact> = seen.refusal().into_iter().collect();
    facts.push(Fact::Is(if is_there { "the object is there" } else { "the object is gone" }));
    Outcome::whole_if(!seen.is_good() && is_there, facts)
}

async fn invalid_plan(life: &mut Life) -> Outcome {
    let seen = life.up(&planner(life, &json!({"on_plan": "overrule"}))).await;
    let is_there = !life.objects("planner").is_empty();
    let mut facts = seen.facts();
    facts.push(Fact::Is(if is_there { "the object was made" } else { "nothing was made" }));
    Outcome::whole_if(!seen.is_good() && !is_there, facts)
}

async fn inconsistent_result(life: &mut Life) -> Outcome {
    let seen = life.up(&planner(life, &json!({"on_apply": "contradict"}))).await;
    let mut facts = seen.facts();
    facts.push(Fact::Is(if life.is_stored() { "the object is kept" } else { "the object is forgotten" }));
    Outcome::whole_if(!seen.is_good() && life.is_stored(), facts)
}

async fn faulty(life: &mut Life, mode: &str, during: &str) -> Result<Seen, String> {
    life.start(Provider::Sandbox, &[]).await?;
    Ok(life.up(&program("sandbox_faulty", json!({"mode": mode, "during": during}))).await)
}

async fn inconsistent_final_plan(life: &mut Life) -> Outcome {
    match faulty(life, "fickle", "plan").await {
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
        Ok(seen) => Outcome::whole_if(!seen.is_good() && !life.is_stored(), seen.facts()),
    }
}

async fn unknown_result(life: &mut Life) -> Outcome {
    match faulty(life, "unknown", "create").await {
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
        Ok(seen) => {
            let mut facts = seen.facts();
            facts.push(Fact::Is(if life.is_stored() {
                "the object is kept"
            } else {
                "the object is forgotten"
            }));
            Outcome::whole_if(!seen.is_good() && life.is_stored(), facts)
        }
    }
}

async fn leftover(life: &mut Life) -> Outcome {
    match faulty(life, "leftover", "delete").await {
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
        Ok(_) => {
            let seen = life.remove().await;
            let mut facts = seen.facts();
            facts.push(Fact::Is(if life.is_stored() {
                "the object is kept"
            } else {
                "the object is forgotten"
            }));
            Outcome::whole_if(!seen.is_good() && life.is_stored(), facts)
        }
    }
}

async fn warned(life: &mut Life) -> Outcome {
    let seen = life.preview(&planner(life, &json!({"on_plan": "warn"}))).await;
    let mut warnings = seen.warnings.clone();
    warnings.retain(|warning| warning.contains("Doubtful plan"));
    let facts = [Fact::Counted("warnings", warnings.len())];
    Outcome::whole_if(seen.is_good() && !warnings.is_empty(), facts)
}

async fn place_of_an_error(life: &mut Life) -> Outcome {
    let seen =
        life.preview(&program("conformance_record", json!({"name": life.name, "title": "invalid"}))).await;
    let text = seen.refused.as_ref().map_or("", |(_, text)| text).to_owned();
    // OpenTofu shows the line of the program, which JSON's diagnostics carry apart from the text.
    let named = text.contains("title") || life.side == Side::OpenTofu;
    Outcome::whole_if(!seen.is_good() && named, seen.facts())
}
