//! What the other side must be told once: an optional interface.

use crate::{Error, Facts, Request, Subject};

/// A provider that can say how the other side comes to trust a subject. Name it in
/// [`export!`](crate::export): `export!(Acme, trust)`.
pub trait Trust {
    /// *Pure.* A policy or commands, for the other side's administrator to read and to apply, by which
    /// exactly this subject is let in. `identity` and `audiences` are those of the exchange,
    /// `issuer` is who signs the subject's token.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if annotations or request are wrong; `unsupported` for a subject that
    /// needs no trust.
    fn policy(
        &self,
        subject: &Subject,
        identity: &str,
        issuer: &str,
        audiences: &[String],
        facts: &Facts,
        request: &Request,
    ) -> Result<String, Error>;
}
