// SPDX-License-Identifier: MIT
#include "options/request_options.hpp"

#include "options/groups.hpp"
#include "options/input_file.hpp"
#include "options/values.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "settings/settings.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <unistd.h>
#include <utility>

namespace gpuctr_cli {
namespace {

using Numbers = NamedValues<std::uint32_t>;

const Numbers& write_names()
{
    static const Numbers names = {{"auto", GPUCTR_WRITE_AUTO},
                                  {"never", GPUCTR_WRITE_NEVER},
                                  {"always", GPUCTR_WRITE_ALWAYS}};
    return names;
}

const Numbers& backend_names()
{
    static const Numbers names = {{"auto", GPUCTR_BACKEND_AUTO},
                                  {"detached", GPUCTR_BACKEND_DETACHED},
                                  {"assembled", GPUCTR_BACKEND_ASSEMBLED},
                                  {"legacy", GPUCTR_BACKEND_LEGACY}};
    return names;
}

const Numbers& layout_names()
{
    static const Numbers names = {{"tree", GPUCTR_LAYOUT_TREE}, {"merged", GPUCTR_LAYOUT_MERGED}};
    return names;
}

const Numbers& vendor_libs_names()
{
    static const Numbers names = {{"auto", GPUCTR_VENDOR_LIBS_AUTO},
                                  {"host", GPUCTR_VENDOR_LIBS_HOST},
                                  {"none", GPUCTR_VENDOR_LIBS_NONE}};
    return names;
}

const Numbers& compat_names()
{
    static const Numbers names = {{"auto", GPUCTR_COMPAT_AUTO},
                                  {"never", GPUCTR_COMPAT_NEVER},
                                  {"always", GPUCTR_COMPAT_ALWAYS}};
    return names;
}

const Numbers& glibc_names()
{
    static const Numbers names = {{"auto", GPUCTR_GLIBC_AUTO}, {"never", GPUCTR_GLIBC_NEVER}};
    return names;
}

/// What a file says about the environment of a container.
gpucontainer::ContainerEnvironment read_environment(const std::string& path)
{
    const std::string text =
        read_text(path, "--image-env",
                  "name an OCI configuration, a script of exports, or a file with lines NAME=VALUE",
                  "image_env");
    const auto refused = [&](const std::string& why, const std::string& hint) {
        return gpucontainer::Error(GPUCTR_E_USAGE, "--image-env " + path + ": " + why, hint, 0, {},
                                   "image_env");
    };
    if (text.find('\0') != std::string::npos)
        throw refused("not a text", "");
    try {
        return gpucontainer::ContainerEnvironment(-1, text.c_str(), environ);
    } catch (const gpucontainer::Error& error) {
        if (error.status() != GPUCTR_E_USAGE)
            throw;
        throw refused(error.what(), error.hint());
    }
}

std::string check_variable(const std::string& text)
{
    const auto equals = text.find('=');
    return equals == std::string::npos || equals == 0 ? formatted("'{}' is not NAME=VALUE", text)
                                                      : "";
}

/// Refuses paths that may lead elsewhere in another call: a relative one depends on the working
/// directory, ".." on symbolic links.
std::string check_fixed(const std::string& path)
{
    if (!path.empty() && path.front() != '/')
        return formatted("'{}' is not an absolute path", path);
    if ((path + "/").find("/../") != std::string::npos)
        return formatted("'{}' has '..' in it", path);
    return !path.empty() && path.find_first_not_of("/.") == std::string::npos
               ? formatted("'{}' is the whole host", path)
               : "";
}

std::string check_toolkit(const std::string& path)
{
    return path == "auto" ? "" : check_fixed(path);
}

} // namespace

void RequestOptions::add_staging_to(CLI::App& command)
{
    host.add_to(command);
    command
        .add_option("--require", requirements,
                    "what the chosen GPUs and their driver must meet, such as 'cuda>=12.4 "
                    "driver>=550,arch>=9.0'; repeatable")
        ->type_name("EXPR")
        ->group(which_gpus);
    add_capabilities_to(command);
    command.option_defaults()->group(how);
    command.add_option("--staged-tree", staged_tree, "where `prepare` keeps the driver's tree")
        ->type_name("DIR")
        ->check(check_fixed)
        ->capture_default_str();
    add_label_to(command);
}

void RequestOptions::add_label_to(CLI::App& command)
{
    command
        .add_option("--mount-label", mount_label, "SELinux label of the file systems that are made")
        ->type_name("LABEL");
}

void RequestOptions::add_compat_to(CLI::App& command)
{
    add_choice(command, "--cuda-compat", compat_names(), compat,
               "whether programs use the image's own libcuda for older drivers "
               "(/usr/local/cuda/compat)");
}

void RequestOptions::add_way_to(CLI::App& command)
{
    add_choice(command, "--write", write_names(), write,
               "whether names may be created in the root file system itself");
    command.add_flag("--lock", lock, "even root of the container cannot make our mounts writable");
    add_choice(command, "--backend", backend_names(), backend, "how mounts are made, for tests");
}

void RequestOptions::add_for_devices_of_cdi_to(CLI::App& command)
{
    command
        .add_option("--device", devices,
                    "devices by their full names, such as nvidia.com/gpu=0; comma-separated or "
                    "repeated")
        ->type_name("NAME")
        ->group(which_gpus);
    command.option_defaults()->group(how);
    add_compat_to(command);
    add_way_to(command);
    add_label_to(command);
}

void RequestOptions::add_loading_to(CLI::App& command)
{
    command
        .add_flag("--load-kmods", loads_kmods,
                  "load kernel modules of NVIDIA that this host lacks, and make its device nodes, "
                  "first; for administrators")
        ->group(how);
}

void RequestOptions::check_typed_loading(const std::string& command) const
{
    const auto may_need_it = [](const std::string& vendor) {
        return vendor == "nvidia" || vendor == GPUCTR_VENDOR_ANY;
    };
    if (loads_kmods && !host.vendors.empty()
        && std::none_of(host.vendors.begin(), host.vendors.end(), may_need_it))
        throw usage_error_of(command, "--load-kmods goes with --nv or --gpu: the kernel loads the "
                                      "modules of other vendors by itself");
}

void RequestOptions::load_kmods(const Messages& messages) const
{
    if (!loads_kmods)
        return;
    for (const auto& [name, directory] :
         {std::pair("--driver-root", &host.driver_root), std::pair("--dev-root", &host.dev_root)})
        if (*directory != "/")
            throw gpucontainer::Error(
                GPUCTR_E_USAGE,
                formatted("--load-kmods is for this host's own driver, not for "
                          "{} {}",
                          name, *directory),
                "what runs a driver container loads its modules", 0, {}, "load_kmods");
    gpucontainer::LoadOptions options;
    options.vendors = host.vendors;
    for (const char* const part : {"graphics", "display", "all"})
        if (formatted(",{},", capabilities).find(formatted(",{},", part)) != std::string::npos)
            options.display = true;
    options.report = [&](const gpucontainer::Finding& finding) {
        if (messages.verbosity == Verbosity::verbose)
            messages.tell(formatted("{}: {}", finding.object(), finding.text()));
    };
    gpucontainer::load_kernel_modules(options);
}

void RequestOptions::add_capabilities_to(CLI::App& command)
{
    of_capabilities_ =
        command
            .add_option(
                "--driver-capabilities", capabilities,
                "parts of the driver, separated by commas: compute, utility, graphics, video, "
                "display, ngx, firmware, compat32, or all")
            ->type_name("LIST")
            ->capture_default_str();
}

void RequestOptions::add_choice_of_files_to(CLI::App& command)
{
    command
        .add_option("--extras", extras,
                    "what else the container gets or does not get, separated by commas, such as "
                    "gds, imex-channel:0 or no-mps; repeatable")
        ->type_name("LIST");
    add_choice(command, "--vendor-libs", vendor_libs_names(), vendor_libs,
               "whether the host's driver files are put into the container; none: device nodes "
               "only");
}

void RequestOptions::add_for_any_image_to(CLI::App& command)
{
    host.add_to(command);
    add_capabilities_to(command);
    command.option_defaults()->group(which_gpus);
    command
        .add_option("--device", devices,
                    "GPUs by index, UUID or PCI address, separated by commas; repeatable")
        ->type_name("LIST")
        ->default_str("all");
    command.option_defaults()->group(which_files);
    add_choice_of_files_to(command);
}

void RequestOptions::add_to(CLI::App& command)
{
    add_staging_to(command);
    command.option_defaults()->group(which_gpus);
    command
        .add_option("--device", devices,
                    "auto, all, none, or GPUs by index, UUID or PCI address, separated by "
                    "commas; repeatable")
        ->type_name("LIST")
        ->default_str("auto");
    command
        .add_option("--image-env", image_env,
                    "obey what the container's own variables ask for: `auto` reads the image's, "
                    "a FILE may be an OCI configuration")
        ->type_name("auto|FILE");
    command
        .add_option("--request-env", request_env,
                    "a variable as the container's own, such as NVIDIA_VISIBLE_DEVICES=0; "
                    "repeatable")
        ->type_name("NAME=VALUE")
        ->check(check_variable);
    command.option_defaults()->group(which_files);
    add_choice_of_files_to(command);
    add_compat_to(command);
    command
        .add_option("--cuda-toolkit", toolkit,
                    "put the host's CUDA toolkit at /usr/local/cuda if the image has none: its "
                    "directory, or auto")
        ->type_name("auto|DIR")
        ->check(check_toolkit);
    add_choice(command, "--glibc", glibc_names(), glibc,
               "whether programs use the host's C library, if the driver needs a newer one than "
               "the image has");
    command.option_defaults()->group(how);
    add_choice(command, "--layout", layout_names(), layout,
               "put driver files into a tree of their own, or among the image's libraries");
    command.add_option("--tree-path", tree_path, "directory of the tree in the container")
        ->type_name("DIR")
        ->default_str("/usr/lib/gpuctr");
    add_way_to(command);
    command.add_option("--allowed-devices", allowed_devices, "GPUs that may be chosen")
        ->group(policy_group);
}

gpucontainer::Request RequestOptions::request() const
{
    gpucontainer::Request request;
    if (!devices.empty())
        request.devices = formatted("{}", fmt::join(devices, ","));
    request.devices_name = "--device";
    request.allowed_devices = formatted("{}", fmt::join(allowed_devices, ","));
    request.driver_capabilities = capabilities;
    request.environment = environ;
    request.write = write;
    request.layout = layout;
    request.vendor_libs = vendor_libs;
    request.compat = compat;
    request.toolkit = toolkit;
    request.glibc = glibc;
    request.tree_path = tree_path;
    request.mount_label = mount_label;
    request.lock = lock;
    request.requirements = requirements;
    request.extras = formatted("{}", fmt::join(extras, ","));
    return request;
}

gpucontainer::Request RequestOptions::request(int rootfs_fd, const Messages& messages) const
{
    gpucontainer::Request request = this->request();
    request.names_devices = !devices.empty();
    request.names_capabilities = of_capabilities_ != nullptr && of_capabilities_->count() != 0;
    if (!image_env.empty()) {
        const bool of_image = image_env == "auto";
        const gpucontainer::ContainerEnvironment read =
            of_image ? gpucontainer::ContainerEnvironment(rootfs_fd, nullptr, environ)
                     : read_environment(image_env);
        request.container_environment = read.variables();
        if (!of_image && request.container_environment.empty() && !read.findings().empty())
            messages.warn(formatted("--image-env {}: no variable in it is known", image_env));
        if (messages.verbosity == Verbosity::verbose)
            for (const gpucontainer::Finding finding : read.findings())
                messages.tell(
                    formatted("{}: {}", of_image ? finding.object() : image_env, finding.text()));
    }
    request.container_environment.insert(request.container_environment.end(), request_env.begin(),
                                         request_env.end());
    return request;
}

void RequestOptions::set(gpucontainer::ApplyOptions& options) const
{
    options.backend = backend;
    options.staged_tree = staged_tree;
}

} // namespace gpuctr_cli
