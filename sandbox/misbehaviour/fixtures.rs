//! Parts of the provider for tests only: the record of calls, functions, an ephemeral resource, an
//! action, a list resource, and `provider_meta`.

use isthmus_cty::Type;

use super::Misbehaviour;
use crate::broadcast;
use crate::calls::CallRecord;
use crate::functions::{self, Function};
use crate::lines::Lines;
use crate::log::{self, Level};
use crate::protocol::Feature;
use crate::resources::fixtures::note_list::NoteList;
use crate::schema::{Attribute, Block, DataSource, NestedBlock, Nesting, Schema};
use crate::token::{self, Tokens};

#[derive(Debug)]
pub(crate) struct Fixtures {
    calls: Option<Lines>,
    pub(crate) functions: Vec<Function>,
    pub(crate) token: DataSource,
    /// Open tokens.
    pub(crate) tokens: Tokens,
    /// Schema of the search for notes.
    pub(crate) search: DataSource,
    /// Schema of `provider_meta`, if any.
    pub(crate) meta: Option<DataSource>,
    /// The action [`broadcast::TYPE_NAME`].
    pub(crate) broadcast: DataSource,
}

impl Fixtures {
    pub(crate) fn new(switches: &Misbehaviour) -> std::io::Result<Self> {
        Ok(Self {
            calls: switches.calls.as_deref().map(Lines::open).transpose()?,
            functions: if switches.minor.has(Feature::Functions) {
                functions::all(switches.odd)
            } else {
                Vec::new()
            },
            token: DataSource::new(token::schema()),
            tokens: Tokens::default(),
            search: DataSource::new(NoteList::schema()),
            meta: switches.meta.then(|| DataSource::new(meta_schema())),
            broadcast: DataSource::new(broadcast::schema()),
        })
    }

    /// Appends to the record of calls, if there is one.
    pub(crate) fn record(&self, record: &CallRecord) {
        if let Some(calls) = &self.calls
            && let Err(error) = calls.append(record)
        {
            log::write(Level::Error, "a call could not be recorded", &[("reason", &error.to_string())]);
        }
    }
}

fn meta_schema() -> Schema {
    let part = Block {
        description: "A part of the module.",
        attributes: vec![Attribute::required("name", Type::String)],
        blocks: Vec::new(),
    };
    let block = Block {
        description: "Who uses the sandbox.",
        attributes: vec![
            Attribute::optional("module", Type::String),
            Attribute::optional("uses", Type::Number),
        ],
        blocks: vec![NestedBlock::new("part", Nesting::List, part)],
    };
    Schema { version: 0, block }
}
