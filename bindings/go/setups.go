// SPDX-License-Identifier: MIT

package gpucontainer

// #include <gpucontainer/gpucontainer.h>
import "C"

import (
	"os"
	"runtime"
	"time"
	"unsafe"
)

// UndoOptions say how to undo. The zero value has the defaults.
type UndoOptions struct {
	// StateDir is the directory of the journals; "": "/var/lib/gpucontainer".
	StateDir string
	// Process is a pidfd of a process of the container, as in ApplyOptions.
	Process *os.File
	// Setuid: the caller is a setuid program that has checked what its user may have.
	Setuid bool
	// DryRun: change nothing, and tell what would be done.
	DryRun bool
	// Report is called with each finding after the call, also if that fails.
	Report func(Finding)
}

// call makes a call with these options, then reports.
func (options UndoOptions) call(call func(*C.gpuctr_undo_options) error) error {
	var a arguments
	defer a.free()
	var native C.gpuctr_undo_options
	C.gpuctr_undo_options_init(&native, C.sizeof_gpuctr_undo_options)
	native.state_dir = a.text("state_dir", options.StateDir)
	native.flags = flags(
		flag{options.Process != nil, C.GPUCTR_UNDO_IN_PROCESS},
		flag{options.Setuid, C.GPUCTR_UNDO_SETUID},
		flag{options.DryRun, C.GPUCTR_UNDO_DRY_RUN})
	native.pidfd = C.int32_t(a.fd(options.Process))
	if a.err != nil {
		return a.err
	}
	err := reporting(options.Report, func(report C.gpuctr_report, data unsafe.Pointer) error {
		native.report = report
		native.report_data = data
		return inProcess(options.Process, func() error { return call(&native) })
	})
	runtime.KeepAlive(options.Process)
	return err
}

// Undo takes away what Apply did in a root file system; false if there was nothing to undo. Errors:
// ErrPermission, ErrApply.
func Undo(root *os.File, options UndoOptions) (bool, error) {
	var found C.int
	rootFd, err := fdOf(root)
	if err != nil {
		return false, err
	}
	err = options.call(func(native *C.gpuctr_undo_options) error {
		var failure *C.gpuctr_error
		status := C.gpuctr_rootfs_undo(rootFd, native, &found, &failure)
		return check(status, failure)
	})
	runtime.KeepAlive(root)
	return found != 0, err
}

// Undone is what Setup.Undo did.
type Undone uint32

// Outcomes of Setup.Undo.
const (
	UndoneNow Undone = C.GPUCTR_UNDONE    // Nothing of it is left.
	Forgotten Undone = C.GPUCTR_FORGOTTEN // Its root is gone; the journal was removed.
	Left      Undone = C.GPUCTR_LEFT      // In use elsewhere, or out of reach from here.
)

// SetupListOptions say where to look for set-ups. The zero value has the defaults.
type SetupListOptions struct {
	// StateDir is the directory of the journals; "": "/var/lib/gpucontainer".
	StateDir string
	// Process is a pidfd of a process of the container, as in ApplyOptions.
	Process *os.File
}

// SetupList has the set-ups, and whether they still fit the host.
type SetupList struct {
	*owner
	setups []Setup
}

// Setup is one set-up that Apply made.
type Setup struct {
	Root           string // "" if it is the root of a process.
	Origin         string // "here", "another_namespace" ...
	MountNamespace uint64
	Process        int32 // Pid in another mount namespace; 0: none is known.
	Drivers        []UsedDriver
	TreePath       string
	Since          time.Time
	WritesRoot     bool
	Items          []Item    // What Undo takes away.
	Findings       []Finding // None if the set-up is as it was made.

	list  *owner
	index int
}

// OpenSetupList lists the set-ups of one root; without a root, all in the state directory. Errors:
// ErrPermission, ErrUsage.
func OpenSetupList(root *os.File, options SetupListOptions) (*SetupList, error) {
	var a arguments
	defer a.free()
	var native C.gpuctr_setup_list_options
	C.gpuctr_setup_list_options_init(&native, C.sizeof_gpuctr_setup_list_options)
	native.state_dir = a.text("state_dir", options.StateDir)
	native.flags = flags(flag{options.Process != nil, C.GPUCTR_SETUP_LIST_IN_PROCESS})
	native.pidfd = C.int32_t(a.fd(options.Process))
	rootFd := a.fd(root)
	if a.err != nil {
		return nil, a.err
	}
	var setups *C.gpuctr_setup_list
	err := inProcess(options.Process, func() error {
		var failure *C.gpuctr_error
		status := C.gpuctr_setup_list_open(rootFd, &native, &setups, &failure)
		return check(status, failure)
	})
	runtime.KeepAlive(root)
	runtime.KeepAlive(options.Process)
	if err != nil {
		return nil, err
	}
	owned := own(unsafe.Pointer(setups), func(pointer unsafe.Pointer) {
		C.gpuctr_setup_list_free((*C.gpuctr_setup_list)(pointer))
	})
	opened := &SetupList{owner: owned}
	opened.setups = list(C.gpuctr_setup_list_count(setups), func(i C.size_t) Setup {
		setup := setupOf(C.gpuctr_setup_list_at(setups, i))
		setup.list = owned
		setup.index = int(i)
		return setup
	}, func(setup Setup) Setup { return setup })
	return opened, nil
}

func setupOf(s *C.gpuctr_setup) Setup {
	return Setup{
		Root:           text(C.gpuctr_setup_root(s)),
		Origin:         text(C.gpuctr_setup_origin(s)),
		MountNamespace: uint64(C.gpuctr_setup_mount_namespace(s)),
		Process:        int32(C.gpuctr_setup_process(s)),
		Drivers: list(C.gpuctr_setup_driver_count(s), func(i C.size_t) *C.gpuctr_used_driver {
			return C.gpuctr_setup_driver_at(s, i)
		}, usedOf),
		TreePath:   text(C.gpuctr_setup_tree_path(s)),
		Since:      time.Unix(int64(C.gpuctr_setup_since(s)), 0),
		WritesRoot: C.gpuctr_setup_writes_root(s) != 0,
		Items: list(C.gpuctr_setup_item_count(s), func(i C.size_t) *C.gpuctr_item {
			return C.gpuctr_setup_item_at(s, i)
		}, itemOf),
		Findings: list(C.gpuctr_setup_finding_count(s), func(i C.size_t) *C.gpuctr_finding {
			return C.gpuctr_setup_finding_at(s, i)
		}, findingOf),
	}
}

// Setups of the list, sorted by path and age.
func (setups *SetupList) Setups() []Setup { return append([]Setup(nil), setups.setups...) }

// JSON returns the set-ups as a document of the schema "gpucontainer/status/1".
func (setups *SetupList) JSON() ([]byte, error) {
	return document(setups.owner, func(pointer unsafe.Pointer, text **C.char,
		failure **C.gpuctr_error) C.gpuctr_status {
		return C.gpuctr_setup_list_to_json((*C.gpuctr_setup_list)(pointer), text, failure)
	})
}

// Undo takes the set-up away at the path in its journal. Errors: ErrPermission, ErrApply, ErrUsage.
func (setup Setup) Undo(options UndoOptions) (Undone, error) {
	var outcome C.uint32_t
	err := options.call(func(how *C.gpuctr_undo_options) error {
		return setup.list.use(func(pointer unsafe.Pointer) error {
			native := C.gpuctr_setup_list_at((*C.gpuctr_setup_list)(pointer), C.size_t(setup.index))
			var failure *C.gpuctr_error
			return check(C.gpuctr_setup_undo(native, how, &outcome, &failure), failure)
		})
	})
	return Undone(outcome), err
}
