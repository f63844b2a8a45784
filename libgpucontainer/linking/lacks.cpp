// SPDX-License-Identifier: MIT
#include "linking/lacks.hpp"

#include "elf/dynamic_symbols.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace gpucontainer::linking {
namespace {

using elf::DynamicSymbol;

constexpr std::size_t most_symbols = 400'000;                   // of all objects together
constexpr std::size_t largest_tables = std::size_t{256} << 20U; // of theirs, each read twice
constexpr std::size_t most_missing_versions = 256;
constexpr std::size_t most_missing = 16;
// Names of symbols may be the ends of others, so that small tables have very much of them.
constexpr std::size_t most_symbol_names = std::size_t{256} << 20U; // in bytes, of all objects
constexpr std::size_t most_kept_names = std::size_t{64} << 20U;    // of what is wanted

/// Objects by the names that others need them by.
class ByName {
public:
    ByName(Files& files, const Linked& linked)
    {
        for (const Object& object : linked.objects) {
            objects_.emplace(object.name, &object);
            const File* const file = files.at(object.path);
            if (file != nullptr && !file->facts.soname.empty())
                objects_.emplace(file->facts.soname, &object);
        }
    }

    const Object* find(const std::string& name) const
    {
        const auto found = objects_.find(name);
        return found == objects_.end() ? nullptr : found->second;
    }

private:
    std::unordered_map<std::string, const Object*> objects_;
};

bool has_version(Files& files, const std::string& library, const std::string& version)
{
    const auto* const versions = files.versions_of(library);
    return versions == nullptr || versions->empty()
           || std::ranges::binary_search(*versions, version);
}

void add_version(const Object& needs, const Object& lacks, const std::string& version,
                 std::vector<Lack>& all)
{
    const auto same = std::ranges::find_if(all, [&](const Lack& one) {
        return one.kind == Lack::Kind::version && one.name == version && one.file == lacks.path;
    });
    if (same == all.end())
        all.push_back({Lack::Kind::version, version, {needs.path}, lacks.path});
    else if (same->needed_by.size() < most_needers)
        same->needed_by.push_back(needs.path);
}

/// The symbols of a program's objects.
class SymbolSearch {
public:
    SymbolSearch(Files& files, Linked& linked)
        : files_(files), linked_(linked), is_known_(linked.objects.size(), true)
    {
    }

    void run()
    {
        for (std::size_t i = 0; i < linked_.objects.size(); ++i)
            collect(i);
        // A file without any definition is one whose symbols are not seen, or a stub: what others
        // lack because of it is not known.
        for (std::size_t i = 0; i < linked_.objects.size() && !wanted_.empty(); ++i)
            strike_out(i);
        if (left_ != 0)
            add_rest();
    }

private:
    template <typename Visit>
    void visit(std::size_t index, const Visit& visit)
    {
        const auto opened = files_.view().open(linked_.objects[index].path);
        if (!opened || left_ == 0 || !elf::visit_dynamic_symbols(opened->get(), visit, bytes_left_))
            is_known_[index] = false;
    }

    void count(std::string_view name)
    {
        if (left_ > 0)
            --left_;
        take_off(name.size(), names_left_);
    }

    void take_off(std::size_t size, std::size_t& bytes)
    {
        if (size > bytes)
            left_ = 0;
        else
            bytes -= size;
    }

    void collect(std::size_t index)
    {
        if (linked_.objects[index].way == Way::loader)
            return;
        visit(index, [&](const DynamicSymbol& symbol) {
            count(symbol.name);
            if (symbol.kind != DynamicSymbol::Kind::wanted || left_ == 0)
                return;
            const auto [known, is_new] = wanted_.try_emplace(std::string(symbol.name), index);
            if (is_new)
                take_off(symbol.name.size(), kept_names_left_);
        });
    }

    void strike_out(std::size_t index)
    {
        bool defines = false;
        std::string name;
        visit(index, [&](const DynamicSymbol& symbol) {
            count(symbol.name);
            if (symbol.kind != DynamicSymbol::Kind::defined || left_ == 0)
                return;
            defines = true;
            name = symbol.name;
            wanted_.erase(name);
        });
        is_known_[index] = is_known_[index] && (defines || index == 0);
    }

    /// Of which objects something that they need, directly or not, is missing or has no symbols
    /// that are known.
    std::vector<bool> find_open() const
    {
        const std::size_t count = linked_.objects.size();
        std::vector<std::vector<std::size_t>> needers(count);
        for (std::size_t at = 0; at < count; ++at)
            for (const std::size_t needed : linked_.objects[at].needs)
                needers[needed].push_back(at);
        std::vector<bool> is_open(count);
        std::vector<std::size_t> pending;
        const auto mark = [&](std::size_t at) {
            if (!is_open[at])
                pending.push_back(at);
            is_open[at] = true;
        };
        for (std::size_t at = 0; at < count; ++at) {
            if (linked_.objects[at].lacks_library)
                mark(at);
            for (const std::size_t by : needers[at])
                if (!is_known_[at] && by != at)
                    mark(by);
        }
        while (!pending.empty()) {
            const std::size_t at = pending.back();
            pending.pop_back();
            std::ranges::for_each(needers[at], mark);
        }
        return is_open;
    }

    void add_rest()
    {
        std::vector<std::pair<std::size_t, std::string>> missing;
        const std::vector<bool> is_open = find_open();
        for (const auto& [name, by] : wanted_)
            if (!is_open[by])
                missing.emplace_back(by, name);
        std::ranges::sort(missing);
        for (const auto& [by, name] : missing) {
            if (linked_.lacks.size() >= most_missing)
                return;
            linked_.lacks.push_back(
                {Lack::Kind::symbol, as_told(name), {linked_.objects[by].path}});
        }
    }

    Files& files_;
    Linked& linked_;
    std::unordered_map<std::string, std::size_t> wanted_; ///< By which object first.
    std::vector<bool> is_known_;      ///< Whether an object's symbols were read.
    std::size_t left_ = most_symbols; ///< 0: there are too many, or too long ones.
    std::size_t names_left_ = most_symbol_names;
    std::size_t kept_names_left_ = most_kept_names;
    std::size_t bytes_left_ = largest_tables;
};

} // namespace

namespace {

/// The library that lacks the version; null if it is there, or the library is not.
const Object* library_without(const elf::NeededVersion& need, Files& files, const ByName& objects)
{
    const Object* const library = objects.find(need.library);
    if (library == nullptr || has_version(files, library->path, need.version))
        return nullptr;
    // The loader is of one version with the C library, which has more of its versions.
    const Object* const c_library = objects.find("libc.so.6");
    const bool has_c_library_it = library->way == Way::loader && c_library != nullptr
                                  && has_version(files, c_library->path, need.version);
    return has_c_library_it ? nullptr : library;
}

void add_missing_versions(const Object& object, Files& files, const ByName& objects,
                          std::vector<Lack>& found)
{
    const auto* const needs = files.needs_of(object.path);
    if (needs == nullptr)
        return;
    for (const elf::NeededVersion& need : *needs) {
        if (found.size() >= most_missing_versions)
            return;
        if (const Object* const library = library_without(need, files, objects))
            add_version(object, *library, need.version, found);
    }
}

} // namespace

std::string as_told(const std::string& name)
{
    constexpr std::size_t longest = 256;
    return name.size() <= longest ? name : name.substr(0, longest) + "...";
}

void find_missing_versions(Files& files, Linked& linked)
{
    if (linked.rules != Rules::glibc)
        return;
    std::vector<Lack> found;
    const ByName objects(files, linked);
    for (const Object& object : linked.objects)
        add_missing_versions(object, files, objects, found);
    linked.lacks.insert(linked.lacks.end(), found.begin(), found.end());
}

void find_missing_symbols(Files& files, Linked& linked)
{
    if (linked.rules == Rules::glibc || linked.rules == Rules::musl)
        SymbolSearch(files, linked).run();
}

} // namespace gpucontainer::linking
