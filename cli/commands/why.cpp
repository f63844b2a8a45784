// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "options/request_options.hpp"
#include "options/root_options.hpp"
#include "output/failure.hpp"
#include "output/messages.hpp"
#include "output/output.hpp"
#include "output/table.hpp"
#include "process/privileges.hpp"

#include <gpucontainer/gpucontainer.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpuctr_cli {
namespace {

using gpucontainer::Answer;

/// Names in the container that are shown without -v.
constexpr std::size_t few_names = 3;

std::string title_of(const Answer& answer)
{
    const std::string name = printable(answer.name());
    return answer.kind() == "gpu" && name.find(' ') == std::string::npos ? "GPU " + name : name;
}

void print_line(const char* what, const std::string& text, const Streams& streams)
{
    print(streams.out, "  {:8}{}\n", what, text);
}

/// Under which names the container gets it.
void print_names(const Answer& answer, Verbosity verbosity, const Streams& streams)
{
    const bool all = verbosity == Verbosity::verbose || answer.items().size() <= few_names + 1;
    std::size_t shown = 0;
    for (const auto item : answer.items()) {
        if (!all && shown == few_names)
            break;
        const std::string kind =
            verbosity == Verbosity::verbose ? formatted(" ({})", item.kind()) : "";
        print_line(shown++ == 0 ? "as" : "", printable(item.target()) + kind, streams);
    }
    if (shown < answer.items().size())
        print_line("", formatted("and {} more; -v lists them", answer.items().size() - shown),
                   streams);
}

void print_others(const Answer& answer, const Streams& streams)
{
    Table table(
        {answer.kind() == "node" || answer.kind() == "gpu" ? "IN ITS WAY" : "NOT TAKEN", "REASON"});
    for (const auto finding : answer.findings())
        table.add({printable(finding.evidence().empty() ? finding.object() : finding.evidence()),
                   printable(finding.text())});
    if (table.empty())
        return;
    print(streams.out, "\n");
    table.print(streams.out, streams.of_out);
}

void print_answer(const Answer& answer, Verbosity verbosity, const Streams& streams)
{
    print(streams.out, "{} {}\n", streams.of_out.heading(title_of(answer) + ":"),
          answer.is_given() ? "given" : "not given");
    if (!answer.path().empty())
        print_line(answer.kind() == "gpu" ? "at" : "from", printable(answer.path()), streams);
    print_names(answer, verbosity, streams);
    const bool is_part = answer.capability() != "none" && answer.is_given();
    print_line("because",
               (is_part ? formatted("{}: ", answer.capability()) : "") + printable(answer.reason()),
               streams);
    const char* label = "change";
    for (const std::string_view remedy : answer.remedies())
        print_line(std::exchange(label, ""), printable(remedy), streams);
    print_others(answer, streams);
}

/// What happens to one thing, and why.
class Why : public Command {
public:
    void add_options(CLI::App& app) override
    {
        app.add_option("name", names_)->expected(-1)->group("");
        request_.add_to(app);
        request_.host.add_record_to(app);
        root_.add_to(app);
        add_format_to(app);
    }

    void check_complete() const override
    {
        if (names_.size() != 1)
            throw usage_error_of("why", names_.empty()
                                            ? "name a library, tool, device node or GPU"
                                            : "name one library, tool, device node or GPU only");
    }

    int run(const Call& call) override
    {
        with_gpu(request_.host.if_present, call.messages(), [&] { show(call); });
        return ExitCode::done;
    }

private:
    void show(const Call& call) const
    {
        shrink_privileges(root_.phases(GPUCTR_PHASE_LOOK));
        const Messages messages = call.messages();
        // GPUs without a driver are known, too.
        const gpucontainer::Host host = request_.host.open_to_list();
        std::optional<RootDirectory> root;
        if (root_.is_given())
            root.emplace(root_.open_to_read());
        const int root_fd = root ? root->fd() : -1;
        const gpucontainer::Plan plan(host, request_.request(root_fd, messages), root_fd);
        const auto explanation = plan.explain(names_.front(), root_fd);
        if (format() == Format::json) {
            print(call.streams.out, "{}", explanation.to_json());
            return;
        }
        bool is_first = true;
        for (const Answer answer : explanation.answers()) {
            if (!std::exchange(is_first, false))
                print(call.streams.out, "\n");
            print_answer(answer, call.verbosity, call.streams);
        }
    }

    std::vector<std::string> names_;
    RequestOptions request_;
    RootOptions root_;
};

} // namespace

const CommandEntry why_command = {
    "why", "show what a container gets of a library, tool, node or GPU, and why",
    "[VENDOR...] NAME [--rootfs DIR] [OPTION]...",
    R"(
Show whether a container gets the library, tool, device node or GPU NAME with
the same options as of `gpuctr-setup plan`: from where, under which names, why
or why not, which other copies there are, and what would change it. Nothing is
changed. The exit code is 0, be it given or not.

NAME is a soname, the name or path of a file, a device node, a GPU in the words
of --device, or an unambiguous beginning of one of these.

Examples:
  gpuctr-setup why --nv libcuda.so --rootfs /srv/image
      which libcuda programs in /srv/image load, and which they do not
  gpuctr-setup why nvidia0
      whether /dev/nvidia0 is given
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<Why>(); }};

} // namespace gpuctr_cli
