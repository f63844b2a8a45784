// SPDX-License-Identifier: MIT
#include "check/container_view.hpp"

#include "base/file.hpp"
#include "base/in_root.hpp"
#include "base/own_proc.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "rootfs/root.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace gpucontainer::check {

using rootfs::Entry;
using rootfs::EntryType;
using rootfs::LastLink;

namespace {

/// Neither a file system nor an image in a file has this number.
constexpr std::uint64_t device_of_ours = UINT64_MAX - 1;
constexpr std::uint32_t mode_of_ours = 0755;

/// For all looks: more than for a program that seeks each of 1000 libraries in 20 directories.
constexpr std::size_t most_looked_up = std::size_t{64} << 20U;
constexpr std::size_t most_kept = std::size_t{8} << 20U; ///< Bytes of directories' paths.

Error cannot_open(int os_error, const std::string& path)
{
    return Error::from_errno(os_error, path, Errc::rootfs).with_object(path);
}

/// Opens a file that is known by a descriptor that cannot be read. Neither its path nor a link is
/// followed again.
Result<base::UniqueFd> reopened(const base::UniqueFd& found, const std::string& path)
{
    GPUCTR_TRY(const auto descriptors, base::open_own_descriptors());
    base::UniqueFd fd(::openat(descriptors.get(), std::to_string(found.get()).c_str(),
                               O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!fd)
        return cannot_open(errno, path);
    return fd;
}

/// Opens a file of the host, if it is the one that was planned with.
Result<base::UniqueFd> open_planned(const std::string& path, const model::FileId& id)
{
    // It is a real path. A link in it was put there since then, and may lead to another's file.
    const base::UniqueFd top(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    const base::UniqueFd found(
        base::open_beneath(top.get(), path.size() > 1 ? path.c_str() + 1 : ".", O_PATH));
    struct stat status = {};
    if (!found || ::fstat(found.get(), &status) != 0)
        return cannot_open(errno, path);
    if (!S_ISREG(status.st_mode) || model::FileId::of(status) != id)
        return cannot_open(ESTALE, path);
    return reopened(found, path);
}

/// A name in a directory of the host, whose links lead to nowhere outside of it.
base::UniqueFd find_below(const std::string& directory, const std::string& name,
                          std::uint64_t flags)
{
    const base::UniqueFd top(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return base::UniqueFd(
        top ? base::open_in_root(top.get(), name.empty() ? "." : name.c_str(), flags) : -1);
}

Result<base::UniqueFd> open_below(const std::string& directory, const std::string& name)
{
    const base::UniqueFd found = find_below(directory, name, O_PATH | O_NOFOLLOW);
    struct stat status = {};
    if (!found || ::fstat(found.get(), &status) != 0)
        return cannot_open(errno, directory + name);
    if (!S_ISREG(status.st_mode))
        return cannot_open(EINVAL, directory + name);
    return reopened(found, directory + name);
}

Entry look_below(const std::string& directory, const std::string& name)
{
    const base::UniqueFd found = find_below(directory, name, O_PATH | O_NOFOLLOW);
    return found ? rootfs::entry_of(found.get()) : Entry();
}

Result<base::OpenFile> opened(Result<base::UniqueFd> fd)
{
    if (!fd)
        return std::move(fd).error();
    return base::OpenFile(*std::move(fd));
}

Result<base::UniqueFd> open_content(const std::string& content)
{
    base::UniqueFd fd(::memfd_create("content", MFD_CLOEXEC));
    for (std::size_t at = 0; fd && at < content.size();) {
        const ssize_t wrote = ::write(fd.get(), content.data() + at, content.size() - at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return Error::from_errno(errno, "write a generated file");
        at += static_cast<std::size_t>(wrote);
    }
    if (!fd)
        return Error::from_errno(errno, "make a generated file");
    return fd;
}

} // namespace

/// A node for each item. A new type of item does not compile without a line here.
struct ContainerView::ToNode {
    using Kind = Node::Kind;

    std::optional<Node> operator()(const plan::Directory&) const { return Node{Kind::directory}; }
    std::optional<Node> operator()(const plan::Tree&) const { return Node{Kind::hiding}; }
    /// Has the names of the directory that it is mounted over.
    std::optional<Node> operator()(const plan::Overlay&) const { return std::nullopt; }
    std::optional<Node> operator()(const plan::Bind& bind) const
    {
        return Node{bind.is_directory ? Kind::host_directory : Kind::host_file, bind.source,
                    bind.id};
    }
    std::optional<Node> operator()(const plan::KernelEntry& entry) const
    {
        return Node{entry.is_directory ? Kind::hiding : Kind::other};
    }
    std::optional<Node> operator()(const plan::Symlink& link) const
    {
        return Node{Kind::link, link.to};
    }
    std::optional<Node> operator()(const plan::GeneratedFile& file) const
    {
        return Node{Kind::content, {}, {}, &file.content};
    }
    std::optional<Node> operator()(const plan::Cover& cover) const
    {
        return Node{Kind::host_file, cover.source, cover.id};
    }
    std::optional<Node> operator()(const plan::GeneratedCover& cover) const
    {
        if (cover.is_directory)
            return Node{Kind::hiding};
        return Node{Kind::content, {}, {}, &cover.content};
    }
    std::optional<Node> operator()(const plan::Shared& shared) const
    {
        return Node{shared.kind == model::SharedPath::Kind::directory ? Kind::hiding : Kind::other};
    }
    std::optional<Node> operator()(const plan::Device&) const { return Node{Kind::character}; }
    std::optional<Node> operator()(const plan::LoaderCache& cache) const
    {
        return Node{Kind::content, {}, {}, &cache.content};
    }
    std::optional<Node> operator()(const plan::Variable&) const { return std::nullopt; }
};

ContainerView::ContainerView(const rootfs::View& image, const plan::Plan& plan)
    : image_(image), budget_(most_looked_up)
{
    for (const plan::Item& item : plan.items)
        add(item);
}

void ContainerView::add(const plan::Item& item)
{
    auto node = std::visit(ToNode(), item.what);
    if (!node || !item.target.starts_with('/'))
        return;
    // A mount is made on what a link leads to; a name is made in its directory.
    const bool is_mounted = node->kind != Node::Kind::link;
    auto place = is_mounted ? real(item.target, LastLink::followed) : std::nullopt;
    if (!place)
        place = real(item.target, LastLink::kept);
    if (!place)
        place = make_directories(std::string(base::directory_of(item.target))) + "/"
                + std::string(base::name_of(item.target));
    put(*place, *std::move(node));
}

/// Makes the directories of a path that are missing, as in a tree, which has no items for them.
/// Returns the path without links; "" for the root.
std::string ContainerView::make_directories(const std::string& path)
{
    std::vector<std::string> missing;
    std::string above = path;
    std::optional<std::string> found;
    while (above.size() > 1 && !(found = real_directory(above))) {
        missing.emplace_back(base::name_of(above));
        above = base::directory_of(above);
    }
    std::string made = found.value_or("/") == "/" ? "" : *found;
    for (; !missing.empty(); missing.pop_back()) {
        made += "/" + missing.back();
        put(made, Node{Node::Kind::directory});
    }
    return made;
}

void ContainerView::put(const std::string& path, Node node)
{
    node.number = nodes_.size() + 1;
    if (node.kind == Node::Kind::hiding || node.kind == Node::Kind::host_directory)
        hiding_.push_back(path);
    names_[std::string(base::directory_of(path))].insert(std::string(base::name_of(path)));
    nodes_.insert_or_assign(path, std::move(node));
    forget();
}

const ContainerView::Node* ContainerView::node_at(const std::string& path) const
{
    const auto found = nodes_.find(path);
    return found == nodes_.end() ? nullptr : &found->second;
}

const ContainerView::Node* ContainerView::above(const std::string& path,
                                                std::string& directory) const
{
    const std::string* nearest = nullptr;
    for (const std::string& one : hiding_)
        if (path != one && base::is_below(path, one)
            && (nearest == nullptr || one.size() > nearest->size()))
            nearest = &one;
    if (nearest == nullptr)
        return nullptr;
    directory = *nearest;
    return node_at(directory);
}

Entry ContainerView::entry_of(const Node& node, const std::string& path) const
{
    using Kind = Node::Kind;
    Entry entry;
    entry.device = device_of_ours;
    entry.inode = node.number;
    entry.mode = mode_of_ours;
    switch (node.kind) {
    case Kind::directory:
        if (const Entry own = image_.look(path); own.type == EntryType::directory)
            return own;
        entry.type = EntryType::directory;
        return entry;
    case Kind::hiding:
    case Kind::host_directory:
        entry.type = EntryType::directory;
        return entry;
    case Kind::host_file:
        entry.type = EntryType::regular;
        entry.device = node.id.device;
        entry.inode = node.id.inode;
        entry.size = node.id.size;
        entry.mtime_ns = node.id.mtime_ns;
        return entry;
    case Kind::content:
        entry.type = EntryType::regular;
        entry.size = node.content->size();
        return entry;
    case Kind::link:
        entry.type = EntryType::link;
        return entry;
    case Kind::character:
        entry.type = EntryType::character;
        return entry;
    case Kind::other:
        entry.type = EntryType::other;
        return entry;
    }
    return {};
}

Entry ContainerView::entry_at(const std::string& path) const
{
    if (!budget_.spend(path))
        return {};
    if (const Node* const node = node_at(path))
        return entry_of(*node, path);
    std::string directory;
    const Node* const hiding = above(path, directory);
    if (hiding == nullptr)
        return image_.look(path);
    return hiding->kind == Node::Kind::host_directory
               ? look_below(hiding->text, path.substr(directory.size()))
               : Entry();
}

std::string ContainerView::target_at(const std::string& path) const
{
    if (const Node* const node = node_at(path))
        return node->kind == Node::Kind::link ? node->text : "";
    std::string directory;
    const Node* const hiding = above(path, directory);
    if (hiding == nullptr)
        return image_.link_target(path);
    if (hiding->kind != Node::Kind::host_directory)
        return "";
    const base::UniqueFd link =
        find_below(hiding->text, path.substr(directory.size()), O_PATH | O_NOFOLLOW);
    auto target = link ? base::read_link(link.get(), "") : Result<std::string>(std::string());
    return target ? *std::move(target) : std::string();
}

std::optional<std::string> ContainerView::real_directory(const std::string& path) const
{
    if (const auto known = real_directories_.find(path); known != real_directories_.end())
        return known->second.to;
    if (path.size() > rootfs::longest_path)
        return std::nullopt;
    // Where a path leads follows from where its directory leads.
    Led led = {"/"};
    std::size_t end = 0;
    const std::size_t above = std::min(path.find_last_of('/'), path.size());
    if (const auto known = real_directories_.find(path.substr(0, above));
        known != real_directories_.end()) {
        led = known->second;
        end = above;
    }
    while (led.to && end < path.size()) {
        if (!led.is_directory)
            return std::nullopt;
        const std::size_t start = std::min(path.find_first_not_of('/', end), path.size());
        end = std::min(path.find('/', start), path.size());
        const std::string prefix = path.substr(0, end);
        if (const auto known = real_directories_.find(prefix); known != real_directories_.end())
            led = known->second;
        else
            keep(prefix, led = go_on(led, std::string_view(path).substr(start, end - start)));
    }
    return led.to;
}

/// Where one more component of a path leads.
ContainerView::Led ContainerView::go_on(const Led& directory, std::string_view component) const
{
    rootfs::PathWalk walk(*directory.to, directory.gone);
    EntryType last = EntryType::directory;
    auto to = rootfs::follow_links(
        walk, component, LastLink::followed,
        [&](const std::string& name) { return last = entry_at(name).type; },
        [&](const std::string& name) { return target_at(name); });
    // A link is the last where it leads to the root, or to a directory by "..".
    return {std::move(to), walk.gone(), last == EntryType::directory || last == EntryType::link};
}

void ContainerView::keep(const std::string& path, const Led& led) const
{
    const std::size_t size = path.size() + (led.to ? led.to->size() : 0);
    if (kept_ + size > most_kept)
        forget();
    kept_ += size;
    real_directories_.insert_or_assign(path, led);
}

void ContainerView::forget() const
{
    real_directories_.clear();
    kept_ = 0;
}

std::optional<std::string> ContainerView::real(const std::string& path, LastLink last) const
{
    const std::string_view name = base::name_of(path);
    if (path == "/" || name.empty() || name == "." || name == "..")
        return real_directory(path);
    const auto directory = real_directory(std::string(base::directory_of(path)));
    if (!directory)
        return std::nullopt;
    const std::string whole = (*directory == "/" ? "/" : *directory + "/") + std::string(name);
    const EntryType type = entry_at(whole).type;
    if (type == EntryType::link && last == LastLink::followed)
        return real_directory(whole);
    return type == EntryType::none ? std::nullopt : std::optional(whole);
}

Entry ContainerView::look(const std::string& path) const
{
    const auto found = real(path, LastLink::kept);
    return found ? entry_at(*found) : Entry();
}

Entry ContainerView::resolve(const std::string& path) const
{
    const auto found = real(path, LastLink::followed);
    return found ? entry_at(*found) : Entry();
}

std::string ContainerView::link_target(const std::string& path) const
{
    const auto found = real(path, LastLink::kept);
    return found ? target_at(*found) : "";
}

Result<base::OpenFile> ContainerView::open(const std::string& path) const
{
    const auto found = real(path, LastLink::followed);
    if (!found)
        return cannot_open(ENOENT, path);
    if (const Node* const node = node_at(*found)) {
        if (node->kind == Node::Kind::host_file)
            return opened(open_planned(node->text, node->id));
        if (node->kind == Node::Kind::content)
            return opened(open_content(*node->content));
        return cannot_open(EINVAL, path);
    }
    std::string directory;
    const Node* const hiding = above(*found, directory);
    if (hiding == nullptr)
        return image_.open(*found);
    return hiding->kind == Node::Kind::host_directory
               ? opened(open_below(hiding->text, found->substr(directory.size())))
               : cannot_open(ENOENT, path);
}

Result<std::string> ContainerView::read(const std::string& path, std::size_t limit) const
{
    GPUCTR_TRY(const base::OpenFile file, open(path));
    GPUCTR_TRY(const std::uint64_t size, file.size(), "{}", path);
    if (size > limit)
        return cannot_open(EFBIG, path);
    std::string content(size, '\0');
    GPUCTR_TRY(const std::size_t got, file.read(content, 0), "{}", path);
    content.resize(got);
    return content;
}

Result<std::vector<std::string>> ContainerView::list(const std::string& path,
                                                     std::size_t limit) const
{
    const auto found = real(path, LastLink::followed);
    if (!found || entry_at(*found).type != EntryType::directory)
        return cannot_open(found ? ENOTDIR : ENOENT, path);
    std::set<std::string> names;
    const Node* const node = node_at(*found);
    std::string directory = *found;
    const Node* const hiding =
        node != nullptr && node->kind != Node::Kind::directory ? node : above(*found, directory);
    if (hiding != nullptr && hiding->kind == Node::Kind::host_directory) {
        const base::UniqueFd fd =
            find_below(hiding->text, found->substr(directory.size()), O_RDONLY | O_DIRECTORY);
        if (!fd)
            return cannot_open(errno, path);
        GPUCTR_TRY(const auto listed, base::list_directory(fd.get(), ".", limit));
        names.insert(listed.begin(), listed.end());
    } else if (hiding == nullptr && image_.look(*found).type == EntryType::directory) {
        GPUCTR_TRY(const auto listed, image_.list(*found, limit));
        names.insert(listed.begin(), listed.end());
    }
    const auto ours = names_.find(*found);
    if (ours != names_.end())
        names.insert(ours->second.begin(), ours->second.end());
    if (names.size() > limit)
        return cannot_open(EFBIG, path);
    return std::vector<std::string>(names.begin(), names.end());
}

bool ContainerView::is_empty_directory(const std::string& path) const
{
    const auto names = list(path, 0);
    return names.has_value();
}

bool ContainerView::is_for_names(const std::string& /*path*/) const { return false; }

std::string ContainerView::host_file(const std::string& path) const
{
    const auto found = real(path, LastLink::followed);
    const Node* const node = found ? node_at(*found) : nullptr;
    return node != nullptr && node->kind == Node::Kind::host_file ? node->text : "";
}

} // namespace gpucontainer::check
