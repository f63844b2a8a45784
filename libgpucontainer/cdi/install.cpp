// SPDX-License-Identifier: MIT
#include "cdi/install.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/trusted_way.hpp"
#include "base/try.hpp"
#include "base/write_all.hpp"
#include "cdi/directories.hpp"
#include "cdi/value.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace gpucontainer::cdi {
namespace {

using base::UniqueFd;

constexpr mode_t directory_mode = 0755; // users start containers, too
constexpr mode_t file_mode = 0644;

Error failed(const std::string& path)
{
    return Error::from_errno(errno, path, Errc::usage).with_object(path);
}

Result<base::TrustedWay> walk(const std::string& path)
{
    GPUCTR_TRY(auto way, base::TrustedWay::walk(path, O_RDONLY | O_DIRECTORY));
    if (way.distrust)
        return *std::move(way.distrust);
    return way;
}

/// Opens a directory that only root or the caller can have written, and makes what is missing of
/// its path.
Result<UniqueFd> open_directory(const std::string& path)
{
    GPUCTR_TRY(auto way, walk(path));
    if (!way.fd) {
        if (const auto made = way.make_missing(directory_mode); !made) {
            errno = made.error().os_error();
            return failed(path);
        }
        GPUCTR_TRY(way, walk(path));
    }
    if (!way.fd)
        return Error(Errc::usage, path + ": not a directory").with_object(path);
    GPUCTR_CHECK(base::check_trust(way.fd.get(), path));
    return std::move(way.fd);
}

/// The content of a regular file; none if there is none.
std::optional<std::string> content_of(const std::string& path)
{
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
        return std::nullopt;
    auto text = base::read_file(path, largest_document);
    return text ? std::optional(*std::move(text)) : std::nullopt;
}

/// Removes a file that was not put into its place.
class Temporary {
public:
    Temporary(int directory, std::string name) : directory_(directory), name_(std::move(name)) {}
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;
    ~Temporary()
    {
        if (!name_.empty())
            (void)::unlinkat(directory_, name_.c_str(), 0);
    }
    const char* name() const { return name_.c_str(); }
    void keep() { name_.clear(); }

private:
    int directory_;
    std::string name_;
};

/// Readers see the old file or the new one, and nothing between. Engines do not read the
/// temporary one, whose name ends otherwise.
Result<void> replace(int directory, const std::string& path, const std::string& text)
{
    const std::string name(base::name_of(path));
    Temporary temporary(directory, base::format(".{}.{}.tmp", name, ::getpid()));
    (void)::unlinkat(directory, temporary.name(), 0); // of a process that was killed
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const UniqueFd fd(::openat(directory, temporary.name(), flags, file_mode));
    if (!fd || ::fchmod(fd.get(), file_mode) != 0 || !base::write_all(fd.get(), text)
        || ::fsync(fd.get()) != 0
        || ::renameat(directory, temporary.name(), directory, name.c_str()) != 0)
        return failed(path);
    temporary.keep();
    return {};
}

/// Its directory is looked at in any case: others could replace the file later.
Result<bool> replace_if_different(const std::string& path, const std::string& text)
{
    GPUCTR_TRY(const UniqueFd directory, open_directory(std::string(base::directory_of(path))));
    if (content_of(path) == text)
        return false;
    GPUCTR_CHECK(replace(directory.get(), path, text));
    return true;
}

bool is_same_file(const std::string& one, const std::string& other)
{
    struct stat first = {};
    struct stat second = {};
    return ::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0
           && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/// Where engines may find a device twice.
std::vector<std::string> searched_directories(const std::string& path)
{
    std::vector<std::string> directories(usual_directories().begin(), usual_directories().end());
    directories.emplace_back(base::directory_of(path));
    return directories;
}

Result<void> require_no_other_owner(const Installation& installation)
{
    std::set<std::string> names;
    for (const Device& device : installation.specification.devices)
        names.insert(base::format("{}={}", installation.specification.kind, device.name));
    const Listing listing = read_paths(searched_directories(installation.path));
    for (const ListedDevice& device : listing.devices)
        if (names.contains(device.name) && !is_same_file(device.path, installation.path))
            return Error(Errc::exists,
                         base::format("{} has the device {}", device.path, device.name))
                .with_object(device.path)
                .with_hint(
                    "remove that specification; an engine takes a device from one file only");
    return {};
}

std::string record_of(const Installation& installation)
{
    return record_path(installation.files_directory, installation.specification.kind);
}

Result<void> require_own(const Installation& installation)
{
    struct stat status = {};
    if (::lstat(installation.path.c_str(), &status) != 0)
        return {};
    const auto text = content_of(record_of(installation));
    const auto record = text ? parse_record(*text) : std::nullopt;
    const auto installed =
        content_of(installed_path(installation.files_directory, installation.specification.kind));
    if (record && record->path == installation.path && installed
        && content_of(installation.path) == installed)
        return {};
    return Error(Errc::exists, base::format("{} is there, and was not installed by this program",
                                            installation.path))
        .with_object(installation.path)
        .with_hint("remove it, or name another directory");
}

std::vector<Mark> marks_of(const Installation& installation)
{
    std::vector<Mark> marks = installation.marks;
    std::set<std::string> sources;
    for (const Mount& mount : installation.specification.edits.mounts)
        sources.insert(mount.host_path);
    for (const HostFile& file : installation.files)
        sources.erase(file.path); // each is replaced with the specification
    for (const std::string& source : sources)
        marks.push_back({source, state_of_file(source)});
    return marks;
}

bool is_path(const std::string& object) { return object.starts_with('/'); }

using Facts = std::map<std::string, std::string>;

/// How a fact of the record differs: "was 580.159.04, and is 590.10"; "" if it does not. Null: only
/// files are known.
std::string difference(const Mark& before, const Facts* now)
{
    if (is_path(before.object)) {
        const std::string state = state_of_file(before.object);
        // A missing one is reported anyway.
        return state == before.state || state == "missing" ? "" : "is another file now";
    }
    if (now == nullptr)
        return "";
    const auto found = now->find(before.object);
    if (found == now->end())
        return base::format("was {}, and is not there", before.state);
    return found->second == before.state
               ? ""
               : base::format("was {}, and is {}", before.state, found->second);
}

model::Finding outdated(const std::string& path, const std::string& object, const std::string& why)
{
    return {model::FindingCode::cdi_outdated, path, base::format("{} {}", object, why),
            is_path(object) ? object : "", "`gpuctr-setup cdi generate --install` writes it again"};
}

/// Null: none is known.
Facts facts_of(const std::vector<Mark>* marks)
{
    Facts facts;
    if (marks != nullptr)
        for (const Mark& mark : *marks)
            facts.emplace(mark.object, mark.state);
    return facts;
}

} // namespace

Result<Outcome> install(const Installation& installation)
{
    GPUCTR_CHECK(require_no_other_owner(installation));
    if (content_of(installation.path) != installation.text)
        GPUCTR_CHECK(require_own(installation));
    // Before anything is written.
    GPUCTR_TRY(const UniqueFd place,
               open_directory(std::string(base::directory_of(installation.path))));
    bool changed = false;
    for (const HostFile& file : installation.files) {
        GPUCTR_TRY(const bool made, replace_if_different(file.path, file.content));
        changed = changed || made;
    }
    // The record is first: of a specification without one nobody would know whose it is.
    const Record record = {installation.path, marks_of(installation)};
    GPUCTR_CHECK(replace_if_different(record_of(installation), to_text(record)));
    GPUCTR_TRY(const bool written, replace_if_different(installation.path, installation.text));
    GPUCTR_CHECK(replace_if_different(
        installed_path(installation.files_directory, installation.specification.kind),
        installation.text));
    return written || changed ? Outcome::written : Outcome::unchanged;
}

void report_changes(const std::string& path, const std::string& kind,
                    const std::string& files_directory, const std::vector<Mark>* marks,
                    model::Findings& findings)
{
    const auto text = content_of(record_path(files_directory, kind));
    const auto record = text ? parse_record(*text) : std::nullopt;
    if (!record || !is_same_file(record->path, path))
        return;
    const auto report = [&](const std::string& object, const std::string& why) {
        if (!why.empty())
            findings.push_back(outdated(path, object, why));
    };
    Facts now = facts_of(marks);
    for (const Mark& mark : record->marks)
        report(mark.object, difference(mark, marks != nullptr ? &now : nullptr));
    for (const Mark& mark : record->marks)
        now.erase(mark.object);
    for (const auto& [object, state] : now)
        report(object, base::format("is new: {}", state));
}

} // namespace gpucontainer::cdi
