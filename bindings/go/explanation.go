// SPDX-License-Identifier: MIT

package gpucontainer

// #include <gpucontainer/gpucontainer.h>
import "C"

import (
	"os"
	"runtime"
	"unsafe"
)

// Explanation is what a plan does with what a name stands for, and why.
type Explanation struct{ *owner }

// Answer is what a plan does with one thing that has the name.
type Answer struct {
	Kind       string // "library", "tool", "data", "node", "gpu" or "shared".
	Name       string // "libexample.so.1", "/dev/example0", the label of a GPU.
	Vendor     string
	IsGiven    bool      // The container gets it.
	Path       string    // On the host; a GPU's PCI address or UUID; "" if it is not there.
	Reason     string    // Why it is given, or why it is not.
	Capability string    // That it is a part of; "none": all.
	Items      []Item    // Of the plan, by which the container gets it.
	Findings   []Finding // Others of this name, and why they do not count.
	Remedies   []string  // What would change it; options are those of gpuctr-setup.
}

// Explain says what the plan does with a library, tool, device node or GPU of this name, and why. The
// root is that of the plan, or nil. Errors: ErrUsage, if nothing has the name; ErrRootfs.
func (plan *Plan) Explain(name string, root *os.File) (*Explanation, error) {
	var a arguments
	defer a.free()
	native := a.copied("name", name)
	rootFd := a.fd(root)
	if a.err != nil {
		return nil, a.err
	}
	var explanation *C.gpuctr_explanation
	err := plan.use(func(pointer unsafe.Pointer) error {
		var failure *C.gpuctr_error
		status := C.gpuctr_plan_explain((*C.gpuctr_plan)(pointer), native, rootFd, &explanation,
			&failure)
		return check(status, failure)
	})
	runtime.KeepAlive(root)
	if err != nil {
		return nil, err
	}
	return &Explanation{own(unsafe.Pointer(explanation), func(pointer unsafe.Pointer) {
		C.gpuctr_explanation_free((*C.gpuctr_explanation)(pointer))
	})}, nil
}

// Answers are one for each thing that has the name.
func (explanation *Explanation) Answers() []Answer {
	return get(explanation.owner, func(pointer unsafe.Pointer) []Answer {
		native := (*C.gpuctr_explanation)(pointer)
		return list(C.gpuctr_explanation_answer_count(native), func(i C.size_t) *C.gpuctr_answer {
			return C.gpuctr_explanation_answer_at(native, i)
		}, answerOf)
	})
}

// JSON returns the explanation as a document of the schema "gpucontainer/why/1".
func (explanation *Explanation) JSON() ([]byte, error) {
	return document(explanation.owner, func(pointer unsafe.Pointer, text **C.char,
		failure **C.gpuctr_error) C.gpuctr_status {
		return C.gpuctr_explanation_to_json((*C.gpuctr_explanation)(pointer), text, failure)
	})
}

func answerOf(a *C.gpuctr_answer) Answer {
	return Answer{
		Kind:       text(C.gpuctr_answer_kind(a)),
		Name:       text(C.gpuctr_answer_name(a)),
		Vendor:     text(C.gpuctr_answer_vendor(a)),
		IsGiven:    C.gpuctr_answer_is_given(a) != 0,
		Path:       text(C.gpuctr_answer_path(a)),
		Reason:     text(C.gpuctr_answer_reason(a)),
		Capability: text(C.gpuctr_answer_capability(a)),
		Items: list(C.gpuctr_answer_item_count(a), func(i C.size_t) *C.gpuctr_item {
			return C.gpuctr_answer_item_at(a, i)
		}, itemOf),
		Findings: list(C.gpuctr_answer_finding_count(a), func(i C.size_t) *C.gpuctr_finding {
			return C.gpuctr_answer_finding_at(a, i)
		}, findingOf),
		Remedies: list(C.gpuctr_answer_remedy_count(a), func(i C.size_t) *C.char {
			return C.gpuctr_answer_remedy_at(a, i)
		}, text),
	}
}
