// SPDX-License-Identifier: MIT
#include "check/program.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "check/driver_libraries.hpp"
#include "check/found_program.hpp"
#include "check/lack_causes.hpp"
#include "check/manifests.hpp"
#include "linking/linker.hpp"
#include "linking/processor.hpp"
#include "rootfs/real_path.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::check {

using linking::File;
using linking::Rules;
using model::Blocks;
using model::Causes;
using model::FindingCode;
using model::Stage;

namespace {

class Start {
public:
    Start(const Surroundings& around, const std::string& program)
        : around_(around), name_(program), environment_(around.environment()),
          linker_(around.container, environment_, linking::processor_levels())
    {
    }

    Started run()
    {
        look_for_proc();
        if (!name_.empty())
            look_at_program();
        if (around_.plan != nullptr && is_of_c_library())
            look_at_driver();
        if (around_.plan == nullptr && around_.request.vendor_libs == plan::VendorLibs::host)
            add_unfit_host_libraries(around_, linker_, started_.causes);
        add_exhaustion();
        return std::move(started_);
    }

private:
    void add(model::Finding finding)
    {
        started_.causes.push_back({std::move(finding), Stage::start, Blocks::all});
    }

    /// What was not looked at is not in order.
    void add_exhaustion()
    {
        if (is_exhausted_ || linker_.files().is_exhausted() || around_.container.is_exhausted())
            started_.causes.push_back(
                {{FindingCode::search_unfinished, name_,
                  "was not looked at as a whole, as libraries are sought in too many places, or in "
                  "places too deep: more may be wrong, and what is missing here may be there",
                  "", "shorten LD_LIBRARY_PATH, and the search paths of the libraries (patchelf)"},
                 Stage::start,
                 Blocks::some});
    }

    /// The kernel's file system is mounted on a directory of the image.
    void look_for_proc()
    {
        const auto is_about_proc = [](const std::string& need) {
            return need.find("mounted /proc") != std::string::npos;
        };
        if (around_.plan == nullptr
            || around_.container.resolve("/proc").type == rootfs::EntryType::directory)
            return;
        for (const model::DriverStack& driver : around_.drivers)
            for (const std::string& need : driver.needs)
                if (is_about_proc(need) && is_used(driver)) {
                    started_.causes.push_back(
                        {{FindingCode::proc_missing, "/proc",
                          base::format("is not in the image, so that nothing can be mounted on it, "
                                       "and the {} driver needs {}",
                                       driver.vendor_name, need),
                          "/proc", "make the directory in the image"},
                         Stage::init,
                         Blocks::all});
                    return;
                }
    }

    bool is_used(const model::DriverStack& driver) const
    {
        return std::ranges::any_of(around_.plan->drivers, [&](const plan::UsedDriver& used) {
            return used.vendor == driver.vendor;
        });
    }

    void look_at_program()
    {
        const FoundProgram found = find_program(around_.container, environment_, name_);
        started_.loaded = found.scripts;
        if (!found.problem.empty())
            add_missing(found);
        else
            look_at_file(found.path);
    }

    void add_missing(const FoundProgram& found)
    {
        const bool is_script = !found.scripts.empty();
        const std::string& object = is_script ? found.scripts.back() : name_;
        const OfDriver tool =
            is_script ? OfDriver() : tool_of_driver(around_, base::name_of(name_));
        if (tool && around_.plan == nullptr)
            return; // why there is no plan has its own cause
        if (tool && given_path(around_.plan, *tool.file).empty()) {
            NotGiven why = why_not_given(around_, tool);
            add({FindingCode::program_missing, object, std::move(why.reason),
                 why.is_part ? around_.place_of_capabilities() : object, std::move(why.hint)});
            return;
        }
        if (tool && around_.as_is) {
            add({FindingCode::program_missing, object,
                 base::format("is not in the container, though the host's {} driver has it",
                              tool.driver->vendor_name),
                 object, "set the container up with gpuctr-setup --pid"});
            return;
        }
        add({is_script ? FindingCode::program_unstartable : FindingCode::program_missing, object,
             found.problem, object, found.hint});
    }

    void look_at_file(const std::string& path)
    {
        const std::string real = rootfs::real_path(around_.container, path).value_or(path);
        const File* const file = linker_.files().at(real);
        if (file == nullptr || file->state == File::State::unreadable) {
            started_.loaded.push_back(real);
            return;
        }
        if (file->state != File::State::good) {
            add({FindingCode::program_unstartable, path,
                 file->state == File::State::empty
                     ? "is an empty file"
                     : base::format("is neither a program nor a script: {}", file->problem),
                 real, "a script begins with a line such as #!/bin/sh"});
            return;
        }
        started_.loaded.push_back(real);
        if (!is_for_host(file->facts))
            add({FindingCode::program_unstartable, path,
                 base::format("is for {}, and the host's processor is {}",
                              elf::machine_name(file->facts.machine), around_.machine->name),
                 real, "use a program, and an image, for the host's architecture"});
        else
            link(real);
    }

    bool is_for_host(const elf::Facts& facts) const
    {
        const elf::Machine* const other = elf::compat32_of(*around_.machine);
        return elf::is_for(facts, *around_.machine)
               || (other != nullptr && elf::is_for(facts, *other));
    }

    void link(const std::string& real)
    {
        program_.linked = linker_.program(real);
        for (const linking::Object& object : program_.linked.objects)
            if (object.path != real)
                started_.loaded.push_back(object.path);
        add_lacks(around_, linker_, program_.linked, started_.causes);
        const Rules rules = program_.linked.rules;
        const bool is_native = elf::is_for(linker_.files().at(real)->facts, *around_.machine);
        if (rules == Rules::glibc && is_native)
            program_.path = real;
        is_other_ = rules != Rules::glibc || !is_native;
    }

    /// Whether programs of the kind that is asked about load the driver's libraries: those of
    /// another C library do not, nor do static ones.
    bool is_of_c_library() const
    {
        return !is_other_ && around_.container.resolve(std::string(around_.machine->loader));
    }

    void look_at_driver()
    {
        linking::Linker before(around_.image, environment_, linking::processor_levels());
        add_other_copies(around_, before, linker_, program_, started_.causes);
        is_exhausted_ = before.files().is_exhausted();
        if (linker_.files().is_exhausted())
            return; // it does not tell what is missing
        add_unloadable(around_, linker_, program_, started_.causes);
        if (!linker_.files().is_exhausted())
            add_broken_manifests(around_, linker_, started_.causes);
    }

    const Surroundings& around_;
    const std::string& name_;
    std::map<std::string, std::string> environment_;
    linking::Linker linker_;
    LinkedProgram program_;
    bool is_other_ = false;
    bool is_exhausted_ = false; ///< Less was looked at before the set-up than there is.
    Started started_;
};

} // namespace

Started start(const Surroundings& around, const std::string& program)
{
    return Start(around, program).run();
}

} // namespace gpucontainer::check
