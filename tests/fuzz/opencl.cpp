// SPDX-License-Identifier: MIT
#include "plan/icds.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "fuzz/facts.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/tree.hpp"
#include "plan/builder.hpp"
#include "rootfs/layout.hpp"
#include "rootfs/root.hpp"
#include "unit/plan/driver_stack.hpp"

#include <algorithm>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::fuzz {
namespace {

constexpr std::string_view directory = "/etc/OpenCL/vendors";

/// What the head asks for, a line each: "library SONAME ICD", "write never", "layout
/// merged", "rootless".
struct Wanted {
    model::DriverStack driver;
    plan::Request request;
    bool rootless = false;
};

void add_library(model::DriverStack& driver, std::string_view soname, std::string_view icd)
{
    constexpr std::size_t most = 8;
    if (!is_file_name(soname) || !is_file_name(icd) || driver.files.size() >= most)
        return;
    driver.files.push_back(test::make_library(std::string(soname), model::Capability::compute,
                                              driver.files.size() + 1));
    driver.files.back().registrations = {{model::Manner::loader},
                                         {model::Manner::opencl_icd, std::string(icd)}};
}

Wanted read_head(std::string_view head)
{
    Wanted wanted;
    wanted.driver = test::make_driver();
    wanted.driver.files.clear();
    wanted.request.capabilities = "compute";
    for (const std::string_view line : base::split(head, '\n')) {
        const auto words = base::split(line, ' ');
        if (words.size() == 3 && words[0] == "library")
            add_library(wanted.driver, words[1], words[2]);
        else if (line == "write never")
            wanted.request.write = plan::Write::never;
        else if (line == "write always")
            wanted.request.write = plan::Write::always;
        else if (line == "layout merged")
            wanted.request.layout = plan::Layout::merged;
        else if (line == "rootless")
            wanted.rootless = true;
    }
    return wanted;
}

/// What an image must have for a driver to be of use in it.
std::string usual_image()
{
    const elf::Machine& machine = elf::own_machine();
    return base::format("\n== {}\n== {}/libc.so.6\n== etc/ld.so.conf\n== usr/bin/\n== usr/lib/\n",
                        machine.loader, rootfs::library_directories(machine).front());
}

const std::string& name_of(const model::DriverFile& file)
{
    return *file.registered(model::Manner::opencl_icd);
}

std::string path_of(const model::DriverFile& file)
{
    return base::format("{}/{}", directory, name_of(file));
}

/// What is generated for it; "" of everything else.
std::string content_of(const plan::Item& item)
{
    if (const auto* file = item.as<plan::GeneratedFile>())
        return file->content;
    const auto* const cover = item.as<plan::GeneratedCover>();
    return cover != nullptr ? cover->content : "";
}

void check_item(const plan::Item& item, const rootfs::View& image,
                const std::vector<model::DriverFile>& files)
{
    const bool is_named = std::ranges::any_of(files, [&](const model::DriverFile& file) {
        return item.target == path_of(file) && content_of(item) == file.soname + "\n";
    });
    if (item.kind() == plan::ItemKind::cover) {
        demand(is_named && std::string_view(item.options()) == "ro,nosuid,nodev",
               "a cover names a library");
        demand(image.resolve(item.target).type == rootfs::EntryType::regular,
               "what is covered is a file");
    } else if (item.kind() == plan::ItemKind::file) {
        demand(is_named, "a file names a library");
        demand(!image.look(item.target), "what is made was not there");
    } else {
        demand(item.kind() == plan::ItemKind::directory || item.kind() == plan::ItemKind::mount,
               "everything else is a directory");
    }
}

/// Each library is told of once, or it is said why not, or the image tells of it.
void check_library(const model::DriverFile& file, const plan::Plan& plan, const rootfs::View& image)
{
    const std::string path = path_of(file);
    const auto told = std::ranges::count_if(plan.items, [&](const plan::Item& item) {
        return item.target == path && content_of(item) == file.soname + "\n";
    });
    const auto skipped = std::ranges::count_if(plan.findings, [&](const model::Finding& one) {
        return one.object == name_of(file) && one.evidence == path;
    });
    constexpr std::size_t longest = 4096;
    const auto content = image.read(path, longest);
    const bool says_so = content && base::trim(*content) == file.soname;
    demand(told + skipped > 0 || says_so, "no library is forgotten");
    demand(told <= 1, "a library is told of once");
}

} // namespace

/// What an image has where OpenCL's loaders look for drivers, and a driver with
/// libraries for them.
void run(std::string_view input)
{
    static Tree tree;
    const std::string whole = std::string(input) + usual_image();
    const Wanted wanted = read_head(tree.fill(whole));
    const base::UniqueFd fd(::open(tree.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto image = rootfs::Root::open(fd.get());
    demand(image.has_value(), "an image can be opened");
    const plan::Target target = {*image, image->facts(), !wanted.rootless};
    const auto plan = plan::create_plan({&wanted.driver, 1}, wanted.request, &target);
    if (!plan)
        return;
    std::vector<std::string> targets;
    for (const plan::Item& item : plan->items)
        if (base::is_below(item.target, "/etc/OpenCL")) {
            check_item(item, *image, wanted.driver.files);
            targets.push_back(item.target);
        }
    std::ranges::sort(targets);
    demand(std::ranges::adjacent_find(targets) == targets.end(), "nothing is made twice");
    for (const model::DriverFile& file : wanted.driver.files)
        check_library(file, *plan, *image);
}

} // namespace gpucontainer::fuzz
