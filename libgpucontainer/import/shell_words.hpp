// SPDX-License-Identifier: MIT
#pragma once

#include "import/variables.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::imports {

struct Word {
    std::string text;
    bool known = true;                      ///< `text` is what the shell makes of it.
    bool plain = true;                      ///< Without quotes and expansions.
    bool has_equals = false;                ///< Only the first "=" can be an assignment's.
    std::size_t equals = std::string::npos; ///< In an assignment.

    bool is_assignment() const { return equals != std::string::npos; }
    std::string name() const { return text.substr(0, equals); }
    bool is_one_of(std::initializer_list<std::string_view> words) const;
};

struct Statement {
    enum class End : std::uint8_t { line, semicolon, conditional, pipe, background };

    std::vector<Word> words;
    std::size_t line = 1;
    bool odd = false;    ///< It has parentheses or redirections.
    bool inside = false; ///< Parentheses of an earlier one are around it.
    End end = End::line;
};

/// What a script has set so far.
struct Scope {
    Variables& exported;
    Variables own = {};                 ///< Of the script, and not exported.
    std::set<std::string> unknown = {}; ///< Set to something that only executing would tell.

    /// Null if it has no value. The value is not copied: a script may name it often.
    const std::string* value_of(const std::string& name) const;
};

/// The statements of a shell script, one after the other. Words are expanded by a scope, which the
/// caller changes between them.
class ShellWords {
public:
    /// Borrows both.
    ShellWords(std::string_view text, const Scope& scope) : text_(text), scope_(scope) {}

    /// The next statement; none at the end, and where the rest is not understood.
    std::optional<Statement> next();

    /// The line from which on the text is not understood; 0: all of it is.
    std::size_t line_of_stop() const { return stopped_ ? line_of_stop_ : 0; }

private:
    bool is_at_end() const { return at_ >= text_.size(); }
    char peek(std::size_t ahead = 0) const;
    char take();
    void stop(std::size_t line);
    void append(Word& word, std::string_view more);
    Statement read_statement();
    Statement::End take_end();
    void read_part(Word& word);
    void read_single(Word& word);
    void read_double(Word& word, int depth);
    void append_escaped(Word& word);
    void skip_backquotes(Word& word);
    void read_expansion(Word& word, int depth);
    std::string take_name();
    void read_braces(Word& word, int depth);
    Word read_default(int depth);
    void count_parenthesis(char c);
    void skip_ansi(Word& word);
    void skip_braces();
    void skip_command();
    void skip_in_command(char c, std::string& closing);
    void skip_to(char closing);
    bool is_case() const;
    bool is_own(const Word& word, const std::string& name) const;
    void insert(Word& word, const std::string& name, const std::string* value);

    std::string_view text_;
    const Scope& scope_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::size_t work_ = 0;
    std::size_t parentheses_ = 0; ///< That are open between statements.
    bool stopped_ = false;
    std::size_t line_of_stop_ = 0;
};

} // namespace gpucontainer::imports
