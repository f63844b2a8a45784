// SPDX-License-Identifier: MIT
#include "image/part_file.hpp"

#include "base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <unordered_set>
#include <utility>
#include <vector>

namespace gpucontainer::image {
namespace {

/// Half a block as mksquashfs makes them: a header is less, and the table of strings of a library
/// more. The reader keeps the last blocks.
constexpr std::uint64_t part_size = std::uint64_t{64} << 10U;

/// Larger files than programs have, and less than makes offsets overflow.
constexpr std::uint64_t largest_file = std::uint64_t{1} << 42U;

class Parts final : public base::Content {
public:
    Parts(base::UniqueFd fd, std::shared_ptr<FileSystem> files, Reference place, std::uint64_t size,
          std::shared_ptr<std::uint64_t> budget)
        : fd_(std::move(fd)), files_(std::move(files)), place_(place), size_(size),
          budget_(std::move(budget))
    {
    }

    int fd() const noexcept override { return fd_.get(); }
    Result<void> fetch(std::uint64_t offset, std::uint64_t size) override
    {
        if (offset >= size_ || size == 0)
            return {};
        size = std::min(size, size_ - offset);
        if (size > most_of_file)
            return error_of(EFBIG);
        const std::uint64_t end = (offset + size + part_size - 1) / part_size;
        for (std::uint64_t part = offset / part_size; part < end; ++part)
            if (!fetched_.contains(part))
                GPUCTR_CHECK(bring(part));
        return {};
    }

private:
    Result<void> bring(std::uint64_t part)
    {
        const std::uint64_t start = part * part_size;
        const std::uint64_t wanted = std::min(part_size, size_ - start);
        if ((fetched_.size() + 1) * part_size > most_of_file || wanted > *budget_)
            return error_of(EFBIG);
        *budget_ -= wanted;
        buffer_.resize(part_size);
        std::uint64_t done = 0;
        while (done < wanted) {
            GPUCTR_TRY(const std::size_t got,
                       files_->read(place_, start + done, {buffer_.data() + done, wanted - done}));
            if (got == 0)
                return error_of(EBADMSG);
            done += got;
        }
        if (::pwrite(fd_.get(), buffer_.data(), wanted, static_cast<off_t>(start))
            != static_cast<ssize_t>(wanted))
            return error_of(EFBIG);
        fetched_.insert(part);
        return {};
    }

    base::UniqueFd fd_;
    std::shared_ptr<FileSystem> files_;
    Reference place_;
    std::uint64_t size_;
    std::shared_ptr<std::uint64_t> budget_;
    std::unordered_set<std::uint64_t> fetched_;
    std::vector<char> buffer_;
};

/// Whoever makes a larger one gets a signal that ends the process.
bool may_have_size(std::uint64_t size)
{
    rlimit most = {};
    return size <= largest_file
           && (::getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY
               || size <= most.rlim_cur);
}

/// A quarter of the descriptors that this process may have, or fewer.
std::size_t most_descriptors()
{
    rlimit most = {};
    if (::getrlimit(RLIMIT_NOFILE, &most) != 0)
        return 0;
    return std::min<rlim_t>(PartFiles::most_kept, most.rlim_cur / 4);
}

} // namespace

PartFiles::PartFiles(std::shared_ptr<FileSystem> files)
    : files_(std::move(files)), budget_(std::make_shared<std::uint64_t>(most_of_files)),
      budget_then_(*budget_)
{
}

void PartFiles::make_room()
{
    if (kept_.size() < most_descriptors() && budget_then_ - *budget_ < most_kept_bytes)
        return;
    kept_.clear();
    budget_then_ = *budget_;
}

Result<base::OpenFile> PartFiles::open(Reference place, std::uint64_t size)
{
    if (const auto known = kept_.find(place); known != kept_.end())
        return base::OpenFile(known->second);
    if (!may_have_size(size))
        return error_of(EFBIG);
    make_room();
    base::UniqueFd fd(::memfd_create("gpuctr-image-file", MFD_CLOEXEC));
    if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
        return Error::from_errno(errno, "a file in memory", Errc::rootfs);
    auto content = std::make_shared<Parts>(std::move(fd), files_, place, size, budget_);
    kept_.emplace(place, content);
    return base::OpenFile(std::move(content));
}

} // namespace gpucontainer::image
