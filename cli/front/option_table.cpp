// SPDX-License-Identifier: MIT
#include "front/option_table.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_cli {
namespace {

using Action = FrontArguments::Action;
using Arguments = FrontArguments;

[[noreturn]] void refuse_value(const char* option, const std::string& value, const char* why,
                               const char* hint)
{
    throw gpucontainer::Error(GPUCTR_E_USAGE, formatted("--{}={}: {}", option, value, why), hint,
                              0);
}

void take_loader_cache(Arguments& to, const std::string& value)
{
    if (value != "/etc/ld.so.cache")
        refuse_value("ldcache", value, "another loader cache than /etc/ld.so.cache is not read",
                     "leave it out: the driver's directories are searched as well; --root names "
                     "a driver that lies elsewhere");
    to.unneeded.emplace_back("--ldcache");
}

void refuse_no_devbind(Arguments& /*to*/, const std::string& /*value*/)
{
    throw gpucontainer::Error(GPUCTR_E_USAGE, "--no-devbind: refused",
                              "leave it out: what the container has in the place of a node is "
                              "mounted over",
                              0);
}

void take_pid(Arguments& to, const std::string& value)
{
    int pid = 0;
    const char* const end = value.data() + value.size(); // NOLINT(*-pointer-arithmetic)
    const auto [last, error] = std::from_chars(value.data(), end, pid);
    if (error != std::errc() || last != end || pid <= 0)
        refuse_value("pid", value, "not the number of a process", "");
    to.pid = pid;
}

void take_mig(const char* option, bool& wanted, const std::string& value)
{
    if (value != "all")
        refuse_value(option, value, "the rights are for all GPUs",
                     "a value other than all is not known");
    wanted = true;
}

void take_compat_mode(Arguments& to, const std::string& value)
{
    if (value == "disabled")
        to.compat = false;
    else if (value != "mount" && value != "ldconfig")
        refuse_value("cuda-compat-mode", value, "a mode that is not known",
                     "known are disabled, mount and ldconfig");
}

template <const char* Capability>
void take_capability(Arguments& to, const std::string& /*value*/)
{
    to.capabilities.emplace_back(Capability);
}

template <const char* Option>
void take_unneeded(Arguments& to, const std::string& /*value*/)
{
    to.unneeded.emplace_back(Option);
}

template <bool Arguments::*Field, bool Value>
void take_flag(Arguments& to, const std::string& /*value*/)
{
    to.*Field = Value;
}

template <std::string Arguments::*Field>
void take_text(Arguments& to, const std::string& value)
{
    to.*Field = value;
}

template <std::vector<std::string> Arguments::*Field>
void take_item(Arguments& to, const std::string& value)
{
    (to.*Field).push_back(value);
}

constexpr char no_pivot[] = "--no-pivot"; // NOLINT(*-avoid-c-arrays): a template argument
constexpr char no_channels[] = "--no-create-imex-channels"; // NOLINT(*-avoid-c-arrays)
constexpr char user[] = "--user";                           // NOLINT(*-avoid-c-arrays)
constexpr char ldconfig[] = "--ldconfig";                   // NOLINT(*-avoid-c-arrays)
constexpr char compute_part[] = "compute";                  // NOLINT(*-avoid-c-arrays)
constexpr char utility_part[] = "utility";                  // NOLINT(*-avoid-c-arrays)
constexpr char video_part[] = "video";                      // NOLINT(*-avoid-c-arrays)
constexpr char graphics_part[] = "graphics";                // NOLINT(*-avoid-c-arrays)
constexpr char display_part[] = "display";                  // NOLINT(*-avoid-c-arrays)
constexpr char ngx_part[] = "ngx";                          // NOLINT(*-avoid-c-arrays)

constexpr FrontValue none = FrontValue::none;
constexpr FrontValue required = FrontValue::required;

constexpr std::array global_options = {
    FrontOption{"debug", 'd', required, "FILE", "append to a log of what is done",
                take_text<&Arguments::debug>},
    FrontOption{"load-kmods", 'k', none, "", "load kernel modules and make device nodes first",
                take_flag<&Arguments::loads_kmods, true>},
    FrontOption{"no-create-imex-channels", 0, none, "",
                "unneeded: nodes of IMEX channels are never made", take_unneeded<no_channels>},
    FrontOption{"root", 'r', required, "PATH", "where the driver's files are",
                take_text<&Arguments::root>},
    FrontOption{"ldcache", 'l', required, "FILE", "the host's loader cache", take_loader_cache},
    FrontOption{"no-pivot", 'n', none, "", "unneeded", take_unneeded<no_pivot>},
    FrontOption{"user", 'u', FrontValue::optional, "UID[:GID]", "unneeded", take_unneeded<user>},
    FrontOption{"version", 'V', none, "", "print the version",
                [](Arguments& to, const std::string&) { to.action = Action::version; }},
    FrontOption{"help", 0, none, "", "print this page",
                [](Arguments& to, const std::string&) { to.action = Action::help; }},
    FrontOption{"usage", 0, none, "", "the same",
                [](Arguments& to, const std::string&) { to.action = Action::help; }},
};

constexpr FrontOption help_option = {
    "help", 0, none, "", "print this page", [](Arguments& to, const std::string&) {
        to.action = Action::help;
    }};

constexpr std::array info_options = {
    FrontOption{"csv", 0, none, "", "print comma-separated values",
                take_flag<&Arguments::csv, true>},
    help_option,
};

constexpr FrontOption device_option = {"device",
                                       'd',
                                       required,
                                       "ID",
                                       "GPUs: all, or UUIDs, PCI addresses and indexes",
                                       take_item<&Arguments::devices>};
constexpr FrontOption compat32_option = {
    "compat32", 0, none, "", "also 32-bit libraries", take_flag<&Arguments::compat32, true>};
constexpr FrontOption mig_config_option = {
    "mig-config",
    0,
    required,
    "all",
    "the right to configure MIG",
    [](Arguments& to, const std::string& value) { take_mig("mig-config", to.mig_config, value); }};
constexpr FrontOption mig_monitor_option = {"mig-monitor",
                                            0,
                                            required,
                                            "all",
                                            "the right to monitor MIG",
                                            [](Arguments& to, const std::string& value) {
                                                take_mig("mig-monitor", to.mig_monitor, value);
                                            }};
constexpr FrontOption channel_option = {
    "imex-channel", 0, required, "N", "IMEX channels", take_item<&Arguments::channels>};
constexpr FrontOption no_persistenced_option = {"no-persistenced",
                                                0,
                                                none,
                                                "",
                                                "without the socket of nvidia-persistenced",
                                                take_flag<&Arguments::persistenced, false>};
constexpr FrontOption no_fabric_manager_option = {"no-fabricmanager",
                                                  0,
                                                  none,
                                                  "",
                                                  "without the socket of the fabric manager",
                                                  take_flag<&Arguments::fabric_manager, false>};
constexpr FrontOption no_firmware_option = {"no-gsp-firmware",
                                            0,
                                            none,
                                            "",
                                            "without firmware of the GPUs",
                                            take_flag<&Arguments::firmware, false>};

constexpr std::array list_options = {
    device_option,
    FrontOption{"libraries", 'l', none, "", "libraries", take_flag<&Arguments::libraries, true>},
    FrontOption{"binaries", 'b', none, "", "programs", take_flag<&Arguments::binaries, true>},
    FrontOption{"ipcs", 'i', none, "", "sockets of services", take_flag<&Arguments::sockets, true>},
    FrontOption{"firmwares", 'f', none, "", "firmware",
                take_flag<&Arguments::firmware_files, true>},
    compat32_option,
    mig_config_option,
    mig_monitor_option,
    channel_option,
    no_persistenced_option,
    no_fabric_manager_option,
    no_firmware_option,
    help_option,
};

constexpr std::array configure_options = {
    FrontOption{"pid", 'p', required, "PID", "a process of the container", take_pid, true},
    device_option,
    FrontOption{"require", 'r', required, "EXPR", "what driver and GPUs must meet",
                take_item<&Arguments::requirements>},
    FrontOption{"ldconfig", 'l', required, "PATH",
                "unneeded: the loader cache is written without it", take_unneeded<ldconfig>},
    FrontOption{"compute", 'c', none, "", "what programs that compute need",
                take_capability<compute_part>},
    FrontOption{"utility", 'u', none, "", "what tools need", take_capability<utility_part>},
    FrontOption{"video", 'v', none, "", "what video needs", take_capability<video_part>},
    FrontOption{"graphics", 'g', none, "", "what graphics need", take_capability<graphics_part>},
    FrontOption{"display", 'D', none, "", "what displays need", take_capability<display_part>},
    FrontOption{"ngx", 'n', none, "", "what NGX needs", take_capability<ngx_part>},
    compat32_option,
    mig_config_option,
    mig_monitor_option,
    channel_option,
    FrontOption{"no-cgroups", 0, none, "", "leave the device cgroup alone",
                take_flag<&Arguments::cgroups, false>},
    FrontOption{"no-devbind", 0, none, "", "refused", refuse_no_devbind},
    no_persistenced_option,
    no_fabric_manager_option,
    no_firmware_option,
    FrontOption{"no-cntlibs", 0, none, "", "do not use the image's own libcuda",
                take_flag<&Arguments::compat, false>},
    FrontOption{"cuda-compat-mode", 0, required, "MODE",
                "the image's own libcuda: disabled, mount or ldconfig", take_compat_mode},
    help_option,
};

constexpr std::array commands_of_front = {
    FrontCommand{"info", Action::info, "print the driver's versions and the GPUs"},
    FrontCommand{"list", Action::list, "print the driver's files and device nodes"},
    FrontCommand{"configure", Action::configure, "set a container up: configure ROOTFS"},
};

/// "-d, --device=ID", and what it is for.
std::string help_line(const FrontOption& option)
{
    const std::string letter =
        option.letter != 0 ? formatted("-{}, ", option.letter) : std::string("    ");
    std::string value;
    if (option.value != FrontValue::none)
        value = formatted("={}", option.value_name);
    if (option.value == FrontValue::optional)
        value = formatted("[{}]", value);
    return formatted("  {}{:30}{}\n", letter, formatted("--{}{}", option.name, value), option.help);
}

} // namespace

std::span<const FrontCommand> front_commands() { return commands_of_front; }

FrontOptions front_global_options() { return global_options; }

FrontOptions front_options_of(FrontArguments::Action action)
{
    switch (action) {
    case Action::info:
        return info_options;
    case Action::list:
        return list_options;
    case Action::configure:
        return configure_options;
    default:
        return {};
    }
}

std::string front_help()
{
    std::string page = "Usage: nvidia-container-cli [OPTION]... COMMAND [OPTION]... [ROOTFS]\n\n"
                       "What callers of NVIDIA's nvidia-container-cli use, done by gpuctr-setup.\n"
                       "gpuctr-setup-nvidia-container-cli(1) says what differs.\n\nOptions:\n";
    for (const FrontOption& option : global_options)
        page += help_line(option);
    for (const FrontCommand& command : commands_of_front) {
        page += formatted("\n{}: {}\n", command.name, command.help);
        for (const FrontOption& option : front_options_of(command.action))
            page += help_line(option);
    }
    return page;
}

} // namespace gpuctr_cli
