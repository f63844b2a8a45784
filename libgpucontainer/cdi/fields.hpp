// SPDX-License-Identifier: MIT
#pragma once

#include "cdi/value.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::cdi {

/// What is wrong with a document.
struct Fault {
    std::size_t line = 0; ///< 0: unknown.
    std::string where;    ///< "devices[0].containerEdits.mounts[3]"; maybe "".
    std::string text;     ///< "hostPath is missing"

    /// "WHERE: TEXT"
    std::string message() const { return where.empty() ? text : where + ": " + text; }
};

/// The first ones; a document of garbage has thousands.
class Faults {
public:
    void add(std::size_t line, const std::string& where, std::string text);
    bool empty() const { return all_.empty(); }
    std::vector<Fault> take() { return std::move(all_); }

private:
    std::vector<Fault> all_;
};

/// Text of a document for a message: short, in quotes, without control characters.
std::string shown(std::string_view text);

/// The members of a map. Reports values of a wrong type, and at the end members that nobody asked
/// for. A null counts as a member that is missing.
class Fields {
public:
    Fields(const Value& value, std::string where, Faults& faults);
    Fields(const Fields&) = delete;
    Fields& operator=(const Fields&) = delete;
    ~Fields();

    std::size_t line() const { return line_; }
    const std::string& where() const { return where_; }
    void complain(std::string text, std::size_t line = 0) const;

    std::string text(const char* name);
    /// The same, which must not be missing or empty.
    std::string needed_text(const char* name);
    std::vector<std::string> texts(const char* name);
    std::optional<std::int64_t> number(const char* name, std::int64_t least, std::int64_t most);
    std::vector<std::int64_t> numbers(const char* name, std::int64_t least, std::int64_t most);
    bool flag(const char* name);
    std::map<std::string, std::string> map_of_texts(const char* name);
    /// False if it is missing.
    bool has(const char* name) const;

    /// Calls `read` for the member, a map.
    void map(const char* name, const std::function<void(Fields& fields)>& read);
    /// Calls `read` for each element of a list of maps.
    void list(const char* name, const std::function<void(Fields& fields)>& read);

private:
    struct Member {
        const Value* value;
        bool known = false;
    };
    const Value* find(const char* name, Value::Type type);
    std::optional<std::int64_t> number_in(const Value& value, const std::string& what,
                                          std::int64_t least, std::int64_t most) const;
    std::string place(const char* name) const;

    std::size_t line_;
    std::string where_;
    Faults& faults_;
    std::map<std::string_view, Member> members_;
};

} // namespace gpucontainer::cdi
