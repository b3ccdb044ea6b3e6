//! What a controller pays: for a hit, for a key, and for a verb in a fresh instance.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "criterion's macros make undocumented items, and a broken benchmark may end"
)]

use async_trait::async_trait;
use criterion::{Criterion, criterion_group, criterion_main};
use gatepass::cache::key::KeyLines;
use gatepass::plugin::{GrantPolicy, Plugin, PluginLimits, PluginOptions, PluginSource};
use gatepass::provider::{Call, Provider};
use gatepass::{
    CredentialHost, CredentialRequest, Error, Journal, Lookup, Network, ServiceAccount,
    ServiceAccountName, ServiceAccounts, Subject, SubjectToken,
};
use gatepass_tests::{component, house};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// One account in memory, as in a reflector's store.
#[derive(Debug)]
struct OneAccount(Arc<ServiceAccount>);

#[async_trait]
impl ServiceAccounts for OneAccount {
    async fn service_account(&self, _: &ServiceAccountName) -> Result<Lookup, Error> {
        Ok(Lookup::Found(Arc::clone(&self.0)))
    }

    async fn token(
        &self,
        _: &ServiceAccount,
        _: &[String],
        lifetime: Duration,
    ) -> Result<SubjectToken, Error> {
        Ok(SubjectToken {
            token: "header.claims.signature".into(),
            expires_at: SystemTime::now() + lifetime,
        })
    }

    async fn own_account(&self) -> Result<ServiceAccountName, Error> {
        Ok(self.0.name.clone())
    }

    async fn issuer(&self) -> Result<String, Error> {
        Ok("https://issuer.example".into())
    }
}

fn account() -> Arc<ServiceAccount> {
    Arc::new(ServiceAccount {
        name: ServiceAccountName::new("tenant-a", "app").unwrap(),
        uid: "0f8f3e7a-7b3c-4f0e-9a55-6f2f0f1d7c11".into(),
        resource_version: "1".into(),
        annotations: BTreeMap::new(),
    })
}

fn request() -> CredentialRequest {
    let request = CredentialRequest::builder("generic").service_account("tenant-a", "app");
    request
        .audiences(["https://registry.example"])
        .build()
        .unwrap()
}

async fn generic() -> Plugin {
    let source = PluginSource::from_bytes(component::plugin("generic").unwrap(), None).unwrap();
    let options = PluginOptions {
        grant: GrantPolicy::AsWished,
        limits: PluginLimits::default(),
        network: Network::default(),
    };
    Plugin::load(&house::engine().unwrap(), source, options)
        .await
        .unwrap()
}

fn hot_paths(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let subject = Subject::ServiceAccount(account());
    let request = request();

    criterion.bench_function("key", |bencher| {
        let audiences = request.access().audiences.clone();
        bencher.iter(|| {
            let lines = KeyLines::access(
                &request, "sha256:0", &subject, "identity", &audiences, &None,
            );
            black_box(lines.key())
        });
    });

    let host = CredentialHost::builder()
        .provider(runtime.block_on(generic()))
        .service_accounts(OneAccount(account()))
        .object_level_workload_identity(true)
        .build()
        .unwrap();
    criterion.bench_function("hit", |bencher| {
        runtime.block_on(host.access_token(&request)).unwrap();
        bencher.iter(|| runtime.block_on(host.access_token(&request)).unwrap());
    });

    let plugin = runtime.block_on(generic());
    let journal = Journal::off();
    criterion.bench_function("fresh call", |bencher| {
        let call = Call {
            request: &request,
            facts: &None,
            journal: &journal,
        };
        bencher.iter(|| runtime.block_on(plugin.identity(&subject, call)).unwrap());
    });
}

criterion_group!(benches, hot_paths);
criterion_main!(benches);
