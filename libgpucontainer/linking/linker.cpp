// SPDX-License-Identifier: MIT
#include "linking/linker.hpp"

#include "base/text.hpp"
#include "linking/known_places.hpp"
#include "linking/lacks.hpp"
#include "linking/session.hpp"
#include "rootfs/real_path.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::linking {
namespace {

Linked unknown()
{
    Linked linked;
    linked.rules = Rules::unknown;
    linked.is_complete = false;
    return linked;
}

/// One that the facts say nothing about is for any.
bool is_of_machine(const elf::Facts& facts, const elf::Facts& machine)
{
    return facts.elf_class == machine.elf_class && facts.byte_order == machine.byte_order
           && facts.machine == machine.machine;
}

} // namespace

Linker::Linker(const rootfs::View& view, std::map<std::string, std::string> environment,
               std::vector<std::string> levels)
    : files_(view), environment_(std::move(environment)), levels_(std::move(levels))
{
}

const Loader* Linker::loader_of(const std::string& interpreter, const elf::Facts& program)
{
    constexpr std::size_t most_loaders = 16;
    const auto known = loaders_.find(interpreter);
    if (known != loaders_.end())
        return known->second && is_of_machine(known->second->facts, program) ? &*known->second
                                                                             : nullptr;
    if (loaders_.size() >= most_loaders)
        return nullptr;
    auto& loader = loaders_.emplace(interpreter, find_loader(files_, interpreter, program, levels_))
                       .first->second;
    return loader ? &*loader : nullptr;
}

Linked Linker::program(const std::string& path)
{
    const std::string real = rootfs::real_path(files_.view(), path).value_or(path);
    const File* const file = files_.at(real);
    if (file == nullptr || file->state != File::State::good)
        return unknown();
    Linked linked;
    linked.interpreter = file->facts.interpreter;
    if (!file->facts.has_interpreter()) {
        linked.objects.push_back({real, real});
        return linked;
    }
    const Loader* const loader = loader_of(file->facts.interpreter, file->facts);
    if (loader == nullptr) {
        linked.rules = Rules::unknown;
        linked.objects.push_back({real, real});
        linked.lacks.push_back({Lack::Kind::interpreter, file->facts.interpreter, {real}});
        return linked;
    }
    Session session(files_, *loader, environment_);
    session.start(real, Way::program);
    session.preload();
    session.load_needs();
    linked = session.take();
    find_missing_versions(files_, linked);
    find_missing_symbols(files_, linked);
    for (Lack& lack : linked.lacks)
        if (lack.kind == Lack::Kind::library || lack.kind == Lack::Kind::machine)
            lack.elsewhere = find_anywhere(lack.name, file->facts);
    return linked;
}

Linked Linker::library(const std::string& path, const std::string& interpreter)
{
    const File* const file = files_.at(path);
    const Loader* const loader = file != nullptr && file->state == File::State::good
                                     ? loader_of(interpreter, file->facts)
                                     : nullptr;
    if (loader == nullptr)
        return unknown();
    Session session(files_, *loader, environment_);
    session.start(path, Way::program);
    session.load_needs();
    Linked linked = session.take();
    find_missing_versions(files_, linked);
    return linked;
}

std::optional<Linker::Found> Linker::find(const std::string& name, const std::string& program,
                                          const std::string& interpreter, const elf::Facts& machine)
{
    const std::string real =
        program.empty() ? interpreter : rootfs::real_path(files_.view(), program).value_or(program);
    const File* const file = files_.at(real);
    const Loader* const loader = loader_of(interpreter, machine);
    if (file == nullptr || file->state != File::State::good || loader == nullptr)
        return std::nullopt;
    Session session(files_, *loader, environment_);
    session.start(real, Way::program);
    const Session::Result found = session.find(name, 0);
    if (!found.path)
        return std::nullopt;
    return Found{*found.path, found.way, files_.at(*found.path)->state};
}

std::string Linker::find_anywhere(const std::string& name, const elf::Facts& machine,
                                  const std::string& version)
{
    if (name.find('/') != std::string::npos)
        return "";
    if (!known_places_)
        known_places_ = known_places(files_.view());
    for (const std::string& place : *known_places_) {
        const auto directory = files_.may_try(place) ? files_.directory(place) : std::nullopt;
        if (!directory)
            continue;
        std::string path = (*directory == "/" ? "" : *directory) + "/" + name;
        if (is_library(path, machine, version))
            return path;
    }
    return "";
}

bool Linker::is_library(const std::string& path, const elf::Facts& machine,
                        const std::string& version)
{
    const File* const file = files_.at(path);
    if (file == nullptr || file->state != File::State::good || !is_of_machine(file->facts, machine))
        return false;
    if (version.empty())
        return true;
    const auto* const versions = files_.versions_of(path);
    return versions != nullptr && std::ranges::find(*versions, version) != versions->end();
}

} // namespace gpucontainer::linking
