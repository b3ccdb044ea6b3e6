//! The sandbox from outside, over its sockets, with clients that are not its own.

#[cfg(test)]
mod access;
#[cfg(test)]
mod assume_role;
#[cfg(test)]
mod azure;
#[cfg(test)]
mod cluster_token;
#[cfg(test)]
mod distribution;
#[cfg(test)]
mod fault;
#[cfg(test)]
mod github;
#[cfg(test)]
mod google;
#[cfg(test)]
mod issuer;
#[cfg(test)]
mod kube_client;
#[cfg(test)]
mod metadata;
#[cfg(test)]
mod object;
#[cfg(test)]
mod oidc_trust;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod signature;
#[cfg(test)]
mod token_request;
#[cfg(test)]
mod watch;
#[cfg(test)]
mod web_identity;
#[cfg(test)]
mod world;
