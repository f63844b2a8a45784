// SPDX-License-Identifier: MIT
#pragma once

namespace gpuctr_cli {

/// Opens the null device as each of standard input, output and error that is closed,
/// so that nothing which is opened later becomes one of them, and is CMD's then. It
/// cannot be read from as the first or written to as the others: whoever tries that
/// fails as with a closed one. Throws gpucontainer::Error: requirement.
void fill_standard_descriptors();

/// Keeps a descriptor of the caller's from CMD, and from paths of the image while CMD
/// is executed: it is closed by then, or one of the three, the null device from here
/// on. Throws the same.
void keep_from_command(int fd);

} // namespace gpuctr_cli
