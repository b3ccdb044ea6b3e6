//! The certificate authority: its chain, checked, and the certificates that it issues (X509-SVID).

use super::claims::{CLOCK_TOLERANCE, MAX_LIFETIME, seconds};
use super::failure::{KeyError, SignerError};
use super::pem;
use super::private_key::{CertificateKey, PrivateKey};
use super::public_key::PublicKey;
use super::spiffe_id::SpiffeId;
use crate::credential::X509;
use crate::secret::Secret;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use rcgen::{
    CertificateParams, DistinguishedName, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, PublicKeyData, SanType, SerialNumber,
};
use rustls_pki_types::CertificateDer;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use x509_parser::certificate::X509Certificate;
use x509_parser::der_parser::Oid;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer as _;
use x509_parser::x509::RelativeDistinguishedName;

/// The last second that a certificate can name: 9999-12-31T23:59:59Z (RFC 5280 §4.1.2.5).
const LAST_SECOND: u64 = 253_402_300_799;

/// A certificate as it was issued, and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedX509 {
    /// The chain, leaf first, and the key of the leaf.
    pub x509: X509,
    /// When it ends: sooner than was asked for where the authority ends sooner.
    pub expires_at: SystemTime,
}

/// A root of trust: what relying parties are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Anchor {
    pub(super) certificate: CertificateDer<'static>,
    pub(super) key: PublicKey,
}

/// A certificate that may sign others, and those above it.
#[derive(Debug)]
pub(super) struct CertificateAuthority {
    issuer: Issuer<'static, CertificateKey>,
    /// What is sent after a leaf, so that a relying party that knows the anchor alone finds the way.
    /// An authority that is its own anchor sends nothing: who trusts it has it.
    intermediates: Vec<CertificateDer<'static>>,
    anchor: Anchor,
    not_before: u64,
    not_after: u64,
}

impl CertificateAuthority {
    /// Checks a chain, that of the key first, each signed by the next.
    pub(super) fn parse(
        chain: &[CertificateDer<'static>],
        key: &Arc<PrivateKey>,
    ) -> Result<Self, KeyError> {
        let parsed = parse_chain(chain)?;
        let (Some(first), Some(own), Some(last), Some(top)) =
            (chain.first(), parsed.first(), chain.last(), parsed.last())
        else {
            return Err(KeyError::NoAuthority("there is no certificate"));
        };
        if PublicKey::of_certificate(own.public_key()) != key.public() {
            return Err(KeyError::AnotherKey);
        }
        for (above, certificate) in parsed.iter().enumerate() {
            check_authority(certificate, above)?;
        }
        for (lower, upper) in parsed.iter().zip(parsed.iter().skip(1)) {
            check_link(lower, upper)?;
        }
        let anchor = Anchor {
            certificate: last.clone(),
            key: PublicKey::of_certificate(top.public_key()).ok_or(KeyError::NoAuthority(
                "the last certificate's key is none of RSA, P-256 and P-384",
            ))?,
        };
        let self_signed = own.issuer().as_raw() == own.subject().as_raw();
        let intermediates = chain.iter().zip(&parsed).filter(|(_, parsed)| {
            !self_signed && parsed.issuer().as_raw() != parsed.subject().as_raw()
        });
        let authority = Self {
            issuer: issuer(first, own, key)?,
            intermediates: intermediates.map(|(der, _)| der.clone()).collect(),
            anchor,
            not_before: parsed.iter().map(begin).max().unwrap_or(u64::MAX),
            not_after: parsed.iter().map(end).min().unwrap_or(0),
        };
        authority.check_name(own)?;
        Ok(authority)
    }

    pub(super) fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    /// Issues a certificate for a fresh key.
    pub(super) fn issue(
        &self,
        id: &SpiffeId,
        expires_at: SystemTime,
        now: SystemTime,
    ) -> Result<IssuedX509, SignerError> {
        let (now, asked) = (seconds(now), seconds(expires_at));
        if asked <= now || asked > now.saturating_add(MAX_LIFETIME.as_secs()) {
            return Err(SignerError::Refused(format!(
                "a certificate must end in the future, and at most {} s from now",
                MAX_LIFETIME.as_secs()
            )));
        }
        let not_after = asked.min(self.not_after).min(LAST_SECOND);
        if now < self.not_before || not_after <= now {
            return Err(SignerError::Unavailable(
                "the certificate authority is expired, or not valid yet: renew the signing Secret"
                    .into(),
            ));
        }
        let not_before = now.saturating_sub(CLOCK_TOLERANCE.as_secs());
        let key = LeafKey::generate()?;
        let params = leaf(id, not_before.max(self.not_before), not_after)?;
        let certificate = params
            .signed_by(&key, &self.issuer)
            .map_err(|_| unusable())?;
        let chain: String = std::iter::once(certificate.der())
            .chain(&self.intermediates)
            .map(|der| pem::encode("CERTIFICATE", der).to_string())
            .collect();
        Ok(IssuedX509 {
            x509: X509 {
                certificate_chain: chain,
                private_key: key.pem()?,
            },
            expires_at: SystemTime::UNIX_EPOCH + Duration::from_secs(not_after),
        })
    }

    /// The library that makes certificates takes a name apart and puts it together again, and loses
    /// what it has twice. A certificate whose issuer is not byte by byte the authority's subject
    /// finds no chain, so one is made and compared before any is given out.
    fn check_name(&self, own: &X509Certificate<'_>) -> Result<(), KeyError> {
        const BROKEN: KeyError =
            KeyError::NoAuthority("its subject cannot be repeated: give it a simpler name");
        let id = "spiffe://trial/a".parse().map_err(|_| BROKEN)?;
        let params = leaf(&id, 0, 1).map_err(|_| BROKEN)?;
        let key = LeafKey::generate().map_err(|_| BROKEN)?;
        let trial = params.signed_by(&key, &self.issuer).map_err(|_| BROKEN)?;
        let (_, trial) = X509Certificate::from_der(trial.der()).map_err(|_| BROKEN)?;
        let same = trial.issuer().as_raw() == own.subject().as_raw();
        let verified = trial.verify_signature(Some(own.public_key())).is_ok();
        (same && verified).then_some(()).ok_or(BROKEN)
    }
}

fn parse_chain<'a>(
    chain: &'a [CertificateDer<'static>],
) -> Result<Vec<X509Certificate<'a>>, KeyError> {
    let parsed =
        chain
            .iter()
            .enumerate()
            .map(|(number, der)| match X509Certificate::from_der(der) {
                Ok(([], certificate)) => Ok(certificate),
                _ => Err(KeyError::Certificate(number)),
            });
    parsed.collect()
}

/// What a signing certificate must hold (X509-SVID §3, §4.3; RFC 5280 §4.2.1.9). `below` is the
/// number of authorities between it and a leaf.
fn check_authority(certificate: &X509Certificate<'_>, below: usize) -> Result<(), KeyError> {
    let Ok(Some(constraints)) = certificate.basic_constraints() else {
        return Err(KeyError::NoAuthority("a certificate does not say cA"));
    };
    if !constraints.value.ca {
        return Err(KeyError::NoAuthority("a certificate does not say cA"));
    }
    let length = constraints.value.path_len_constraint;
    if length.is_some_and(|length| usize::try_from(length).is_ok_and(|length| length < below)) {
        return Err(KeyError::NoAuthority(
            "the chain is longer than a certificate's path length allows",
        ));
    }
    let signs = match certificate.key_usage() {
        Ok(Some(usage)) => usage.value.key_cert_sign(),
        Ok(None) | Err(_) => false,
    };
    if !signs {
        return Err(KeyError::NoAuthority(
            "a certificate lacks the key usage keyCertSign",
        ));
    }
    check_purposes(certificate)?;
    check_id(certificate)
}

/// Purposes of an authority limit those of its leaves, as most who check a path have it.
fn check_purposes(certificate: &X509Certificate<'_>) -> Result<(), KeyError> {
    let fits = match certificate.extended_key_usage() {
        Ok(None) => true,
        Ok(Some(usage)) => usage.value.any || (usage.value.server_auth && usage.value.client_auth),
        Err(_) => false,
    };
    fits.then_some(()).ok_or(KeyError::NoAuthority(
        "its extended key usage must hold serverAuth and clientAuth, or be left out",
    ))
}

/// A signing certificate's SPIFFE ID, if it has one, has no path (X509-SVID §3.2).
fn check_id(certificate: &X509Certificate<'_>) -> Result<(), KeyError> {
    let Ok(names) = certificate.subject_alternative_name() else {
        return Err(KeyError::NoAuthority(
            "its alternative names cannot be read",
        ));
    };
    let names = names.map_or(&[][..], |names| &names.value.general_names);
    let workload = |name: &GeneralName<'_>| match name {
        GeneralName::URI(uri) => {
            let id = uri.parse::<SpiffeId>();
            id.is_ok_and(|id| !id.path().is_empty())
        }
        _ => false,
    };
    if names.iter().any(workload) {
        return Err(KeyError::NoAuthority(
            "its SPIFFE ID has a path, which only workloads have",
        ));
    }
    Ok(())
}

fn check_link(lower: &X509Certificate<'_>, upper: &X509Certificate<'_>) -> Result<(), KeyError> {
    let named = lower.issuer().as_raw() == upper.subject().as_raw();
    if named && lower.verify_signature(Some(upper.public_key())).is_ok() {
        return Ok(());
    }
    Err(KeyError::NoAuthority(
        "a certificate of the chain is not signed by the next",
    ))
}

fn issuer(
    der: &CertificateDer<'static>,
    own: &X509Certificate<'_>,
    key: &Arc<PrivateKey>,
) -> Result<Issuer<'static, CertificateKey>, KeyError> {
    let simple = |part: &RelativeDistinguishedName<'_>| {
        part.iter().count() == 1 && part.iter().all(|value| is_writable(value.attr_type()))
    };
    if !own.subject().iter().all(simple) {
        return Err(KeyError::NoAuthority(
            "a part of its subject has several values, or an unknown type: give it a simpler name",
        ));
    }
    Issuer::from_ca_cert_der(der, CertificateKey(Arc::clone(key)))
        .map_err(|_| KeyError::NoAuthority("its subject cannot be read"))
}

/// The library that writes certificates panics on an object identifier that cannot be (X.660 §7.6:
/// the first arc is 0, 1 or 2, and under 0 and 1 there are 40).
fn is_writable(kind: &Oid<'_>) -> bool {
    let mut arcs = kind.iter().into_iter().flatten();
    match (arcs.next(), arcs.next()) {
        (Some(0 | 1), Some(second)) => second < 40,
        (Some(2), Some(second)) => second < u64::MAX / 2,
        _ => false,
    }
}

fn begin(certificate: &X509Certificate<'_>) -> u64 {
    let begin = certificate.validity().not_before.timestamp();
    u64::try_from(begin).unwrap_or(0)
}

fn end(certificate: &X509Certificate<'_>) -> u64 {
    let end = certificate.validity().not_after.timestamp();
    u64::try_from(end).unwrap_or(0)
}

/// The leaf of an X509-SVID (X509-SVID §3, §4). The subject is empty, so that the alternative name is
/// critical (RFC 5280 §4.2.1.6); `openssl verify -x509_strict` wants both key identifiers.
fn leaf(id: &SpiffeId, not_before: u64, not_after: u64) -> Result<CertificateParams, SignerError> {
    let name = id.as_str().try_into().map_err(|_| unusable())?;
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.subject_alt_names = vec![SanType::URI(name)];
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    params.use_authority_key_identifier_extension = true;
    params.serial_number = Some(serial()?);
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + Duration::from_secs(not_before.min(LAST_SECOND));
    params.not_after = epoch + Duration::from_secs(not_after.min(LAST_SECOND));
    Ok(params)
}

/// A serial number: positive, at most 20 bytes (RFC 5280 §4.1.2.2), and not to be guessed.
fn serial() -> Result<SerialNumber, SignerError> {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| unusable())?;
    let [first, ..] = &mut bytes;
    *first = (*first & 0x7f) | 0x40;
    Ok(SerialNumber::from_slice(&bytes))
}

/// The key of one leaf.
struct LeafKey(EcdsaKeyPair);

impl LeafKey {
    fn generate() -> Result<Self, SignerError> {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING);
        Ok(Self(key.map_err(|_| unusable())?))
    }

    fn pem(&self) -> Result<Secret, SignerError> {
        // The document zeroes itself.
        let document = self.0.to_pkcs8v1().map_err(|_| unusable())?;
        Ok(pem::secret("PRIVATE KEY", document.as_ref()))
    }
}

impl PublicKeyData for LeafKey {
    fn der_bytes(&self) -> &[u8] {
        self.0.public_key().as_ref()
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        &PKCS_ECDSA_P256_SHA256
    }
}

fn unusable() -> SignerError {
    SignerError::Unavailable("a certificate cannot be made".into())
}

#[cfg(test)]
mod tests;
