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

/// Device and inode, from which a root's directory in the store has its name.
using RootName = std::pair<std::uint64_t, std::uint64_t>;

/// The journals of one root directory, locked while this object lives. Of two operations on the
/// same root, one waits for a limited time.
class RootJournals {
public:
    RootJournals(RootJournals&&) noexcept = default;
    RootJournals& operator=(RootJournals&&) = delete;
    /// Removes the directory if it has no journal.
    ~RootJournals();

    /// Keys of all set-ups, from their names.
    Result<std::vector<SetUpKey>> keys();
    Result<Journal> read(const SetUpKey& key) const;

    /// Whether keys() saw the scratch directory of an interrupted process and may not remove it.
    bool has_scratch() const noexcept { return has_scratch_; }

    /// A scratch directory that nobody else uses. Needs the exclusive lock.
    Result<mount::Scratch> scratch(mount::Backend backend) const;

    /// Writes a journal. For a persistent set-up it is on disk afterwards, which must be before
    /// any change that outlives a loss of power.
    Result<void> write(const Journal& journal, const program::Program& program);
    /// The same, immediately before the root is changed: sets the time from which changes are
    /// ours.
    Result<void> write_before_changes(Journal& journal, const program::Program& program);
    Result<void> remove(const SetUpKey& key);

    /// Locks what set-ups of several roots share, while the descriptor is open. It is always the
    /// last lock: its holder waits for no other.
    Result<base::UniqueFd> lock_store() const;
    /// The journals of all roots, except that of `key` in this one. Journals that are damaged, or
    /// gone meanwhile, are ignored.
    Result<std::vector<Journal>> others(const SetUpKey& key) const;

private:
    friend class JournalStore;
    RootJournals() = default;

    void remove_store_lock() const;
    Error discard(const std::string& temporary) const;
    /// Those of another root, or of this one except `key`.
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

/// The store of journals. Each root has its own directory in it, so that set-ups of other roots
/// cost nothing.
class JournalStore {
public:
    /// Creates the directory if it is missing. Errors of both functions: those of StateDirectory.
    static Result<JournalStore> create(const std::string& directory, int rootfs_fd);
    /// None if the directory is missing: then nothing is set up.
    static Result<std::optional<JournalStore>> open(const std::string& directory, int rootfs_fd);

    /// Like StateDirectory::foresee(), for those who only tell what create() would lead to.
    static Result<std::optional<JournalStore>> foresee(const std::string& directory, int rootfs_fd);
    Result<void> require_writable() const { return directory_.require_writable(); }

    /// Like StateDirectory::check_outside(), for a root that was found by a journal.
    Result<void> check_outside(int rootfs_fd) const { return directory_.check_outside(rootfs_fd); }

    /// How long to wait: an operation takes milliseconds, or seconds on a slow disk.
    static constexpr std::chrono::milliseconds patience = std::chrono::seconds(30);

    Result<RootJournals> create_root(RootName root) const;
    /// Opens a root's journals; none if it has none. Readers take a shared lock, or none if the
    /// lock file is missing, or they can neither write nor read it. If somebody else has the lock
    /// for longer than `limit`, the error names the process.
    enum class Lock : std::uint8_t { exclusive, shared, none };
    Result<std::optional<RootJournals>> open_root(RootName root, Lock lock,
                                                  std::chrono::milliseconds limit = patience) const;

    /// Whether an error of open_root() means that somebody else had the lock all the time.
    static bool is_locked_out(const Error& error);

    Result<std::vector<RootName>> roots() const;

private:
    explicit JournalStore(StateDirectory directory) : directory_(std::move(directory)) {}
    /// The lock of a root's directory; none if that is being removed.
    Result<base::UniqueFd> lock_root(int directory, const std::string& name, Lock lock,
                                     std::chrono::milliseconds limit) const;

    StateDirectory directory_;
};

} // namespace gpucontainer::journal
