//! The calls of both protocols: [`service!`] implements either protocol's service.

/// Implements `Provider` for `Edge`: the protocol's own calls, as `name(message) => |edge, request|
/// answer;`, and those of both. It needs `Provider`, `Edge` and `message` in scope.
macro_rules! service {
    (@impl
        own { $($own:tt)* }
        both { $($both:tt)* }
        tests { $($name:ident => |$edge:ident, $request:ident| $answer:expr;)* }
        streams { $($stream:ident => |$streaming:ident, $wanted:ident| $events:expr;)* }
    ) => {
        $crate::service::service! {
            @methods
            methods { $($own)* $($both)* }
            $(tests { $name => |$edge, $request| $answer; })*
            $(streams { $stream => |$streaming, $wanted| $events; })*
        }
    };
    (@methods
        methods { $($method:ident($module:ident) => |$edge:ident, $request:ident| $answer:expr;)* }
        $(tests { $test:ident => |$test_edge:ident, $test_request:ident| $test_answer:expr; })*
        $(streams { $stream:ident => |$stream_edge:ident, $stream_request:ident| $events:expr; })*
    ) => {
        #[tonic::async_trait]
        impl Provider for Edge {
            $(async fn $method(
                &self,
                request: tonic::Request<message::$module::Request>,
            ) -> Result<tonic::Response<message::$module::Response>, tonic::Status> {
                let ($edge, $request) = (self, request.into_inner());
                Ok(tonic::Response::new($answer))
            })*

            $(async fn $test(
                &self,
                request: tonic::Request<message::$test::Request>,
            ) -> Result<tonic::Response<message::$test::Response>, tonic::Status> {
                let ($test_edge, $test_request) = (self, request.into_inner());
                #[cfg(feature = "misbehaviour")]
                return Ok(tonic::Response::new($test_answer));
                #[cfg(not(feature = "misbehaviour"))]
                {
                    let _ = ($test_edge, $test_request);
                    Err(tonic::Status::unimplemented(concat!("unknown method ", stringify!($test))))
                }
            })*

            $(async fn $stream(
                &self,
                request: tonic::Request<message::$stream::Request>,
            ) -> Result<
                tonic::Response<tonic::codegen::BoxStream<message::$stream::Event>>,
                tonic::Status,
            > {
                let ($stream_edge, $stream_request) = (self, request.into_inner());
                #[cfg(feature = "misbehaviour")]
                return Ok(tonic::Response::new(Box::pin($events)));
                #[cfg(not(feature = "misbehaviour"))]
                {
                    let _ = ($stream_edge, $stream_request);
                    Err(tonic::Status::unimplemented(concat!("unknown method ", stringify!($stream))))
                }
            })*
        }
    };
    ($($own:tt)*) => {
        $crate::service::service! {
            @impl
            own { $($own)* }
            both {
                get_metadata(get_metadata) => |edge, _request| edge.metadata("GetMetadata");
                get_resource_identity_schemas(get_resource_identity_schemas) =>
                    |edge, _request| edge.identity_schemas("GetResourceIdentitySchemas");
                upgrade_resource_state(upgrade_resource_state) =>
                    |edge, request| edge.upgrade(request).await?;
                upgrade_resource_identity(upgrade_resource_identity) =>
                    |edge, request| edge.upgrade_identity(request).await?;
                read_resource(read_resource) => |edge, request| edge.read(request).await?;
                plan_resource_change(plan_resource_change) => |edge, request| edge.plan(request).await?;
                apply_resource_change(apply_resource_change) => |edge, request| edge.apply(request).await?;
                import_resource_state(import_resource_state) => |edge, request| edge.import(request).await?;
                move_resource_state(move_resource_state) => |edge, request| edge.move_state(request).await?;
                read_data_source(read_data_source) => |edge, request| edge.read_data(request).await?;
            }
            tests {
                get_functions => |edge, _request| edge.functions("GetFunctions");
                call_function => |edge, request| Edge::call_function(edge, &request)?;
                validate_ephemeral_resource_config => |edge, request| edge.validate_ephemeral(&request)?;
                open_ephemeral_resource => |edge, request| edge.open(&request)?;
                renew_ephemeral_resource => |edge, request| edge.renew(&request);
                close_ephemeral_resource => |edge, request| edge.close(&request);
                validate_list_resource_config => |edge, request| edge.validate_list(&request)?;
                validate_action_config => |edge, request| edge.validate_action(&request)?;
                plan_action => |edge, request| Edge::plan_action(edge, &request)?;
                generate_resource_config => |edge, request| edge.generate_config(request).await?;
            }
            streams {
                list_resource => |edge, request| tokio_stream::iter(edge.list(request).await?);
                invoke_action => |edge, request| Edge::invoke_action(edge, &request)?;
            }
        }
    };
}

pub(crate) use service;
