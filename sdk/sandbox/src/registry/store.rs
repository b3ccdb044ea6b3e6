//! What a registry host holds, within bounds.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

use super::failure::Failure;
use super::name::{Digest, Reference};
use crate::json::at;

/// All content of a host together, unfinished uploads among it.
const MAXIMUM_BYTES: usize = 256 * 1024 * 1024;
const MAXIMUM_UPLOADS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Store {
    repositories: BTreeMap<String, Repository>,
    uploads: HashMap<Uuid, Upload>,
    held_bytes: usize,
}

#[derive(Debug, Default)]
struct Repository {
    blobs: BTreeMap<Digest, Bytes>,
    manifests: BTreeMap<Digest, Manifest>,
    tags: BTreeMap<String, Digest>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) digest: Digest,
    pub(crate) media_type: String,
    pub(crate) content: Bytes,
    /// What it is about: the digest of another manifest, which need not be there.
    pub(crate) subject: Option<Digest>,
}

#[derive(Debug)]
struct Upload {
    repository: String,
    content: Vec<u8>,
}

impl Store {
    pub(crate) fn blob(&self, repository: &str, digest: &Digest) -> Option<Bytes> {
        self.repositories
            .get(repository)?
            .blobs
            .get(digest)
            .cloned()
    }

    pub(crate) fn add_blob(&mut self, repository: &str, content: Bytes) -> Result<Digest, Failure> {
        let digest = Digest::of(&content);
        if self.blob(repository, &digest).is_none() {
            self.hold(content.len())?;
            self.repository(repository)
                .blobs
                .insert(digest.clone(), content);
        }
        Ok(digest)
    }

    /// Makes a blob of one repository known in another.
    pub(crate) fn mount(&mut self, from: &str, to: &str, digest: &Digest) -> bool {
        let Some(content) = self.blob(from, digest) else {
            return false;
        };
        self.repository(to).blobs.insert(digest.clone(), content);
        true
    }

    pub(crate) fn begin(&mut self, repository: &str) -> Result<Uuid, Failure> {
        if self.uploads.len() >= MAXIMUM_UPLOADS {
            let message = "too many uploads are open";
            return Err(Failure::new(
                StatusCode::TOO_MANY_REQUESTS,
                "TOOMANYREQUESTS",
                message,
            ));
        }
        let id = Uuid::new_v4();
        let upload = Upload {
            repository: repository.to_owned(),
            content: Vec::new(),
        };
        self.uploads.insert(id, upload);
        Ok(id)
    }

    /// How many bytes of an upload have arrived.
    pub(crate) fn offset(&self, repository: &str, id: Uuid) -> Result<usize, Failure> {
        let upload = self.uploads.get(&id);
        let upload = upload.filter(|upload| upload.repository == repository);
        upload
            .map(|upload| upload.content.len())
            .ok_or_else(unknown_upload)
    }

    pub(crate) fn append(
        &mut self,
        repository: &str,
        id: Uuid,
        content: &[u8],
    ) -> Result<usize, Failure> {
        self.offset(repository, id)?;
        self.hold(content.len())?;
        let upload = self.uploads.get_mut(&id).ok_or_else(unknown_upload)?;
        upload.content.extend_from_slice(content);
        Ok(upload.content.len())
    }

    /// Ends an upload: its content becomes a blob if it has this digest, and is dropped if not.
    pub(crate) fn finish(
        &mut self,
        repository: &str,
        id: Uuid,
        digest: &Digest,
    ) -> Result<(), Failure> {
        let content = self.cancel(repository, id)?;
        if Digest::of(&content) != *digest {
            return Err(Failure::digest_invalid());
        }
        self.add_blob(repository, Bytes::from(content)).map(drop)
    }

    pub(crate) fn cancel(&mut self, repository: &str, id: Uuid) -> Result<Vec<u8>, Failure> {
        self.offset(repository, id)?;
        let upload = self.uploads.remove(&id).ok_or_else(unknown_upload)?;
        self.held_bytes = self.held_bytes.saturating_sub(upload.content.len());
        Ok(upload.content)
    }

    pub(crate) fn manifest(&self, repository: &str, reference: &Reference) -> Option<Manifest> {
        let repository = self.repositories.get(repository)?;
        let digest = match reference {
            Reference::Digest(digest) => digest,
            Reference::Tag(tag) => repository.tags.get(tag)?,
        };
        repository.manifests.get(digest).cloned()
    }

    /// Stores a manifest whose parts are all there.
    pub(crate) fn add_manifest(
        &mut self,
        repository: &str,
        tag: Option<&str>,
        manifest: Manifest,
    ) -> Result<(), Failure> {
        self.check_parts(repository, &manifest.content)?;
        let reference = Reference::Digest(manifest.digest.clone());
        if self.manifest(repository, &reference).is_none() {
            self.hold(manifest.content.len())?;
        }
        let repository = self.repository(repository);
        if let Some(tag) = tag {
            repository
                .tags
                .insert(tag.to_owned(), manifest.digest.clone());
        }
        repository
            .manifests
            .insert(manifest.digest.clone(), manifest);
        Ok(())
    }

    fn check_parts(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        let unknown = |digest: &Value| {
            Failure::bad("MANIFEST_BLOB_UNKNOWN", "blob unknown to registry")
                .about(json!({"digest": digest}))
        };
        let document: Value = serde_json::from_slice(content).unwrap_or_default();
        let repository = self.repositories.get(name);
        let list = |field: &str| {
            at(&document, &[field])
                .as_array()
                .cloned()
                .unwrap_or_default()
        };
        let config = document.get("config").cloned();
        for blob in config.into_iter().chain(list("layers")) {
            let digest = at(&blob, &["digest"]);
            let known = digest
                .as_str()
                .and_then(Digest::parse)
                .is_some_and(|digest| {
                    repository.is_some_and(|held| held.blobs.contains_key(&digest))
                });
            if !known {
                return Err(unknown(digest));
            }
        }
        for manifest in list("manifests") {
            let digest = at(&manifest, &["digest"]);
            let known = digest
                .as_str()
                .and_then(Digest::parse)
                .is_some_and(|digest| {
                    repository.is_some_and(|held| held.manifests.contains_key(&digest))
                });
            if !known {
                return Err(unknown(digest));
            }
        }
        Ok(())
    }

    /// The tags of a repository in their order; none if there is no such repository.
    pub(crate) fn tags(&self, repository: &str) -> Option<Vec<String>> {
        let repository = self.repositories.get(repository)?;
        Some(repository.tags.keys().cloned().collect())
    }

    /// The manifests that are about another.
    pub(crate) fn referrers(&self, repository: &str, subject: &Digest) -> Vec<Manifest> {
        let manifests = self
            .repositories
            .get(repository)
            .map(|held| &held.manifests);
        manifests
            .into_iter()
            .flat_map(BTreeMap::values)
            .filter(|manifest| manifest.subject.as_ref() == Some(subject))
            .cloned()
            .collect()
    }

    fn repository(&mut self, name: &str) -> &mut Repository {
        self.repositories.entry(name.to_owned()).or_default()
    }

    fn hold(&mut self, count: usize) -> Result<(), Failure> {
        let held = self.held_bytes.saturating_add(count);
        if held > MAXIMUM_BYTES {
            let message = "the registry is full: it holds 256 MiB";
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            return Err(Failure::new(status, "SIZE_INVALID", message));
        }
        self.held_bytes = held;
        Ok(())
    }
}

fn unknown_upload() -> Failure {
    Failure::missing("BLOB_UPLOAD_UNKNOWN", "blob upload unknown to registry")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_store_takes_no_more_and_room_comes_back() {
        let mut store = Store::default();
        let id = store.begin("a").unwrap();
        store.hold(MAXIMUM_BYTES - 1).unwrap();
        assert_eq!(store.append("a", id, b"x").unwrap(), 1);
        assert_eq!(
            store.append("a", id, b"y").unwrap_err().code,
            "SIZE_INVALID"
        );
        store.cancel("a", id).unwrap();
        let id = store.begin("a").unwrap();
        assert_eq!(store.append("a", id, b"z").unwrap(), 1);
    }

    #[test]
    fn open_uploads_are_counted() {
        let mut store = Store::default();
        for _ in 0..MAXIMUM_UPLOADS {
            store.begin("a").unwrap();
        }
        assert_eq!(store.begin("a").unwrap_err().code, "TOOMANYREQUESTS");
    }
}
