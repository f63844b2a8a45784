// SPDX-License-Identifier: MIT
#pragma once

#include <gpucontainer/gpucontainer.hpp>

#include <map>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// The environment of CMD.
class Environment {
public:
    /// Begins with the variables of this process, except those with paths of the host's loader,
    /// CUDA and the like. If `clean`, only with TERM, variables that choose GPUs, and the usual
    /// PATH.
    explicit Environment(bool clean);

    /// Variables that were left out because they have paths of the host, sorted.
    const std::vector<std::string>& left_out() const noexcept { return left_out_; }

    void change(const gpucontainer::Variable& change);
    /// Takes NAME=VALUE each. Throws gpucontainer::Error: usage.
    void assign(const std::vector<std::string>& given);

    /// NAME=VALUE each, sorted by name.
    std::vector<std::string> assignments() const;

private:
    std::map<std::string, std::string> variables_;
    std::vector<std::string> left_out_;
};

} // namespace gpuctr_cli
