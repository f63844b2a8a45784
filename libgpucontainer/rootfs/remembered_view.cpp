// SPDX-License-Identifier: MIT
#include "rootfs/remembered_view.hpp"

namespace gpucontainer::rootfs {
namespace {

constexpr std::size_t most_kept = std::size_t{16} << 20U; // a program asks for some MiB at most

} // namespace

/// To be asked before a path is kept.
void RememberedView::make_room(const std::string& path) const
{
    if (kept_ + path.size() > most_kept) {
        looked_at_.clear();
        resolved_.clear();
        for_names_.clear();
        kept_ = 0;
    }
    kept_ += path.size();
}

Entry RememberedView::look(const std::string& path) const
{
    if (const auto known = looked_at_.find(path); known != looked_at_.end())
        return known->second;
    make_room(path);
    return looked_at_.emplace(path, view_.look(path)).first->second;
}

Entry RememberedView::resolve(const std::string& path) const
{
    if (const auto known = resolved_.find(path); known != resolved_.end())
        return known->second;
    make_room(path);
    return resolved_.emplace(path, view_.resolve(path)).first->second;
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
    if (const auto known = for_names_.find(path); known != for_names_.end())
        return known->second;
    make_room(path);
    return for_names_.emplace(path, view_.is_for_names(path)).first->second;
}

bool RememberedView::is_empty_directory(const std::string& path) const
{
    return view_.is_empty_directory(path);
}

} // namespace gpucontainer::rootfs
