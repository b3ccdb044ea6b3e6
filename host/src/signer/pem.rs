//! PEM (RFC 7468) of keys and certificates.

use crate::secret::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use base64ct::{Base64, Encoding as _};
use zeroize::Zeroizing;

/// Characters of a line (RFC 7468 §2).
const LINE: usize = 64;

/// One section that is a secret.
pub(super) fn secret(label: &str, der: &[u8]) -> Secret {
    Secret::from(std::mem::take(&mut *encode(label, der)))
}

/// One section. It may be a private key, so that nothing of it is left behind.
pub(super) fn encode(label: &str, der: &[u8]) -> Zeroizing<String> {
    let body = Zeroizing::new(STANDARD.encode(der));
    let lines = body.len().div_ceil(LINE);
    // Room for all of it at once: a text that grows leaves copies.
    let mut text = Zeroizing::new(String::with_capacity(
        body.len() + lines + 2 * (label.len() + "-----BEGIN -----\n".len()),
    ));
    text.push_str(&format!("-----BEGIN {label}-----\n"));
    let mut rest = body.as_str();
    while let Some((line, more)) = rest.split_at_checked(LINE.min(rest.len())) {
        if line.is_empty() {
            break;
        }
        text.push_str(line);
        text.push('\n');
        rest = more;
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}

/// The label and the content of the one section in a text, with any text around it. `None`: there is
/// none, or another, or it is cut off.
///
/// For private keys: Base64 is read in constant time, into the one buffer that is made, which is
/// zeroed. Lines may have any length, since keys come from many tools.
pub(super) fn decode(text: &str) -> Option<(&str, Zeroizing<Vec<u8>>)> {
    let (before, section) = text.split_once("-----BEGIN ")?;
    let (label, section) = section.split_once("-----")?;
    let (body, end) = section.split_once("-----END ")?;
    let after = end.strip_prefix(label)?.strip_prefix("-----")?;
    if [before, body, after]
        .iter()
        .any(|text| text.contains("-----"))
    {
        return None;
    }
    let mut der = Zeroizing::new(Vec::with_capacity(body.len()));
    der.extend(body.bytes().filter(|byte| !byte.is_ascii_whitespace()));
    let length = Base64::decode_in_place(&mut der).ok()?.len();
    der.truncate(length);
    Some((label, der))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls_pki_types::CertificateDer;
    use rustls_pki_types::pem::PemObject as _;

    #[test]
    fn what_is_written_is_read_by_others() {
        for length in [0, 1, 47, 48, 49, 96, 1_000] {
            let der = vec![7; length];
            let pem = encode("CERTIFICATE", &der);
            assert!(pem.lines().all(|line| line.len() <= LINE));
            let read = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
            assert_eq!(read.as_ref(), der);
        }
    }

    #[test]
    fn what_is_written_is_read_here() {
        for length in [1, 47, 48, 49, 1_000] {
            let der = vec![7; length];
            let pem = encode("PRIVATE KEY", &der);
            let windows = pem.replace('\n', "\r\n");
            for text in [pem.as_str(), &windows, &format!("a comment\n{}\n", *pem)] {
                let (label, read) = decode(text).unwrap();
                assert_eq!((label, read.as_slice()), ("PRIVATE KEY", der.as_slice()));
            }
        }
    }

    #[test]
    fn what_is_not_one_section_is_refused() {
        let pem = encode("PRIVATE KEY", b"canary");
        for text in [
            "",
            "canary",
            "-----BEGIN ",
            "-----BEGIN A-----",
            "-----BEGIN A-----Y2FuYXJ5-----END B-----",
            "-----BEGIN A-----Y2FuYXJ5-----END A",
            "-----BEGIN A-----Y2FuYXJ-----END A-----",
            "-----BEGIN A-----Y2Fu*XJ5-----END A-----",
            "-----BEGIN A-----Y2FuYXJ5\\n-----END A-----",
            "-----BEGIN A-----Proc-Type: 4,ENCRYPTED\n\nY2FuYXJ5-----END A-----",
            &pem.repeat(2),
            &pem.replace("-----END PRIVATE KEY-----", ""),
        ] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
