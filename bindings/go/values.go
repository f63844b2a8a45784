// SPDX-License-Identifier: MIT

package gpucontainer

// #include <gpucontainer/gpucontainer.h>
import "C"

// Severity is how much a finding matters; a higher one matters more.
type Severity uint32

// Severities of findings.
const (
	Note    Severity = C.GPUCTR_SEVERITY_NOTE    // Something was left out.
	Need    Severity = C.GPUCTR_SEVERITY_NEED    // The plan does not do it; the caller must.
	Warning Severity = C.GPUCTR_SEVERITY_WARNING // Something will not work, or is not known.
	Broken  Severity = C.GPUCTR_SEVERITY_ERROR   // A set-up no longer works as it was made.
)

// Finding is something that was left out, is needed, or does not work.
type Finding struct {
	Code       string
	Severity   Severity
	Object     string
	Text       string
	Evidence   string
	Hint       string
	Capability string
}

func (f Finding) String() string {
	if f.Object == "" {
		return f.Text
	}
	return f.Object + ": " + f.Text
}

// GPU is one GPU, or a partition of one that programs use as a GPU.
type GPU struct {
	Index        uint32
	UUID         string // "GPU-..."; "" if unknown.
	PCIAddress   string // "0000:3b:00.0"; "" if it has none.
	Model        string
	Architecture string
	Minor        *uint32  // Number of its device node.
	NUMANode     *uint32  // Nil if unknown.
	Names        []string // Further words that choose it.
	Parts        uint32   // How many parts programs may count as GPUs.
	Parent       *uint32  // Of an instance of a GPU: the index of that GPU.
}

// VersionNeed is a symbol version that a file needs of the image's libraries.
type VersionNeed struct{ Library, Version string }

// Registration is one way in which programs of a container find a file.
type Registration struct{ Manner, Name, Content string }

// FileID says which file a path led to, as stat reports it.
type FileID struct {
	Device, Inode, Size uint64
	MtimeNs             int64
}

// File is a library, tool or set of data of a driver.
type File struct {
	Kind, Name, Soname, Path string
	Capability, Also         string
	Reason                   string
	IsDirectory              bool
	IsCompat32               bool // Only 32-bit programs load it.
	Precedence               string
	Links                    []string // Further names in its directory that lead to it.
	EntryNames               []string // Its names that programs load without being linked to it.
	Needed                   []string // Sonames that it cannot be loaded without.
	VersionNeeds             []VersionNeed
	Registrations            []Registration
	Identity                 FileID
}

// Node is a device node of a driver.
type Node struct {
	Path          string // On this host.
	ContainerPath string
	Major, Minor  uint32
	Mode          uint32  // Permission bits.
	UID           *uint32 // Numeric owner on the host; nil if it is not known.
	GID           uint32
	GPU           *uint32 // Index of its GPU; nil: all of the vendor.
	Accessible    bool
	Capability    string // That needs it; "none": each.
	Required      bool
	CgroupForbids bool
	Links         []string // Symbolic links to it in a container.
	Extra         string   // That it is part of, such as "gds"; "": none.
	IsMakeable    bool     // Of a missing one: its driver lets it be made.
	Problem       string   // Of a missing one: what is there in its place.
}

// SharedPath is a socket, file or directory that a container shares with the host.
type SharedPath struct {
	Path       string
	Kind       string // "socket", "file" or "directory".
	Capability string // That brings it; "none": only its extra does.
	Extra      string // Its name in Request.Extras.
	UID        uint32
	Accessible bool
	Reason     string
}

// Mask is a file of the kernel that a container has to see with other content.
type Mask struct {
	Path, Content, Reason string
	IsDirectory           bool
	IsAgainstNodes        bool    // It only keeps programs from making device nodes.
	Shown                 []Shown // What a container still sees of a directory.
}

// Shown is an entry of a masked directory that a container with its GPU sees.
type Shown struct {
	Name        string  // Path below the directory.
	GPU         *uint32 // Index of its GPU; nil: all of the vendor.
	IsDirectory bool
	Extra       string // The extra that shows it; empty: none.
}

// Driver is the driver of one vendor.
type Driver struct {
	Vendor, VendorName     string
	Version, VersionSource string
	Root                   string
	CDIKind                string
	LibraryDirectory       string
	Machine                string // that its libraries are for, "aarch64"
	HasOptionalFiles       bool
	TreeLink               string
	Needs                  []string
	ImageDirectories       []string
	GPUs                   []GPU
	Files                  []File
	Nodes, MissingNodes    []Node
	SharedPaths            []SharedPath
	Masks                  []Mask
	Findings               []Finding
}

// UsedDriver is a driver that a plan or set-up was made from, with the GPUs that were chosen.
type UsedDriver struct {
	Vendor, Version string
	VersionSource   string // "" for that of a set-up.
	GPUs            []GPU
}

// list copies the elements of a list of the library.
func list[E, T any](count C.size_t, at func(C.size_t) E, convert func(E) T) []T {
	elements := make([]T, 0, int(count))
	for i := C.size_t(0); i < count; i++ {
		elements = append(elements, convert(at(i)))
	}
	return elements
}

func text(native *C.char) string { return C.GoString(native) }

func optional(native C.int32_t) *uint32 {
	if native < 0 {
		return nil
	}
	value := uint32(native)
	return &value
}

func known(native C.uint32_t) *uint32 {
	if native == C.UINT32_MAX {
		return nil
	}
	value := uint32(native)
	return &value
}

func findingOf(f *C.gpuctr_finding) Finding {
	return Finding{
		Code:       text(C.gpuctr_finding_code(f)),
		Severity:   Severity(C.gpuctr_finding_severity(f)),
		Object:     text(C.gpuctr_finding_object(f)),
		Text:       text(C.gpuctr_finding_text(f)),
		Evidence:   text(C.gpuctr_finding_evidence(f)),
		Hint:       text(C.gpuctr_finding_hint(f)),
		Capability: text(C.gpuctr_finding_capability(f)),
	}
}

func gpuOf(g *C.gpuctr_gpu) GPU {
	return GPU{
		Index:        uint32(C.gpuctr_gpu_index(g)),
		UUID:         text(C.gpuctr_gpu_uuid(g)),
		PCIAddress:   text(C.gpuctr_gpu_pci_address(g)),
		Model:        text(C.gpuctr_gpu_model(g)),
		Architecture: text(C.gpuctr_gpu_architecture(g)),
		Minor:        optional(C.gpuctr_gpu_minor(g)),
		NUMANode:     optional(C.gpuctr_gpu_numa_node(g)),
		Names: list(C.gpuctr_gpu_name_count(g), func(i C.size_t) *C.char {
			return C.gpuctr_gpu_name_at(g, i)
		}, text),
		Parts:  uint32(C.gpuctr_gpu_parts(g)),
		Parent: optional(C.gpuctr_gpu_parent(g)),
	}
}

func idOf(id C.gpuctr_file_id) FileID {
	return FileID{uint64(id.device), uint64(id.inode), uint64(id.size), int64(id.mtime_ns)}
}

func fileOf(f *C.gpuctr_file) File {
	return File{
		Kind:        text(C.gpuctr_file_kind(f)),
		Name:        text(C.gpuctr_file_name(f)),
		Soname:      text(C.gpuctr_file_soname(f)),
		Path:        text(C.gpuctr_file_path(f)),
		Capability:  text(C.gpuctr_file_capability(f)),
		Also:        text(C.gpuctr_file_also(f)),
		Reason:      text(C.gpuctr_file_reason(f)),
		IsDirectory: C.gpuctr_file_is_directory(f) != 0,
		IsCompat32:  C.gpuctr_file_is_compat32(f) != 0,
		Precedence:  text(C.gpuctr_file_precedence(f)),
		Links: list(C.gpuctr_file_link_count(f), func(i C.size_t) *C.char {
			return C.gpuctr_file_link_at(f, i)
		}, text),
		EntryNames: list(C.gpuctr_file_entry_name_count(f), func(i C.size_t) *C.char {
			return C.gpuctr_file_entry_name_at(f, i)
		}, text),
		Needed: list(C.gpuctr_file_needed_count(f), func(i C.size_t) *C.char {
			return C.gpuctr_file_needed_at(f, i)
		}, text),
		VersionNeeds: list(C.gpuctr_file_version_need_count(f),
			func(i C.size_t) *C.gpuctr_version_need { return C.gpuctr_file_version_need_at(f, i) },
			func(need *C.gpuctr_version_need) VersionNeed {
				return VersionNeed{
					text(C.gpuctr_version_need_library(need)),
					text(C.gpuctr_version_need_version(need)),
				}
			}),
		Registrations: list(C.gpuctr_file_registration_count(f),
			func(i C.size_t) *C.gpuctr_registration { return C.gpuctr_file_registration_at(f, i) },
			func(r *C.gpuctr_registration) Registration {
				return Registration{
					text(C.gpuctr_registration_manner(r)),
					text(C.gpuctr_registration_name(r)),
					text(C.gpuctr_registration_content(r)),
				}
			}),
		Identity: idOf(C.gpuctr_file_identity(f)),
	}
}

func nodeOf(n *C.gpuctr_node) Node {
	return Node{
		Path:          text(C.gpuctr_node_path(n)),
		ContainerPath: text(C.gpuctr_node_container_path(n)),
		Major:         uint32(C.gpuctr_node_major(n)),
		Minor:         uint32(C.gpuctr_node_minor(n)),
		Mode:          uint32(C.gpuctr_node_mode(n)),
		UID:           known(C.gpuctr_node_uid(n)),
		GID:           uint32(C.gpuctr_node_gid(n)),
		GPU:           optional(C.gpuctr_node_gpu(n)),
		Accessible:    C.gpuctr_node_accessible(n) != 0,
		Capability:    text(C.gpuctr_node_capability(n)),
		Required:      C.gpuctr_node_required(n) != 0,
		CgroupForbids: C.gpuctr_node_cgroup_forbids(n) != 0,
		Links: list(C.gpuctr_node_link_count(n), func(i C.size_t) *C.char {
			return C.gpuctr_node_link_at(n, i)
		}, text),
		Extra:      text(C.gpuctr_node_extra(n)),
		IsMakeable: C.gpuctr_node_is_makeable(n) != 0,
		Problem:    text(C.gpuctr_node_problem(n)),
	}
}

func sharedPathOf(s *C.gpuctr_shared_path) SharedPath {
	return SharedPath{
		Path:       text(C.gpuctr_shared_path_path(s)),
		Kind:       text(C.gpuctr_shared_path_kind(s)),
		Capability: text(C.gpuctr_shared_path_capability(s)),
		Extra:      text(C.gpuctr_shared_path_extra(s)),
		UID:        uint32(C.gpuctr_shared_path_uid(s)),
		Accessible: C.gpuctr_shared_path_accessible(s) != 0,
		Reason:     text(C.gpuctr_shared_path_reason(s)),
	}
}

func maskOf(m *C.gpuctr_mask) Mask {
	return Mask{
		Path:        text(C.gpuctr_mask_path(m)),
		Content:     text(C.gpuctr_mask_content(m)),
		Reason:      text(C.gpuctr_mask_reason(m)),
		IsDirectory: C.gpuctr_mask_is_directory(m) != 0,

		IsAgainstNodes: C.gpuctr_mask_is_against_nodes(m) != 0,
		Shown: list(C.gpuctr_mask_shown_count(m), func(i C.size_t) *C.gpuctr_shown {
			return C.gpuctr_mask_shown_at(m, i)
		}, shownOf),
	}
}

func shownOf(s *C.gpuctr_shown) Shown {
	return Shown{
		Name:        text(C.gpuctr_shown_name(s)),
		GPU:         optional(C.gpuctr_shown_gpu(s)),
		IsDirectory: C.gpuctr_shown_is_directory(s) != 0,
		Extra:       text(C.gpuctr_shown_extra(s)),
	}
}

func driverOf(d *C.gpuctr_driver) Driver {
	return Driver{
		Vendor:           text(C.gpuctr_driver_vendor(d)),
		VendorName:       text(C.gpuctr_driver_vendor_name(d)),
		Version:          text(C.gpuctr_driver_version(d)),
		VersionSource:    text(C.gpuctr_driver_version_source(d)),
		Root:             text(C.gpuctr_driver_root(d)),
		CDIKind:          text(C.gpuctr_driver_cdi_kind(d)),
		LibraryDirectory: text(C.gpuctr_driver_library_directory(d)),
		Machine:          text(C.gpuctr_driver_machine(d)),
		HasOptionalFiles: C.gpuctr_driver_has_optional_files(d) != 0,
		TreeLink:         text(C.gpuctr_driver_tree_link(d)),
		Needs: list(C.gpuctr_driver_need_count(d), func(i C.size_t) *C.char {
			return C.gpuctr_driver_need_at(d, i)
		}, text),
		ImageDirectories: list(C.gpuctr_driver_image_directory_count(d), func(i C.size_t) *C.char {
			return C.gpuctr_driver_image_directory_at(d, i)
		}, text),
		GPUs: list(C.gpuctr_driver_gpu_count(d), func(i C.size_t) *C.gpuctr_gpu {
			return C.gpuctr_driver_gpu_at(d, i)
		}, gpuOf),
		Files: list(C.gpuctr_driver_file_count(d), func(i C.size_t) *C.gpuctr_file {
			return C.gpuctr_driver_file_at(d, i)
		}, fileOf),
		Nodes: list(C.gpuctr_driver_node_count(d), func(i C.size_t) *C.gpuctr_node {
			return C.gpuctr_driver_node_at(d, i)
		}, nodeOf),
		MissingNodes: list(C.gpuctr_driver_missing_node_count(d), func(i C.size_t) *C.gpuctr_node {
			return C.gpuctr_driver_missing_node_at(d, i)
		}, nodeOf),
		SharedPaths: list(C.gpuctr_driver_shared_path_count(d), func(i C.size_t) *C.gpuctr_shared_path {
			return C.gpuctr_driver_shared_path_at(d, i)
		}, sharedPathOf),
		Masks: list(C.gpuctr_driver_mask_count(d), func(i C.size_t) *C.gpuctr_mask {
			return C.gpuctr_driver_mask_at(d, i)
		}, maskOf),
		Findings: list(C.gpuctr_driver_finding_count(d), func(i C.size_t) *C.gpuctr_finding {
			return C.gpuctr_driver_finding_at(d, i)
		}, findingOf),
	}
}

func usedOf(d *C.gpuctr_used_driver) UsedDriver {
	return UsedDriver{
		Vendor:        text(C.gpuctr_used_driver_vendor(d)),
		Version:       text(C.gpuctr_used_driver_version(d)),
		VersionSource: text(C.gpuctr_used_driver_version_source(d)),
		GPUs: list(C.gpuctr_used_driver_gpu_count(d), func(i C.size_t) *C.gpuctr_gpu {
			return C.gpuctr_used_driver_gpu_at(d, i)
		}, gpuOf),
	}
}
