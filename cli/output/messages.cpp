// SPDX-License-Identifier: MIT
#include "output/messages.hpp"

#include "output/output.hpp"
#include "output/table.hpp"

namespace gpuctr_cli {

using gpucontainer::Severity;

void print_message(const Message& message, const Streams& streams, const std::string& remark)
{
    const Paint& paint = streams.of_err;
    const bool warns = message.severity == Severity::warning;
    const std::string name = message.error ? paint.error("gpuctr-setup:") : "gpuctr-setup:";
    say(streams.err, "{} {}{}{}\n", name, warns ? paint.warning("warning:") + " " : "",
        printable(message.text), remark);
    if (!message.hint.empty())
        say(streams.err, "{} {}\n", paint.heading("hint:"), printable(message.hint));
}

Message message_of(const gpucontainer::Error& error)
{
    return {Severity::error, error.what(), error.hint(), "", error.object(), error};
}

void Messages::add(Message message) const
{
    if (held_ != nullptr)
        held_->push_back(std::move(message));
    else
        print_message(message, streams_);
}

void Messages::tell(const std::string& text, const std::string& hint) const
{
    add({Severity::note, text, hint, "", "", {}});
}

void Messages::warn(const std::string& text) const
{
    if (verbosity != Verbosity::quiet)
        add({Severity::warning, text, "", "", "", {}});
}

void Messages::warn(const gpucontainer::Finding& finding, const std::string& about) const
{
    if (verbosity == Verbosity::quiet)
        return;
    const std::string text = about.empty() ? finding.message() : about + ": " + finding.message();
    add({Severity::warning,
         text,
         std::string(finding.hint()),
         std::string(finding.code()),
         std::string(finding.object()),
         {}});
}

void Messages::tell_also(const gpucontainer::Finding& finding) const
{
    if (verbosity != Verbosity::quiet)
        add({finding.severity(),
             finding.message(),
             std::string(finding.hint()),
             std::string(finding.code()),
             std::string(finding.object()),
             {}});
}

int Messages::report(const gpucontainer::Error& error) const
{
    add(message_of(error));
    return -error.status();
}

void Messages::print_held() const
{
    if (held_ == nullptr)
        return;
    for (const Message& message : std::exchange(*held_, {}))
        print_message(message, streams_);
}

} // namespace gpuctr_cli
