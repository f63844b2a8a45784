// SPDX-License-Identifier: MIT
#include "search/library_graph.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "elf/symbol_versions.hpp"
#include "search/c_library.hpp"
#include "search/loader_path.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace gpucontainer::search {

using model::CatalogueRule;
using model::DriverFile;
using model::FileKind;
using model::Precedence;

namespace {

bool is_neutral(const DriverFile& file) { return file.precedence == Precedence::image; }

// Far more than any vendor's user space has.
constexpr std::size_t most_objects = 1000;

bool is_vendors(const CatalogueRule* rule)
{
    return rule != nullptr && rule->capability != model::Capability::none;
}

/// A module is found by the name of its file.
bool is_module(const CatalogueRule* rule) { return rule != nullptr && !rule->module.empty(); }

/// Those of a RUNPATH or RPATH that are relative to the file that has it.
std::vector<std::string> relative_to_origin(const std::vector<std::string>& directories)
{
    std::vector<std::string> all;
    std::ranges::copy_if(directories, std::back_inserter(all), [](const std::string& directory) {
        return directory.starts_with("$ORIGIN") || directory.starts_with("${ORIGIN}");
    });
    return all;
}

/// Whether the rule is about a library with this soname.
bool is_known_as(const CatalogueRule& rule, std::string_view soname)
{
    const std::string_view name = rule.name.substr(0, rule.name.find(".{version}"));
    return name.ends_with(".so")
               ? model::find_rule({&rule, 1}, FileKind::library, soname) != nullptr
               : soname == name;
}

} // namespace

LibraryGraph::LibraryGraph(const host::DriverRoot& root, model::Catalogue catalogue,
                           std::vector<std::string> directories, Installations installations)
    : root_(root), catalogue_(catalogue), directories_(std::move(directories)),
      installations_(installations)
{
}

bool LibraryGraph::add_library(const CatalogueRule& rule, const std::string& path,
                               const std::string& name)
{
    const std::size_t first = objects_.size();
    const auto index = load(path, name, std::nullopt, &rule);
    if (!index)
        return false;
    roots_.push_back(*index);
    load_needs(first);
    return true;
}

bool LibraryGraph::add_tool(const CatalogueRule& rule, const std::string& path)
{
    const std::string name(rule.name);
    const auto opened = root_.open_file(path);
    if (!opened) {
        if (opened.error().os_error() != ENOENT)
            object(name, path, opened.error().cause());
        return false;
    }
    if (!installation_.admits(opened->real_path)) {
        object(name, path, installation_.objection_to(opened->real_path));
        return false;
    }
    auto facts = root_.noted(elf::read_facts(opened->fd.get()), path);
    if (!facts || !elf::is_for(*facts, root_.machine())) {
        object(name, path, facts ? "is for another machine" : "is not an ELF program");
        return false;
    }
    Object tool = object_at(path, *opened, *std::move(facts));
    tool.file.kind = FileKind::tool;
    tool.file.name = name;
    tool.file.entry_names = {name};
    if (auto versions = read_version_needs(opened->fd.get()))
        tool.file.versions = *std::move(versions);
    const std::size_t index =
        add(std::move(tool), &rule, {opened->status.st_dev, opened->status.st_ino});
    by_name_.emplace(name, index);
    roots_.push_back(index);
    load_needs(index);
    return true;
}

std::vector<std::string> LibraryGraph::cached(const std::string& name) const
{
    std::vector<std::string> paths;
    for (const elf::CacheEntry& entry : root_.cached(name))
        if (root_.is_loaded(entry))
            paths.emplace_back(entry.value);
    return paths;
}

const std::vector<std::string>& LibraryGraph::loader_directories()
{
    if (!loader_directories_)
        loader_directories_ = root_.configured_directories();
    return *loader_directories_;
}

/// The library at `path`, added to the objects if it is new. None if it cannot be used; an
/// objection says why.
std::optional<std::size_t> LibraryGraph::load(const std::string& path, const std::string& name,
                                              std::optional<std::size_t> loaded_by,
                                              const CatalogueRule* rule)
{
    const auto opened = root_.open_file(path);
    if (!opened) {
        if (opened.error().os_error() != ENOENT)
            object(name, path, opened.error().cause());
        return std::nullopt;
    }
    const FileKey key(opened->status.st_dev, opened->status.st_ino);
    if (const auto known = by_file_.find(key); known != by_file_.end()) {
        by_name_.emplace(name, known->second);
        Object& object = objects_[known->second];
        if (!object.place.empty() && object.file.registered(model::Manner::loader) == nullptr) {
            object.names.push_back(name);
            object.file.registrations.push_back({model::Manner::loader}); // no RUNPATH leads there
        }
        return known->second;
    }
    if (is_vendors(rule) && !is_of_installation(*rule, opened->real_path)) {
        object(name, path, installation_.objection_to(opened->real_path));
        return std::nullopt;
    }
    auto library = read_library(path, *opened, name, loaded_by, rule);
    if (!library)
        return std::nullopt;
    if (const auto known = by_name_.find(library->file.soname); known != by_name_.end()) {
        by_name_.emplace(name, known->second);
        return known->second;
    }
    if (is_vendors(rule) && !is_module(rule) && installations_ == Installations::one) {
        installation_.choose(opened->real_path);
        if (home_.empty())
            home_ = base::directory_of(opened->real_path);
    }
    const std::size_t index = add(*std::move(library), rule, key);
    by_name_.emplace(name, index);
    by_name_.emplace(objects_[index].file.soname, index);
    return index;
}

/// The same for an opened file that is not one of the objects yet.
std::optional<LibraryGraph::Object> LibraryGraph::read_library(const std::string& path,
                                                               const host::DriverRoot::File& opened,
                                                               const std::string& name,
                                                               std::optional<std::size_t> loaded_by,
                                                               const CatalogueRule* rule)
{
    auto facts = root_.noted(elf::read_facts(opened.fd.get()), path);
    auto versions = root_.noted(read_version_needs(opened.fd.get()), path);
    if (facts && is_module(rule))
        facts->soname = name; // not its own soname, because one file may be several modules
    std::string reason = !facts      ? facts.error().message()
                         : !versions ? versions.error().message()
                                     : objection_to(*facts, loaded_by ? nullptr : rule, name);
    if (!reason.empty()) {
        object(name, path, std::move(reason));
        return std::nullopt;
    }
    Object library = object_at(path, opened, *std::move(facts));
    library.file.soname = library.facts.soname.empty() ? name : library.facts.soname;
    library.file.name = base::name_of(opened.real_path);
    library.file.versions = *std::move(versions);
    library.loaded_by = loaded_by;
    return library;
}

LibraryGraph::Object LibraryGraph::object_at(const std::string& path,
                                             const host::DriverRoot::File& opened,
                                             elf::Facts facts) const
{
    Object object;
    object.facts = std::move(facts);
    object.directory = base::directory_of(path);
    object.real_directory = base::directory_of(opened.real_path);
    object.file.path = root_.prefix() + opened.real_path;
    object.file.id = model::FileId::of(opened.status);
    return object;
}

/// Modules of the distribution, such as Mesa's, fit any release of the vendor's libraries.
bool LibraryGraph::is_of_installation(const CatalogueRule& rule, const std::string& path) const
{
    return is_module(&rule) ? installation_.admits(path) : installation_.holds(path);
}

std::string LibraryGraph::objection_to(const elf::Facts& facts, const CatalogueRule* rule,
                                       const std::string& name) const
{
    if (!elf::is_for(facts, root_.machine()))
        return base::format("is for {}", elf::machine_name(facts.machine));
    if (objects_.size() >= most_objects)
        return base::format("exceeds the limit of {} libraries", most_objects);
    if (rule != nullptr && !is_known_as(*rule, facts.soname.empty() ? name : facts.soname))
        return base::format("has the soname {}", facts.soname);
    return "";
}

std::size_t LibraryGraph::add(Object object, const CatalogueRule* rule, FileKey key)
{
    DriverFile& file = object.file;
    if (is_vendors(rule)) {
        file.classify(*rule);
        if (rule->entry)
            file.entry_names.push_back(file.soname);
    } else {
        file.registrations = {{model::Manner::loader}};
        file.precedence = Precedence::image;
    }
    by_file_.emplace(key, objects_.size());
    objects_.push_back(std::move(object));
    return objects_.size() - 1;
}

/// Loads what the objects from `first` on need, breadth first as the loader does.
void LibraryGraph::load_needs(std::size_t first)
{
    for (std::size_t i = first; i < objects_.size(); ++i)
        for (const std::string& name : std::vector<std::string>(objects_[i].facts.needed))
            if (!is_of_c_library(name)) {
                const auto found = find(name, i);
                objects_[i].needs.push_back({name, found});
            }
}

/// The library that the loader takes for a name that the object `by` needs.
std::optional<std::size_t> LibraryGraph::find(const std::string& name, std::size_t by)
{
    if (const auto found = find_in_place(name, by))
        return found;
    const auto known = by_name_.find(name);
    return known != by_name_.end() ? known->second : find_new(name, by);
}

std::optional<std::size_t> LibraryGraph::find_new(const std::string& name, std::size_t by)
{
    const CatalogueRule* const rule = model::find_rule(catalogue_, FileKind::library, name);
    if (name.find('/') != std::string::npos)
        return name.starts_with('/') ? load(name, std::string(base::name_of(name)), by, rule)
                                     : std::nullopt;
    const auto load_from = [&](const std::vector<std::string>& directories) {
        for (const std::string& directory : directories)
            if (const auto found = load(base::format("{}/{}", directory, name), name, by, rule))
                return found;
        return std::optional<std::size_t>();
    };
    if (const auto found = load_from(directories_for(by)))
        return found;
    for (const std::string& path : cached(name))
        if (const auto found = load(path, name, by, rule))
            return found;
    if (const auto found = load_from(loader_directories()))
        return found;
    // The host may find libraries beside the object, by LD_LIBRARY_PATH.
    if (const auto found = load_from({objects_[by].directory, objects_[by].real_directory}))
        return found;
    return load_from(directories_);
}

/// An object's RUNPATH counts for its own needs only. Without a RUNPATH, its RPATH counts, also for
/// the needs of what it loads.
std::vector<std::string> LibraryGraph::directories_for(std::size_t by, Entries entries) const
{
    const auto expanded = [&](const std::vector<std::string>& path, const Object& object) {
        return expand_loader_path(entries == Entries::all ? path : relative_to_origin(path),
                                  object.directory, root_.machine());
    };
    const Object& object = objects_[by];
    if (!object.facts.runpath.empty())
        return expanded(object.facts.runpath, object);
    std::vector<std::string> all;
    for (std::optional<std::size_t> at = by; at; at = objects_[*at].loaded_by)
        std::ranges::move(expanded(objects_[*at].facts.rpath, objects_[*at]),
                          std::back_inserter(all));
    return all;
}

void LibraryGraph::object(const std::string& name, const std::string& path, std::string reason)
{
    objections_.try_emplace(name, model::Finding{model::FindingCode::file_unusable, name,
                                                 std::move(reason), root_.prefix() + path});
}

ClosedSet LibraryGraph::take()
{
    find_lacking();
    for (const std::size_t root : roots_)
        if (!objects_[root].lacks_something)
            want(root);
    ClosedSet set;
    for (std::size_t i = 0; i < objects_.size(); ++i) {
        Object& object = objects_[i];
        if (object.lacks_something)
            set.findings.push_back({model::FindingCode::file_unusable, name_of(object),
                                    lack_of(object), object.file.path});
        if (!object.wanted)
            continue;
        describe(i);
        if (set.library_directory.empty() && object.file.kind == FileKind::library)
            set.library_directory = base::directory_of(object.file.path);
        set.files.push_back(object.file);
    }
    for (auto& [name, objection] : objections_)
        if (!by_name_.contains(name))
            set.findings.push_back(std::move(objection));
    return set;
}

const std::string& LibraryGraph::name_of(const Object& object)
{
    return object.file.kind == FileKind::tool ? object.file.name : object.file.soname;
}

/// Repeats until nothing changes, because libraries may need each other.
void LibraryGraph::find_lacking()
{
    for (bool again = true; again;) {
        again = false;
        for (Object& object : objects_) {
            const bool lacks = std::ranges::any_of(object.needs, [&](const Need& need) {
                return !need.object || objects_[*need.object].lacks_something;
            });
            again = again || (lacks && !object.lacks_something);
            object.lacks_something = lacks;
        }
    }
}

void LibraryGraph::want(std::size_t root)
{
    for (std::vector<std::size_t> open = {root}; !open.empty();) {
        Object& object = objects_[open.back()];
        open.pop_back();
        if (std::exchange(object.wanted, true))
            continue;
        for (const Need& need : object.needs)
            open.push_back(*need.object);
    }
}

std::string LibraryGraph::lack_of(const Object& object) const
{
    const auto lacking = std::ranges::find_if(object.needs, [&](const Need& need) {
        return !need.object || objects_[*need.object].lacks_something;
    });
    if (lacking->object)
        return base::format("needs {}, which is left out", lacking->name);
    const auto known = objections_.find(lacking->name);
    return known == objections_.end() ? base::format("needs {}, which is not there", lacking->name)
                                      : base::format("needs {}, but {} {}", lacking->name,
                                                     known->second.evidence, known->second.text);
}

/// Fills in what depends on other objects.
void LibraryGraph::describe(std::size_t index)
{
    Object& object = objects_[index];
    DriverFile& file = object.file;
    for (const Need& need : object.needs)
        file.needed.push_back(objects_[*need.object].file.soname);
    std::erase_if(file.versions,
                  [&](const model::VersionNeed& need) { return brings(object, need.library); });
    if ((is_neutral(file) || !object.place.empty()) && object.loaded_by) {
        const DriverFile& by = objects_[*object.loaded_by].file;
        file.capability = by.capability;
        file.reason = base::format("needed by {}", by.soname.empty() ? by.name : by.soname);
    }
    if (file.kind == FileKind::library)
        add_names(object);
}

/// Whether the vendor's files have the library that the object needs under this name.
bool LibraryGraph::brings(const Object& object, const std::string& library) const
{
    const auto need = std::ranges::find(object.needs, library, &Need::name);
    if (need != object.needs.end() && need->object)
        return !is_neutral(objects_[*need->object].file);
    const auto known = by_name_.find(library);
    return known != by_name_.end() && !is_neutral(objects_[known->second].file);
}

void LibraryGraph::add_names(Object& object)
{
    if (!object.place.empty()) {
        add_names_in_place(object);
        return;
    }
    DriverFile& file = object.file;
    if (!taken_names_.insert(file.name).second) {
        file.name = file.soname;
        taken_names_.insert(file.name);
    }
    const auto add = [&](const std::string& name) {
        if (taken_names_.insert(name).second)
            file.links.push_back(name);
    };
    add(file.soname);
    for (const auto& [name, index] : by_name_)
        if (&objects_[index] == &object)
            add(name);
    // The name that a linker looks for: some programs compile and link at run time.
    const std::string development = file.soname.substr(0, file.soname.find(".so") + 3);
    if (is_neutral(file) || taken_names_.contains(development))
        return;
    const auto status = root_.look(base::format("{}/{}", object.directory, development));
    if (status && model::FileId::of(*status) == file.id)
        add(development);
}

} // namespace gpucontainer::search
