// SPDX-License-Identifier: MIT
#include "import/document_parts.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "import/oci_document.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace gpucontainer::imports {
namespace {

using Json = nlohmann::json;

/// No runtime needs more of what is kept.
constexpr std::size_t most_kept = 65'536;

/// The bytes of a text or of a file, one after the other.
class Source {
public:
    explicit Source(std::string_view text) : part_(text.substr(0, longest_document))
    {
        is_too_long_ = part_.size() < text.size();
    }
    explicit Source(int fd) : fd_(fd), buffer_(std::size_t{64} << 10U) {}

    bool is_at_end()
    {
        if (part_.empty() && fd_ >= 0)
            fill();
        return part_.empty();
    }
    /// The parser takes a terminator for the end. Another character that is nowhere in JSON stands
    /// for it.
    char current()
    {
        has_terminator_ = has_terminator_ || part_.front() == '\0';
        return part_.front() == '\0' ? '\1' : part_.front();
    }
    void advance() { part_.remove_prefix(1); }

    int os_error() const { return os_error_; }
    bool is_too_long() const { return is_too_long_; }
    bool has_terminator() const { return has_terminator_; }

private:
    void fill()
    {
        ssize_t count = 0;
        do
            count = ::read(fd_, buffer_.data(), buffer_.size());
        while (count < 0 && errno == EINTR);
        if (count < 0)
            os_error_ = errno;
        total_ += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
        is_too_long_ = total_ > longest_document;
        if (count <= 0 || is_too_long_)
            fd_ = -1; // of the caller
        else
            part_ = {buffer_.data(), static_cast<std::size_t>(count)};
    }

    std::string_view part_;
    int fd_ = -1;
    std::vector<char> buffer_;
    std::size_t total_ = 0;
    int os_error_ = 0;
    bool is_too_long_ = false;
    bool has_terminator_ = false;
};

class SourceIterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = char;

    /// Null: the end.
    explicit SourceIterator(Source* source) : source_(source) {}
    char operator*() const { return source_->current(); }
    SourceIterator& operator++()
    {
        source_->advance();
        return *this;
    }
    /// One of the two is the end.
    bool operator==(const SourceIterator& /*end*/) const { return source_->is_at_end(); }
    bool operator!=(const SourceIterator& end) const { return !(*this == end); }

private:
    Source* source_;
};

/// Builds what is kept while the text is parsed.
class Sieve {
public:
    explicit Sieve(const WantedParts& wanted) : wanted_(wanted) {}

    Parts parts;

    // What nlohmann's parser calls. False ends it.
    bool null() { return add(nullptr); }
    bool boolean(bool value) { return add(value); }
    bool number_integer(Json::number_integer_t value) { return add(value); }
    bool number_unsigned(Json::number_unsigned_t value) { return add(value); }
    bool number_float(Json::number_float_t value, const std::string& /*text*/)
    {
        return add(value);
    }
    bool string(std::string& text)
    {
        return is_skipping() || !is_wanted_next() || add(std::move(text));
    }
    bool binary(Json::binary_t& /*value*/) { return false; }
    bool start_object(std::size_t /*size*/) { return open(Json::object()); }
    bool start_array(std::size_t /*size*/) { return open(Json::array()); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    bool key(std::string& text)
    {
        if (is_skipping())
            return true;
        const Level& level = open_.back();
        next_ = text.find_first_of("/*") == std::string::npos ? below(level.name, text) : "";
        is_next_wanted_ = is_wanted(next_);
        if (is_next_wanted_ && level.value->contains(text))
            return refuse(base::format("'{}' is in it twice", next_));
        key_ = std::move(text);
        return true;
    }
    bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                     const Json::exception& exception)
    {
        return refuse(base::format("no JSON document: {}", base::json_fault(exception.what())));
    }

private:
    /// An object or a list that is open, and kept.
    struct Level {
        Json* value;
        std::string name;
        bool keeps_elements; ///< For a list.
        std::size_t kept_before;
    };

    static std::string below(std::string_view name, std::string_view part)
    {
        return name.empty() ? std::string(part) : base::format("{}/{}", name, part);
    }

    bool is_wanted(std::string_view name) const
    {
        return !name.empty() && std::ranges::any_of(wanted_.names, [&](std::string_view one) {
            return one.starts_with(name) && (one.size() == name.size() || one[name.size()] == '/');
        });
    }

    bool is_skipping() const { return skipped_ != 0; }
    bool is_in_list() const { return !open_.empty() && open_.back().value->is_array(); }
    bool is_wanted_next() const
    {
        if (open_.empty())
            return true;
        return is_in_list() ? open_.back().keeps_elements : is_next_wanted_;
    }

    bool refuse(std::string why)
    {
        parts.fault = std::move(why);
        return false;
    }

    /// Where the next value is kept.
    Json& put(Json value)
    {
        Json* place = &parts.kept;
        if (!open_.empty()) {
            Json& parent = *open_.back().value;
            place = is_in_list() ? &parent.emplace_back() : &parent[key_];
        }
        return *place = std::move(value);
    }

    /// Takes the last element away again, unless it is one of those that are kept.
    bool settle(std::size_t kept_before)
    {
        if (is_in_list()) {
            Json& list = *open_.back().value;
            if (!wanted_.keeps(open_.back().name + "/*", list.back())) {
                list.erase(list.size() - 1);
                kept_ = kept_before;
            }
        }
        return kept_ <= most_kept || refuse(base::format("more than {} values count", most_kept));
    }

    bool add(Json value)
    {
        if (is_skipping() || !is_wanted_next())
            return true;
        const std::size_t before = kept_++;
        put(std::move(value));
        return settle(before);
    }

    bool open(Json empty)
    {
        if (++depth_ > deepest_document)
            return refuse(base::format("nested in more than {} levels", deepest_document));
        if (is_skipping() || !is_wanted_next()) {
            ++skipped_;
            return true;
        }
        const bool is_list = empty.is_array();
        std::string name;
        if (!open_.empty())
            name = is_in_list() ? open_.back().name + "/*" : next_;
        const std::size_t before = kept_++;
        Json& value = put(std::move(empty));
        const bool keeps = is_list && is_wanted(below(name, "*"));
        open_.push_back({&value, std::move(name), keeps, before});
        return true;
    }

    bool close()
    {
        --depth_;
        if (is_skipping()) {
            --skipped_;
            return true;
        }
        const std::size_t before = open_.back().kept_before;
        open_.pop_back();
        return settle(before);
    }

    const WantedParts& wanted_;
    std::vector<Level> open_;
    std::string key_;
    std::string next_; ///< Name of the value after the key.
    bool is_next_wanted_ = false;
    std::size_t depth_ = 0;
    std::size_t skipped_ = 0; ///< Levels that are open, and not kept.
    std::size_t kept_ = 0;
};

Parts read_from(Source& source, const WantedParts& wanted)
{
    Sieve sieve(wanted);
    Json::sax_parse(SourceIterator(&source), SourceIterator(nullptr), &sieve);
    if (source.is_too_long())
        sieve.parts.fault = base::format("larger than {} bytes", longest_document);
    else if (source.has_terminator())
        sieve.parts.fault = "no JSON document: a NUL is in it";
    return std::move(sieve.parts);
}

} // namespace

Parts read_parts(std::string_view text, const WantedParts& wanted)
{
    Source source(text);
    return read_from(source, wanted);
}

Result<Parts> read_parts(int fd, const WantedParts& wanted)
{
    struct stat status = {};
    if (::fstat(fd, &status) != 0)
        return Error::from_errno(errno, "read", Errc::usage);
    if (!S_ISREG(status.st_mode))
        return Error::from_errno(S_ISDIR(status.st_mode) ? EISDIR : EINVAL, "read", Errc::usage);
    Source source(fd);
    Parts parts = read_from(source, wanted);
    if (source.os_error() != 0)
        return Error::from_errno(source.os_error(), "read", Errc::usage);
    return parts;
}

} // namespace gpucontainer::imports
