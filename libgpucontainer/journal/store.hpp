// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "journal/journal.hpp"
#include "journal/state_directory.hpp"
#include "mount/scratch.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::journal {

/// Device and inode: what a root's directory in the store is named after.
using RootName = std::pair<std::uint64_t, std::uint64_t>;

/// The journals of one root directory, locked for as long as this lives: of two
/// operations on one root at once, one waits, though not for ever.
class RootJournals {
public:
    RootJournals(RootJournals&&) noexcept = default;
    RootJournals& operator=(RootJournals&&) = delete;
    /// Leaves nothing behind when there is no journal.
    ~RootJournals();

    /// Every set-up, known by its name.
    Result<std::vector<SetUpKey>> keys();
    Result<Journal> read(const SetUpKey& key) const;

    /// Whether keys() saw the scratch directory of a process that was cut off, without the right to
    /// take it away.
    bool has_scratch() const noexcept { return has_scratch_; }

    /// Where nobody else looks, for who has the lock alone.
    Result<mount::Scratch> scratch(mount::Backend backend) const;

    /// That of a persistent set-up outlives a loss of power from here on, as it
    /// must before anything is changed that does.
    Result<void> write(const Journal& journal, const program::Program& program);
    /// Same before the root is changed, as the journal then says of when.
    Result<void> write_before_changes(Journal& journal, const program::Program& program);
    Result<void> remove(const SetUpKey& key);

    /// Has all others wait who change what set-ups of several roots share, for as long as it is
    /// open. The last lock that anybody takes: who has it waits for no other one.
    Result<base::UniqueFd> lock_store() const;
    /// Those of all roots but for that of `key` in this one. What cannot be read, because it is
    /// damaged or gone by now, counts for nothing.
    Result<std::vector<Journal>> others(const SetUpKey& key) const;

private:
    friend class JournalStore;
    RootJournals() = default;

    void remove_store_lock() const;
    Error discard(const std::string& temporary) const;
    /// Of another root, or but for one of this one.
    Result<void> read_all_but(const std::string& own, const std::string& root,
                              std::vector<Journal>& found) const;

    base::UniqueFd store_;
    base::UniqueFd directory_;
    base::UniqueFd lock_;
    std::string name_;
    bool exclusive_ = false;
    bool has_scratch_ = false;
    bool may_be_empty_ = false;
};

/// The directory that journals are kept in: one below it for each root, so that
/// the set-ups of other roots cost nothing.
class JournalStore {
public:
    /// Creates the directory where it is missing. Errors of both: as of StateDirectory.
    static Result<JournalStore> create(const std::string& directory, int rootfs_fd);
    /// None where it is missing: then nothing is set up.
    static Result<std::optional<JournalStore>> open(const std::string& directory, int rootfs_fd);

    /// As StateDirectory::check_outside(), for a root that was found by a journal.
    Result<void> check_outside(int rootfs_fd) const { return directory_.check_outside(rootfs_fd); }

    /// An operation takes milliseconds, and seconds on a slow disk.
    static constexpr std::chrono::milliseconds patience = std::chrono::seconds(30);

    Result<RootJournals> create_root(RootName root) const;
    /// None when there is no journal of it. Shared for those who only look, who have none
    /// where they may not write and there is no lock that they may read; none for who says
    /// of a root that he may not have that. Whoever has the lock for longer than
    /// `limit` is named in an error.
    enum class Lock : std::uint8_t { exclusive, shared, none };
    Result<std::optional<RootJournals>> open_root(RootName root, Lock lock,
                                                  std::chrono::milliseconds limit = patience) const;

    /// Of an error of open_root(): that somebody else had the lock all the while.
    static bool is_locked_out(const Error& error);

    Result<std::vector<RootName>> roots() const;

private:
    explicit JournalStore(StateDirectory directory) : directory_(std::move(directory)) {}
    /// The lock of a root's directory; none where that is on its way out.
    Result<base::UniqueFd> lock_root(int directory, const std::string& name, Lock lock,
                                     std::chrono::milliseconds limit) const;

    StateDirectory directory_;
};

} // namespace gpucontainer::journal
