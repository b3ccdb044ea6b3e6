//! Service accounts with their keys, and users with their refresh tokens.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, EncodingKey};
use rcgen::{KeyPair, PKCS_RSA_SHA256, RsaKeySize};

use super::name::{AccountEmail, GoogleError};
use super::principal::Principal;
use crate::builder::StartError;
use crate::guarded::Guarded;
use crate::random;

/// A service account as IAM knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceAccount {
    pub(crate) email: AccountEmail,
    /// 21 digits, never given twice.
    pub(crate) unique_id: String,
}

/// A user who let a client act for them.
#[derive(Clone)]
pub(crate) struct Consent {
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
    pub(crate) email: String,
}

#[derive(Debug, Default)]
pub(crate) struct Accounts {
    service: Guarded<BTreeMap<AccountEmail, ServiceAccount>>,
    /// The public halves of keys, by account; their names are the key IDs.
    keys: Guarded<BTreeMap<AccountEmail, JwkSet>>,
    consents: Guarded<BTreeMap<String, Consent>>,
}

impl ServiceAccount {
    pub(crate) fn principal(&self) -> Principal {
        Principal::ServiceAccount {
            email: self.email.to_string(),
            unique_id: self.unique_id.clone(),
        }
    }
}

impl Accounts {
    pub(crate) fn create(&self, email: &str) -> Result<(), GoogleError> {
        let parsed = AccountEmail::parse(email).ok_or_else(|| {
            GoogleError::new(
                email,
                "an e-mail address NAME@PROJECT.iam.gserviceaccount.com",
            )
        })?;
        self.service.with(|accounts| {
            let number = accounts.len() + 1;
            accounts
                .entry(parsed.clone())
                .or_insert_with(|| ServiceAccount {
                    email: parsed,
                    unique_id: format!("1{number:020}"),
                });
        });
        Ok(())
    }

    /// The account of this e-mail address or unique ID.
    pub(crate) fn find(&self, name: &str) -> Option<ServiceAccount> {
        self.service.with(|accounts| {
            let found = accounts
                .values()
                .find(|account| account.unique_id == name || account.email.to_string() == name);
            found.cloned()
        })
    }

    /// A new key of an account: its ID and its private half.
    pub(crate) fn add_key(&self, account: &ServiceAccount) -> Result<(String, String), StartError> {
        let pair = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?;
        let pem = pair.serialize_pem();
        let private = EncodingKey::from_rsa_pem(pem.as_bytes())?;
        let mut public = Jwk::from_encoding_key(&private, Algorithm::RS256)?;
        let id = hex(digest(&SHA256, pair.public_key_raw()).as_ref(), 40);
        public.common.key_id = Some(id.clone());
        self.keys.with(|keys| {
            let keys = keys.entry(account.email.clone());
            keys.or_insert_with(|| JwkSet { keys: Vec::new() })
                .keys
                .push(public);
        });
        Ok((id, pem))
    }

    pub(crate) fn keys(&self, account: &ServiceAccount) -> JwkSet {
        let keys = self.keys.with(|keys| keys.get(&account.email).cloned());
        keys.unwrap_or(JwkSet { keys: Vec::new() })
    }

    /// A user's consent and the refresh token that stands for it.
    pub(crate) fn consent(&self, email: &str) -> (String, Consent) {
        let consent = Consent {
            client_id: format!("{}.apps.googleusercontent.com", random::capitals(12)),
            client_secret: random::base64url(24),
            email: email.to_owned(),
        };
        let token = format!("1//{}", random::base64url(100));
        self.consents
            .with(|consents| consents.insert(token.clone(), consent.clone()));
        (token, consent)
    }

    pub(crate) fn find_consent(&self, token: &str) -> Option<Consent> {
        self.consents.with(|consents| consents.get(token).cloned())
    }

    pub(crate) fn knows_client(&self, id: &str) -> bool {
        self.consents
            .with(|consents| consents.values().any(|consent| consent.client_id == id))
    }
}

/// The first `count` hexadecimal digits of some bytes.
fn hex(bytes: &[u8], count: usize) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.chars().take(count).collect()
}
