//! `gatepass registry`.

use crate::world::{ECR_ACCOUNT, World};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const HOST: &str = "123456789012.dkr.ecr.us-east-1.amazonaws.com";

fn ecr(rest: &str) -> String {
    format!("registry aws {HOST}/app {ECR_ACCOUNT} {rest}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_printed_in_every_output_that_fits_it() {
    let world = World::new().await;
    let login = world.run(&ecr("-o json")).json();
    assert_eq!(
        (
            login["registry"].as_str(),
            login["basic"]["username"].as_str()
        ),
        (Some(HOST), Some("AWS"))
    );
    let helper = world.run(&ecr("-o docker-credential")).json();
    assert_eq!(
        (helper["ServerURL"].as_str(), helper["Username"].as_str()),
        (Some(HOST), Some("AWS"))
    );
    let verified = |password: &str| {
        world
            .sandbox
            .aws()
            .verify_registry_login("AWS", password)
            .is_some()
    };
    assert!(verified(helper["Secret"].as_str().unwrap()));
    let config = world.run(&ecr("-o docker-config")).json();
    let pair = STANDARD
        .decode(config["auths"][HOST]["auth"].as_str().unwrap())
        .unwrap();
    let pair = String::from_utf8(pair).unwrap();
    assert!(verified(pair.strip_prefix("AWS:").unwrap()));
    let table = world.run(&ecr("")).ok();
    assert!(table.contains(HOST) && table.contains("AWS"), "{table}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bearer_login_is_for_the_file_and_not_for_a_helper() {
    let world = World::new().await;
    let line = "registry generic registry.example:5000/app --service-account tenant-a/workload";
    let config = world.run(&format!("{line} -o docker-config")).json();
    let token = config["auths"]["registry.example:5000"]["registrytoken"]
        .as_str()
        .unwrap();
    assert_eq!(token.split('.').count(), 3);
    world
        .run(&format!("{line} -o docker-credential"))
        .refused(2, &["bearer", "docker-config"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_of_nobody_is_refused() {
    let world = World::new().await;
    let line = format!("registry aws registry.example/app {ECR_ACCOUNT}");
    world.run(&line).refused(3, &["registry.example"]);
    world
        .run(&format!("registry aws https://{HOST}/app {ECR_ACCOUNT}"))
        .refused(3, &["oci://"]);
    assert_eq!(world.asked("AssumeRoleWithWebIdentity"), 0);
}
