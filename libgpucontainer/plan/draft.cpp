// SPDX-License-Identifier: MIT
#include "plan/draft.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "plan/extras.hpp"
#include "plan/typical_root.hpp"

#include <algorithm>

namespace gpucontainer::plan {

using model::DriverFile;
using model::FileKind;

namespace {

using rootfs::EntryType;

Names::Way choose_way(const Request& request, const Target* target)
{
    if (request.layout == Layout::binds || request.write == Write::always
        || (target == nullptr && request.write != Write::never))
        return Names::Way::write;
    if (request.write == Write::never)
        return Names::Way::overlay;
    const rootfs::RootFacts& facts = target->facts;
    if (request.write == Write::layer)
        return facts.writable && !facts.read_only ? Names::Way::layer : Names::Way::overlay;
    return facts.writable && facts.own && !facts.read_only && !facts.network ? Names::Way::automatic
                                                                             : Names::Way::overlay;
}

} // namespace

namespace {

/// Display shows what graphics draws, and video is decoded by programs that compute.
bool is_served(model::Capability capability, const std::set<model::Capability>& wanted)
{
    using model::Capability;
    return capability == Capability::none || wanted.contains(capability)
           || (capability == Capability::graphics && wanted.contains(Capability::display))
           || (capability == Capability::compute && wanted.contains(Capability::video));
}

} // namespace

bool Share::needs(const model::DeviceNode& node, const std::set<model::Capability>& capabilities,
                  const std::set<std::string>& extras) const
{
    const bool is_of_use = node.extra.empty() ? is_served(node.capability, capabilities)
                                                    || is_served(node.capability, also_needed)
                                              : has_extra(extras, node.extra);
    if (!is_of_use)
        return false;
    const auto& gpus = selection.gpus;
    return node.gpu < 0
           || std::find(gpus.begin(), gpus.end(), static_cast<unsigned>(node.gpu)) != gpus.end();
}

namespace {

/// Like in an installation, because programs look for directories relative to themselves.
std::string place_in_tree(const DriverFile& data)
{
    const std::string_view path = *Draft::data_path(data);
    for (const std::string_view part : {"/libexec/", "/share/"})
        if (const std::size_t at = path.rfind(part); data.directory && at != std::string_view::npos)
            return std::string(path.substr(at + 1));
    constexpr std::string_view usual = "/usr/";
    return path.starts_with("/usr/share/") ? std::string(path.substr(usual.size()))
                                           : base::format("share{}", path);
}

/// The directory in which the image has a directory of modules of such libraries.
std::string place_of_modules(const Draft& draft, const DriverFile& file, std::string_view module)
{
    const std::string& usual = draft.layout_of(file).library_directory;
    if (!module.starts_with(model::x_server_modules))
        return usual;
    for (const std::string& directory : {usual, std::string("/usr/lib"), std::string("/usr/lib64")})
        if (draft.view.resolve(base::format("{}/{}modules", directory, model::x_server_modules)))
            return directory;
    return "/usr/lib";
}

/// For an image that cannot run programs of this machine.
Error explained(Error error, const rootfs::View& view, const elf::Machine* machine32)
{
    return machine32 != nullptr && rootfs::find_compat32_layout(view, *machine32)
               ? std::move(error).with_hint("its programs are 32-bit: the driver capability "
                                            "compat32 gives them the host's 32-bit libraries")
               : std::move(error);
}

} // namespace

Draft::Draft(const Request& wanted, const Target* in, const elf::Machine& of_drivers)
    : request(wanted), target(in), machine(&of_drivers),
      view(in != nullptr ? in->view : typical_root(of_drivers)), names(view, choose_way(wanted, in))
{
    plan.has_root = target != nullptr;
    plan.writes_root = choose_way(wanted, in) != Names::Way::overlay;
}

void Draft::skip(model::FindingCode code, std::string object, std::string text,
                 std::string evidence)
{
    plan.findings.push_back({code, std::move(object), std::move(text), std::move(evidence)});
}

void Draft::need(const std::string& what)
{
    plan.findings.push_back({model::FindingCode::container_need, "", what});
}

void Draft::secure_mounts()
{
    plan.lock = request.lock;
    plan.mount_label = request.mount_label;
    if (plan.lock)
        identify("locked");
    if (!plan.mount_label.empty())
        identify("label " + plan.mount_label);
}

void Draft::identify(std::string_view text)
{
    plan.identity += text;
    plan.identity += '\n';
}

void Draft::identify(const model::FileId& id)
{
    identify(base::format("{}:{}:{}:{}", id.device, id.inode, id.size, id.mtime_ns));
}

bool Draft::is_missing(const std::string& path)
{
    const rootfs::Entry entry = view.look(path);
    if (!entry || (names.are_overlaid(path) && is_anothers(path, entry)))
        return true;
    plan.found.emplace(path, entry);
    return false;
}

bool Draft::is_in_hosts_devices(const std::string& path) const
{
    if (target == nullptr || target->facts.callers_devices == 0 || names.are_overlaid(path))
        return false;
    const std::string there = rootfs::nearest_directory(view, base::directory_of(path));
    return view.resolve(there).device == target->facts.callers_devices;
}

bool Draft::is_anothers(const std::string& path, const rootfs::Entry& entry) const
{
    if (path == loader_cache_path)
        return cache_is_ours;
    if (entry.type == EntryType::link) {
        const std::string to = view.link_target(path);
        return leads_into_tree(path) || std::any_of(files.begin(), files.end(), [&](const auto* f) {
                   return f->name == to;
               });
    }
    // An empty file that a device or file of ours is mounted over.
    const bool empty = entry.type == EntryType::regular && entry.size == 0;
    if (base::is_below(path, "/dev"))
        return empty && !view.resolve("/dev").own_tmpfs;
    return plan.layout == Layout::merged ? empty : path == plan.tree_path;
}

bool Draft::can_have(const std::string& path) const
{
    for (auto above = base::directory_of(path); above.size() > 1; above = base::directory_of(above))
        if (const std::string directory(above); view.look(directory))
            return view.resolve(directory).type == EntryType::directory;
    return true;
}

bool Draft::is_in_tree(const std::string& path) const
{
    return base::is_below(path, usual_tree)
           || (!plan.tree_path.empty() && base::is_below(path, plan.tree_path))
           || (request.tree_path && base::is_below(path, *request.tree_path));
}

bool Draft::has_libraries() const
{
    return std::ranges::find(files, FileKind::library, &DriverFile::kind) != files.end();
}

bool Draft::leads_into_tree(const std::string& path) const
{
    return is_in_tree(view.link_target(path));
}

Result<void> Draft::look_at_image()
{
    if (image_is_known_)
        return {};
    std::vector<std::string> searched;
    for (const Share& share : shares)
        searched.insert(searched.end(), share.driver.image_directories.begin(),
                        share.driver.image_directories.end());
    const elf::Machine* const machine32 = elf::compat32_of(*machine);
    if (machine32 != nullptr && capabilities.contains(model::Capability::compat32))
        image32 = rootfs::find_compat32_layout(view, *machine32);
    auto native = rootfs::find_layout(view, *machine, searched);
    if (native)
        image = *std::move(native);
    else if (!image32)
        return explained(std::move(native).error(), view, machine32);
    const std::string path(loader_cache_path);
    auto bytes = view.read(path, elf::max_cache_size);
    if (!bytes && view.resolve(path).type == EntryType::regular)
        return std::move(bytes).error().context("loader cache");
    if (bytes)
        if (auto parsed = elf::LdCache::parse(*std::move(bytes)))
            image_cache = *std::move(parsed);
    image_is_known_ = true;
    return {};
}

const rootfs::Layout& Draft::layout_of(const DriverFile& file) const
{
    return file.compat32 && image32 ? *image32 : image;
}

std::string Draft::tree_directory(const DriverFile* library) const
{
    const bool compat32 = library != nullptr && library->compat32;
    const bool of_image = library != nullptr && library->precedence == model::Precedence::image;
    return base::format("{}{}{}/{}", plan.tree_path, of_image ? "/" : "",
                        of_image ? distribution_directory : "", compat32 ? "lib32" : "lib64");
}

std::string Draft::library_path(const std::string& name, const DriverFile* beside) const
{
    const bool compat32 = beside != nullptr && beside->compat32;
    const rootfs::Layout& layout = compat32 && image32 ? *image32 : image;
    const std::string directory =
        plan.layout == Layout::tree ? tree_directory(beside) : layout.library_directory;
    const std::string* const place = beside != nullptr ? place_beside(*beside) : nullptr;
    return place != nullptr ? base::format("{}/{}/{}", directory, *place, name)
                            : base::format("{}/{}", directory, name);
}

std::string Draft::tool_path(const std::string& name) const
{
    return (plan.layout == Layout::tree ? plan.tree_path + "/bin" : tool_directory) + "/" + name;
}

std::string Draft::path_of(const DriverFile& file) const
{
    switch (file.kind) {
    case FileKind::library:
        return plan.layout != Layout::tree && place_beside(file) == nullptr
                   ? usual_directory(file) + "/" + file.name
                   : library_path(file.name, &file);
    case FileKind::tool:
        return tool_path(file.name);
    case FileKind::data:
        break;
    }
    if (place_beside(file) != nullptr)
        return library_path(file.name, &file);
    if (plan.layout != Layout::tree)
        return *data_path(file);
    return base::format("{}/{}", plan.tree_path, place_in_tree(file));
}

const DriverFile* Draft::data_with(const DriverFile& script) const
{
    const auto found = std::ranges::find_if(files, [&](const DriverFile* file) {
        return file->kind == FileKind::data && file->directory
               && base::is_below(script.path, file->path);
    });
    return found == files.end() ? nullptr : *found;
}

std::string Draft::usual_directory(const DriverFile& file) const
{
    if (file.kind == FileKind::tool)
        return tool_directory;
    const std::string* const module = file.registered(model::Manner::module_directory);
    return module == nullptr
               ? layout_of(file).library_directory
               : base::format("{}/{}", place_of_modules(*this, file, *module), *module);
}

std::string Draft::module_path(const DriverFile& library) const
{
    const std::string& name = *library.registered(model::Manner::module_name);
    return base::format("{}/{}", place_of_modules(*this, library, name), name);
}

Owner Draft::owner_of(const DriverFile& file) const
{
    for (const Share& share : shares)
        for (const DriverFile& own : share.driver.files)
            if (&own == &file)
                return {share.driver.vendor, -1};
    return {};
}

} // namespace gpucontainer::plan
