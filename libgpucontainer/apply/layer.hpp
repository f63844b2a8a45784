// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "mount/bench.hpp"
#include "program/program.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpucontainer::apply {

/// A tmpfs of our own that is attached nowhere, and names in it. Nobody else can
/// reach it, so that paths in it are safe.
class Layer {
public:
    /// All in it has the SELinux label, unless that is empty.
    static Result<Layer> create(const mount::Bench& bench, const std::string& label);

    /// `mode` is that of the image's directory which it lies over, if it does: it gets what
    /// that allows, but nothing that a directory of ours does not have.
    Result<void> directory(const std::string& path, std::uint32_t mode = program::directory_mode);
    Result<void> file(const std::string& path, std::string_view content);
    /// An empty file to mount over.
    Result<void> placeholder(const std::string& path);
    Result<void> link(const std::string& path, const std::string& target);

    base::UniqueFd take() && { return std::move(fd_); }

private:
    explicit Layer(base::UniqueFd fd) noexcept : fd_(std::move(fd)) {}

    base::UniqueFd fd_;
};

} // namespace gpucontainer::apply
