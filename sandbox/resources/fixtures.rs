//! Resources for tests only.

mod bucket;
pub(crate) mod faulty;
mod firewall;
mod job;
mod leak;
mod memo;
pub(crate) mod note_list;
mod odd;

use super::secret::Secret;
use crate::misbehaviour::SchemaAnswer;
use crate::resource::Resource;

/// All; those with unusual ids and numbers only with `odd`. Another version's `schema` replaces some.
pub(crate) fn all(odd: bool, schema: SchemaAnswer) -> Vec<Box<dyn Resource>> {
    let usual: [Box<dyn Resource>; 3] =
        [Box::new(bucket::Bucket), Box::new(faulty::Faulty), Box::new(firewall::Firewall)];
    let odds = odd::ALL.into_iter().map(|odd| Box::new(odd) as Box<dyn Resource>);
    let former: [Box<dyn Resource>; 2] = [Box::new(leak::Leak), Box::new(memo::Memo)];
    let jobs = job::ALL.into_iter().map(|job| Box::new(job) as Box<dyn Resource>);
    let newer: Option<Box<dyn Resource>> =
        (schema == SchemaAnswer::Newer).then(|| Box::new(Secret::NEWER) as Box<dyn Resource>);
    usual.into_iter().chain(jobs).chain(odds.chain(former).filter(|_| odd)).chain(newer).collect()
}
