// SPDX-License-Identifier: MIT

package gpucontainer

/*
#include <gpucontainer/gpucontainer.h>
#include <stdint.h>
*/
import "C"

import "runtime/cgo"

// gpuctrGoReport collects a finding. The library keeps the number of the collection, and no
// pointer of Go.
//
//export gpuctrGoReport
func gpuctrGoReport(collection C.uintptr_t, finding *C.gpuctr_finding) {
	collected := cgo.Handle(collection).Value().(*[]Finding)
	*collected = append(*collected, findingOf(finding))
}
