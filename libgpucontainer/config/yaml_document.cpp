// SPDX-License-Identifier: MIT
#include "config/yaml_document.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <sstream>
#include <utility>

namespace gpucontainer::config {
namespace {

constexpr std::size_t max_bytes = 256UL << 10U;
constexpr std::size_t max_depth = 8;
constexpr std::size_t max_values = 50'000;

/// yaml-cpp counts lines from 0 and has no line for some errors.
std::size_t line_of(const YAML::Mark& mark)
{
    return mark.is_null() ? 0 : static_cast<std::size_t>(mark.line) + 1;
}

/// Builds the values while yaml-cpp parses. What is not allowed is thrown out of
/// the parser at once, which also keeps its recursion below our limit.
class TreeBuilder final : public YAML::EventHandler {
public:
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
        add({YamlValue::Kind::scalar, line_of(mark), value, {}}, mark, tag, anchor);
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
        if (++value_count_ > max_values)
            throw YAML::ParserException(mark, fmt::format("more than {} values", max_values));
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
        if (open_.size() >= max_depth)
            throw YAML::ParserException(mark, fmt::format("more than {} levels", max_depth));
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

    std::vector<YamlValue> open_;
    std::size_t value_count_ = 0;
};

} // namespace

Result<YamlValue> parse_yaml(std::string_view text)
{
    if (text.size() > max_bytes)
        return Error(Errc::usage, fmt::format("larger than {} bytes", max_bytes));

    std::istringstream stream{std::string(text)};
    TreeBuilder builder;
    try {
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const YAML::Exception& exception) {
        return Error(Errc::usage,
                     fmt::format("line {}: {}", line_of(exception.mark), exception.msg));
    }
    if (!builder.root)
        return Error(Errc::usage, "no content");
    return *std::move(builder.root);
}

} // namespace gpucontainer::config
