//! Faults, on every kind of listener, and the journal.

use std::time::{Duration, Instant};

use gatepass_sandbox::Fault;

use crate::world::{ROLE, STS, World, web_identity};

const HOST: &str = "sts.*.amazonaws.com";
const ACTION: &str = "AssumeRoleWithWebIdentity";

#[tokio::test]
async fn throttling_has_the_shape_of_the_service() {
    let world = World::demo().await;
    world
        .sandbox
        .faults()
        .set("*", "", Fault::Throttle(Duration::from_millis(1_500)));
    let sts = world.form(STS, &web_identity(ROLE, "token")).await;
    sts.assert_sts_error(400, "Throttling");
    let ecr = world
        .form("https://api.ecr.us-east-1.amazonaws.com/", &[])
        .await;
    assert_eq!(
        (ecr.status, &ecr.json()["__type"]),
        (400, &"ThrottlingException".into())
    );
    let eks = world
        .form("https://eks.us-east-1.amazonaws.com/clusters/demo", &[])
        .await;
    assert_eq!(
        (eks.status, eks.header("x-amzn-errortype")),
        (429, "ThrottlingException")
    );
    let kubernetes = world.api("admin", "GET", "/api/v1/namespaces", None).await;
    assert_eq!(
        (kubernetes.status, &kubernetes.json()["kind"]),
        (429, &"Status".into())
    );
    for reply in [sts, ecr, eks, kubernetes] {
        assert_eq!(reply.header("retry-after"), "2");
    }
}

#[tokio::test]
async fn an_error_takes_the_services_shape() {
    let world = World::demo().await;
    let fault = |status, code: &str| Fault::Error {
        status,
        code: code.to_owned(),
        message: "because <so>".to_owned(),
    };
    world
        .sandbox
        .faults()
        .set(HOST, ACTION, fault(403, "IDPRejectedClaim"));
    let reply = world.form(STS, &web_identity(ROLE, "token")).await;
    reply.assert_sts_error(403, "IDPRejectedClaim");
    assert_eq!(reply.xml("Message"), Some("because &lt;so&gt;"));
    let cluster = world.sandbox.kubernetes().host();
    world
        .sandbox
        .faults()
        .set(&cluster, "/api/v1/namespaces", fault(500, "InternalError"));
    let reply = world.api("admin", "GET", "/api/v1/namespaces", None).await;
    assert_eq!(
        (reply.status, &reply.json()["reason"]),
        (500, &"InternalError".into())
    );
    assert_eq!(
        world
            .api("admin", "GET", "/api/v1/secrets", None)
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn a_fault_changes_exactly_what_it_says() {
    let world = World::demo().await;
    let faults = world.sandbox.faults();
    let headers = vec![("x-marked".to_owned(), "yes".to_owned())];
    faults.set(
        HOST,
        "*",
        Fault::Status {
            code: 418,
            body: b"tea".to_vec(),
            headers,
        },
    );
    let reply = world.form(STS, &[]).await;
    assert_eq!(
        (reply.status, reply.body.as_str(), reply.header("x-marked")),
        (418, "tea", "yes")
    );
    faults.set(
        HOST,
        "*",
        Fault::Redirect("https://169.254.169.254/".to_owned()),
    );
    let reply = world.form(STS, &[]).await;
    assert_eq!(
        (reply.status, reply.header("location")),
        (307, "https://169.254.169.254/")
    );
    faults.set(HOST, "*", Fault::ContentType("text/html".to_owned()));
    let reply = world.form(STS, &[]).await;
    assert_eq!(
        (reply.status, reply.header("content-type")),
        (400, "text/html")
    );
    faults.set(HOST, "*", Fault::Body(b"<not-xml".to_vec()));
    assert_eq!(world.form(STS, &[]).await.body, "<not-xml");
    faults.clear();
    assert!(world.form(STS, &[]).await.body.contains("MissingAction"));
}

#[tokio::test]
async fn a_fault_holds_for_the_given_number_of_times() {
    let world = World::demo().await;
    let down = Fault::Status {
        code: 503,
        body: Vec::new(),
        headers: Vec::new(),
    };
    world
        .sandbox
        .faults()
        .set(HOST, "", Fault::Times(2, Box::new(down)));
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(world.form(STS, &[]).await.status);
    }
    assert_eq!(statuses, [503, 503, 400]);
}

#[tokio::test]
async fn an_answer_that_is_cut_off_fails_the_reader() {
    let world = World::demo().await;
    world.sandbox.faults().set(HOST, "", Fault::CutOff);
    let response = world.http.post(STS).send().await;
    let failed = match response {
        Ok(response) => response.bytes().await.is_err(),
        Err(_) => true,
    };
    assert!(failed);
}

#[tokio::test]
async fn latency_delays_the_true_answer() {
    let world = World::demo().await;
    world
        .sandbox
        .faults()
        .set(HOST, "", Fault::Latency(Duration::from_millis(50)));
    let start = Instant::now();
    assert_eq!(world.form(STS, &[]).await.status, 400);
    assert!(start.elapsed() >= Duration::from_millis(50));
}

#[tokio::test]
async fn a_hanging_request_arrives_and_ends_with_the_sandbox() {
    let world = World::demo().await;
    world.sandbox.faults().set(HOST, "", Fault::Hang);
    let hanging = tokio::spawn(world.http.post(STS).send());
    while !world
        .sandbox
        .requests()
        .iter()
        .any(|request| request.host == "sts.us-east-1.amazonaws.com")
    {
        tokio::task::yield_now().await;
    }
    let arrived = world.sandbox.requests();
    assert_eq!(arrived.last().unwrap().status, None);
    world.sandbox.stop().await;
    assert!(hanging.await.unwrap().is_err());
}

#[tokio::test]
async fn the_journal_keeps_what_was_asked_and_no_secret() {
    let world = World::demo().await;
    world
        .form(
            &format!("{STS}?WebIdentityToken=secret-in-query"),
            &web_identity(ROLE, "secret-in-body"),
        )
        .await;
    let requests = world.sandbox.requests();
    let last = requests.last().unwrap();
    assert_eq!((last.method.as_str(), last.path.as_str()), ("POST", "/"));
    assert_eq!(
        (last.host.as_str(), last.status),
        ("sts.us-east-1.amazonaws.com", Some(400))
    );
    assert_eq!(last.action.as_deref(), Some(ACTION));
    assert!(!format!("{requests:?}").contains("secret"));
}

#[tokio::test]
async fn nothing_listens_after_a_stop() {
    let world = World::demo().await;
    let address = world.sandbox.address();
    world.sandbox.stop().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
