//! Leases: one holder at a time, and no writes after losing it.

use std::sync::Arc;
use std::time::Duration;

use super::over_each_store;
use super::world::{World, add, bytes_of, commit, commit_one};
use crate::store::{Batch, Claim, Committed, Fence, HeldLease, Lease, Refusal, Store};

over_each_store! {
    a_lease_has_one_holder_until_its_time_is_over,
    a_lease_is_taken_over_before_its_time_only_from_the_holder_that_was_meant,
    who_slept_until_another_one_took_over_cannot_write,
    a_lease_whose_time_is_over_still_serves_if_nobody_took_it,
    a_lease_is_given_back_with_the_change_that_it_was_for,
    a_claim_that_is_refused_changes_nothing,
}

const HOUR: Duration = Duration::from_secs(3600);

fn claim(holder: &str, time: Duration) -> Claim {
    Claim { name: "object 1".to_owned(), holder: holder.to_owned(), time, over: None }
}

async fn take(store: &Arc<dyn Store>, claim: Claim) -> Result<Lease, Refusal> {
    match store.commit(Batch { claim: Some(claim), ..Batch::default() }).await.expect("an answer") {
        Committed::Done { lease, .. } => Ok(lease.expect("the lease that was taken")),
        Committed::Refused(refusal) => Err(refusal),
    }
}

/// Whether the lease was still held.
async fn renew(store: &Arc<dyn Store>, lease: &Lease) -> bool {
    let renewal = Some((lease.clone(), HOUR));
    let committed = store.commit(Batch { renewal, ..Batch::default() }).await.expect("an answer");
    assert!(committed == Committed::Refused(Refusal::Lost(lease.clone())) || is_done(&committed));
    is_done(&committed)
}

fn is_done(committed: &Committed) -> bool {
    matches!(committed, Committed::Done { .. })
}

async fn held(store: &Arc<dyn Store>) -> Option<HeldLease> {
    store.held("object 1").await.expect("an answer")
}

async fn a_lease_has_one_holder_until_its_time_is_over(world: &World) {
    let (ours, theirs) = (world.store().await, world.store().await);
    assert_eq!(held(&ours).await, None);
    let lease = take(&ours, claim("us", HOUR)).await.expect("taken");
    let ours_is_held = HeldLease { fence: lease.fence, holder: "us".to_owned(), is_over: false };
    assert_eq!(held(&theirs).await, Some(ours_is_held.clone()));
    assert_eq!(take(&theirs, claim("them", HOUR)).await, Err(Refusal::Held(ours_is_held)));
    world.let_leases_expire().await;
    assert!(held(&theirs).await.is_some_and(|held| held.is_over));
    let newer = take(&theirs, claim("them", HOUR)).await.expect("taken over");
    assert!(newer.fence > lease.fence, "{newer:?} after {lease:?}");
    assert!(!renew(&ours, &lease).await, "it is theirs now");
    assert!(renew(&theirs, &newer).await);
}

async fn a_lease_is_taken_over_before_its_time_only_from_the_holder_that_was_meant(world: &World) {
    let store = world.store().await;
    let lease = take(&store, claim("one", HOUR)).await.expect("taken");
    let wrong = Claim { over: Some(Fence(lease.fence.0 + 1)), ..claim("two", HOUR) };
    assert!(matches!(take(&store, wrong).await, Err(Refusal::Held(_))));
    let meant = Claim { over: Some(lease.fence), ..claim("two", HOUR) };
    let second = take(&store, meant.clone()).await.expect("taken over");
    assert!(second.fence > lease.fence);
    assert!(matches!(take(&store, meant).await, Err(Refusal::Held(_))), "who was meant has lost it already");
}

async fn who_slept_until_another_one_took_over_cannot_write(world: &World) {
    let (sleeper, other) = (world.store().await, world.store().await);
    let lease = take(&sleeper, claim("sleeper", HOUR)).await.expect("taken");
    world.let_leases_expire().await;
    let newer = take(&other, claim("other", HOUR)).await.expect("taken over");
    let write = |lease: &Lease, id| Batch { fences: vec![lease.clone()], ..Batch::of(add(id, b"x")) };
    let outcome = sleeper.commit(write(&lease, "a")).await.expect("an answer");
    assert_eq!(outcome, Committed::Refused(Refusal::Lost(lease.clone())));
    assert_eq!(bytes_of(&sleeper, "a").await, Vec::<Vec<u8>>::new());
    commit(&other, write(&newer, "b")).await;
    // Releasing a lost lease has no effect.
    commit(&sleeper, Batch { releases: vec![lease], ..Batch::default() }).await;
    assert!(held(&other).await.is_some_and(|held| held.fence == newer.fence));
}

async fn a_lease_whose_time_is_over_still_serves_if_nobody_took_it(world: &World) {
    let store = world.store().await;
    let lease = take(&store, claim("us", Duration::ZERO)).await.expect("taken");
    assert!(held(&store).await.is_some_and(|held| held.is_over));
    commit(&store, Batch { fences: vec![lease.clone()], ..Batch::of(add("a", b"x")) }).await;
    assert!(renew(&store, &lease).await);
    assert!(held(&store).await.is_some_and(|held| !held.is_over));
}

async fn a_lease_is_given_back_with_the_change_that_it_was_for(world: &World) {
    let store = world.store().await;
    let lease = take(&store, claim("us", HOUR)).await.expect("taken");
    let leases = vec![lease.clone()];
    commit(&store, Batch { fences: leases.clone(), releases: leases, ..Batch::of(add("a", b"x")) }).await;
    assert_eq!(held(&store).await, None);
    let outcome = store.commit(Batch { fences: vec![lease.clone()], ..Batch::of(add("b", b"x")) }).await;
    assert_eq!(outcome.expect("an answer"), Committed::Refused(Refusal::Lost(lease.clone())));
    let newer = take(&store, claim("us", HOUR)).await.expect("taken again");
    assert!(newer.fence > lease.fence, "a fence is not used again");
}

async fn a_claim_that_is_refused_changes_nothing(world: &World) {
    let store = world.store().await;
    take(&store, claim("one", HOUR)).await.expect("taken");
    let place = commit_one(&store, add("a", b"x")).await;
    let batch = Batch { claim: Some(claim("two", HOUR)), ..Batch::of(add("b", b"x")) };
    assert!(matches!(store.commit(batch).await, Ok(Committed::Refused(Refusal::Held(_)))));
    assert_eq!(bytes_of(&store, "b").await, Vec::<Vec<u8>>::new());
    assert!(place.is_some());
}
