// SPDX-License-Identifier: MIT
#pragma once

#include "model/catalogue.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::model {

/// How much a finding matters, in ascending order.
enum class Severity : std::uint8_t {
    note,    ///< Something was looked at and left out.
    need,    ///< The container must have it, and we do not provide it.
    warning, ///< Something will not work, or is unknown; the rest works.
    error,   ///< A set-up does not work as it was made.
};
std::string_view name(Severity severity);

/// What kind of finding it is. Each has one severity, except in a diagnosis.
enum class FindingCode : std::uint8_t {
    not_installed,     ///< No file of this name is on the host.
    file_unusable,     ///< The host's file cannot be used.
    version_differs,   ///< The host's file is of another version than the driver.
    file_left_out,     ///< The container does not need the file, or has its own.
    gpu_unusable,      ///< The driver does not offer the GPU.
    node_missing,      ///< The device node is not there, or is another device.
    node_inaccessible, ///< Permissions, a mount or a device cgroup forbid the node.
    node_left_out,     ///< The device node is not for containers, or serves no GPU.
    rule_ignored,      ///< An entry of a catalogue has no effect.
    variable_ignored,  ///< An environment variable has no effect.
    compat_decided,    ///< Whether the image's newer libraries of the driver count.
    c_library_decided, ///< Whether the host's C library takes the place of the image's.
    toolkit_decided,   ///< Why the host's toolkit is not put into the container.
    module_loaded,     ///< A kernel module was loaded.
    node_made,         ///< A device node was made on the host.
    cdi_after_cache,   ///< Some images find libraries of their own before those of a CDI
                       ///< specification.

    identity_replaced, ///< A report has made-up values in place of what identifies.
    not_recorded,      ///< A report lacks something.

    container_need, ///< Something else that a container must have.

    driver_unusable,       ///< A driver that nobody asked for cannot be used.
    vendor_left_out,       ///< None of a vendor's GPUs can be used.
    no_gpu,                ///< The driver's files are there, but no GPU.
    map_unfit,             ///< A map of MIG instances is not true of this host.
    compat_forced,         ///< The image's newer libraries of the driver count, and may not work.
    c_library_unfit,       ///< The image's C library is too old, and the host's is not used.
    toolkit_unfit,         ///< The host's toolkit is left out, or may not work with the driver.
    search_differs,        ///< An environment variable has programs find other libraries.
    files_left_out,        ///< The image cannot use the driver's files, and gets only the nodes.
    library_unloadable,    ///< Programs cannot load a library of the driver.
    library_missing,       ///< Programs do not find a library of the driver.
    releases_differ,       ///< Two libraries of the driver are of different releases.
    compute_node_unusable, ///< Programs that compute lack a device node.
    node_forbidden,        ///< The container's device cgroup forbids a node of some programs.
    variable_contradicted, ///< An environment variable names a GPU that may not be used.
    device_unknown,        ///< The container's device cgroup may forbid nodes; it is unknown.
    node_left,             ///< A program in the container made a device node, which stays.
    namespace_gone,        ///< The mount namespace of the set-up is gone.
    root_gone,             ///< The root file system is no longer where it was.
    cdi_outdated,          ///< A CDI specification is not true of this host.
    cdi_left_out,          ///< A part of a CDI specification is not done.

    part_missing,      ///< A mount or name is gone, covered or changed.
    driver_version,    ///< The loaded kernel module is of another version.
    driver_not_loaded, ///< The kernel module is not loaded.
    earlier_boot,      ///< The mounts ended with an earlier boot.
    interrupted,       ///< Apply was cut off.
    partly_undone,     ///< Undo could not take everything back.
    journal_damaged,   ///< What was done is not known.
    locked,            ///< Another process is at work there, and does not finish.
    device_denied,     ///< The container's device cgroup forbids a node of the set-up.
    cdi_invalid,       ///< A CDI specification is against the rules: no engine takes it.
    cdi_conflict,      ///< Two CDI specifications have the same device.

    // Those that a diagnosis alone has. Its severity is the cause's own (model/cause.hpp).
    gpu_off_bus,          ///< A GPU does not answer on its bus.
    gpu_without_driver,   ///< No kernel driver has the GPU, or one that programs cannot use.
    gpu_excluded,         ///< The driver was told to leave the GPU out.
    access_denied,        ///< A policy of the host keeps containers from device nodes.
    request_refused,      ///< What was asked for is not there, or cannot be done.
    namespaces_forbidden, ///< This user may not make user namespaces.
    cdi_missing,          ///< No CDI specification has the device that is asked for.
    program_missing,      ///< The program is not in the container.
    program_unstartable,  ///< The kernel or the loader does not start the program.
    library_not_found,    ///< The loader does not find a library that is needed.
    version_not_found,    ///< A library lacks a symbol version that is needed.
    symbol_not_found,     ///< No library has a symbol that is needed.
    library_shadowed,     ///< Programs load another copy of a driver's library.
    service_not_running,  ///< A service of the host that the driver needs does not run.
    kernel_unready,       ///< The kernel shows or allows less than the driver needs.
    proc_missing,         ///< The container has no /proc.
    driver_too_old,       ///< The image needs a newer driver.
    gpus_hidden,          ///< An environment variable hides the GPUs.
    instance_incomplete,  ///< A part of a GPU was made that nothing can run on.
    code_missing,         ///< The image has no code for a GPU.
    feature_missing,      ///< One feature does not work; the rest does.
    search_unfinished,    ///< The container has more to look at than is looked at.
};
std::string_view name(FindingCode code);
std::optional<FindingCode> parse_finding_code(std::string_view text);
Severity severity_of(FindingCode code);

/// A fact that a person may want to know: something is left out, needed, doubtful or broken.
struct Finding {
    FindingCode code = FindingCode::file_left_out;
    std::string object; ///< What it is about: a file, GPU, node or path; maybe "".
    std::string text;   ///< What was found, in one line that continues after the object.
    /// The path where it was seen, on the host, or in the container if the image has it; maybe "".
    std::string evidence = {};
    std::string hint = {}; ///< What can be done about it; maybe "".
    /// It concerns programs that use this; none: all programs.
    Capability capability = Capability::none;
    /// How much it matters here; none: as much as its code.
    std::optional<Severity> weight = {};

    Severity severity() const { return weight ? *weight : severity_of(code); }

    /// "OBJECT: TEXT"
    std::string message() const { return object.empty() ? text : object + ": " + text; }
};
using Findings = std::vector<Finding>;

} // namespace gpucontainer::model
