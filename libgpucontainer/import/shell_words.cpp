// SPDX-License-Identifier: MIT
#include "import/shell_words.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::imports {
namespace {

// More than images need, and little enough to be read quickly.
constexpr std::size_t most_work = 8U << 20U; // bytes that expansions may make
constexpr int deepest_expansion = 8;         // nested expansions
constexpr std::size_t deepest_command = 32;  // nested commands and quotes

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_character(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

/// At "=". "NAME+=" depends on what others set.
void find_assignment(Word& word)
{
    if (word.text.size() > 1 && word.text.back() == '+'
        && is_variable_name(std::string_view(word.text).substr(0, word.text.size() - 1))) {
        word.text.pop_back();
        word.known = false;
    }
    if (is_variable_name(word.text))
        word.equals = word.text.size();
}

} // namespace

bool is_variable_name(std::string_view text)
{
    return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, is_name_character);
}

bool Word::is_one_of(std::initializer_list<std::string_view> words) const
{
    return plain && std::ranges::find(words, text) != words.end();
}

const std::string* Scope::value_of(const std::string& name) const
{
    for (const Variables* const variables : {&std::as_const(exported), &own})
        if (const auto found = variables->find(name); found != variables->end())
            return &found->second;
    return nullptr;
}

std::optional<Statement> ShellWords::next()
{
    if (stopped_ || is_at_end())
        return std::nullopt;
    Statement statement = read_statement();
    if (stopped_)
        return std::nullopt;
    return statement;
}

char ShellWords::peek(std::size_t ahead) const
{
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
}
char ShellWords::take()
{
    const char c = text_[at_++];
    if (c == '\n')
        ++line_;
    return c;
}
void ShellWords::stop(std::size_t line)
{
    if (!stopped_)
        line_of_stop_ = line;
    stopped_ = true;
}

void ShellWords::append(Word& word, std::string_view more)
{
    work_ += more.size();
    if (work_ > most_work)
        stop(line_);
    if (word.text.size() + more.size() > longest_value || more.find('\0') != std::string_view::npos)
        word.known = false;
    else
        word.text += more;
}

Statement ShellWords::read_statement()
{
    Statement statement;
    statement.line = line_;
    statement.inside = parentheses_ > 0;
    std::optional<Word> word;
    const auto end_word = [&] {
        if (word)
            statement.words.push_back(*std::move(word));
        word.reset();
    };
    while (!is_at_end() && !stopped_) {
        const char c = peek();
        if (c == '#' && !word) {
            while (!is_at_end() && peek() != '\n')
                take();
            continue;
        }
        if (c == ' ' || c == '\t' || c == '\r') {
            take();
            end_word();
        } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
            statement.end = take_end();
            end_word();
            return statement;
        } else if (c == '<' && peek(1) == '<') {
            stop(line_); // a document follows, in which nothing is a statement
        } else if (c == '(' || c == ')' || c == '<' || c == '>') {
            take();
            end_word();
            statement.odd = true;
            count_parenthesis(c);
        } else {
            if (!word)
                word.emplace();
            read_part(*word);
        }
    }
    end_word();
    return statement;
}

void ShellWords::count_parenthesis(char c)
{
    if (c == '(')
        ++parentheses_;
    else if (c == ')' && parentheses_ > 0) // a pattern of "case" has no other one
        --parentheses_;
}

Statement::End ShellWords::take_end()
{
    const char c = take();
    if (c == '\n')
        return Statement::End::line;
    const bool twice = peek() == c;
    if (twice)
        take();
    if (c == ';')
        return Statement::End::semicolon;
    return twice      ? Statement::End::conditional
           : c == '|' ? Statement::End::pipe
                      : Statement::End::background;
}

/// One character, quoted part or expansion of a word.
void ShellWords::read_part(Word& word)
{
    const char c = take();
    word.plain = word.plain && c != '\\' && c != '\'' && c != '"' && c != '$' && c != '`';
    switch (c) {
    case '\\':
        if (is_at_end())
            return;
        if (const char next = take(); next != '\n')
            append(word, {&next, 1});
        return;
    case '\'':
        read_single(word);
        return;
    case '"':
        read_double(word, 0);
        return;
    case '$':
        if (peek() == '\'')
            return skip_ansi(word);
        read_expansion(word, 0);
        return;
    case '`':
        skip_backquotes(word);
        return;
    case '~':
        word.known = word.known && !word.text.empty() && word.text.size() != word.equals + 1;
        break;
    case '=':
        if (!std::exchange(word.has_equals, true) && word.plain)
            find_assignment(word);
        break;
    default:
        break;
    }
    append(word, {&c, 1});
}

void ShellWords::read_single(Word& word)
{
    const std::size_t line = line_;
    const std::size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos)
        return stop(line);
    append(word, text_.substr(at_, end - at_));
    while (at_ <= end)
        take();
}

void ShellWords::read_double(Word& word, int depth)
{
    const std::size_t line = line_;
    while (!is_at_end() && !stopped_) {
        const char c = take();
        if (c == '"')
            return;
        if (c == '$')
            read_expansion(word, depth);
        else if (c == '`')
            skip_backquotes(word);
        else if (c == '\\' && std::string_view("$`\"\\\n").find(peek()) != std::string_view::npos
                 && !is_at_end())
            append_escaped(word);
        else
            append(word, {&c, 1});
    }
    stop(line);
}

void ShellWords::append_escaped(Word& word)
{
    if (const char next = take(); next != '\n')
        append(word, {&next, 1});
}

void ShellWords::skip_backquotes(Word& word)
{
    const std::size_t line = line_;
    word.known = false;
    while (!is_at_end())
        if (take() == '`')
            return;
    stop(line);
}

/// What follows "$".
void ShellWords::read_expansion(Word& word, int depth)
{
    if (peek() == '{') {
        take();
        return read_braces(word, depth);
    }
    if (peek() == '(') {
        word.known = false;
        return skip_command();
    }
    if (!is_letter(peek())) {
        word.known = false;
        if (!is_at_end() && peek() != '"' && peek() != '\n')
            take();
        return;
    }
    const std::string name = take_name();
    insert(word, name, scope_.value_of(name));
}

std::string ShellWords::take_name()
{
    std::string name;
    while (!is_at_end() && is_name_character(peek()) && name.size() < longest_value)
        name += take();
    return name;
}

/// "${NAME}" and "${NAME:-default}". Others are not understood.
void ShellWords::read_braces(Word& word, int depth)
{
    const std::string name = is_letter(peek()) ? take_name() : "";
    const std::string* const value = scope_.value_of(name);
    if (!name.empty() && peek() == '}') {
        take();
        return insert(word, name, value);
    }
    const bool unless_empty = peek() == ':' && peek(1) == '-';
    if (name.empty() || depth >= deepest_expansion || (!unless_empty && peek() != '-')) {
        word.known = false;
        return skip_braces();
    }
    at_ += unless_empty ? 2 : 1;
    const Word otherwise = read_default(depth + 1);
    if (value != nullptr && (!unless_empty || !value->empty()))
        insert(word, name, value);
    else if (value == nullptr && !is_own(word, name))
        word.known = false;
    else {
        append(word, otherwise.text);
        word.known = word.known && otherwise.known;
    }
}

/// The rest of "${NAME:-default}".
Word ShellWords::read_default(int depth)
{
    const std::size_t line = line_;
    Word word;
    while (!is_at_end() && !stopped_) {
        const char c = take();
        if (c == '}')
            return word;
        if (c == '"')
            read_double(word, depth);
        else if (c == '$')
            read_expansion(word, depth);
        else if (c == '`')
            skip_backquotes(word);
        else if (c == '\\' && !is_at_end())
            append_escaped(word);
        else
            append(word, {&c, 1});
    }
    stop(line);
    return word;
}

/// "$'...'", in which some shells have escapes and others have none.
void ShellWords::skip_ansi(Word& word)
{
    const std::size_t line = line_;
    word.known = false;
    take();
    while (!is_at_end()) {
        const char c = take();
        if (c == '\'')
            return;
        if (c == '\\' && peek() == '\'')
            break; // where it ends depends on the shell
    }
    stop(line);
}

/// The rest of "${NAME...}".
void ShellWords::skip_braces()
{
    const std::size_t line = line_;
    std::size_t open = 1;
    while (!is_at_end()) {
        const char c = take();
        if (c == '\\' && !is_at_end())
            take();
        else if (c == '{')
            ++open;
        else if (c == '}' && --open == 0)
            return;
    }
    stop(line);
}

/// "(...)" of a command whose output is inserted.
void ShellWords::skip_command()
{
    const std::size_t line = line_;
    std::string closing; // of all that is open, the innermost last
    while (!is_at_end() && closing.size() < deepest_command && !is_case()) {
        const char c = take();
        if (!closing.ends_with(c)) {
            skip_in_command(c, closing);
            continue;
        }
        closing.pop_back();
        if (closing.empty())
            return;
    }
    stop(line);
}

/// Notes what the character opens, or skips what belongs to it.
void ShellWords::skip_in_command(char c, std::string& closing)
{
    const bool is_quoted = closing.ends_with('"');
    if (c == '\\' && !is_at_end())
        take();
    else if (c == '(' && (!is_quoted || text_[at_ - 2] == '$'))
        closing += ')';
    else if (c == '"')
        closing += '"';
    else if (c == '`' || (c == '\'' && !is_quoted))
        skip_to(c);
}

void ShellWords::skip_to(char closing)
{
    while (!is_at_end())
        if (take() == closing)
            return;
}

/// Whether "case" is next: its patterns have parentheses that nothing opened.
bool ShellWords::is_case() const
{
    constexpr std::string_view word = "case ";
    return text_.substr(at_).starts_with(word) && at_ > 0 && !is_name_character(text_[at_ - 1]);
}

/// Whether an assignment refers to the variable that it sets: nobody else gave that a value.
bool ShellWords::is_own(const Word& word, const std::string& name) const
{
    return word.is_assignment() && std::string_view(word.text).substr(0, word.equals) == name
           && !scope_.unknown.contains(name);
}

void ShellWords::insert(Word& word, const std::string& name, const std::string* value)
{
    if (value != nullptr)
        append(word, *value);
    else if (!is_own(word, name))
        word.known = false;
}

} // namespace gpucontainer::imports
