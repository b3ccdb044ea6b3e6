//! Which service a host name stands for.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Sts,
    IamCredentials,
    OAuth,
    Container,
    /// The issuer of Google's own identity tokens.
    Accounts,
    /// Where that issuer's keys are.
    Certificates,
}

impl Service {
    pub(crate) fn of_host(host: &str) -> Option<Self> {
        let labels: Vec<&str> = host.split('.').collect();
        match labels.as_slice() {
            ["sts", "googleapis", "com"] => Some(Self::Sts),
            ["iamcredentials", "googleapis", "com"] => Some(Self::IamCredentials),
            ["oauth2", "googleapis", "com"] => Some(Self::OAuth),
            ["container", "googleapis", "com"] => Some(Self::Container),
            ["www", "googleapis", "com"] => Some(Self::Certificates),
            ["accounts", "google", "com"] => Some(Self::Accounts),
            // Regional endpoints: `SERVICE.LOCATION.rep.googleapis.com`.
            [service, location, "rep", "googleapis", "com"] if is_location(location) => {
                match *service {
                    "sts" => Some(Self::Sts),
                    "iamcredentials" => Some(Self::IamCredentials),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// A region or zone: letters, digits and hyphens, such as `europe-west1`.
pub(crate) fn is_location(text: &str) -> bool {
    let all = text
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    all && text.starts_with(|first: char| first.is_ascii_lowercase()) && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::Service;

    #[test]
    fn hosts_are_compared_label_by_label() {
        for (host, service) in [
            ("sts.googleapis.com", Some(Service::Sts)),
            ("sts.europe-west1.rep.googleapis.com", Some(Service::Sts)),
            ("container.googleapis.com", Some(Service::Container)),
            ("sts.googleapis.com.example", None),
            ("x.sts.googleapis.com", None),
            ("sts.-.rep.googleapis.com", None),
            ("storage.europe-west1.rep.googleapis.com", None),
            ("", None),
        ] {
            assert_eq!(Service::of_host(host), service, "{host}");
        }
    }
}
