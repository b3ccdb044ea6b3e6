//! What the caller asks for.

use crate::Error;
use std::collections::BTreeMap;

/// What `discover` learned of the environment: no secrets. `None`: not discovered yet.
pub type Facts = Option<BTreeMap<String, String>>;

/// What the caller asks for. The host has checked its form and that the parameters fit the
/// schema of [`Description::parameters`](crate::Description::parameters).
///
/// A field that a provider does not use is refused, never ignored: a restriction that nothing
/// enforces is worse than an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Audiences of the ServiceAccount token; empty: the provider's own.
    pub audiences: Vec<String>,
    /// OAuth scopes; empty: the provider's own.
    pub scopes: Vec<String>,
    /// Region of the token service.
    pub region: Option<String>,
    /// URL that replaces the token service's usual address.
    pub endpoint: Option<String>,
    /// Provider-specific values.
    pub parameters: BTreeMap<String, String>,
}

impl Request {
    /// Begins to consume the parameters; see [`Parameters::finish`].
    #[must_use]
    pub fn take_parameters(&self) -> Parameters<'_> {
        Parameters {
            remaining: self
                .parameters
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
        }
    }

    /// The same request for a token that goes to `receiver`, unless it names audiences itself.
    ///
    /// ```
    /// use gatepass_sdk::Request;
    ///
    /// let request = Request::default().for_receiver("https://registry.example");
    /// assert_eq!(request.audiences, ["https://registry.example"]);
    /// assert_eq!(request.for_receiver("another"), request);
    /// ```
    #[must_use]
    pub fn for_receiver(&self, receiver: &str) -> Self {
        let mut request = self.clone();
        if request.audiences.is_empty() {
            request.audiences.push(receiver.into());
        }
        request
    }

    /// Refuses scopes, for a provider that has no use for them.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if there are any.
    pub fn refuse_scopes(&self) -> Result<(), Error> {
        refuse("scopes", self.scopes.first().map(String::as_str))
    }

    /// Refuses a region, for a provider that has no use for it.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if there is one.
    pub fn refuse_region(&self) -> Result<(), Error> {
        refuse("region", self.region.as_deref())
    }

    /// Refuses an endpoint, for a provider that has no use for it.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if there is one.
    pub fn refuse_endpoint(&self) -> Result<(), Error> {
        refuse("endpoint", self.endpoint.as_deref())
    }
}

fn refuse(field: &str, value: Option<&str>) -> Result<(), Error> {
    match value {
        None => Ok(()),
        Some(value) => Err(Error::invalid_configuration(format!(
            "{field} '{value}' has no effect with this provider: remove it"
        ))),
    }
}

/// Parameters that are being consumed.
#[derive(Debug)]
pub struct Parameters<'a> {
    remaining: BTreeMap<&'a str, &'a str>,
}

impl<'a> Parameters<'a> {
    /// Takes one parameter.
    pub fn take(&mut self, name: &str) -> Option<&'a str> {
        self.remaining.remove(name)
    }

    /// Takes and parses one parameter.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if it does not parse, with `rule` as what it must be.
    pub fn parse<T: std::str::FromStr>(
        &mut self,
        name: &str,
        rule: &str,
    ) -> Result<Option<T>, Error> {
        self.take(name)
            .map(|value| {
                value.parse().map_err(|_| {
                    Error::invalid_configuration(format!(
                        "parameter {name} '{value}' must be {rule}"
                    ))
                })
            })
            .transpose()
    }

    /// Takes a flag, `true` or `false`; absent: false.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if it is neither.
    pub fn flag(&mut self, name: &str) -> Result<bool, Error> {
        Ok(self.parse(name, "true or false")?.unwrap_or(false))
    }

    /// Ends the consumption.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming a parameter that nothing took.
    pub fn finish(self) -> Result<(), Error> {
        match self.remaining.keys().next() {
            None => Ok(()),
            Some(name) => Err(Error::invalid_configuration(format!(
                "parameter {name} has no effect with this provider: remove it"
            ))),
        }
    }
}
