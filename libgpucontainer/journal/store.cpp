// SPDX-License-Identifier: MIT
#include "journal/store.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/own_proc.hpp"
#include "base/text.hpp"
#include "base/trusted_way.hpp"
#include "base/try.hpp"
#include "base/write_all.hpp"
#include "program/directory_times.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace gpucontainer::journal {
namespace {

using base::UniqueFd;

constexpr std::size_t largest_journal = std::size_t{16} << 20U;
constexpr mode_t private_directory = 0700;
constexpr mode_t private_file = 0600;
constexpr const char* lock_name = "lock";
constexpr std::string_view unfinished = ".new";

std::string unfinished_name(const std::string& journal)
{
    return journal + std::string(unfinished);
}

std::string directory_name(RootName root) { return base::format("{}-{}", root.first, root.second); }

std::optional<RootName> parse_directory_name(std::string_view name)
{
    const auto parts = base::split(name, '-');
    if (parts.size() != 2)
        return std::nullopt;
    const auto device = base::to_number(parts[0]);
    const auto inode = base::to_number(parts[1]);
    return device && inode ? std::optional(RootName(*device, *inode)) : std::nullopt;
}

bool is_denied(int os_error) noexcept
{
    return os_error == EROFS || os_error == EACCES || os_error == EPERM;
}

/// Waits for a lock. EWOULDBLOCK if somebody else had it all the time. On NFS, an exclusive lock
/// needs a writable file. It polls, because a library cannot use signals or threads of its caller
/// to limit the time.
bool take_lock(int file, JournalStore::Lock lock, std::chrono::milliseconds limit)
{
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds longest_pause(20);
    const int operation = lock == JournalStore::Lock::shared ? LOCK_SH : LOCK_EX;
    std::optional<Clock::time_point> end;
    for (std::chrono::milliseconds pause(1); ::flock(file, operation | LOCK_NB) != 0;
         pause = std::min(2 * pause, longest_pause)) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        if (!end)
            end = Clock::now() + limit;
        if (Clock::now() >= *end) {
            errno = EWOULDBLOCK;
            return false;
        }
        const timespec time = {0, std::chrono::nanoseconds(pause).count()};
        (void)::nanosleep(&time, nullptr);
    }
    return true;
}

/// The process that has the lock, in words. The kernel's table of locks names it if it is in this
/// pid namespace.
std::string holder_of(int file)
{
    struct stat status = {};
    const auto locks = base::read_file("/proc/locks");
    if (!locks || ::fstat(file, &status) != 0)
        return "another process";
    const std::string wanted = base::format("{:02x}:{:02x}:{}", ::major(status.st_dev),
                                            ::minor(status.st_dev), status.st_ino);
    for (const std::string_view line : base::split(*locks, '\n')) {
        // "1: FLOCK  ADVISORY  WRITE 1234 00:1a:56 0 EOF"
        auto words = base::split(line, ' ');
        std::erase(words, std::string_view());
        constexpr std::size_t type = 1;
        constexpr std::size_t process = 4;
        constexpr std::size_t inode = 5;
        if (words.size() > inode && words[type] == "FLOCK" && words[inode] == wanted)
            return base::format("process {}", words[process]);
    }
    return "another process";
}

Error locked_out(const std::string& directory, int file)
{
    return Error(Errc::apply, base::format("journal directory {}: {} is at work on this root file "
                                           "system and does not come to an end",
                                           directory, holder_of(file)))
        .with_object(directory)
        .with_hint("wait for that process or end it, and try again");
}

/// Allocates neither memory nor descriptors, because these may have run out.
bool holds_nothing_else(int directory, std::string_view name) noexcept
{
    alignas(dirent64) std::array<char, 2048> entries;
    if (::lseek(directory, 0, SEEK_SET) != 0)
        return false;
    ssize_t got = 0;
    while ((got = ::getdents64(directory, entries.data(), entries.size())) > 0) {
        for (ssize_t at = 0; at < got;) {
            // NOLINTNEXTLINE: the kernel's layout
            const auto* const entry =
                reinterpret_cast<const dirent64*>(&entries[static_cast<std::size_t>(at)]);
            const std::string_view found = &entry->d_name[0];
            if (found != "." && found != ".." && found != name)
                return false;
            at += entry->d_reclen;
        }
    }
    return got == 0;
}

/// Whether this is still the directory's lock: its previous holder may have removed it.
bool has_name(int directory, int lock)
{
    struct stat named = {};
    struct stat status = {};
    return ::fstatat(directory, lock_name, &named, AT_SYMLINK_NOFOLLOW) == 0
           && ::fstat(lock, &status) == 0 && named.st_dev == status.st_dev
           && named.st_ino == status.st_ino;
}

/// The previous holder of the lock may have removed the file together with its directory.
bool was_removed(int file)
{
    struct stat status = {};
    return ::fstat(file, &status) != 0 || status.st_nlink == 0;
}

} // namespace

RootJournals::~RootJournals()
{
    if (!directory_ || !may_be_empty_ || !holds_nothing_else(directory_.get(), lock_name))
        return;
    (void)::unlinkat(directory_.get(), lock_name, 0);
    if (::unlinkat(store_.get(), name_.c_str(), AT_REMOVEDIR) == 0)
        remove_store_lock();
}

/// The file stays as long as there is a set-up, so that undo needs no disk space for it.
void RootJournals::remove_store_lock() const
{
    const UniqueFd file(::openat(store_.get(), lock_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    const UniqueFd store(file ? ::openat(store_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                              : -1);
    if (store && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && has_name(store.get(), file.get())
        && holds_nothing_else(store.get(), lock_name))
        (void)::unlinkat(store.get(), lock_name, 0);
}

Result<std::vector<SetUpKey>> RootJournals::keys()
{
    GPUCTR_TRY(const auto names, base::list_directory(directory_.get(), "."), "journal directory");
    std::vector<SetUpKey> keys;
    for (const std::string& name : names) {
        // Of a process that was cut off writing it: nobody else holds the lock.
        if (exclusive_ && name.ends_with(unfinished))
            (void)::unlinkat(directory_.get(), name.c_str(), 0);
        if (name == mount::scratch_name && exclusive_) {
            GPUCTR_CHECK(base::open_own_descriptors());
            (void)mount::remove_scratch(directory_.get());
        } else if (name == mount::scratch_name) {
            has_scratch_ = true;
        }
        if (auto key = parse_file_name(name))
            keys.push_back(*std::move(key));
    }
    may_be_empty_ = may_be_empty_ && keys.empty();
    return keys;
}

Result<mount::Scratch> RootJournals::scratch(mount::Backend backend) const
{
    return mount::Scratch::in_directory(backend, directory_.get());
}

Result<Journal> RootJournals::read(const SetUpKey& key) const
{
    const std::string name = file_name(key);
    const UniqueFd file(::openat(directory_.get(), name.c_str(),
                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file)
        return Error::from_errno(errno, "journal " + name, Errc::apply);
    GPUCTR_CHECK(base::check_trust(file.get(), base::format("{}/{}", name_, name)), "journal");
    auto text = base::read_all(file.get(), largest_journal);
    if (!text)
        return std::move(text).error().with_code(Errc::apply).context("journal " + name);
    const std::string path = name_ + "/" + name;
    GPUCTR_TRY(Journal journal, from_text(path, *text));
    if (name != file_name(journal.key)
        || name_ != directory_name({journal.root.device, journal.root.inode}))
        return Error(Errc::apply, "journal " + path + ": damaged: it is that of another set-up")
            .with_object(path)
            .with_hint("remove it once you have looked after what it stands for");
    return journal;
}

Error RootJournals::discard(const std::string& temporary) const
{
    Error error = Error::from_errno(errno, "journal " + temporary, Errc::apply);
    (void)::unlinkat(directory_.get(), temporary.c_str(), 0);
    return error;
}

Result<void> RootJournals::write(const Journal& journal, const program::Program& program)
{
    const std::string name = file_name(journal.key);
    const std::string temporary = unfinished_name(name);
    // Of a process that was cut off writing it: nobody else holds the lock.
    (void)::unlinkat(directory_.get(), temporary.c_str(), 0);
    const UniqueFd file(::openat(directory_.get(), temporary.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 private_file));
    if (!file)
        return Error::from_errno(errno, "journal " + temporary, Errc::apply);
    if (!base::write_all(file.get(), to_text(journal, program))
        || (journal.persistent && ::fsync(file.get()) != 0)
        || ::renameat(directory_.get(), temporary.c_str(), directory_.get(), name.c_str()) != 0)
        return discard(temporary);
    may_be_empty_ = false;
    if (journal.persistent && (::fsync(directory_.get()) != 0 || ::fsync(store_.get()) != 0))
        return Error::from_errno(errno, "journal " + name, Errc::apply);
    return {};
}

Result<void> RootJournals::write_before_changes(Journal& journal, const program::Program& program)
{
    // On a slow disk, it would use up the time in which changes are taken for ours.
    constexpr int most = 3;
    for (int tries = 0; tries < most; ++tries) {
        journal.changing_since = program::file_clock();
        GPUCTR_CHECK(write(journal, program));
        if (program::file_clock() - journal.changing_since < program::longest_change / 2)
            break;
    }
    return {};
}

Result<void> RootJournals::remove(const SetUpKey& key)
{
    may_be_empty_ = exclusive_;
    const std::string name = file_name(key);
    if (::unlinkat(directory_.get(), name.c_str(), 0) != 0 && errno != ENOENT)
        return Error::from_errno(errno, "journal " + name, Errc::apply);
    (void)::unlinkat(directory_.get(), unfinished_name(name).c_str(), 0);
    return {};
}

Result<UniqueFd> RootJournals::lock_store() const
{
    // A file that nobody else can open. Others may be allowed to open the directory, and could
    // block everybody by locking that.
    while (true) {
        UniqueFd file(::openat(store_.get(), lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                               private_file));
        if (!file || !take_lock(file.get(), JournalStore::Lock::exclusive, JournalStore::patience))
            return Error::from_errno(errno, "lock the journal directory", Errc::apply);
        if (has_name(store_.get(), file.get()))
            return file;
    }
}

Result<std::vector<Journal>> RootJournals::others(const SetUpKey& key) const
{
    GPUCTR_TRY(const auto names, base::list_directory(store_.get(), "."), "journal directory");
    std::vector<Journal> found;
    for (const std::string& name : names) {
        if (!parse_directory_name(name))
            continue;
        auto read = read_all_but(name == name_ ? file_name(key) : "", name, found);
        if (!read && base::leaves_open(read.error().os_error()))
            return std::move(read).error();
    }
    return found;
}

Result<void> RootJournals::read_all_but(const std::string& own, const std::string& root,
                                        std::vector<Journal>& found) const
{
    RootJournals journals;
    journals.name_ = root;
    journals.directory_.reset(
        ::openat(store_.get(), root.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!journals.directory_)
        return Error::from_errno(errno, "journal directory " + root, Errc::apply);
    GPUCTR_CHECK(base::check_trust(journals.directory_.get(), root), "journal directory");
    GPUCTR_TRY(const auto keys, journals.keys());
    for (const SetUpKey& key : keys) {
        auto journal =
            file_name(key) != own ? journals.read(key) : Result<Journal>(Error(Errc::apply, own));
        if (journal)
            found.push_back(*std::move(journal));
        else if (base::leaves_open(journal.error().os_error()))
            return std::move(journal).error();
    }
    return {};
}

Result<JournalStore> JournalStore::create(const std::string& directory, int rootfs_fd)
{
    GPUCTR_TRY(auto opened, about("state_dir", StateDirectory::create(directory, rootfs_fd)));
    return JournalStore(std::move(opened));
}

Result<std::optional<JournalStore>> JournalStore::open(const std::string& directory, int rootfs_fd)
{
    GPUCTR_TRY(auto opened, about("state_dir", StateDirectory::open(directory, rootfs_fd)));
    if (!opened)
        return std::optional<JournalStore>();
    return std::optional(JournalStore(*std::move(opened)));
}

Result<std::optional<JournalStore>> JournalStore::foresee(const std::string& directory,
                                                          int rootfs_fd)
{
    GPUCTR_TRY(auto opened, about("state_dir", StateDirectory::foresee(directory, rootfs_fd)));
    if (!opened)
        return std::optional<JournalStore>();
    return std::optional(JournalStore(*std::move(opened)));
}

Result<RootJournals> JournalStore::create_root(RootName root) const
{
    const std::string name = directory_name(root);
    while (true) {
        const bool made = ::mkdirat(directory_.fd(), name.c_str(), private_directory) == 0;
        if (!made && errno != EEXIST)
            return directory_.unusable();
        auto journals = open_root(root, Lock::exclusive);
        if (!journals && made)
            (void)::unlinkat(directory_.fd(), name.c_str(), AT_REMOVEDIR); // nobody else has a lock
        if (!journals)
            return std::move(journals).error();
        if (*journals)
            return **std::move(journals);
    }
}

Result<std::optional<RootJournals>> JournalStore::open_root(RootName root, Lock lock,
                                                            std::chrono::milliseconds limit) const
{
    const std::string name = directory_name(root);
    while (true) {
        RootJournals journals;
        journals.name_ = name;
        journals.exclusive_ = lock == Lock::exclusive;
        journals.store_.reset(::fcntl(directory_.fd(), F_DUPFD_CLOEXEC, 3));
        journals.directory_.reset(::openat(directory_.fd(), name.c_str(),
                                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!journals.directory_ && errno == ENOENT)
            return std::optional<RootJournals>();
        if (!journals.store_ || !journals.directory_)
            return directory_.unusable();
        GPUCTR_CHECK(about("state_dir", base::check_trust(journals.directory_.get(),
                                                          directory_.path() + "/" + name)),
                     "journal directory");
        if (lock == Lock::none)
            return std::optional(std::move(journals));
        GPUCTR_TRY(journals.lock_, lock_root(journals.directory_.get(), name, lock, limit));
        if (!journals.lock_)
            continue; // the directory is being removed
        journals.may_be_empty_ = journals.exclusive_;
        return std::optional(std::move(journals));
    }
}

bool JournalStore::is_locked_out(const Error& error)
{
    return error.code() == Errc::apply && error.os_error() == 0; // no call failed
}

Result<UniqueFd> JournalStore::lock_root(int directory, const std::string& name, Lock lock,
                                         std::chrono::milliseconds limit) const
{
    const int create = lock == Lock::exclusive ? O_CREAT : 0; // a reader changes nothing
    UniqueFd file(
        ::openat(directory, lock_name, O_RDWR | create | O_NOFOLLOW | O_CLOEXEC, private_file));
    if (!file && lock == Lock::shared && is_denied(errno))
        file.reset(::openat(directory, lock_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    const bool missing = !file && errno == ENOENT;
    if (!file && lock == Lock::shared && (missing ? !was_removed(directory) : is_denied(errno)))
        return UniqueFd(::fcntl(directory, F_DUPFD_CLOEXEC, 3)); // it does without the lock
    if (missing)
        return file;
    if (!file)
        return directory_.unusable();
    if (!take_lock(file.get(), lock, limit)) {
        if (errno == EWOULDBLOCK)
            return locked_out(directory_.path() + "/" + name, file.get());
        return directory_.unusable();
    }
    if (was_removed(file.get()))
        file.reset();
    return file;
}

Result<std::vector<RootName>> JournalStore::roots() const
{
    GPUCTR_TRY(const auto names, about("state_dir", base::list_directory(directory_.fd(), ".")),
               "journal directory");
    std::vector<RootName> roots;
    for (const std::string& name : names)
        if (const auto root = parse_directory_name(name))
            roots.push_back(*root);
    return roots;
}

} // namespace gpucontainer::journal
