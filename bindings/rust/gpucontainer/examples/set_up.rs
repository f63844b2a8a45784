// SPDX-License-Identifier: MIT
use gpucontainer::{ApplyOptions, Host, HostOptions, Plan, Request, SetupList};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::fs::File::open(std::env::args().nth(1).expect("a root directory"))?;
    let host = Host::open(&HostOptions::default())?;
    for driver in host.drivers() {
        println!("{} {} {} GPUs", driver.vendor_name(), driver.version(), driver.gpus().len());
    }
    let request = Request { devices: Some("0".into()), ..Default::default() };
    Plan::new(&host, &request, Some(&root))?.apply(&root, ApplyOptions::default())?;
    for setup in SetupList::open(Some(&root), &Default::default())?.iter() {
        println!("{} {}", setup.root().display(), setup.origin());
    }
    gpucontainer::undo(&root, Default::default())?;
    Ok(())
}
