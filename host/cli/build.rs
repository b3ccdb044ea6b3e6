//! Puts the built providers into the program.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() {
    if let Err(error) = bundle() {
        // Cargo shows standard error of a build script that fails, and nothing else of it.
        let _ = io::Write::write_all(&mut io::stderr(), format!("{error}\n").as_bytes());
        std::process::exit(1);
    }
}

fn bundle() -> Result<(), String> {
    let folder = folder()?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let mut table = String::from("pub(crate) const PLUGINS: &[(&str, &[u8])] = &[\n");
    for plugin in plugins(&folder)? {
        let name = plugin
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let copy = out.join(format!("{name}.wasm"));
        fs::copy(&plugin, &copy)
            .map_err(|error| format!("cannot copy {}: {error}", plugin.display()))?;
        table.push_str(&format!("    ({name:?}, include_bytes!({copy:?})),\n"));
    }
    table.push_str("];\n");
    fs::write(out.join("plugins.rs"), table)
        .map_err(|error| format!("cannot write the table of plugins: {error}"))
}

/// Where `cargo xtask plugins` puts what it builds, or where the environment says.
fn folder() -> Result<PathBuf, String> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=GATEPASS_PLUGINS_DIR");
    let folder = match env::var_os("GATEPASS_PLUGINS_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let crate_folder =
                env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?;
            Path::new(&crate_folder).join("../../target/plugins")
        }
    };
    println!("cargo:rerun-if-changed={}", folder.display());
    Ok(folder)
}

/// The components of a folder, sorted, so that builds repeat themselves.
fn plugins(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let none = || {
        format!(
            "there are no built providers in {}: run `cargo xtask plugins` first",
            folder.display()
        )
    };
    let entries = fs::read_dir(folder).map_err(|_| none())?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "wasm")
        })
        .collect();
    found.sort();
    for plugin in &found {
        println!("cargo:rerun-if-changed={}", plugin.display());
    }
    if found.is_empty() {
        Err(none())
    } else {
        Ok(found)
    }
}
