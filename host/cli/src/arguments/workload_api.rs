//! Flags of `gatepass workload-api`.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use gatepass::config::TimeSpan;
use spiffe::SpiffeId;
use std::path::PathBuf;

/// What to ask for.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkloadApi {
    /// Get a JWT-SVID: a token that says who this workload is
    Jwt(JwtSvid),
    /// Get an X509-SVID: a certificate that says so, its key, and whom to trust
    X509(X509Svid),
}

/// Flags of `gatepass workload-api jwt`.
#[derive(Debug, Args)]
pub(crate) struct JwtSvid {
    #[command(flatten)]
    pub(crate) endpoint: Endpoint,
    /// Whom the token is shown to; one is best, since each could show it to the others
    #[arg(
        long,
        alias = "audiences",
        value_name = "AUDIENCE",
        value_delimiter = ',',
        required = true,
        num_args = 1,
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub(crate) audience: Vec<String>,
    /// Which of the workload's identities [default: the first]
    #[arg(long, value_name = "ID", value_parser = spiffe_id)]
    pub(crate) spiffe_id: Option<SpiffeId>,
}

/// Flags of `gatepass workload-api x509`.
#[derive(Debug, Args)]
pub(crate) struct X509Svid {
    #[command(flatten)]
    pub(crate) endpoint: Endpoint,
    /// Which of the workload's identities [default: the first]
    #[arg(long, value_name = "ID", value_parser = spiffe_id)]
    pub(crate) spiffe_id: Option<SpiffeId>,
    /// Write tls.crt, tls.key and bundle.crt into this directory, for the owner alone
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Where the Workload API is, and how long to wait for it.
#[derive(Clone, Debug, Args)]
pub(crate) struct Endpoint {
    /// Where the Workload API listens: unix:///PATH or tcp://IP:PORT
    #[arg(long, value_name = "ADDRESS", env = crate::workload_api::VARIABLE)]
    pub(crate) socket: Option<String>,
    /// How long to wait until it is ready and knows this workload
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = patience)]
    pub(crate) timeout: TimeSpan,
}

fn spiffe_id(text: &str) -> Result<SpiffeId, String> {
    let refuse = |error| format!("'{text}' must be written spiffe://TRUST-DOMAIN/PATH: {error}");
    SpiffeId::new(text).map_err(refuse)
}

fn patience(text: &str) -> Result<TimeSpan, String> {
    let span: TimeSpan = text.parse().map_err(|error| format!("{error}"))?;
    match span.0.is_zero() {
        true => Err("must be longer than nothing".into()),
        false => Ok(span),
    }
}

#[cfg(test)]
mod tests {
    use crate::arguments::{Arguments, Command};
    use clap::Parser as _;

    fn parse(flags: &str) -> Result<Command, String> {
        let line = format!("gatepass workload-api {flags}");
        Arguments::try_parse_from(line.split_whitespace())
            .map(|arguments| arguments.command)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn audiences_take_commas_and_times_have_units() {
        let parsed = parse("jwt --audience a,b --audience c --timeout 250ms").unwrap();
        let Command::WorkloadApi(super::WorkloadApi::Jwt(jwt)) = parsed else {
            panic!("another command")
        };
        assert_eq!(jwt.audience, ["a", "b", "c"]);
        assert_eq!(jwt.endpoint.timeout.0.as_millis(), 250);
    }

    #[test]
    fn what_is_wrong_is_refused_by_name() {
        for (flags, named) in [
            ("jwt", "--audience"),
            ("jwt --audience a,", "--audience"),
            ("jwt --audience a --spiffe-id app", "spiffe://TRUST-DOMAIN"),
            (
                "x509 --spiffe-id https://a.example/b",
                "spiffe://TRUST-DOMAIN",
            ),
            ("x509 --spiffe-id spiffe://a.example/b?c", "--spiffe-id"),
            ("x509 --timeout 0s", "longer than nothing"),
            ("x509 --timeout soon", "soon"),
            ("x509 --audience a", "--audience"),
            ("bundle", "bundle"),
        ] {
            let said = parse(flags).unwrap_err();
            assert!(said.contains(named), "{flags}: {said}");
        }
    }
}
