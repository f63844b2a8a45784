// SPDX-License-Identifier: MIT
#include "base/backing_files.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

#include <fcntl.h>
#include <linux/major.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace gpucontainer::base {
namespace {

/// The kernel nests no more block devices than eight.
constexpr int deepest = 8;

void add_files(const std::string& device, int depth, std::vector<std::string>& files)
{
    if (const auto path = read_file(device + "/loop/backing_file"))
        files.emplace_back(trim(*path));
    if (depth == deepest)
        return;
    if (::access((device + "/partition").c_str(), F_OK) == 0)
        add_files(device + "/..", depth + 1, files);
    if (const auto parts = list_directory(AT_FDCWD, device + "/slaves"))
        for (const std::string& part : *parts)
            add_files(base::format("{}/slaves/{}", device, part), depth + 1, files);
}

} // namespace

Result<std::vector<std::string>> backing_files(dev_t device)
{
    const std::string shown =
        base::format("/sys/dev/block/{}:{}", ::major(device), ::minor(device));
    std::vector<std::string> files;
    add_files(shown, 0, files);
    if (files.empty() && ::major(device) == LOOP_MAJOR)
        return Error(Errc::permission, shown + " does not say which");
    return files;
}

} // namespace gpucontainer::base
