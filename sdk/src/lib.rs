//! Write a credential provider for gatepass.
//!
//! A provider knows one cloud or vendor: which audience its token service wants,
//! what a ServiceAccount's annotations mean, how a token is exchanged. The host
//! does the rest: it asks Kubernetes for the token, sends the requests, caches the
//! credential. A provider never sees the ServiceAccount token; it says where the
//! token belongs in a request, with [`egress::RequestBuilder::form_token`] and its siblings.
//!
//! Implement [`Provider`], name it in [`export!`], and build for `wasm32-wasip2`. The
//! same code compiles natively, so that it is tested without wasm, against the
//! scripted host of [`testing`].
//!
//! # A whole provider
//!
//! ```
//! use gatepass_sdk::{
//!     Annotation, Credential, Description, Error, Exchange, Facts, Host, Provider, Request, Source,
//!     SourceKind, Subject, Verb, Wishes, egress,
//! };
//! use serde::Deserialize;
//! use std::time::Duration;
//!
//! const ROLE: &str = "acme.example/role";
//!
//! #[derive(Default)]
//! struct Acme;
//!
//! #[derive(Deserialize)]
//! struct Answer {
//!     access_token: String,
//!     expires_in: u64,
//! }
//!
//! impl Provider for Acme {
//!     fn describe(&self) -> Description {
//!         Description {
//!             name: "acme".into(),
//!             version: env!("CARGO_PKG_VERSION").into(),
//!             summary: "Acme cloud access tokens".into(),
//!             annotations: vec![Annotation::required(ROLE, "name of the Acme role, `deployer`")],
//!             wishes: Wishes {
//!                 hosts: vec!["https://sts.acme.example".into()],
//!                 audiences: vec!["acme".into()],
//!                 ..Wishes::default()
//!             },
//!             verbs: vec![Verb::Audience, Verb::Identity, Verb::Exchange],
//!             sources: vec![SourceKind::SubjectToken],
//!             ..Description::default()
//!         }
//!     }
//!
//!     fn audience(&self, _: &Subject, _: &Facts, _: &Request) -> Result<Vec<String>, Error> {
//!         Ok(vec!["acme".into()])
//!     }
//!
//!     fn identity(&self, subject: &Subject, _: &Facts, request: &Request) -> Result<String, Error> {
//!         request.refuse_scopes()?;
//!         request.refuse_region()?;
//!         request.refuse_endpoint()?;
//!         Ok(subject.service_account()?.required_annotation(ROLE)?.into())
//!     }
//!
//!     fn exchange(&self, exchange: &Exchange, host: &dyn Host) -> Result<Credential, Error> {
//!         let Source::SubjectToken = exchange.source else {
//!             return Err(Error::unsupported("acme exchanges ServiceAccount tokens alone"));
//!         };
//!         let request = egress::Request::post("https://sts.acme.example/token")
//!             .form("role", &exchange.identity)
//!             .form_token("assertion")
//!             .build();
//!         let response = host.send(request)?;
//!         if response.status() != 200 {
//!             return Err(Error::denied(format!("acme refused role {}", exchange.identity)));
//!         }
//!         let answer: Answer = response.json()?;
//!         let expires_at = host.now() + Duration::from_secs(answer.expires_in);
//!         Ok(Credential::bearer(answer.access_token, expires_at))
//!     }
//! }
//!
//! gatepass_sdk::export!(Acme);
//!
//! // And its test, without wasm:
//! use gatepass_sdk::testing::{self, ScriptedHost};
//!
//! let host = ScriptedHost::new().expect(
//!     egress::Request::post("https://sts.acme.example/token")
//!         .form("role", "deployer")
//!         .form_token("assertion")
//!         .build(),
//!     egress::Response::new(200, br#"{"access_token":"t","expires_in":600}"#),
//! );
//! let subject = testing::service_account("team-a", "app", &[(ROLE, "deployer")]);
//! let credential = testing::exchange(&Acme, subject, Request::default(), &host)?;
//! assert_eq!(credential.expires_at, Some(host.now() + Duration::from_secs(600)));
//! host.finish();
//! # Ok::<(), Error>(())
//! ```

// The generated bindings name this crate as their users do.
extern crate self as gatepass_sdk;

mod address;
mod bindings;
mod cluster;
mod credential;
mod description;
pub mod egress;
mod error;
mod export;
pub mod fault;
#[doc(hidden)]
pub mod generated;
mod git;
mod host;
mod provider;
mod registry;
mod request;
mod subject;
pub mod testing;
mod trust;

pub use address::{Authority, HttpsAddress};
#[doc(hidden)]
pub use bindings::Component;
pub use cluster::{
    ClusterAccess, ClusterAdvice, ClusterLookup, ClusterReference, certificate_of_base64,
    is_certificate,
};
pub use credential::{AwsKeys, Basic, Credential, Material, Secret, X509};
pub use description::{Annotation, Description, SourceKind, Verb, Wishes};
pub use error::{Error, ErrorCode};
pub use git::{Git, GitTarget};
pub use host::{Clock, Egress, Environment, Host, Level, Log, RsaSigner, Signer, SigningAuthority};
pub use provider::{Exchange, Provider, Source};
pub use registry::{RegistryTarget, registry_host};
pub use request::{Facts, Parameters, Request};
pub use subject::{ObjectReference, ServiceAccount, Subject};
pub use trust::{Trust, shell_quoted};
#[doc(hidden)]
pub use wit_bindgen;
