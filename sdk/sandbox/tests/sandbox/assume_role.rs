//! AssumeRole: chains, external IDs, tags.

use gatepass_sandbox::{AccessKey, TrustPolicy};

use crate::world::{ROLE, World, changed};

const TARGET: &str = "arn:aws:iam::210987654321:role/team/target";
const LAST: &str = "arn:aws:iam::210987654321:role/last";

const REQUEST: [(&str, &str); 4] = [
    ("Action", "AssumeRole"),
    ("Version", "2011-06-15"),
    ("RoleArn", TARGET),
    ("RoleSessionName", "hop"),
];

async fn world() -> (World, AccessKey) {
    let world = World::demo().await;
    let aws = world.sandbox.aws();
    let trust = TrustPolicy {
        external_id: Some("agreed".to_owned()),
        max_session_duration: std::time::Duration::from_secs(7_200),
        ..TrustPolicy::principals(&[ROLE, "arn:aws:iam::123456789012:user/ci"])
    };
    aws.role(TARGET, trust).unwrap();
    aws.role(LAST, TrustPolicy::principals(&[TARGET])).unwrap();
    let key = world.assume("tenant-a-ecr-sa", ROLE).await;
    (world, key)
}

#[tokio::test]
async fn a_trusted_role_hops_into_another_account() {
    let (world, key) = world().await;
    let reply = world
        .signed_form(
            &key,
            &changed(
                &REQUEST,
                &[("ExternalId", "agreed"), ("SourceIdentity", "ann")],
            ),
        )
        .await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(
        reply.xml("Arn"),
        Some("arn:aws:sts::210987654321:assumed-role/target/hop")
    );
    assert_eq!(reply.xml("SourceIdentity"), Some("ann"));
    let next = changed(&REQUEST, &[("RoleArn", LAST), ("SourceIdentity", "bob")]);
    let reply = world.signed_form(&reply.key(), &next).await;
    assert_eq!(
        (reply.status, reply.xml("SourceIdentity")),
        (200, Some("ann")),
        "{}",
        reply.body
    );
}

#[tokio::test]
async fn who_is_not_trusted_is_told_so_by_name() {
    let (world, key) = world().await;
    for change in [
        &[] as &[(&str, &str)],
        &[("ExternalId", "wrong")],
        &[("ExternalId", "agreed"), ("RoleArn", LAST)],
        &[
            ("ExternalId", "agreed"),
            ("RoleArn", "arn:aws:iam::210987654321:role/nobody"),
        ],
    ] {
        let reply = world.signed_form(&key, &changed(&REQUEST, change)).await;
        reply.assert_sts_error(403, "AccessDenied");
        let start = "User: arn:aws:sts::123456789012:assumed-role/tenant-a-ecr/session is not authorized to perform: sts:AssumeRole on resource: arn:aws:iam::210987654321:role/";
        assert!(
            reply.xml("Message").unwrap().starts_with(start),
            "{}",
            reply.body
        );
    }
}

#[tokio::test]
async fn a_chain_lasts_one_hour_at_most_but_a_user_may_stay_longer() {
    let (world, key) = world().await;
    let long = changed(
        &REQUEST,
        &[("ExternalId", "agreed"), ("DurationSeconds", "7200")],
    );
    let reply = world.signed_form(&key, &long).await;
    reply.assert_sts_error(400, "ValidationError");
    assert!(reply.body.contains("role chaining"));
    let user = world
        .sandbox
        .aws()
        .user("arn:aws:iam::123456789012:user/ci")
        .unwrap();
    assert_eq!(world.signed_form(&user, &long).await.status, 200);
    let longer = changed(&long, &[("DurationSeconds", "7201")]);
    let reply = world.signed_form(&user, &longer).await;
    assert!(reply.body.contains("MaxSessionDuration"), "{}", reply.body);
}

#[tokio::test]
async fn parameters_and_tags_are_checked() {
    let (world, key) = world().await;
    let (long_key, long_value) = ("k".repeat(129), "v".repeat(257));
    let numbered: Vec<(String, String)> = (1..=51)
        .flat_map(|number| {
            [
                (format!("Tags.member.{number}.Key"), format!("k{number}")),
                (format!("Tags.member.{number}.Value"), "v".to_owned()),
            ]
        })
        .collect();
    let many: Vec<(&str, &str)> = numbered
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("ExternalId", "x")], "ValidationError"),
        (&[("ExternalId", "a b")], "ValidationError"),
        (&[("SourceIdentity", "x")], "ValidationError"),
        (
            &[
                ("Tags.member.1.Key", &long_key),
                ("Tags.member.1.Value", "v"),
            ],
            "ValidationError",
        ),
        (
            &[
                ("Tags.member.1.Key", "k"),
                ("Tags.member.1.Value", &long_value),
            ],
            "ValidationError",
        ),
        (&[("Tags.member.1.Key", "k")], "ValidationError"),
        (&many, "ValidationError"),
        (
            &[("TransitiveTagKeys.member.1", "absent")],
            "InvalidParameterValue",
        ),
    ];
    for (change, code) in cases {
        let fields = changed(&changed(&REQUEST, &[("ExternalId", "agreed")]), change);
        world
            .signed_form(&key, &fields)
            .await
            .assert_sts_error(400, code);
    }
}

#[tokio::test]
async fn a_transitive_tag_holds_through_the_chain() {
    let (world, key) = world().await;
    let tags = [
        ("Tags.member.1.Key", "team"),
        ("Tags.member.1.Value", "a"),
        ("TransitiveTagKeys.member.1", "team"),
    ];
    let first = changed(&changed(&REQUEST, &[("ExternalId", "agreed")]), &tags);
    let hop = world.signed_form(&key, &first).await;
    assert_eq!(hop.status, 200, "{}", hop.body);
    let again = changed(
        &REQUEST,
        &[
            ("RoleArn", LAST),
            ("Tags.member.1.Key", "team"),
            ("Tags.member.1.Value", "b"),
        ],
    );
    world
        .signed_form(&hop.key(), &again)
        .await
        .assert_sts_error(400, "InvalidParameterValue");
}
