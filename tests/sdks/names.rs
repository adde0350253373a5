//! Providers that exist for their names: one has every name that a language or a generated SDK has itself, in every position
//! of a schema; the other one's names and texts are code.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use fixtures::tools::target;
use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Blocks;
use isthmus_proto::tfplugin6::schema::{Attribute, Block, NestedBlock};
use isthmus_proto::tfplugin6::{self, Function, Schema, StringKind, function, get_provider_schema::Response};
use prost::Message as _;

use crate::{large, packages};

/// The recorded schema of a provider with every name, as `recorded` reads it.
pub(crate) fn every_name() -> &'static str {
    static FILE: LazyLock<String> = LazyLock::new(|| recorded("words", &provider("words", &words())));
    &FILE
}

/// The recorded schema of a provider whose names and texts are code.
pub(crate) fn code() -> &'static str {
    static FILE: LazyLock<String> = LazyLock::new(|| recorded("code", &hostile()));
    &FILE
}

#[test]
fn names_and_texts_that_are_code_compile_in_typescript() {
    large::compile("nodejs", &packages::of_code());
}

#[test]
fn names_and_texts_that_are_code_are_imported_in_python() {
    fixtures::needs!(Python);
    large::compile("python", &packages::of_code());
}

#[test]
fn names_and_texts_that_are_code_compile_in_go() {
    large::compile("go", &packages::of_code());
}

#[test]
fn names_and_texts_that_are_code_compile_in_java() {
    fixtures::needs!(Java);
    large::compile("java", &packages::of_code());
}

#[test]
fn names_and_texts_that_are_code_compile_in_csharp() {
    fixtures::needs!(CSharp);
    large::compile("dotnet", &packages::of_code());
}

#[test]
fn names_that_a_language_has_itself_compile_in_typescript() {
    large::compile("nodejs", &packages::of_words());
}

#[test]
fn names_that_a_language_has_itself_compile_in_go() {
    large::compile("go", &packages::of_words());
}

#[test]
fn names_that_a_language_has_itself_compile_in_java() {
    fixtures::needs!(Java);
    large::compile("java", &packages::of_words());
}

#[test]
fn names_that_a_language_has_itself_compile_in_csharp() {
    fixtures::needs!(CSharp);
    large::compile("dotnet", &packages::of_words());
}

#[test]
fn names_that_a_language_has_itself_are_imported_in_python() {
    fixtures::needs!(Python);
    large::compile("python", &packages::of_words());
}

fn recorded(name: &str, response: &Response) -> String {
    let directory = target().join("sdks");
    std::fs::create_dir_all(&directory).expect("the directory of the build can be written");
    let file: PathBuf = directory.join(format!("{name}-{}.gz", std::process::id()));
    let output = std::fs::File::create(&file).expect("the directory of the build can be written");
    let mut gzip = Command::new("gzip").stdin(Stdio::piped()).stdout(output).spawn().expect("gzip runs");
    let mut input = gzip.stdin.take().expect("it is piped");
    input.write_all(b"6\n").and_then(|()| input.write_all(&response.encode_to_vec())).expect("gzip reads");
    drop(input);
    assert!(gzip.wait().expect("gzip ends").success());
    file.to_str().expect("test directories have plain names").to_owned()
}

/// Words of the five languages, and what generated SDKs call things, in Terraform's form.
fn words() -> Vec<&'static str> {
    let mut words: Vec<_> = include_str!("words.txt").split_whitespace().collect();
    words.sort_unstable();
    words.dedup();
    words
}

fn provider(prefix: &str, words: &[&str]) -> Response {
    let named = |word: &&str| format!("{prefix}_{word}");
    let text = |name: &str| attribute(name, "\"string\"");
    let one = || {
        schema(vec![Attribute { required: true, optional: false, ..text("needed") }, text("other")], vec![])
    };
    let without = |left_out: &[&str]| -> Vec<_> {
        words.iter().filter(|word| !left_out.contains(*word)).map(|word| text(word)).collect()
    };
    let every = || {
        let blocks = words.iter().map(|word| block(&format!("{word}_block"), vec![text("value")]));
        let mut blocks: Vec<_> = blocks.collect();
        blocks.push(block("inner", without(&["yield"])));
        schema(without(&OF_CLASSES), blocks)
    };
    let of_class =
        OF_CLASSES.iter().map(|word| (format!("{prefix}_of_class_{word}"), schema(vec![text(word)], vec![])));
    let mut resources: Vec<_> =
        words.iter().map(|word| (named(word), one())).chain(of_class.clone()).collect();
    resources.push((format!("{prefix}_every_property"), every()));
    let secret = |name: &str, json: &str| Attribute { sensitive: true, ..attribute(name, json) };
    let secrets = vec![
        text("output"),
        secret("a_text", "\"string\""),
        secret("a_list", "[\"list\",\"string\"]"),
        secret("a_map", "[\"map\",\"string\"]"),
    ];
    resources.push((format!("{prefix}_secrets"), schema(secrets, vec![])));
    let mut data_sources: Vec<_> = words.iter().map(|word| (named(word), one())).chain(of_class).collect();
    data_sources.push((format!("{prefix}_every_argument"), schema(without(&OF_CLASSES), vec![])));
    let of_sdks = ["opts", "empty", "yield"];
    data_sources
        .extend(of_sdks.map(|word| (format!("{prefix}_of_sdk_{word}"), schema(vec![text(word)], vec![]))));
    let needed = Attribute { required: true, optional: false, ..text("needed") };
    let one_more = std::iter::once(needed).chain(without(&of_sdks)).collect();
    data_sources.push((format!("{prefix}_every_argument_and_one"), schema(one_more, vec![])));
    let optional = schema(vec![text("other")], vec![]);
    data_sources.extend(words.iter().map(|word| (format!("{prefix}_{word}_optional"), optional.clone())));
    let mut functions: Vec<_> = words
        .iter()
        .map(|word| ((*word).to_owned(), function(&[("value", "\"string\"")], "\"string\"")))
        .collect();
    functions.extend(
        words.iter().map(|word| (format!("take_{word}"), function(&[(word, "\"string\"")], "\"string\""))),
    );
    functions.extend(words.iter().map(|word| (format!("{word}_nothing"), function(&[], "\"string\""))));
    functions.push(("give_nothing".to_owned(), function(&[], "[\"list\",\"string\"]")));
    response(schema(vec![text("endpoint")], vec![]), resources, data_sources, functions)
}

/// What a class of TypeScript or Go has of its base classes, arguments of a data source that Python and C# have, and a keyword of Java.
const OF_CLASSES: [&str; 12] = [
    "constructor",
    "empty",
    "get_provider",
    "has_own_property",
    "is_prototype_of",
    "opts",
    "property_is_enumerable",
    "pulumi_resource_type",
    "to_locale_string",
    "to_string",
    "value_of",
    "yield",
];

/// Code of each language that would end what it stands in.
const CODE: [&str; 10] = [
    "[require(`fs`).writeFileSync(`owned`,``)]",
    "a\"]=process.exit(1);//",
    "a'+exit()+'",
    "a*/process.exit(1);/*",
    "a\"\"\"+exit()+\"\"\"",
    "a\\",
    "\\u002a\\u002f static { System.exit(1); } /*",
    "a\u{2028}process.exit(1)",
    "a\nexit(1)\n",
    "*\\\0u002f static { System.exit(1); } /*",
];

#[expect(deprecated, reason = "the flag still says that something is deprecated")]
fn hostile() -> Response {
    let described = |name: &str, text: &str, kind| Attribute {
        description: text.to_owned(),
        description_kind: kind as i32,
        deprecated: true,
        deprecation_message: text.to_owned(),
        ..attribute(name, "\"string\"")
    };
    let attributes = || {
        let named = CODE.iter().map(|code| Attribute {
            required: true,
            optional: false,
            ..attribute(code, "\"string\"")
        });
        let texts = CODE.iter().enumerate().flat_map(|(index, code)| {
            [
                described(&format!("plain{index}"), code, StringKind::Plain),
                described(&format!("markdown{index}"), code, StringKind::Markdown),
            ]
        });
        let object = format!("[\"object\",{{{:?}:\"string\"}}]", "a[b()]");
        named.chain(texts).chain([attribute("typed", &object)]).collect::<Vec<_>>()
    };
    let all = |code: &str| Schema {
        version: 0,
        block: Some(Block {
            attributes: attributes(),
            block_types: vec![block("usual", attributes())],
            description: code.to_owned(),
            description_kind: StringKind::Markdown as i32,
            deprecated: true,
            deprecation_message: code.to_owned(),
            ..Block::default()
        }),
    };
    let members = || {
        let usual = CODE.iter().enumerate().map(|(index, code)| (format!("code_usual{index}"), all(code)));
        usual.chain(CODE.iter().map(|code| (format!("code_{code}"), all(code)))).collect::<Vec<_>>()
    };
    let functions = CODE.iter().enumerate().flat_map(|(index, code)| {
        let described = Function {
            summary: (*code).to_owned(),
            description: (*code).to_owned(),
            deprecation_message: (*code).to_owned(),
            ..function(&[("value", "\"string\"")], "\"string\"")
        };
        [
            (format!("usual{index}"), described.clone()),
            ((*code).to_owned(), described),
            (format!("taking{index}"), function(&[(code, "\"string\"")], "\"string\"")),
        ]
    });
    response(all("*/"), members(), members(), functions.collect())
}

fn attribute(name: &str, json: &str) -> Attribute {
    Attribute {
        name: name.to_owned(),
        r#type: json.to_owned().into(),
        optional: true,
        ..Attribute::default()
    }
}

fn block(name: &str, attributes: Vec<Attribute>) -> NestedBlock {
    NestedBlock {
        type_name: name.to_owned(),
        block: Some(Block { attributes, ..Block::default() }),
        nesting: Blocks::List.into(),
        ..NestedBlock::default()
    }
}

fn schema(attributes: Vec<Attribute>, block_types: Vec<NestedBlock>) -> Schema {
    Schema { version: 0, block: Some(Block { attributes, block_types, ..Block::default() }) }
}

fn function(parameters: &[(&str, &str)], result: &str) -> Function {
    let parameters = parameters.iter().map(|(name, json)| function::Parameter {
        name: (*name).to_owned(),
        r#type: (*json).to_owned().into(),
        ..function::Parameter::default()
    });
    let result = function::Return { r#type: result.to_owned().into() };
    Function { parameters: parameters.collect(), r#return: Some(result), ..Function::default() }
}

fn response(
    provider: Schema,
    resources: Vec<(String, Schema)>,
    data_sources: Vec<(String, Schema)>,
    functions: Vec<(String, Function)>,
) -> Response {
    let encoded = |schemas: Vec<(String, Schema)>| {
        schemas.into_iter().map(|(name, schema)| (name, schema.encode_to_vec().into())).collect()
    };
    Response {
        provider: Some(provider),
        resource_schemas: encoded(resources),
        data_source_schemas: encoded(data_sources),
        functions: functions.into_iter().collect(),
        server_capabilities: Some(tfplugin6::ServerCapabilities::default()),
        ..Response::default()
    }
}
