//! The two programs, built with Go from the modules that `tests/peers/kubernetes/go.mod` pins.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::super::source::{Source, run};

/// The package whose variables hold the version that a server reports; unset, it claims to be
/// `v0.0.0-master` and its compatibility arithmetic starts from there.
const VERSION_PACKAGE: &str = "k8s.io/component-base/version";
/// What to install when the build cannot run.
const GO: &str = "Go 1.26 or newer";

/// Builds both programs once.
///
/// Returns the folder that holds `etcd` and `kube-apiserver`.
///
/// # Errors
/// Go is not installed, a module cannot be fetched, or the build fails.
pub fn ensure_built(target: &Path) -> Result<PathBuf> {
    let version = pinned_version()?;
    let builds = [
        ("etcd", "go.etcd.io/etcd/server/v3", "-s -w".to_owned()),
        (
            "kube-apiserver",
            "k8s.io/kubernetes/cmd/kube-apiserver",
            linker_flags(&version)?,
        ),
    ];
    let source = Source {
        name: "kubernetes",
        inputs: vec!["go.mod".into(), "go.sum".into()],
        recipe: format!("{builds:?}"),
        duration: "five to ten minutes on two cores, once",
    };
    source.ensure(target, |output| {
        builds.iter().try_for_each(|(program, package, flags)| {
            go_build(&output.join(program), package, flags)
        })
    })
}

fn go_build(output: &Path, package: &str, linker_flags: &str) -> Result<()> {
    let mut command = Command::new("go");
    command
        .args([
            "build",
            "-mod=readonly",
            "-trimpath",
            "-buildvcs=false",
            "-ldflags",
            linker_flags,
        ])
        .arg("-o")
        .args([output.as_os_str(), package.as_ref()])
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .current_dir(Source::folder("kubernetes"));
    run(&mut command, GO)
}

/// The version of Kubernetes that `go.mod` requires, such as `v1.36.3`.
fn pinned_version() -> Result<String> {
    let path = Source::folder("kubernetes").join("go.mod");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let version = text
        .lines()
        // A line of the `require` block, which may end in a comment such as `// indirect`.
        .find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "))
        .and_then(|rest| rest.split_whitespace().next())
        .with_context(|| format!("{} does not require k8s.io/kubernetes", path.display()))?;
    Ok(version.to_owned())
}

fn linker_flags(version: &str) -> Result<String> {
    let numbers = version.strip_prefix('v').unwrap_or(version);
    let mut numbers = numbers.split('.');
    let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else {
        bail!("{version} is no version of Kubernetes");
    };
    let variables = [
        ("gitMajor", major),
        ("gitMinor", minor),
        ("gitVersion", version),
        ("gitCommit", "unknown"),
        ("gitTreeState", "clean"),
    ];
    Ok(variables
        .iter()
        .fold("-s -w".to_owned(), |flags, (name, value)| {
            format!("{flags} -X {VERSION_PACKAGE}.{name}={value}")
        }))
}
