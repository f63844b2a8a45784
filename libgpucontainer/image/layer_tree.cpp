// SPDX-License-Identifier: MIT
#include "image/layer_tree.hpp"

#include "base/text.hpp"
#include "base/try.hpp"
#include "image/refusal.hpp"

#include <algorithm>
#include <cerrno>

namespace gpucontainer::image {

using rootfs::EntryType;

struct LayerTree::Way {
    std::vector<Number> above; ///< Directories from the root to where it is.
    std::string rest;
    std::size_t at = 0; ///< In `rest`, what was not followed yet.
    unsigned links = 0;
};

namespace {

constexpr std::uint32_t root_number = 0;
constexpr std::size_t longest_component = 255; // NAME_MAX
constexpr unsigned most_links_followed = 40;
constexpr std::size_t longest_rest = std::size_t{64} << 10U; ///< Of what links add up to.

// As the OCI image specification has them, and AUFS before.
constexpr std::string_view white_prefix = ".wh.";
constexpr std::string_view white_all = ".wh..wh..opq";
constexpr std::string_view white_special = ".wh..wh.";

/// "a/b" for "/a/./x/../b/": as engines clean it, before any link is followed.
std::string cleaned(std::string_view path)
{
    std::vector<std::string_view> parts;
    for (const std::string_view part : base::split(path, '/')) {
        if (part == "..") {
            if (!parts.empty())
                parts.pop_back();
        } else if (!part.empty() && part != ".") {
            parts.push_back(part);
        }
    }
    return base::joined(parts, "/");
}

/// The directory of a cleaned path, "" for the root, and the name in it.
std::pair<std::string_view, std::string_view> split_last(std::string_view path)
{
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos
               ? std::pair(std::string_view(), path)
               : std::pair(path.substr(0, slash), path.substr(slash + 1));
}

} // namespace

LayerTree::LayerTree(int fd, const LayerLimits& limits)
    : file_(std::make_unique<FileWindow>(fd)), limits_(limits)
{
    names_.emplace_back();
    nodes_.push_back({.mode = 0755, .type = EntryType::directory});
}

Result<void> LayerTree::take_text(std::size_t size)
{
    text_ += size;
    return text_ <= limits_.text && nodes_.size() <= limits_.entries ? Result<void>()
                                                                     : refusal(Refusal::too_much);
}

const LayerTree::Child* LayerTree::find(Number directory, std::string_view name) const
{
    const Names& names = names_[nodes_[directory].more];
    const auto found = names.find(name);
    return found == names.end() ? nullptr : &found->second;
}

/// Gives a name in a directory to a node, in place of what has it.
Result<void> LayerTree::put(Number parent, std::string_view name, Number node)
{
    if (name.size() > longest_component)
        return error_of(EBADMSG);
    Names& names = names_[nodes_[parent].more];
    const auto found = names.find(name);
    if (found != names.end()) {
        found->second = {node, layer_};
        last_parent_.reset();
        return {};
    }
    GPUCTR_CHECK(take_text(name.size()));
    names.emplace(name, Child{node, layer_});
    return {};
}

Result<LayerTree::Number> LayerTree::new_node(const TarEntry& entry)
{
    Node node = {.offset = entry.content.offset,
                 .size = entry.size,
                 .mode = entry.mode,
                 .mtime = entry.mtime,
                 .type = entry.type,
                 .is_sparse = entry.is_sparse};
    if (entry.type == EntryType::directory) {
        node.more = static_cast<std::uint32_t>(names_.size());
        names_.emplace_back();
    }
    if (entry.type == EntryType::link) {
        if (entry.target.empty() || entry.target.size() > longest_target)
            return error_of(EBADMSG);
        GPUCTR_CHECK(take_text(entry.target.size()));
        node.more = static_cast<std::uint32_t>(targets_.size());
        targets_.push_back(entry.target);
    }
    nodes_.push_back(node);
    return static_cast<Number>(nodes_.size() - 1);
}

/// The node that a hard link is another name of.
Result<LayerTree::Number> LayerTree::linked_node(const TarEntry& entry)
{
    const std::string target = cleaned(entry.target);
    const auto [directory, name] = split_last(target);
    GPUCTR_TRY(const Number parent, directory_at(directory, false));
    const Child* const found = find(parent, name);
    if (found == nullptr || nodes_[found->node].type == EntryType::directory)
        return error_of(EBADMSG);
    return found->node;
}

Result<void> LayerTree::follow(Number link, Way& way) const
{
    const std::string& target = targets_[nodes_[link].more];
    if (target.front() == '/')
        way.above.resize(1);
    way.rest = target + "/" + way.rest.substr(way.at);
    way.at = 0;
    return ++way.links <= most_links_followed && way.rest.size() <= longest_rest
               ? Result<void>()
               : error_of(EBADMSG);
}

/// A directory that has no entry of its own.
Result<LayerTree::Number> LayerTree::make_directory(Number parent, std::string_view name)
{
    TarEntry made;
    made.type = EntryType::directory;
    made.mode = 0755;
    GPUCTR_TRY(const Number node, new_node(made));
    GPUCTR_CHECK(put(parent, name, node));
    return node;
}

/// Follows a component of a path.
Result<void> LayerTree::step(std::string_view component, bool makes, Way& way)
{
    if (component.empty() || component == ".")
        return {};
    if (component == "..") {
        if (way.above.size() > 1)
            way.above.pop_back();
        return {};
    }
    const Child* const child = find(way.above.back(), component);
    const EntryType type = child == nullptr ? EntryType::none : nodes_[child->node].type;
    if (type == EntryType::link)
        return follow(child->node, way);
    const bool leads_on = type == EntryType::directory || (type == EntryType::none && makes);
    if (!leads_on || way.above.size() > deepest_directory)
        return error_of(EBADMSG);
    if (child != nullptr) {
        way.above.push_back(child->node);
        return {};
    }
    GPUCTR_TRY(const Number made, make_directory(way.above.back(), component));
    way.above.push_back(made);
    return {};
}

/// The directory to which a path leads, with those that are missing if `makes`.
Result<LayerTree::Number> LayerTree::directory_at(std::string_view path, bool makes)
{
    Way way = {{root_number}, std::string(path)};
    while (way.at < way.rest.size()) {
        const std::size_t end = std::min(way.rest.find('/', way.at), way.rest.size());
        // A link replaces the text.
        const std::string component = way.rest.substr(way.at, end - way.at);
        way.at = std::min(end + 1, way.rest.size());
        GPUCTR_CHECK(step(component, makes, way));
    }
    return way.above.back();
}

/// The same for the directory of an entry: often that of the entry before.
Result<LayerTree::Number> LayerTree::parent_of(std::string_view path)
{
    if (last_parent_ && path == last_parent_path_)
        return *last_parent_;
    GPUCTR_TRY(const Number parent, directory_at(path, true));
    last_parent_ = parent;
    last_parent_path_ = path;
    return parent;
}

/// Takes away what lower layers have of a name, and returns the next one.
LayerTree::Names::iterator LayerTree::hide(Names& names, Names::iterator child)
{
    const Node& node = nodes_[child->second.node];
    const bool is_directory = node.type == EntryType::directory;
    if (is_directory)
        hide_all(child->second.node);
    const bool stays =
        child->second.layer == layer_ || (is_directory && !names_[node.more].empty());
    return stays ? std::next(child) : names.erase(child);
}

void LayerTree::hide_all(Number directory)
{
    Names& names = names_[nodes_[directory].more];
    for (auto child = names.begin(); child != names.end();)
        child = hide(names, child);
}

Result<void> LayerTree::white_out(Number parent, std::string_view name)
{
    last_parent_.reset();
    if (name == white_all)
        hide_all(parent);
    if (name.starts_with(white_special)) // of AUFS
        return {};
    name.remove_prefix(white_prefix.size());
    if (name.empty() || name == "." || name == "..")
        return error_of(EBADMSG);
    Names& names = names_[nodes_[parent].more];
    if (const auto found = names.find(name); found != names.end())
        (void)hide(names, found);
    return {};
}

/// Gives a name to what an entry says. A directory over a directory has the names of both.
Result<void> LayerTree::set(Number parent, std::string_view name, const TarEntry& entry)
{
    Names& names = names_[nodes_[parent].more];
    const auto found = names.find(name);
    if (entry.type == EntryType::directory && found != names.end()
        && nodes_[found->second.node].type == EntryType::directory) {
        found->second.layer = layer_;
        Node& node = nodes_[found->second.node];
        node.mode = entry.mode;
        node.mtime = entry.mtime;
        return {};
    }
    GPUCTR_TRY(const Number node,
               entry.type == EntryType::none ? linked_node(entry) : new_node(entry));
    return put(parent, name, node);
}

Result<void> LayerTree::unpack(const TarEntry& entry)
{
    if (++entries_ > limits_.entries)
        return refusal(Refusal::too_much);
    const std::string path = cleaned(entry.path);
    if (path.empty()) { // the root itself
        if (entry.type == EntryType::directory)
            nodes_[root_number].mode = entry.mode;
        return {};
    }
    const auto [directory, name] = split_last(path);
    GPUCTR_TRY(const Number parent, parent_of(directory));
    return name.starts_with(white_prefix) ? white_out(parent, name) : set(parent, name, entry);
}

Result<void> LayerTree::add(const Extent& tar)
{
    ++layer_;
    TarReader reader(*file_, tar);
    TarEntry entry;
    for (;;) {
        GPUCTR_TRY(const bool is_there, reader.next(entry));
        if (!is_there)
            return {};
        GPUCTR_CHECK(unpack(entry));
    }
}

/// By a cleaned path, on which no link is followed.
std::optional<LayerTree::Number> LayerTree::node_at(std::string_view path) const
{
    Number node = root_number;
    for (const std::string_view part : base::split(path, '/')) {
        const bool is_directory = nodes_[node].type == EntryType::directory;
        const Child* const child = is_directory ? find(node, part) : nullptr;
        if (child == nullptr)
            return std::nullopt;
        node = child->node;
    }
    return node;
}

std::optional<Extent> LayerTree::content_of(std::string_view path) const
{
    std::string way = cleaned(path);
    for (unsigned links = 0; links <= most_links_followed; ++links) {
        const auto number = node_at(way);
        const Node node = number ? nodes_[*number] : Node();
        if (node.type == EntryType::regular && !node.is_sparse)
            return Extent{node.offset, node.size};
        if (node.type != EntryType::link)
            return std::nullopt;
        const std::string& target = targets_[node.more];
        std::string beside(split_last(way).first);
        beside.append("/").append(target);
        way = cleaned(target.front() == '/' ? target : beside);
    }
    return std::nullopt;
}

// References are numbers of nodes, and 1 more: others take 0 for none.

Result<Reference> LayerTree::root() { return Reference{root_number + 1}; }

Result<Inode> LayerTree::inode(Reference place)
{
    if (place == 0 || place > nodes_.size())
        return error_of(EBADMSG);
    const Node& node = nodes_[place - 1];
    Inode inode;
    inode.type = node.type;
    inode.mode = node.mode;
    inode.mtime = node.mtime;
    if (node.type == EntryType::regular)
        inode.size = node.size;
    if (node.type == EntryType::link)
        inode.target = targets_[node.more];
    return inode;
}

Result<std::vector<Name>> LayerTree::list(Reference directory)
{
    if (directory == 0 || directory > nodes_.size()
        || nodes_[directory - 1].type != EntryType::directory)
        return error_of(EBADMSG);
    const Names& names = names_[nodes_[directory - 1].more];
    if (names.size() > limits_.names)
        return error_of(EFBIG);
    std::vector<Name> all;
    all.reserve(names.size());
    for (const auto& [name, child] : names)
        all.push_back({name, Reference{child.node} + 1, nodes_[child.node].type});
    return all;
}

Result<std::size_t> LayerTree::read(Reference file, std::uint64_t offset, std::span<char> bytes)
{
    if (file == 0 || file > nodes_.size() || nodes_[file - 1].type != EntryType::regular)
        return error_of(EBADMSG);
    const Node& node = nodes_[file - 1];
    if (node.is_sparse)
        return refusal(Refusal::sparse_file);
    if (offset >= node.size)
        return std::size_t{0};
    const auto most = std::min<std::uint64_t>(largest_part, node.size - offset);
    bytes = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(most, bytes.size())));
    GPUCTR_CHECK(file_->read(node.offset + offset, bytes));
    return bytes.size();
}

} // namespace gpucontainer::image
