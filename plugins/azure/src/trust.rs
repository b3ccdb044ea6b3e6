//! What the administrator of a tenant runs so that an account's token is accepted.

use crate::cloud::Cloud;
use crate::identity;
use crate::principal::Principal;
use gatepass_sdk::{Error, Request, ServiceAccount, Subject, shell_quoted};

/// Longest name of a federated credential, and the shortest
/// (learn.microsoft.com/entra/workload-id/workload-identity-federation-considerations).
const MAX_NAME: usize = 120;

/// Longest issuer, subject and audience of a federated credential (the same page).
const MAX_VALUE: usize = 600;

/// Commands for `az` that make the federated credential for exactly this account. Every value
/// is quoted for the shell.
///
/// # Errors
///
/// `unsupported` for a subject that is no ServiceAccount; `invalid-configuration` if a value is
/// none that a federated credential can have.
pub(crate) fn trust(
    subject: &Subject,
    identity: &str,
    issuer: &str,
    audiences: &[String],
    request: &Request,
) -> Result<String, Error> {
    let account = subject.service_account()?;
    let Principal { tenant, client } = Principal::parse("identity", identity)?;
    let issuer = issuer_url(issuer)?;
    let cloud = cloud(request)?;
    let audience = audience(audiences, cloud)?;
    let subject = format!(
        "system:serviceaccount:{}:{}",
        account.namespace, account.name
    );
    let subject = plain("subject", &subject)?;
    let name = name(account);
    let document = serde_json::json!({
        "name": name,
        "issuer": issuer,
        "subject": subject,
        "audiences": [audience],
    });
    Ok(format!(
        "\
# Entra compares issuer, subject and audience letter by letter: upper and lower case count, and so
# does a slash at the end of the issuer. A new credential takes some minutes to be known everywhere.
az cloud set --name {cloud} && az login --tenant {tenant}

# If {client} is a user-assigned managed identity; the first command finds its names:
az identity list --query \"[?clientId=='{client}'].{{name:name,group:resourceGroup}}\" --output table
az identity federated-credential create \\
  --identity-name IDENTITY_NAME --resource-group RESOURCE_GROUP \\
  --name {name} \\
  --issuer {issuer} \\
  --subject {subject} \\
  --audiences {audience}

# If it is an application:
az ad app federated-credential create --id {client} --parameters {document}
",
        cloud = cloud.command_line_name(),
        name = shell_quoted(&name),
        issuer = shell_quoted(issuer),
        subject = shell_quoted(subject),
        audience = shell_quoted(&audience),
        document = shell_quoted(&document.to_string()),
    ))
}

/// The cloud that the request names, or the public one.
fn cloud(request: &Request) -> Result<Cloud, Error> {
    match identity::names_a_cloud(request) {
        true => Ok(identity::authority(request, &None)?.cloud()),
        false => Ok(Cloud::Public),
    }
}

/// The one audience of a federated credential.
fn audience(audiences: &[String], cloud: Cloud) -> Result<String, Error> {
    match audiences {
        [] => Ok(cloud.audience().into()),
        [audience] => plain("audience", audience).map(str::to_owned),
        [_, second, ..] => Err(Error::invalid_configuration(format!(
            "a federated credential of Entra has one audience: remove '{}'",
            second.escape_debug()
        ))),
    }
}

fn issuer_url(issuer: &str) -> Result<&str, Error> {
    let issuer = plain("issuer", issuer)?;
    if issuer.starts_with("https://") {
        return Ok(issuer);
    }
    Err(Error::invalid_configuration(format!(
        "issuer '{issuer}' must be an https URL that the internet can read"
    )))
}

/// A value without spaces and control characters, which no name in a token needs.
fn plain<'a>(field: &str, text: &'a str) -> Result<&'a str, Error> {
    let fits =
        (1..=MAX_VALUE).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    if fits {
        return Ok(text);
    }
    Err(Error::invalid_configuration(format!(
        "{field} '{}' must be 1 to {MAX_VALUE} characters of ASCII, without spaces",
        text.escape_debug()
    )))
}

/// A name for the credential: letters, digits and `-`, a letter first.
fn name(account: &ServiceAccount) -> String {
    format!("gatepass-{}-{}", account.namespace, account.name)
        .chars()
        .map(|character| match character {
            letter if letter.is_ascii_alphanumeric() => letter,
            _ => '-',
        })
        .take(MAX_NAME)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::{ErrorCode, testing};

    const CLIENT: &str = "11111111-aaaa-4bbb-8ccc-222222222222";
    const ISSUER: &str = "https://oidc.example/Cluster/";

    fn account(name: &str) -> Subject {
        testing::service_account("team-a", name, &[])
    }

    fn snippet(subject: &Subject, issuer: &str, audiences: &[&str]) -> Result<String, Error> {
        let audiences: Vec<String> = audiences.iter().map(|text| (*text).into()).collect();
        let identity = format!("contoso.com/{CLIENT}");
        trust(subject, &identity, issuer, &audiences, &Request::default())
    }

    #[test]
    fn the_commands_name_exactly_this_account() {
        let text = snippet(&account("app"), ISSUER, &["api://AzureADTokenExchange"]).unwrap();
        for line in [
            "az cloud set --name AzureCloud && az login --tenant contoso.com",
            "  --name 'gatepass-team-a-app' \\",
            "  --issuer 'https://oidc.example/Cluster/' \\",
            "  --subject 'system:serviceaccount:team-a:app' \\",
            "  --audiences 'api://AzureADTokenExchange'",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let document = format!(
            r#"--id {CLIENT} --parameters '{{"audiences":["api://AzureADTokenExchange"],"issuer":"https://oidc.example/Cluster/","name":"gatepass-team-a-app","subject":"system:serviceaccount:team-a:app"}}'"#
        );
        assert!(text.contains(&document), "{text}");
        assert!(text.contains("upper and lower case count"), "{text}");
    }

    #[test]
    fn without_an_audience_it_is_that_of_the_cloud() {
        let text = snippet(&account("app"), ISSUER, &[]).unwrap();
        assert!(
            text.contains("--audiences 'api://AzureADTokenExchange'\n"),
            "{text}"
        );
        let china = Request {
            parameters: [("cloud".into(), "china".into())].into(),
            ..Request::default()
        };
        let identity = format!("contoso.com/{CLIENT}");
        let text = trust(&account("app"), &identity, ISSUER, &[], &china).unwrap();
        for word in [
            "--name AzureChinaCloud ",
            "'api://AzureADTokenExchangeChina'",
        ] {
            assert!(text.contains(word), "{text}");
        }
    }

    #[test]
    fn nothing_gets_out_of_its_quotes() {
        let issuer = "https://x.example/';rm$(id)`id`\"#";
        let text = snippet(&account("a'b"), issuer, &["a'b"]).unwrap();
        assert!(
            text.contains(r#"--issuer 'https://x.example/'\'';rm$(id)`id`"#),
            "{text}"
        );
        assert!(text.contains(r"--audiences 'a'\''b'"), "{text}");
        assert!(text.contains("--name 'gatepass-team-a-a-b'"), "{text}");
        // A quote within is written as: end of quotes, escaped quote, quotes again.
        let text = text.replace(r"'\''", "");
        for line in text.lines().filter(|line| line.contains("rm$(id)")) {
            let outside: Vec<&str> = line.split('\'').step_by(2).collect();
            assert!(!outside.concat().contains("rm$"), "{line}");
        }
    }

    #[test]
    fn values_that_no_credential_can_have_are_refused() {
        let long = format!("https://x.example/{}", "a".repeat(600));
        let app = account("app");
        for (subject, issuer, audiences, word) in [
            (&app, "http://x.example", &["a"][..], "issuer"),
            (&app, "", &["a"], "issuer"),
            (&app, "https://x.example/\nrm", &["a"], "issuer"),
            (&app, "https://x.example/ rm", &["a"], "issuer"),
            (&app, &long, &["a"], "issuer"),
            (&app, ISSUER, &[""], "audience"),
            (&app, ISSUER, &["a b"], "audience"),
            (&app, ISSUER, &["a", "b"], "remove 'b'"),
            (&account("a\nb"), ISSUER, &["a"], "subject"),
        ] {
            let error = snippet(subject, issuer, audiences).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
            assert!(error.message().contains(word), "{error}");
        }
        let wrong = trust(&app, "ambient", ISSUER, &[], &Request::default());
        assert!(wrong.is_err());
        let error = snippet(&Subject::Ambient, ISSUER, &[]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unsupported);
    }

    #[test]
    fn a_name_is_cut_to_what_is_legal() {
        let text = snippet(&account(&"a".repeat(253)), ISSUER, &[]).unwrap();
        let name = text
            .lines()
            .find(|line| line.starts_with("  --name "))
            .unwrap();
        let name = name.split('\'').nth(1).unwrap();
        assert_eq!(name.len(), MAX_NAME);
    }
}
