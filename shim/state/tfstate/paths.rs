//! `sensitive_attributes`: paths in a state file.
//!
//! A step is `{"type":"get_attr","value":NAME}` or
//! `{"type":"index","value":{"value":KEY,"type":TYPE}}`. Terraform has no paths into sets, which
//! are sensitive as a whole; so a path into a set ends at the set.

use isthmus_cty::json::Json;
use isthmus_cty::{AttributePath, PathStep};

use super::{TfStateError, TfStateFault};

pub(super) fn read(paths: Json) -> Result<Vec<AttributePath>, TfStateError> {
    let paths = match paths {
        Json::Null => return Ok(Vec::new()),
        Json::Array(paths) => paths,
        _ => return Err(TfStateFault::Expected("an array of paths").into()),
    };
    let read_one = |(index, path)| read_path(path).map_err(|error| error.inside(&format!("[{index}]")));
    paths.into_iter().enumerate().map(read_one).collect()
}

fn read_path(path: Json) -> Result<AttributePath, TfStateError> {
    let Json::Array(steps) = path else { return Err(TfStateFault::Expected("an array of steps").into()) };
    let mut path = AttributePath::root();
    for (index, step) in steps.iter().enumerate() {
        match read_step(step).map_err(|error| error.inside(&format!("[{index}]")))? {
            Some(step) => path.push(step),
            None => break,
        }
    }
    Ok(path)
}

/// `None`: the step is into a set.
fn read_step(step: &Json) -> Result<Option<PathStep>, TfStateError> {
    let expected = |what| TfStateError::from(TfStateFault::Expected(what));
    let Some(Json::String(kind)) = step.member("type") else {
        return Err(expected("a step with a \"type\""));
    };
    let value = step.member("value");
    match kind.as_str() {
        "get_attr" => match value {
            Some(Json::String(name)) => Ok(Some(PathStep::attribute(name.as_str()))),
            _ => Err(expected("the name of an attribute").inside("value")),
        },
        "index" => match value.and_then(|value| value.member("value")) {
            Some(Json::String(key)) => Ok(Some(PathStep::key(key.as_str()))),
            Some(Json::Number(number)) => number
                .parse()
                .map(|index| Some(PathStep::Index(index)))
                .map_err(|_| TfStateError::from(TfStateFault::Number(number.clone())).inside("value")),
            Some(_) => Ok(None),
            None => Err(expected("a key with its \"value\" and \"type\"").inside("value")),
        },
        other => Err(TfStateError::from(TfStateFault::Step(other.to_owned())).inside("type")),
    }
}

pub(super) fn write(paths: &[AttributePath]) -> Json {
    let step = |kind: &str, value| {
        Json::Object(vec![("type".to_owned(), Json::String(kind.to_owned())), ("value".to_owned(), value)])
    };
    let key = |value, kind: &str| {
        let kind = Json::String(kind.to_owned());
        step("index", Json::Object(vec![("value".to_owned(), value), ("type".to_owned(), kind)]))
    };
    let path = |path: &AttributePath| {
        let steps = path.iter().map_while(|one| match one {
            PathStep::Attribute(name) => Some(step("get_attr", Json::String(name.to_string()))),
            PathStep::Key(text) => Some(key(Json::String(text.to_string()), "string")),
            PathStep::Index(index) => Some(key(Json::Number(index.to_string()), "number")),
            PathStep::Element(_) => None,
        });
        Json::Array(steps.collect())
    };
    Json::Array(paths.iter().map(path).collect())
}
