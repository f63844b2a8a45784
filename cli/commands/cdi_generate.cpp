// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "formats/given.hpp"
#include "options/groups.hpp"
#include "options/request_options.hpp"
#include "output/format.hpp"
#include "output/messages.hpp"
#include "output/output.hpp"
#include "process/privileges.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/ranges.h>
#include <gpucontainer/gpucontainer.hpp>
#include <optional>
#include <string>
#include <vector>

namespace gpuctr_cli {
namespace {

using gpucontainer::Plan;

/// What engines give to a container whose image says nothing.
constexpr const char* usual_capabilities = "compute,utility";
struct CdiGenerateArguments {
    RequestOptions request;
    gpucontainer::CdiOptions cdi;
    bool install = false;
    std::string directory = "/var/run/cdi"; ///< To be installed in.
    std::string file;                       ///< To be written; or "".
    bool staged = false;                    ///< By the staged tree of the request's options.
};

gpucontainer::Request request_of(const CdiGenerateArguments& options, const std::string& devices)
{
    gpucontainer::Request request = options.request.request();
    request.devices = devices;
    request.environment = nullptr; // of a scheduler: it is about this process
    request.layout = GPUCTR_LAYOUT_BINDS;
    return request;
}

/// What engines are to call when they create a container: this program, with the typed options
/// that it sets up by. The nodes in the container say of which vendor.
std::vector<std::string> hook_by(const CLI::App& app)
{
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error || !program.is_absolute() || program.native().ends_with(" (deleted)"))
        throw gpucontainer::Error(GPUCTR_E_USAGE, "it is not known where this program is", "", 0);
    std::vector<std::string> words = {program, "hook", "--by-nodes"};
    for (const char* const name : {"--driver-root", "--dev-root", "--catalogue", "--mig-map"})
        for (const std::string& value : app.get_option(name)->results())
            words.insert(words.end(), {name, std::filesystem::absolute(value)});
    for (const char* const name :
         {"--driver-version", "--driver-capabilities", "--extras", "--vendor-libs"})
        for (const std::string& value : app.get_option(name)->results())
            words.insert(words.end(), {name, value});
    return words;
}

/// The devices of each vendor for a plan of its own, because a specification has one kind.
std::vector<std::string> shares_of(const CdiGenerateArguments& options,
                                   const gpucontainer::Host& host)
{
    if (!options.request.devices.empty())
        return {formatted("{}", fmt::join(options.request.devices, ","))};
    std::vector<std::string> shares;
    for (const auto driver : host.drivers())
        if (!driver.gpus().empty())
            shares.push_back(formatted("{}=all", driver.cdi_kind()));
    if (shares.empty())
        shares.emplace_back("all"); // the plan says what is missing
    return shares;
}

/// Where a specification is written; "" for standard output.
std::string path_of(const CdiGenerateArguments& options, const gpucontainer::Host& host,
                    const Plan& plan)
{
    if (!options.install)
        return options.file;
    for (const auto driver : host.drivers())
        for (const auto used : plan.drivers())
            if (driver.vendor() == used.vendor()) {
                std::string name(driver.cdi_kind());
                std::replace(name.begin(), name.end(), '/', '-');
                return formatted("{}/{}.{}", options.directory, name,
                                 options.cdi.yaml ? "yaml" : "json");
            }
    return "";
}

void write(const CdiGenerateArguments& options, const gpucontainer::Host& host, const Plan& plan,
           const Call& call)
{
    const std::string path = path_of(options, host, plan);
    if (path.empty()) {
        print(call.streams.out, "{}", plan.to_cdi(options.cdi));
        return;
    }
    const auto outcome = plan.install_cdi(path, options.cdi);
    if (call.verbosity == Verbosity::verbose)
        call.messages().tell(
            formatted("{}: {}", path,
                      outcome == gpucontainer::CdiInstalled::written ? "written" : "unchanged"));
}

void generate(const CdiGenerateArguments& options, const Call& call)
{
    const gpucontainer::Host host = options.request.host.open();
    const std::vector<std::string> shares = shares_of(options, host);
    if (shares.size() > 1 && !options.install)
        throw gpucontainer::Error(
            GPUCTR_E_USAGE,
            formatted("a specification is for one vendor, and this host has GPUs of {}",
                      shares.size()),
            "name one, such as --nv, or write a file for each with --install", 0);
    warn_about(host.findings(), call.messages());
    for (const std::string& share : shares) {
        const Plan plan(host, request_of(options, share), -1);
        warn_about(plan.findings(), call.messages());
        write(options, host, plan, call);
    }
}

/// A specification of this host's GPUs.
class CdiGenerate : public Command {
public:
    void add_options(CLI::App& app) override
    {
        app_ = &app;
        options_.request.capabilities = usual_capabilities;
        options_.request.add_for_any_image_to(app);
        options_.request.host.add_record_to(app);
        app.option_defaults()->group(how);
        app.add_option("--cdi-version", options_.cdi.version,
                       "version of the specification; the lowest that has it all if not given")
            ->type_name("VERSION");
        app.add_flag("--groups", options_.cdi.groups,
                     "processes of containers get the groups of the device nodes; needs version "
                     "0.7.0");
        CLI::Option* const staged =
            app.add_flag("--staged", options_.staged,
                         "mount the tree that `prepare` staged, instead of each library by itself");
        app.add_option("--staged-tree", options_.request.staged_tree, "where that tree is")
            ->type_name("DIR")
            ->check(check_absolute)
            ->capture_default_str();
        app.add_flag("--hooks", hooks_,
                     "have engines call `gpuctr-setup hook`, which also sets up the loader cache "
                     "of an image")
            ->excludes(staged);
        app.add_option("--files-dir", options_.cdi.files_dir,
                       "where files that are made for containers are kept")
            ->type_name("DIR")
            ->check(check_absolute)
            ->default_str(usual_files_directory);
        app.option_defaults()->group(where);
        CLI::Option* const file =
            app.add_option("--output-file", options_.file,
                           "write the specification to a file whose name ends in .json or .yaml")
                ->type_name("FILE")
                ->check(check_absolute);
        app.add_flag("--install", options_.install, "write it where engines find it")
            ->excludes(file);
        app.add_option("--cdi-dir", options_.directory, "directory of specifications for --install")
            ->type_name("DIR")
            ->check(check_absolute)
            ->capture_default_str();
        app.option_defaults()->group(what_is_printed);
        add_choice<bool>(app, "--format", {{"json", false}, {"yaml", true}}, options_.cdi.yaml,
                         "form of the specification");
    }

    int run(const Call& call) override
    {
        shrink_privileges(GPUCTR_PHASE_LOOK);
        if (options_.staged)
            options_.cdi.staged_tree = options_.request.staged_tree;
        if (hooks_)
            options_.cdi.hook = hook_by(*app_);
        with_gpu(options_.request.host.if_present, call.messages(),
                 [&] { generate(options_, call); });
        return ExitCode::done;
    }

private:
    CdiGenerateArguments options_;
    bool hooks_ = false;
    const CLI::App* app_ = nullptr;
};

} // namespace

const CommandEntry cdi_generate_command = {
    "cdi-generate", "write a specification of this host's GPUs", "[VENDOR...] [OPTION]...",
    R"(
Write a specification for the Container Device Interface (CDI), with a device
for each GPU, MIG instance and partition, and `all`. Without `--hooks` no
program runs in containers: libraries are mounted where the loaders of all
distributions with glibc look.

Examples:
  gpuctr-setup cdi generate --nv
      print it
  gpuctr-setup cdi generate --install
      write one for each vendor that has GPUs here, for engines to read
  gpuctr-setup cdi generate --rocm --vendor-libs host
      with the host's ROCm, for images that have none
  gpuctr-setup cdi generate --install --hooks
      also for images that have an old driver in their loader cache
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<CdiGenerate>(); }};

} // namespace gpuctr_cli
