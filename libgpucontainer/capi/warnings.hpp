// SPDX-License-Identifier: MIT
#pragma once

#include <gpucontainer/gpucontainer.h>

#include "apply/apply.hpp"

#include <string>
#include <vector>

namespace gpucontainer::capi {

/// Collects what a person should know while a call works, and tells it when the call is
/// done: the caller's function runs in the caller's own namespaces, without any lock held.
class Warnings {
public:
    explicit Warnings(const gpuctr_apply_options& options) noexcept
        : warn_(options.warn), data_(options.warn_data)
    {
    }
    Warnings(const Warnings&) = delete;
    Warnings& operator=(const Warnings&) = delete;
    ~Warnings()
    {
        for (const std::string& line : lines_)
            warn_(data_, line.c_str());
    }

    /// Null where nobody is told: nothing has to be found out then.
    std::vector<std::string>* lines() noexcept { return warn_ != nullptr ? &lines_ : nullptr; }

private:
    void (*warn_)(void*, const char*);
    void* data_;
    std::vector<std::string> lines_;
};

} // namespace gpucontainer::capi
