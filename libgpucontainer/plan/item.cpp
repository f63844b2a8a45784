// SPDX-License-Identifier: MIT
#include "plan/item.hpp"

#include "program/program.hpp"

namespace gpucontainer::plan {
namespace {

constexpr const char* file_options = "ro,nosuid,nodev";

/// The kind of each item. A new type of item does not compile without a line here.
struct KindOf {
    ItemKind operator()(const Directory&) const noexcept { return ItemKind::directory; }
    ItemKind operator()(const Tree&) const noexcept { return ItemKind::mount; }
    ItemKind operator()(const Overlay&) const noexcept { return ItemKind::mount; }
    ItemKind operator()(const Bind&) const noexcept { return ItemKind::bind; }
    ItemKind operator()(const KernelEntry&) const noexcept { return ItemKind::bind; }
    ItemKind operator()(const Symlink&) const noexcept { return ItemKind::symlink; }
    ItemKind operator()(const GeneratedFile&) const noexcept { return ItemKind::file; }
    ItemKind operator()(const Cover&) const noexcept { return ItemKind::cover; }
    ItemKind operator()(const GeneratedCover&) const noexcept { return ItemKind::cover; }
    ItemKind operator()(const Shared&) const noexcept { return ItemKind::bind; }
    ItemKind operator()(const Device&) const noexcept { return ItemKind::device; }
    ItemKind operator()(const LoaderCache&) const noexcept { return ItemKind::ldcache; }
    ItemKind operator()(const Variable&) const noexcept { return ItemKind::env; }
};

struct SourceOf {
    std::string_view operator()(const Tree&) const noexcept { return "tmpfs"; }
    std::string_view operator()(const Overlay&) const noexcept { return "overlay"; }
    std::string_view operator()(const Bind& bind) const noexcept { return bind.source; }
    std::string_view operator()(const KernelEntry& entry) const noexcept { return entry.source; }
    std::string_view operator()(const Symlink& link) const noexcept { return link.to; }
    std::string_view operator()(const Cover& cover) const noexcept { return cover.source; }
    std::string_view operator()(const Shared& shared) const noexcept { return shared.source; }
    std::string_view operator()(const Device& device) const noexcept { return device.source; }
    std::string_view operator()(const Variable& variable) const noexcept { return variable.value; }
    template <typename Generated>
    std::string_view operator()(const Generated&) const noexcept
    {
        return "";
    }
};

struct OptionsOf {
    Place place;

    std::string_view operator()(const Tree&) const noexcept { return file_options; }
    std::string_view operator()(const Overlay&) const noexcept { return "ro"; }
    std::string_view operator()(const Bind&) const noexcept { return file_options; }
    std::string_view operator()(const KernelEntry&) const noexcept { return file_options; }
    std::string_view operator()(const Cover&) const noexcept { return file_options; }
    std::string_view operator()(const GeneratedCover&) const noexcept { return file_options; }
    std::string_view operator()(const Shared& shared) const noexcept
    {
        if (shared.writable)
            return shared.executable ? "nosuid,nodev" : "nosuid,nodev,noexec";
        return shared.executable ? file_options : "ro,nosuid,nodev,noexec";
    }
    std::string_view operator()(const Device&) const noexcept { return "ro,nosuid,noexec"; }
    /// An existing one is covered.
    std::string_view operator()(const LoaderCache&) const noexcept
    {
        return place == Place::there ? file_options : "";
    }
    std::string_view operator()(const Variable& variable) const noexcept { return variable.action; }
    template <typename Name>
    std::string_view operator()(const Name&) const noexcept
    {
        return "";
    }
};

struct ContentOf {
    const std::string* operator()(const GeneratedFile& file) const noexcept
    {
        return &file.content;
    }
    const std::string* operator()(const GeneratedCover& cover) const noexcept
    {
        return cover.is_directory ? nullptr : &cover.content;
    }
    /// A plan's is never empty. A journal does not keep it.
    const std::string* operator()(const LoaderCache& cache) const noexcept
    {
        return cache.content.empty() ? nullptr : &cache.content;
    }
    template <typename Other>
    const std::string* operator()(const Other&) const noexcept
    {
        return nullptr;
    }
};

struct IsDirectory {
    bool operator()(const Directory&) const noexcept { return true; }
    bool operator()(const Tree&) const noexcept { return true; }
    bool operator()(const Overlay&) const noexcept { return true; }
    bool operator()(const Bind& bind) const noexcept { return bind.is_directory; }
    bool operator()(const KernelEntry& entry) const noexcept { return entry.is_directory; }
    bool operator()(const GeneratedCover& cover) const noexcept { return cover.is_directory; }
    bool operator()(const Shared& shared) const noexcept
    {
        return shared.kind == model::SharedPath::Kind::directory;
    }
    template <typename Other>
    bool operator()(const Other&) const noexcept
    {
        return false;
    }
};

struct ModeOfMade {
    std::uint32_t operator()(const Directory& directory) const noexcept
    {
        return directory.mode & program::directory_mode;
    }
    std::uint32_t operator()(const Tree&) const noexcept { return program::directory_mode; }
    std::uint32_t operator()(const Overlay& overlay) const noexcept
    {
        return overlay.mode & program::directory_mode;
    }
    std::uint32_t operator()(const GeneratedCover& cover) const noexcept
    {
        return cover.is_directory ? program::empty_directory_mode : 0;
    }
    std::uint32_t operator()(const Device& device) const noexcept { return device.mode; }
    template <typename Other>
    std::uint32_t operator()(const Other&) const noexcept
    {
        return 0;
    }
};

} // namespace

std::string_view name(Place place)
{
    switch (place) {
    case Place::there:
        return "there";
    case Place::created:
        return "created";
    case Place::tree:
        return "tree";
    case Place::overlay:
        return "overlay";
    case Place::cover:
        return "cover";
    }
    return "";
}

std::string_view name(ItemKind kind)
{
    switch (kind) {
    case ItemKind::directory:
        return "directory";
    case ItemKind::mount:
        return "mount";
    case ItemKind::bind:
        return "bind";
    case ItemKind::symlink:
        return "symlink";
    case ItemKind::file:
        return "file";
    case ItemKind::cover:
        return "cover";
    case ItemKind::device:
        return "device";
    case ItemKind::ldcache:
        return "ldcache";
    case ItemKind::env:
        return "env";
    }
    return "";
}

ItemKind Item::kind() const { return std::visit(KindOf(), what); }
std::string_view Item::source() const { return std::visit(SourceOf(), what); }
std::string_view Item::options() const { return std::visit(OptionsOf{place}, what); }
const std::string* Item::content() const { return std::visit(ContentOf(), what); }
bool Item::is_directory() const { return std::visit(IsDirectory(), what); }
std::uint32_t Item::mode() const
{
    const std::string* const bytes = content();
    return bytes != nullptr ? program::mode_of_file(bytes->size()) : std::visit(ModeOfMade(), what);
}

} // namespace gpucontainer::plan
