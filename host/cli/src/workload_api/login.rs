//! An identity as a login that stays good while something long is going on.

use super::client::Client;
use super::svid::Svid;
use super::{jwt, x509};
use crate::failure::Failure;
use gatepass::Material;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How long an agent may take that is asked by another command: the default of `--timeout`.
const PATIENCE: Duration = Duration::from_secs(10);
/// What has less time left is not shown to anybody; the host's cache has the same margin.
const MARGIN: Duration = Duration::from_secs(30);

/// What to log in with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A token for these audiences.
    Jwt(Vec<String>),
    /// A client certificate.
    Certificate,
}

/// The workload's first identity, asked for again at half of its life.
#[derive(Debug)]
pub(crate) struct Identity {
    client: Client,
    kind: Kind,
    held: Mutex<Option<Held>>,
}

#[derive(Clone, Debug)]
struct Held {
    svid: Svid,
    since: SystemTime,
}

impl Identity {
    /// From the Workload API at this address. Nothing is asked for yet.
    pub(crate) fn new(address: &str, kind: Kind) -> Result<Self, Failure> {
        let socket: super::Socket = address.parse()?;
        socket.warn();
        Ok(Self {
            client: Client::new(socket, PATIENCE),
            kind,
            held: Mutex::new(None),
        })
    }

    /// What is good at this moment.
    pub(crate) async fn material(&self) -> Result<Material, Failure> {
        let now = SystemTime::now();
        let held = self.lock().clone();
        if let Some(held) = &held
            && held.is_fresh(now)
        {
            return Ok(held.svid.material.clone());
        }
        match (self.fetch().await, held) {
            (Ok(svid), _) => {
                let material = svid.material.clone();
                *self.lock() = Some(Held { svid, since: now });
                Ok(material)
            }
            // An agent that restarts ends no transfer whose login is good for a while yet.
            (Err(_), Some(held)) if held.is_good(SystemTime::now()) => Ok(held.svid.material),
            (Err(failure), _) => Err(failure),
        }
    }

    async fn fetch(&self) -> Result<Svid, Failure> {
        match &self.kind {
            Kind::Jwt(audiences) => jwt::fetch(&self.client, audiences, None).await,
            Kind::Certificate => {
                let identified = x509::fetch(&self.client, None).await?;
                Ok(identified.svid)
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Held>> {
        // One value is never half-written, so a poisoned lock is still good.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Before half of its life, as agents renew (SPIRE: at half of an SVID's life).
    fn is_fresh(&self, now: SystemTime) -> bool {
        let life = self.svid.expires_at.duration_since(self.since);
        let age = now.duration_since(self.since);
        match (life, age) {
            (Ok(life), Ok(age)) => age < life / 2,
            // A clock that was set back says nothing of the age.
            _ => false,
        }
    }

    fn is_good(&self, now: SystemTime) -> bool {
        self.svid
            .expires_at
            .duration_since(now)
            .is_ok_and(|left| left > MARGIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn half_of_a_life_is_fresh_and_all_but_its_last_seconds_good() {
        let held = Held {
            svid: Svid {
                identity: "spiffe://example.org/app".into(),
                material: Material::Bearer("canary".into()),
                expires_at: at(1_300),
                attributes: Vec::new(),
            },
            since: at(1_000),
        };
        for (now, fresh, good) in [
            (999, false, true),
            (1_000, true, true),
            (1_149, true, true),
            (1_150, false, true),
            (1_269, false, true),
            (1_270, false, false),
            (1_300, false, false),
            (9_999, false, false),
        ] {
            assert_eq!(held.is_fresh(at(now)), fresh, "{now}");
            assert_eq!(held.is_good(at(now)), good, "{now}");
        }
        assert!(!format!("{held:?}").contains("canary"), "{held:?}");
    }

    #[test]
    fn a_wrong_address_is_refused_at_the_door() {
        for address in ["", "/run/agent.sock", "tcp://localhost:1"] {
            let failure = Identity::new(address, Kind::Certificate).unwrap_err();
            assert_eq!(crate::exit::code(&failure), 3, "{address}");
        }
    }
}
