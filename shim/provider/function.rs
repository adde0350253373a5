//! Provider-defined functions: pure, without provider configuration.

use isthmus_cty::{Type, Value};
use isthmus_proto::tfplugin6;

use super::{Provider, ProviderError, Rpc, dynamic};
use crate::schema::CatalogueError;

/// A function call failed.
#[derive(Debug, thiserror::Error)]
pub enum FunctionError {
    /// The function returned an error.
    #[error("{text}")]
    Refused {
        /// The function's message.
        text: String,
        /// Index of the argument at fault, variadic ones included.
        argument: Option<usize>,
    },
    /// The number of arguments is wrong.
    #[error("the function {function} takes {expected} arguments, but {given} were given")]
    ArgumentCount {
        /// The function's name.
        function: String,
        /// Such as "2" or "at least 1".
        expected: String,
        /// Number of arguments.
        given: usize,
    },
    /// The call failed, or its response is invalid.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl Provider {
    /// Calls a function. `arguments` conform to the parameters' types, variadic ones last. The
    /// caller must refuse null and unknown arguments for parameters that do not allow them.
    pub async fn call_function(&self, name: &str, arguments: &[Value]) -> Result<Value, FunctionError> {
        let rpc = Rpc::CallFunction;
        let unknown = || CatalogueError::Unknown { kind: "function", name: name.to_owned() };
        let function =
            self.catalogue().functions().get(name).ok_or_else(unknown).map_err(ProviderError::from)?;
        let fixed = function.parameters.len();
        if arguments.len() < fixed || (arguments.len() > fixed && function.variadic_parameter.is_none()) {
            let at_least = if function.variadic_parameter.is_some() { "at least " } else { "" };
            return Err(FunctionError::ArgumentCount {
                function: name.to_owned(),
                expected: format!("{at_least}{fixed}"),
                given: arguments.len(),
            });
        }
        let read_type = |json: &[u8]| {
            Type::from_json(json).map_err(|error| {
                self.invalid_answer(Rpc::GetProviderSchema, name, &format!("a type cannot be read: {error}"))
            })
        };
        let mut encoded = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.iter().enumerate() {
            let parameter = function.parameters.get(index).or(function.variadic_parameter.as_ref());
            let parameter_type = read_type(parameter.map_or(&[][..], |parameter| &parameter.r#type))?;
            encoded.extend(dynamic::encode(argument, &parameter_type, self.operation(rpc), name)?);
        }
        let request = tfplugin6::call_function::Request { name: name.to_owned(), arguments: encoded };
        let response: tfplugin6::call_function::Response = self.call(rpc, request).await?;
        if let Some(error) = response.error {
            let argument = error.function_argument.and_then(|index| usize::try_from(index).ok());
            return Err(FunctionError::Refused { text: error.text, argument });
        }
        let return_type = read_type(function.r#return.as_ref().map_or(&[][..], |value| &value.r#type))?;
        let result = self.decode(rpc, name, response.result.as_ref(), &return_type)?;
        if !result.is_wholly_known() && arguments.iter().all(Value::is_wholly_known) {
            return Err(self
                .invalid_answer(rpc, name, "its result is not known, although all arguments are")
                .into());
        }
        Ok(result)
    }
}
