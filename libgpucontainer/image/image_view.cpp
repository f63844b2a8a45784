// SPDX-License-Identifier: MIT
#include "image/image_view.hpp"

#include "base/file.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

namespace gpucontainer::image {

using rootfs::Entry;
using rootfs::EntryType;

namespace {

constexpr unsigned most_links = 40; // as the kernel
constexpr std::size_t most_steps = 4096;
constexpr std::size_t longest_way = 64U << 10U; ///< Of what links add up to.
/// What is kept of an image. More is read again.
constexpr std::size_t most_kept_names = 1'000'000;
constexpr std::size_t most_kept_inodes = 100'000;

/// No file system has this number.
constexpr std::uint64_t device = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t nanoseconds = 1'000'000'000;

bool is_of_the_image(int os_error) { return os_error == EBADMSG || base::leaves_open(os_error); }

Error failed(int os_error, const std::string& path)
{
    Error error = is_of_the_image(os_error) ? error_of(os_error).context(path)
                                            : Error::from_errno(os_error, path, Errc::rootfs);
    return std::move(error).with_object(path);
}

} // namespace

struct ImageView::Way {
    std::vector<Found> above; ///< Directories from the root to where it is.
    std::string rest;
    bool follows_last;
    unsigned links = 0;
    std::optional<Found> end; ///< Something other than a directory.
};

ImageView::ImageView(std::shared_ptr<FileSystem> files, Reference root)
    : files_(std::move(files)), root_(root), opened_(files_)
{
    facts_.device = device;
    facts_.inode = root;
    facts_.read_only = true;
}

Result<std::unique_ptr<ImageView>> ImageView::open(std::shared_ptr<FileSystem> files)
{
    GPUCTR_TRY(const Reference root, files->root());
    GPUCTR_TRY(const Inode inode, files->inode(root));
    if (inode.type != EntryType::directory)
        return error_of(EBADMSG);
    return std::unique_ptr<ImageView>(new ImageView(std::move(files), root));
}

int ImageView::list_of(Reference directory, const Names*& names) const
{
    auto known = directories_.find(directory);
    if (known == directories_.end()) {
        auto listed = files_->list(directory);
        if (!listed)
            return os_error_of(listed.error());
        if (kept_names_ + listed->size() > most_kept_names) {
            directories_.clear();
            kept_names_ = 0;
        }
        kept_names_ += listed->size();
        known = directories_.emplace(directory, *std::move(listed)).first;
    }
    names = &known->second;
    return 0;
}

int ImageView::inode_of(Reference place, const Inode*& inode) const
{
    auto known = inodes_.find(place);
    if (known == inodes_.end()) {
        auto read = files_->inode(place);
        if (!read)
            return os_error_of(read.error());
        if (inodes_.size() >= most_kept_inodes)
            inodes_.clear();
        known = inodes_.emplace(place, *std::move(read)).first;
    }
    inode = &known->second;
    return 0;
}

int ImageView::find(Reference directory, std::string_view name, const Name*& found) const
{
    const Names* names = nullptr;
    if (const int error = list_of(directory, names); error != 0)
        return error;
    const auto at = std::ranges::lower_bound(*names, name, {}, &Name::name);
    if (at == names->end() || at->name != name)
        return ENOENT;
    found = &*at;
    return 0;
}

int ImageView::follow(const Name& link, Way& way) const
{
    const Inode* inode = nullptr;
    if (++way.links > most_links)
        return ELOOP;
    if (const int error = inode_of(link.inode, inode); error != 0)
        return error;
    if (inode->type != EntryType::link)
        return EBADMSG;
    if (inode->target.empty())
        return ENOENT;
    if (inode->target.front() == '/')
        way.above.resize(1);
    way.rest = inode->target + "/" + way.rest;
    return way.rest.size() <= longest_way ? 0 : ENAMETOOLONG;
}

/// Takes one component off the rest of the way.
int ImageView::step(Way& way) const
{
    const std::size_t slash = std::min(way.rest.find('/'), way.rest.size());
    const std::string component = way.rest.substr(0, slash);
    way.rest.erase(0, std::min(slash + 1, way.rest.size()));
    if (component.empty())
        return 0;
    if (way.end)
        return ENOTDIR;
    if (component == ".")
        return 0;
    if (component == "..") {
        if (way.above.size() > 1)
            way.above.pop_back();
        return 0;
    }
    const Name* name = nullptr;
    if (const int error = find(way.above.back().place, component, name); error != 0)
        return error;
    const bool is_last = way.rest.find_first_not_of('/') == std::string::npos;
    if (name->type == EntryType::link && (way.follows_last || !is_last))
        return follow(*name, way);
    const Found found = {name->inode, name->type};
    if (found.type == EntryType::directory)
        way.above.push_back(found);
    else
        way.end = found;
    return 0;
}

/// Returns an errno value, or 0.
int ImageView::walk(std::string_view path, bool follows_last, Found& found) const
{
    if (path.size() > longest_way)
        return ENAMETOOLONG;
    Way way = {{{root_, EntryType::directory}}, std::string(path), follows_last, 0, {}};
    for (std::size_t steps = 0; !way.rest.empty(); ++steps) {
        const int error = steps < most_steps ? step(way) : ENAMETOOLONG;
        if (error != 0)
            return error;
    }
    found = way.end.value_or(way.above.back());
    return 0;
}

/// Remembers a failure, unless it says that there is no such name.
void ImageView::note(int os_error, const std::string& path) const
{
    if (!trouble_ && is_of_the_image(os_error))
        trouble_ = {os_error, path};
}

Entry ImageView::entry(const std::string& path, bool follows_last) const
{
    Found found;
    const Inode* inode = nullptr;
    int error = walk(path, follows_last, found);
    if (error == 0)
        error = inode_of(found.place, inode);
    // What a directory says of a name and what its inode says are the same in a good image.
    if (error == 0 && inode->type != found.type)
        error = EBADMSG;
    if (error != 0) {
        note(error, path);
        return {};
    }
    Entry entry;
    entry.type = inode->type;
    entry.device = device;
    entry.inode = found.place;
    entry.size = inode->size;
    entry.mtime_ns = inode->mtime * nanoseconds;
    entry.mode = inode->mode;
    return entry;
}

Entry ImageView::look(const std::string& path) const { return entry(path, false); }
Entry ImageView::resolve(const std::string& path) const { return entry(path, true); }

std::vector<std::string> ImageView::present(const std::string& directory,
                                            const std::vector<std::string>& names) const
{
    std::vector<std::string> there;
    Found found;
    const Names* all = nullptr;
    int error = walk(directory, true, found);
    if (error == 0 && found.type != EntryType::directory)
        error = ENOTDIR;
    if (error == 0)
        error = list_of(found.place, all);
    if (error != 0) {
        note(error, directory);
        return there;
    }
    for (const std::string& name : names)
        if (std::ranges::binary_search(*all, name, {}, &Name::name))
            there.push_back(name);
    return there;
}

std::string ImageView::link_target(const std::string& path) const
{
    Found found;
    const Inode* inode = nullptr;
    int error = walk(path, false, found);
    if (error == 0)
        error = inode_of(found.place, inode);
    if (error == 0)
        return inode->type == EntryType::link ? inode->target : "";
    note(error, path);
    return "";
}

Result<ImageView::Found> ImageView::file_at(const std::string& path) const
{
    Found found;
    if (const int error = walk(path, true, found); error != 0)
        return failed(error, path);
    if (found.type != EntryType::regular)
        return Error(Errc::rootfs, path + ": not a regular file").with_object(path);
    return found;
}

Result<base::OpenFile> ImageView::open(const std::string& path) const
{
    GPUCTR_TRY(const Found found, file_at(path));
    const Inode* inode = nullptr;
    if (const int error = inode_of(found.place, inode); error != 0)
        return failed(error, path);
    if (inode->type != EntryType::regular)
        return failed(EBADMSG, path);
    auto opened = opened_.open(found.place, inode->size);
    if (!opened)
        return std::move(opened).error().context(path).with_object(path);
    return opened;
}

Result<std::string> ImageView::read(const std::string& path, std::size_t limit) const
{
    GPUCTR_TRY(const base::OpenFile file, open(path));
    GPUCTR_TRY(const std::uint64_t size, file.size(), "{}", path);
    if (size > limit)
        return Error::from_errno(EFBIG, path, Errc::rootfs).with_object(path);
    std::string content(size, '\0');
    GPUCTR_TRY(const std::size_t got, file.read(content, 0), "{}", path);
    content.resize(got);
    return content;
}

Result<std::vector<std::string>> ImageView::list(const std::string& path, std::size_t limit) const
{
    Found found;
    const Names* all = nullptr;
    int error = walk(path, true, found);
    if (error == 0 && found.type != EntryType::directory)
        error = ENOTDIR;
    if (error == 0)
        error = list_of(found.place, all);
    if (error == 0 && all->size() > limit)
        error = EFBIG;
    if (error != 0)
        return failed(error, path);
    std::vector<std::string> names;
    for (const Name& name : *all)
        names.push_back(name.name);
    return names;
}

bool ImageView::is_empty_directory(const std::string& path) const
{
    const auto names = list(path, 0);
    if (!names && names.error().os_error() != EFBIG)
        note(os_error_of(names.error()), path);
    return names.has_value();
}

Result<void> ImageView::check() const
{
    if (!trouble_)
        return {};
    return failed(trouble_->os_error, trouble_->path);
}

} // namespace gpucontainer::image
