//! `gatepass oci tag`.

use super::address::Address;
use super::login::Source;
use super::pull::MANIFESTS;
use super::registry::{Operation, Registry};
use crate::arguments::{Global, Tag};
use crate::failure::Failure;
use crate::output::table;
use oci_client::Reference;
use oci_client::manifest::{
    IMAGE_MANIFEST_LIST_MEDIA_TYPE, OCI_IMAGE_INDEX_MEDIA_TYPE, OCI_IMAGE_MEDIA_TYPE,
};
use serde_json::{Value, json};

/// Lists of manifests, which can be tagged as well.
pub(crate) const INDEXES: &[&str] = &[OCI_IMAGE_INDEX_MEDIA_TYPE, IMAGE_MANIFEST_LIST_MEDIA_TYPE];

/// Puts the manifest, byte for byte, under the further tags: its blobs are there already.
pub(crate) async fn run(global: &Global, flags: &Tag) -> Result<(), Failure> {
    let format = super::format(global, "tag")?;
    let address = Address::to_pull(&flags.reference)?;
    let tagged: Vec<Reference> = flags
        .tag
        .iter()
        .map(|tag| address.tagged(tag))
        .collect::<Result<_, _>>()?;
    let source = Source::open(global, &flags.access, &address).await?;
    let registry = Registry::open(address, &flags.access, source, Operation::Push).await?;
    let both = [MANIFESTS, INDEXES].concat();
    let manifest = registry
        .manifest(registry.address().reference(), &both)
        .await?;
    let media_type = media_type(&manifest.bytes);
    for reference in &tagged {
        registry
            .push_manifest(reference, manifest.bytes.clone(), &media_type)
            .await?;
    }
    let artifact = registry.address().pinned(&manifest.digest);
    let result = json!({ "artifact": artifact, "digest": manifest.digest, "tags": flags.tag });
    super::print(format, &result, || {
        table::pairs(&[
            ("artifact".to_owned(), artifact.clone()),
            ("tags".to_owned(), flags.tag.join(", ")),
        ])
    })
}

/// What a manifest says that it is. Old OCI ones say nothing, and are told apart by their lists.
fn media_type(manifest: &[u8]) -> String {
    let parsed: Value = serde_json::from_slice(manifest).unwrap_or_default();
    let said = parsed.get("mediaType").and_then(Value::as_str);
    let guessed = match parsed.get("manifests") {
        Some(_) => OCI_IMAGE_INDEX_MEDIA_TYPE,
        None => OCI_IMAGE_MEDIA_TYPE,
    };
    said.unwrap_or(guessed).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_put_back_as_what_it_is() {
        for (manifest, expected) in [
            (r#"{"mediaType":"application/x"}"#, "application/x"),
            (r#"{"layers":[]}"#, OCI_IMAGE_MEDIA_TYPE),
            (r#"{"manifests":[]}"#, OCI_IMAGE_INDEX_MEDIA_TYPE),
            (r#"{"mediaType":1}"#, OCI_IMAGE_MEDIA_TYPE),
        ] {
            assert_eq!(media_type(manifest.as_bytes()), expected, "{manifest}");
        }
    }
}
