//! Immutable values by key, which all who need the same one share.
//!
//! A value is built once for all who want it at the same time, and is freed with the last of them: the table itself holds
//! none.

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Values by key. There are few at a time, so they are searched in order.
pub(super) struct WeakTable<Key, Value>(Mutex<Vec<(Key, Slot<Value>)>>);

/// The value of one key. It is locked while the value is built.
type Slot<Value> = Arc<Mutex<Weak<Value>>>;

impl<Key: Clone + PartialEq, Value> WeakTable<Key, Value> {
    /// The value of a key, which is built if nothing holds it, or if it is not usable any more. Blocks while another thread
    /// builds it.
    pub(super) fn find_or_build(
        &self,
        key: &Key,
        is_usable: impl FnOnce(&Value) -> bool,
        build: impl FnOnce() -> Arc<Value>,
    ) -> Arc<Value> {
        match self.find_or_try_build(key, is_usable, || Ok::<_, Infallible>(build())) {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// The same for what may fail to be built, which is then tried again by the next who wants it.
    pub(super) fn find_or_try_build<Failure>(
        &self,
        key: &Key,
        is_usable: impl FnOnce(&Value) -> bool,
        build: impl FnOnce() -> Result<Arc<Value>, Failure>,
    ) -> Result<Arc<Value>, Failure> {
        let slot = self.slot(key);
        let mut value = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = value.upgrade().filter(|value| is_usable(value)) {
            return Ok(shared);
        }
        let built = build()?;
        *value = Arc::downgrade(&built);
        Ok(built)
    }

    fn slot(&self, key: &Key) -> Slot<Value> {
        let mut entries = self.entries();
        // A slot that only this holds is locked by nothing.
        let is_used = |slot: &Slot<Value>| {
            Arc::strong_count(slot) > 1
                || slot.lock().unwrap_or_else(PoisonError::into_inner).strong_count() > 0
        };
        entries.retain(|(_, slot)| is_used(slot));
        if let Some((_, slot)) = entries.iter().find(|(known, _)| known == key) {
            return Arc::clone(slot);
        }
        let slot = Slot::default();
        entries.push((key.clone(), Arc::clone(&slot)));
        slot
    }

    fn entries(&self) -> MutexGuard<'_, Vec<(Key, Slot<Value>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Key, Value> Default for WeakTable<Key, Value> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// Omits the values, which may be large.
impl<Key: fmt::Debug, Value> fmt::Debug for WeakTable<Key, Value> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        formatter.debug_list().entries(entries.iter().map(|(key, _)| key)).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn found(table: &WeakTable<&'static str, String>, key: &'static str) -> Arc<String> {
        table.find_or_build(&key, |_| true, || Arc::new(key.to_owned()))
    }

    #[test]
    fn a_value_is_shared_as_long_as_anything_holds_it() {
        let table = WeakTable::default();
        let (first, second, other) = (found(&table, "a"), found(&table, "a"), found(&table, "b"));
        assert!(Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &other));
        let freed = Arc::downgrade(&first);
        drop((first, second));
        assert!(freed.upgrade().is_none(), "the table holds nothing");
        found(&table, "b");
        assert_eq!(table.entries().len(), 1, "and remembers no key without a value");
    }

    #[test]
    fn those_who_want_a_value_at_the_same_time_wait_for_one_build() {
        const THREADS: usize = 8;
        let (table, built) = (WeakTable::<_, usize>::default(), AtomicUsize::new(0));
        let all_have_it = Barrier::new(THREADS);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let build = || Arc::new(built.fetch_add(1, Ordering::Relaxed));
                    let value = table.find_or_build(&"a", |_| true, build);
                    all_have_it.wait();
                    assert_eq!(*value, 0);
                });
            }
        });
        assert_eq!(built.into_inner(), 1);
    }

    #[test]
    fn what_cannot_be_built_is_tried_again_and_what_is_unusable_is_replaced() {
        let table = WeakTable::default();
        table.find_or_try_build(&"a", |_| true, || Err(())).expect_err("it is not built");
        let first = found(&table, "a");
        let second = table.find_or_build(&"a", |_| false, || Arc::new("new".to_owned()));
        assert_eq!((first.as_str(), second.as_str()), ("a", "new"));
        assert!(Arc::ptr_eq(&second, &found(&table, "a")));
    }
}
