//! Documents that were rendered from responses.

use bytes::BytesMut;

use super::*;

/// More than a chunk.
const LONG: usize = 600_000;

fn text(length: usize) -> String {
    (0..)
        .map(|number| format!("{number} "))
        .flat_map(String::into_bytes)
        .map(char::from)
        .take(length)
        .collect()
}

fn keep(cache: &SchemaCache, key: &str, text: &str) -> Document {
    // In pieces of no particular size.
    let write = |to: &mut dyn Write| text.as_bytes().chunks(7000).try_for_each(|piece| to.write_all(piece));
    let kept = cache.keep_document(&[key.as_bytes()], vec!["a note".to_owned()], write);
    kept.expect("the directory can be written")
}

fn read(document: &Document) -> io::Result<String> {
    let mut text = Vec::new();
    for number in 0.. {
        let Some(chunk) = document.chunk(number, &mut BytesMut::new()) else { break };
        text.extend(chunk?);
    }
    Ok(String::from_utf8(text).expect("it is text"))
}

fn document_path(shelf: &Shelf) -> PathBuf {
    let names = shelf.named("document-");
    let [name] = &names[..] else { panic!("{names:?}") };
    shelf.path(name)
}

#[test]
fn a_document_is_found_as_it_was_written_with_its_notes() {
    let shelf = Shelf::new();
    for length in [0, 1, 256 << 10, (256 << 10) + 1, LONG] {
        let (key, text) = (length.to_string(), text(length));
        assert!(shelf.cache.document(&[key.as_bytes()]).is_none());
        let kept = keep(&shelf.cache, &key, &text);
        let found = shelf.cache.document(&[key.as_bytes()]).expect("it was kept");
        for document in [kept, found] {
            assert_eq!((document.size(), document.notes()), (length as u64, &["a note".to_owned()][..]));
            assert_eq!(read(&document).expect("it is whole"), text);
        }
    }
    assert!(shelf.cache.document(&[b"1", b""]).is_none(), "parts of a key do not run into each other");
}

#[test]
fn every_damage_of_a_document_is_noticed_and_mended_by_writing_again() {
    let shelf = Shelf::new();
    let text = text(LONG);
    keep(&shelf.cache, "key", &text);
    let path = document_path(&shelf);
    let whole = std::fs::read(&path).expect("a file");
    let ends = [0, 8, 12, 20, 28, 59, 60, 61, LONG / 2, LONG + 59, LONG + 60, whole.len() - 1];
    for at in ends {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        let (cut, longer) = (whole[..at].to_vec(), [&whole[..at], b"x", &whole[at..]].concat());
        for damaged in [damaged, cut, longer] {
            std::fs::write(&path, damaged).expect("a file");
            let found = shelf.cache.document(&[b"key"]).map(|document| read(&document));
            assert!(found.is_none_or(|text| text.is_err()), "damaged at {at}");
            assert_eq!(read(&keep(&shelf.cache, "key", &text)).expect("it is whole"), text);
        }
    }
}

#[test]
fn a_damaged_chunk_is_not_read_and_its_file_is_removed() {
    let shelf = Shelf::new();
    let document = keep(&shelf.cache, "key", &text(LONG));
    let path = document_path(&shelf);
    let mut damaged = std::fs::read(&path).expect("a file");
    damaged[300_000] ^= 1;
    std::fs::write(&path, damaged).expect("a file");
    assert!(document.chunk(0, &mut BytesMut::new()).is_some_and(|chunk| chunk.is_ok()));
    let error = document.chunk(1, &mut BytesMut::new()).expect("there are three").expect_err("it is damaged");
    assert!(error.to_string().contains("is damaged, and was removed"), "{error}");
    assert!(!path.exists() && shelf.cache.document(&[b"key"]).is_none());
}

#[test]
fn a_document_that_is_removed_or_replaced_is_read_to_its_end() {
    let shelf = Shelf::new();
    let text = text(LONG);
    let (one, other) = (keep(&shelf.cache, "key", &text), keep(&shelf.cache, "key", &text));
    std::fs::remove_dir_all(shelf.directory.path().join("cache")).expect("a directory");
    for document in [one, other] {
        assert_eq!(read(&document).expect("the file is open"), text);
    }
}

#[test]
fn a_document_that_fails_leaves_nothing() {
    let shelf = Shelf::new();
    let failing = |to: &mut dyn Write| {
        to.write_all(b"half")?;
        Err(io::Error::other("on purpose"))
    };
    let error = shelf.cache.keep_document(&[b"key"], vec![], failing).expect_err("it failed");
    assert!(error.to_string().contains("failed to write the schema cache"), "{error}");
    assert_eq!(shelf.names(), [""; 0]);
}

#[test]
fn many_writers_of_a_document_leave_a_whole_one() {
    let shelf = Shelf::new();
    let text = text(LONG);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    keep(&shelf.cache, "key", &text);
                    let found = shelf.cache.document(&[b"key"]).expect("there is always a whole one");
                    assert_eq!(read(&found).expect("it is whole"), text);
                }
            });
        }
    });
    assert_eq!(shelf.names().len(), 1, "{:?}", shelf.names());
}
