// SPDX-License-Identifier: MIT
#include "output/system_log.hpp"

#include "output/format.hpp"
#include "output/table.hpp"

#include <array>
#include <ctime>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace gpuctr_cli {
namespace {

constexpr std::size_t longest_line = 1024;
constexpr std::string_view log_path = "/dev/log";
constexpr int warning_of_daemon = 3 << 3 | 4; // RFC 5424, 6.2.1

/// As syslog() writes it.
std::string log_time()
{
    const std::time_t now = std::time(nullptr);
    std::tm parts = {};
    std::array<char, sizeof("Nov 27 12:00:00")> text = {};
    if (::localtime_r(&now, &parts) == nullptr
        || std::strftime(text.data(), text.size(), "%h %e %T", &parts) == 0)
        return "";
    return text.data();
}

} // namespace

// syslog() waits for a log whose queue is full.
void log_to_system(const std::string& text)
{
    const int log = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (log < 0)
        return;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    log_path.copy(&address.sun_path[0], sizeof(address.sun_path) - 1);
    const std::string line = formatted("<{}>{} gpuctr-setup[{}]: {}", warning_of_daemon, log_time(),
                                       ::getpid(), printable(text).substr(0, longest_line));
    (void)::sendto(log, line.data(), line.size(), MSG_NOSIGNAL,
                   reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    ::close(log);
}

} // namespace gpuctr_cli
