// SPDX-License-Identifier: MIT
#include "capture/capture.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "capture/archive.hpp"
#include "capture/devices.hpp"
#include "capture/files.hpp"
#include "capture/kernel_texts.hpp"
#include "detect/fingerprint.hpp"
#include "explain/copies.hpp"
#include "export/json.hpp"
#include "plan/planned.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <memory>
#include <set>
#include <sys/utsname.h>
#include <unistd.h>
#include <utility>

namespace gpucontainer::capture {
namespace {

constexpr std::size_t most_shown = 200; // of what could not be read
/// Directories of specifications that engines and this project read.
constexpr std::array specification_directories = {"/etc/cdi", "/var/run/cdi", "/run/cdi"};

/// Variables that choose GPUs, or change what programs load, besides those that makers read. Their
/// whole names: others that contain a word of these may be secrets.
constexpr std::array variable_names = {
    "LD_LIBRARY_PATH",     "LD_PRELOAD",    "LD_AUDIT",           "SLURM_STEP_GPUS",
    "SLURM_JOB_GPUS",      "SLURM_GPUS",    "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE",
    "SLURM_GPUS_PER_TASK", "SLURM_LOCALID", "SLURM_PROCID",       "SLURM_GPU_BIND"};

/// Of the command, which passes on those of its options alone.
constexpr std::string_view own_variables = "GPUCTR_";

bool is_wanted(std::string_view name, std::span<const drivers::Vendor> vendors)
{
    const auto is_of = [&](const drivers::Vendor& vendor) {
        return std::ranges::find(vendor.variables, name) != vendor.variables.end()
               || std::ranges::find(vendor.counting_variables, name)
                      != vendor.counting_variables.end()
               || vendor.container.has(name);
    };
    return std::ranges::any_of(vendors, is_of)
           || std::ranges::find(variable_names, name) != variable_names.end()
           || name.starts_with(own_variables);
}

std::string_view value_of(const std::vector<std::string>& environment, std::string_view name)
{
    for (const std::string& setting : environment)
        if (std::string_view(setting).starts_with(name) && setting.size() > name.size()
            && setting[name.size()] == '=')
            return std::string_view(setting).substr(name.size() + 1);
    return {};
}

/// Before any text is added.
void learn_names(const Subject& subject, std::span<const drivers::Vendor> vendors,
                 Replacements& replacements)
{
    const auto is_of_vendor = [&](std::string_view name) {
        return std::ranges::any_of(vendors, [&](const drivers::Vendor& vendor) {
            return base::to_lower(name) == vendor.name;
        });
    };
    struct utsname system = {};
    if (::uname(&system) == 0) {
        if (!is_of_vendor(&system.nodename[0]))
            replacements.add_host_name(&system.nodename[0]);
        replacements.add_domain(&system.domainname[0]); // "(none)" mostly
    }
    for (const char* variable : {"USER", "LOGNAME", "SUDO_USER", "SLURM_JOB_USER"})
        if (const auto name = value_of(subject.environment, variable); !is_of_vendor(name))
            replacements.add_user_name(name);
    if (const auto home = value_of(subject.environment, "HOME"); !is_of_vendor(base::name_of(home)))
        replacements.add_user_name(base::name_of(home));
}

/// Variables that choose GPUs or libraries.
std::string settings(const Subject& subject, std::span<const drivers::Vendor> vendors)
{
    std::string text;
    for (const std::string& setting : subject.environment)
        if (const auto end = setting.find('=');
            end != std::string::npos && is_wanted(std::string_view(setting).substr(0, end), vendors)
            && std::ranges::none_of(setting, base::is_control))
            text += setting + "\n";
    return text;
}

/// After all other texts, so that it has what was replaced in them.
std::string about_host(const Subject& subject, std::span<const drivers::Vendor> vendors,
                       Report& report)
{
    using Text = Replacements::Text;
    Replacements& replacements = report.replacements;
    std::string text;
    for (const char* place : {"/etc/os-release", "/usr/lib/os-release"})
        if (text.empty())
            text = kernel_text(place, report);
    struct utsname system = {};
    if (::uname(&system) == 0)
        text += base::format("\n{} {} {} {}\n", &system.sysname[0], &system.release[0],
                             &system.version[0], &system.machine[0]);
    text += base::format("gpuctr-setup {}\nuser {} group {}\n", subject.version, ::geteuid(),
                         ::getegid());
    text = replacements.in(text) + replacements.in(settings(subject, vendors), Text::settings);
    const auto add = [&](const char* place, Text kind) {
        if (const std::string value = kernel_text(place, report); !value.empty())
            text += base::format("\n{}:\n{}", place, replacements.in(value, kind));
    };
    add("/proc/self/cgroup", Text::groups);
    for (const char* place : {"/proc/self/uid_map", "/sys/fs/selinux/enforce",
                              "/sys/module/apparmor/parameters/enabled", "/proc/self/attr/current"})
        add(place, Text::any);
    return text;
}

void add_configuration(const Subject& subject, Files& files, const host::DriverRoot& root)
{
    if (!root.prefix().empty())
        return; // these are the host's own
    const auto add = [&](const std::string& directory, Files::Content content) {
        for (const std::string& name : root.list(directory))
            if (name.ends_with(".json") || name.ends_with(".yaml") || name.ends_with(".conf"))
                files.add(base::format("{}/{}", directory, name), content);
    };
    for (const char* const directory : specification_directories)
        add(directory, Files::Content::specification);
    if (!subject.detection.catalogue_directory.empty())
        add(subject.detection.catalogue_directory, Files::Content::text);
    for (const std::string& path : subject.detection.catalogues)
        files.add(path, Files::Content::text);
    if (!subject.detection.mig_map.empty())
        files.add(subject.detection.mig_map, Files::Content::text);
}

/// What is beside the libraries of a driver under the same name but for the version: a removed
/// release may have left it.
void add_other_versions(const model::DriverStack& driver, const host::DriverRoot& root,
                        Files& files)
{
    std::set<std::string> stems;
    std::set<std::string> directories;
    for (const model::DriverFile& file : driver.files)
        if (file.kind == model::FileKind::library) {
            stems.insert(file.name.substr(0, file.name.find(".so")));
            directories.emplace(
                base::directory_of(std::string_view(file.path).substr(root.prefix().size())));
        }
    for (const std::string& directory : directories)
        for (const std::string& name : root.list(directory))
            if (const auto end = name.find(".so");
                end != std::string::npos && stems.contains(name.substr(0, end)))
                files.add(base::format("{}/{}", directory == "/" ? "" : directory, name));
}

/// The files that detection looks at, and where other copies of them could be.
void add_files(const Subject& subject, const std::vector<model::DriverStack>& drivers,
               host::Trace& trace, Report& report)
{
    auto root = host::DriverRoot::open(subject.detection.driver_root);
    if (!root) {
        report.unread.emplace_back(subject.detection.driver_root, root.error().cause());
        report.add("files.tsv", "#path\tkind\tmode\tsize\ttarget\n");
        return;
    }
    root->trace_in(&trace);
    for (const model::DriverStack& driver : drivers)
        for (const model::DriverFile& file : driver.files)
            if (file.kind != model::FileKind::data)
                (void)explain::copies_on_host(*root, driver, file);
    (void)root->configured_directories();
    root->trace_in(nullptr);
    Files files(*root, report);
    files.add_traced(trace);
    for (const model::DriverStack& driver : drivers)
        for (const model::DriverFile& file : driver.files) {
            const std::string path = file.path.substr(root->prefix().size());
            if (file.directory)
                files.add_directory(path);
            else
                files.add(path);
        }
    for (const model::DriverStack& driver : drivers)
        add_other_versions(driver, *root, files);
    add_configuration(subject, files, *root);
    files.add_needed();
    files.write();
}

/// What detection and a plan make of the host, in the forms of `list` and `plan`.
std::vector<model::DriverStack> add_documents(const Subject& subject, detect::Detection detection,
                                              std::string& remarks, Report& report)
{
    detection.whole_bus = true;
    auto found = detect::detect(detection);
    if (!found) {
        remarks += base::format("\nlist: {}\n", found.error().message());
        return {};
    }
    report.add("list.json", exports::host_to_json(found->drivers, found->findings, {}));
    detect::Host host;
    host.drivers =
        std::make_shared<const std::vector<model::DriverStack>>(std::move(found->drivers));
    host.findings = found->findings;
    host.failure = found->failure;
    const auto planned = plan::make_plan(host, subject.request, -1);
    if (planned)
        report.add("plan.json", exports::plan_to_json(planned->plan));
    else
        remarks += base::format("\nplan: {}\n", planned.error().message());
    return *host.drivers;
}

void leave_out_long_names(Report& report)
{
    std::erase_if(report.members, [&](const auto& member) {
        const bool has_room = Archive::has_room_for(member.first);
        if (!has_room)
            report.unread.emplace_back(member.first, "its name is too long for the archive");
        return !has_room;
    });
}

/// With what is not as it is on the host.
std::string host_text(std::string texts, Report& report)
{
    std::string unread;
    for (const auto& [path, reason] : report.unread)
        unread += report.replacements.in(base::format("\nnot recorded: {}: {}", path, reason));
    if (report.replacements.keeps_all())
        texts += "\nnothing is replaced\n";
    // After all texts: some have what no other has.
    for (const std::string& one : report.replacements.summary())
        texts += base::format("\nreplaced: {}", one);
    return texts + unread + "\n";
}

} // namespace

Report gather(const Subject& subject)
{
    Report report(subject.with_identities);
    const auto site = detect::read_site(subject.detection);
    const std::span<const drivers::Vendor> vendors =
        site ? std::span<const drivers::Vendor>(site->vendors) : drivers::vendors();
    learn_names(subject, vendors, report.replacements);
    const std::string root;
    const Classes classes = classes_of(vendors);
    const auto of_nodes = add_nodes(root, classes, report);
    add_devices(root, vendors, classes, of_nodes, report); // learns serial numbers
    add_kernel_texts(root, vendors, report);
    host::Trace trace;
    detect::Detection detection = subject.detection;
    detection.trace = &trace;
    std::string remarks;
    const auto drivers = add_documents(subject, detection, remarks, report);
    add_files(subject, drivers, trace, report);
    leave_out_long_names(report);
    report.members.insert_or_assign(
        "host.txt",
        host_text(about_host(subject, vendors, report) + report.replacements.in(remarks), report));
    return report;
}

Result<void> write(const Report& report, int fd)
{
    Archive archive(fd);
    for (const auto& [name, content] : report.members)
        GPUCTR_CHECK(archive.add(name, content));
    return archive.finish();
}

model::Findings findings_of(const Report& report)
{
    model::Findings findings;
    for (const std::string& one : report.replacements.summary())
        findings.push_back({model::FindingCode::identity_replaced, "", "replaced: " + one});
    for (const auto& [path, reason] : report.unread)
        if (findings.size() < most_shown)
            findings.push_back({model::FindingCode::not_recorded, path, reason, path});
    return findings;
}

} // namespace gpucontainer::capture
