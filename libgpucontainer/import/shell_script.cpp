// SPDX-License-Identifier: MIT
#include "import/shell_script.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "import/shell_words.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace gpucontainer::imports {
namespace {

/// Lines as "2, 5-7".
class Lines {
public:
    void add(std::size_t line)
    {
        if (!ranges_.empty() && line <= ranges_.back().second + 1)
            ranges_.back().second = std::max(line, ranges_.back().second);
        else if (ranges_.size() < most)
            ranges_.emplace_back(line, line);
        else
            goes_on_ = true;
    }

    void add_rest(std::size_t line)
    {
        add(line);
        goes_on_ = true;
    }

    std::string text() const
    {
        std::vector<std::string> parts;
        for (const auto& [first, last] : ranges_)
            parts.push_back(first == last ? std::to_string(first)
                                          : base::format("{}-{}", first, last));
        return base::joined(parts, ", ") + (goes_on_ ? " and what follows" : "");
    }

private:
    static constexpr std::size_t most = 16;
    std::vector<std::pair<std::size_t, std::size_t>> ranges_;
    bool goes_on_ = false;
};

class Script {
public:
    Script(std::string_view text, Variables& variables)
        : scope_{variables}, statements_(text, scope_)
    {
    }

    std::string read()
    {
        while (const auto statement = statements_.next()) {
            obey(*statement);
            if (ended_ != 0)
                break;
            if (!statement->words.empty() || statement->end != Statement::End::line)
                after_ = statement->end;
        }
        if (const std::size_t line = std::max(ended_, statements_.line_of_stop()); line != 0)
            skipped_.add_rest(line);
        return skipped_.text();
    }

private:
    void forget(const std::string& name)
    {
        scope_.exported.erase(name);
        scope_.own.erase(name);
        scope_.unknown.insert(name);
    }

    void set(Variables& variables, const Word& word)
    {
        const std::string name = word.name();
        scope_.unknown.erase(name);
        variables[name] = word.text.substr(word.equals + 1);
    }

    void skip(const Statement& statement)
    {
        skipped_.add(statement.line);
        for (const Word& word : statement.words)
            if (word.is_assignment())
                forget(word.name());
            else if (word.plain && is_variable_name(word.text))
                forget(word.text); // "read NAME", "unset NAME"
    }

    /// Keeps count of commands that contain others. Returns whether this is a part of one.
    bool is_in_compound(const Statement& statement)
    {
        const bool was_inside = depth_ > 0;
        const auto& words = statement.words;
        for (std::size_t i = 0; i < words.size(); ++i) {
            const bool begins =
                i == 0 || words[i - 1].is_one_of({"then", "do", "else", "elif", "!", "{"});
            if (begins && words[i].is_one_of({"if", "case", "for", "while", "until", "select"}))
                ++depth_;
            else if (words[i].is_one_of({"{"})
                     && (begins || statement.odd || words[0].is_one_of({"function"})))
                ++depth_;
            else if (i == 0 && depth_ > 0 && words[i].is_one_of({"fi", "esac", "done", "}"}))
                --depth_;
        }
        return was_inside || depth_ > 0;
    }

    void obey(const Statement& statement)
    {
        const auto& words = statement.words;
        const bool is_certain =
            !is_in_compound(statement) && !statement.odd && !statement.inside
            && after_ != Statement::End::conditional && after_ != Statement::End::pipe
            && statement.end != Statement::End::pipe && statement.end != Statement::End::background;
        if (words.empty())
            return;
        if (!is_certain)
            return skip(statement);
        if (words[0].is_one_of({"export"}))
            return export_all(statement);
        if (words[0].is_one_of({"unset"}) && is_list_of_names(statement))
            return unset_all(statement);
        if (std::ranges::all_of(words, &Word::is_assignment))
            return assign_all(statement);
        if (words[0].is_one_of({":"}) && std::ranges::all_of(words, &Word::known))
            return;
        skip(statement);
        if (words[0].is_one_of({"exit", "return", "exec"}))
            ended_ = statement.line;
    }

    static bool is_list_of_names(const Statement& statement)
    {
        return std::ranges::all_of(statement.words, [](const Word& word) {
            return word.plain && is_variable_name(word.text);
        });
    }

    void export_all(const Statement& statement)
    {
        if (statement.words.size() > 1 && statement.words[1].text.starts_with('-'))
            return skip(statement);
        for (std::size_t i = 1; i < statement.words.size(); ++i) {
            const Word& word = statement.words[i];
            if (word.is_assignment() && word.known) {
                scope_.own.erase(word.name());
                set(scope_.exported, word);
            } else if (const auto own = scope_.own.find(word.text);
                       word.plain && own != scope_.own.end()) {
                scope_.exported[word.text] = own->second;
                scope_.own.erase(own);
            } else if (word.is_assignment() || !word.plain || !is_variable_name(word.text)) {
                skipped_.add(statement.line);
                forget(word.name());
            }
        }
    }

    void unset_all(const Statement& statement)
    {
        for (const Word& word : statement.words) {
            scope_.exported.erase(word.text);
            scope_.own.erase(word.text);
            scope_.unknown.erase(word.text);
        }
    }

    void assign_all(const Statement& statement)
    {
        for (const Word& word : statement.words)
            if (word.known) {
                set(scope_.exported.contains(word.name()) ? scope_.exported : scope_.own, word);
            } else {
                skipped_.add(statement.line);
                forget(word.name());
            }
    }

    Scope scope_;
    ShellWords statements_;
    Lines skipped_;
    std::size_t depth_ = 0;                       ///< Of commands that contain others.
    Statement::End after_ = Statement::End::line; ///< How the statement before ended.
    std::size_t ended_ = 0;                       ///< The line after which nothing is executed.
};

} // namespace

std::string read_script(std::string_view text, Variables& variables)
{
    return Script(text, variables).read();
}

std::string read_lines(std::string_view text, Variables& variables)
{
    Lines skipped;
    std::size_t number = 0;
    for (std::string_view line : base::split(text, '\n')) {
        ++number;
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        if (line.empty() || line.front() == '#')
            continue;
        const auto equals = line.find('=');
        const std::string_view name = line.substr(0, equals);
        if (equals == std::string_view::npos || !is_variable_name(name)) {
            skipped.add(number);
            continue;
        }
        std::string_view value = line.substr(equals + 1);
        if (value.size() > 1 && value.front() == '\'' && value.back() == '\'')
            value = value.substr(1, value.size() - 2);
        if (value.size() > longest_value
            || value.find_first_of(std::string_view("$\0", 2)) != value.npos) {
            variables.erase(std::string(name));
            skipped.add(number);
        } else {
            variables[std::string(name)] = value;
        }
    }
    return skipped.text();
}

} // namespace gpucontainer::imports
