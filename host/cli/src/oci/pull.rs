//! `gatepass oci pull`.

use super::address::Address;
use super::login::{Logins, Source};
use super::media;
use super::registry::{Manifest, Operation, Registry};
use super::unpack::{self, Budget};
use crate::arguments::{Global, Pull};
use crate::failure::Failure;
use crate::output::table;
use gatepass::ErrorKind;
use oci_client::Reference;
use oci_client::manifest::{IMAGE_MANIFEST_MEDIA_TYPE, OCI_IMAGE_MEDIA_TYPE, OciImageManifest};
use serde_json::json;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// The manifests of one artifact. Lists of them name a platform each, which no artifact has.
pub(crate) const MANIFESTS: &[&str] = &[OCI_IMAGE_MEDIA_TYPE, IMAGE_MANIFEST_MEDIA_TYPE];

/// Unpacks beside the directory and renames: either all of the artifact is there, or nothing.
pub(crate) async fn run(global: &Global, flags: &Pull) -> Result<(), Failure> {
    let format = super::format(global, "pull")?;
    let address = Address::to_pull(&flags.reference)?;
    let place = Place::of(&flags.directory)?;
    let source = Source::open(global, &flags.access, &address).await?;
    let registry = Registry::open(address, &flags.access, source, Operation::Pull).await?;
    let (digest, manifest) = fetch(&registry, place.folder.path()).await?;
    place.settle(&flags.directory)?;

    let artifact = registry.address().pinned(&digest);
    let annotations = manifest.annotations.unwrap_or_default();
    let directory = flags.directory.display().to_string();
    let result = json!({
        "artifact": artifact,
        "digest": digest,
        "directory": directory,
        "annotations": annotations,
    });
    super::print(format, &result, || {
        let mut facts = vec![
            ("artifact".to_owned(), artifact.clone()),
            ("directory".to_owned(), directory.clone()),
        ];
        facts.extend(annotations.clone());
        table::pairs(&facts)
    })
}

/// Fetches an artifact into a directory that nobody else writes to.
pub(crate) async fn fetch<L: Logins>(
    registry: &Registry<L>,
    into: &Path,
) -> Result<(String, OciImageManifest), Failure> {
    let reference = registry.address().reference();
    let fetched = registry.manifest(reference, MANIFESTS).await?;
    let manifest = parse(&fetched, reference)?;
    let mut budget = Budget::default();
    for layer in &manifest.layers {
        let title = layer
            .annotations
            .as_ref()
            .and_then(|annotations| annotations.get(media::TITLE));
        let is_archive = media::is_archive(&layer.media_type);
        let unfit = !is_archive && title.is_none();
        if unfit {
            return Err(Failure::registry(
                ErrorKind::Configuration,
                format!(
                    "layer {} of type {:?} is neither an archive (…tar+gzip) nor a file with a title",
                    layer.digest, layer.media_type
                ),
            ));
        }
        let data = registry.blob(layer).await?;
        match title.filter(|_| !is_archive) {
            Some(name) => unpack::file(name, &data, into, &mut budget)?,
            None => unpack::archive(&data, into, &mut budget)?,
        }
    }
    Ok((fetched.digest, manifest))
}

fn parse(manifest: &Manifest, reference: &Reference) -> Result<OciImageManifest, Failure> {
    let parsed: Result<OciImageManifest, _> = serde_json::from_slice(&manifest.bytes);
    match parsed {
        Ok(parsed) if !parsed.layers.is_empty() => Ok(parsed),
        _ => Err(Failure::registry(
            ErrorKind::Configuration,
            format!(
                "{} is no artifact: its manifest is none with layers",
                reference.whole()
            ),
        )
        .fix("of a list for several platforms, name one by its digest")),
    }
}

/// A directory in the making, beside the one that it will be.
#[derive(Debug)]
struct Place {
    folder: TempDir,
}

impl Place {
    fn of(directory: &Path) -> Result<Self, Failure> {
        match fs::read_dir(directory).map(Iterator::count) {
            Ok(1..) => {
                return Err(
                    Failure::usage(format!("{} is not empty", directory.display()))
                        .fix("name a directory that is not there yet, or is empty"),
                );
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(Failure::unreadable("the directory", directory, error));
            }
        }
        let directory = std::path::absolute(directory)
            .map_err(|error| Failure::unreadable("the directory", directory, error))?;
        let parent = directory.parent().unwrap_or(&directory);
        let make = || {
            fs::create_dir_all(parent)?;
            tempfile::Builder::new()
                .prefix(".gatepass-")
                .tempdir_in(parent)
        };
        let folder = make().map_err(|error| {
            Failure::configuration(format!("cannot write to {}", parent.display())).because(error)
        })?;
        Ok(Self { folder })
    }

    fn settle(self, directory: &Path) -> Result<(), Failure> {
        // The directory was private while it was made; now it is one like others.
        open_to_all(self.folder.path())
            .and_then(|()| fs::rename(self.folder.path(), directory))
            .map_err(|error| {
                Failure::configuration(format!("cannot make {}", directory.display()))
                    .because(error)
            })
    }
}

#[cfg(unix)]
fn open_to_all(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn open_to_all(_: &Path) -> std::io::Result<()> {
    Ok(())
}
