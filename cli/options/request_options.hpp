// SPDX-License-Identifier: MIT
#pragma once

#include "options/host_options.hpp"
#include "output/messages.hpp"

#include <CLI/CLI.hpp>
#include <gpucontainer/gpucontainer.hpp>

#include <map>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// What a container asks for: for apply and plan.
struct RequestOptions {
    HostOptions host;
    std::vector<std::string> devices;
    std::string capabilities = "compute,utility,graphics,video";
    std::uint32_t write = GPUCTR_WRITE_AUTO;
    std::uint32_t backend = GPUCTR_BACKEND_AUTO;
    std::string staged_tree = "/run/gpucontainer/tree";
    std::vector<std::string> allowed_devices;
    std::vector<std::string> requirements;
    std::vector<std::string> extras;
    std::string image_env;                ///< "auto", a file, or "".
    std::vector<std::string> request_env; ///< NAME=VALUE
    std::uint32_t layout = GPUCTR_LAYOUT_TREE;
    std::uint32_t vendor_libs = GPUCTR_VENDOR_LIBS_AUTO;
    std::uint32_t compat = GPUCTR_COMPAT_AUTO;
    std::string toolkit; ///< "auto", a directory, or "".
    std::uint32_t glibc = GPUCTR_GLIBC_NEVER;
    std::string tree_path;
    std::string mount_label;
    bool lock = false;
    bool loads_kmods = false;

    /// Only options about the driver's files, for prepare.
    void add_staging_to(CLI::App& command);
    /// For commands that set something up.
    void add_loading_to(CLI::App& command);
    /// Refuses a typed --load-kmods if nothing can be loaded for the typed vendors.
    void check_typed_loading(const std::string& command) const;
    void add_to(CLI::App& command);
    /// Does what --load-kmods asks for. It changes the host, and needs privileges that are dropped
    /// afterwards. Throws gpucontainer::Error.
    void load_kmods(const Messages& messages) const;
    /// Only options about what any image gets, for specifications.
    void add_for_any_image_to(CLI::App& command);
    /// Only what specifications of CDI do not decide.
    void add_for_devices_of_cdi_to(CLI::App& command);
    /// Of nothing that a container asks for itself.
    gpucontainer::Request request() const;
    /// With what the container in `rootfs_fd` asks for itself; -1: a typical one. Throws
    /// gpucontainer::Error: usage, rootfs.
    gpucontainer::Request request(int rootfs_fd, const Messages& messages) const;
    /// Sets how the request is carried out.
    void set(gpucontainer::ApplyOptions& options) const;

private:
    void add_capabilities_to(CLI::App& command);
    void add_choice_of_files_to(CLI::App& command);
    void add_compat_to(CLI::App& command);
    void add_way_to(CLI::App& command);
    void add_label_to(CLI::App& command);

    const CLI::Option* of_capabilities_ = nullptr;
};

} // namespace gpuctr_cli
