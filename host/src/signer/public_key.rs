//! Public keys, as relying parties read them: JSON Web Keys (RFC 7517, RFC 7518 §6).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use x509_parser::der_parser::asn1_rs::FromDer;
use x509_parser::oid_registry::{OID_EC_P256, OID_NIST_EC_P384, OID_PKCS1_RSAENCRYPTION};
use x509_parser::public_key::RSAPublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

/// A curve of which keys are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Curve {
    P256,
    P384,
}

impl Curve {
    /// The name in a JSON Web Key (RFC 7518 §6.2.1.1).
    fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
        }
    }

    /// Bytes of a coordinate.
    fn width(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
        }
    }
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PublicKey {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    Ec {
        curve: Curve,
        x: Vec<u8>,
        y: Vec<u8>,
    },
}

impl PublicKey {
    /// Reads an `RSAPublicKey` (RFC 8017 §A.1.1).
    pub(super) fn rsa(der: &[u8]) -> Option<Self> {
        let (rest, key) = RSAPublicKey::from_der(der).ok()?;
        let (modulus, exponent) = (unsigned(key.modulus), unsigned(key.exponent));
        (rest.is_empty() && !modulus.is_empty() && !exponent.is_empty())
            .then_some(Self::Rsa { modulus, exponent })
    }

    /// Reads an uncompressed point (SEC 1 §2.3.3).
    pub(super) fn ec(curve: Curve, point: &[u8]) -> Option<Self> {
        let (form, coordinates) = point.split_first()?;
        let (x, y) = coordinates.split_at_checked(curve.width())?;
        let (x, y) = (x.to_vec(), y.to_vec());
        (*form == 4 && y.len() == curve.width()).then_some(Self::Ec { curve, x, y })
    }

    /// The key of a certificate; `None` for a kind that is not taken.
    pub(super) fn of_certificate(info: &SubjectPublicKeyInfo<'_>) -> Option<Self> {
        let bits = info.subject_public_key.data.as_ref();
        if info.algorithm.algorithm == OID_PKCS1_RSAENCRYPTION {
            return Self::rsa(bits);
        }
        let curve = info.algorithm.parameters.as_ref()?.as_oid().ok()?;
        if curve == OID_EC_P256 {
            Self::ec(Curve::P256, bits)
        } else if curve == OID_NIST_EC_P384 {
            Self::ec(Curve::P384, bits)
        } else {
            None
        }
    }

    /// The signature algorithm that follows the key (RFC 7518 §3.1).
    pub(super) fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa { .. } => "RS256",
            Self::Ec {
                curve: Curve::P256, ..
            } => "ES256",
            Self::Ec {
                curve: Curve::P384, ..
            } => "ES384",
        }
    }

    /// The thumbprint by which the key is named: SHA-256 over its required members in the order of
    /// the alphabet (RFC 7638 §3). It follows from the key alone, so that every replica, and every
    /// start, gives the key the same name.
    pub(super) fn thumbprint(&self) -> String {
        let members: Vec<String> = self
            .members()
            .iter()
            .map(|(name, value)| format!(r#""{name}":"{value}""#))
            .collect();
        let canonical = format!("{{{}}}", members.join(","));
        URL_SAFE_NO_PAD.encode(Sha256::digest(canonical.as_bytes()))
    }

    /// The key without name and use.
    pub(super) fn jwk(&self) -> Map<String, Value> {
        self.members()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), Value::String(value)))
            .collect()
    }

    /// The required members, in the order of the alphabet.
    fn members(&self) -> Vec<(&'static str, String)> {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::Rsa { modulus, exponent } => vec![
                ("e", encode(exponent)),
                ("kty", "RSA".into()),
                ("n", encode(modulus)),
            ],
            Self::Ec { curve, x, y } => vec![
                ("crv", curve.name().into()),
                ("kty", "EC".into()),
                ("x", encode(x)),
                ("y", encode(y)),
            ],
        }
    }
}

/// An ASN.1 integer without the zero that says that it is not negative.
fn unsigned(integer: &[u8]) -> Vec<u8> {
    let zeros = integer.iter().take_while(|byte| **byte == 0).count();
    integer.iter().skip(zeros).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thumbprint_is_that_of_rfc_7638() {
        // RFC 7638 §3.1.
        let modulus = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
        let key = PublicKey::Rsa {
            modulus: URL_SAFE_NO_PAD.decode(modulus).unwrap(),
            exponent: vec![1, 0, 1],
        };
        assert_eq!(
            key.thumbprint(),
            "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
        );
        assert_eq!(key.algorithm(), "RS256");
    }

    #[test]
    fn a_point_has_the_width_of_its_curve() {
        for (curve, length, right) in [
            (Curve::P256, 65, true),
            (Curve::P384, 97, true),
            (Curve::P256, 64, false),
            (Curve::P256, 66, false),
            (Curve::P384, 65, false),
            (Curve::P256, 0, false),
            (Curve::P256, 1, false),
        ] {
            let mut point = vec![7; length];
            if let Some(form) = point.first_mut() {
                *form = 4;
            }
            assert_eq!(PublicKey::ec(curve, &point).is_some(), right, "{length}");
            if let Some(form) = point.first_mut() {
                *form = 2;
            }
            assert_eq!(PublicKey::ec(curve, &point), None, "compressed");
        }
    }

    #[test]
    fn what_is_no_rsa_key_is_none() {
        for der in [
            &[][..],
            &[0x30],
            &[0x30, 0],
            &[0x30, 6, 2, 1, 0, 2, 1, 0],
            &[0x30, 6, 2, 1, 5, 2, 1, 3, 9],
        ] {
            assert_eq!(PublicKey::rsa(der), None, "{der:?}");
        }
        assert!(PublicKey::rsa(&[0x30, 6, 2, 1, 5, 2, 1, 3]).is_some());
    }
}
