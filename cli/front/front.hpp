// SPDX-License-Identifier: MIT
#pragma once

namespace gpuctr_cli {

/// Whether this program was started by the name of NVIDIA's `nvidia-container-cli`.
bool is_called_as_front(const char* name);

/// Does what callers of that program expect of it. Returns the exit code: 0 or 1.
int run_front(int argc, char** argv);

} // namespace gpuctr_cli
