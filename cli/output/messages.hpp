// SPDX-License-Identifier: MIT
#pragma once

#include "output/format.hpp"
#include "output/paint.hpp"

#include <cstdio>
#include <gpucontainer/gpucontainer.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuctr_cli {

/// Results go to `out`, messages for people to `err`.
struct Streams {
    std::FILE* out;
    std::FILE* err;
    Paint of_out = {};
    Paint of_err = {};
};

enum class Verbosity : int { quiet, normal, verbose };

/// One message for a person.
struct Message {
    gpucontainer::Severity severity;
    std::string text;
    std::string hint;
    std::string code;   ///< Of a finding, or "".
    std::string object; ///< What it is about, or "".
    std::optional<gpucontainer::Error> error;
};

/// Says what a person should know, on standard error.
class Messages {
public:
    /// With `held`, messages are kept there for the end of the call: JSON has room for them only
    /// if the call fails. Null: they are printed at once.
    Messages(const Streams& streams, Verbosity of_call, std::vector<Message>* held = nullptr)
        : verbosity(of_call), streams_(streams), held_(held)
    {
    }

    Verbosity verbosity;

    /// What was done, whatever the verbosity.
    void tell(const std::string& text, const std::string& hint = {}) const;
    /// Not with -q.
    void warn(const std::string& text) const;
    /// The same. `about` is put before the message, if it does not say itself what it is about;
    /// or "".
    void warn(const gpucontainer::Finding& finding, const std::string& about = {}) const;
    /// What also keeps programs from working, if a call fails. Not with -q.
    void tell_also(const gpucontainer::Finding& finding) const;
    /// An error after which the call goes on, or ends by itself. Returns its exit code.
    int report(const gpucontainer::Error& error) const;

    /// Prints what was held.
    void print_held() const;

private:
    void add(Message message) const;

    const Streams& streams_;
    std::vector<Message>* held_;
};

/// Prints one message. `remark` is appended to its text.
void print_message(const Message& message, const Streams& streams, const std::string& remark = {});

Message message_of(const gpucontainer::Error& error);

/// Prints the warnings among the findings of a host, driver or plan.
template <typename Findings>
void warn_about(const Findings& findings, const Messages& messages)
{
    for (const gpucontainer::Finding finding : findings)
        if (finding.severity() >= gpucontainer::Severity::warning)
            messages.warn(finding);
}

/// Does work that needs a GPU. With `if_present`, a missing GPU is a warning.
template <typename Work>
void with_gpu(bool if_present, const Messages& messages, Work&& work)
{
    try {
        std::forward<Work>(work)();
    } catch (const gpucontainer::Error& error) {
        if (!if_present || error.status() != GPUCTR_E_NO_DEVICE)
            throw;
        messages.warn(error.what());
    }
}

} // namespace gpuctr_cli
