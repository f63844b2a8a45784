// SPDX-License-Identifier: MIT

package gpucontainer

/*
#include <gpucontainer/gpucontainer.h>
#include <stdint.h>
#include <stdlib.h>

extern void gpuctrGoReport(uintptr_t collection, gpuctr_finding* finding);

static void report_to_go(void* collection, const gpuctr_finding* finding)
{
    gpuctrGoReport(*(uintptr_t*)collection, (gpuctr_finding*)finding);
}

static gpuctr_report go_report(void)
{
    return report_to_go;
}
*/
import "C"

import (
	"os"
	"runtime"
	"runtime/cgo"
	"syscall"
	"unsafe"
)

// Write says whether names may be created in the root file system itself.
type Write uint32

// Values of Request.Write.
const (
	WriteAuto   Write = C.GPUCTR_WRITE_AUTO   // If it is writable, local and the caller's own.
	WriteNever  Write = C.GPUCTR_WRITE_NEVER  // No: names appear only through mounts.
	WriteAlways Write = C.GPUCTR_WRITE_ALWAYS // Yes; an error if it is not possible.
	WriteLayer  Write = C.GPUCTR_WRITE_LAYER  // Where it is writable, for a container's own layer.
)

// Layout says where the driver's files are in the container.
type Layout uint32

// Values of Request.Layout.
const (
	LayoutTree   Layout = C.GPUCTR_LAYOUT_TREE   // In a directory of their own.
	LayoutMerged Layout = C.GPUCTR_LAYOUT_MERGED // Among the image's own libraries and tools.
	LayoutBinds  Layout = C.GPUCTR_LAYOUT_BINDS  // Each name by a mount, for images that are not known.
)

// VendorLibs says whose driver files a container gets.
type VendorLibs uint32

// Values of Request.VendorLibs.
const (
	VendorLibsAuto VendorLibs = C.GPUCTR_VENDOR_LIBS_AUTO // The host's, unless the image has its own.
	VendorLibsHost VendorLibs = C.GPUCTR_VENDOR_LIBS_HOST // The host's in any case.
	VendorLibsNone VendorLibs = C.GPUCTR_VENDOR_LIBS_NONE // None: device nodes only.
)

// Compat says whether programs use the image's own user space of a newer driver.
type Compat uint32

// Values of Request.Compat.
const (
	CompatAuto   Compat = C.GPUCTR_COMPAT_AUTO   // If it works with the host's driver and GPUs.
	CompatNever  Compat = C.GPUCTR_COMPAT_NEVER  // No.
	CompatAlways Compat = C.GPUCTR_COMPAT_ALWAYS // Even if it may fail.
)

// Glibc says whether programs use the host's C library, if the driver needs a newer one than the
// image has.
type Glibc uint32

// Values of Request.Glibc.
const (
	GlibcNever Glibc = C.GPUCTR_GLIBC_NEVER // No.
	GlibcAuto  Glibc = C.GPUCTR_GLIBC_AUTO  // All of it, unless something speaks against it.
)

// Backend says how mounts are made; to choose one is for tests and narrowing down a fault.
type Backend uint32

// Values of Backend in options.
const (
	BackendAuto      Backend = C.GPUCTR_BACKEND_AUTO
	BackendDetached  Backend = C.GPUCTR_BACKEND_DETACHED
	BackendAssembled Backend = C.GPUCTR_BACKEND_ASSEMBLED
	BackendLegacy    Backend = C.GPUCTR_BACKEND_LEGACY
)

// Outcome is what Apply did.
type Outcome uint32

// Outcomes of Apply.
const (
	Applied   Outcome = C.GPUCTR_APPLIED   // The plan was applied.
	Unchanged Outcome = C.GPUCTR_UNCHANGED // All of it was there already.
	Replaced  Outcome = C.GPUCTR_REPLACED  // An older set-up was undone first.
)

// Staged is what Stage did.
type Staged uint32

// Outcomes of Stage.
const (
	StagedNow       Staged = C.GPUCTR_STAGED          // The tree was mounted.
	StagedUnchanged Staged = C.GPUCTR_STAGE_UNCHANGED // It was there already.
	StagedReplaced  Staged = C.GPUCTR_STAGE_REPLACED  // A tree of other files was unmounted.
)

// Request is what a container asks for. The zero value has the defaults.
type Request struct {
	// Devices: "all", "none", "auto", or indexes, UUIDs and PCI addresses, comma-separated.
	// "": "auto".
	Devices string
	// DriverCapabilities, comma-separated; "": "compute,utility".
	DriverCapabilities string
	// Environment, NAME=VALUE, in which "auto" finds the variables of a scheduler: os.Environ().
	Environment []string
	Write       Write
	Layout      Layout
	VendorLibs  VendorLibs
	// Lock: nobody in the container can make the mounts writable.
	Lock bool
	// AllowedDevices is policy: the GPUs that may be chosen; "": all. An empty list is "none".
	AllowedDevices string
	// TreePath is the container's directory for the driver's files; "": "/usr/lib/gpuctr".
	TreePath string
	// MountLabel is the SELinux label of what is mounted.
	MountLabel string
	// DevicesName is the name of Devices in messages, such as "--device".
	DevicesName string
	// Requirements are what the chosen GPUs must meet, such as "cuda>=12.4 driver>=550"; all of
	// these.
	Requirements []string
	// Extras are what else a container gets or does not get, comma-separated:
	// "gds,imex-channel:0,no-mps".
	Extras string
	// ContainerEnvironment has NAME=VALUE each: what the container itself asks for, such as
	// ReadContainerEnvironment returns it. Of a Check, it is all that the program has.
	ContainerEnvironment []string
	// NamesDevices: it does not change Devices.
	NamesDevices bool
	// NamesCapabilities: it does not change DriverCapabilities.
	NamesCapabilities bool
	// Compat says whether the image's own user space of a newer driver is used.
	Compat Compat
	// Toolkit is the host's toolkit for a container without one: "auto", or its directory.
	Toolkit string
	// Glibc says whether the host's C library takes the place of an older one of the image.
	Glibc Glibc
	// Program is the program that will be run, if that is known, for Glibc.
	Program string
}

func (request Request) native(a *arguments) C.gpuctr_request {
	var native C.gpuctr_request
	C.gpuctr_request_init(&native, C.sizeof_gpuctr_request)
	native.devices = a.text("devices", request.Devices)
	native.driver_capabilities = a.text("driver_capabilities", request.DriverCapabilities)
	native.environment = a.list("environment", request.Environment)
	native.write = C.uint32_t(request.Write)
	native.layout = C.uint32_t(request.Layout)
	native.vendor_libs = C.uint32_t(request.VendorLibs)
	native.flags = flags(
		flag{request.Lock, C.GPUCTR_REQUEST_LOCK},
		flag{request.NamesDevices, C.GPUCTR_REQUEST_NAMES_DEVICES},
		flag{request.NamesCapabilities, C.GPUCTR_REQUEST_NAMES_CAPABILITIES})
	native.allowed_devices = a.text("allowed_devices", request.AllowedDevices)
	native.tree_path = a.text("tree_path", request.TreePath)
	native.mount_label = a.text("mount_label", request.MountLabel)
	native.devices_name = a.text("devices_name", request.DevicesName)
	native.requirements = a.list("requirements", request.Requirements)
	native.extras = a.text("extras", request.Extras)
	native.container_environment = a.list("container_environment", request.ContainerEnvironment)
	native.compat = C.uint32_t(request.Compat)
	native.toolkit = a.text("toolkit", request.Toolkit)
	native.glibc = C.uint32_t(request.Glibc)
	native.program = a.text("program", request.Program)
	return native
}

// Item is one thing that a plan puts into the container.
type Item struct {
	Kind, Source, Target string
	Options, Reason      string
	Vendor               string
	GPU                  *uint32 // Index of its GPU; nil: all of the vendor.
	Place                string
	IsDirectory          bool
	Mode                 uint32 // Permission bits of what is made.
	Content              []byte // Of what is generated; nil for all else.
	Major, Minor         uint32 // Of a "device".
	Required             bool   // Without this "device", no GPU or not its own can be used.
	Identity             FileID // Which file the source was.
}

// Variable is a change to the environment of a process in the container.
type Variable struct{ Action, Name, Value, Vendor string }

// DeviceRule is a rule for the device cgroup of the container.
type DeviceRule struct {
	Type, Access string
	Major, Minor uint32
}

// ApplyOptions say how to apply. The zero value has the defaults.
type ApplyOptions struct {
	// StateDir is the directory of the journals; "": "/var/lib/gpucontainer".
	StateDir string
	// Process is a pidfd of a process of the container, in whose mount namespace the plan is
	// applied, on a thread that is made for it. Nil: in the caller's mount namespace.
	Process *os.File
	// Setuid: the caller is a setuid program that has checked what its user may have.
	Setuid bool
	// WithoutJournal: the set-up lasts until the mount namespace ends.
	WithoutJournal bool
	// NoReplace: do not replace another set-up that may be in use.
	NoReplace bool
	// OverCopies: set-ups in this mount namespace are copies that nobody else uses.
	OverCopies bool
	// DryRun: change nothing, and tell what would be done.
	DryRun bool
	// StagedTree is the directory that Stage was given.
	StagedTree string
	Backend    Backend
	// Report is called with each finding after the call, also if that fails.
	Report func(Finding)
}

// Plan is all that will change in a container's root file system; nothing is changed yet.
type Plan struct{ *owner }

// NewPlan decides what will be done for a root. Without a root, or for a file with an image, the
// plan can only be shown. Errors: ErrUsage, ErrNoDevice, ErrRootfs, ErrPermission.
func NewPlan(host *Host, root *os.File, request Request) (*Plan, error) {
	var a arguments
	defer a.free()
	native := request.native(&a)
	rootFd := a.fd(root)
	if a.err != nil {
		return nil, a.err
	}
	var plan *C.gpuctr_plan
	err := host.use(func(pointer unsafe.Pointer) error {
		var failure *C.gpuctr_error
		status := C.gpuctr_plan_create((*C.gpuctr_host)(pointer), &native, rootFd, &plan, &failure)
		return check(status, failure)
	})
	runtime.KeepAlive(root)
	if err != nil {
		return nil, err
	}
	return &Plan{own(unsafe.Pointer(plan), func(pointer unsafe.Pointer) {
		C.gpuctr_plan_free((*C.gpuctr_plan)(pointer))
	})}, nil
}

// ofPlan is a call that cannot fail.
func ofPlan[T any](plan *Plan, call func(*C.gpuctr_plan) T) T {
	return get(plan.owner, func(pointer unsafe.Pointer) T { return call((*C.gpuctr_plan)(pointer)) })
}

func itemOf(item *C.gpuctr_item) Item {
	var content []byte
	if bytes := C.gpuctr_item_content(item); bytes != nil {
		content = C.GoBytes(bytes, C.int(C.gpuctr_item_content_size(item)))
	}
	return Item{
		Kind:        text(C.gpuctr_item_kind(item)),
		Source:      text(C.gpuctr_item_source(item)),
		Target:      text(C.gpuctr_item_target(item)),
		Options:     text(C.gpuctr_item_options(item)),
		Reason:      text(C.gpuctr_item_reason(item)),
		Vendor:      text(C.gpuctr_item_vendor(item)),
		GPU:         optional(C.gpuctr_item_gpu(item)),
		Place:       text(C.gpuctr_item_place(item)),
		IsDirectory: C.gpuctr_item_is_directory(item) != 0,
		Mode:        uint32(C.gpuctr_item_mode(item)),
		Content:     content,
		Major:       uint32(C.gpuctr_item_major(item)),
		Minor:       uint32(C.gpuctr_item_minor(item)),
		Required:    C.gpuctr_item_required(item) != 0,
		Identity:    idOf(C.gpuctr_item_identity(item)),
	}
}

// Items are what is put into the container, in this order.
func (plan *Plan) Items() []Item {
	return ofPlan(plan, func(native *C.gpuctr_plan) []Item {
		return list(C.gpuctr_plan_item_count(native), func(i C.size_t) *C.gpuctr_item {
			return C.gpuctr_plan_item_at(native, i)
		}, itemOf)
	})
}

// Drivers that the plan was made from, with the GPUs that were chosen.
func (plan *Plan) Drivers() []UsedDriver {
	return ofPlan(plan, func(native *C.gpuctr_plan) []UsedDriver {
		return list(C.gpuctr_plan_driver_count(native), func(i C.size_t) *C.gpuctr_used_driver {
			return C.gpuctr_plan_driver_at(native, i)
		}, usedOf)
	})
}

// Variables are changes to the environment of a process in the container.
func (plan *Plan) Variables() []Variable {
	return ofPlan(plan, func(native *C.gpuctr_plan) []Variable {
		return list(C.gpuctr_plan_variable_count(native), func(i C.size_t) *C.gpuctr_variable {
			return C.gpuctr_plan_variable_at(native, i)
		}, func(v *C.gpuctr_variable) Variable {
			return Variable{
				text(C.gpuctr_variable_action(v)), text(C.gpuctr_variable_name(v)),
				text(C.gpuctr_variable_value(v)), text(C.gpuctr_variable_vendor(v)),
			}
		})
	})
}

// Findings are what was left out, what the caller must add, and what will not work.
func (plan *Plan) Findings() []Finding {
	return ofPlan(plan, func(native *C.gpuctr_plan) []Finding {
		return list(C.gpuctr_plan_finding_count(native), func(i C.size_t) *C.gpuctr_finding {
			return C.gpuctr_plan_finding_at(native, i)
		}, findingOf)
	})
}

// DeviceRules are what the container's device cgroup has to allow.
func (plan *Plan) DeviceRules() []DeviceRule {
	return ofPlan(plan, func(native *C.gpuctr_plan) []DeviceRule {
		return list(C.gpuctr_plan_device_rule_count(native), func(i C.size_t) *C.gpuctr_device_rule {
			return C.gpuctr_plan_device_rule_at(native, i)
		}, func(rule *C.gpuctr_device_rule) DeviceRule {
			return DeviceRule{
				string(rune(rule._type)), C.GoString(&rule.access[0]),
				uint32(rule.major), uint32(rule.minor),
			}
		})
	})
}

// Groups are additional groups that a process needs to open the device nodes.
func (plan *Plan) Groups() []uint32 {
	return ofPlan(plan, func(native *C.gpuctr_plan) []uint32 {
		return list(C.gpuctr_plan_group_count(native), func(i C.size_t) C.uint32_t {
			return C.gpuctr_plan_group_at(native, i)
		}, func(group C.uint32_t) uint32 { return uint32(group) })
	})
}

// Layout says where the driver's files are in the container.
func (plan *Plan) Layout() Layout {
	return ofPlan(plan, func(native *C.gpuctr_plan) Layout {
		return Layout(C.gpuctr_plan_layout(native))
	})
}

// TreePath is the directory of the container that has the driver's files; "" if there is none.
func (plan *Plan) TreePath() string {
	return ofPlan(plan, func(native *C.gpuctr_plan) string {
		return text(C.gpuctr_plan_tree_path(native))
	})
}

// MountLabel is the SELinux label of what is mounted; "" if there is none.
func (plan *Plan) MountLabel() string {
	return ofPlan(plan, func(native *C.gpuctr_plan) string {
		return text(C.gpuctr_plan_mount_label(native))
	})
}

// WritesRoot reports whether names are created in the root file system itself.
func (plan *Plan) WritesRoot() bool {
	return ofPlan(plan, func(native *C.gpuctr_plan) bool {
		return C.gpuctr_plan_writes_root(native) != 0
	})
}

// IsLocked reports whether nobody in the container can make the mounts writable.
func (plan *Plan) IsLocked() bool {
	return ofPlan(plan, func(native *C.gpuctr_plan) bool {
		return C.gpuctr_plan_is_locked(native) != 0
	})
}

// CheckRequirement checks what the chosen GPUs have to meet, such as "cuda>=12.4 driver>=550". The
// form is that of the variables NVIDIA_REQUIRE_*. Errors: ErrRequirement, whose Object is the clause
// that is not met; ErrUsage.
func (plan *Plan) CheckRequirement(requirement string) error {
	var a arguments
	defer a.free()
	native := a.copied("requirement", requirement)
	if a.err != nil {
		return a.err
	}
	return plan.use(func(pointer unsafe.Pointer) error {
		var failure *C.gpuctr_error
		status := C.gpuctr_plan_check_requirement((*C.gpuctr_plan)(pointer), native, &failure)
		return check(status, failure)
	})
}

// JSON returns the plan as a document of the schema "gpucontainer/plan/1".
func (plan *Plan) JSON() ([]byte, error) {
	return document(plan.owner, func(pointer unsafe.Pointer, text **C.char,
		failure **C.gpuctr_error) C.gpuctr_status {
		return C.gpuctr_plan_to_json((*C.gpuctr_plan)(pointer), text, failure)
	})
}

// reporting makes a call that collects findings, and reports them afterwards.
func reporting(report func(Finding), call func(C.gpuctr_report, unsafe.Pointer) error) error {
	if report == nil {
		return call(nil, nil)
	}
	var collected []Finding
	handle := cgo.NewHandle(&collected)
	defer handle.Delete()
	collection := C.malloc(C.size_t(unsafe.Sizeof(handle)))
	defer C.free(collection)
	*(*cgo.Handle)(collection) = handle
	err := call(C.go_report(), collection)
	for _, finding := range collected {
		report(finding)
	}
	return err
}

// inProcess makes a call on a thread of its own if it works in the mount namespace of a process:
// the thread joins that namespace, and must share its working directory with no other.
func inProcess(process *os.File, call func() error) error {
	if process == nil {
		return call()
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		if err := syscall.Unshare(syscall.CLONE_FS); err != nil {
			result <- os.NewSyscallError("unshare", err)
			return
		}
		result <- call()
	}()
	return <-result
}

// Apply applies the plan to the root file system that it was made for, all or nothing. Errors:
// ErrPermission, ErrRootfs, ErrNoDevice, ErrApply, ErrExists.
func (plan *Plan) Apply(root *os.File, options ApplyOptions) (Outcome, error) {
	var a arguments
	defer a.free()
	var native C.gpuctr_apply_options
	C.gpuctr_apply_options_init(&native, C.sizeof_gpuctr_apply_options)
	native.state_dir = a.text("state_dir", options.StateDir)
	native.staged_tree = a.text("staged_tree", options.StagedTree)
	native.backend = C.uint32_t(options.Backend)
	native.flags = flags(
		flag{options.Process != nil, C.GPUCTR_APPLY_IN_PROCESS},
		flag{options.Setuid, C.GPUCTR_APPLY_SETUID},
		flag{options.WithoutJournal, C.GPUCTR_APPLY_WITHOUT_JOURNAL},
		flag{options.NoReplace, C.GPUCTR_APPLY_NO_REPLACE},
		flag{options.OverCopies, C.GPUCTR_APPLY_OVER_COPIES},
		flag{options.DryRun, C.GPUCTR_APPLY_DRY_RUN})
	native.pidfd = C.int32_t(a.fd(options.Process))
	rootFd := a.fd(root)
	if a.err != nil {
		return 0, a.err
	}
	var outcome C.uint32_t
	err := reporting(options.Report, func(report C.gpuctr_report, data unsafe.Pointer) error {
		native.report = report
		native.report_data = data
		return plan.use(func(pointer unsafe.Pointer) error {
			return inProcess(options.Process, func() error {
				var failure *C.gpuctr_error
				status := C.gpuctr_plan_apply((*C.gpuctr_plan)(pointer), rootFd, &native,
					&outcome, &failure)
				return check(status, failure)
			})
		})
	})
	runtime.KeepAlive(root)
	runtime.KeepAlive(options.Process)
	return Outcome(outcome), err
}

// LoadOptions say what of this host to load and to make. The zero value has the defaults.
type LoadOptions struct {
	// Vendors whose GPUs need it; none: all.
	Vendors []string
	// Display: also what only mode setting needs.
	Display bool
	// Report gets each kernel module that was loaded, and each node that was made.
	Report func(Finding)
}

// LoadKernelModules changes this host: it loads kernel modules that its GPUs lack, and makes device
// nodes that are missing in /dev. Errors: ErrPermission, ErrNoDevice, ErrRequirement, ErrUsage.
func LoadKernelModules(options LoadOptions) error {
	var a arguments
	defer a.free()
	var native C.gpuctr_load_options
	C.gpuctr_load_options_init(&native, C.sizeof_gpuctr_load_options)
	native.vendors = a.list("vendors", options.Vendors)
	native.flags = flags(flag{options.Display, C.GPUCTR_LOAD_DISPLAY})
	if a.err != nil {
		return a.err
	}
	return reporting(options.Report, func(report C.gpuctr_report, data unsafe.Pointer) error {
		native.report = report
		native.report_data = data
		var failure *C.gpuctr_error
		status := C.gpuctr_host_load_kernel_modules(&native, &failure)
		return check(status, failure)
	})
}

// CDIOptions say how a CDI specification is written. The zero value has the defaults.
type CDIOptions struct {
	Version  string // "": the lowest that has it all.
	FilesDir string // "": the usual one.
	YAML     bool   // For CDI; InstallCDI goes by the path.
	Groups   bool   // Processes of containers get the groups of the device nodes.
	// StagedTree is where Plan.Stage() keeps the tree, which is bound instead of single libraries;
	// "": none.
	StagedTree string
	// Hook is the path of a command that sets up everything but the nodes, and its arguments, the
	// first of which is the path again.
	Hook []string
}

func (options CDIOptions) native(a *arguments) C.gpuctr_cdi_options {
	var native C.gpuctr_cdi_options
	C.gpuctr_cdi_options_init(&native, C.sizeof_gpuctr_cdi_options)
	native.version = a.text("version", options.Version)
	native.files_dir = a.text("files_dir", options.FilesDir)
	native.flags = flags(flag{options.YAML, C.GPUCTR_CDI_YAML},
		flag{options.Groups, C.GPUCTR_CDI_GROUPS})
	native.staged_tree = a.text("staged_tree", options.StagedTree)
	if len(options.Hook) > 0 {
		native.hook = a.list("hook", options.Hook)
	}
	return native
}

// CDI is the plan, one with LayoutBinds and of one vendor, as a specification of the Container
// Device Interface. Errors: ErrUsage, ErrNoDevice.
func (plan *Plan) CDI(options CDIOptions) ([]byte, error) {
	var a arguments
	defer a.free()
	native := options.native(&a)
	if a.err != nil {
		return nil, a.err
	}
	return document(plan.owner, func(pointer unsafe.Pointer, text **C.char,
		failure **C.gpuctr_error) C.gpuctr_status {
		return C.gpuctr_plan_to_cdi((*C.gpuctr_plan)(pointer), &native, text, failure)
	})
}

// OCI is the plan, one with LayoutBinds, as edits of an OCI runtime's configuration: a document of
// the schema "gpucontainer/oci/1". Of filesDir, "" is the usual one. Errors: ErrUsage.
func (plan *Plan) OCI(filesDir string) ([]byte, error) {
	var a arguments
	defer a.free()
	directory := a.text("files_dir", filesDir)
	if a.err != nil {
		return nil, a.err
	}
	return document(plan.owner, func(pointer unsafe.Pointer, text **C.char,
		failure **C.gpuctr_error) C.gpuctr_status {
		return C.gpuctr_plan_to_oci((*C.gpuctr_plan)(pointer), directory, text, failure)
	})
}

// CDIInstalled is what InstallCDI did.
type CDIInstalled uint32

// Values of CDIInstalled.
const (
	CDIWritten   CDIInstalled = C.GPUCTR_CDI_WRITTEN   // The specification or a file that it names.
	CDIUnchanged CDIInstalled = C.GPUCTR_CDI_UNCHANGED // All of it was there already.
)

// InstallCDI writes that specification and the files that it names. Errors: ErrExists,
// ErrPermission, ErrUsage, ErrNoDevice, ErrDriver.
func (plan *Plan) InstallCDI(path string, options CDIOptions) (CDIInstalled, error) {
	var a arguments
	defer a.free()
	place := a.copied("path", path)
	native := options.native(&a)
	if a.err != nil {
		return 0, a.err
	}
	var outcome C.uint32_t
	err := plan.use(func(pointer unsafe.Pointer) error {
		var failure *C.gpuctr_error
		status := C.gpuctr_plan_install_cdi((*C.gpuctr_plan)(pointer), place, &native, &outcome,
			&failure)
		return check(status, failure)
	})
	return CDIInstalled(outcome), err
}

// StageOptions say how to stage and to unstage. The zero value has the defaults.
type StageOptions struct {
	// Setuid: the caller is a setuid program that has checked what its user may have.
	Setuid  bool
	Backend Backend
}

func (options StageOptions) native() C.gpuctr_stage_options {
	var native C.gpuctr_stage_options
	C.gpuctr_stage_options_init(&native, C.sizeof_gpuctr_stage_options)
	native.flags = flags(flag{options.Setuid, C.GPUCTR_STAGE_SETUID})
	native.backend = C.uint32_t(options.Backend)
	return native
}

// Stage mounts the plan's driver tree in a directory of the host, for later calls that name it as
// their StagedTree. Errors: ErrPermission, ErrDriver, ErrUsage.
func (plan *Plan) Stage(directory string, options StageOptions) (Staged, error) {
	var a arguments
	defer a.free()
	place := a.copied("directory", directory)
	if a.err != nil {
		return 0, a.err
	}
	native := options.native()
	var outcome C.uint32_t
	err := plan.use(func(pointer unsafe.Pointer) error {
		var failure *C.gpuctr_error
		status := C.gpuctr_plan_stage((*C.gpuctr_plan)(pointer), place, &native, &outcome, &failure)
		return check(status, failure)
	})
	return Staged(outcome), err
}

// Unstage unmounts what Stage mounted in a directory; false if no such tree was there. Errors:
// ErrPermission, ErrUsage.
func Unstage(directory string, options StageOptions) (bool, error) {
	var a arguments
	defer a.free()
	place := a.copied("directory", directory)
	if a.err != nil {
		return false, a.err
	}
	native := options.native()
	var found C.int
	var failure *C.gpuctr_error
	status := C.gpuctr_unstage(place, &native, &found, &failure)
	return found != 0, check(status, failure)
}
