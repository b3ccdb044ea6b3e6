//! PEM (RFC 7468) of what is already DER.

use crate::secret::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
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
}
