//! A house with a guest that misbehaves as it is told.

use crate::house::{House, guest};
use anyhow::Result;
use gatepass::config::GrantConfig;
use gatepass::environment::FixedEnvironment;
use gatepass::{CredentialRequest, CredentialRequestBuilder};

/// A house with the guest, whose calls get a tenth of a second of processor and half of one in all.
///
/// # Errors
///
/// The guest is not built.
pub async fn house() -> Result<House> {
    house_with("100ms", "500ms").await
}

/// A house with the guest under these limits.
///
/// # Errors
///
/// As [`house`].
pub async fn house_with(cpu: &'static str, wall: &'static str) -> Result<House> {
    let hostile = guest("hostile", |plugin| {
        plugin.grant = Some(GrantConfig {
            hosts: vec![
                "https://granted.example".into(),
                "http://169.254.169.254".into(),
            ],
            audiences: vec!["hostile".into()],
            environment: vec!["GATEPASS_TEST_GRANTED".into()],
            files: vec!["/run/granted".into(), "/run/other".into()],
            ..GrantConfig::default()
        });
        plugin.limits.cpu = cpu.parse().ok();
        plugin.limits.wall = wall.parse().ok();
        plugin.limits.max_request_bytes = Some(1024);
    });
    let hostile = hostile?;
    House::run_by("admin", |_, config| {
        config.retry.max_attempts = Some(1);
        config.plugins.push(hostile);
        FixedEnvironment::default()
            .variable("GATEPASS_TEST_GRANTED", "lent")
            .variable("GATEPASS_TEST_UNGRANTED", "canary")
            .file("/run/granted", "lent")
            .file("/run/other", "canary")
            .file("/etc/hostname", "canary")
    })
    .await
}

/// A request that makes the guest behave so, on behalf of tenant A.
#[must_use]
pub fn request(behaviour: &str) -> CredentialRequestBuilder {
    CredentialRequest::builder("hostile")
        .service_account("tenant-a", "workload")
        .parameter("behaviour", behaviour)
}
