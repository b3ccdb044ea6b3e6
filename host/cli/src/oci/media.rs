//! Media types, and which of them are archives.

/// The config of Flux's artifacts (`CanonicalConfigMediaType` in fluxcd/pkg/oci).
pub(crate) const FLUX_CONFIG: &str = "application/vnd.cncf.flux.config.v1+json";
/// Their layer (`CanonicalContentMediaType`).
pub(crate) const FLUX_CONTENT: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";

/// Names a file in a layer that is no archive (OCI image specification, annotations).
pub(crate) const TITLE: &str = "org.opencontainers.image.title";
/// Where the content comes from; Flux shows it.
pub(crate) const SOURCE: &str = "org.opencontainers.image.source";
/// Which state of the source it is; Flux makes it the artifact's revision.
pub(crate) const REVISION: &str = "org.opencontainers.image.revision";

/// Whether a layer is a compressed archive: `…tar+gzip`, or Docker's `…tar.gzip`.
pub(crate) fn is_archive(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    [".tar+gzip", ".tar.gzip"]
        .iter()
        .any(|ending| essence.ends_with(ending))
}

/// Whether this is `TYPE/SUBTYPE` as RFC 6838 (4.2) has it.
pub(crate) fn is_valid(media_type: &str) -> bool {
    let part = |text: &str| {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        let begins = text
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric());
        begins && text.len() <= 127 && text.bytes().all(legal)
    };
    media_type
        .split_once('/')
        .is_some_and(|(kind, subtype)| part(kind) && part(subtype))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_known_by_their_ending() {
        for (media_type, expected) in [
            (FLUX_CONTENT, true),
            ("application/vnd.oci.image.layer.v1.tar+gzip", true),
            ("application/vnd.docker.image.rootfs.diff.tar.gzip", true),
            ("application/vnd.oci.image.layer.v1.tar", false),
            ("application/vnd.oci.image.layer.v1.tar+zstd", false),
            ("application/x.tar+gzip.json", false),
            ("application/wasm", false),
            ("", false),
        ] {
            assert_eq!(is_archive(media_type), expected, "{media_type}");
        }
    }

    #[test]
    fn a_media_type_is_two_words() {
        let long = format!("application/{}", "a".repeat(128));
        for (media_type, expected) in [
            (FLUX_CONFIG, true),
            ("application/wasm", true),
            ("application", false),
            ("application/", false),
            ("/wasm", false),
            ("application/a/b", false),
            ("application/ wasm", false),
            ("application/wasm\r\nx: y", false),
            (&long, false),
        ] {
            assert_eq!(is_valid(media_type), expected, "{media_type:?}");
        }
    }
}
