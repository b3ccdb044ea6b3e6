//! From the bytes of layers to files: nothing leaves the directory, nothing is without bounds.

use crate::failure::Failure;
use flate2::read::MultiGzDecoder;
use gatepass::ErrorKind;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use tar::{Entry, EntryType};

/// The most that an artifact may unpack to: a gigabyte of zeros packs into a megabyte.
pub(crate) const MAX_UNPACKED: u64 = 4 << 30;
/// The most entries: each costs an inode, and nothing in the archive.
pub(crate) const MAX_ENTRIES: usize = 200_000;

/// What may still be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) bytes: u64,
    pub(crate) entries: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            bytes: MAX_UNPACKED,
            entries: MAX_ENTRIES,
        }
    }
}

impl Budget {
    /// Headers and padding have an end too: three blocks of 512 bytes for an entry, and a MiB for long
    /// names and the archive's own padding.
    fn with_headers(&self) -> u64 {
        let entries = u64::try_from(self.entries).unwrap_or(u64::MAX);
        let headers = entries.saturating_mul(1536).saturating_add(1 << 20);
        self.bytes.saturating_add(headers)
    }

    fn spend(&mut self, bytes: u64) -> Result<(), Fault> {
        let left = (self.bytes.checked_sub(bytes), self.entries.checked_sub(1));
        let (Some(bytes), Some(entries)) = left else {
            return Err(Fault(format!(
                "unpacks to more than {} GiB or {MAX_ENTRIES} entries",
                MAX_UNPACKED >> 30
            )));
        };
        *self = Self { bytes, entries };
        Ok(())
    }
}

/// Unpacks a compressed archive into a directory that nobody else writes to.
pub(crate) fn archive(data: &[u8], into: &Path, budget: &mut Budget) -> Result<(), Failure> {
    Ok(unpack(data, into, budget)?)
}

/// Writes a layer that is one file.
pub(crate) fn file(
    name: &str,
    data: &[u8],
    into: &Path,
    budget: &mut Budget,
) -> Result<(), Failure> {
    Ok(one_file(name, data, into, budget)?)
}

fn one_file(name: &str, data: &[u8], into: &Path, budget: &mut Budget) -> Result<(), Fault> {
    let path = relative(Path::new(name))?;
    if path.components().count() != 1 {
        return Err(Fault(format!("names its file {name:?}, which is a path")));
    }
    budget.spend(data.len() as u64)?;
    create(&into.join(path), false)
        .and_then(|mut file| file.write_all(data))
        .map_err(|error| Fault(format!("holds {name:?}, which cannot be written: {error}")))
}

/// What is wrong with an artifact, to be read after these two words.
#[derive(Debug)]
struct Fault(String);

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self(format!("is no whole tar+gzip archive: {error}"))
    }
}

/// The artifact is to blame, and so whoever pushed it.
impl From<Fault> for Failure {
    fn from(Fault(rule): Fault) -> Self {
        Self::registry(ErrorKind::Configuration, format!("the artifact {rule}"))
            .fix("do not trust it; its author must push it anew")
    }
}

fn unpack(data: &[u8], into: &Path, budget: &mut Budget) -> Result<(), Fault> {
    let limit = budget.with_headers();
    let reader = MultiGzDecoder::new(data).take(limit);
    let mut archive = tar::Archive::new(reader);
    let mut links = BTreeMap::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            continue;
        }
        let path = relative(&entry.path()?)?;
        budget.spend(entry.size())?;
        if path.as_os_str().is_empty() {
            continue;
        }
        match kind {
            EntryType::Directory => directory(into, &path)?,
            EntryType::Regular | EntryType::Continuous => regular(&mut entry, into, &path)?,
            EntryType::Symlink => {
                let target = entry.link_name()?.unwrap_or_default();
                if !stays_inside(&path, &target) {
                    return Err(Fault(format!(
                        "holds the link {path:?} that leads out of it"
                    )));
                }
                links.insert(path, target.into_owned());
            }
            _ => {
                return Err(Fault(format!(
                    "holds {path:?}, which is no file, directory or symbolic link"
                )));
            }
        }
    }
    // To the end, where the checksum is.
    io::copy(&mut archive.into_inner(), &mut io::sink())?;
    link(into, links)
}

/// The path below the root: without `.`, never with `..`, never absolute.
fn relative(path: &Path) -> Result<PathBuf, Fault> {
    path.components()
        .filter(|component| *component != Component::CurDir)
        .map(|component| match component {
            Component::Normal(name) => Ok(name),
            _ => Err(Fault(format!("holds {path:?}, which lies outside of it"))),
        })
        .collect()
}

/// Whether a link at this path leads to something below the root, whatever other links are there.
///
/// Its first `..` go up through real directories. After a name, which may be a link itself, no `..` may
/// follow: it would go up from where that link leads.
fn stays_inside(path: &Path, target: &Path) -> bool {
    let depth = path.components().count().saturating_sub(1);
    let mut rest = target
        .components()
        .filter(|component| *component != Component::CurDir)
        .peekable();
    let mut up = 0;
    while rest.next_if_eq(&Component::ParentDir).is_some() {
        up += 1;
    }
    !target.as_os_str().is_empty()
        && up <= depth
        && rest.all(|component| matches!(component, Component::Normal(_)))
}

fn directory(into: &Path, path: &Path) -> Result<(), Fault> {
    fs::create_dir_all(into.join(path))
        .map_err(|error| Fault(format!("holds {path:?}, which cannot be made: {error}")))
}

fn regular(entry: &mut Entry<'_, impl Read>, into: &Path, path: &Path) -> Result<(), Fault> {
    directory(into, path.parent().unwrap_or(Path::new("")))?;
    let is_executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
    let size = entry.size();
    let mut file = create(&into.join(path), is_executable)
        .map_err(|error| Fault(format!("holds {path:?}, which cannot be written: {error}")))?;
    match io::copy(entry, &mut file) {
        Ok(copied) if copied == size => Ok(()),
        Ok(_) => Err(Fault(format!("ends within {path:?}"))),
        Err(error) => Err(error.into()),
    }
}

/// Makes a file that is not there yet: two entries of one name are a trick.
fn create(path: &Path, is_executable: bool) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    mode(&mut options, is_executable);
    options.open(path)
}

#[cfg(unix)]
fn mode(options: &mut OpenOptions, is_executable: bool) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(if is_executable { 0o755 } else { 0o644 });
}

#[cfg(not(unix))]
fn mode(_: &mut OpenOptions, _: bool) {}

/// Makes the links last, when nothing is written any more that could go through one; all the
/// directories that hold one are made before the first.
fn link(into: &Path, links: BTreeMap<PathBuf, PathBuf>) -> Result<(), Fault> {
    for path in links.keys() {
        directory(into, path.parent().unwrap_or(Path::new("")))?;
    }
    for (path, target) in links {
        symlink(&target, &into.join(&path)).map_err(|error| {
            Fault(format!(
                "holds the link {path:?}, which cannot be made: {error}"
            ))
        })?;
    }
    Ok(())
}

#[cfg(unix)]
fn symlink(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::Header;

    /// An entry as an attacker writes it: no library checks its names.
    fn entry(kind: EntryType, path: &str, target: &str, data: &[u8]) -> Vec<u8> {
        let mut header = Header::new_old();
        header.set_entry_type(kind);
        header.set_mode(0o755);
        header.set_size(data.len() as u64);
        let bytes = header.as_mut_bytes();
        bytes[..path.len()].copy_from_slice(path.as_bytes());
        bytes[157..157 + target.len()].copy_from_slice(target.as_bytes());
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }

    fn file_entry(path: &str, data: &str) -> Vec<u8> {
        entry(EntryType::Regular, path, "", data.as_bytes())
    }

    fn link_entry(path: &str, target: &str) -> Vec<u8> {
        entry(EntryType::Symlink, path, target, b"")
    }

    fn gzip(tar: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(tar).unwrap();
        encoder.finish().unwrap()
    }

    fn packed(entries: &[Vec<u8>]) -> Vec<u8> {
        let mut tar = entries.concat();
        tar.resize(tar.len() + 1024, 0);
        gzip(&tar)
    }

    /// Unpacks below a folder, so that what escapes is seen beside it.
    fn unpacked(archive: &[u8], mut budget: Budget) -> (tempfile::TempDir, Result<(), Failure>) {
        let folder = tempfile::tempdir().unwrap();
        let into = folder.path().join("into");
        fs::create_dir(&into).unwrap();
        let result = super::archive(archive, &into, &mut budget);
        let beside = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(beside, 1, "something was written outside");
        (folder, result)
    }

    #[test]
    fn files_directories_and_links_within_are_unpacked() {
        let archive = packed(&[
            file_entry("./a/b", "1"),
            entry(EntryType::Directory, "empty/", "", b""),
            link_entry("a/l", "../a/b"),
            link_entry("dangling", "nowhere/at/all"),
        ]);
        let (folder, result) = unpacked(&archive, Budget::default());
        result.unwrap();
        let into = folder.path().join("into");
        assert_eq!(fs::read_to_string(into.join("a/l")).unwrap(), "1");
        assert!(into.join("empty").is_dir());
    }

    #[test]
    fn what_leads_out_is_refused_and_nothing_is_written_there() {
        let hard = |target| entry(EntryType::Link, "h", target, b"");
        let cases: [(&str, Vec<Vec<u8>>); 14] = [
            ("dots", vec![file_entry("../x", "1")]),
            ("dots within", vec![file_entry("a/../../x", "1")]),
            ("absolute", vec![file_entry("/tmp/gatepass-x", "1")]),
            (
                "directory",
                vec![entry(EntryType::Directory, "../x", "", b"")],
            ),
            ("link up", vec![link_entry("l", "..")]),
            ("link absolute", vec![link_entry("l", "/etc")]),
            ("link nowhere", vec![link_entry("l", "")]),
            ("link deep", vec![link_entry("a/l", "../../x")]),
            (
                "link by a link",
                vec![link_entry("x/y/d", "../.."), link_entry("x/y/e", "d/..")],
            ),
            (
                "file through a link",
                vec![link_entry("l", "a"), file_entry("l/x", "1")],
            ),
            (
                "link through a link",
                vec![
                    file_entry("a/b/c", "1"),
                    link_entry("l", "a/b"),
                    link_entry("l/m", ".."),
                ],
            ),
            ("hard link", vec![file_entry("x", "1"), hard("x")]),
            ("fifo", vec![entry(EntryType::Fifo, "p", "", b"")]),
            ("twice", vec![file_entry("x", "1"), file_entry("./x", "2")]),
        ];
        for (name, entries) in cases {
            let (_folder, result) = unpacked(&packed(&entries), Budget::default());
            let report = result.expect_err(name).report();
            assert!(report.contains("the artifact "), "{name}: {report}");
        }
    }

    #[test]
    fn what_is_broken_is_refused() {
        let whole = packed(&[file_entry("a", &"x".repeat(5000))]);
        let short = {
            let mut tar = file_entry("a", "12");
            tar.truncate(513);
            gzip(&tar)
        };
        let mut checksum = whole.clone();
        let last = checksum.len() - 6;
        checksum[last] ^= 1;
        for (name, archive) in [
            ("nothing", Vec::new()),
            ("no gzip", b"canary".to_vec()),
            ("no tar", gzip(&[7; 2048])),
            ("cut off", whole[..whole.len() - 20].to_vec()),
            ("cut within a file", short),
            ("checksum", checksum),
        ] {
            let (_folder, result) = unpacked(&archive, Budget::default());
            assert!(result.is_err(), "{name}");
        }
    }

    #[test]
    fn a_bomb_ends_at_the_budget() {
        let budget = Budget {
            bytes: 1000,
            entries: 3,
        };
        let many: Vec<_> = (0..4).map(|i| file_entry(&format!("f{i}"), "")).collect();
        for (name, entries, fits) in [
            ("fits", vec![file_entry("a", &"x".repeat(1000))], true),
            (
                "one byte more",
                vec![file_entry("a", &"x".repeat(1001))],
                false,
            ),
            ("many entries", many, false),
        ] {
            let (_folder, result) = unpacked(&packed(&entries), budget);
            assert_eq!(result.is_ok(), fits, "{name}");
        }
        let (_folder, result) = unpacked(&gzip(&vec![0; 1 << 20]), budget);
        // Nothing but padding: read to the bound, and nothing is made of it.
        assert!(result.is_ok());
    }

    #[test]
    fn a_file_of_its_own_has_a_name_and_no_path() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| file(name, b"1", folder.path(), &mut Budget::default());
        write("a.yaml").unwrap();
        for name in ["a.yaml", "../x", "/x", "a/b", "..", "", "."] {
            assert!(write(name).is_err(), "{name}");
        }
    }
}
