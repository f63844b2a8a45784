// SPDX-License-Identifier: MIT
#include "plan/data.hpp"

namespace gpucontainer::plan {

using model::DriverFile;
using model::FileKind;

void add_data_links(Draft& draft)
{
    for (const DriverFile* file : draft.files) {
        if (file->kind == FileKind::data && draft.is_missing(file->target))
            draft.add_name({Symlink{draft.path_of(*file)}, file->target, "libraries read it here",
                            draft.owner_of(*file)});
    }
}

std::vector<std::string> data_paths(const Draft& draft)
{
    std::vector<std::string> paths;
    for (const DriverFile* file : draft.files)
        if (file->kind == FileKind::data)
            paths.push_back(file->target);
    return paths;
}

} // namespace gpucontainer::plan
