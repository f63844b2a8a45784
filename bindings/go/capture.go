// SPDX-License-Identifier: MIT

package gpucontainer

// #include <gpucontainer/gpucontainer.h>
import "C"

import (
	"os"
	"runtime"
	"unsafe"
)

// CaptureOptions say what a report has. The zero value has the defaults.
type CaptureOptions struct {
	// Host says how to look at this host. A vendor that is not there is no error.
	Host HostOptions
	// Environment, NAME=VALUE, whose variables that choose GPUs are recorded: os.Environ().
	Environment []string
	// WithIdentities: serial numbers, UUIDs and names are not replaced.
	WithIdentities bool
	// Report is called after the call with what was replaced or not recorded.
	Report func(Finding)
}

// Capture writes a report of what this host shows of its GPUs, for those who look for the cause of a
// problem elsewhere: a tar archive that gpuctr-simhost simulates. Nothing is executed, and no device
// is opened. Errors: ErrUsage, ErrPermission, ErrRequirement, ErrInternal.
func Capture(file *os.File, options CaptureOptions) error {
	var a arguments
	defer a.free()
	native, err := options.Host.native(&a)
	environment := a.list("environment", options.Environment)
	fd := a.fd(file)
	if err == nil {
		err = a.err
	}
	if err != nil {
		return err
	}
	wanted := flags(flag{options.WithIdentities, C.GPUCTR_CAPTURE_WITH_IDENTITIES})
	err = reporting(options.Report, func(report C.gpuctr_report, data unsafe.Pointer) error {
		var failure *C.gpuctr_error
		status := C.gpuctr_host_capture(&native, environment, wanted, fd, report, data, &failure)
		return check(status, failure)
	})
	runtime.KeepAlive(file)
	return err
}
