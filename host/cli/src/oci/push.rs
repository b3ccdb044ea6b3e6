//! `gatepass oci push`.

use super::address::Address;
use super::login::Source;
use super::registry::{Operation, Registry};
use super::{media, pack};
use crate::arguments::{Global, Push};
use crate::failure::Failure;
use crate::output::table;
use crate::terminal;
use bytes::Bytes;
use oci_client::manifest::{OCI_IMAGE_MEDIA_TYPE, OciDescriptor, OciImageManifest};
use pack::{Layer, Packed};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Packs, sends the blobs that the registry lacks, and last the manifest: what is found under the tag
/// is whole.
pub(crate) async fn run(global: &Global, flags: &Push) -> Result<(), Failure> {
    let format = super::format(global, "push")?;
    let address = Address::to_push(&flags.content.reference)?;
    let annotations = annotations(flags)?;
    let packed = pack::pack(&flags.content.paths, &flags.content.media_type)?;
    note_left_out(&packed.left_out);
    let config = config(&packed);
    let manifest = manifest(flags, &packed, &config, annotations)?;

    let source = Source::open(global, &flags.access, &address).await?;
    let registry = Registry::open(address, &flags.access, source, Operation::Push).await?;
    for Layer { data, .. } in &packed.layers {
        registry
            .push_blob(data.clone(), &pack::sha256(data))
            .await?;
    }
    registry
        .push_blob(config.clone(), &pack::sha256(&config))
        .await?;
    let digest = pack::sha256(&manifest);
    let address = registry.address();
    registry
        .push_manifest(address.reference(), manifest, OCI_IMAGE_MEDIA_TYPE)
        .await?;

    let size: usize = packed.layers.iter().map(|layer| layer.data.len()).sum();
    let (artifact, tag) = (address.pinned(&digest), address.reference().tag());
    let result = json!({
        "artifact": artifact,
        "repository": address.repository().as_str(),
        "tag": tag,
        "digest": digest,
        "files": packed.files,
        "size": size,
    });
    super::print(format, &result, || {
        let fact = |name: &str, value: String| (name.to_owned(), value);
        table::pairs(&[
            fact("artifact", artifact.clone()),
            fact("tag", tag.unwrap_or_default().to_owned()),
            fact("files", packed.files.to_string()),
            fact("bytes", size.to_string()),
        ])
    })
}

fn note_left_out(paths: &[PathBuf]) {
    for path in paths {
        let path = path.display().to_string();
        let path = terminal::visible(&path);
        terminal::talk(&format!(
            "note: left out {path}: it is no file or directory\n"
        ));
    }
}

/// The config of an artifact that is run nowhere. It says no time, so that the same files have the same
/// digest.
fn config(packed: &Packed) -> Bytes {
    let layers: Vec<&str> = packed
        .layers
        .iter()
        .map(|layer| layer.diff_id.as_str())
        .collect();
    let config = json!({
        "architecture": "",
        "os": "",
        "config": {},
        "rootfs": { "type": "layers", "diff_ids": layers },
    });
    config.to_string().into()
}

fn manifest(
    flags: &Push,
    packed: &Packed,
    config: &Bytes,
    annotations: BTreeMap<String, String>,
) -> Result<Bytes, Failure> {
    let config_type = &flags.config_media_type;
    if !media::is_valid(config_type) {
        return Err(Failure::usage(format!(
            "media type {config_type:?} must be TYPE/SUBTYPE"
        )));
    }
    let layers: Vec<OciDescriptor> = packed.layers.iter().map(Layer::descriptor).collect();
    let manifest = OciImageManifest {
        media_type: Some(OCI_IMAGE_MEDIA_TYPE.to_owned()),
        config: pack::descriptor(config_type, config),
        layers,
        annotations: (!annotations.is_empty()).then_some(annotations),
        ..OciImageManifest::default()
    };
    let text = serde_json::to_vec(&manifest)
        .map_err(|error| Failure::machine("cannot write the manifest", error))?;
    Ok(text.into())
}

fn annotations(flags: &Push) -> Result<BTreeMap<String, String>, Failure> {
    let own = [
        (media::SOURCE, &flags.source),
        (media::REVISION, &flags.revision),
    ];
    let own = own
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
    let mut annotations = BTreeMap::new();
    for (name, value) in own.chain(flags.annotation.iter().cloned()) {
        if annotations.insert(name.clone(), value).is_some() {
            return Err(
                Failure::usage(format!("annotation {name:?} is given twice"))
                    .fix("--source and --revision are annotations too"),
            );
        }
    }
    Ok(annotations)
}
