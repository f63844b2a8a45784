// SPDX-License-Identifier: MIT
//! The crate on the simulated host "h200-x8", with eight GPUs. GPUCTR_TEST_ROOTFS is a root file
//! system that may be changed. Without it the tests do nothing.

use gpucontainer::{
    capture, check_image_trust, find_image, open_in_root, undo, unstage, ApplyOptions,
    CaptureOptions, Check, CheckOptions, Code, Config, ContainerEnvironment, Finding, Glibc,
    Harden, HardenOptions, Host, HostOptions, Layout, Outcome, Plan, Prepared, Report, Request,
    Setup, SetupList, SetupListOptions, Severity, Staged, UndoOptions, Undone, VENDOR_ANY,
};
use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::io::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard};

const NO_ROOT: Option<&File> = None;

/// One test at a time changes the root.
static ALONE: Mutex<()> = Mutex::new(());

fn alone_with_root() -> Option<(PathBuf, MutexGuard<'static, ()>)> {
    let root = std::env::var_os("GPUCTR_TEST_ROOTFS")?.into();
    Some((root, ALONE.lock().unwrap_or_else(|broken| broken.into_inner())))
}

macro_rules! root_or_return {
    ($root:ident, $alone:ident) => {
        let ($root, $alone) = match alone_with_root() {
            Some(both) => both,
            None => return,
        };
    };
}

fn host() -> Host {
    Host::open(&HostOptions::default()).unwrap()
}

fn request(devices: &str) -> Request {
    Request { devices: Some(devices.to_owned()), ..Default::default() }
}

/// A state directory, and the root without a set-up again in the end.
struct State {
    directory: PathBuf,
    root: File,
}

impl State {
    fn new(root: &Path, name: &str) -> State {
        let directory = std::env::temp_dir().join(format!("gpuctr-rust-{name}"));
        fs::create_dir_all(&directory).unwrap();
        State { directory, root: File::open(root).unwrap() }
    }

    fn apply(&self, devices: &str, no_replace: bool) -> gpucontainer::Result<Outcome> {
        let state_dir = Some(self.directory.as_path());
        let options = ApplyOptions { state_dir, no_replace, ..Default::default() };
        Plan::new(&host(), &request(devices), Some(&self.root))?.apply(&self.root, options)
    }

    fn list(&self) -> SetupList {
        let options = SetupListOptions { state_dir: Some(&self.directory), ..Default::default() };
        SetupList::open(Some(&self.root), &options).unwrap()
    }

    fn undo_options(&self) -> UndoOptions<'_> {
        UndoOptions { state_dir: Some(&self.directory), ..Default::default() }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let _ = undo(&self.root, self.undo_options());
        let _ = fs::remove_dir_all(&self.directory);
    }
}

#[test]
fn lists_what_the_host_has() {
    root_or_return!(_root, _alone);
    let host = host();
    let driver = host.drivers().next().unwrap();

    assert_eq!((&*driver.vendor(), &*driver.version()), ("nvidia", "580.159.04"));
    let indexes: Vec<u32> = driver.gpus().map(|gpu| gpu.index()).collect();
    assert_eq!(indexes, [0, 1, 2, 3, 4, 5, 6, 7]);
    let gpu = driver.gpus().next().unwrap();
    assert_eq!((&*gpu.model(), gpu.minor(), gpu.numa_node()), ("NVIDIA H200", Some(0), None));
    let cuda = driver.files().find(|file| file.soname() == "libcuda.so.1").unwrap();
    let links: Vec<&Path> = cuda.links().collect();
    assert_eq!(links, [Path::new("libcuda.so.1"), Path::new("libcuda.so")]);
    let status = fs::metadata(cuda.path()).unwrap();
    assert_eq!((cuda.identity().inode, cuda.identity().size), (status.ino(), status.size()));
    let node = driver.nodes().find(|node| node.gpu() == Some(3)).unwrap();
    assert_eq!((node.major(), node.minor(), node.mode(), node.uid()), (195, 3, 0o666, Some(0)));
    assert_eq!(node.container_path(), Path::new("/dev/nvidia3"));
    assert!(!driver.findings().is_empty() && host.findings().is_empty());
}

#[test]
fn a_host_comes_back_from_json() {
    root_or_return!(_root, _alone);
    let json = host().to_json().unwrap();

    let again = Host::from_json(json.as_bytes(), &HostOptions::default()).unwrap();

    assert_eq!(again.to_json().unwrap(), json);
    let broken = Host::from_json(b"{}", &HostOptions::default()).err().unwrap();
    assert_eq!((broken.code, &*broken.argument), (Code::Usage, "json"));
}

#[test]
fn options_reach_the_library() {
    root_or_return!(_root, _alone);
    let vendors = vec!["nvidia".to_owned(), "amd".to_owned()];
    let error = Host::open(&HostOptions { vendors, ..Default::default() }).err().unwrap();
    assert_eq!(error.code, Code::NoDevice);
    let vendors = vec!["nvidia".to_owned(), VENDOR_ANY.to_owned()];
    assert!(Host::open(&HostOptions { vendors, ..Default::default() }).is_ok());
    let catalogues = vec![PathBuf::from("/nonexistent.yaml")];
    let error = Host::open(&HostOptions { catalogues, ..Default::default() }).err().unwrap();
    assert_eq!(error.object, "/nonexistent.yaml");
    let error = Plan::new(&host(), &request("0\0,1"), NO_ROOT).err().unwrap();
    assert_eq!((error.code, &*error.argument), (Code::Usage, "devices"));
}

#[test]
fn captures_the_host_without_identities() {
    root_or_return!(root, _alone);
    let state = State::new(&root, "capture");
    let uuid = host().drivers().next().unwrap().gpus().next().unwrap().uuid().into_owned();
    for with_identities in [false, true] {
        let path = state.directory.join("report");
        let mut codes = Vec::new();
        let mut report = |finding: &Finding| codes.push(finding.code.clone());
        let environment = vec!["CUDA_VISIBLE_DEVICES=5".into(), "HOME=/home/somebody".into()];
        let report: Option<Report<'_>> = Some(&mut report);
        let options = CaptureOptions { environment, with_identities, report, ..Default::default() };
        capture(&File::create(&path).unwrap(), options).unwrap();

        let content = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert_eq!(content.contains(&uuid), with_identities);
        assert_eq!(codes.iter().any(|code| code == "identity_replaced"), !with_identities);
        assert!(content.contains("CUDA_VISIBLE_DEVICES") && !content.contains("somebody"));
    }
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let error = capture(&full, CaptureOptions::default()).err().unwrap();
    assert_eq!((error.code, error.os_error), (Code::Internal, 28)); // ENOSPC
}

#[test]
fn an_error_says_what_is_wrong_with_which_argument() {
    root_or_return!(_root, _alone);
    let error = Plan::new(&host(), &request("99"), NO_ROOT).err().unwrap();

    assert_eq!((error.code, &*error.argument), (Code::Usage, "devices"));
    assert!(error.to_string().contains("99") && !error.hint.is_empty());
}

#[test]
fn a_container_asks_for_gpus_itself() {
    let text = "NVIDIA_VISIBLE_DEVICES=2,3\nX=$Y\n";
    let environment = ["APPTAINERENV_Z=1".into()];
    let read = ContainerEnvironment::read(NO_ROOT, Some(text), &environment).unwrap();
    let variables: Vec<_> = read.variables().collect();
    assert_eq!(variables, ["NVIDIA_VISIBLE_DEVICES=2,3", "Z=1"]);
    assert_eq!(read.findings().len(), 1);
}

#[test]
fn decides_about_the_c_library_if_asked() {
    root_or_return!(root, _alone);
    let root = File::open(root).unwrap();
    for glibc in [Glibc::Never, Glibc::Auto] {
        let request = Request { glibc, program: Some("sh".into()), ..Default::default() };
        let findings = Plan::new(&host(), &request, Some(&root)).unwrap().findings();

        let decided = findings.iter().any(|finding| finding.code == "c_library_decided");
        assert_eq!(decided, glibc == Glibc::Auto);
    }
}

#[test]
fn requirements_have_to_be_met() {
    root_or_return!(_root, _alone);
    let requirements = vec!["cuda>=1 arch>=99".to_owned(), "arch>=99".to_owned()];
    let mut request = Request { requirements, ..Default::default() };

    let error = Plan::new(&host(), &request, NO_ROOT).err().unwrap();

    assert_eq!((error.code, &*error.object), (Code::Requirement, "arch>=99"));
    request.requirements.pop();
    let plan = Plan::new(&host(), &request, NO_ROOT).unwrap();
    assert!(plan.check_requirement("driver>=1").is_ok());
    let error = plan.check_requirement("brand=none").err().unwrap();
    assert_eq!((error.code, &*error.object), (Code::Requirement, "brand=none"));
}

#[test]
fn a_plan_shows_what_would_be_done() {
    root_or_return!(root, _alone);
    let root = File::open(root).unwrap();
    let plan = Plan::new(&host(), &request("1,2"), Some(&root)).unwrap();

    let used = plan.drivers().next().unwrap();
    assert_eq!(used.gpus().map(|gpu| gpu.index()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((plan.layout(), plan.is_locked()), (Layout::Tree, false));
    assert_eq!(plan.tree_path(), Path::new("/usr/lib/gpuctr"));
    let item = |target: &str| plan.items().find(|item| item.target() == Path::new(target));
    assert!(item("/dev/nvidia0").is_none());
    let device = item("/dev/nvidia2").unwrap();
    assert_eq!((device.major(), device.minor(), device.required()), (195, 2, true));
    let cache = item("/etc/ld.so.cache").unwrap();
    assert!(cache.content().unwrap().starts_with(b"glibc-ld.so.cache1.1"));
    assert_eq!((cache.mode(), device.content()), (0o644, None));
    let rules = plan.device_rules();
    assert!(rules.iter().any(|rule| (rule.kind, &*rule.access, rule.minor) == ('c', "rw", 2)));
    assert!(plan.to_json().unwrap().contains("gpucontainer/plan/1"));
}

#[test]
fn a_plan_says_why() {
    root_or_return!(root, _alone);
    let root = File::open(root).unwrap();
    let plan = Plan::new(&host(), &request("1,2"), Some(&root)).unwrap();
    let explanation = plan.explain("libcuda.so", Some(&root)).unwrap();
    drop(plan);

    let answer = explanation.answers().next().unwrap();
    assert_eq!(
        (&*answer.kind(), &*answer.name(), answer.is_given()),
        ("library", "libcuda.so.1", true)
    );
    assert!(!answer.reason().is_empty());
    let source = answer.items().next().unwrap().source().canonicalize().unwrap();
    assert_eq!(answer.path().canonicalize().unwrap(), source);
    assert!(explanation.to_json().unwrap().contains("gpucontainer/why/1"));
}

#[test]
fn a_plan_says_why_not() {
    root_or_return!(_root, _alone);
    let plan = Plan::new(&host(), &request("1,2"), NO_ROOT).unwrap();

    let explanation = plan.explain("nvidia0", NO_ROOT).unwrap();

    let answer = explanation.answers().next().unwrap();
    assert_eq!((&*answer.kind(), answer.is_given(), answer.items().len()), ("node", false, 0));
    assert!(answer.remedies().any(|remedy| remedy.contains("--device")));
    assert_eq!(plan.explain("libnothing.so", NO_ROOT).err().unwrap().code, Code::Usage);
}

#[test]
fn auto_follows_the_environment() {
    root_or_return!(_root, _alone);
    let environment = vec![("CUDA_VISIBLE_DEVICES".into(), "5".into())];
    let request = Request { environment, ..Default::default() };

    let plan = Plan::new(&host(), &request, NO_ROOT).unwrap();

    assert_eq!(plan.drivers().next().unwrap().gpus().next().unwrap().index(), 5);
}

fn serious(check: &Check) -> Vec<String> {
    let is_serious = |finding: &Finding| finding.severity >= Severity::Warning;
    check.findings().iter().filter(|one| is_serious(one)).map(|one| one.to_string()).collect()
}

#[test]
fn a_check_finds_nothing_wrong() {
    root_or_return!(root, _alone);
    let root = File::open(root).unwrap();
    let none: [String; 0] = [];
    let record = Host::from_json(host().to_json().unwrap().as_bytes(), &Default::default());
    let record = record.unwrap();

    let options = CheckOptions { program: Some(Path::new("sh")), ..Default::default() };
    let check = Check::new(Some(&root), &options).unwrap();

    assert_eq!(serious(&check), none);
    assert!(check.to_json().unwrap().contains("gpucontainer/check/1"));
    assert_eq!(serious(&Check::new(NO_ROOT, &Default::default()).unwrap()), none);
    let options = CheckOptions { record: Some(&record), ..Default::default() };
    assert_eq!(serious(&Check::new(Some(&root), &options).unwrap()), none);
}

#[test]
fn a_check_says_what_stops_programs() {
    root_or_return!(root, _alone);
    let root = File::open(root).unwrap();
    let options = CheckOptions { request: request("99"), ..Default::default() };

    let findings = Check::new(Some(&root), &options).unwrap().findings();

    assert_eq!((findings[0].severity, &*findings[0].evidence), (Severity::Error, "devices"));
    assert!(findings[0].to_string().contains("99"));
    let program = Some(Path::new("/usr/bin/missing"));
    let check = Check::new(Some(&root), &CheckOptions { program, ..Default::default() }).unwrap();
    assert_eq!(check.findings()[0].code, "program_missing");
    let vendors = vec!["amd".to_owned()];
    let host = HostOptions { vendors, ..Default::default() };
    let check = Check::new(Some(&root), &CheckOptions { host, ..Default::default() }).unwrap();
    assert_eq!(check.findings()[0].severity, Severity::Error);
    let options = CheckOptions { pidfd: Some(root.as_fd()), ..Default::default() };
    let error = Check::new(NO_ROOT, &options).err().unwrap();
    assert_eq!((error.code, &*error.argument), (Code::Usage, "pidfd"));
}

#[test]
fn finds_the_root_file_system_of_an_image() {
    root_or_return!(root, _alone);
    let state = State::new(&root, "image");
    let path = state.directory.join("image");
    let mut squashfs = [0; 128];
    squashfs[..4].copy_from_slice(b"hsqs");
    squashfs[28] = 4; // its version
    squashfs[40] = 96; // its size
    fs::write(&path, squashfs).unwrap();

    let image = find_image(&File::open(&path).unwrap()).unwrap();

    assert_eq!((image.offset, image.size), (0, 128));
    assert!(!image.is_signed && !image.has_overlay);
    assert_eq!(find_image(&state.root).err().unwrap().code, Code::Rootfs);
    let file = File::open(&path).unwrap();
    check_image_trust(&file, &path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(check_image_trust(&file, &path).err().unwrap().code, Code::Permission);
}

#[test]
fn applies_shows_and_undoes() {
    root_or_return!(root, _alone);
    let state = State::new(&root, "apply");

    assert_eq!(state.apply("0", false).unwrap(), Outcome::Applied);
    assert!(fs::metadata(root.join("dev/nvidia0")).unwrap().file_type().is_char_device());
    assert_eq!(state.apply("0", false).unwrap(), Outcome::Unchanged);
    assert_eq!(state.apply("1", true).err().unwrap().code, Code::Exists);
    let list = state.list();
    let setups: Vec<Setup<'_>> = list.iter().collect();
    assert_eq!((setups.len(), setups[0].root(), &*setups[0].origin()), (1, &*root, "here"));
    assert!(setups[0].since().is_some() && setups[0].findings().is_empty());
    assert!(list.to_json().unwrap().contains("gpucontainer/status/1"));

    assert!(undo(&state.root, state.undo_options()).unwrap());
    assert!(!undo(&state.root, state.undo_options()).unwrap());
    assert!(!root.join("dev/nvidia0").exists());
}

#[test]
fn outcomes_of_later_versions_are_no_others() {
    assert_eq!(Outcome::from(9), Outcome::Other(9));
    assert_eq!(Staged::from(9), Staged::Other(9));
    assert_eq!((Undone::from(0), Undone::from(9)), (Undone::Undone, Undone::Other(9)));
}

#[test]
fn undoes_one_of_a_list() {
    root_or_return!(root, _alone);
    let state = State::new(&root, "one");
    state.apply("0", false).unwrap();

    let undone = state.list().iter().next().unwrap().undo(state.undo_options());

    assert_eq!(undone.unwrap(), Undone::Undone);
    assert_eq!(state.list().iter().len(), 0);
}

#[test]
fn reports_what_it_found() {
    root_or_return!(root, _alone);
    let state = State::new(&root, "report");
    state.apply("0", false).unwrap();
    // What a program in the container made stays, and is reported.
    let node = root.join("dev/nvidia7");
    let made = Command::new("mknod").arg(&node).args(["c", "195", "7"]).status().unwrap();
    assert!(made.success());
    let mut found: Vec<Finding> = Vec::new();
    let mut report = |finding: &Finding| found.push(finding.clone());

    let options = UndoOptions { report: Some(&mut report), ..state.undo_options() };
    undo(&state.root, options).unwrap();

    fs::remove_file(node).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((&*found[0].code, found[0].severity), ("node_left", Severity::Warning));
    assert!(found[0].to_string().contains("/dev/nvidia7"));
}

#[test]
fn prepared_is_attached_through_another_object() {
    root_or_return!(root, _alone);
    let run = |arguments: &[&str]| {
        let (program, rest) = arguments.split_first().unwrap();
        assert!(Command::new(program).args(rest).arg(&root).status().unwrap().success());
    };
    run(&["mount", "--bind", root.to_str().unwrap()]);
    run(&["mount", "--make-private"]);
    let descriptor = File::open(&root).unwrap();
    let plan = Plan::new(&host(), &request("0"), Some(&descriptor)).unwrap();
    let prepared = plan.prepare(&Default::default()).unwrap();
    let fds = prepared.fds().iter().map(|fd| fd.try_clone_to_owned().unwrap()).collect();
    let mut adopted = Prepared::adopt(prepared.data(), fds).unwrap();
    drop(prepared);

    adopted.attach(&descriptor).unwrap();
    assert!(root.join("dev/nvidia0").exists());
    adopted.undo(&descriptor).unwrap();

    assert!(!root.join("dev/nvidia0").exists());
    let file = File::open("/etc/passwd").unwrap();
    assert!(!adopted.attach(&file).err().unwrap().step.is_empty());
    assert!(Prepared::adopt(b"something else", Vec::new()).is_none());
    drop((adopted, descriptor));
    run(&["umount"]);
}

#[test]
fn stages_a_tree_once() {
    root_or_return!(root, _alone);
    let state = State::new(&root, "stage");
    let plan = Plan::new(&host(), &request("0"), Some(&state.root)).unwrap();
    let directory = state.directory.join("staged");

    assert_eq!(plan.stage(&directory, &Default::default()).unwrap(), Staged::Staged);
    assert_eq!(plan.stage(&directory, &Default::default()).unwrap(), Staged::Unchanged);
    assert!(unstage(&directory, &Default::default()).unwrap());
    assert!(!unstage(&directory, &Default::default()).unwrap());
}

#[test]
fn opens_within_the_root() {
    root_or_return!(root, _alone);
    let escape = root.join("escape");
    std::os::unix::fs::symlink("/etc/passwd", &escape).unwrap();

    let opened = open_in_root(&File::open(&root).unwrap(), Path::new("escape"), 0);

    fs::remove_file(escape).unwrap();
    let inode = File::from(opened.unwrap()).metadata().unwrap().ino();
    assert_eq!(inode, fs::metadata(root.join("etc/passwd")).unwrap().ino());
}

#[test]
fn reads_settings_and_mistakes() {
    root_or_return!(root, _alone);
    let state = State::new(&root, "config");
    let path = state.directory.join("config.yaml");
    fs::write(&path, "state-dir: /a\ncatalogue: [/b]\n").unwrap();
    let config = Config::open(&path).unwrap();
    let values: Vec<String> = config
        .settings()
        .map(|s| format!("{}={} {} {}", s.key(), s.value(), s.in_list(), s.line()))
        .collect();
    assert_eq!(values, ["state-dir=/a false 1", "catalogue=/b true 2"]);
    fs::write(&path, "State_Dir: [[1]]\n").unwrap();
    assert!(Config::open(&path).is_err());
    let config = Config::open_with_mistakes(&path).unwrap();
    assert!(config.settings().next().unwrap().mistake().is_some());
}

#[test]
fn drops_privileges_of_a_thread() {
    root_or_return!(_root, _alone);
    let harden = || {
        let flags = Harden::DUMPABLE | Harden::NEW_PRIVILEGES;
        gpucontainer::harden(&HardenOptions { flags, ..Default::default() }).unwrap();
        fs::read_to_string("/proc/thread-self/status").unwrap()
    };

    let status = std::thread::spawn(harden).join().unwrap();

    assert!(status.contains("CapEff:\t0000000000000000"));
}

#[test]
fn may_be_read_by_several_threads() {
    root_or_return!(_root, _alone);
    let host = host();
    let count = || host.drivers().map(|driver| driver.files().len()).sum::<usize>();

    let counts = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(count)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });

    assert!(counts.iter().all(|other| *other == counts[0] && *other > 0));
}
