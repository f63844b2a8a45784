// SPDX-License-Identifier: MIT
#include "output/progress.hpp"

#include "output/output.hpp"

#include <cerrno>
#include <sys/time.h>
#include <unistd.h>

namespace gpuctr_cli {
namespace {

/// For the handler of a signal, which may not allocate.
std::string line;
int terminal = -1;

extern "C" void say_line(int /*signal*/)
{
    const int error = errno;
    (void)!::write(terminal, line.data(), line.size());
    errno = error;
}

void set_timer(int seconds)
{
    const itimerval timer = {{0, 0}, {seconds, 0}};
    (void)::setitimer(ITIMER_REAL, &timer, nullptr);
}

} // namespace

Progress::Progress(const Streams& streams, Verbosity verbosity, const std::string& what)
{
    terminal = ::fileno(streams.err);
    if (verbosity == Verbosity::quiet || ::isatty(terminal) == 0)
        return;
    line = formatted("gpuctr-setup: {}\n", what);
    struct sigaction action = {};
    action.sa_handler = say_line;
    action.sa_flags = SA_RESTART; // nothing that is under way fails because of it
    is_on_ = ::sigaction(SIGALRM, &action, &before_) == 0;
    if (is_on_)
        set_timer(1);
}

Progress::~Progress()
{
    if (!is_on_)
        return;
    set_timer(0);
    (void)::sigaction(SIGALRM, &before_, nullptr);
}

} // namespace gpuctr_cli
