// SPDX-License-Identifier: MIT
#include "plan/binds.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "plan/entry_names.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {
namespace {

using model::DriverFile;
using model::FileKind;

/// A library is loaded by its soname, which its file need not have as its name.
std::vector<std::string> names_of(const DriverFile& file)
{
    std::vector<std::string> names = well_known_names(file);
    names.insert(names.begin(), file.soname.empty() ? file.name : file.soname);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

/// The same place in images of the other family: Debian's loader searches the directory of the
/// machine, and that of Red Hat and SUSE /usr/lib64, or /usr/lib for 32-bit libraries. The X server
/// of Debian looks in /usr/lib. Elsewhere the path is the same.
std::vector<std::string> in_each_family(const Draft& draft, const DriverFile& file,
                                        const std::string& path)
{
    const std::string_view other = file.compat32 ? "/usr/lib" : "/usr/lib64";
    const std::string x_server = base::format("/usr/lib/{}", model::x_server_modules);
    for (const std::string_view usual :
         {std::string_view(draft.layout_of(file).library_directory), std::string_view("/usr/lib")})
        if (base::is_below(path, usual) && (usual != "/usr/lib" || path.starts_with(x_server)))
            return {path, std::string(other) + path.substr(usual.size())};
    return {path};
}

void add_file(Draft& draft, const DriverFile& file, const std::string& path)
{
    for (const std::string& target : in_each_family(draft, file, path)) {
        // Two files may have a name in common. Programs would load the first one.
        if (std::ranges::find(draft.plan.items, target, &Item::target) != draft.plan.items.end())
            continue;
        draft.identify(target);
        draft.identify(file.path);
        draft.identify(file.id);
        draft.add_name(
            {Bind{file.path, file.id, file.directory}, target, file.reason, draft.owner_of(file)});
    }
}

void add_driver_file(Draft& draft, const DriverFile& file)
{
    if (file.kind == FileKind::data) {
        add_file(draft, file, draft.path_of(file));
        return;
    }
    const std::string directory = draft.usual_directory(file);
    for (const std::string& name : names_of(file))
        add_file(draft, file, base::format("{}/{}", directory, name));
    if (file.registered(model::Manner::module_name) != nullptr)
        add_file(draft, file, draft.module_path(file));
}

} // namespace

void add_binds(Draft& draft)
{
    for (const DriverFile* file : draft.files)
        add_driver_file(draft, *file);
}

} // namespace gpucontainer::plan
