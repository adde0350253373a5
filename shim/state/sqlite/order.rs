//! The order of keys: by which the records of a key are found, and by which it is certain that there are no others.
//!
//! SQLite does not notice every fault of a file. A flipped byte in an index may hide an entry, and a search then finds
//! nothing where there is something. So this index is a table of our own: each entry has a digest, its *link*, of itself
//! and of the entry that follows. Whoever looks for a key reads the entry before it, those of the key, and the one after;
//! if their links fit, nothing is hidden between them. That takes the same few reads in a store of any size, where checking
//! the structure of the whole file takes seconds. A new entry and the link that has to change are mostly on one page, so
//! that a change hardly costs more than it would with an index of SQLite's.
//!
//! A link that does not fit is never put right by a later change: what is hidden there would be gone without a word.

use rusqlite::{Connection, OptionalExtension as _, Row};
use sha2::{Digest as _, Sha256};

use super::super::store::{Kind, RecordNumber};

/// An entry: the hash of a record's key, and its number, the larger the later. The first one of all is empty.
type RecordRef = Vec<u8>;

/// What is no link of anything: beside it something is hidden, or may be.
const BROKEN: [u8; 16] = [0; 16];

/// The length of a key's hash, in bytes.
const HASH: usize = 32;

/// Where in a place the number stands, as SQLite counts.
const NUMBER: i64 = HASH as i64 + 1;

/// Why the records of a key are not known.
const HIDDEN: &str = "entries in the order of keys do not follow each other, so that records may be missing";

/// Makes the table of a kind, with nothing in it.
pub(super) fn create(connection: &Connection, kind: Kind) -> rusqlite::Result<()> {
    let table = table(kind);
    connection.execute_batch(&format!(
        "CREATE TABLE {table} (place BLOB PRIMARY KEY, link BLOB NOT NULL) STRICT, WITHOUT ROWID"
    ))?;
    connection.execute(&format!("INSERT INTO {table} VALUES (x'', ?1)"), (link(kind, &[], None),))?;
    Ok(())
}

/// The numbers of a key's records, newest first. `None`: that is not known, because an entry may be hidden. To be called
/// within a transaction.
pub(super) fn numbers(
    connection: &Connection,
    kind: Kind,
    hash: &[u8; HASH],
) -> rusqlite::Result<Option<Vec<i64>>> {
    let Some(before) = before(connection, kind, hash)? else { return Ok(None) };
    let mut following = connection.prepare_cached(&format!(
        "SELECT place, link FROM {} WHERE place >= ?1 ORDER BY place",
        table(kind)
    ))?;
    let mut rows = following.query((hash,))?;
    let (mut last, mut numbers) = (before, Vec::new());
    loop {
        let next = rows.next()?.map(entry).transpose()?;
        if !last.is_followed_by(kind, next.as_ref()) {
            return Ok(None);
        }
        let Some(next) = next.filter(|next| next.place.starts_with(hash)) else { break };
        let Some(number) = next.number() else { return Ok(None) };
        numbers.push(number);
        last = next;
    }
    numbers.reverse();
    Ok(Some(numbers))
}

/// That the records of a key are not known, as an error of the file.
pub(super) fn hidden() -> rusqlite::Error {
    let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(corrupt, Some(HIDDEN.to_owned()))
}

/// Puts a new record into the order.
pub(super) fn add(
    connection: &Connection,
    kind: Kind,
    hash: &[u8; HASH],
    number: RecordNumber,
) -> rusqlite::Result<()> {
    let place = place(hash, number);
    let before = before(connection, kind, &place)?;
    let after = after(connection, kind, &place)?;
    let fits = before.as_ref().is_some_and(|before| before.is_followed_by(kind, after.as_ref()));
    let own = if fits { link(kind, &place, after.as_ref().map(|after| &after.place[..])) } else { BROKEN };
    connection
        .prepare_cached(&format!("INSERT INTO {} VALUES (?1, ?2)", table(kind)))?
        .execute((&place, own))?;
    let Some(before) = before else { return Ok(()) };
    let link = if fits { link(kind, &before.place, Some(&place)) } else { BROKEN };
    set_link(connection, kind, &before.place, &link)
}

/// Takes a record out of the order. `hash` is what stands in its row, where it may be damaged.
pub(super) fn remove(
    connection: &Connection,
    kind: Kind,
    hash: &[u8],
    number: RecordNumber,
) -> rusqlite::Result<()> {
    let mut entry = entry_at(connection, kind, &place(hash, number))?;
    if entry.is_none() {
        entry = entry_of(connection, kind, number)?;
    }
    let Some(own) = entry else { return Ok(()) };
    let before = before(connection, kind, &own.place)?;
    let after = after(connection, kind, &own.place)?;
    connection
        .prepare_cached(&format!("DELETE FROM {} WHERE place = ?1", table(kind)))?
        .execute((&own.place,))?;
    let Some(before) = before else { return Ok(()) };
    let fits = before.is_followed_by(kind, Some(&own)) && own.is_followed_by(kind, after.as_ref());
    let link =
        if fits { link(kind, &before.place, after.as_ref().map(|after| &after.place[..])) } else { BROKEN };
    set_link(connection, kind, &before.place, &link)
}

/// Whether every entry is followed by the right one, and there are as many records. To be called within a transaction.
pub(super) fn check(connection: &Connection, kind: Kind) -> rusqlite::Result<Result<(), String>> {
    let mut all =
        connection.prepare_cached(&format!("SELECT place, link FROM {} ORDER BY place", table(kind)))?;
    let mut rows = all.query(())?;
    let hidden = || Ok(Err(HIDDEN.to_owned()));
    let Some(first) = rows.next()?.map(entry).transpose()?.filter(|first| first.place.is_empty()) else {
        return hidden();
    };
    let (mut last, mut entries) = (first, 0_i64);
    loop {
        let next = rows.next()?.map(entry).transpose()?;
        if !last.is_followed_by(kind, next.as_ref()) {
            return hidden();
        }
        let Some(next) = next else { break };
        entries += 1;
        last = next;
    }
    // Numbers begin with 1, and so do lists.
    let records: i64 = connection.query_row(
        &format!("SELECT count(*) FROM {} WHERE number > 0", kind.table()),
        (),
        |row| row.get(0),
    )?;
    if records != entries {
        return Ok(Err(format!("{records} records can be found, and there are to be {entries}")));
    }
    Ok(Ok(()))
}

/// An entry as it stands in the table.
struct Entry {
    place: RecordRef,
    link: Vec<u8>,
}

impl Entry {
    fn is_followed_by(&self, kind: Kind, next: Option<&Self>) -> bool {
        self.link == link(kind, &self.place, next.map(|next| &next.place[..]))
    }

    fn number(&self) -> Option<i64> {
        let number = self.place.get(HASH..)?;
        Some(i64::from_be_bytes(number.try_into().ok()?))
    }
}

fn table(kind: Kind) -> String {
    format!("{}_by_key", kind.table())
}

fn place(hash: &[u8], number: RecordNumber) -> RecordRef {
    [hash, &number.0.to_be_bytes()].concat()
}

/// A length keeps an entry and the one that follows from being read as others.
fn link(kind: Kind, place: &[u8], next: Option<&[u8]>) -> [u8; 16] {
    let mut hasher = Sha256::new();
    hasher.update([kind.mark()]);
    hasher.update((place.len() as u64).to_be_bytes());
    hasher.update(place);
    hasher.update(next.unwrap_or_default());
    let digest: [u8; 32] = hasher.finalize().into();
    let (link, _) = digest.split_first_chunk().expect("a digest is longer than a link");
    *link
}

/// The last entry before a place, or before all entries of a hash.
fn before(connection: &Connection, kind: Kind, place: &[u8]) -> rusqlite::Result<Option<Entry>> {
    connection
        .prepare_cached(&format!(
            "SELECT place, link FROM {} WHERE place < ?1 ORDER BY place DESC LIMIT 1",
            table(kind)
        ))?
        .query_row((place,), entry)
        .optional()
}

fn after(connection: &Connection, kind: Kind, place: &[u8]) -> rusqlite::Result<Option<Entry>> {
    connection
        .prepare_cached(&format!(
            "SELECT place, link FROM {} WHERE place > ?1 ORDER BY place LIMIT 1",
            table(kind)
        ))?
        .query_row((place,), entry)
        .optional()
}

fn entry_at(connection: &Connection, kind: Kind, place: &[u8]) -> rusqlite::Result<Option<Entry>> {
    connection
        .prepare_cached(&format!("SELECT place, link FROM {} WHERE place = ?1", table(kind)))?
        .query_row((place,), entry)
        .optional()
}

/// The entry of a record whose own hash is damaged. Looks through all.
fn entry_of(connection: &Connection, kind: Kind, number: RecordNumber) -> rusqlite::Result<Option<Entry>> {
    connection
        .prepare_cached(&format!("SELECT place, link FROM {} WHERE substr(place, ?1) = ?2", table(kind)))?
        .query_row((NUMBER, number.0.to_be_bytes()), entry)
        .optional()
}

fn set_link(connection: &Connection, kind: Kind, place: &[u8], link: &[u8; 16]) -> rusqlite::Result<()> {
    connection
        .prepare_cached(&format!("UPDATE {} SET link = ?2 WHERE place = ?1", table(kind)))?
        .execute((place, link))
        .map(drop)
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry { place: row.get(0)?, link: row.get(1)? })
}
