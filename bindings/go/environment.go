// SPDX-License-Identifier: MIT

package gpucontainer

// #include <gpucontainer/gpucontainer.h>
import "C"

import (
	"os"
	"runtime"
)

// ReadContainerEnvironment reads the variables that an image or a runtime gives to a container, as
// NAME=VALUE, and what of them is not known. Nothing is executed. Root is the directory or file of the
// image, or nil. Text is an OCI configuration, a script of exports or lines NAME=VALUE, or "". Of
// environment, usually os.Environ(), the variables APPTAINERENV_* and SINGULARITYENV_* count. Errors:
// ErrUsage, ErrRootfs.
func ReadContainerEnvironment(root *os.File, content string, environment []string) ([]string, []Finding, error) {
	var a arguments
	defer a.free()
	nativeText := a.text("text", content)
	nativeEnvironment := a.list("environment", environment)
	rootFd := a.fd(root)
	if a.err != nil {
		return nil, nil, a.err
	}
	var read *C.gpuctr_environment
	var failure *C.gpuctr_error
	status := C.gpuctr_environment_read(rootFd, nativeText, nativeEnvironment, &read, &failure)
	runtime.KeepAlive(root)
	if err := check(status, failure); err != nil {
		return nil, nil, err
	}
	defer C.gpuctr_environment_free(read)
	variables := list(C.gpuctr_environment_count(read), func(i C.size_t) *C.char {
		return C.gpuctr_environment_at(read, i)
	}, text)
	findings := list(C.gpuctr_environment_finding_count(read), func(i C.size_t) *C.gpuctr_finding {
		return C.gpuctr_environment_finding_at(read, i)
	}, findingOf)
	return variables, findings, nil
}
