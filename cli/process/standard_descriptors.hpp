// SPDX-License-Identifier: MIT
#pragma once

namespace gpuctr_cli {

/// Opens the null device for each standard descriptor that is closed. Otherwise a file that is
/// opened later would become one of them, and CMD would inherit it. Reading from it as standard
/// input fails, and so does writing to the others, as with a closed descriptor. Throws
/// gpucontainer::Error: requirement.
void fill_standard_descriptors();

/// Keeps a descriptor of the caller from CMD, and from links of the image while CMD is executed.
/// It becomes close-on-exec; a standard descriptor becomes the null device. Throws the same.
void keep_from_command(int fd);

} // namespace gpuctr_cli
