// SPDX-License-Identifier: MIT
#include "check/found_program.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace gpucontainer::check {

using rootfs::Entry;
using rootfs::EntryType;

namespace {

constexpr std::size_t most_scripts = 5; // a script's interpreter may be a script
constexpr std::size_t most_directories = 128;
constexpr std::uint32_t executable = 0111;
constexpr const char* usual_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool may_execute(const Entry& entry)
{
    return entry.type == EntryType::regular && (entry.mode & executable) != 0;
}

std::string in_path(const rootfs::View& container,
                    const std::map<std::string, std::string>& environment, const std::string& name)
{
    const auto set = environment.find("PATH");
    const std::string path = set != environment.end() ? set->second : usual_path;
    std::size_t tried = 0;
    for (const std::string_view directory : base::split(path, ':')) {
        if (!directory.starts_with('/') || ++tried > most_directories)
            continue;
        std::string candidate = base::format("{}/{}", directory == "/" ? "" : directory, name);
        if (may_execute(container.resolve(candidate)))
            return candidate;
    }
    return "";
}

/// The first line of a script after "#!"; none if it is none.
struct FirstLine {
    bool is_script = false;
    std::string interpreter;
    std::string argument;
};

FirstLine first_line_of(const rootfs::View& container, const std::string& path)
{
    std::array<char, 256> start = {}; // the kernel reads no more (BINPRM_BUF_SIZE)
    const auto opened = container.open(path);
    const auto size = opened ? opened->read(start, 0) : Result<std::size_t>(std::size_t{0});
    std::string_view text(start.data(), size ? *size : 0);
    if (!text.starts_with("#!"))
        return {};
    text = text.substr(2, text.find('\n') == std::string_view::npos ? text.size()
                                                                    : text.find('\n') - 2);
    constexpr std::string_view blanks = " \t";
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    const std::size_t end = std::min(text.find_first_of(blanks), text.size());
    FirstLine line = {true, std::string(text.substr(0, end)), {}};
    text.remove_prefix(end);
    line.argument = base::trim(text);
    return line;
}

/// The program that `env` executes: the first word that is neither an option nor a variable.
std::string program_of_env(std::string_view arguments)
{
    bool is_value = false;
    while (!(arguments = base::trim(arguments)).empty()) {
        const std::string_view word = arguments.substr(0, arguments.find_first_of(" \t"));
        arguments.remove_prefix(word.size());
        if (std::exchange(is_value, word == "-u" || word == "-C"))
            continue;
        if (!word.starts_with('-') && word.find('=') == std::string_view::npos)
            return std::string(word);
        if (word.starts_with("-S") && word.size() > 2)
            return std::string(word.substr(2));
    }
    return "";
}

std::string shown(std::string text)
{
    std::ranges::replace_if(text, base::is_control, '?');
    return text;
}

class ProgramSearch {
public:
    ProgramSearch(const rootfs::View& container,
                  const std::map<std::string, std::string>& environment)
        : container_(container), environment_(environment)
    {
    }

    FoundProgram run(const std::string& program)
    {
        if (!enter(program, ""))
            return std::move(found_);
        while (found_.scripts.size() < most_scripts) {
            const FirstLine line = first_line_of(container_, found_.path);
            if (!line.is_script)
                return std::move(found_);
            found_.scripts.push_back(found_.path);
            const std::string script = found_.path;
            if (line.interpreter.ends_with('\r')) {
                found_.path.clear();
                found_.problem = base::format("names {} in its first line, which ends as in "
                                              "Windows",
                                              shown(line.interpreter));
                found_.hint = "change the ends of its lines";
                return std::move(found_);
            }
            if (!enter(line.interpreter, script))
                return std::move(found_);
            if (base::name_of(line.interpreter) == "env")
                if (const std::string inner = program_of_env(line.argument);
                    !inner.empty() && !enter(inner, script))
                    return std::move(found_);
        }
        found_.problem = "is a script that leads to a script, and so on";
        return std::move(found_);
    }

private:
    /// Goes to a program that a script names, or the caller if `script` is "".
    bool enter(const std::string& program, const std::string& script)
    {
        const bool is_name = program.find('/') == std::string::npos;
        std::string path = program;
        if (is_name)
            path = in_path(container_, environment_, program);
        else if (!path.starts_with('/')) // the working directory is not known
            path.insert(0, "/");
        const Entry entry = path.empty() ? Entry() : container_.resolve(path);
        if (may_execute(entry)) {
            found_.path = path;
            return true;
        }
        found_.path.clear();
        const std::string of =
            script.empty() ? "" : base::format("{}, which runs it, ", shown(program));
        if (entry.type == EntryType::regular)
            found_.problem = of + "has no permission to be executed";
        else if (entry)
            found_.problem = of + "is no file";
        else if (is_name)
            found_.problem = of + "is not in the container's PATH";
        else
            found_.problem = of + "is not in the container";
        return false;
    }

    const rootfs::View& container_;
    const std::map<std::string, std::string>& environment_;
    FoundProgram found_;
};

} // namespace

FoundProgram find_program(const rootfs::View& container,
                          const std::map<std::string, std::string>& environment,
                          const std::string& program)
{
    return ProgramSearch(container, environment).run(program);
}

} // namespace gpucontainer::check
