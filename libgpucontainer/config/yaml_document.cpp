// SPDX-License-Identifier: MIT
#include "config/yaml_document.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>
#include <utility>

namespace gpucontainer::config {
namespace {

/// yaml-cpp counts lines from 0 and has no line for some errors.
std::size_t line_of(const YAML::Mark& mark)
{
    return mark.is_null() ? 0 : static_cast<std::size_t>(mark.line) + 1;
}

/// The error for a mistake. `file` may be "", `line` 0 if unknown.
Error mistake(std::string_view file, std::size_t line, std::string_view what)
{
    std::string place(file);
    if (line != 0)
        place += base::format("{}{}", file.empty() ? "line " : ":", line);
    return {Errc::usage, base::format("{}{}{}", place, place.empty() ? "" : ": ", what)};
}

/// The control character or line separator at the start of a text, if any, except tab, LF and
/// CR LF. Readers of YAML differ in which of them end a line or the text.
std::optional<std::uint32_t> control_character(std::string_view text)
{
    if (text.starts_with('\t') || text.starts_with('\n') || text.starts_with("\r\n"))
        return std::nullopt;
    if (base::is_control(text.front()))
        return static_cast<unsigned char>(text.front());
    const std::string_view of_two_bytes = text.substr(0, 2);
    if (of_two_bytes >= "\u0080" && of_two_bytes <= "\u009f")
        return static_cast<unsigned char>(text[1]);
    if (text.starts_with("\u2028"))
        return 0x2028;
    if (text.starts_with("\u2029"))
        return 0x2029;
    return std::nullopt;
}

/// What stands behind such a character may be a comment to one reader and a key to another.
Result<void> check_characters(std::string_view text, std::string_view file)
{
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto code = control_character(text.substr(i));
        if (!code)
            continue;
        const auto lines = std::ranges::count(text.substr(0, i), '\n');
        return mistake(file, static_cast<std::size_t>(lines) + 1,
                       base::format("control character U+{:04X} (allowed: tabs, and LF or CR LF "
                                    "at the end of a line)",
                                    *code));
    }
    return {};
}

/// Refuses directives. "%YAML 1.2" is not needed, and readers of YAML ignore others: "%restricted:
/// true" would be a lost key.
Result<void> check_directives(std::string_view text, std::string_view file)
{
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text.starts_with(byte_order_mark))
        text.remove_prefix(byte_order_mark.size());
    std::size_t number = 0;
    for (const std::string_view line : base::split(text, '\n'))
        if (++number; line.starts_with('%'))
            return mistake(file, number, "'%' at the beginning of a line is not allowed");
    return {};
}

bool has_content(std::string_view text)
{
    return std::ranges::any_of(base::split(text, '\n'), [](std::string_view line) {
        const std::string_view rest = base::trim(line);
        return !rest.empty() && !rest.starts_with('#');
    });
}

/// Builds the values while yaml-cpp parses. Throws at once for anything that is not allowed, which
/// also limits the parser's recursion.
class TreeBuilder final : public YAML::EventHandler {
public:
    explicit TreeBuilder(const YamlLimits& limits) : limits_(limits) {}

    std::optional<YamlValue> root;

    void OnDocumentStart(const YAML::Mark& mark) override
    {
        if (root)
            throw YAML::ParserException(mark, "a second document begins here (allowed: one)");
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override
    {
        add({YamlValue::Kind::scalar, line_of(mark), {}, {}}, mark, {}, anchor);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override
    {
        throw YAML::ParserException(mark, "aliases are not allowed");
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override
    {
        add({YamlValue::Kind::scalar, line_of(mark), value, {}, tag == "!"}, mark, tag, anchor);
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value /*style*/) override
    {
        open(YamlValue::Kind::list, mark, tag, anchor);
    }
    void OnSequenceEnd() override { close(); }

    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value /*style*/) override
    {
        open(YamlValue::Kind::map, mark, tag, anchor);
    }
    void OnMapEnd() override { close(); }

private:
    void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor)
    {
        if (anchor != YAML::NullAnchor)
            throw YAML::ParserException(mark, "anchors are not allowed");
        // "?" stands for a plain value without a tag, "!" for a quoted one.
        if (!tag.empty() && tag != "?" && tag != "!")
            throw YAML::ParserException(mark, "tags are not allowed");
        if (++value_count_ > limits_.values)
            throw YAML::ParserException(mark, base::format("more than {} values", limits_.values));
    }

    void add(YamlValue value, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor)
    {
        check(mark, tag, anchor);
        place(std::move(value));
    }

    void open(YamlValue::Kind kind, const YAML::Mark& mark, const std::string& tag,
              YAML::anchor_t anchor)
    {
        check(mark, tag, anchor);
        if (open_.size() >= limits_.depth)
            throw YAML::ParserException(mark, base::format("more than {} levels", limits_.depth));
        open_.push_back({kind, line_of(mark), {}, {}});
    }

    void close()
    {
        YamlValue done = std::move(open_.back());
        open_.pop_back();
        place(std::move(done));
    }

    void place(YamlValue value)
    {
        if (open_.empty())
            root = std::move(value);
        else
            open_.back().items.push_back(std::move(value));
    }

    YamlLimits limits_;
    std::vector<YamlValue> open_;
    std::size_t value_count_ = 0;
};

} // namespace

Result<std::optional<YamlValue>> parse_yaml(std::string_view text, std::string_view file,
                                            const YamlLimits& limits)
{
    if (text.size() > limits.bytes)
        return mistake(file, 0, base::format("larger than {} bytes", limits.bytes));
    GPUCTR_CHECK(check_characters(text, file));
    GPUCTR_CHECK(check_directives(text, file));
    if (!has_content(text))
        return std::optional<YamlValue>();

    std::istringstream stream{std::string(text)};
    TreeBuilder builder(limits);
    try {
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const YAML::Exception& exception) {
        return mistake(file, line_of(exception.mark), exception.msg);
    }
    if (!builder.root)
        return mistake(file, 0, "no content");
    return std::move(builder.root);
}

} // namespace gpucontainer::config
