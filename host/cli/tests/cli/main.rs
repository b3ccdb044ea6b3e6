//! The program, run as people run it, against a sandbox in this process.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the steps that tests share fail a test as the tests themselves do"
)]

mod agent;
mod world;

mod chain;
mod demo;
mod explain;
mod git;
mod issuer;
mod kubeconfig;
mod object;
mod oci;
mod plugin;
mod refusal;
mod registry;
mod sandbox;
mod talk;
mod token;
mod workload_api;
