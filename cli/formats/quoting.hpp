// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace gpuctr_cli {

/// How a text is written in the languages of other programs, so that they read it as it is.

/// A word of a POSIX shell.
std::string shell_word(std::string_view text);
/// A field of a line of comma-separated values, as Go's library reads them.
std::string csv_field(std::string_view text);
/// A field of a line of fstab, as glibc's getmntent() reads it.
std::string fstab_field(std::string_view text);
/// With a backslash before each of these characters, and before backslashes.
std::string escaped(std::string_view text, std::string_view characters);

/// Refuses a text that a program's syntax cannot express: one with any of `characters`. `what` is
/// the program, or the option. Throws gpucontainer::Error: usage.
void refuse(std::string_view text, std::string_view characters, std::string_view what);
/// The same for white space at the end.
void refuse_blank_end(std::string_view text, std::string_view what);

/// Options of a command line.
class OptionLines {
public:
    /// An option, with its values as further words.
    void add(std::initializer_list<std::string_view> words);
    /// One option a line, each but the last continued as in a shell script.
    std::string text() const;

private:
    std::vector<std::string> lines_;
};

} // namespace gpuctr_cli
