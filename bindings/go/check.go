// SPDX-License-Identifier: MIT

package gpucontainer

// #include <gpucontainer/gpucontainer.h>
import "C"

import (
	"os"
	"runtime"
	"unsafe"
)

// CheckOptions say what a diagnosis is about. The zero value has the defaults.
type CheckOptions struct {
	// Host says how to look at this host. A vendor that is asked for and cannot be used is a
	// finding.
	Host HostOptions
	// Record is a host of HostFromJSON, in place of this one. Nil: this host.
	Record *Host
	// Request is as for a plan. What cannot be granted is a finding.
	Request Request
	// Program will run in the root: a path there, or a name that is looked for in its PATH.
	// "": none is known.
	Program string
	// Process is a pidfd of a process whose root it is. The container is looked at as it is, whoever
	// set it up, and whether its device cgroups allow the GPUs. Nil: as Plan.Apply would leave it.
	Process *os.File
}

func (options CheckOptions) native(a *arguments) C.gpuctr_check_options {
	var native C.gpuctr_check_options
	C.gpuctr_check_options_init(&native, C.sizeof_gpuctr_check_options)
	host, err := options.Host.native(a)
	if a.err == nil {
		a.err = err
	}
	native.host = inC(a, host)
	native.request = inC(a, options.Request.native(a))
	native.program = a.text("program", options.Program)
	native.flags = flags(flag{options.Process != nil, C.GPUCTR_CHECK_IN_PROCESS})
	native.pidfd = C.int32_t(a.fd(options.Process))
	return native
}

// Check is a diagnosis: whether GPU programs will work, and why not.
type Check struct{ *owner }

// NewCheck finds out whether GPU programs will work in a root, set up or not. Without a root, it is
// about the host alone. Nothing is changed or executed, and no device node is opened. What keeps
// programs from working is no error, but a finding. Errors: ErrUsage, ErrRootfs.
func NewCheck(root *os.File, options CheckOptions) (*Check, error) {
	var a arguments
	defer a.free()
	native := options.native(&a)
	rootFd := a.fd(root)
	if a.err != nil {
		return nil, a.err
	}
	var made *C.gpuctr_check
	call := func(record unsafe.Pointer) error {
		native.record = (*C.gpuctr_host)(record)
		var failure *C.gpuctr_error
		status := C.gpuctr_check_create(&native, rootFd, &made, &failure)
		return check(status, failure)
	}
	var err error
	if options.Record != nil {
		err = options.Record.use(call)
	} else {
		err = call(nil)
	}
	runtime.KeepAlive(root)
	runtime.KeepAlive(options.Process)
	if err != nil {
		return nil, err
	}
	return &Check{own(unsafe.Pointer(made), func(pointer unsafe.Pointer) {
		C.gpuctr_check_free((*C.gpuctr_check)(pointer))
	})}, nil
}

// Findings are why programs will not work, or may not, what stops all of them first. One that is
// Broken stops the program, or all if none is named; a Warning may stop it, or stops others; a Note
// is settled by setting up.
func (diagnosis *Check) Findings() []Finding {
	return get(diagnosis.owner, func(pointer unsafe.Pointer) []Finding {
		native := (*C.gpuctr_check)(pointer)
		return list(C.gpuctr_check_finding_count(native), func(i C.size_t) *C.gpuctr_finding {
			return C.gpuctr_check_finding_at(native, i)
		}, findingOf)
	})
}

// JSON returns the diagnosis as a document of the schema "gpucontainer/check/1".
func (diagnosis *Check) JSON() ([]byte, error) {
	return document(diagnosis.owner, func(pointer unsafe.Pointer, text **C.char,
		failure **C.gpuctr_error) C.gpuctr_status {
		return C.gpuctr_check_to_json((*C.gpuctr_check)(pointer), text, failure)
	})
}
