// SPDX-License-Identifier: MIT
#pragma once

#include <gpucontainer/gpucontainer.hpp>

#include <map>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// What CMD finds in its environment.
class Environment {
public:
    /// Of this process's variables none that tells programs where the host's loader finds
    /// files, or where the host's CUDA or the like is; if `clean`, only TERM and those
    /// that choose GPUs, and the usual PATH.
    explicit Environment(bool clean);

    /// Those that are set and were kept out for the paths in them, sorted.
    const std::vector<std::string>& left_out() const noexcept { return left_out_; }

    void change(const gpucontainer::Variable& change);
    /// NAME=VALUE each. Throws gpucontainer::Error: usage.
    void assign(const std::vector<std::string>& given);

    /// NAME=VALUE each, sorted by name.
    std::vector<std::string> assignments() const;

private:
    std::map<std::string, std::string> variables_;
    std::vector<std::string> left_out_;
};

} // namespace gpuctr_cli
