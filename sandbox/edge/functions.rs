//! RPCs of functions.

use super::fixtures::functions_by_name;
use super::message;
use super::provider::Edge;
use super::values::{Answered, decode, encode_as};
use crate::calls::CallRecord;
use crate::resource::Answer;

impl Edge {
    pub(crate) fn functions(&self, call: &str) -> message::get_functions::Response {
        self.provider.record(&CallRecord::of(call));
        let functions = functions_by_name(&self.provider).into_iter().collect();
        message::get_functions::Response { functions, diagnostics: Vec::new() }
    }

    pub(crate) fn call_function(
        &self,
        request: &message::call_function::Request,
    ) -> Answered<message::call_function::Response> {
        use message::call_function::Response;
        let record = CallRecord::of("CallFunction");
        self.provider.record(&CallRecord { type_name: Some(request.name.clone()), ..record });
        let refused = |text: String, argument| Response {
            error: Some(message::FunctionError { text, function_argument: argument }),
            result: None,
        };
        let found = self.provider.fixtures().functions.iter().find(|function| function.name == request.name);
        let Some(function) = found else {
            return Ok(refused(format!("the sandbox has no function {:?}", request.name), None));
        };
        if !function.takes(request.arguments.len()) {
            return Ok(refused(
                format!("{} does not take {} arguments", function.name, request.arguments.len()),
                None,
            ));
        }
        let parameters = (0..).map_while(|position| function.parameter(position));
        let arguments = request.arguments.iter().zip(parameters);
        let arguments = arguments.map(|(argument, parameter)| decode(Some(argument), &parameter.kind));
        match (function.call)(&arguments.collect::<Answered<Vec<_>>>()?) {
            Ok(result) => {
                let result = encode_as(&self.provider, Answer::State(result), &function.returns)?;
                Ok(Response { result, error: None })
            }
            Err(error) => Ok(refused(error.text, error.argument)),
        }
    }
}
