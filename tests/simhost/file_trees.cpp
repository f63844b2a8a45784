// SPDX-License-Identifier: MIT
#include "file_trees.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "elf_stub.hpp"
#include "machine.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace gpucontainer::simhost {
namespace {

constexpr std::string_view loader_conf_directory = "/etc/ld.so.conf.d";

/// Directories in which a machine keeps pieces of its GPU driver.
constexpr std::array driver_directories = {
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/dri",
    "/usr/lib64/dri",
    "/usr/lib/x86_64-linux-gnu/dri",
    "/usr/lib/aarch64-linux-gnu/dri",
    "/usr/local",
    "/usr/local/bin",
    "/usr/libexec",
    "/usr/share",
    "/usr/share/glvnd/egl_vendor.d",
    "/usr/share/egl/egl_external_platform.d",
    "/usr/share/vulkan/icd.d",
    "/usr/share/vulkan/implicit_layer.d",
    "/etc/OpenCL/vendors",
    "/etc/vulkan/icd.d",
    "/opt",
};

StubKind kind_of(const RecordedFile& file)
{
    const std::string_view name = base::name_of(file.path);
    const bool is_library = !file.soname.empty() || name.find(".so") != std::string_view::npos;
    if (is_library)
        return StubKind::library;
    if ((file.mode & 0111U) != 0)
        return StubKind::executable;
    return name.find(".ko") != std::string_view::npos ? StubKind::module : StubKind::header_only;
}

/// Lays the recorded files one by one.
class Layer {
public:
    Layer(const Recording& host, Tree& tree) : host_(host), tree_(tree) {}

    Result<void> lay(const RecordedFile& file)
    {
        const std::string path = machine_.place(file.path);
        if (base::directory_of(path) == "/" || base::directory_of(path).empty())
            return {}; // /bin and its like stay the machine's
        if (is_system_library(path)
            || (Machine::has(path) && !is_gpu_path(path)
                && !base::is_below(path, loader_conf_directory)))
            return {};
        if (file.is_link)
            return tree_.link(path, file.target);
        GPUCTR_TRY(const auto content, content_of(file));
        return tree_.file(path, content, file.mode, file.size);
    }

    Result<void> lay(const TextFile& file)
    {
        return tree_.file(machine_.place(file.path), file.content);
    }

private:
    Result<std::string> content_of(const RecordedFile& file) const
    {
        if (!file.elf_class.empty()) {
            ElfStub stub{kind_of(file), file.elf_class, file.machine,
                         file.soname,   file.needed,    file.versions};
            stub.runpath = file.runpath;
            stub.rpath = file.rpath;
            stub.interpreter = file.interpreter;
            stub.definitions = file.definitions;
            return make_elf_stub(stub);
        }
        const auto content = host_.contents.find(file.path);
        return content != host_.contents.end() ? content->second : std::string();
    }

    const Recording& host_;
    Tree& tree_;
    Machine machine_;
};

/// Hides what the machine has at `path`: the name where the recording has none,
/// else what lies below it.
Result<void> hide(const std::string& path, Tree& tree)
{
    if (!tree.has(path))
        return tree.whiteout(path);
    struct stat status = {};
    if (!tree.has_directory(path) || ::lstat(path.c_str(), &status) != 0
        || !S_ISDIR(status.st_mode))
        return {};
    GPUCTR_TRY(const auto names, base::list_directory(AT_FDCWD, path));
    for (const std::string& name : names)
        GPUCTR_CHECK(hide(base::format("{}/{}", path, name), tree));
    return {};
}

/// Whether something that is no directory takes the place of one that leads there.
bool is_covered(const std::string& path, const Tree& tree)
{
    const std::string directory(base::directory_of(path));
    if (directory.size() <= 1)
        return false;
    return (tree.has(directory) && !tree.has_directory(directory)) || is_covered(directory, tree);
}

Result<void> hide_machine_drivers(Tree& tree)
{
    for (const std::string_view known : gpu_paths()) {
        const std::string path(known);
        if (Machine::has(path) && !is_covered(path, tree))
            GPUCTR_CHECK(hide(path, tree));
    }
    for (const std::string directory : driver_directories) {
        struct stat status = {};
        if (::lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
            continue; // a link's target is in this list, too
        GPUCTR_TRY(const auto names, base::list_directory(AT_FDCWD, directory));
        for (const std::string& name : names)
            if (is_gpu_name(name))
                GPUCTR_CHECK(hide(base::format("{}/{}", directory, name), tree));
    }
    return {};
}

/// The loader's cache and configuration are the recorded ones alone.
Result<void> hide_loader_files(const Recording& host, Tree& tree)
{
    if (host.loader_cache.empty() && Machine::has("/etc/ld.so.cache"))
        GPUCTR_CHECK(tree.whiteout("/etc/ld.so.cache"));
    if (host.loader_conf.empty() && Machine::has("/etc/ld.so.conf"))
        GPUCTR_CHECK(tree.whiteout("/etc/ld.so.conf"));
    if (Machine::has(std::string(loader_conf_directory)))
        return hide(std::string(loader_conf_directory), tree);
    return {};
}

} // namespace

Result<void> lay_files(const Recording& host, Tree& tree)
{
    Layer layer(host, tree);
    for (const TextFile& file : host.loader_conf)
        GPUCTR_CHECK(layer.lay(file), "lay {}", file.path);
    for (const RecordedFile& file : host.files)
        GPUCTR_CHECK(layer.lay(file), "lay {}", file.path);
    if (!host.loader_cache.empty())
        GPUCTR_CHECK(tree.file("/etc/ld.so.cache", host.loader_cache));
    GPUCTR_CHECK(hide_machine_drivers(tree), "hide the machine's GPU drivers");
    return hide_loader_files(host, tree);
}

Result<std::vector<std::string>> top_directories(const Tree& tree)
{
    return base::list_directory(tree.fd(), ".");
}

} // namespace gpucontainer::simhost
