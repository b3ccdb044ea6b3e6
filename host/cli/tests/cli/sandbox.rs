//! `gatepass sandbox`.

use crate::world::{Ran, program, run};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

/// Starts the program and reads what it says until it is ready.
fn start(directory: &std::path::Path) -> (Child, String) {
    let mut command = program();
    command
        .arg("sandbox")
        .arg("--dir")
        .arg(directory)
        .stderr(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = String::new();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    while !said.contains("Ctrl-C") {
        assert_ne!(
            lines.read_line(&mut said).unwrap(),
            0,
            "it ended early: {said}"
        );
    }
    (child, said)
}

#[test]
fn its_own_advice_works_and_its_files_go_with_it() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("sandbox");
    let (mut child, said) = start(&directory);
    for name in ["kubeconfig", "gatepass.yaml"] {
        let mode = std::fs::metadata(directory.join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let advised: Vec<&str> = said
        .lines()
        .filter_map(|line| line.trim().strip_prefix("gatepass "))
        .collect();
    assert_eq!(advised.len(), 6, "{said}");
    for line in advised {
        Ran::of(program().args(line.split_whitespace())).ok();
    }
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!directory.exists());
}

#[test]
fn a_file_of_the_user_is_not_touched() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("kubeconfig");
    std::fs::write(&path, "mine").unwrap();
    run(&format!("sandbox --dir {}", scratch.path().display()))
        .refused(2, &["kubeconfig", "--dir"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn the_files_of_a_sandbox_that_runs_are_not_taken_over() {
    let scratch = tempfile::tempdir().unwrap();
    let (mut first, _) = start(scratch.path());
    let kubeconfig = std::fs::read_to_string(scratch.path().join("kubeconfig")).unwrap();
    run(&format!("sandbox --dir {}", scratch.path().display())).refused(2, &["that runs", "--dir"]);
    let after = std::fs::read_to_string(scratch.path().join("kubeconfig")).unwrap();
    assert_eq!(kubeconfig, after);
    first.kill().unwrap();
    first.wait().unwrap();
    // What it left behind is nobody's.
    let (mut second, _) = start(scratch.path());
    second.kill().unwrap();
    second.wait().unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn no_core_dump_holds_a_credential() {
    let scratch = tempfile::tempdir().unwrap();
    let (mut child, _) = start(scratch.path());
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"))
        .unwrap();
    let words: Vec<&str> = core.split_whitespace().collect();
    assert_eq!(words.get(4..6), Some(&["0", "0"][..]), "{core}");
}
