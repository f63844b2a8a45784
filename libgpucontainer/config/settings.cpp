// SPDX-License-Identifier: MIT
#include "config/settings.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "config/policy_key.hpp"
#include "config/yaml_document.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace gpucontainer::config {
namespace {

using Kind = YamlValue::Kind;

/// What is wrong with the key; empty if nothing is.
std::string problem_with_key(const YamlValue& key)
{
    const auto is_plain = [](char c) { return c == '-' || (c >= 'a' && c <= 'z'); };
    if (key.kind != Kind::scalar)
        return "a list or a map in place of a key";
    if (key.text.empty())
        return "an empty key";
    if (const auto meant = meant_policy_key(key.text); !meant.empty() && meant != key.text)
        return base::format("unknown key, which may be meant for {}", meant);
    if (!std::ranges::all_of(key.text, is_plain))
        return "unknown key: keys have the characters a-z and - alone";
    return {};
}

std::string problem_with_value(const YamlValue& value)
{
    if (value.kind == Kind::map)
        return "neither a value nor a list of values";
    if (value.kind == Kind::scalar && value.text.empty())
        return "no value: a key has one, or a list of them";
    if (value.kind == Kind::scalar && value.text.find('\0') != std::string::npos)
        return "a null character in the value";
    // An empty list of allowed values must not mean that all are allowed.
    if (value.kind == Kind::list && value.items.empty())
        return "an empty list: a key has one value or more";
    for (const YamlValue& item : value.items) {
        if (item.kind == Kind::list)
            return "a list in a list: a key has a list of values";
        if (std::string problem = problem_with_value(item); !problem.empty())
            return problem;
    }
    return {};
}

/// Whether any text in it may be meant for a key of the policy.
bool speaks_of_policy(const YamlValue& value)
{
    return value.kind == Kind::scalar ? !meant_policy_key(value.text).empty()
                                      : std::ranges::any_of(value.items, speaks_of_policy);
}

/// Whether a mistake may concern the policy. Its keys may be one level too deep.
bool concerns_policy(const YamlValue& key, const YamlValue& value)
{
    const auto is_scalar = [](const YamlValue& item) { return item.kind == Kind::scalar; };
    const bool is_flat = value.kind != Kind::map && std::ranges::all_of(value.items, is_scalar);
    return speaks_of_policy(key) || (!is_flat && speaks_of_policy(value));
}

std::string printable(std::string text)
{
    std::ranges::replace_if(text, base::is_control, '?');
    return text;
}

class Reader {
public:
    explicit Reader(std::string_view file) : file_(file) {}

    void add(const YamlValue& key, const YamlValue& value)
    {
        std::string problem = problem_with_key(key);
        if (problem.empty())
            problem = problem_with_repetition(key);
        if (problem.empty())
            problem = problem_with_value(value);
        if (!problem.empty())
            return add_mistake(key, problem, concerns_policy(key, value));
        if (value.kind == Kind::scalar)
            add_value(key, value, false);
        for (const YamlValue& item : value.items)
            add_value(key, item, true);
    }

    std::vector<Setting> finish() &&
    {
        // It is not known which of the values is meant.
        std::erase_if(settings_, [this](const Setting& setting) {
            return setting.mistake.empty() && repeated_.contains(setting.key);
        });
        return std::move(settings_);
    }

private:
    std::string problem_with_repetition(const YamlValue& key)
    {
        const auto [first, is_new] = lines_.emplace(key.text, key.line);
        if (is_new)
            return {};
        repeated_.insert(key.text);
        return base::format("repeated, line {} has it too", first->second);
    }

    void add_value(const YamlValue& key, const YamlValue& value, bool in_list)
    {
        settings_.push_back({key.line, key.text, value.text, {}, in_list, false});
    }

    void add_mistake(const YamlValue& key, std::string_view problem, bool is_in_policy)
    {
        const std::string name = printable(key.text);
        std::string mistake =
            base::format("{}:{}: {}{}{}", file_, key.line, name, name.empty() ? "" : ": ", problem);
        settings_.push_back({key.line, name, {}, std::move(mistake), false, is_in_policy});
    }

    std::string_view file_;
    std::vector<Setting> settings_;
    std::map<std::string, std::size_t> lines_;
    std::set<std::string> repeated_;
};

} // namespace

Result<std::vector<Setting>> parse_settings(std::string_view yaml, std::string_view file)
{
    GPUCTR_TRY(const auto document, parse_yaml(yaml, file));
    if (!document)
        return std::vector<Setting>();
    if (document->kind != Kind::map)
        return Error(Errc::usage,
                     base::format("{}:{}: no map of keys and values", file, document->line));
    Reader reader(file);
    for (std::size_t i = 0; i + 1 < document->items.size(); i += 2)
        reader.add(document->items[i], document->items[i + 1]);
    return std::move(reader).finish();
}

} // namespace gpucontainer::config
