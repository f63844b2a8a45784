// SPDX-License-Identifier: MIT
#include "rootfs/remembered_view.hpp"

namespace gpucontainer::rootfs {

Entry RememberedView::look(const std::string& path) const
{
    const auto [entry, is_new] = looked_at_.try_emplace(path);
    if (is_new)
        entry->second = view_.look(path);
    return entry->second;
}

Entry RememberedView::resolve(const std::string& path) const
{
    const auto [entry, is_new] = resolved_.try_emplace(path);
    if (is_new)
        entry->second = view_.resolve(path);
    return entry->second;
}

std::vector<std::string> RememberedView::present(const std::string& directory,
                                                 const std::vector<std::string>& names) const
{
    return view_.present(directory, names);
}

std::string RememberedView::link_target(const std::string& path) const
{
    return view_.link_target(path);
}

Result<base::OpenFile> RememberedView::open(const std::string& path) const
{
    return view_.open(path);
}

Result<std::string> RememberedView::read(const std::string& path, std::size_t limit) const
{
    return view_.read(path, limit);
}

Result<std::vector<std::string>> RememberedView::list(const std::string& path,
                                                      std::size_t limit) const
{
    return view_.list(path, limit);
}

bool RememberedView::is_for_names(const std::string& path) const
{
    const auto [entry, is_new] = for_names_.try_emplace(path);
    if (is_new)
        entry->second = view_.is_for_names(path);
    return entry->second;
}

bool RememberedView::is_empty_directory(const std::string& path) const
{
    return view_.is_empty_directory(path);
}

} // namespace gpucontainer::rootfs
