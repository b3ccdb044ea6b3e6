use super::*;
use crate::signer::fixture::{Certified, HOUR, ID, KINDS, authority, now, object, signer};
use crate::signer::{Signer, SigningKey};
use rcgen::{BasicConstraints, DnType};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{PrivateKeyDer, UnixTime};
use webpki::{EndEntityCert, KeyUsage};
use x509_parser::extensions::ParsedExtension;

fn issue(signer: &Signer) -> IssuedX509 {
    let now = now();
    signer
        .issue_x509(&object("team-a"), ID, now + HOUR, now)
        .unwrap()
}

fn chain(issued: &IssuedX509) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(issued.x509.certificate_chain.as_bytes())
        .collect::<Result<_, _>>()
        .unwrap()
}

fn key(issued: &IssuedX509) -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_slice(issued.x509.private_key.expose().as_bytes()).unwrap()
}

/// The path from a leaf to a root, as clients and servers check it.
fn verify(chain: &[CertificateDer<'static>], root: &CertificateDer<'static>) {
    let anchor = webpki::anchor_from_trusted_cert(root).unwrap();
    let leaf = EndEntityCert::try_from(&chain[0]).unwrap();
    for usage in [KeyUsage::client_auth(), KeyUsage::server_auth()] {
        leaf.verify_for_usage(
            webpki::ALL_VERIFICATION_ALGS,
            std::slice::from_ref(&anchor),
            &chain[1..],
            UnixTime::now(),
            usage,
            None,
            None,
        )
        .unwrap();
    }
}

#[test]
fn independent_libraries_take_the_certificate_for_an_x509_svid() {
    for (kind, _) in KINDS {
        let root = Certified::root(kind);
        let issued = issue(&signer(root.signing_key()));
        let chain = chain(&issued);
        assert_eq!(chain.len(), 1, "who trusts the root has it");
        verify(&chain, root.certificate.der());
        let svid = spiffe::X509Svid::parse_from_der(&chain[0], key(&issued).secret_der()).unwrap();
        assert_eq!(svid.spiffe_id().to_string(), ID);
    }
}

#[test]
fn the_leaf_keeps_every_rule() {
    let root = Certified::root(KINDS[0].0);
    let signer = signer(root.signing_key());
    let (now, issued) = (seconds(now()), issue(&signer));
    let chain = chain(&issued);
    let (_, leaf) = X509Certificate::from_der(&chain[0]).unwrap();
    assert_eq!(leaf.subject().iter().count(), 0);
    assert_eq!(leaf.issuer().as_raw(), own(&root).subject().as_raw());

    let names = leaf.subject_alternative_name().unwrap().unwrap();
    assert!(names.critical, "the subject is empty");
    assert_eq!(names.value.general_names, [GeneralName::URI(ID)]);
    let constraints = leaf.basic_constraints().unwrap().unwrap();
    assert!(constraints.critical && !constraints.value.ca);
    let usage = leaf.key_usage().unwrap().unwrap();
    assert!(usage.critical);
    assert_eq!(usage.value.flags, 1, "digitalSignature alone");
    let extended = leaf.extended_key_usage().unwrap().unwrap().value;
    assert!(extended.server_auth && extended.client_auth && !extended.any);
    assert!(extended.other.is_empty());

    assert_eq!(authority_id(&leaf), subject_id(&own(&root)));
    assert!(subject_id(&leaf).is_some());
    assert_ne!(subject_id(&leaf), authority_id(&leaf));

    let serial = leaf.raw_serial();
    assert!((8..=20).contains(&serial.len()) && serial[0] < 0x80);
    let times = leaf.validity();
    let begin = u64::try_from(times.not_before.timestamp()).unwrap();
    assert!(begin + 60 >= now && begin < now, "a little before now");
    assert_eq!(
        u64::try_from(times.not_after.timestamp()).unwrap(),
        seconds(issued.expires_at)
    );
    assert_eq!(leaf.version().0, 2);
}

fn own(root: &Certified) -> X509Certificate<'_> {
    X509Certificate::from_der(root.certificate.der()).unwrap().1
}

fn subject_id(certificate: &X509Certificate<'_>) -> Option<Vec<u8>> {
    certificate
        .iter_extensions()
        .find_map(|extension| match extension.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
            _ => None,
        })
}

fn authority_id(certificate: &X509Certificate<'_>) -> Option<Vec<u8>> {
    certificate
        .iter_extensions()
        .find_map(|extension| match extension.parsed_extension() {
            ParsedExtension::AuthorityKeyIdentifier(id) => {
                id.key_identifier.as_ref().map(|id| id.0.to_vec())
            }
            _ => None,
        })
}

#[test]
fn no_two_certificates_share_a_key_or_a_serial_number() {
    let signer = signer(Certified::root(KINDS[1].0).signing_key());
    let (one, other) = (issue(&signer), issue(&signer));
    assert_ne!(one.x509.private_key, other.x509.private_key);
    let serial = |issued: &IssuedX509| {
        let chain = chain(issued);
        let (_, leaf) = X509Certificate::from_der(&chain[0]).unwrap();
        leaf.raw_serial().to_vec()
    };
    assert_ne!(serial(&one), serial(&other));
}

#[test]
fn an_intermediate_authority_is_sent_after_the_leaf_and_its_root_is_not() {
    let root = Certified::root(KINDS[2].0);
    let mut params = authority("intermediate");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let intermediate = Certified::with(params, KINDS[0].0, Some(&root));
    for pem in [
        format!("{}{}", intermediate.pem(), root.pem()),
        intermediate.pem(),
    ] {
        let key = SigningKey::parse(intermediate.key_pem().as_bytes(), pem.as_bytes());
        let issued = issue(&signer(key.unwrap()));
        let chain = chain(&issued);
        assert_eq!(chain.len(), 2);
        assert_eq!(&chain[1], intermediate.certificate.der());
        verify(&chain, root.certificate.der());
    }
}

#[test]
fn what_is_no_authority_issues_nothing() {
    let leaf = {
        let mut params = authority("leaf");
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params
    };
    let silent = {
        let mut params = authority("silent");
        params.is_ca = IsCa::NoCa;
        params
    };
    let without_sign = {
        let mut params = authority("without keyCertSign");
        params.key_usages = vec![KeyUsagePurpose::CrlSign];
        params
    };
    let without_usage = {
        let mut params = authority("without key usage");
        params.key_usages = Vec::new();
        params
    };
    let workload = {
        let mut params = authority("workload");
        params.subject_alt_names = vec![SanType::URI(ID.try_into().unwrap())];
        params
    };
    let for_mail = {
        let mut params = authority("for mail");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::EmailProtection];
        params
    };
    for (params, reason) in [
        (for_mail, "serverAuth"),
        (leaf, "cA"),
        (silent, "cA"),
        (without_sign, "keyCertSign"),
        (without_usage, "keyCertSign"),
        (workload, "path"),
    ] {
        let certified = Certified::with(params, KINDS[1].0, None);
        let now = now();
        let issued =
            signer(certified.signing_key()).issue_x509(&object("team-a"), ID, now + HOUR, now);
        let error = issued.unwrap_err();
        assert!(matches!(error, SignerError::NotGranted(_)), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn a_chain_that_others_would_refuse_issues_nothing() {
    let mut short = authority("short");
    short.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let short = Certified::with(short, KINDS[1].0, None);
    let stranger = Certified::root(KINDS[1].0);
    for (by, above) in [(&short, &short), (&stranger, &Certified::root(KINDS[1].0))] {
        let own = Certified::with(authority("own"), KINDS[1].0, Some(by));
        let pem = format!("{}{}", own.pem(), above.pem());
        let key = SigningKey::parse(own.key_pem().as_bytes(), pem.as_bytes()).unwrap();
        let error = key.authority().unwrap_err();
        assert!(matches!(error, SignerError::NotGranted(_)), "{error}");
    }
}

#[test]
fn no_bytes_of_a_certificate_make_it_panic() {
    let root = Certified::root(KINDS[1].0);
    let (key, der) = (root.key_pem(), root.certificate.der().to_vec());
    let mut read = 0;
    for position in 0..der.len() {
        for value in [0x00, 0x7f, 0xff] {
            let mut broken = der.clone();
            broken[position] = value;
            for broken in [&broken, &broken[..position]] {
                let pem = pem::encode("CERTIFICATE", broken);
                let parsed = SigningKey::parse(key.as_bytes(), pem.as_bytes());
                read += usize::from(parsed.is_ok_and(|key| key.authority().is_ok()));
            }
        }
    }
    assert!(read > 0, "what nothing depends on may be anything");
}

#[test]
fn a_certificate_ends_when_its_authority_does() {
    let end = rcgen::date_time_ymd(2030, 6, 1);
    let at = |seconds: i64| {
        let epoch = u64::try_from(end.unix_timestamp() + seconds).unwrap();
        SystemTime::UNIX_EPOCH + Duration::from_secs(epoch)
    };
    let mut params = authority("short-lived");
    params.not_before = rcgen::date_time_ymd(2030, 5, 1);
    params.not_after = end;
    let signer = signer(Certified::with(params, KINDS[1].0, None).signing_key());
    let issue = |now: SystemTime, expires_at: SystemTime| {
        signer.issue_x509(&object("team-a"), ID, expires_at, now)
    };
    assert_eq!(issue(at(-7200), at(-3600)).unwrap().expires_at, at(-3600));
    assert_eq!(issue(at(-1800), at(1800)).unwrap().expires_at, at(0));
    let month = 31 * 24 * 3600;
    for now in [at(0), at(1), at(-month - 1)] {
        let error = issue(now, now + HOUR).unwrap_err();
        assert!(matches!(error, SignerError::Unavailable(_)), "{error}");
    }
}

#[test]
fn a_certificate_lives_an_hour_at_most() {
    let signer = signer(Certified::root(KINDS[1].0).signing_key());
    let now = now();
    for expires_at in [
        now,
        now - HOUR,
        SystemTime::UNIX_EPOCH,
        now + HOUR + Duration::from_secs(1),
        now + HOUR * 1_000_000,
    ] {
        let issued = signer.issue_x509(&object("team-a"), ID, expires_at, now);
        assert!(matches!(issued, Err(SignerError::Refused(_))));
    }
}

#[test]
fn a_name_that_cannot_be_repeated_is_found_before_it_harms() {
    // The library that writes certificates keeps one value of a kind, and makes text of all of them.
    let mut params = authority("domain components");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(
        DnType::CustomDnType(vec![0, 9, 2342, 19200300, 100, 1, 25]),
        "org",
    );
    let good = Certified::with(params, KINDS[1].0, None);
    verify(
        &chain(&issue(&signer(good.signing_key()))),
        good.certificate.der(),
    );

    let pem = include_str!("twice_named.pem");
    let (key, certificate) = pem.split_once("-----BEGIN CERTIFICATE").unwrap();
    let certificate = format!("-----BEGIN CERTIFICATE{certificate}");
    let key = SigningKey::parse(key.as_bytes(), certificate.as_bytes()).unwrap();
    let error = key.authority().unwrap_err();
    assert!(error.to_string().contains("simpler name"), "{error}");
}
