// SPDX-License-Identifier: MIT
#include "drivers/nvidia/tegra_files.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "config/trusted_file.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"
#include "elf/facts.hpp"
#include "search/data_file.hpp"
#include "search/library_graph.hpp"
#include "search/loader_path.hpp"
#include "search/path_pattern.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <fnmatch.h>
#include <iterator>
#include <optional>
#include <string_view>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace gpucontainer::drivers::nvidia {

using model::Capability;
using model::Catalogue;
using model::CatalogueRule;
using model::DriverFile;
using model::FileId;
using model::FileKind;
using model::FindingCode;
using search::ClosedSet;

namespace {

using Kind = TegraRow::Kind;

constexpr std::string_view unknown_file = "part of this driver, unknown to the catalogue";

// Far more than any release has.
constexpr std::size_t most_lists = 64;
constexpr std::size_t most_paths = 3000;
constexpr std::size_t most_links = 60; ///< To one library.

bool is_elf(int fd)
{
    std::array<char, 4> start = {};
    return ::pread(fd, start.data(), start.size(), 0) == static_cast<ssize_t>(start.size())
           && std::string_view(start.data(), start.size())
                  == "\x7f"
                     "ELF";
}

/// Whether it is a program, and not a library that can also be executed.
bool is_program(const Result<elf::Facts>& facts)
{
    return facts && facts->has_interpreter() && facts->soname.empty();
}

/// What a file outside the catalogue is for, according to its path.
Capability use_of(const std::string& path)
{
    constexpr std::array graphics = {"*/tegra-egl/*", "*/egl_vendor.d/*",
                                     "*/egl_external_platform.d/*", "*/vulkan/*"};
    const bool is_graphics = std::ranges::any_of(
        graphics, [&](const char* pattern) { return ::fnmatch(pattern, path.c_str(), 0) == 0; });
    return is_graphics ? Capability::graphics : Capability::compute;
}

bool has_name(const DriverFile& file, const std::string& name)
{
    return file.name == name || file.soname == name
           || std::ranges::find(file.links, name) != file.links.end();
}

class ListedFiles {
public:
    ListedFiles(const host::DriverRoot& root, Catalogue catalogue)
        : root_(root), catalogue_(catalogue)
    {
    }

    ClosedSet run(const std::vector<TegraRow>& rows)
    {
        for (const CatalogueRule& rule : catalogue_)
            if (rule.kind == FileKind::data && rule.capability != Capability::none
                && model::find_rule(nvidia_catalogue(), FileKind::data, rule.name) == nullptr)
                data_rules_.push_back(rule);
        want_data(tegra_release);
        if (rows.empty())
            look_beside_main_library();
        for (const TegraRow& row : rows)
            sort_in(row);
        look_up_needs();
        for (const std::string& path : library_paths_)
            add_library_name(path);
        for (const std::string& path : links_)
            add_link(path);
        leave_out_nested_data();
        search::add_data(root_, data_rules_, search::Installation(), found_.files, found_.findings);
        for (const std::string& path : data_links_)
            add_data_link(path);
        std::ranges::sort(found_.files, [](const auto& a, const auto& b) {
            return std::tie(a.kind, a.name, a.path) < std::tie(b.kind, b.name, b.path);
        });
        return std::move(found_);
    }

private:
    struct Wanted {
        std::string path;
        std::string name;
    };

    void sort_in(const TegraRow& row)
    {
        const auto list = [&](const std::string& directory) { return root_.list(directory); };
        const auto paths = search::expand_pattern(row.path, list, most_paths);
        if (paths.empty())
            skip(row.path, "not installed", FindingCode::not_installed);
        for (const std::string& path : paths)
            sort_in(row.kind, path);
    }

    void sort_in(Kind kind, const std::string& path)
    {
        if (++paths_ > most_paths)
            skip(path, base::format("exceeds the limit of {} files", most_paths));
        else if (kind == Kind::library)
            sort_in_file(path);
        else if (kind == Kind::directory)
            want_data(path);
        else if (kind == Kind::link)
            links_.push_back(path);
    }

    void sort_in_file(const std::string& path)
    {
        const auto opened = root_.open_file(path);
        if (!opened) {
            if (opened.error().os_error() == ENOENT)
                skip(path, "not installed", FindingCode::not_installed);
            else
                skip(path, opened.error().cause());
            return;
        }
        if (!is_elf(opened->fd.get())) {
            want_data(path);
            return;
        }
        const auto facts = root_.noted(elf::read_facts(opened->fd.get()), path);
        if (is_program(facts)) {
            want(FileKind::tool, path, std::string(base::name_of(path)));
            return;
        }
        const bool has_soname = facts && !facts->soname.empty();
        want(FileKind::library, path,
             has_soname ? facts->soname : std::string(base::name_of(opened->real_path)));
        library_paths_.push_back(path);
    }

    void want(FileKind kind, const std::string& path, const std::string& name)
    {
        const CatalogueRule* const known = model::find_rule(catalogue_, kind, name);
        if (known != nullptr && known->neutral) {
            skip(path, base::format("the image's is used: {}", known->reason));
            return;
        }
        if (known != nullptr && known->capability == Capability::none) {
            skip(path, base::format("of no use in a container: {}", known->reason));
            return;
        }
        CatalogueRule rule = known != nullptr ? *known : CatalogueRule{};
        if (known == nullptr) {
            rule.kind = kind;
            rule.capability = kind == FileKind::tool ? Capability::utility : use_of(path);
            rule.reason = unknown_file;
        }
        rule.name = names_.emplace_back(name);
        rules_.push_back(rule);
        wanted_.push_back({path, name});
    }

    /// Adds a path as data, with the catalogue's rule if there is one.
    void want_data(const std::string& path)
    {
        const CatalogueRule* const known = model::find_rule(catalogue_, FileKind::data, path);
        CatalogueRule rule = known != nullptr ? *known : CatalogueRule{};
        if (known == nullptr) {
            rule.kind = FileKind::data;
            rule.capability = use_of(path);
            rule.reason = unknown_file;
        }
        rule.name = names_.emplace_back(path);
        data_rules_.push_back(rule);
    }

    /// Without lists, the files beside libcuda are the driver's. The names of its libraries have no
    /// version by which they could be told. Those for EGL have their own directory.
    void look_beside_main_library()
    {
        const std::vector<std::string> patterns = {"/usr/lib/*-linux-gnu/nvidia",
                                                   "/usr/lib/*-linux-gnu/tegra"};
        for (const std::string& directory : search::expand_directories(root_, patterns))
            if (root_.look(base::format("{}/{}", directory, main_library))
                || root_.look(base::format("{}/{}.1", directory, main_library))) {
                sort_in_directory(directory);
                sort_in_directory(std::string(base::directory_of(directory)) + "/tegra-egl");
                break;
            }
        for (const CatalogueRule& rule : catalogue_)
            if (rule.kind == FileKind::tool && rule.capability != Capability::none)
                look_for_tool(std::string(rule.name));
    }

    void sort_in_directory(const std::string& directory)
    {
        for (const std::string& name : root_.list(directory))
            if (const std::string path = base::format("{}/{}", directory, name);
                name.find(".so") != std::string::npos && is_elf_file(path))
                sort_in_file(path);
    }

    bool is_elf_file(const std::string& path) const
    {
        const auto opened = root_.open_file(path);
        return opened && is_elf(opened->fd.get());
    }

    void look_for_tool(const std::string& name)
    {
        for (const char* directory : {"/usr/bin", "/usr/sbin"})
            if (const std::string path = base::format("{}/{}", directory, name);
                is_elf_file(path)) {
                sort_in_file(path);
                return;
            }
    }

    void look_up_needs()
    {
        std::vector<std::string> directories;
        for (const Wanted& wanted : wanted_)
            if (std::string directory(base::directory_of(wanted.path));
                std::ranges::find(directories, directory) == directories.end())
                directories.push_back(std::move(directory));
        // The lists name files of several installations.
        search::LibraryGraph graph(root_, rules_, std::move(directories),
                                   search::LibraryGraph::Installations::any);
        for (std::size_t i = 0; i < wanted_.size(); ++i)
            if (rules_[i].kind == FileKind::tool)
                (void)graph.add_tool(rules_[i], wanted_[i].path);
            else
                (void)graph.add_library(rules_[i], wanted_[i].path, wanted_[i].name);
        ClosedSet set = graph.take();
        found_.files = std::move(set.files);
        std::ranges::move(set.findings, std::back_inserter(found_.findings));
        const auto main = std::ranges::find(found_.files, main_library, &DriverFile::soname);
        found_.library_directory = main != found_.files.end()
                                       ? std::string(base::directory_of(main->path))
                                       : std::move(set.library_directory);
    }

    DriverFile* file_at(const FileId& id)
    {
        const auto file = std::ranges::find(found_.files, id, &DriverFile::id);
        return file == found_.files.end() ? nullptr : &*file;
    }

    /// The name under which a library is listed is also one of its names.
    void add_library_name(const std::string& path)
    {
        const auto status = root_.look(path);
        DriverFile* const file = status ? file_at(FileId::of(*status)) : nullptr;
        if (file != nullptr && file->kind == FileKind::library)
            add_name(*file, path);
    }

    void add_link(const std::string& path)
    {
        const auto status = root_.look(path);
        if (!status) {
            skip(path,
                 status.error().os_error() == ENOENT ? "leads to nothing" : status.error().cause());
            return;
        }
        DriverFile* const file = file_at(FileId::of(*status));
        if (file == nullptr)
            data_links_.push_back(path);
        else if (file->kind == FileKind::library)
            add_name(*file, path);
    }

    /// A directory includes all that is in it.
    void leave_out_nested_data()
    {
        std::ranges::sort(data_rules_, {}, &CatalogueRule::name);
        std::vector<CatalogueRule> kept;
        for (const CatalogueRule& rule : data_rules_)
            if (std::ranges::none_of(kept, [&](const CatalogueRule& other) {
                    return base::is_below(rule.name, other.name);
                }))
                kept.push_back(rule);
        data_rules_ = std::move(kept);
    }

    void add_name(DriverFile& file, const std::string& path)
    {
        const std::string name(base::name_of(path));
        const auto has = [&](const DriverFile& other) { return has_name(other, name); };
        if (has(file))
            return;
        if (std::ranges::any_of(found_.files, has))
            skip(path, "another file of the driver has this name");
        else if (file.links.size() >= most_links)
            skip(path, base::format("exceeds the limit of {} names", most_links));
        else
            file.links.push_back(name);
    }

    /// A link to data that is taken becomes a second path of it.
    void add_data_link(const std::string& path)
    {
        const auto status = root_.look(path);
        const DriverFile* const file = status ? file_at(FileId::of(*status)) : nullptr;
        if (file == nullptr || file->kind != FileKind::data) {
            skip(path, "leads to nothing that is taken");
            return;
        }
        if (*file->registered(model::Manner::fixed_path) == path)
            return;
        DriverFile again = *file;
        again.name = base::name_of(path);
        again.registrations = {{model::Manner::fixed_path, path}};
        found_.files.push_back(std::move(again));
    }

    void skip(const std::string& path, std::string reason,
              FindingCode code = FindingCode::file_unusable)
    {
        found_.findings.push_back(
            {code, std::string(base::name_of(path)), std::move(reason), root_.prefix() + path});
    }

    const host::DriverRoot& root_;
    Catalogue catalogue_;
    std::deque<std::string> names_; ///< Names of the rules, which borrow them.
    std::vector<CatalogueRule> rules_;
    std::vector<CatalogueRule> data_rules_;
    std::vector<Wanted> wanted_; ///< One for each of `rules_`.
    std::vector<std::string> library_paths_;
    std::vector<std::string> links_;
    std::vector<std::string> data_links_;
    std::size_t paths_ = 0;
    ClosedSet found_;
};

Result<std::string> read_list(const host::DriverRoot& root, const std::string& path)
{
    // Links are resolved in the driver root; the real path has none.
    GPUCTR_TRY(const auto file, root.open_file(path));
    GPUCTR_TRY(auto text, root.noted(config::read_trusted(root.prefix() + file.real_path), path));
    if (!text)
        return Error::from_errno(ENOENT, path, Errc::driver);
    return *std::move(text);
}

} // namespace

std::vector<TegraRow> read_tegra_lists(const host::DriverRoot& root, model::Findings& findings)
{
    std::vector<TegraRow> rows;
    std::vector<std::string> names = root.list(tegra_lists);
    std::erase_if(names, [](const std::string& name) { return !name.ends_with(".csv"); });
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string path = base::format("{}/{}", tegra_lists, names[i]);
        auto text =
            i < most_lists
                ? read_list(root, path)
                : Error(Errc::driver, base::format("exceeds the limit of {} lists", most_lists));
        if (!text) {
            findings.push_back({model::FindingCode::rule_ignored, names[i], text.error().cause(),
                                root.prefix() + path});
            continue;
        }
        TegraRows read = parse_tegra_csv(*text);
        std::ranges::move(read.rows, std::back_inserter(rows));
        for (TegraComplaint& complaint : read.complaints)
            findings.push_back({model::FindingCode::rule_ignored,
                                base::format("{}:{}", names[i], complaint.line),
                                std::move(complaint.reason), root.prefix() + path});
    }
    return rows;
}

Result<ClosedSet> find_tegra_files(const host::DriverRoot& root, Catalogue catalogue,
                                   const std::vector<TegraRow>& rows)
{
    ClosedSet found = ListedFiles(root, catalogue).run(rows);
    GPUCTR_CHECK(root.check());
    return found;
}

} // namespace gpucontainer::drivers::nvidia
