// SPDX-License-Identifier: MIT
#include "capture/files.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "capture/public_file.hpp"
#include "cdi/without_values.hpp"
#include "elf/facts.hpp"
#include "elf/ld_cache_writer.hpp"
#include "elf/symbol_versions.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <vector>

namespace gpucontainer::capture {
namespace {

constexpr std::size_t most_rows = 50'000;
constexpr std::size_t most_in_directory = 5000;
constexpr std::size_t largest_text = 64U << 10U;
constexpr int most_links = 40;
constexpr int deepest = 16;
constexpr int most_rounds = 16; // of libraries that need others

constexpr std::string_view heading =
    "#path\tkind\tmode\tsize\ttarget\tclass\tmachine\tsoname\tneeded\tverneed\trunpath\trpath\t"
    "interpreter\tverdef\n";
/// Of a file that is no ELF file.
constexpr std::string_view no_columns = "\t\t\t\t\t\t\t\t";
constexpr std::string_view configuration_directory = "/etc/ld.so.conf.d/";
constexpr std::string_view configuration_file = "/etc/ld.so.conf";

bool is_field(std::string_view text) { return std::ranges::none_of(text, base::is_control); }

/// Components of a path, the last first, so that the next one is at the end.
std::vector<std::string> reversed_parts(std::string_view path)
{
    std::vector<std::string> parts;
    for (const std::string_view part : base::split(path, '/'))
        if (!part.empty() && part != ".")
            parts.emplace_back(part);
    std::ranges::reverse(parts);
    return parts;
}

/// Whether nobody but root can have made a link.
bool is_link_of_root(const std::string& path, const struct stat& link)
{
    struct stat directory = {};
    return link.st_uid == 0
           && ::stat(std::string(base::directory_of(path)).c_str(), &directory) == 0
           && directory.st_uid == 0 && (directory.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

Result<std::string> public_text(const std::string& path)
{
    GPUCTR_TRY(const base::UniqueFd file, open_public(path));
    return base::read_all(file.get(), largest_text);
}

std::string joined_versions(std::vector<std::string> names)
{
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::erase_if(names, [](const std::string& name) {
        return name.find(',') != std::string::npos || !is_field(name);
    });
    return base::joined(names, ",");
}

} // namespace

void Files::add(const std::string& path, Content content)
{
    std::vector<std::string> open = reversed_parts(path);
    std::string here;
    std::optional<std::string> looked_in; ///< The directory of the last part of the path.
    bool by_links_of_root = true;
    for (int links = 0; !open.empty() && rows_.size() < most_rows;) {
        const std::string part = std::move(open.back());
        open.pop_back();
        if (part == "..") {
            here = base::directory_of(here) == "/" ? "" : std::string(base::directory_of(here));
            continue;
        }
        if (open.empty() && !looked_in)
            looked_in = here;
        here += "/" + part;
        const std::string real = root_.prefix() + here;
        struct stat status = {};
        if (!is_field(real) || ::lstat(real.c_str(), &status) != 0)
            return;
        if (S_ISLNK(status.st_mode)) {
            const auto target = base::read_link(AT_FDCWD, real);
            if (!target || !is_field(*target) || ++links > most_links)
                return;
            by_links_of_root = by_links_of_root && is_link_of_root(real, status);
            rows_.emplace(real, base::format("{}\tl\t0777\t\t{}\t{}", real, *target, no_columns));
            for (std::string& one : reversed_parts(*target))
                open.push_back(std::move(one));
            here = target->starts_with('/') || base::directory_of(here) == "/"
                       ? ""
                       : std::string(base::directory_of(here));
        } else if (S_ISREG(status.st_mode) && open.empty()) {
            const bool is_there =
                base::directory_of(here) == (looked_in->empty() ? "/" : *looked_in);
            const bool may_follow = content == Content::text && by_links_of_root;
            const bool has_content = content == Content::none || is_there || may_follow;
            add_file(real, has_content ? content : Content::elsewhere);
        } else if (!S_ISDIR(status.st_mode)) {
            return;
        }
    }
}

void Files::add_file(const std::string& path, Content content)
{
    const bool is_known = rows_.contains(path);
    if (is_known && content == Content::none)
        return;
    const base::UniqueFd fd(
        ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status = {};
    if (fd ? ::fstat(fd.get(), &status) != 0 : ::lstat(path.c_str(), &status) != 0)
        return;
    if (!S_ISREG(status.st_mode))
        return;
    if (!fd)
        report_.unread.emplace_back(path, "its content may not be read");
    const std::string columns = fd ? columns_of(fd.get(), path) : "";
    if (!is_known)
        rows_.emplace(path, base::format("{}\tf\t{:04o}\t{}\t\t{}", path, status.st_mode & 07777U,
                                         status.st_size,
                                         columns.empty() ? no_columns : std::string_view(columns)));
    const std::string_view inside = std::string_view(path).substr(root_.prefix().size());
    if (inside.starts_with(configuration_directory) || inside == configuration_file)
        configuration_.insert(path);
    if (!fd || !columns.empty() || content == Content::none || status.st_size > off_t{largest_text})
        return;
    if (content == Content::elsewhere)
        report_.unread.emplace_back(path, "its content: a link leads to it");
    else
        add_content(path, content);
}

void Files::add_content(const std::string& path, Content content)
{
    auto text = public_text(path);
    if (text && content == Content::specification)
        text =
            cdi::without_values(*text, path.ends_with(".json") ? cdi::Form::json : cdi::Form::yaml);
    if (text)
        report_.add("content" + path, *text);
    else
        report_.unread.emplace_back(path, "its content: " + text.error().message());
}

/// Those after the target's; "" if it is no ELF file.
std::string Files::columns_of(int fd, const std::string& path)
{
    const auto facts = elf::read_facts(fd);
    if (!facts)
        return "";
    const std::string_view machine = elf::machine_name(facts->machine);
    if (machine == elf::machine_name(0)) {
        report_.unread.emplace_back(path, "it is for an unknown machine");
        return "";
    }
    std::vector<std::string> needs;
    if (const auto versions = elf::read_needed_versions(fd))
        for (const elf::NeededVersion& version : *versions)
            needs.push_back(version.version);
    auto defined = elf::read_defined_versions(fd);
    if (defined)
        std::erase(*defined, facts->soname);
    for (const std::string& soname : facts->needed)
        if (soname.find('/') == std::string::npos)
            needed_.insert(soname);
    const char* const elf_class = facts->elf_class == elf::Facts::Class::elf64 ? "ELF64" : "ELF32";
    return base::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", elf_class, machine, facts->soname,
                        base::joined(facts->needed, ","), joined_versions(std::move(needs)),
                        base::joined(facts->runpath, ":"), base::joined(facts->rpath, ":"),
                        facts->interpreter, defined ? joined_versions(*std::move(defined)) : "");
}

void Files::add_directory(const std::string& path)
{
    std::vector<std::pair<std::string, int>> open = {{path, 0}};
    std::size_t count = 0;
    while (!open.empty()) {
        const auto [directory, depth] = open.back();
        open.pop_back();
        for (const std::string& name : root_.list(directory)) {
            if (++count > most_in_directory) {
                report_.unread.emplace_back(path, "it has too many files");
                return;
            }
            const std::string below = base::format("{}/{}", directory, name);
            struct stat status = {};
            if (::lstat((root_.prefix() + below).c_str(), &status) == 0
                && S_ISDIR(status.st_mode)) {
                if (depth < deepest)
                    open.emplace_back(below, depth + 1);
            } else {
                add(below);
            }
        }
    }
}

void Files::add_traced(const host::Trace& trace)
{
    for (const std::string& path : trace.opened)
        add(path, Content::text);
    for (const std::string& path : trace.looked_at)
        add(path);
}

void Files::add_needed()
{
    std::set<std::string> done;
    for (int round = 0; round < most_rounds; ++round) {
        std::vector<std::string> open;
        std::ranges::set_difference(needed_, done, std::back_inserter(open));
        if (open.empty())
            return;
        done.insert(open.begin(), open.end());
        for (const std::string& soname : open)
            if (const auto entries = root_.cached(soname); !entries.empty())
                add(std::string(entries.front().value));
    }
}

void Files::write()
{
    write_configuration();
    std::string table(heading);
    for (const auto& [path, row] : rows_)
        table += row + "\n";
    report_.add("files.tsv", table);
    write_cache();
}

/// With the same replacements of names in its paths.
void Files::write_cache()
{
    const auto& cache = root_.loader_cache();
    if (!cache)
        return;
    std::vector<elf::CacheEntry> entries = cache->entries();
    std::vector<std::string> paths;
    std::vector<elf::NewCacheEntry> renamed;
    paths.reserve(entries.size()); // entries borrow from it
    const auto is_renamed = [&](const elf::CacheEntry& entry) {
        return report_.replacements.in(entry.value) != entry.value;
    };
    for (const elf::CacheEntry& entry : entries)
        if (is_renamed(entry)) {
            paths.push_back(report_.replacements.in(entry.value));
            renamed.push_back({entry.key, paths.back(), entry.flags});
        }
    const std::string place = root_.prefix() + "/etc/ld.so.cache";
    if (renamed.empty()) {
        if (auto bytes = read_public(place, elf::max_cache_size))
            report_.members.insert_or_assign("ld.so.cache", *std::move(bytes));
        return;
    }
    if (auto merged = elf::merge(&*cache, renamed, is_renamed))
        report_.members.insert_or_assign("ld.so.cache", std::move(merged->bytes));
    else
        report_.unread.emplace_back(place, merged.error().cause());
}

/// Each file with its path in a line before it, as simulated hosts read them.
void Files::write_configuration()
{
    std::string all;
    for (const std::string& path : configuration_)
        if (const auto text = read_public(path, largest_text))
            all += base::format("{}# {}\n{}", all.empty() ? "" : "\n",
                                std::string_view(path).substr(root_.prefix().size()), *text);
    report_.add("ld.so.conf.txt", all);
}

} // namespace gpucontainer::capture
