// SPDX-License-Identifier: MIT
#include "plan/data.hpp"

namespace gpucontainer::plan {

using model::DriverFile;

void add_data_links(Draft& draft)
{
    for (const DriverFile* file : draft.files)
        if (const std::string* const path = Draft::data_path(*file);
            path != nullptr && draft.is_missing(*path))
            draft.add_name({Symlink{draft.path_of(*file)}, *path, "libraries read it here",
                            draft.owner_of(*file)});
}

std::vector<std::string> data_paths(const Draft& draft)
{
    std::vector<std::string> paths;
    for (const DriverFile* file : draft.files)
        if (const std::string* const path = Draft::data_path(*file))
            paths.push_back(*path);
    return paths;
}

} // namespace gpucontainer::plan
