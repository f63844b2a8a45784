// SPDX-License-Identifier: MIT
#pragma once

#include <gpucontainer/gpucontainer.h>

#include "base/result.hpp"
#include "detect/detection.hpp"
#include "plan/request.hpp"

#include <string>

namespace gpucontainer::capi {

/// How a host is to be looked at. Errors: usage.
Result<detect::Detection> read_detection(const gpuctr_host_options* options);

/// What a caller asks for a container. Errors: usage.
Result<plan::Request> read_request(const gpuctr_request& given);

/// The path of a staged tree with nothing in it but names, so that each part of it is a
/// directory to be made or removed. Which directory a relative path names would depend on who
/// uses it, and one with ".." on links. Errors: usage.
Result<std::string> read_staged_tree(const std::string& given);

} // namespace gpucontainer::capi
