// SPDX-License-Identifier: MIT
#include "base/open_file.hpp"

#include "base/try.hpp"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::base {

Result<std::size_t> OpenFile::read(std::span<char> bytes, std::uint64_t offset) const
{
    const FileRef file = get();
    GPUCTR_CHECK(file.fetch(offset, bytes.size()));
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t got = ::pread(file.fd(), bytes.data() + done, bytes.size() - done,
                                    static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return Error::from_errno(errno, "read");
        if (got == 0)
            break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

Result<std::uint64_t> OpenFile::size() const
{
    struct stat status = {};
    if (::fstat(get().fd(), &status) != 0)
        return Error::from_errno(errno, "read");
    return static_cast<std::uint64_t>(status.st_size);
}

} // namespace gpucontainer::base
