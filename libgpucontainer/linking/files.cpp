// SPDX-License-Identifier: MIT
#include "linking/files.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace gpucontainer::linking {

using rootfs::Entry;
using rootfs::EntryType;

namespace {

constexpr std::size_t most_files = 4096;
constexpr std::size_t most_lookups = 100'000;
/// Of paths' bytes: more than a program takes that seeks each of 1000 libraries in 20 directories.
constexpr std::size_t most_looked_up = std::size_t{16} << 20U;
/// Known answers are quick, but search paths of a chain of files multiply.
constexpr std::size_t most_tries = 2'000'000;
constexpr std::size_t length_of_a_try = 128; ///< A longer path counts more than once.
/// A thousand libraries have less than 1 MiB. In a hostile file texts overlap: each is the end of
/// another, so that a small file has megabytes.
constexpr std::size_t most_kept = std::size_t{32} << 20U;

std::size_t size_of(const std::vector<std::string>& texts)
{
    std::size_t size = 0;
    for (const std::string& text : texts)
        size += sizeof(std::string) + text.size();
    return size;
}

std::size_t size_of(const std::vector<elf::NeededVersion>& needs)
{
    std::size_t size = 0;
    for (const elf::NeededVersion& need : needs)
        size += sizeof(elf::NeededVersion) + need.library.size() + need.version.size();
    return size;
}

std::size_t size_of(const elf::Facts& facts)
{
    return facts.soname.size() + facts.interpreter.size() + size_of(facts.needed)
           + size_of(facts.runpath) + size_of(facts.rpath);
}

} // namespace

Files::Files(const rootfs::View& view) : view_(view), budget_(most_looked_up) {}

bool Files::may_look(std::string_view path)
{
    if (budget_.spend(path) && looked_up_ < most_lookups && files_.size() < most_files) {
        ++looked_up_;
        return true;
    }
    is_exhausted_ = true;
    return false;
}

bool Files::may_keep(std::size_t bytes)
{
    if (bytes > most_kept - kept_) {
        is_exhausted_ = true;
        return false;
    }
    kept_ += bytes;
    return true;
}

bool Files::may_try(std::string_view path)
{
    if (tried_ >= most_tries)
        is_exhausted_ = true;
    else
        tried_ += 1 + path.size() / length_of_a_try;
    return !is_exhausted();
}

bool Files::may_search(std::string_view path) { return budget_.spend(path); }

const File* Files::at(const std::string& path)
{
    const auto known = by_path_.find(path);
    if (known != by_path_.end())
        return known->second;
    if (!may_look(path))
        return nullptr;
    return by_path_.emplace(path, find(path)).first->second;
}

/// Not view_.resolve(): the kernel follows links of any length.
std::optional<std::string> Files::real_path(const std::string& path)
{
    return rootfs::follow_links(
        path, rootfs::LastLink::followed,
        [&](const std::string& name) {
            return budget_.spend(name) ? view_.look(name).type : EntryType::none;
        },
        [&](const std::string& name) { return view_.link_target(name); });
}

/// The same, by way of the file's directory, which is known if other names in it were looked up.
std::optional<std::string> Files::real_file(const std::string& path)
{
    const std::string name(base::name_of(path));
    if (name.empty() || name == "." || name == "..")
        return real_path(path);
    const auto above = directory(std::string(base::directory_of(path)));
    if (!above)
        return std::nullopt;
    std::string whole = (*above == "/" ? "/" : *above + "/") + name;
    const EntryType type = budget_.spend(whole) ? view_.look(whole).type : EntryType::none;
    if (type == EntryType::link)
        return real_path(whole);
    return type == EntryType::none ? std::nullopt : std::optional(std::move(whole));
}

const File* Files::find(const std::string& path)
{
    const auto real = real_file(path);
    const Entry entry = real ? view_.look(*real) : Entry();
    if (!entry)
        return nullptr;
    std::unique_ptr<File>& file = files_[{entry.device, entry.inode}];
    if (file == nullptr)
        file = read(*real, entry);
    return file.get();
}

std::unique_ptr<File> Files::read(const std::string& path, const Entry& entry)
{
    auto file = std::make_unique<File>();
    if (entry.type != EntryType::regular) {
        file->state = File::State::damaged;
        file->problem = entry.type == EntryType::directory ? "a directory" : "no file";
        return file;
    }
    const auto opened = view_.open(path);
    if (!opened)
        return file;
    auto facts = elf::read_facts(opened->get());
    if (facts && !may_keep(size_of(*facts)))
        return file;
    if (facts) {
        file->state = File::State::good;
        file->facts = *std::move(facts);
    } else if (facts.error().os_error() == 0) {
        file->state = entry.size == 0 ? File::State::empty : File::State::damaged;
        file->problem = facts.error().message();
    }
    return file;
}

std::optional<std::string> Files::directory(const std::string& path)
{
    const auto known = directories_.find(path);
    if (known != directories_.end())
        return known->second;
    if (!may_look(path))
        return std::nullopt;
    auto found = real_path(path);
    if (found && view_.look(*found).type != EntryType::directory)
        found.reset();
    return directories_.emplace(path, std::move(found)).first->second;
}

const std::vector<elf::NeededVersion>* Files::needs_of(const std::string& path)
{
    const File* const file = at(path);
    if (file == nullptr || file->state != File::State::good)
        return nullptr;
    const auto [known, is_new] = needs_.try_emplace(file);
    if (is_new)
        if (const auto opened = view_.open(path))
            if (auto needs = elf::read_needed_versions(opened->get());
                needs && may_keep(size_of(*needs)))
                known->second = *std::move(needs);
    return known->second ? &*known->second : nullptr;
}

const std::vector<std::string>* Files::versions_of(const std::string& path)
{
    const File* const file = at(path);
    if (file == nullptr || file->state != File::State::good)
        return nullptr;
    const auto [known, is_new] = versions_.try_emplace(file);
    if (is_new)
        if (const auto opened = view_.open(path))
            if (auto versions = elf::read_defined_versions(opened->get());
                versions && may_keep(size_of(*versions))) {
                known->second = *std::move(versions);
                std::ranges::sort(*known->second);
            }
    return known->second ? &*known->second : nullptr;
}

} // namespace gpucontainer::linking
