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
        "gatepass:provider/files.read": async,
        "gatepass:provider/rsa.sign-rs256": async,
    },
    exports: { default: async },
});

/// The optional interface `git`.
pub mod git {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "git-plugin",
        with: { "gatepass:provider/types": super::gatepass::provider::types },
        exports: { default: async },
    });
}

/// The optional interface `trust`.
pub mod trust {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "trust-plugin",
        with: { "gatepass:provider/types": super::gatepass::provider::types },
        exports: { default: async },
    });
}
