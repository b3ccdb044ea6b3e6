//! The identity tokens of GitHub Actions.

use std::time::Duration;

use gatepass_sandbox::{Fault, Job, WorkloadIdentityProvider};
use jsonwebtoken::dangerous::insecure_decode_claims;
use serde_json::Value;

use crate::google::{STS, exchange};
use crate::world::World;

const PROVIDER: &str = "projects/1/locations/global/workloadIdentityPools/github/providers/actions";

fn claims(token: &str) -> Value {
    insecure_decode_claims(token).unwrap()
}

#[tokio::test]
async fn a_job_gets_a_token_that_others_can_prove() {
    let world = World::bare().await;
    let github = world.sandbox.github();
    let job = github.start(&Job::of("acme/app"));
    assert!(job.request_url.contains("/idtoken?api-version=2.0"));
    let audience = format!("//iam.googleapis.com/{PROVIDER}");
    let url = format!("{}&audience={audience}", job.request_url);
    let reply = world.bearer(&url, &job.request_token).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let body = reply.json();
    let token = body["value"].as_str().unwrap();
    assert_eq!(body["count"].as_u64(), u64::try_from(token.len()).ok());
    let found = claims(token);
    assert_eq!(
        (found["iss"].as_str(), found["sub"].as_str()),
        (
            Some(github.issuer()),
            Some("repo:acme/app:ref:refs/heads/main")
        )
    );
    let life = found["exp"].as_u64().unwrap() - found["iat"].as_u64().unwrap();
    assert_eq!(life, 300);
    let provider =
        WorkloadIdentityProvider::new(github.issuer()).condition("repository_owner", "acme");
    world.sandbox.google().provider(PROVIDER, provider).unwrap();
    let reply = world.form(STS, &exchange(&audience, token)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[tokio::test]
async fn the_environment_and_the_owner_are_seen_in_the_claims() {
    let world = World::bare().await;
    let job = Job {
        environment: Some("production".to_owned()),
        ..Job::of("acme/app")
    };
    let job = world.sandbox.github().start(&job);
    let reply = world.bearer(&job.request_url, &job.request_token).await;
    let found = claims(reply.json()["value"].as_str().unwrap());
    assert_eq!(
        (
            found["sub"].as_str(),
            found["aud"].as_str(),
            found["environment"].as_str()
        ),
        (
            Some("repo:acme/app:environment:production"),
            Some("https://github.com/acme"),
            Some("production")
        )
    );
}

#[tokio::test]
async fn only_the_job_itself_may_ask_while_it_runs() {
    let world = World::bare().await;
    let github = world.sandbox.github();
    let job = github.start(&Job::of("acme/app"));
    let other = github.start(&Job::of("acme/other"));
    assert!(!format!("{job:?}").contains(&job.request_token));
    let (plain, _) = job.request_url.split_once('?').unwrap();
    let elsewhere = job.request_url.replace("/idtoken", "/else");
    for (url, token, status) in [
        (job.request_url.as_str(), job.request_token.as_str(), 200),
        (&job.request_url, &other.request_token, 401),
        (&job.request_url, "", 401),
        (plain, &job.request_token, 400),
        (&elsewhere, &job.request_token, 404),
    ] {
        let reply = world.bearer(url, token).await;
        assert_eq!(reply.status, status, "{}", reply.body);
        assert!(reply.json()["message"].is_string() || status == 200);
    }
    world.sandbox.advance(Duration::from_secs(6 * 3_600));
    let reply = world.bearer(&job.request_url, &job.request_token).await;
    assert_eq!(reply.status, 401);
}

#[tokio::test]
async fn faults_have_the_shape_of_the_service() {
    let world = World::bare().await;
    let job = world.sandbox.github().start(&Job::of("acme/app"));
    let host = "pipelines.actions.githubusercontent.com";
    let fault = Fault::Times(1, Box::new(Fault::Throttle(Duration::from_secs(1))));
    world.sandbox.faults().set(host, "", fault);
    let reply = world.bearer(&job.request_url, &job.request_token).await;
    assert_eq!(
        (reply.status, reply.json()["typeKey"].as_str()),
        (429, Some("RequestBlockedException"))
    );
    assert_eq!(reply.header("retry-after"), "1");
    let reply = world.bearer(&job.request_url, &job.request_token).await;
    assert_eq!(reply.status, 200);
}
