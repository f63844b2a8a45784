// SPDX-License-Identifier: MIT
#pragma once

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/scratch.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <vector>

namespace gpucontainer::fuzz {

/// A directory tree that each input fills anew. An input says what is in it, each entry
/// behind a line of its own; what stands before the first such line is its head:
///
///     == sys/class/drm/card0 -> ../../devices/card0
///     == dev/dri/by-path/
///     == dev/dri/card0 c 226:0
///     == sys/devices/card0/uevent
///     DEVNAME=dri/card0
///
/// Device nodes are there only where this process may make them. No entry leads
/// out of the tree by its path, and none replaces one before it.
class Tree {
public:
    /// Fills the tree and returns the head.
    std::string_view fill(std::string_view input)
    {
        clear();
        const auto first = next(input, 0);
        const std::string_view head = input.substr(0, first);
        for (std::size_t at = first, count = 0; at < input.size() && count < most_entries;
             ++count) {
            const auto end = next(input, at + 1);
            add(input.substr(at + mark.size(), end - at - mark.size()));
            at = end;
        }
        return head;
    }

    /// Without a slash at its end.
    std::string path() const { return scratch_.path(); }

private:
    static constexpr std::string_view mark = "== ";
    static constexpr std::size_t most_entries = 128;
    static constexpr mode_t directory_mode = 0755;
    static constexpr mode_t file_mode = 0644;

    /// Where the next entry's line begins, at or behind `from`; else the end.
    static std::size_t next(std::string_view input, std::size_t from)
    {
        for (auto at = input.find(mark, from); at != std::string_view::npos;
             at = input.find(mark, at + 1))
            if (at == 0 || input[at - 1] == '\n')
                return at;
        return input.size();
    }

    /// The directories that everything is in stay: something may be mounted of them.
    void clear() const
    {
        std::error_code ignored;
        for (const auto& top : std::filesystem::directory_iterator(scratch_.path()))
            if (top.is_symlink() || !top.is_directory())
                std::filesystem::remove(top, ignored);
            else
                for (const auto& entry : std::filesystem::directory_iterator(top))
                    std::filesystem::remove_all(entry, ignored);
    }

    void add(std::string_view entry) const
    {
        const auto end = std::min(entry.find('\n'), entry.size());
        const std::string_view line = entry.substr(0, end);
        constexpr std::string_view arrow = " -> ";
        constexpr std::string_view character = " c ";
        if (const auto at = line.find(arrow); at != std::string_view::npos)
            add_link(line.substr(0, at), std::string(line.substr(at + arrow.size())));
        else if (const auto of = line.find(character); of != std::string_view::npos)
            add_node(line.substr(0, of), line.substr(of + character.size()));
        else if (line.ends_with('/'))
            (void)directory(base::split(line, '/'));
        else
            add_file(line, entry.substr(std::min(end + 1, entry.size())));
    }

    static bool is_name(std::string_view part)
    {
        return !part.empty() && part != "." && part != "..";
    }

    /// Made one below the other, and only in this tree.
    base::UniqueFd directory(const std::vector<std::string_view>& parts) const
    {
        base::UniqueFd fd(::open(path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        for (const std::string_view part : parts) {
            if (!is_name(part))
                continue;
            const std::string name(part);
            (void)::mkdirat(fd.get(), name.c_str(), directory_mode);
            fd.reset(
                ::openat(fd.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        }
        return fd;
    }

    /// The directory that `place` is in, and its name there; "" for no name.
    std::pair<base::UniqueFd, std::string> place(std::string_view place) const
    {
        auto parts = base::split(place.substr(0, place.find('\0')), '/');
        const std::string name(parts.back());
        parts.pop_back();
        return {directory(parts), is_name(name) ? name : ""};
    }

    void add_file(std::string_view at, std::string_view content) const
    {
        const auto [where, name] = place(at);
        const base::UniqueFd file(::openat(where.get(), name.c_str(),
                                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                           file_mode));
        if (file)
            demand(::write(file.get(), content.data(), content.size())
                       == static_cast<ssize_t>(content.size()),
                   "a file of the tree can be written");
    }

    void add_link(std::string_view at, const std::string& target) const
    {
        const auto [where, name] = place(at);
        (void)::symlinkat(target.c_str(), where.get(), name.c_str());
    }

    void add_node(std::string_view at, std::string_view number) const
    {
        const auto colon = std::min(number.find(':'), number.size());
        const auto of = [](std::string_view text) {
            return static_cast<unsigned>(base::to_number(text).value_or(0));
        };
        const dev_t device = makedev(of(number.substr(0, colon)),
                                     of(number.substr(std::min(colon + 1, number.size()))));
        const auto [where, name] = place(at);
        (void)::mknodat(where.get(), name.c_str(), S_IFCHR | file_mode, device);
    }

    Scratch scratch_ = {{"sys", "dev", "proc"}, {}};
};

} // namespace gpucontainer::fuzz
