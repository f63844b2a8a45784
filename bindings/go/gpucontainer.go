// SPDX-License-Identifier: MIT

// Package gpucontainer puts GPUs of the host into a container's root file system: Go over
// libgpucontainer.
//
// gpucontainer.h is the reference: it says what each call does, needs and promises. Here, what a
// host, plan or set-up consists of is copied into Go values, -1 for "none" is a nil pointer, and a
// failed call returns an *Error. Host, Plan, Check and SetupList may be used by several goroutines
// at once. They are freed by Close, or with their last use.
package gpucontainer

/*
#cgo pkg-config: gpucontainer
#include <gpucontainer/gpucontainer.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

// VendorAny in a list of vendors: any other vendor that this host has, too.
const VendorAny = C.GPUCTR_VENDOR_ANY

// Version returns the version of the library that is loaded.
func Version() string { return C.GoString(C.gpuctr_version()) }

// owner holds an object of the library. Close waits for calls that use it.
type owner struct {
	mutex   sync.RWMutex
	pointer unsafe.Pointer
	free    func(unsafe.Pointer)
}

func own(pointer unsafe.Pointer, free func(unsafe.Pointer)) *owner {
	o := &owner{pointer: pointer, free: free}
	runtime.SetFinalizer(o, (*owner).Close)
	return o
}

// Close frees the object. A call that is under way is waited for; later ones do nothing or return
// os.ErrClosed.
func (o *owner) Close() {
	if o == nil {
		return // a zero value has no object
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.pointer != nil {
		o.free(o.pointer)
		o.pointer = nil
	}
	runtime.SetFinalizer(o, nil)
}

// use calls a function with the object, which stays until the function returns. No function of the
// caller may be called meanwhile: it might wait for Close.
func (o *owner) use(call func(unsafe.Pointer) error) error {
	if o == nil {
		return os.ErrClosed
	}
	o.mutex.RLock()
	defer o.mutex.RUnlock()
	if o.pointer == nil {
		return os.ErrClosed
	}
	return call(o.pointer)
}

// get is use for calls that cannot fail; of what is closed they return nothing.
func get[T any](o *owner, call func(unsafe.Pointer) T) (value T) {
	_ = o.use(func(pointer unsafe.Pointer) error {
		value = call(pointer)
		return nil
	})
	return value
}

// arguments are texts in C's memory, for one call.
type arguments struct {
	memory []unsafe.Pointer
	err    error
}

func (a *arguments) free() {
	for _, pointer := range a.memory {
		C.free(pointer)
	}
}

// text returns nil for "".
func (a *arguments) text(name, text string) *C.char {
	if text == "" {
		return nil
	}
	return a.copied(name, text)
}

func (a *arguments) copied(name, text string) *C.char {
	if strings.IndexByte(text, 0) >= 0 && a.err == nil {
		a.err = &Error{Code: ErrUsage, Message: name + ": a NUL in it", Argument: name}
	}
	copied := C.CString(text)
	a.memory = append(a.memory, unsafe.Pointer(copied))
	return copied
}

// fd returns -1 for no file.
func (a *arguments) fd(file *os.File) C.int {
	fd, err := fdOf(file)
	if err != nil && a.err == nil {
		a.err = err
	}
	return fd
}

// list returns a NULL-terminated list.
func (a *arguments) list(name string, texts []string) **C.char {
	size := C.size_t(len(texts)+1) * C.size_t(unsafe.Sizeof((*C.char)(nil)))
	memory := C.malloc(size)
	a.memory = append(a.memory, memory)
	list := unsafe.Slice((**C.char)(memory), len(texts)+1)
	for i, text := range texts {
		list[i] = a.copied(name, text)
	}
	list[len(texts)] = nil
	return &list[0]
}

// inC copies a struct to C's memory: a struct of Go that C reads may not point to another one.
func inC[T any](a *arguments, value T) *T {
	memory := C.calloc(1, C.size_t(unsafe.Sizeof(value)))
	a.memory = append(a.memory, memory)
	copied := (*T)(memory)
	*copied = value
	return copied
}

// document calls a function that returns JSON.
func document(o *owner,
	call func(unsafe.Pointer, **C.char, **C.gpuctr_error) C.gpuctr_status) (json []byte, err error) {
	err = o.use(func(pointer unsafe.Pointer) error {
		var text *C.char
		var failure *C.gpuctr_error
		status := call(pointer, &text, &failure)
		if err := check(status, failure); err != nil {
			return err
		}
		defer C.gpuctr_string_free(text)
		json = []byte(C.GoString(text))
		return nil
	})
	return json, err
}

// fdOf returns -1 for no file. A closed one must not be taken for that: without a root, a call may
// be about the whole host.
func fdOf(file *os.File) (C.int, error) {
	if file == nil {
		return -1, nil
	}
	fd := file.Fd()
	if fd == ^uintptr(0) {
		return -1, fmt.Errorf("%s: %w", file.Name(), os.ErrClosed)
	}
	return C.int(fd), nil
}

// OpenRoot opens the root directory of a container, for calls of this package. For those that only
// look at a root, it may be a file with an image that os.Open has opened: squashfs, SIF, or an
// archive of docker or OCI.
func OpenRoot(path string) (*os.File, error) {
	const oPath = 0x200000 // O_PATH, which package syscall lacks
	return os.OpenFile(path, oPath|syscall.O_DIRECTORY, 0)
}

// OpenInRoot opens a path in a root file system: symbolic links do not lead out of it. The flags
// are those of os.OpenFile, without os.O_CREATE.
func OpenInRoot(root *os.File, path string, flags int) (*os.File, error) {
	var a arguments
	defer a.free()
	var fd C.int
	var failure *C.gpuctr_error
	native := a.copied("path", path)
	rootFd := a.fd(root)
	if a.err != nil {
		return nil, a.err
	}
	status := C.gpuctr_rootfs_open(rootFd, native, C.int(flags), &fd, &failure)
	runtime.KeepAlive(root)
	if err := check(status, failure); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Phases are functions that a process still needs.
type Phases uint32

// What the thread still needs the library for.
const (
	PhaseLook      Phases = C.GPUCTR_PHASE_LOOK
	PhaseStatus    Phases = C.GPUCTR_PHASE_STATUS
	PhaseMount     Phases = C.GPUCTR_PHASE_MOUNT
	PhaseApply     Phases = C.GPUCTR_PHASE_APPLY
	PhaseInProcess Phases = C.GPUCTR_PHASE_IN_PROCESS
)

// HardenOptions say what a thread needs from now on.
type HardenOptions struct {
	Phases        Phases
	ForExec       bool   // Drop effective capabilities only, for a program that will be executed.
	NewPrivileges bool   // Do not set no_new_privs.
	Dumpable      bool   // Keep the process dumpable.
	Capabilities  uint64 // Kept for the caller's own work: bits 1 << CAP_...
}

// Harden drops the privileges that the calling thread no longer needs, for good. The goroutine has
// to be locked to its thread (runtime.LockOSThread). Other threads of the process keep theirs: a
// program that needs no privileges at all is better started without them.
func Harden(options HardenOptions) error {
	var native C.gpuctr_harden_options
	C.gpuctr_harden_options_init(&native, C.sizeof_gpuctr_harden_options)
	native.phases = C.uint32_t(options.Phases)
	native.flags = flags(
		flag{options.ForExec, C.GPUCTR_HARDEN_FOR_EXEC},
		flag{options.NewPrivileges, C.GPUCTR_HARDEN_NEW_PRIVILEGES},
		flag{options.Dumpable, C.GPUCTR_HARDEN_DUMPABLE})
	native.capabilities = C.uint64_t(options.Capabilities)
	var failure *C.gpuctr_error
	return check(C.gpuctr_process_harden(&native, &failure), failure)
}

type flag struct {
	wanted bool
	bit    C.uint32_t
}

func flags(all ...flag) C.uint32_t {
	var bits C.uint32_t
	for _, one := range all {
		if one.wanted {
			bits |= one.bit
		}
	}
	return bits
}
