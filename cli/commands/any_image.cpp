// SPDX-License-Identifier: MIT
#include "commands/any_image.hpp"

#include "options/values.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"

#include <array>

namespace gpuctr_cli {
namespace {

constexpr std::array of_a_root = {"--rootfs",      "--rootfs-fd",    "--pid",   "--layout",
                                  "--tree-path",   "--write",        "--lock",  "--mount-label",
                                  "--cuda-compat", "--cuda-toolkit", "--glibc", "--backend",
                                  "--staged-tree"};

} // namespace

void refuse_options_of_a_root(const CLI::App& app, const std::string& command,
                              const std::string& what)
{
    for (const char* const name : of_a_root) {
        const CLI::Option* const option = app.get_option_no_throw(name);
        if (option != nullptr && option->count() != 0)
            throw usage_error_of(
                command, formatted("{} is for any image, and does not go with {}", what, name));
    }
    const CLI::Option* const image_env = app.get_option_no_throw("--image-env");
    if (image_env != nullptr && image_env->count() != 0 && image_env->as<std::string>() == "auto")
        throw usage_error_of(command, formatted("{} is for any image: --image-env takes a FILE "
                                                "here",
                                                what));
}

gpucontainer::Request request_for_any_image(const RequestOptions& options, const Messages& messages)
{
    gpucontainer::Request request = options.request(-1, messages);
    request.layout = GPUCTR_LAYOUT_BINDS;
    request.write = GPUCTR_WRITE_AUTO;
    request.compat = GPUCTR_COMPAT_AUTO;
    request.toolkit.clear();
    request.glibc = GPUCTR_GLIBC_NEVER;
    request.tree_path.clear();
    request.mount_label.clear();
    request.lock = false;
    return request;
}

void add_files_dir_option(CLI::App& app, std::string& directory, const std::string& when)
{
    app.add_option("--files-dir", directory,
                   formatted("{}: where files that are made for containers are kept", when))
        ->type_name("DIR")
        ->check(check_absolute)
        ->capture_default_str();
}

} // namespace gpuctr_cli
