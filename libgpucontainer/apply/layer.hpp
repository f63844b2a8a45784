// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "mount/bench.hpp"
#include "plan/item.hpp"
#include "program/program.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpucontainer::apply {

/// A detached tmpfs of our own, with names in it. Nobody else can reach it, so paths in it are
/// safe.
class Layer {
public:
    /// `label` is the SELinux label of all in it; "": none.
    static Result<Layer> create(const mount::Bench& bench, const std::string& label);

    /// `mode` is that of the image's directory that it covers, if any. The new directory gets
    /// these permissions, but no more than other directories of ours.
    Result<void> directory(const std::string& path, std::uint32_t mode = program::directory_mode);
    Result<void> file(const std::string& path, std::string_view content);
    /// An empty file to mount over.
    Result<void> placeholder(const std::string& path);
    /// Refers to what is there, and opens no device.
    Result<base::UniqueFd> open(const std::string& path) const;
    Result<void> link(const std::string& path, const std::string& target);
    /// Errors: permission, if whoever started this program may not use such a node.
    Result<void> node(const std::string& path, const plan::Device& device);

    base::UniqueFd take() && { return std::move(fd_); }

private:
    explicit Layer(base::UniqueFd fd) noexcept : fd_(std::move(fd)) {}

    base::UniqueFd fd_;
};

} // namespace gpucontainer::apply
