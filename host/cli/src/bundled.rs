//! The plugins inside the program.

include!(concat!(env!("OUT_DIR"), "/plugins.rs"));

/// Their names, sorted.
pub(crate) fn names() -> Vec<&'static str> {
    PLUGINS.iter().map(|(name, _)| *name).collect()
}

/// The component of this name.
pub(crate) fn find(name: &str) -> Option<Vec<u8>> {
    let (_, bytes) = PLUGINS.iter().find(|(known, _)| *known == name)?;
    Some(bytes.to_vec())
}
