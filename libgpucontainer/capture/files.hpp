// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "capture/report.hpp"
#include "host/driver_root.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace gpucontainer::capture {

/// Files of the host as rows of files.tsv: of each its name, size and mode, of an ELF file what its
/// outside shows, and no content of a program or library. Of small texts that tell where a driver
/// is, such as manifests and configuration, the content: if everybody may read them, and they lie
/// in the directory in which they were looked for, or root's own links lead to them.
class Files {
public:
    /// Paths are in the driver root, whose prefix they get.
    Files(const host::DriverRoot& root, Report& report) : root_(root), report_(report) {}

    enum class Content : unsigned char {
        none,
        text,
        specification, ///< Of CDI: without the values of variables. No link out is followed.
        elsewhere,     ///< None, as a link leads to it that is not followed.
    };

    /// Adds what a path leads to, and each link on the way. Nothing if there is nothing.
    void add(const std::string& path, Content content = Content::none);

    /// Adds everything in a directory.
    void add_directory(const std::string& path);

    /// Adds what is there of the paths that were looked at.
    void add_traced(const host::Trace& trace);

    /// Adds the libraries that those which were added are linked to, as the loader finds them.
    void add_needed();

    /// Adds files.tsv, and the loader's cache and configuration.
    void write();

private:
    void add_file(const std::string& path, Content content);
    void add_content(const std::string& path, Content content);
    std::string columns_of(int fd, const std::string& path);
    void write_cache();
    void write_configuration();

    const host::DriverRoot& root_;
    Report& report_;
    std::map<std::string, std::string> rows_; ///< By path on the host.
    std::set<std::string> needed_;
    std::set<std::string> configuration_;
};

} // namespace gpucontainer::capture
