// SPDX-License-Identifier: MIT
use crate::call::{check, getters, initialised, json, lists, text, view, Texts};
use crate::error::Result;
use crate::explanation::Explanation;
use crate::host::Host;
use crate::options::{
    Backend, CdiOptions, Collected, Compat, Glibc, Layout, Report, StageOptions, VendorLibs, Write,
};
use crate::prepared::Prepared;
use crate::root::fd_of;
use crate::values::{findings, FileId, UsedDriver};
use gpucontainer_sys as sys;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::io::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::ptr;

/// What a container asks for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// "all", "none", "auto", or indexes, UUIDs and PCI addresses, comma-separated; none: "auto".
    pub devices: Option<String>,
    /// Comma-separated: "compute", "utility" ...; none: "compute,utility".
    pub driver_capabilities: Option<String>,
    /// Where "auto" finds the variables of a scheduler, usually `std::env::vars_os()`.
    pub environment: Vec<(OsString, OsString)>,
    /// May names be created in the root file system itself?
    pub write: Write,
    /// Where the driver's files are in the container.
    pub layout: Layout,
    /// Whose driver files the container gets.
    pub vendor_libs: VendorLibs,
    /// Policy: the GPUs that may be chosen; none: all.
    pub allowed_devices: Option<String>,
    /// Directory of the container for the driver's files; none: "/usr/lib/gpuctr".
    pub tree_path: Option<PathBuf>,
    /// SELinux label of what is mounted.
    pub mount_label: Option<String>,
    /// Nobody in the container can make the mounts writable.
    pub lock: bool,
    /// Name of `devices` in messages, such as "--device".
    pub devices_name: Option<String>,
    /// What the chosen GPUs must meet, such as "cuda>=12.4 driver>=550"; all of these.
    pub requirements: Vec<String>,
    /// What else a container gets or does not get, comma-separated: "gds,imex-channel:0,no-mps".
    pub extras: Option<String>,
    /// NAME=VALUE each: what the container itself asks for, such as
    /// [`ContainerEnvironment`](crate::ContainerEnvironment) has it. Of a [`Check`](crate::Check),
    /// it is all that the program has.
    pub container_environment: Vec<OsString>,
    /// It does not change `devices`.
    pub names_devices: bool,
    /// It does not change `driver_capabilities`.
    pub names_capabilities: bool,
    /// Is the image's own user space of a newer driver used?
    pub compat: Compat,
    /// The host's toolkit for a container without one: "auto", or its directory.
    pub toolkit: Option<PathBuf>,
    /// Does the host's C library take the place of an older one of the image?
    pub glibc: Glibc,
    /// The program that will be run, if that is known, for `glibc`.
    pub program: Option<OsString>,
}

impl Request {
    /// The texts have to outlive the request.
    pub(crate) fn native(&self, texts: &mut Texts) -> Result<sys::gpuctr_request> {
        let os = |text: &Option<String>| text.as_ref().map(OsString::from);
        // SAFETY: the function of this struct.
        let mut native = unsafe { initialised(sys::gpuctr_request_init) };
        native.devices = texts.add("devices", os(&self.devices).as_deref())?;
        native.driver_capabilities =
            texts.add("driver_capabilities", os(&self.driver_capabilities).as_deref())?;
        let join = |(name, value): &(OsString, OsString)| {
            let mut variable = name.clone();
            variable.push("=");
            variable.push(value);
            variable
        };
        let environment: Vec<OsString> = self.environment.iter().map(join).collect();
        native.environment = texts.add_list("environment", &environment)?;
        native.write = self.write as u32;
        native.layout = self.layout as u32;
        native.vendor_libs = self.vendor_libs as u32;
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        native.flags = flag(self.lock, sys::GPUCTR_REQUEST_LOCK)
            | flag(self.names_devices, sys::GPUCTR_REQUEST_NAMES_DEVICES)
            | flag(self.names_capabilities, sys::GPUCTR_REQUEST_NAMES_CAPABILITIES);
        native.allowed_devices =
            texts.add("allowed_devices", os(&self.allowed_devices).as_deref())?;
        native.tree_path =
            texts.add("tree_path", self.tree_path.as_deref().map(Path::as_os_str))?;
        native.mount_label = texts.add("mount_label", os(&self.mount_label).as_deref())?;
        native.devices_name = texts.add("devices_name", os(&self.devices_name).as_deref())?;
        let requirements: Vec<OsString> = self.requirements.iter().map(OsString::from).collect();
        native.requirements = texts.add_list("requirements", &requirements)?;
        native.extras = texts.add("extras", os(&self.extras).as_deref())?;
        native.container_environment =
            texts.add_list("container_environment", &self.container_environment)?;
        native.compat = self.compat as u32;
        native.toolkit = texts.add("toolkit", self.toolkit.as_deref().map(Path::as_os_str))?;
        native.glibc = self.glibc as u32;
        native.program = texts.add("program", self.program.as_deref())?;
        Ok(native)
    }
}

view! {
    /// One thing that a plan puts into the container.
    Item of gpuctr_item
}
impl<'a> Item<'a> {
    getters! {
        /// "bind", "cover", "device", "symlink", "directory", "file", "ldcache" or "mount".
        text kind = gpuctr_item_kind;
        /// Path on the host, or the target of a symbolic link.
        path source = gpuctr_item_source;
        /// Path in the container.
        path target = gpuctr_item_target;
        /// Mount options, comma-separated.
        text options = gpuctr_item_options;
        /// Why it is there.
        text reason = gpuctr_item_reason;
        /// "nvidia"; empty if it serves all.
        text vendor = gpuctr_item_vendor;
        /// Index of the GPU that it is for; none: all of the vendor.
        option gpu = gpuctr_item_gpu;
        /// "there", "created", "tree", "overlay" or "cover".
        text place = gpuctr_item_place;
        /// Whether it is a directory, not a file.
        flag is_directory = gpuctr_item_is_directory;
        /// Permission bits of what is made; 0 for all else.
        number mode = gpuctr_item_mode;
        /// Major number of a "device"; 0 for others.
        number major = gpuctr_item_major;
        /// Minor number of a "device"; 0 for others.
        number minor = gpuctr_item_minor;
        /// Whether no GPU, or not the one that it is for, can be used without this "device".
        flag required = gpuctr_item_required;
    }

    /// The bytes of what is generated; none for all else.
    pub fn content(&self) -> Option<&'a [u8]> {
        // SAFETY: the bytes live as long as the plan.
        unsafe {
            let data = sys::gpuctr_item_content(self.raw);
            if data.is_null() {
                return None;
            }
            let size = sys::gpuctr_item_content_size(self.raw);
            Some(std::slice::from_raw_parts(data.cast(), size))
        }
    }

    /// Which file the source was when the host was recorded.
    pub fn identity(&self) -> FileId {
        // SAFETY: the object is alive.
        unsafe { sys::gpuctr_item_identity(self.raw) }.into()
    }
}

view! {
    /// A change to the environment of a process in the container.
    Variable of gpuctr_variable
}
impl<'a> Variable<'a> {
    getters! {
        /// "set", "unset", "prepend" or "append".
        text action = gpuctr_variable_action;
        /// Its name.
        text name = gpuctr_variable_name;
        /// Its value, or the element of the list.
        text value = gpuctr_variable_value;
        /// "nvidia"; empty if it serves all.
        text vendor = gpuctr_variable_vendor;
    }
}

/// A rule for the device cgroup of the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceRule {
    /// 'c'
    pub kind: char,
    /// "rw"
    pub access: String,
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

/// What `Plan::apply()` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The plan was applied.
    Applied,
    /// All of it was there already.
    Unchanged,
    /// An older set-up was undone first.
    Replaced,
    /// One of a later version of the library.
    Other(u32),
}

/// What `Plan::install_cdi()` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CdiInstalled {
    /// The specification, or a file that it names, was written.
    Written,
    /// All of it was there already.
    Unchanged,
    /// An outcome of a later version of the library.
    Other(u32),
}

impl From<u32> for CdiInstalled {
    fn from(outcome: u32) -> Self {
        match outcome {
            sys::GPUCTR_CDI_WRITTEN => CdiInstalled::Written,
            sys::GPUCTR_CDI_UNCHANGED => CdiInstalled::Unchanged,
            other => CdiInstalled::Other(other),
        }
    }
}

/// What `Plan::stage()` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Staged {
    /// The tree was mounted.
    Staged,
    /// It was there already.
    Unchanged,
    /// A tree of other files was unmounted first.
    Replaced,
    /// One of a later version of the library.
    Other(u32),
}

impl From<u32> for Outcome {
    fn from(outcome: u32) -> Self {
        match outcome {
            sys::GPUCTR_APPLIED => Outcome::Applied,
            sys::GPUCTR_UNCHANGED => Outcome::Unchanged,
            sys::GPUCTR_REPLACED => Outcome::Replaced,
            other => Outcome::Other(other),
        }
    }
}

impl From<u32> for Staged {
    fn from(outcome: u32) -> Self {
        match outcome {
            sys::GPUCTR_STAGED => Staged::Staged,
            sys::GPUCTR_STAGE_UNCHANGED => Staged::Unchanged,
            sys::GPUCTR_STAGE_REPLACED => Staged::Replaced,
            other => Staged::Other(other),
        }
    }
}

/// How to apply.
#[derive(Default)]
pub struct ApplyOptions<'o> {
    /// Directory of the journals; none: "/var/lib/gpucontainer".
    pub state_dir: Option<&'o Path>,
    /// A process of the container, in whose mount namespace the plan is applied. The calling
    /// thread must then share its working directory with no other (`unshare(CLONE_FS)`).
    pub pidfd: Option<BorrowedFd<'o>>,
    /// The caller is a setuid program that has checked what its user may have.
    pub setuid: bool,
    /// Keep no journal: the set-up lasts until the mount namespace ends.
    pub without_journal: bool,
    /// Do not replace another set-up that may be in use.
    pub no_replace: bool,
    /// Set-ups in this mount namespace are copies that nobody else uses.
    pub over_copies: bool,
    /// Change nothing, and tell what would be done.
    pub dry_run: bool,
    /// Directory that `Plan::stage()` was given.
    pub staged_tree: Option<&'o Path>,
    /// How mounts are made.
    pub backend: Backend,
    /// Gets each finding about what was done.
    pub report: Option<Report<'o>>,
}

/// How to prepare.
#[derive(Clone, Debug, Default)]
pub struct PrepareOptions {
    /// The caller is a setuid program that has checked what its user may have.
    pub setuid: bool,
    /// Directory that `Plan::stage()` was given.
    pub staged_tree: Option<PathBuf>,
    /// How mounts are made.
    pub backend: Backend,
}

/// Everything that will change in a container's root file system. It never changes.
pub struct Plan {
    raw: *mut sys::gpuctr_plan,
}

// SAFETY: a plan never changes, and several threads may read it at once.
unsafe impl Send for Plan {}
unsafe impl Sync for Plan {}

impl Plan {
    /// Decides what will be done; changes nothing. Without a root, or for a file with an image
    /// (squashfs, SIF, or an archive of docker or OCI), the plan can only be shown.
    /// Errors: Usage, NoDevice, Rootfs, Permission.
    pub fn new<F: AsFd>(host: &Host, request: &Request, root: Option<&F>) -> Result<Plan> {
        let mut texts = Texts::default();
        let native = request.native(&mut texts)?;
        let mut raw = ptr::null_mut();
        // SAFETY: all that is passed outlives the call.
        unsafe {
            check(|error| {
                sys::gpuctr_plan_create(host.as_ptr(), &native, fd_of(root), &mut raw, error)
            })?;
        }
        Ok(Plan { raw })
    }

    fn view(&self) -> PlanView<'_> {
        PlanView { raw: self.raw, owner: std::marker::PhantomData }
    }

    /// Drivers that it was made from, with the GPUs that were chosen.
    pub fn drivers(&self) -> impl ExactSizeIterator<Item = UsedDriver<'_>> {
        self.view().drivers()
    }

    /// What is put into the container, in this order.
    pub fn items(&self) -> impl ExactSizeIterator<Item = Item<'_>> {
        self.view().items()
    }

    /// Changes to the environment of a process in the container.
    pub fn variables(&self) -> impl ExactSizeIterator<Item = Variable<'_>> {
        self.view().variables()
    }

    /// Directory of the container that has the driver's files; empty if there is none.
    pub fn tree_path(&self) -> &Path {
        self.view().tree_path()
    }

    /// Whether names are created in the root file system itself.
    pub fn writes_root(&self) -> bool {
        self.view().writes_root()
    }

    /// Whether nobody in the container can make the mounts writable.
    pub fn is_locked(&self) -> bool {
        self.view().is_locked()
    }

    /// SELinux label of what is mounted; empty if there is none.
    pub fn mount_label(&self) -> Cow<'_, str> {
        self.view().mount_label()
    }

    /// Where the driver's files are in the container.
    pub fn layout(&self) -> Layout {
        // SAFETY: the object is alive.
        match unsafe { sys::gpuctr_plan_layout(self.raw) } {
            sys::GPUCTR_LAYOUT_MERGED => Layout::Merged,
            sys::GPUCTR_LAYOUT_BINDS => Layout::Binds,
            _ => Layout::Tree,
        }
    }

    findings! {
        /// What was left out, what the caller must add, and what will not work.
        findings = gpuctr_plan_finding_count, gpuctr_plan_finding_at
    }

    /// Devices that the container's device cgroup has to allow.
    pub fn device_rules(&self) -> Vec<DeviceRule> {
        let convert = |rule: &sys::gpuctr_device_rule| DeviceRule {
            kind: char::from(rule.r#type as u8),
            // SAFETY: the library terminates it.
            access: unsafe { text(rule.access.as_ptr()) }.into_owned(),
            major: rule.major,
            minor: rule.minor,
        };
        // SAFETY: the rules belong to the plan.
        unsafe {
            (0..sys::gpuctr_plan_device_rule_count(self.raw))
                .map(|i| convert(&*sys::gpuctr_plan_device_rule_at(self.raw, i)))
                .collect()
        }
    }

    /// Additional groups that a process needs to open the device nodes.
    pub fn groups(&self) -> Vec<u32> {
        // SAFETY: the object is alive.
        unsafe {
            (0..sys::gpuctr_plan_group_count(self.raw))
                .map(|i| sys::gpuctr_plan_group_at(self.raw, i))
                .collect()
        }
    }

    /// Checks what the chosen GPUs have to meet, such as "cuda>=12.4 driver>=550". The form is that
    /// of the variables `NVIDIA_REQUIRE_*`. Errors: Requirement, whose object is the clause that is
    /// not met; Usage.
    pub fn check_requirement(&self, requirement: &str) -> Result<()> {
        let mut texts = Texts::default();
        let requirement = texts.add("requirement", Some(OsStr::new(requirement)))?;
        // SAFETY: the object and the text are alive.
        unsafe { check(|error| sys::gpuctr_plan_check_requirement(self.raw, requirement, error)) }
    }

    /// What the plan does with a library, tool, device node or GPU of this name, and why. The root is
    /// that of the plan. Errors: Usage, if nothing has the name; Rootfs.
    pub fn explain<F: AsFd>(&self, name: &str, root: Option<&F>) -> Result<Explanation> {
        let mut texts = Texts::default();
        let name = texts.add("name", Some(OsStr::new(name)))?;
        let mut raw = ptr::null_mut();
        // SAFETY: all that is passed outlives the call.
        unsafe {
            check(|error| sys::gpuctr_plan_explain(self.raw, name, fd_of(root), &mut raw, error))?;
            Ok(Explanation::from_raw(raw))
        }
    }

    /// The plan as a document of the schema "gpucontainer/plan/1".
    pub fn to_json(&self) -> Result<String> {
        // SAFETY: the object is alive.
        unsafe { json(|text, error| sys::gpuctr_plan_to_json(self.raw, text, error)) }
    }

    /// The plan, one with `Layout::Binds` and of one vendor, as a specification of the Container
    /// Device Interface. Errors: Usage, NoDevice.
    pub fn to_cdi(&self, options: &CdiOptions<'_>) -> Result<String> {
        let mut texts = Texts::default();
        let native = options.native(&mut texts)?;
        // SAFETY: all that is passed outlives the call.
        unsafe { json(|text, error| sys::gpuctr_plan_to_cdi(self.raw, &native, text, error)) }
    }

    /// The plan, one with `Layout::Binds`, as edits of an OCI runtime's configuration: a document of
    /// the schema "gpucontainer/oci/1". `None`: the usual directory of files. Errors: Usage.
    pub fn to_oci(&self, files_dir: Option<&Path>) -> Result<String> {
        let mut texts = Texts::default();
        let directory = texts.add("files_dir", files_dir.map(Path::as_os_str))?;
        // SAFETY: all that is passed outlives the call.
        unsafe { json(|text, error| sys::gpuctr_plan_to_oci(self.raw, directory, text, error)) }
    }

    /// Writes that specification and the files that it names. Errors: Exists, Permission, Usage,
    /// NoDevice, Driver.
    pub fn install_cdi(&self, path: &Path, options: &CdiOptions<'_>) -> Result<CdiInstalled> {
        let mut texts = Texts::default();
        let native = options.native(&mut texts)?;
        let place = texts.add("path", Some(path.as_os_str()))?;
        let mut outcome = sys::GPUCTR_CDI_WRITTEN;
        // SAFETY: all that is passed outlives the call.
        unsafe {
            check(|error| {
                sys::gpuctr_plan_install_cdi(self.raw, place, &native, &mut outcome, error)
            })?;
        }
        Ok(outcome.into())
    }

    /// Applies the plan to the root file system that it was made for, all or nothing.
    /// Errors: Permission, Rootfs, NoDevice, Apply, Exists.
    pub fn apply<F: AsFd>(&self, root: &F, options: ApplyOptions<'_>) -> Result<Outcome> {
        let mut texts = Texts::default();
        let mut findings = Collected::default();
        // SAFETY: the function of this struct.
        let mut native = unsafe { initialised(sys::gpuctr_apply_options_init) };
        native.state_dir = texts.add("state_dir", options.state_dir.map(Path::as_os_str))?;
        native.staged_tree = texts.add("staged_tree", options.staged_tree.map(Path::as_os_str))?;
        native.backend = options.backend as u32;
        for (wanted, flag) in [
            (options.setuid, sys::GPUCTR_APPLY_SETUID),
            (options.without_journal, sys::GPUCTR_APPLY_WITHOUT_JOURNAL),
            (options.no_replace, sys::GPUCTR_APPLY_NO_REPLACE),
            (options.over_copies, sys::GPUCTR_APPLY_OVER_COPIES),
            (options.dry_run, sys::GPUCTR_APPLY_DRY_RUN),
        ] {
            native.flags |= if wanted { flag } else { 0 };
        }
        if let Some(pidfd) = options.pidfd {
            native.flags |= sys::GPUCTR_APPLY_IN_PROCESS;
            native.pidfd = pidfd.as_raw_fd();
        }
        if options.report.is_some() {
            native.report = Some(Collected::collect);
            native.report_data = findings.data();
        }
        let mut outcome = sys::GPUCTR_APPLIED;
        // SAFETY: all that is passed outlives the call.
        let result = unsafe {
            check(|error| {
                sys::gpuctr_plan_apply(self.raw, fd_of(Some(root)), &native, &mut outcome, error)
            })
        };
        findings.hand_over(options.report);
        result.map(|()| outcome.into())
    }

    /// Makes detached mounts of the plan; nothing changes yet.
    /// Errors: Permission, Driver, NoDevice, Requirement.
    pub fn prepare(&self, options: &PrepareOptions) -> Result<Prepared> {
        let mut texts = Texts::default();
        // SAFETY: the function of this struct.
        let mut native = unsafe { initialised(sys::gpuctr_prepare_options_init) };
        native.flags = if options.setuid { sys::GPUCTR_PREPARE_SETUID } else { 0 };
        native.backend = options.backend as u32;
        native.staged_tree =
            texts.add("staged_tree", options.staged_tree.as_deref().map(Path::as_os_str))?;
        let mut raw = ptr::null_mut();
        // SAFETY: all that is passed outlives the call.
        unsafe {
            check(|error| sys::gpuctr_plan_prepare(self.raw, &native, &mut raw, error))?;
            Ok(Prepared::from_raw(raw))
        }
    }

    /// Mounts the plan's driver tree in a directory of the host, for later calls that name it as
    /// their `staged_tree`. Errors: Permission, Driver, Usage.
    pub fn stage(&self, directory: &Path, options: &StageOptions) -> Result<Staged> {
        let mut texts = Texts::default();
        let native = options.native();
        let place = texts.add("directory", Some(OsStr::new(directory)))?;
        let mut outcome = sys::GPUCTR_STAGED;
        // SAFETY: all that is passed outlives the call.
        unsafe {
            check(|error| sys::gpuctr_plan_stage(self.raw, place, &native, &mut outcome, error))?;
        }
        Ok(outcome.into())
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: nothing borrows from it any more.
        unsafe { sys::gpuctr_plan_free(self.raw) }
    }
}

struct PlanView<'a> {
    raw: *const sys::gpuctr_plan,
    owner: std::marker::PhantomData<&'a ()>,
}
impl<'a> PlanView<'a> {
    lists! {
        drivers: UsedDriver = gpuctr_plan_driver_count, gpuctr_plan_driver_at;
        items: Item = gpuctr_plan_item_count, gpuctr_plan_item_at;
        variables: Variable = gpuctr_plan_variable_count, gpuctr_plan_variable_at;
    }
    getters! {
        path tree_path = gpuctr_plan_tree_path;
        flag writes_root = gpuctr_plan_writes_root;
        flag is_locked = gpuctr_plan_is_locked;
        text mount_label = gpuctr_plan_mount_label;
    }
}
