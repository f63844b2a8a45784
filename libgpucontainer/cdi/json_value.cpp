// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "base/json_text.hpp"
#include "cdi/value.hpp"

#include <nlohmann/json.hpp>

#include <iterator>
#include <optional>
#include <utility>

namespace gpucontainer::cdi {
namespace {

using Json = nlohmann::json;

/// Reads a text, and counts its lines on the way.
class CountingIterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountingIterator(const char* at, std::size_t* line) : at_(at), line_(line) {}
    reference operator*() const { return *at_; }
    CountingIterator& operator++()
    {
        *line_ += *at_ == '\n' ? 1 : 0;
        ++at_;
        return *this;
    }
    bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
    bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

private:
    const char* at_;
    std::size_t* line_;
};

/// Builds the values while the text is parsed. Its depth is limited before.
class Builder {
public:
    explicit Builder(const std::size_t& line) : line_(line) {}

    std::optional<Value> root;
    std::string fault;
    std::size_t fault_line = 0;

    // What nlohmann's parser calls. False ends it.
    bool null() { return add({Value::Type::null}); }
    bool boolean(bool value) { return add({Value::Type::boolean, 0, value ? "true" : "false"}); }
    bool number_integer(Json::number_integer_t value)
    {
        return add({Value::Type::number, 0, std::to_string(value)});
    }
    bool number_unsigned(Json::number_unsigned_t value)
    {
        return add({Value::Type::number, 0, std::to_string(value)});
    }
    bool number_float(Json::number_float_t /*value*/, const std::string& text)
    {
        return add({Value::Type::number, 0, text});
    }
    bool string(std::string& text) { return add({Value::Type::text, 0, std::move(text)}); }
    bool binary(Json::binary_t& /*value*/) { return false; }
    bool start_object(std::size_t /*size*/) { return open(Value::Type::map); }
    bool start_array(std::size_t /*size*/) { return open(Value::Type::list); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    bool key(std::string& text)
    {
        key_line_ = line_;
        return add({Value::Type::text, 0, std::move(text)});
    }
    bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                     const Json::exception& exception)
    {
        return refuse(base::json_fault(exception.what()));
    }

private:
    bool refuse(std::string why)
    {
        fault = std::move(why);
        fault_line = line_;
        return false;
    }

    bool add(Value value)
    {
        if (++count_ > most_values)
            return refuse(base::format("more than {} values", most_values));
        // Behind a number, the parser has read one character more.
        const bool in_map = !open_.empty() && open_.back().type == Value::Type::map;
        value.line = in_map ? key_line_ : line_;
        if (open_.empty())
            root = std::move(value);
        else
            open_.back().items.push_back(std::move(value));
        return true;
    }

    bool open(Value::Type type)
    {
        open_.push_back({type, line_});
        return true;
    }

    bool close()
    {
        Value done = std::move(open_.back());
        const std::size_t line = done.line;
        open_.pop_back();
        if (!add(std::move(done)))
            return false;
        (open_.empty() ? *root : open_.back().items.back()).line = line;
        return true;
    }

    const std::size_t& line_;
    std::size_t key_line_ = 0;
    std::size_t count_ = 0;
    std::vector<Value> open_;
};

Error refused(std::size_t line, const std::string& why)
{
    return {Errc::usage, line == 0 ? why : base::format("line {}: {}", line, why)};
}

} // namespace

Result<Value> parse_json_value(std::string_view text)
{
    if (text.size() > largest_document)
        return refused(0, base::format("larger than {} bytes", largest_document));
    // The parser stops at a terminator, and passes over what comes after it.
    if (text.find('\0') != std::string_view::npos)
        return refused(0, "no JSON document: a NUL is in it");
    if (base::json_depth(text) > deepest_document)
        return refused(0, base::format("nested in more than {} levels", deepest_document));
    std::size_t line = 1;
    Builder builder(line);
    const bool parsed =
        Json::sax_parse(CountingIterator(text.data(), &line),
                        CountingIterator(text.data() + text.size(), &line), &builder);
    if (!parsed || !builder.root)
        return refused(builder.fault_line, builder.fault.empty()
                                               ? "no JSON document"
                                               : "no JSON document: " + builder.fault);
    return *std::move(builder.root);
}

} // namespace gpucontainer::cdi
