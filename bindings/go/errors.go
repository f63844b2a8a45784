// SPDX-License-Identifier: MIT

package gpucontainer

// #include <gpucontainer/gpucontainer.h>
import "C"

import (
	"fmt"
	"syscall"
)

// Code is the class of a failure. Negated, it is the exit status of gpuctr-setup. It is a target
// for errors.Is.
type Code int32

// Classes of failures. A later version of the library may have others.
const (
	ErrInternal    Code = C.GPUCTR_E_INTERNAL    // A bug in the library, or out of memory.
	ErrUsage       Code = C.GPUCTR_E_USAGE       // The caller broke a documented precondition.
	ErrNoDevice    Code = C.GPUCTR_E_NO_DEVICE   // No such GPU, or no kernel driver.
	ErrDriver      Code = C.GPUCTR_E_DRIVER      // The driver's user space does not fit.
	ErrRootfs      Code = C.GPUCTR_E_ROOTFS      // The root file system cannot be used.
	ErrPermission  Code = C.GPUCTR_E_PERMISSION  // A privilege is missing.
	ErrRequirement Code = C.GPUCTR_E_REQUIREMENT // A stated requirement is not met.
	ErrApply       Code = C.GPUCTR_E_APPLY       // The commit failed and was rolled back.
	ErrExists      Code = C.GPUCTR_E_EXISTS      // Another set-up is there.
)

func (code Code) Error() string { return fmt.Sprintf("gpucontainer: failure %d", -int32(code)) }

// Error is what a failed call returns.
type Error struct {
	Code     Code
	Message  string        // The whole message in one line, outermost step first.
	Step     string        // The outermost step that failed.
	Object   string        // What the operation worked on: a path, a GPU; may be "".
	Argument string        // The argument that the failure is about, such as "devices"; or "".
	Cause    string        // The innermost reason.
	Hint     string        // What can be done about it; may be "".
	Errno    syscall.Errno // The kernel's error behind the failure, or 0.
}

func (e *Error) Error() string { return e.Message }

// Is reports whether the target is the code of the error.
func (e *Error) Is(target error) bool {
	code, isCode := target.(Code)
	return isCode && code == e.Code
}

// Unwrap returns the kernel's error, if there is one.
func (e *Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

func check(status C.gpuctr_status, failure *C.gpuctr_error) error {
	if status == C.GPUCTR_OK {
		return nil
	}
	defer C.gpuctr_error_free(failure)
	return &Error{
		Code:     Code(C.gpuctr_error_status(failure)),
		Message:  C.GoString(C.gpuctr_error_message(failure)),
		Step:     C.GoString(C.gpuctr_error_step(failure)),
		Object:   C.GoString(C.gpuctr_error_object(failure)),
		Argument: C.GoString(C.gpuctr_error_argument(failure)),
		Cause:    C.GoString(C.gpuctr_error_cause(failure)),
		Hint:     C.GoString(C.gpuctr_error_hint(failure)),
		Errno:    syscall.Errno(C.gpuctr_error_os_error(failure)),
	}
}
