//! Pull and push: blobs, uploads, manifests, tags and referrers.

use bytes::Bytes;
use http::header::{CONTENT_RANGE, HeaderName, LINK, LOCATION, RANGE};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use super::failure::Failure;
use super::host::RegistryHost;
use super::name::{Digest, Reference};
use super::route::Place;
use super::store::Manifest;
use crate::answer::{self, Answer};
use crate::call::Call;
use crate::json::at;

const CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");
const UPLOAD_ID: HeaderName = HeaderName::from_static("docker-upload-uuid");
const SUBJECT: HeaderName = HeaderName::from_static("oci-subject");
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// A page of tags when a client names no size, and the largest it may name.
const PAGE: usize = 1_000;

/// A request whose sender may do what it asks for; `may_mount` says the same of other repositories.
pub(crate) fn answer(
    host: &RegistryHost,
    call: &Call,
    name: &str,
    place: &Place,
    may_mount: &dyn Fn(&str) -> bool,
) -> Result<Answer, Failure> {
    match (place, &call.method) {
        (Place::Blob(digest), &(Method::GET | Method::HEAD)) => blob(host, name, digest),
        (Place::Uploads, &Method::POST) => begin(host, call, name, may_mount),
        (Place::Upload(id), method) => upload(host, call, name, upload_id(id)?, method),
        (Place::Manifest(reference), &(Method::GET | Method::HEAD)) => {
            manifest(host, name, reference)
        }
        (Place::Manifest(reference), &Method::PUT) => store_manifest(host, call, name, reference),
        (Place::Tags, &Method::GET) => tags(host, call, name),
        (Place::Referrers(digest), &Method::GET) => Ok(referrers(host, name, digest)),
        _ => Err(Failure::unsupported()),
    }
}

fn blob(host: &RegistryHost, name: &str, digest: &Digest) -> Result<Answer, Failure> {
    let content = host.store.with(|store| store.blob(name, digest));
    let content = content.ok_or_else(|| {
        Failure::missing("BLOB_UNKNOWN", "blob unknown to registry")
            .about(json!({"digest": digest.to_string()}))
    })?;
    let answer = answer::content(StatusCode::OK, "application/octet-stream", content);
    Ok(answer::with_header(
        answer,
        CONTENT_DIGEST,
        &digest.to_string(),
    ))
}

/// Opens an upload; with a digest and the content it is done at once, with a mount as well.
fn begin(
    host: &RegistryHost,
    call: &Call,
    name: &str,
    may_mount: &dyn Fn(&str) -> bool,
) -> Result<Answer, Failure> {
    if let (Some(mount), Some(from)) = (call.parameter("mount"), call.parameter("from")) {
        let digest = digest(Some(mount))?;
        let mounted =
            may_mount(&from) && host.store.with(|store| store.mount(&from, name, &digest));
        if mounted {
            return Ok(created(&format!("/v2/{name}/blobs/{digest}"), &digest));
        }
    }
    let id = host.store.with(|store| store.begin(name))?;
    match call.parameter("digest") {
        Some(digest) => finish(host, call, name, id, Some(digest)),
        None => Ok(progress(StatusCode::ACCEPTED, name, id, 0)),
    }
}

fn upload(
    host: &RegistryHost,
    call: &Call,
    name: &str,
    id: Uuid,
    method: &Method,
) -> Result<Answer, Failure> {
    match *method {
        Method::GET => {
            let offset = host.store.with(|store| store.offset(name, id))?;
            Ok(progress(StatusCode::NO_CONTENT, name, id, offset))
        }
        Method::PATCH => {
            let offset = append(host, call, name, id)?;
            Ok(progress(StatusCode::ACCEPTED, name, id, offset))
        }
        Method::PUT => finish(host, call, name, id, call.parameter("digest")),
        Method::DELETE => {
            host.store.with(|store| store.cancel(name, id))?;
            Ok(answer::empty(StatusCode::NO_CONTENT))
        }
        _ => Err(Failure::unsupported()),
    }
}

/// A chunk must begin where the last one ended.
fn append(host: &RegistryHost, call: &Call, name: &str, id: Uuid) -> Result<usize, Failure> {
    let offset = host.store.with(|store| store.offset(name, id))?;
    if let Some(range) = call.header(CONTENT_RANGE.as_str()) {
        let expected = (offset, offset + call.body.len());
        let found = range.split_once('-').and_then(|(first, last)| {
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            Some((first, last.checked_add(1)?))
        });
        if found != Some(expected) {
            let message = "the chunk does not begin where the last one ended";
            let status = StatusCode::RANGE_NOT_SATISFIABLE;
            return Err(Failure::new(status, "BLOB_UPLOAD_INVALID", message));
        }
    }
    host.store.with(|store| store.append(name, id, &call.body))
}

fn finish(
    host: &RegistryHost,
    call: &Call,
    name: &str,
    id: Uuid,
    claimed: Option<String>,
) -> Result<Answer, Failure> {
    let digest = digest(claimed)?;
    append(host, call, name, id)?;
    host.store.with(|store| store.finish(name, id, &digest))?;
    Ok(created(&format!("/v2/{name}/blobs/{digest}"), &digest))
}

fn manifest(host: &RegistryHost, name: &str, reference: &Reference) -> Result<Answer, Failure> {
    let found = host.store.with(|store| store.manifest(name, reference));
    let found = found.ok_or_else(|| Failure::missing("MANIFEST_UNKNOWN", "manifest unknown"))?;
    let answer = answer::content(StatusCode::OK, &found.media_type, found.content);
    Ok(answer::with_header(
        answer,
        CONTENT_DIGEST,
        &found.digest.to_string(),
    ))
}

fn store_manifest(
    host: &RegistryHost,
    call: &Call,
    name: &str,
    reference: &Reference,
) -> Result<Answer, Failure> {
    let text = match reference {
        Reference::Tag(tag) => tag.clone(),
        Reference::Digest(digest) => digest.to_string(),
    };
    let manifest = put_manifest(host, name, &text, call.media_type(), call.body.clone())?;
    let answer = created(&format!("/v2/{name}/manifests/{text}"), &manifest.digest);
    Ok(match manifest.subject {
        Some(subject) => answer::with_header(answer, SUBJECT, &subject.to_string()),
        None => answer,
    })
}

/// Checks and stores a manifest under a tag or its own digest.
pub(crate) fn put_manifest(
    host: &RegistryHost,
    name: &str,
    reference: &str,
    media_type: &str,
    content: Bytes,
) -> Result<Manifest, Failure> {
    let invalid = |message| Failure::bad("MANIFEST_INVALID", message);
    let document: Value =
        serde_json::from_slice(&content).map_err(|_| invalid("the manifest is not JSON"))?;
    if at(&document, &["schemaVersion"]).as_u64() != Some(2) {
        return Err(invalid("the schema version is not 2"));
    }
    let stated = at(&document, &["mediaType"]);
    if media_type.is_empty() || stated.as_str().is_some_and(|stated| stated != media_type) {
        return Err(invalid("the content type is not that of the manifest"));
    }
    let manifest = Manifest {
        digest: Digest::of(&content),
        media_type: media_type.to_owned(),
        subject: at(&document, &["subject", "digest"])
            .as_str()
            .and_then(Digest::parse),
        content,
    };
    let reference = Reference::parse(reference)
        .ok_or_else(|| Failure::bad("TAG_INVALID", "the reference is neither tag nor digest"))?;
    let tag = match &reference {
        Reference::Digest(digest) if *digest != manifest.digest => {
            return Err(Failure::digest_invalid());
        }
        Reference::Digest(_) => None,
        Reference::Tag(tag) => Some(tag.as_str()),
    };
    let stored = manifest.clone();
    host.store
        .with(|store| store.add_manifest(name, tag, stored))?;
    Ok(manifest)
}

fn tags(host: &RegistryHost, call: &Call, name: &str) -> Result<Answer, Failure> {
    let tags = host.store.with(|store| store.tags(name)).ok_or_else(|| {
        Failure::missing("NAME_UNKNOWN", "repository name not known to registry")
            .about(json!({"name": name}))
    })?;
    let size = match call.parameter("n") {
        None => PAGE,
        Some(size) => size
            .parse()
            .map_err(|_| Failure::bad("PAGINATION_NUMBER_INVALID", "n is not a number"))?,
    };
    let size = size.min(PAGE);
    let last = call.parameter("last").unwrap_or_default();
    let rest: Vec<&String> = tags.iter().filter(|tag| **tag > last).collect();
    let page: Vec<&String> = rest.iter().copied().take(size).collect();
    let answer = answer::json(StatusCode::OK, &json!({"name": name, "tags": page}));
    let next = page.last().filter(|_| page.len() < rest.len());
    Ok(match next {
        Some(last) => {
            let link = format!("</v2/{name}/tags/list?n={size}&last={last}>; rel=\"next\"");
            answer::with_header(answer, LINK, &link)
        }
        None => answer,
    })
}

/// An index of the manifests about another; empty if there are none.
fn referrers(host: &RegistryHost, name: &str, subject: &Digest) -> Answer {
    let found = host.store.with(|store| store.referrers(name, subject));
    let describe = |manifest: &Manifest| {
        let document: Value = serde_json::from_slice(&manifest.content).unwrap_or_default();
        let config = at(&document, &["config", "mediaType"]);
        let kind = match at(&document, &["artifactType"]) {
            Value::Null => config,
            kind => kind,
        };
        json!({
            "mediaType": manifest.media_type,
            "digest": manifest.digest.to_string(),
            "size": manifest.content.len(),
            "artifactType": kind,
            "annotations": at(&document, &["annotations"]),
        })
    };
    let manifests: Vec<Value> = found.iter().map(describe).collect();
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests});
    answer::content(StatusCode::OK, INDEX, index.to_string())
}

fn created(location: &str, digest: &Digest) -> Answer {
    let answer = answer::with_header(answer::empty(StatusCode::CREATED), LOCATION, location);
    answer::with_header(answer, CONTENT_DIGEST, &digest.to_string())
}

/// How far an upload has come; `0-0` also stands for nothing, as in the reference implementation.
fn progress(status: StatusCode, name: &str, id: Uuid, offset: usize) -> Answer {
    let location = format!("/v2/{name}/blobs/uploads/{id}");
    let answer = answer::with_header(answer::empty(status), LOCATION, &location);
    let range = format!("0-{}", offset.saturating_sub(1));
    let answer = answer::with_header(answer, RANGE, &range);
    answer::with_header(answer, UPLOAD_ID, &id.to_string())
}

fn upload_id(text: &str) -> Result<Uuid, Failure> {
    Uuid::parse_str(text)
        .map_err(|_| Failure::missing("BLOB_UPLOAD_UNKNOWN", "blob upload unknown to registry"))
}

fn digest(text: Option<String>) -> Result<Digest, Failure> {
    text.and_then(|text| Digest::parse(&text))
        .ok_or_else(|| Failure::bad("DIGEST_INVALID", "the digest is not sha256 and 64 digits"))
}
