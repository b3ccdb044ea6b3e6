//! Says what a component is that does not fit, before the engine does in its own words.

use crate::error::Error;
use wasmtime::component::Component;

/// The interface that a provider exports, without its version.
const PROVIDER: &str = "gatepass:provider/provider";

/// The package of the contract.
const PACKAGE: &str = "gatepass:provider/";

/// The version that this host speaks: any 0.1.z fits (SemVer §4: within 0.y, y is the contract).
pub(crate) const WIT_VERSION: &str = "0.1.0";

/// The WIT version that a component was built against.
///
/// # Errors
///
/// `Plugin`: it is no provider, or one of another version.
pub(crate) fn check(component: &Component, engine: &wasmtime::Engine) -> Result<String, Error> {
    let kind = component.component_type();
    let exported = kind
        .exports(engine)
        .find_map(|(name, _)| interface_version(name));
    let Some(version) = exported else {
        let exports: Vec<&str> = kind.exports(engine).map(|(name, _)| name).collect();
        return Err(not_a_provider(&exports));
    };
    if !is_compatible(&version) {
        let error = Error::plugin(format!(
            "it is built for version {version} of gatepass:provider, this host speaks {WIT_VERSION}"
        ));
        return Err(error.remedy(format!("build it against gatepass:provider@{WIT_VERSION}")));
    }
    let foreign = kind
        .imports(engine)
        .map(|(name, _)| name)
        .find(|name| !name.starts_with("wasi:") && !name.starts_with(PACKAGE));
    match foreign {
        None => Ok(version),
        Some(name) => Err(Error::plugin(format!(
            "it imports {name}, which this host does not have"
        ))),
    }
}

fn interface_version(name: &str) -> Option<String> {
    let (interface, version) = name.split_once('@')?;
    (interface == PROVIDER).then(|| version.to_owned())
}

fn is_compatible(version: &str) -> bool {
    let minor = |version: &str| -> Option<String> {
        let (minor, patch) = version.rsplit_once('.')?;
        patch
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| minor.to_owned())
    };
    minor(version).is_some() && minor(version) == minor(WIT_VERSION)
}

fn not_a_provider(exports: &[&str]) -> Error {
    let exports = match exports {
        [] => "nothing".to_owned(),
        exports => exports.join(", "),
    };
    Error::plugin(format!(
        "it is a component, but no provider: it exports {exports}, not {PROVIDER}@{WIT_VERSION}"
    ))
}

/// What the first bytes say of a file that is no component
/// (<https://github.com/WebAssembly/component-model/blob/main/design/mvp/Binary.md>).
///
/// # Errors
///
/// `Plugin`: it is not a component.
pub(crate) fn check_header(bytes: &[u8]) -> Result<(), Error> {
    let what = match bytes {
        [0, b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => return Ok(()),
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => "it is a core WebAssembly module, not a component",
        [0, b'a', b's', b'm', ..] => "it is WebAssembly of a version that this host does not know",
        [] => "it is empty",
        _ => "it is not WebAssembly",
    };
    Err(Error::plugin(what)
        .remedy("build it for wasm32-wasip2, or wrap it with `wasm-tools component new`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_version_fits_and_a_minor_does_not() {
        let cases = [
            ("0.1.0", true),
            ("0.1.7", true),
            ("0.2.0", false),
            ("1.1.0", false),
            ("0.1.0-rc", false),
            ("", false),
        ];
        for (version, expected) in cases {
            assert_eq!(is_compatible(version), expected, "{version:?}");
        }
    }

    #[test]
    fn files_that_are_no_components_are_told_apart() {
        let cases: [(&[u8], &str); 4] = [
            (b"", "empty"),
            (b"#!/bin/sh", "not WebAssembly"),
            (b"\0asm\x01\0\0\0", "core WebAssembly module"),
            (b"\0asm\xff\0\0\0", "version"),
        ];
        for (bytes, expected) in cases {
            let message = check_header(bytes).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        assert!(check_header(b"\0asm\x0d\0\x01\0").is_ok());
    }
}
