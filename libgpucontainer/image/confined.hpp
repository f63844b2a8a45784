// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "image/confinement.hpp"
#include "image/file_system.hpp"

#include <functional>
#include <memory>

namespace gpucontainer::image {

/// Opens a file system of the file at a descriptor.
using Opener = std::function<Result<std::unique_ptr<FileSystem>>(int fd)>;

/// Reads a hostile file system in a process of its own, which can do nothing but read `image` and
/// answer, with bounded time and memory: what makes the library that reads it fail, or take it
/// over, leads to wrong answers and no further. The process is a fork(), so handlers of fork() run
/// and the caller gets SIGCHLD; it ends with the result. It can read the caller's private memory,
/// and has none that the caller shares with others. `open` is called in it. Errors:
/// requirement, if there can be no such process; those of `open`.
Result<std::unique_ptr<FileSystem>> open_confined(int image, const Opener& open,
                                                  const Limits& limits = {});

} // namespace gpucontainer::image
