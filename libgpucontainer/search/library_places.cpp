// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "base/text.hpp"
#include "search/library_graph.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::search {

using model::FileKind;

/// The library that keeps its place, to which the object `by` leads the loader.
std::optional<std::size_t> LibraryGraph::find_in_place(const std::string& name, std::size_t by)
{
    if (!has_place(objects_[by]) || name.find('/') != std::string::npos
        || model::find_rule(catalogue_, FileKind::library, name) != nullptr)
        return std::nullopt;
    for (const std::string& directory : directories_for(by, Entries::with_origin))
        if (const std::string& place = place_of(directory); !place.empty())
            if (const auto found = load_in_place(directory, place, name, by))
                return found;
    return std::nullopt;
}

std::optional<std::size_t> LibraryGraph::load_in_place(const std::string& directory,
                                                       const std::string& place,
                                                       const std::string& name, std::size_t by)
{
    const std::string path = base::format("{}/{}", directory, name);
    const auto opened = root_.open_file(path);
    if (!opened || base::directory_of(opened->real_path) != base::format("{}/{}", home_, place))
        return std::nullopt; // if it is a link to another directory, it is looked for again
    const FileKey key(opened->status.st_dev, opened->status.st_ino);
    if (const auto known = by_file_.find(key); known != by_file_.end()) {
        if (objects_[known->second].place.empty())
            by_name_.emplace(name, known->second);
        else
            objects_[known->second].names.push_back(name);
        return known->second;
    }
    auto library = read_library(path, *opened, name, by, nullptr);
    if (!library)
        return std::nullopt;
    library->place = place;
    library->names = {name};
    const std::size_t index = add(*std::move(library), nullptr, key);
    objects_[index].file.registrations = {{model::Manner::beside_libraries, place}};
    objects_[index].file.precedence = model::Precedence::driver;
    return index;
}

/// Whether a container has the object where $ORIGIN means the same to it: in the directory of
/// libraries, below that, or in the directory of tools beside it. Neutral libraries may be the
/// image's, or lie elsewhere.
bool LibraryGraph::has_place(const Object& object) const
{
    if (home_.empty() || object.file.precedence == model::Precedence::image)
        return false;
    return !object.place.empty() || object.real_directory == home_
           || (object.file.kind == FileKind::tool
               && object.real_directory == base::format("{}/bin", base::directory_of(home_)));
}

const std::string& LibraryGraph::place_of(const std::string& directory)
{
    const auto [place, is_new] = places_.try_emplace(directory);
    if (is_new)
        if (const auto opened = root_.open_directory(directory);
            opened && opened->real_path.starts_with(home_ + "/"))
            place->second = opened->real_path.substr(home_.size() + 1);
    return place->second;
}

void LibraryGraph::add_names_in_place(Object& object)
{
    std::vector<std::string>& links = object.file.links;
    object.names.push_back(object.file.soname);
    for (const std::string& name : object.names)
        if (name != object.file.name && std::ranges::find(links, name) == links.end())
            links.push_back(name);
}

} // namespace gpucontainer::search
