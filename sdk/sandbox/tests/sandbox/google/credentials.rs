//! Acting as a service account.

use std::time::Duration;

use gatepass_sandbox::WorkloadIdentityProvider;
use serde_json::{Value, json};

use super::{
    AUDIENCE, CLOUD_PLATFORM, CONTROLLER, POOL, PROVIDER, STS, TENANT, assert_api_error, exchange,
    text,
};
use crate::world::{World, changed};

const USER_ROLE: &str = "roles/iam.workloadIdentityUser";
const CREATOR_ROLE: &str = "roles/iam.serviceAccountTokenCreator";

fn body() -> Value {
    json!({"scope": [CLOUD_PLATFORM], "lifetime": "3600s"})
}

fn account(email: &str) -> String {
    format!("projects/-/serviceAccounts/{email}")
}

#[tokio::test]
async fn a_bound_identity_acts_as_the_account() {
    let world = World::demo().await;
    let token = world.federate("tenant-a-gcp-sa").await;
    let reply = world.generate(&token, TENANT, &body()).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(text(&reply, "accessToken").starts_with("ya29.c."));
    let expires_at = text(&reply, "expireTime");
    assert!(
        expires_at.len() == 20 && expires_at.ends_with('Z'),
        "{expires_at}"
    );
    let token = text(&reply, "accessToken");
    let login = world
        .sandbox
        .google()
        .verify_registry_login("oauth2accesstoken", &token);
    assert_eq!(login.unwrap().principal, TENANT);
    world.sandbox.advance(Duration::from_secs(3_600));
    let reply = world.generate(&token, TENANT, &body()).await;
    assert_api_error(
        &reply,
        401,
        "UNAUTHENTICATED",
        "Expected OAuth 2 access token",
    );
    assert_eq!(
        reply.json()["error"]["details"][0]["reason"],
        "ACCESS_TOKEN_EXPIRED"
    );
}

#[tokio::test]
async fn whoever_is_not_bound_is_refused() {
    let world = World::demo().await;
    let other = world.federate("tenant-b-gcp-sa").await;
    let reply = world.generate(&other, TENANT, &body()).await;
    let message =
        "Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).";
    assert_api_error(&reply, 403, "PERMISSION_DENIED", message);
    let details = &reply.json()["error"]["details"][0];
    assert_eq!(
        (
            details["reason"].as_str(),
            details["metadata"]["permission"].as_str()
        ),
        (
            Some("IAM_PERMISSION_DENIED"),
            Some("iam.serviceAccounts.getAccessToken")
        )
    );
    let nobody = "nobody@demo-project.iam.gserviceaccount.com";
    let reply = world.generate(&other, nobody, &body()).await;
    assert_api_error(
        &reply,
        404,
        "NOT_FOUND",
        &format!("Gaia id not found for email {nobody}"),
    );
    let own = world.federate("tenant-a-gcp-sa").await;
    let member = format!(
        "principal://iam.googleapis.com/{POOL}/subject/system:serviceaccount:tenant-a:tenant-a-gcp-sa"
    );
    world
        .sandbox
        .google()
        .unbind(&account(TENANT), USER_ROLE, &member)
        .unwrap();
    let reply = world.generate(&own, TENANT, &body()).await;
    assert_api_error(&reply, 403, "PERMISSION_DENIED", message);
}

#[tokio::test]
async fn a_set_of_principals_can_be_bound() {
    let world = World::demo().await;
    let google = world.sandbox.google();
    let issuer = world.sandbox.kubernetes().issuer();
    let provider = WorkloadIdentityProvider::new(&issuer)
        .attribute("namespace", "/kubernetes.io/namespace")
        .attribute("nothing", "absent");
    google.provider(PROVIDER, provider).unwrap();
    for (set, status) in [
        ("attribute.namespace/tenant-b", 403),
        ("attribute.nothing/", 403),
        ("group/tenant-a", 403),
        ("namespace/tenant-a", 403),
        ("attribute.namespace/tenant-a", 200),
    ] {
        let member = format!("principalSet://iam.googleapis.com/{POOL}/{set}");
        google
            .bind(&account(CONTROLLER), USER_ROLE, &member)
            .unwrap();
        let token = world.federate("tenant-a-gcp-sa").await;
        let reply = world.generate(&token, CONTROLLER, &body()).await;
        assert_eq!(reply.status, status, "{set}: {}", reply.body);
    }
}

#[tokio::test]
async fn every_link_of_a_chain_is_checked() {
    let world = World::demo().await;
    let google = world.sandbox.google();
    let [middle, last] =
        ["middle", "last"].map(|name| format!("{name}@demo-project.iam.gserviceaccount.com"));
    google.service_account(&middle).unwrap();
    google.service_account(&last).unwrap();
    let caller = world
        .impersonate(&world.federate("tenant-a-gcp-sa").await, TENANT)
        .await;
    let chained = json!({"scope": [CLOUD_PLATFORM], "delegates": [account(&middle)]});
    let refused = |permission: &str| format!("Permission '{permission}' denied");
    let delegation = "iam.serviceAccounts.implicitDelegation";
    let reply = world.generate(&caller, &last, &chained).await;
    assert_api_error(&reply, 403, "PERMISSION_DENIED", &refused(delegation));
    // Acting as an account is less than delegating by it.
    let tenant = format!("serviceAccount:{TENANT}");
    google.bind(&account(&middle), USER_ROLE, &tenant).unwrap();
    let reply = world.generate(&caller, &last, &chained).await;
    assert_api_error(&reply, 403, "PERMISSION_DENIED", &refused(delegation));
    google
        .bind(&account(&middle), CREATOR_ROLE, &tenant)
        .unwrap();
    let reply = world.generate(&caller, &last, &chained).await;
    assert_api_error(
        &reply,
        403,
        "PERMISSION_DENIED",
        &refused("iam.serviceAccounts.getAccessToken"),
    );
    google
        .bind(
            &account(&last),
            CREATOR_ROLE,
            &format!("serviceAccount:{middle}"),
        )
        .unwrap();
    let reply = world.generate(&caller, &last, &chained).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let reply = world.generate(&caller, &last, &body()).await;
    assert_api_error(
        &reply,
        403,
        "PERMISSION_DENIED",
        &refused("iam.serviceAccounts.getAccessToken"),
    );
}

#[tokio::test]
async fn fields_outside_the_rules_are_refused() {
    let world = World::demo().await;
    let token = world.federate("tenant-a-gcp-sa").await;
    for (change, status, message) in [
        (json!({"delegates": null}), 200, ""),
        (json!({"lifetime": null}), 200, ""),
        (json!({"lifetime": "1.5s"}), 200, ""),
        (json!({"scope": null}), 400, "scope"),
        (json!({"scope": []}), 400, "scope"),
        (json!({"scope": ["cloud-platform"]}), 400, "cloud-platform"),
        (
            json!({"scope": CLOUD_PLATFORM}),
            400,
            "Invalid JSON payload",
        ),
        (json!({"lifetime": "0s"}), 400, "between 1 and 3600"),
        (json!({"lifetime": "3601s"}), 400, "between 1 and 3600"),
        (
            json!({"lifetime": "3600"}),
            400,
            "Invalid value at 'lifetime'",
        ),
        (
            json!({"lifetime": "1h"}),
            400,
            "Invalid value at 'lifetime'",
        ),
        (json!({"lifetime": 3600}), 400, "Invalid JSON payload"),
        (json!({"lifetimes": "1s"}), 400, "Invalid JSON payload"),
        (json!({"delegates": [TENANT]}), 400, "Invalid delegate"),
    ] {
        let mut request = body();
        for (field, value) in change.as_object().unwrap() {
            request[field] = value.clone();
        }
        let reply = world.generate(&token, TENANT, &request).await;
        if status == 200 {
            assert_eq!(reply.status, 200, "{change}: {}", reply.body);
        } else {
            assert_api_error(&reply, status, "INVALID_ARGUMENT", message);
        }
    }
    world.sandbox.google().extend_lifetime(TENANT);
    for (lifetime, status) in [("43200s", 200), ("43201s", 400)] {
        let request = json!({"scope": [CLOUD_PLATFORM], "lifetime": lifetime});
        let reply = world.generate(&token, TENANT, &request).await;
        assert_eq!(reply.status, status, "{}", reply.body);
    }
}

#[tokio::test]
async fn a_token_that_is_missing_or_too_narrow_is_refused() {
    let world = World::demo().await;
    let url = format!(
        "https://iamcredentials.googleapis.com/v1/{}:generateAccessToken",
        account(TENANT)
    );
    for (header, reason) in [
        (None, "CREDENTIALS_MISSING"),
        (Some("Bearer nonsense"), "ACCESS_TOKEN_TYPE_UNSUPPORTED"),
        (Some("Basic eDp5"), "ACCESS_TOKEN_TYPE_UNSUPPORTED"),
    ] {
        let mut request = http::Request::post(&url);
        if let Some(header) = header {
            request = request.header("authorization", header);
        }
        let reply = world.send(request.body(body().to_string()).unwrap()).await;
        assert_api_error(&reply, 401, "UNAUTHENTICATED", "authentication credential");
        assert_eq!(reply.json()["error"]["details"][0]["reason"], reason);
        assert!(reply.header("www-authenticate").starts_with("Bearer"));
    }
    let subject = world
        .account_token("tenant-a", "tenant-a-gcp-sa", AUDIENCE)
        .await;
    let email = "https://www.googleapis.com/auth/userinfo.email";
    for (scope, status) in [("https://www.googleapis.com/auth/iam", 200), (email, 403)] {
        let form = exchange(AUDIENCE, &subject);
        let reply = world.form(STS, &changed(&form, &[("scope", scope)])).await;
        let reply = world
            .generate(&text(&reply, "access_token"), TENANT, &body())
            .await;
        assert_eq!(reply.status, status, "{scope}: {}", reply.body);
    }
    let token = world.federate("tenant-a-gcp-sa").await;
    let named = url.replace("projects/-/", "projects/demo-project/");
    let request = http::Request::post(named).header("authorization", format!("Bearer {token}"));
    let reply = world.send(request.body(body().to_string()).unwrap()).await;
    assert_api_error(&reply, 400, "INVALID_ARGUMENT", "wildcard");
}
