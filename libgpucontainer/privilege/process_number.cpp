// SPDX-License-Identifier: MIT
#include "privilege/process_number.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/own_proc.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <cerrno>
#include <fcntl.h>

namespace gpucontainer::privilege {

Error process_ended() { return {Errc::rootfs, "the process has ended"}; }

Error cannot_look_at(int os_error, const std::string& path)
{
    if (os_error == ENOENT || os_error == ESRCH)
        return process_ended();
    return Error::from_errno(os_error, "/proc/" + path, Errc::requirement)
        .with_hint("be root, or the user that the container belongs to");
}

Result<std::string> read_of_process(int proc, const std::string& path)
{
    const base::UniqueFd file = base::open_in_proc(proc, path.c_str(), O_RDONLY);
    if (!file)
        return cannot_look_at(errno, path);
    auto text = base::read_all(file.get(), 1U << 20U);
    if (!text)
        return cannot_look_at(text.error().os_error(), path);
    return text;
}

Result<std::string> number_of(int proc, int pidfd)
{
    GPUCTR_TRY(const std::string text,
               read_of_process(proc, base::format("thread-self/fdinfo/{}", pidfd)));
    constexpr std::string_view key = "Pid:";
    for (const std::string_view line : base::split(text, '\n')) {
        if (!line.starts_with(key))
            continue;
        const std::string_view number = base::trim(line.substr(key.size()));
        if (number == "-1")
            return process_ended();
        const auto pid = base::to_number(number);
        if (!pid || *pid == 0)
            return Error(Errc::rootfs, "the process is not to be seen in /proc")
                .with_hint("mount the /proc of a pid namespace that the process is in");
        return std::string(number);
    }
    return Error(Errc::usage, "a pidfd is needed, and this is another descriptor");
}

} // namespace gpucontainer::privilege
