// SPDX-License-Identifier: MIT

package gpucontainer

// #include <gpucontainer/gpucontainer.h>
import "C"

import "unsafe"

// HostOptions say what to look for on a host. The zero value has the defaults.
type HostOptions struct {
	// Vendors that must have a GPU here. With VendorAny, or if empty: others too.
	Vendors []string
	// DriverRoot is where the driver's files are; "": "/".
	DriverRoot string
	// DriverVersion is used instead of the kernel module's.
	DriverVersion string
	// Catalogues are files with further rules for which files belong to a driver.
	Catalogues []string
	// CatalogueDir is a directory of such files.
	CatalogueDir string
	// DevRoot is the directory whose dev/ has the driver's device nodes; "": "/".
	DevRoot string
	// MIGMap is a file with what `nvidia-smi -L` printed.
	MIGMap string
	// FilesAlone: a vendor needs no GPU, the files of its driver are enough.
	FilesAlone bool
	// WholeBus: findings name GPUs that no kernel driver has, beside those of NVIDIA's driver.
	WholeBus bool
}

func (options HostOptions) native(a *arguments) (C.gpuctr_host_options, error) {
	var native C.gpuctr_host_options
	C.gpuctr_host_options_init(&native, C.sizeof_gpuctr_host_options)
	native.flags = flags(flag{options.FilesAlone, C.GPUCTR_HOST_FILES_ALONE},
		flag{options.WholeBus, C.GPUCTR_HOST_WHOLE_BUS})
	native.vendors = a.list("vendors", options.Vendors)
	native.driver_root = a.text("driver_root", options.DriverRoot)
	native.driver_version = a.text("driver_version", options.DriverVersion)
	native.catalogues = a.list("catalogues", options.Catalogues)
	native.catalogue_dir = a.text("catalogue_dir", options.CatalogueDir)
	native.dev_root = a.text("dev_root", options.DevRoot)
	native.mig_map = a.text("mig_map", options.MIGMap)
	return native, a.err
}

// Host is what a host has: GPUs and the files of their drivers, as they were when it was opened.
type Host struct{ *owner }

func newHost(host *C.gpuctr_host) *Host {
	return &Host{own(unsafe.Pointer(host), func(pointer unsafe.Pointer) {
		C.gpuctr_host_free((*C.gpuctr_host)(pointer))
	})}
}

// OpenHost looks at this host; it opens no device node. Errors: ErrNoDevice, ErrDriver,
// ErrPermission, ErrUsage.
func OpenHost(options HostOptions) (*Host, error) {
	var a arguments
	defer a.free()
	native, err := options.native(&a)
	if err != nil {
		return nil, err
	}
	var host *C.gpuctr_host
	var failure *C.gpuctr_error
	status := C.gpuctr_host_open(&native, &host, &failure)
	if err := check(status, failure); err != nil {
		return nil, err
	}
	return newHost(host), nil
}

// HostFromJSON reads a record that JSON wrote. It is not trusted: before a plan made from it is
// applied, this host is looked at again. Errors: ErrUsage, ErrNoDevice.
func HostFromJSON(json []byte, options HostOptions) (*Host, error) {
	var a arguments
	defer a.free()
	native, err := options.native(&a)
	if err != nil {
		return nil, err
	}
	text := C.CBytes(json)
	a.memory = append(a.memory, text)
	var host *C.gpuctr_host
	var failure *C.gpuctr_error
	status := C.gpuctr_host_from_json((*C.char)(text), C.size_t(len(json)), &native, &host, &failure)
	if err := check(status, failure); err != nil {
		return nil, err
	}
	return newHost(host), nil
}

// Drivers of the host, one for each vendor.
func (host *Host) Drivers() []Driver {
	return get(host.owner, func(pointer unsafe.Pointer) []Driver {
		native := (*C.gpuctr_host)(pointer)
		return list(C.gpuctr_host_driver_count(native), func(i C.size_t) *C.gpuctr_driver {
			return C.gpuctr_host_driver_at(native, i)
		}, driverOf)
	})
}

// Findings name each vendor that was not asked for and whose driver is broken.
func (host *Host) Findings() []Finding {
	return get(host.owner, func(pointer unsafe.Pointer) []Finding {
		native := (*C.gpuctr_host)(pointer)
		return list(C.gpuctr_host_finding_count(native), func(i C.size_t) *C.gpuctr_finding {
			return C.gpuctr_host_finding_at(native, i)
		}, findingOf)
	})
}

// IsCurrent reports whether the host still is as it was recorded.
func (host *Host) IsCurrent() bool {
	return get(host.owner, func(pointer unsafe.Pointer) bool {
		return C.gpuctr_host_is_current((*C.gpuctr_host)(pointer)) != 0
	})
}

// JSON returns the host as a document of the schema "gpucontainer/list/1".
func (host *Host) JSON() ([]byte, error) {
	return document(host.owner, func(pointer unsafe.Pointer, text **C.char,
		failure **C.gpuctr_error) C.gpuctr_status {
		return C.gpuctr_host_to_json((*C.gpuctr_host)(pointer), text, failure)
	})
}
