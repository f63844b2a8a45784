// SPDX-License-Identifier: MIT
#pragma once

#include "elf/facts.hpp"
#include "elf/symbol_versions.hpp"
#include "rootfs/real_path.hpp"
#include "rootfs/view.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gpucontainer::linking {

/// A file that a loader may take for a library.
struct File {
    enum class State : std::uint8_t {
        good,
        empty,
        damaged,    ///< It is no ELF file that a loader would take.
        unreadable, ///< It is there, and nobody knows what is in it.
    };

    State state = State::unreadable;
    std::string problem; ///< Why it is damaged.
    elf::Facts facts;
};

/// The files of a container, each read once. Their number is limited, and so are what is kept of
/// them, the number of names that are looked up and the length of their paths. For one thread.
class Files {
public:
    /// `view` must outlive this object.
    explicit Files(const rootfs::View& view);

    const rootfs::View& view() const noexcept { return view_; }

    /// What a path leads to; null if it is not there. Two paths of one file have the same.
    const File* at(const std::string& path);

    /// The path of a directory without links; none if there is no such directory.
    std::optional<std::string> directory(const std::string& path);

    /// The versions that a file needs, and those that it defines in the order of their names; null
    /// if they cannot be read.
    const std::vector<elf::NeededVersion>* needs_of(const std::string& path);
    const std::vector<std::string>* versions_of(const std::string& path);

    /// To be asked before each file that a search path leads to: whether the search may go on.
    bool may_try(std::string_view path);
    /// To be asked before each entry of a search path, also those that lead nowhere.
    bool may_search(std::string_view path);

    /// Ends all searches, as if too many names had been asked for.
    void give_up() noexcept { is_exhausted_ = true; }

    /// Whether so many files or names were asked for, or files had so much to be kept, that the
    /// rest was not looked at.
    bool is_exhausted() const noexcept
    {
        return is_exhausted_ || budget_.is_exhausted() || view_.is_exhausted();
    }

private:
    using Id = std::pair<std::uint64_t, std::uint64_t>;

    const File* find(const std::string& path);
    std::optional<std::string> real_path(const std::string& path);
    std::optional<std::string> real_file(const std::string& path);
    std::unique_ptr<File> read(const std::string& path, const rootfs::Entry& entry);
    bool may_look(std::string_view path);
    bool may_keep(std::size_t bytes);

    const rootfs::View& view_;
    std::unordered_map<std::string, const File*> by_path_;
    std::map<Id, std::unique_ptr<File>> files_;
    std::unordered_map<std::string, std::optional<std::string>> directories_;
    std::unordered_map<const File*, std::optional<std::vector<elf::NeededVersion>>> needs_;
    std::unordered_map<const File*, std::optional<std::vector<std::string>>> versions_;
    rootfs::LookBudget budget_;
    std::size_t looked_up_ = 0;
    std::size_t tried_ = 0;
    std::size_t kept_ = 0; ///< Bytes of texts in the facts of files.
    bool is_exhausted_ = false;
};

} // namespace gpucontainer::linking
