// SPDX-License-Identifier: MIT

package gpucontainer

/*
#include <gpucontainer/gpucontainer.h>
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"
)

// PrepareOptions say how to prepare. The zero value has the defaults.
type PrepareOptions struct {
	// Setuid: the caller is a setuid program that has checked what its user may have.
	Setuid bool
	// StagedTree is the directory that Stage was given.
	StagedTree string
	Backend    Backend
}

// Prepared is a plan as detached mounts. If it is closed without Attach, nothing was changed. It is
// for one goroutine at a time.
type Prepared struct{ *owner }

func newPrepared(prepared *C.gpuctr_prepared, buffer unsafe.Pointer) *Prepared {
	return &Prepared{own(unsafe.Pointer(prepared), func(pointer unsafe.Pointer) {
		C.gpuctr_prepared_free((*C.gpuctr_prepared)(pointer))
		C.free(buffer)
	})}
}

// Prepare makes detached mounts of the plan; nothing changes yet. Errors: ErrPermission, ErrDriver,
// ErrNoDevice, ErrRequirement.
func (plan *Plan) Prepare(options PrepareOptions) (*Prepared, error) {
	var a arguments
	defer a.free()
	var native C.gpuctr_prepare_options
	C.gpuctr_prepare_options_init(&native, C.sizeof_gpuctr_prepare_options)
	native.flags = flags(flag{options.Setuid, C.GPUCTR_PREPARE_SETUID})
	native.backend = C.uint32_t(options.Backend)
	native.staged_tree = a.text("staged_tree", options.StagedTree)
	if a.err != nil {
		return nil, a.err
	}
	var prepared *C.gpuctr_prepared
	err := plan.use(func(pointer unsafe.Pointer) error {
		var failure *C.gpuctr_error
		status := C.gpuctr_plan_prepare((*C.gpuctr_plan)(pointer), &native, &prepared, &failure)
		return check(status, failure)
	})
	if err != nil {
		return nil, err
	}
	return newPrepared(prepared, nil), nil
}

// AdoptPrepared makes a prepared plan from the bytes and descriptors of another process, which must
// have the privileges of this one. The descriptors are taken over if it succeeds.
func AdoptPrepared(data []byte, fds []int) (*Prepared, error) {
	buffer := C.CBytes(data) // aligned, as all that malloc returns
	native := make([]C.int, len(fds)+1)
	for i, fd := range fds {
		if native[i] = C.int(fd); int(native[i]) != fd {
			C.free(buffer)
			return nil, fmt.Errorf("%d is not a descriptor", fd)
		}
	}
	prepared := C.gpuctr_prepared_adopt(buffer, C.size_t(len(data)), &native[0], C.size_t(len(fds)))
	if prepared == nil {
		C.free(buffer)
		return nil, errors.New("not a prepared plan of this version of libgpucontainer")
	}
	return newPrepared(prepared, buffer), nil
}

// Attach puts it into a root file system in the mount namespace of the calling thread, all or
// nothing. A goroutine that joined another namespace is locked to its thread
// (runtime.LockOSThread). Errors: ErrPermission, ErrRootfs, ErrApply, ErrUsage.
func (prepared *Prepared) Attach(root *os.File) error {
	return prepared.step(root, func(native *C.gpuctr_prepared, fd C.int,
		failure *C.gpuctr_attach_error) C.gpuctr_status {
		return C.gpuctr_prepared_attach(native, fd, failure)
	})
}

// Undo reverses Attach in the same process.
func (prepared *Prepared) Undo(root *os.File) error {
	return prepared.step(root, func(native *C.gpuctr_prepared, fd C.int,
		failure *C.gpuctr_attach_error) C.gpuctr_status {
		return C.gpuctr_prepared_undo(native, fd, failure)
	})
}

func (prepared *Prepared) step(root *os.File,
	call func(*C.gpuctr_prepared, C.int, *C.gpuctr_attach_error) C.gpuctr_status) error {
	rootFd, err := fdOf(root)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(root)
	return prepared.use(func(pointer unsafe.Pointer) error {
		var failure C.gpuctr_attach_error
		C.gpuctr_attach_error_init(&failure, C.sizeof_gpuctr_attach_error)
		status := call((*C.gpuctr_prepared)(pointer), rootFd, &failure)
		if status == C.GPUCTR_OK {
			return nil
		}
		err := &Error{
			Code:   Code(status),
			Step:   C.GoString(&failure.step[0]),
			Object: C.GoString(&failure.object[0]),
			Errno:  syscall.Errno(failure.os_error),
		}
		err.Message = strings.TrimSpace(err.Step + " " + err.Object)
		if err.Errno != 0 {
			err.Cause = err.Errno.Error()
			err.Message += ": " + err.Cause
		}
		return err
	})
}

// Fds are descriptors to pass on to another process, in this order. They belong to the object, which
// closes them when it is no longer used: call runtime.KeepAlive with it after their last use.
func (prepared *Prepared) Fds() []int {
	return get(prepared.owner, func(pointer unsafe.Pointer) []int {
		native := (*C.gpuctr_prepared)(pointer)
		return list(C.gpuctr_prepared_fd_count(native), func(i C.size_t) C.int {
			return C.gpuctr_prepared_fd_at(native, i)
		}, func(fd C.int) int { return int(fd) })
	})
}

// Data are bytes to pass on together with the descriptors.
func (prepared *Prepared) Data() []byte {
	return get(prepared.owner, func(pointer unsafe.Pointer) []byte {
		native := (*C.gpuctr_prepared)(pointer)
		return C.GoBytes(C.gpuctr_prepared_data(native), C.int(C.gpuctr_prepared_size(native)))
	})
}
