// SPDX-License-Identifier: MIT
#include "output/output.hpp"

#include "output/failure.hpp"

#include <array>
#include <cerrno>
#include <csignal>

namespace gpuctr_cli {
namespace {

struct Disposition {
    int signal;
    struct sigaction found;
};

/// Global, because signal dispositions are.
std::array<Disposition, 2> dispositions = {Disposition{SIGPIPE, {}}, Disposition{SIGXFSZ, {}}};

[[noreturn]] void fail_to_write()
{
    const int error = errno;
    if (error == EPIPE) {
        restore_output_signals();
        (void)std::raise(SIGPIPE);
    }
    errno = error;
    fail("write to standard output", GPUCTR_E_INTERNAL);
}

} // namespace

void write_result(std::FILE* out, std::string_view text)
{
    if (std::fwrite(text.data(), 1, text.size(), out) != text.size())
        fail_to_write();
}

void finish_results(std::FILE* out)
{
    if (std::fflush(out) != 0)
        fail_to_write();
}

void write_message(std::FILE* err, std::string_view text) noexcept
{
    (void)std::fwrite(text.data(), 1, text.size(), err);
}

void ignore_output_signals() noexcept
{
    for (Disposition& disposition : dispositions) {
        struct sigaction ignored = {};
        ignored.sa_handler = SIG_IGN;
        (void)::sigaction(disposition.signal, &ignored, &disposition.found);
    }
}

void restore_output_signals() noexcept
{
    for (const Disposition& disposition : dispositions)
        (void)::sigaction(disposition.signal, &disposition.found, nullptr);
}

} // namespace gpuctr_cli
