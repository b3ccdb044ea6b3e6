//! What `wasmtime` makes of the contract in `wit/`.

#![allow(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    clippy::unwrap_used,
    clippy::uninlined_format_args,
    clippy::semicolon_if_nothing_returned,
    clippy::missing_errors_doc,
    clippy::needless_pass_by_value,
    reason = "generated code is not ours to word"
)]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "plugin",
    imports: {
        "gatepass:provider/egress.send": async,
    },
    exports: { default: async },
});
