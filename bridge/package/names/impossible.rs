//! Names that a language has itself, or that every SDK in it has.
//!
//! One member with such a name breaks the SDK of its whole package in that language: the generator
//! fails, or its code does not compile. A package schema is the same for all languages, and most
//! languages have no way to call a member otherwise, so these names are others in all of them. The
//! natural name goes on working where it did: in stacks, in SDKs that were generated with it, and in
//! programs without SDKs.
//!
//! The lists are of what the generators of Pulumi 3.259 and pulumi-java 1.34 get wrong. What they
//! mend themselves is in none: a name that works is no other.

use std::borrow::Cow;

use super::MemberKind;

/// The rule for names of members of a kind.
pub fn of(kind: MemberKind) -> fn(&str) -> Cow<'_, str> {
    match kind {
        MemberKind::Resource => |name| possible(&RESOURCES, name, "Resource"),
        MemberKind::Function => |name| possible(&FUNCTIONS, name, "Function"),
        // Their names begin with a verb.
        MemberKind::DataSource | MemberKind::EphemeralResource | MemberKind::Action => |name| name.into(),
    }
}

/// The name of a parameter of a provider function.
pub fn parameter(name: &str) -> Cow<'_, str> {
    possible(&PARAMETERS, name, "Value")
}

/// Whether no variable of JavaScript can have the name.
pub(crate) fn is_reserved_in_javascript(name: &str) -> bool {
    JAVASCRIPT.contains(&name)
}

fn possible<'n>(names: &[&[&str]], name: &'n str, suffix: &str) -> Cow<'n, str> {
    if names.iter().any(|names| names.contains(&name)) {
        format!("{name}{suffix}").into()
    } else {
        name.into()
    }
}

/// TypeScript: `Error` (thrown by the class itself), `Object` (TS2725). Modules of SDKs: `Outputs` and
/// `Typing` in Python, `Doc` and `Init` in Go, `Utilities` in Java and .NET. In .NET: the namespace
/// `Inputs`, the methods `Get` and `MakeResourceOptions` of all resources, classes that SDKs use by
/// these names (`CallArgs`, `CustomResourceOptions`, `ImmutableArray`, `ImmutableDictionary`,
/// `InvokeArgs`, `InvokeOptions`, `InvokeOutputOptions`, `Output`), and `Call` and `Invoke`, whose
/// arguments would be called like them.
#[rustfmt::skip]
const RESOURCES: [&[&str]; 1] = [&[
    "Call", "CallArgs", "CustomResourceOptions", "Doc", "Error", "Get", "ImmutableArray", "ImmutableDictionary",
    "Init", "Inputs", "Invoke", "InvokeArgs", "InvokeOptions", "InvokeOutputOptions", "MakeResourceOptions", "Object",
    "Output", "Outputs", "Typing", "Utilities",
]];

/// Modules of SDKs: `index` in TypeScript, `typing` in Python, `doc`, `init` and `pulumiTypes` in Go, `config` and `utilities`
/// in .NET.
const FUNCTIONS: [&[&str]; 4] = [
    &JAVASCRIPT,
    &JAVA,
    &JAVA_METHODS,
    &["config", "doc", "index", "init", "pulumiTypes", "typing", "utilities"],
];

/// Variables of generated functions: `opts` and `utilities` in TypeScript, `opts` in Python, `err`,
/// `internal`, `options`, `ref`, `result` and `rv` in Go, `options` in Java, which reserves `yield`,
/// `args`, `builder` and `invokeOptions` in .NET.
const PARAMETERS: [&[&str]; 3] = [
    &JAVASCRIPT,
    &CSHARP,
    &["args", "builder", "err", "invokeOptions", "options", "opts", "result", "rv", "utilities"],
];

/// Reserved words of ECMAScript, with those of strict mode and of modules, and what strict mode lets
/// nobody bind.
#[rustfmt::skip]
const JAVASCRIPT: [&str; 48] = [
    "arguments", "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete",
    "do", "else", "enum", "eval", "export", "extends", "false", "finally", "for", "function", "if",
    "implements", "import", "in", "instanceof", "interface", "let", "new", "null", "package", "private",
    "protected", "public", "return", "static", "super", "switch", "this", "throw", "true", "try", "typeof",
    "var", "void", "while", "with", "yield",
];

/// The keywords that C# has and JavaScript has not (C# 7, 6.4.4).
#[rustfmt::skip]
const CSHARP: [&str; 46] = [
    "abstract", "as", "base", "bool", "byte", "char", "checked", "decimal", "delegate", "double", "event",
    "explicit", "extern", "fixed", "float", "foreach", "goto", "implicit", "int", "internal", "is", "lock", "long",
    "namespace", "object", "operator", "out", "override", "params", "readonly", "ref", "sbyte", "sealed", "short",
    "sizeof", "stackalloc", "string", "struct", "uint", "ulong", "unchecked", "unsafe", "ushort", "using",
    "virtual", "volatile",
];

/// The reserved words that only Java has (JLS 3.9).
#[rustfmt::skip]
const JAVA: [&str; 18] = [
    "abstract", "assert", "boolean", "byte", "char", "double", "final", "float", "goto", "int", "long", "native",
    "short", "strictfp", "synchronized", "throws", "transient", "volatile",
];

/// Methods of every object of Java, which a function without arguments cannot be called like.
const JAVA_METHODS: [&str; 8] =
    ["clone", "finalize", "getClass", "hashCode", "notify", "notifyAll", "toString", "wait"];
