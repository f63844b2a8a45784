// SPDX-License-Identifier: MIT
#pragma once

#include "rootfs/view.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace gpucontainer::test {

/// A hostile tree: "/q" has directories in it, and those have directories, without end. "/l" leads
/// deep into them. It counts what it is asked.
class DeepView final : public rootfs::View {
public:
    static constexpr int depth = 200;

    /// A path of so many components, which no other number gives.
    static std::string path(int number)
    {
        std::string all = "/q/" + std::to_string(number);
        for (int i = 2; i < depth; ++i)
            all += "/x";
        return all;
    }

    rootfs::Entry look(const std::string& path) const override
    {
        ++looks;
        rootfs::Entry entry;
        if (path == "/l")
            entry.type = rootfs::EntryType::link;
        else if (path == "/q/file")
            entry.type = rootfs::EntryType::regular;
        else if (path.starts_with("/q") && !path.ends_with("none"))
            entry.type = rootfs::EntryType::directory;
        return entry;
    }
    rootfs::Entry resolve(const std::string& path) const override { return look(path); }
    std::string link_target(const std::string& link) const override
    {
        return link == "/l" ? path(0) : "";
    }
    Result<base::OpenFile> open(const std::string& path) const override { return missing(path); }
    Result<std::string> read(const std::string& path, std::size_t /*limit*/) const override
    {
        return missing(path);
    }
    Result<std::vector<std::string>> list(const std::string& path,
                                          std::size_t /*limit*/) const override
    {
        return missing(path);
    }
    bool is_empty_directory(const std::string& /*path*/) const override { return false; }
    bool is_for_names(const std::string& /*path*/) const override { return false; }

    mutable std::size_t looks = 0;

private:
    static Error missing(const std::string& path) { return {Errc::rootfs, path}; }
};

} // namespace gpucontainer::test
