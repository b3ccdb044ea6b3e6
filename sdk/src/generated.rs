//! What `wit-bindgen` makes of the contract in `wit/`.

#![allow(
    unsafe_code,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::unreachable,
    clippy::uninlined_format_args,
    clippy::semicolon_if_nothing_returned,
    clippy::missing_errors_doc,
    clippy::needless_pass_by_value,
    reason = "generated code is not ours to word"
)]

wit_bindgen::generate!({
    path: "../wit",
    world: "plugin",
    pub_export_macro: true,
    export_macro_name: "export_component",
    default_bindings_module: "::gatepass_sdk::generated",
    runtime_path: "::gatepass_sdk::wit_bindgen::rt",
});

/// The optional interface `git`.
pub mod git {
    wit_bindgen::generate!({
        path: "../wit",
        world: "git-plugin",
        with: {
            "gatepass:provider/types@0.1.0": crate::generated::gatepass::provider::types,
        },
        pub_export_macro: true,
        export_macro_name: "export_git",
        default_bindings_module: "::gatepass_sdk::generated::git",
        runtime_path: "::gatepass_sdk::wit_bindgen::rt",
    });
}

/// The optional interface `trust`.
pub mod trust {
    wit_bindgen::generate!({
        path: "../wit",
        world: "trust-plugin",
        with: {
            "gatepass:provider/types@0.1.0": crate::generated::gatepass::provider::types,
        },
        pub_export_macro: true,
        export_macro_name: "export_trust",
        default_bindings_module: "::gatepass_sdk::generated::trust",
        runtime_path: "::gatepass_sdk::wit_bindgen::rt",
    });
}
