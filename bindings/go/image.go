// SPDX-License-Identifier: MIT

package gpucontainer

// #include <gpucontainer/gpucontainer.h>
import "C"

import (
	"os"
	"runtime"
)

// ImagePlace says where a file with an image has its root file system, which is squashfs.
type ImagePlace struct {
	Offset, Size uint64
	IsSigned     bool // It has a signature, which nothing here checks.
	HasOverlay   bool // It has changes too, in a partition for an overlay.
}

// FindImage finds the root file system in a file with an image, squashfs or SIF, for a program that
// mounts it. Errors: ErrRootfs, ErrRequirement.
func FindImage(file *os.File) (ImagePlace, error) {
	fd, err := fdOf(file)
	if err != nil {
		return ImagePlace{}, err
	}
	var offset, size C.uint64_t
	var found C.uint32_t
	var failure *C.gpuctr_error
	status := C.gpuctr_image_find(fd, &offset, &size, &found, &failure)
	runtime.KeepAlive(file)
	if err := check(status, failure); err != nil {
		return ImagePlace{}, err
	}
	return ImagePlace{
		Offset:     uint64(offset),
		Size:       uint64(size),
		IsSigned:   found&C.GPUCTR_IMAGE_SIGNED != 0,
		HasOverlay: found&C.GPUCTR_IMAGE_OVERLAY != 0,
	}, nil
}

// CheckImageTrust checks that nobody but root and the caller can have written an image, or put
// another one into its place: for a program that has the kernel mount it. path is what led to the
// file. Errors: ErrPermission, ErrUsage.
func CheckImageTrust(file *os.File, path string) error {
	var a arguments
	defer a.free()
	fd, given := a.fd(file), a.copied("path", path)
	if a.err != nil {
		return a.err
	}
	var failure *C.gpuctr_error
	status := C.gpuctr_image_check_trust(fd, given, &failure)
	runtime.KeepAlive(file)
	return check(status, failure)
}
