//! From files to the bytes of layers, the same bytes for the same files.

use super::media;
use super::tree::{self, Node, Tree};
use crate::failure::Failure;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use oci_client::manifest::OciDescriptor;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tar::{EntryType, Header};

/// The most that one push sends: packed, it is held in memory.
pub(crate) const MAX_PACKED: u64 = 1 << 30;

/// A layer, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) data: Bytes,
    /// Digest of what was packed.
    pub(crate) diff_id: String,
    media_type: String,
    title: Option<String>,
}

impl Layer {
    /// How the manifest names it.
    pub(crate) fn descriptor(&self) -> OciDescriptor {
        let title = |title: &String| BTreeMap::from([(media::TITLE.to_owned(), title.clone())]);
        OciDescriptor {
            annotations: self.title.as_ref().map(title),
            ..descriptor(&self.media_type, &self.data)
        }
    }
}

/// The layers, and what was left out.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) layers: Vec<Layer>,
    pub(crate) files: usize,
    pub(crate) left_out: Vec<PathBuf>,
}

/// Packs a directory or files: into one archive, or, under another media type, a layer for each file.
pub(crate) fn pack(paths: &[PathBuf], media_type: &str) -> Result<Packed, Failure> {
    if !media::is_valid(media_type) {
        return Err(Failure::usage(format!(
            "media type {media_type:?} must be TYPE/SUBTYPE"
        )));
    }
    let mut tree = tree::of(paths)?;
    let left_out: Vec<PathBuf> = tree
        .extract_if(.., |_, node| *node == Node::Other)
        .map(|(path, _)| path)
        .collect();
    let is_file = |node: &&Node| matches!(node, Node::File { .. });
    let files = tree.values().filter(is_file).count();
    if files == 0 {
        return Err(Failure::usage("there is no file to push"));
    }
    let layers = match media::is_archive(media_type) {
        true => vec![archive(&tree, media_type)?],
        false => raw(&tree, media_type)?,
    };
    Ok(Packed {
        layers,
        files,
        left_out,
    })
}

/// How a manifest names these bytes.
pub(crate) fn descriptor(media_type: &str, data: &[u8]) -> OciDescriptor {
    OciDescriptor {
        media_type: media_type.to_owned(),
        digest: sha256(data),
        size: i64::try_from(data.len()).unwrap_or(i64::MAX),
        ..OciDescriptor::default()
    }
}

/// The digest of these bytes.
pub(crate) fn sha256(data: &[u8]) -> String {
    written(Sha256::digest(data))
}

fn written(digest: impl AsRef<[u8]>) -> String {
    let hex = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
    format!("sha256:{}", hex.collect::<String>())
}

fn archive(tree: &Tree, media_type: &str) -> Result<Layer, Failure> {
    let sink = Hashing {
        inner: GzEncoder::new(Bounded(Vec::new()), Compression::default()),
        hash: Sha256::new(),
    };
    let mut builder = tar::Builder::new(sink);
    for (path, node) in tree {
        append(&mut builder, path, node)
            .map_err(|error| Failure::unreadable("what is to be packed,", path, error))?;
    }
    let finish = |error| Failure::machine("cannot pack the files", error);
    let Hashing { inner, hash } = builder.into_inner().map_err(finish)?;
    let Bounded(data) = inner.finish().map_err(finish)?;
    Ok(Layer {
        data: data.into(),
        diff_id: written(hash.finalize()),
        media_type: media_type.to_owned(),
        title: None,
    })
}

fn raw(tree: &Tree, media_type: &str) -> Result<Vec<Layer>, Failure> {
    tree.iter()
        .map(|(path, node)| {
            let (Node::File { at, .. }, Some(name)) = (node, single(path)) else {
                return Err(Failure::usage(format!(
                    "a directory cannot be pushed as {media_type}"
                ))
                .fix("leave --media-type out, or give one that ends in .tar+gzip"));
            };
            let unreadable = |error| Failure::unreadable("", at, error);
            if fs::metadata(at).map_err(unreadable)?.len() > MAX_PACKED {
                return Err(unreadable(too_large()));
            }
            let data = fs::read(at).map_err(unreadable)?;
            Ok(Layer {
                diff_id: sha256(&data),
                data: data.into(),
                media_type: media_type.to_owned(),
                title: Some(name.to_owned()),
            })
        })
        .collect()
}

/// A path of one name that others can read.
fn single(path: &Path) -> Option<&str> {
    let name = path.to_str()?;
    (path.components().count() == 1).then_some(name)
}

/// Writes an entry without what differs from machine to machine: times, owners, the umask.
fn append(builder: &mut tar::Builder<impl Write>, path: &Path, node: &Node) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    match node {
        Node::File { at, is_executable } => {
            let file = File::open(at)?;
            header.set_entry_type(EntryType::Regular);
            header.set_mode(if *is_executable { 0o755 } else { 0o644 });
            header.set_size(file.metadata()?.len());
            builder.append_data(&mut header, path, file)
        }
        _ => {
            header.set_entry_type(EntryType::Directory);
            header.set_mode(0o755);
            header.set_size(0);
            builder.append_data(&mut header, path, io::empty())
        }
    }
}

/// Memory up to [`MAX_PACKED`].
#[derive(Debug)]
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let size = self.0.len().saturating_add(data.len());
        if u64::try_from(size).map_or(true, |size| size > MAX_PACKED) {
            return Err(too_large());
        }
        self.0.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn too_large() -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        "an artifact holds at most 1 GiB",
    )
}

/// Hashes what passes through.
#[derive(Debug)]
struct Hashing<W> {
    inner: W,
    hash: Sha256,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(data)?;
        self.hash.update(data.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::super::unpack::{self, Budget};
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::time::{Duration, SystemTime};

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        folder
    }

    fn packed(folder: &tempfile::TempDir) -> Packed {
        pack(&[folder.path().to_owned()], media::FLUX_CONTENT).unwrap()
    }

    #[test]
    fn the_same_files_are_the_same_bytes() {
        let one = folder(&["b", "a/x", "a/y", "c"]);
        let other = folder(&["c", "a/y", "a/x", "b"]);
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        let file = File::options()
            .write(true)
            .open(other.path().join("b"))
            .unwrap();
        file.set_modified(long_ago).unwrap();
        fs::set_permissions(other.path().join("c"), fs::Permissions::from_mode(0o600)).unwrap();
        let [one, other] = [&one, &other].map(packed);
        assert_eq!(one.layers[0].data, other.layers[0].data);
        assert_eq!(one.files, 4);
    }

    #[test]
    fn what_is_packed_comes_out_and_what_is_left_out_is_told() {
        let source = folder(&["a/x", "run", ".git/config", "a/.git/config"]);
        let long = "n".repeat(200);
        fs::write(source.path().join(&long), "").unwrap();
        fs::set_permissions(source.path().join("run"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("/etc/passwd", source.path().join("link")).unwrap();
        let packed = packed(&source);
        assert_eq!(packed.left_out, [PathBuf::from("link")]);
        let target = tempfile::tempdir().unwrap();
        let mut budget = Budget::default();
        unpack::archive(&packed.layers[0].data, target.path(), &mut budget).unwrap();
        let unpacked = tree::read(target.path()).unwrap();
        let names: Vec<_> = unpacked.keys().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(names, ["a", "a/x", &long, "run"]);
        let is_executable = |name: &str| match &unpacked[Path::new(name)] {
            Node::File { is_executable, .. } => *is_executable,
            _ => panic!("{name} is no file"),
        };
        assert!(is_executable("run") && !is_executable("a/x"));
    }

    #[test]
    fn files_go_as_they_are_under_a_type_of_their_own() {
        let source = folder(&["m.wasm", "n.wasm"]);
        let paths = ["m.wasm", "n.wasm"].map(|name| source.path().join(name));
        let packed = pack(&paths, "application/wasm").unwrap();
        let titles: Vec<_> = packed
            .layers
            .iter()
            .map(|layer| layer.descriptor().annotations.unwrap()[media::TITLE].clone())
            .collect();
        assert_eq!(titles, ["m.wasm", "n.wasm"]);
        assert_eq!(packed.layers[0].data.as_ref(), b"m.wasm");
        assert_eq!(packed.layers[0].diff_id, sha256(b"m.wasm"));
    }

    #[test]
    fn what_cannot_be_packed_is_refused_by_name() {
        let source = folder(&["a/x", "b/x"]);
        let empty = tempfile::tempdir().unwrap();
        let at = |name: &str| source.path().join(name);
        for (paths, media_type, word) in [
            (vec![at("absent")], media::FLUX_CONTENT, "absent"),
            (vec![at("a"), at("b")], media::FLUX_CONTENT, "one directory"),
            (vec![at("a/x"), at("b/x")], media::FLUX_CONTENT, "two files"),
            (vec![at("")], "application/wasm", "a directory"),
            (vec![at("a/x")], "wasm", "TYPE/SUBTYPE"),
            (
                vec![empty.path().to_owned()],
                media::FLUX_CONTENT,
                "no file",
            ),
        ] {
            let report = pack(&paths, media_type).unwrap_err().report();
            assert!(report.contains(word), "{report}");
        }
    }
}
