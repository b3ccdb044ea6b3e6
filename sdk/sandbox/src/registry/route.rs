//! What a path under `/v2/` stands for.

use super::failure::Failure;
use super::name::{Digest, Reference, is_repository};
use crate::call::Call;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/v2/`: whether the client is let in at all.
    Base,
    Repository {
        name: String,
        place: Place,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Blob(Digest),
    Uploads,
    Upload(String),
    Manifest(Reference),
    Tags,
    Referrers(Digest),
}

impl Route {
    pub(crate) fn of(call: &Call) -> Result<Self, Failure> {
        let path = call.path.strip_prefix("/v2").ok_or_else(not_found)?;
        if path.is_empty() || path == "/" {
            return Ok(Self::Base);
        }
        let segments = call.segments();
        let segments: Vec<&str> = segments.iter().skip(1).map(AsRef::as_ref).collect();
        let (name, place) = match segments.as_slice() {
            // Before blobs: `uploads` could not be a digest.
            [name @ .., "blobs", "uploads"] => (name, Place::Uploads),
            [name @ .., "blobs", "uploads", id] => (name, Place::Upload((*id).to_owned())),
            [name @ .., "blobs", digest] => (name, Place::Blob(parse_digest(digest)?)),
            [name @ .., "manifests", reference] => {
                (name, Place::Manifest(parse_reference(reference)?))
            }
            [name @ .., "tags", "list"] => (name, Place::Tags),
            [name @ .., "referrers", digest] => (name, Place::Referrers(parse_digest(digest)?)),
            _ => return Err(not_found()),
        };
        let name = name.join("/");
        if !is_repository(&name) {
            return Err(Failure::bad("NAME_INVALID", "invalid repository name"));
        }
        Ok(Self::Repository { name, place })
    }
}

fn parse_digest(text: &str) -> Result<Digest, Failure> {
    Digest::parse(text)
        .ok_or_else(|| Failure::bad("DIGEST_INVALID", "the digest is not sha256 and 64 digits"))
}

fn parse_reference(text: &str) -> Result<Reference, Failure> {
    Reference::parse(text)
        .ok_or_else(|| Failure::bad("TAG_INVALID", "the reference is neither tag nor digest"))
}

fn not_found() -> Failure {
    Failure::missing("UNSUPPORTED", "no such path")
}
