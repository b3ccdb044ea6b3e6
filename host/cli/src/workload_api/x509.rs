//! `gatepass workload-api x509`.

use super::client::Client;
use super::svid::{self, Svid};
use super::{client, files, pem, refusal};
use crate::arguments::{Format, Global, X509Svid as Flags};
use crate::failure::Failure;
use crate::{output, terminal};
use gatepass::{ErrorKind, Material, Secret, X509};
use rcgen::{KeyPair, PublicKeyData as _};
use spiffe::{Certificate, SpiffeId, X509Context, X509Svid};
use std::path::Path;
use std::time::SystemTime;

const FORMATS: &[Format] = &[Format::Table, Format::Json, Format::ExecCredential];

/// A certificate with its key, and the authorities of its trust domain in PEM.
#[derive(Debug)]
pub(super) struct Identified {
    pub(super) svid: Svid,
    bundle: String,
}

/// Gets a certificate, and prints it or writes it into a directory.
pub(super) async fn run(global: &Global, flags: &Flags) -> Result<(), Failure> {
    let fitting = match flags.out {
        // What is written into files is not printed as well.
        Some(_) => &[Format::Table],
        None => FORMATS,
    };
    let format = output::choose(global.output, fitting, "workload-api x509")?;
    let client = client(&flags.endpoint)?;
    let identified = fetch(&client, flags.spiffe_id.as_ref()).await?;
    let socket = client.socket().to_string();
    match &flags.out {
        Some(directory) => write(directory, &identified, &socket),
        None => output::print(format, &identified.svid.issue(&socket)),
    }
}

fn write(directory: &Path, identified: &Identified, socket: &str) -> Result<(), Failure> {
    if let Material::X509(x509) = &identified.svid.material {
        files::write(
            directory,
            &[
                ("bundle.crt", &identified.bundle),
                ("tls.key", x509.private_key.expose()),
                ("tls.crt", &x509.certificate_chain),
            ],
        )?;
    }
    let issue = identified.svid.issue(socket);
    terminal::print(&output::table::render(&issue, SystemTime::now()))?;
    terminal::talk(&format!(
        "wrote tls.crt, tls.key and bundle.crt into {}\n",
        terminal::visible(&directory.display().to_string())
    ));
    Ok(())
}

/// Gets the certificate of this identity, or of the first.
pub(super) async fn fetch(client: &Client, id: Option<&SpiffeId>) -> Result<Identified, Failure> {
    let context = client.x509().await?;
    let chosen = choose(&context, id)?;
    let malformed =
        |rule: String| refusal::malformed(&format!("an X509-SVID: {rule}"), client.socket());
    let svid = check(chosen, SystemTime::now()).map_err(malformed)?;
    let domain = chosen.spiffe_id().trust_domain();
    let bundle = context
        .bundle_set()
        .get_ref(domain)
        .map(|bundle| chain(bundle.authorities()))
        .filter(|bundle| !bundle.is_empty())
        .ok_or_else(|| malformed(format!("no authority of {domain} came with it")))?;
    Ok(Identified { svid, bundle })
}

fn choose<'a>(context: &'a X509Context, id: Option<&SpiffeId>) -> Result<&'a X509Svid, Failure> {
    let svids = context.svids();
    let found = match id {
        None => svids.first(),
        Some(id) => svids.iter().find(|svid| svid.spiffe_id() == id),
    };
    found.map(AsRef::as_ref).ok_or_else(|| {
        let known: Vec<String> = svids
            .iter()
            .map(|svid| svid.spiffe_id().to_string())
            .collect();
        let wanted = id.map(ToString::to_string).unwrap_or_default();
        Failure::workload_api(
            ErrorKind::Denied,
            format!(
                "this workload is not {wanted:?}; it is {}",
                known.join(", ")
            ),
        )
        .fix("give --spiffe-id one of these, or register the workload under the one that is wanted")
    })
}

/// The library has seen that the leaf is an X509-SVID; that it is good now, and that the key is its own,
/// is seen here.
fn check(svid: &X509Svid, now: SystemTime) -> Result<Svid, String> {
    let leaf = svid.leaf().as_bytes();
    let (_, leaf) = x509_parser::parse_x509_certificate(leaf)
        .map_err(|_| "the leaf is no certificate".to_owned())?;
    let expires_at = svid::end(leaf.validity().not_after.timestamp(), now)?;
    let key = KeyPair::try_from(svid.private_key().as_bytes())
        .map_err(|_| "the key is not one that TLS takes".to_owned())?;
    if key.subject_public_key_info() != leaf.public_key().raw {
        return Err("the key is not the certificate's".into());
    }
    let hint = svid.hint().map(|hint| ("hint".to_owned(), hint.to_owned()));
    Ok(Svid {
        identity: svid.spiffe_id().to_string(),
        material: Material::X509(X509 {
            certificate_chain: chain(svid.cert_chain()),
            private_key: Secret::from(pem::encode("PRIVATE KEY", svid.private_key().as_bytes())),
        }),
        expires_at,
        attributes: hint.into_iter().collect(),
    })
}

fn chain(certificates: &[Certificate]) -> String {
    let sections = certificates.iter();
    sections
        .map(|certificate| pem::encode("CERTIFICATE", certificate.as_bytes()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, IsCa, KeyUsagePurpose, SanType};
    use spiffe::X509BundleSet;
    use std::sync::Arc;
    use std::time::{Duration, UNIX_EPOCH};

    /// A certificate of this key that shows the other.
    fn issued(id: &str, certified: &KeyPair, shown: &KeyPair) -> X509Svid {
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![SanType::URI(id.try_into().unwrap())];
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        let certificate = params.self_signed(certified).unwrap();
        X509Svid::parse_from_der(certificate.der(), shown.serialized_der()).unwrap()
    }

    /// 2020-06-14.
    fn then() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_592_092_800)
    }

    #[test]
    fn a_certificate_and_its_own_key_are_taken_while_they_are_good() {
        let key = KeyPair::generate().unwrap();
        let svid = issued("spiffe://example.org/app", &key, &key);
        let taken = check(&svid, then()).unwrap();
        assert_eq!(taken.identity, "spiffe://example.org/app");
        let Material::X509(x509) = &taken.material else {
            panic!("another kind")
        };
        assert!(KeyPair::from_pem(x509.private_key.expose()).is_ok());
        let year = Duration::from_secs(366 * 86_400);
        assert!(check(&svid, then() + year).unwrap_err().contains("expired"));
    }

    #[test]
    fn the_key_of_another_certificate_is_refused() {
        let keys = [KeyPair::generate().unwrap(), KeyPair::generate().unwrap()];
        let [one, other] = &keys;
        let svid = issued("spiffe://example.org/app", one, other);
        let rule = check(&svid, then()).unwrap_err();
        assert!(rule.contains("not the certificate's"), "{rule}");
    }

    #[test]
    fn an_identity_is_chosen_by_name_or_is_the_first() {
        let key = KeyPair::generate().unwrap();
        let ids = ["spiffe://example.org/a", "spiffe://example.org/b"];
        let svids = ids.map(|id| Arc::new(issued(id, &key, &key)));
        let context = X509Context::new(svids, X509BundleSet::new());
        for (wanted, expected) in [(None, Some(ids[0])), (Some(ids[1]), Some(ids[1]))] {
            let wanted = wanted.map(|id| SpiffeId::new(id).unwrap());
            let chosen = choose(&context, wanted.as_ref()).ok();
            let chosen = chosen.map(|svid| svid.spiffe_id().to_string());
            assert_eq!(chosen.as_deref(), expected);
        }
        let other = SpiffeId::new("spiffe://example.org/c").unwrap();
        let failure = choose(&context, Some(&other)).unwrap_err();
        assert_eq!(crate::exit::code(&failure), 4);
        assert!(failure.report().contains(ids[1]), "{failure:?}");
    }
}
