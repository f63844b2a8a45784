// SPDX-License-Identifier: MIT
//! Links the library that pkg-config finds.

use std::env;
use std::process::{exit, Command};

/// The header that the declarations were made from is of this version.
const AT_LEAST: &str = "0.2";

fn main() {
    for name in ["PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_owned());
    let wanted = format!("gpucontainer >= {AT_LEAST}");
    let output = match Command::new(&program).args(["--libs", &wanted]).output() {
        Ok(output) => output,
        Err(error) => fail(&format!("{program}: {error}")),
    };
    if !output.status.success() {
        fail(&String::from_utf8_lossy(&output.stderr));
    }
    for word in String::from_utf8_lossy(&output.stdout).split_whitespace() {
        if let Some(directory) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={directory}");
        } else if let Some(library) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={library}");
        }
    }
}

fn fail(problem: &str) -> ! {
    eprintln!("libgpucontainer is not found: {}", problem.trim_end());
    eprintln!("hint: install libgpucontainer-dev, or name its directory in PKG_CONFIG_PATH");
    exit(1)
}
