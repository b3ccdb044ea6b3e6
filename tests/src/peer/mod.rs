//! Real third-party servers to test against.
//!
//! Nothing here is ours, so it can tell us that we are wrong. Each peer is built or fetched once into
//! `target/peers/` (see [`source`]), started on a free loopback port with a certificate of one
//! [`certificate::Authority`], and stopped by its own process id when its value is dropped.
//!
//! | peer | module | asked about |
//! |---|---|---|
//! | kube-apiserver and etcd | [`kubernetes`] | TokenRequest, RBAC, issuer discovery, trust in other issuers, CRDs, watch, leases |
//! | multistore-sts | [`sts`] | whether a web identity token verifies, and what a refusal looks like |
//! | moto | [`moto`] | the shapes of ECR, EKS and STS answers |
//! | docker-registry | [`registry`] | the challenge, the acceptance of its tokens, push and pull |

pub mod certificate;
pub mod kubernetes;
pub mod moto;
pub mod process;
pub mod registry;
pub mod source;
pub mod sts;
