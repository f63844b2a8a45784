// SPDX-License-Identifier: MIT
#pragma once

#include "program/builder.hpp"
#include "program/program.hpp"

#include <utility>

namespace gpucontainer::apply {

/// Owns a prepared program and its descriptors.
class Prepared {
public:
    explicit Prepared(program::Block block) : block_(std::move(block)) {}
    Prepared(const Prepared&) = delete;
    Prepared& operator=(const Prepared&) = delete;
    ~Prepared() { program::release(block_.release()); }

    program::Program program() const { return program::Program(block_.get()); }

private:
    program::Block block_;
};

} // namespace gpucontainer::apply
