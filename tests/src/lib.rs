//! What the end-to-end tests stand on: a house with a sandbox, a host and plugins in it, and real peers.

pub mod component;
pub mod hostile;
pub mod house;
pub mod http;
pub mod issuer;
pub mod peer;
pub mod signing;
