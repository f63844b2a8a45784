// SPDX-License-Identifier: MIT
#include "options/host_options.hpp"

#include "options/groups.hpp"
#include "options/input_file.hpp"

#include <array>
#include <unistd.h>
#include <utility>

namespace gpuctr_cli {
namespace {

constexpr const char* catalogue_directory = "/etc/gpucontainer/catalogue.d";
constexpr const char* usual_mig_map = "/etc/gpucontainer/mig.map";

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

std::string read_record(const std::string& path)
{
    return read_text(path, "host record",
                     "name a file that `gpuctr-setup list --format json` wrote", "host");
}

/// A record already has the driver's root, version, nodes and files.
void describe_record(CLI::App& command, CLI::Option& option)
{
    option.type_name("FILE");
    for (const char* const other :
         {"--driver-root", "--driver-version", "--dev-root", "--catalogue", "--mig-map"})
        option.excludes(command.get_option(other));
    // They look at files of this host.
    for (const char* const other : {"--cuda-toolkit", "--glibc"})
        if (CLI::Option* const one = command.get_option_no_throw(other))
            option.excludes(one);
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
    add_places_to(command);
}

void HostOptions::add_places_to(CLI::App& command)
{
    command.option_defaults()->group(which_gpus);
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
    describe_record(command, *command.add_option("--host", record,
                                                 "a host that `list --format json` recorded, "
                                                 "instead of this one"));
}

void HostOptions::add_records_to(CLI::App& command, std::vector<std::string>& paths)
{
    describe_record(command, *command.add_option("--host", paths,
                                                 "a host that `list --format json` recorded, "
                                                 "instead of this one; repeatable"));
}

gpucontainer::Host HostOptions::open(bool files_alone) const { return open(files_alone, false); }

gpucontainer::Host HostOptions::open_to_list() const { return open(true, true); }

gpucontainer::HostOptions HostOptions::options() const
{
    gpucontainer::HostOptions options;
    options.vendors = vendors;
    options.driver_root = driver_root;
    options.driver_version = driver_version;
    options.dev_root = dev_root;
    options.catalogues = catalogues;
    options.catalogue_dir = catalogue_directory;
    options.mig_map = !mig_map.empty()                     ? mig_map
                      : ::access(usual_mig_map, F_OK) == 0 ? usual_mig_map
                                                           : "";
    return options;
}

gpucontainer::Host HostOptions::open(bool files_alone, bool whole_bus) const
{
    gpucontainer::HostOptions options;
    if (record.empty())
        options = this->options();
    options.vendors = vendors;
    options.files_alone = files_alone;
    options.whole_bus = whole_bus;
    return record.empty() ? gpucontainer::Host(options)
                          : gpucontainer::Host::from_json(read_record(record), options);
}

} // namespace gpuctr_cli
