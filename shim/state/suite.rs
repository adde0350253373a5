//! Tests that every store must pass.
//!
//! A test has a [`World`]: a database of its own that it can open several times, and damage.

mod damage;
mod encrypted_stores;
mod intents;
mod leases;
mod records;
mod rotation;
mod stack_records;
mod tombstones;
mod world;

pub(super) use world::{Server, World, add, bytes_of, commit_one, key, saved};

/// Instantiates tests for each store.
macro_rules! over_each_store {
    ($($test:ident),+ $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    super::$test(&crate::suite::World::sqlite()).await;
                }
            )+
        }
        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    if let Some(world) = crate::suite::World::postgres().await {
                        super::$test(&world).await;
                    }
                }
            )+
        }
    };
}

use over_each_store;
