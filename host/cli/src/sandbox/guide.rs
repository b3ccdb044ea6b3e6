//! What to type while a sandbox runs.

use super::file::{AUTHORITY, CONFIGURATION, KUBECONFIG};
use crate::terminal::shell_word;
use gatepass_sandbox::Sandbox;
use std::path::Path;

/// Where things are, and commands that can be pasted.
pub(crate) fn render(sandbox: &Sandbox, directory: &Path) -> String {
    let path = |name: &str| shell_word(&directory.join(name).to_string_lossy());
    let world = format!(
        "--config {} --kubeconfig {}",
        path(CONFIGURATION),
        path(KUBECONFIG)
    );
    let mut text = format!(
        "the sandbox runs: cloud at {}, Kubernetes API at {}\nits files are in {}\n\ntry, in another terminal:\n",
        sandbox.address(),
        sandbox.kubernetes().url(),
        directory.display()
    );
    for command in commands(sandbox, &path(AUTHORITY)) {
        text.push_str(&format!("  gatepass {command} {world}\n"));
    }
    text.push_str("\nit ends with Ctrl-C, and removes its files\n");
    text
}

fn commands(sandbox: &Sandbox, authority: &str) -> Vec<String> {
    let mut commands: Vec<String> = [
        "token aws -n tenant-a --service-account tenant-a-ecr-sa --region us-east-1",
        "registry aws 123456789012.dkr.ecr.us-east-1.amazonaws.com/app -n tenant-a --service-account tenant-a-ecr-sa",
        "kubeconfig aws --cluster arn:aws:eks:us-east-1:123456789012:cluster/demo -n tenant-a --service-account tenant-a-eks-sa",
        "explain token aws -n tenant-a --service-account tenant-a-ecr-sa --region us-east-1",
        "token generic --audience vault -n tenant-b --service-account workload",
    ]
    .map(str::to_owned)
    .into();
    commands.extend(sandbox.workload().map(|workload| {
        let address = workload.url();
        format!("kubeconfig generic --address {address} --cluster-ca-file {authority} -n tenant-b --service-account workload")
    }));
    commands
}
