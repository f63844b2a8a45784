// SPDX-License-Identifier: MIT
#include "explain/copies.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/registry.hpp"
#include "elf/facts.hpp"
#include "elf/machine.hpp"
#include "explain/names.hpp"
#include "plan/draft.hpp"
#include "rootfs/layout.hpp"
#include "search/loader_path.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace gpucontainer::explain {

using model::DriverFile;
using model::DriverStack;
using model::FileKind;
using model::Finding;
using model::FindingCode;

namespace {

constexpr std::size_t most_copies = 64;
constexpr std::array tool_directories = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                         "/usr/bin",        "/sbin",          "/bin"};
/// Where toolkits have copies of libraries that are not for running programs.
constexpr std::array below_libraries = {"stubs", "compat"};

void add_once(std::vector<std::string>& list, std::string value)
{
    if (!value.empty() && std::ranges::find(list, value) == list.end())
        list.push_back(std::move(value));
}

/// What follows ".so." in a name, if it has a dot: "580.95.05".
std::string_view version_in(std::string_view name)
{
    constexpr std::string_view mark = ".so.";
    const auto at = name.find(mark);
    const std::string_view version =
        at == std::string_view::npos ? std::string_view() : name.substr(at + mark.size());
    return version.find('.') != std::string_view::npos
                   && version.find_first_not_of("0123456789.") == std::string_view::npos
               ? version
               : std::string_view();
}

/// Looks at each place of the host where a name could be.
class HostCopies {
public:
    HostCopies(const host::DriverRoot& root, const DriverStack& driver, const DriverFile& file,
               bool taken)
        : root_(root), driver_(driver), file_(file), taken_(taken)
    {
    }

    model::Findings find()
    {
        if (taken_)
            seen_.insert({file_.id.device, file_.id.inode});
        if (file_.kind == FileKind::library)
            for (const bool compat32 : {false, true})
                if (const auto* machine = elf::machine_for(root_.machine(), compat32))
                    for (const elf::CacheEntry& entry : root_.cached(name(), *machine))
                        look_at(std::string(entry.value), true);
        std::vector<std::string> names = {name()};
        if (const auto at = name().find(".so."); at != std::string::npos)
            names.push_back(name().substr(0, at + 3)); // stubs have only this name
        for (const std::string& directory : directories())
            for (const std::string& one : names)
                look_at(base::format("{}/{}", directory == "/" ? "" : directory, one), false);
        return std::move(found_);
    }

private:
    std::vector<std::string> directories() const
    {
        std::vector<std::string> all;
        if (file_.kind == FileKind::tool)
            for (const char* directory : tool_directories)
                add_once(all, directory);
        else
            add_directories_of_libraries(all);
        for (const DriverFile& file : driver_.files)
            if (file.kind == file_.kind && base::is_below(file.path, root_.prefix()))
                add_once(all, std::string(base::directory_of(
                                  std::string_view(file.path).substr(root_.prefix().size()))));
        return all;
    }

    void add_directories_of_libraries(std::vector<std::string>& all) const
    {
        for (std::string& directory : root_.configured_directories())
            add_once(all, std::move(directory));
        std::vector<std::string> patterns = driver_.image_directories;
        if (const auto* vendor = drivers::find_vendor(driver_.vendor);
            vendor != nullptr && vendor->directories != nullptr)
            for (const std::string& pattern : vendor->directories())
                patterns.push_back(pattern);
        for (std::string& directory : search::expand_directories(root_, patterns))
            add_once(all, std::move(directory));
        for (std::size_t i = 0, count = all.size(); i < count; ++i)
            for (const char* name : below_libraries)
                add_once(all, base::format("{}/{}", all[i], name));
    }

    void look_at(const std::string& path, bool from_cache)
    {
        if (found_.size() >= most_copies)
            return;
        const auto opened = root_.open_file(path);
        if (!opened) {
            add_lost(path, from_cache);
            return;
        }
        if (!seen_.insert({opened->status.st_dev, opened->status.st_ino}).second)
            return;
        const std::string_view real = base::name_of(opened->real_path);
        const std::string_view version = version_in(real);
        std::string text = said_of(path, opened->real_path);
        if (text.empty() && base::name_of(base::directory_of(opened->real_path)) == "stubs")
            text = "is a stub to link against";
        FindingCode code = FindingCode::file_unusable;
        if (text.empty())
            text = objection(elf::read_facts(opened->fd.get()));
        if (text.empty() && is_other(version)) {
            code = FindingCode::version_differs;
            text = base::format("is version {}; the driver's is {}", version, driver_.version);
        }
        if (text.empty()) {
            code = FindingCode::file_left_out;
            text = taken_ ? base::format("{} was found first", file_.path)
                          : std::string("was not taken");
        }
        found_.push_back({code, name(), std::move(text), root_.prefix() + path});
    }

    const std::string& name() const { return file_.soname.empty() ? file_.name : file_.soname; }

    /// A name that leads nowhere.
    void add_lost(const std::string& path, bool from_cache)
    {
        const auto target = root_.link_target(path);
        if ((!target && !from_cache) || !lost_.insert(path).second)
            return;
        found_.push_back({FindingCode::file_unusable, name(),
                          target ? base::format("is a link to {}, which is not there", *target)
                                 : "is in the loader cache, but not there",
                          root_.prefix() + path});
    }

    /// What the search for the driver said about the file; "" if it did not look at it.
    std::string said_of(const std::string& path, const std::string& real_path) const
    {
        for (const Finding& finding : driver_.findings)
            if (finding.evidence == root_.prefix() + path
                || finding.evidence == root_.prefix() + real_path)
                return finding.text;
        return "";
    }

    std::string objection(const Result<elf::Facts>& facts) const
    {
        if (!facts)
            return file_.kind == FileKind::tool ? "is not an ELF program" : facts.error().message();
        const auto* const machine = elf::machine_for(root_.machine(), file_.compat32);
        if (machine != nullptr && !elf::is_for(*facts, *machine))
            return facts->machine == machine->number || is_compat32(*facts)
                       ? base::format("is for {}-bit programs",
                                      facts->elf_class == elf::Facts::Class::elf32 ? 32 : 64)
                       : base::format("is for {}", elf::machine_name(facts->machine));
        if (!file_.soname.empty() && !facts->soname.empty() && facts->soname != file_.soname)
            return base::format("has the soname {}", facts->soname);
        return "";
    }

    bool is_compat32(const elf::Facts& facts) const
    {
        const auto* const other = elf::machine_for(root_.machine(), !file_.compat32);
        return other != nullptr && elf::is_for(facts, *other);
    }

    bool is_other(std::string_view version) const
    {
        return !version.empty() && !driver_.version.empty() && version != driver_.version
               && (!taken_ || file_.path.ends_with(driver_.version));
    }

    const host::DriverRoot& root_;
    const DriverStack& driver_;
    const DriverFile& file_;
    bool taken_;
    model::Findings found_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen_;
    std::set<std::string> lost_;
};

/// Where programs of an image could find a file of its own.
std::vector<std::string> places_in_image(const rootfs::View& view, const plan::Plan& plan,
                                         const DriverStack& driver, const DriverFile& file)
{
    std::vector<std::string> places;
    if (file.kind == FileKind::tool)
        for (const char* directory : tool_directories)
            places.push_back(base::format("{}/{}", directory, file.name));
    const elf::Machine* const machine = elf::machine_for(*plan.machine, file.compat32);
    if (file.kind != FileKind::library || machine == nullptr)
        return places;
    std::vector<std::string> directories = rootfs::library_directories(*machine);
    if (const auto layout = rootfs::find_layout(view, *plan.machine, driver.image_directories))
        for (const std::string& directory : layout->searched_directories)
            add_once(directories, directory);
    for (const std::string& directory : driver.image_directories)
        add_once(directories, directory);
    for (const std::string& directory : directories)
        places.push_back(base::format("{}/{}", directory, file.soname));
    return places;
}

std::string fate_of(const std::string& path, const plan::Plan& plan, bool given)
{
    for (const plan::Item& item : plan.items)
        if (item.kind() == plan::ItemKind::cover && item.target == path)
            return base::format("the image's own; {} is mounted over it", item.source());
    return given ? "the image's own; the host's is found before it"
                 : "the image's own, which programs there use";
}

} // namespace

model::Findings copies_on_host(const host::DriverRoot& root, const DriverStack& driver,
                               const DriverFile& file)
{
    return HostCopies(root, driver, file, true).find();
}

model::Findings copies_on_host(const host::DriverRoot& root, const DriverStack& driver,
                               const std::string& name)
{
    DriverFile file;
    file.kind = name.find(".so") == std::string::npos ? FileKind::tool : FileKind::library;
    (file.kind == FileKind::library ? file.soname : file.name) = name;
    return HostCopies(root, driver, file, false).find();
}

model::Findings copies_in_image(const rootfs::View& view, const plan::Plan& plan,
                                const DriverStack& driver, const DriverFile& file, bool given)
{
    model::Findings found;
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen = {{file.id.device, file.id.inode}};
    const std::string& name = file.soname.empty() ? file.name : file.soname;
    for (const std::string& path : places_in_image(view, plan, driver, file)) {
        const rootfs::Entry entry = view.resolve(path);
        const bool is_ours = (!plan.tree_path.empty() && base::is_below(path, plan.tree_path))
                             || !seen.insert({entry.device, entry.inode}).second;
        if (entry.type == rootfs::EntryType::regular && !is_ours)
            found.push_back({FindingCode::file_left_out, name, fate_of(path, plan, given), path});
    }
    return found;
}

} // namespace gpucontainer::explain
