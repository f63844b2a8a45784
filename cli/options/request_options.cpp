// SPDX-License-Identifier: MIT
#include "options/request_options.hpp"

#include "options/groups.hpp"
#include "options/values.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "settings/settings.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <fstream>
#include <unistd.h>
#include <utility>

namespace gpuctr_cli {
namespace {

constexpr const char* catalogue_directory = "/etc/gpucontainer/catalogue.d";
constexpr const char* usual_mig_map = "/etc/gpucontainer/mig.map";

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

struct VendorOption {
    const char* name;
    const char* vendor; ///< As in gpucontainer::HostOptions.
    const char* help;
};
constexpr std::array vendor_options = {
    VendorOption{"--nv", "nvidia", "NVIDIA GPUs"},
    VendorOption{"--rocm", "amd", "AMD GPUs"},
    VendorOption{"--intel", "intel", "Intel GPUs"},
    VendorOption{"--hpu", "habana", "Intel Gaudi accelerators"},
    VendorOption{"--gpu", GPUCTR_VENDOR_ANY, "GPUs of every vendor that has some here"},
};

/// Reads a file or pipe, and stops at a size that none has. `what` it is, and the `argument`, are
/// for the message.
std::string read_text(const std::string& path, const std::string& what, const std::string& hint,
                      const char* argument)
{
    constexpr std::size_t too_large = 16U << 20U;
    std::ifstream file(path, std::ios::binary);
    std::string content;
    std::array<char, 1U << 16U> part = {};
    while (file && content.size() < too_large) {
        file.read(part.data(), part.size());
        content.append(part.data(), static_cast<std::size_t>(file.gcount()));
    }
    const int error = errno;
    if (!file.is_open() || file.bad())
        throw gpucontainer::Error(error == EACCES ? GPUCTR_E_PERMISSION : GPUCTR_E_USAGE,
                                  what + " " + path + ": " + ::strerrordesc_np(error), hint, error,
                                  {}, argument);
    return content;
}

std::string read_record(const std::string& path)
{
    return read_text(path, "host record",
                     "name a file that `gpuctr-setup list --format json` wrote", "host");
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

void HostOptions::add_to(CLI::App& command)
{
    command.option_defaults()->group(which_gpus);
    for (const VendorOption& option : vendor_options)
        command.add_flag_callback(
            option.name, [this, vendor = option.vendor] { vendors.emplace_back(vendor); },
            option.help);
    command
        .add_option_function<std::vector<std::string>>(
            "--vendor",
            [this](const std::vector<std::string>& names) {
                vendors.insert(vendors.end(), names.begin(), names.end());
            },
            "GPUs of the vendor with this name, built in or described by a catalogue; "
            "repeatable")
        ->type_name("NAME");
    command.add_flag("--if-present", if_present, "having no GPU is a warning, not an error");
    command
        .add_option("--mig-map", mig_map,
                    "what `nvidia-smi -L` printed, for the UUIDs and numbers of MIG instances")
        ->type_name("FILE");
    command.option_defaults()->group(which_files);
    command.add_option("--driver-root", driver_root, "where the driver's files are")
        ->type_name("DIR")
        ->capture_default_str();
    command
        .add_option("--driver-version", driver_version,
                    "use this instead of the kernel module's version")
        ->type_name("VERSION");
    command
        .add_option("--dev-root", dev_root, "directory whose dev/ has the driver's device nodes")
        ->type_name("DIR")
        ->capture_default_str();
    command
        .add_option("--catalogue", catalogues,
                    "further rules for which files belong to a driver; repeatable")
        ->type_name("FILE");
}

void HostOptions::add_record_to(CLI::App& command)
{
    CLI::Option* const option =
        command
            .add_option("--host", record,
                        "a host that `list --format json` recorded, instead of this one")
            ->type_name("FILE");
    // A record already has the driver's root, version, nodes and files.
    for (const char* const other :
         {"--driver-root", "--driver-version", "--dev-root", "--catalogue", "--mig-map"})
        option->excludes(command.get_option(other));
    if (CLI::Option* const toolkit = command.get_option_no_throw("--cuda-toolkit"))
        option->excludes(toolkit);
}

gpucontainer::Host HostOptions::open(bool files_alone) const
{
    gpucontainer::HostOptions options;
    options.files_alone = files_alone;
    return open(std::move(options));
}

gpucontainer::Host HostOptions::open_to_list() const
{
    gpucontainer::HostOptions options;
    options.files_alone = true;
    options.whole_bus = true;
    return open(std::move(options));
}

gpucontainer::Host HostOptions::open(gpucontainer::HostOptions options) const
{
    options.vendors = vendors;
    if (!record.empty())
        return gpucontainer::Host::from_json(read_record(record), options);
    options.driver_root = driver_root;
    options.driver_version = driver_version;
    options.dev_root = dev_root;
    options.catalogues = catalogues;
    options.catalogue_dir = catalogue_directory;
    options.mig_map = !mig_map.empty()                     ? mig_map
                      : ::access(usual_mig_map, F_OK) == 0 ? usual_mig_map
                                                           : "";
    return gpucontainer::Host(options);
}

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
    command
        .add_option("--mount-label", mount_label, "SELinux label of the file systems that are made")
        ->type_name("LABEL");
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
    add_choice(command, "--cuda-compat", compat_names(), compat,
               "whether programs use the image's own libcuda for older drivers "
               "(/usr/local/cuda/compat)");
    command
        .add_option("--cuda-toolkit", toolkit,
                    "put the host's CUDA toolkit at /usr/local/cuda if the image has none: its "
                    "directory, or auto")
        ->type_name("auto|DIR")
        ->check(check_toolkit);
    command.option_defaults()->group(how);
    add_choice(command, "--layout", layout_names(), layout,
               "put driver files into a tree of their own, or among the image's libraries");
    command.add_option("--tree-path", tree_path, "directory of the tree in the container")
        ->type_name("DIR")
        ->default_str("/usr/lib/gpuctr");
    add_choice(command, "--write", write_names(), write,
               "whether names may be created in the root file system itself");
    command.add_flag("--lock", lock, "even root of the container cannot make our mounts writable");
    add_choice(command, "--backend", backend_names(), backend, "how mounts are made, for tests");
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
