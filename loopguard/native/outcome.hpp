// What outcome rules read of a tool result: its shape, its text, single members.
//
// Takes canonical JSON only: no blanks between tokens, no key twice, one spelling of each string, at most 256 containers
// inside one another. So nothing is checked again, and a name is found by comparing bytes. No state, any thread.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace loopguard::outcome {

using Cursor = const char*;

struct Span {
    Cursor begin = nullptr;
    Cursor end = nullptr;
    Span() = default;
    Span(Cursor from, Cursor to) noexcept : begin(from), end(to) {}
    std::size_t size() const noexcept { return static_cast<std::size_t>(end - begin); }
};

enum Kind : int { ABSENT, STRING, NUMBER, BOOLEAN, NULLS, OBJECT, ARRAY };

inline Kind kind_of(Span value) noexcept {
    if (value.begin == value.end) return ABSENT;
    switch (*value.begin) {
        case '"': return STRING;
        case '{': return OBJECT;
        case '[': return ARRAY;
        case 't': case 'f': return BOOLEAN;
        case 'n': return NULLS;
        default: return NUMBER;
    }
}

// `at` is the opening quote; returns the position behind the closing one.
inline Cursor skip_string(Cursor at, Cursor end) noexcept {
    for (++at; at < end; ++at) {
        at = static_cast<Cursor>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
        if (at == nullptr) return end;
        Cursor before = at;
        while (before[-1] == '\\') --before;  // stops at the opening quote at the latest
        if (((at - before) & 1) == 0) return at + 1;
    }
    return end;
}

inline Cursor skip_value(Cursor at, Cursor end) noexcept {
    if (at == end) return end;
    if (*at == '"') return skip_string(at, end);
    if (*at != '{' && *at != '[') {
        while (at < end && *at != ',' && *at != '}' && *at != ']') ++at;
        return at;
    }
    std::size_t depth = 0;
    while (at < end) {
        const char c = *at;
        if (c == '"') {
            at = skip_string(at, end);
            continue;
        }
        ++at;
        if (c == '{' || c == '[') ++depth;
        if ((c == '}' || c == ']') && --depth == 0) return at;
    }
    return end;
}

// Walks the members of an object or the items of an array (those have an empty key).
class Members {
public:
    explicit Members(Span whole) noexcept : at_(whole.begin), end_(whole.end), kind_(kind_of(whole)) {
        if (kind_ == OBJECT || kind_ == ARRAY) ++at_;
    }

    Kind kind() const noexcept { return kind_; }

    bool next() noexcept {
        if (kind_ != OBJECT && kind_ != ARRAY) return false;
        if (at_ < end_ && *at_ == ',') ++at_;
        if (at_ >= end_ || *at_ == '}' || *at_ == ']') return false;
        if (kind_ == OBJECT) {
            key.begin = at_;
            key.end = skip_string(at_, end_);
            at_ = key.end + 1;
        }
        value.begin = at_;
        at_ = value.end = skip_value(at_, end_);
        return true;
    }

    Span key;
    Span value;

private:
    Cursor at_;
    Cursor end_;
    Kind kind_;
};

// `name` is a whole key with its quotes, in canonical form too.
inline bool is_name(Span key, std::string_view name) noexcept {
    return key.size() == name.size() && std::memcmp(key.begin, name.data(), name.size()) == 0;
}

// Whether the text of a key occurs anywhere, as a key or not.
inline bool mentions(Span whole, std::string_view name) noexcept {
    return std::string_view(whole.begin, whole.size()).find(name) != std::string_view::npos;
}

// Spans of the named members of an object; what is missing stays empty.
inline void pick(Span object, const std::vector<std::string_view>& names, std::vector<Span>& found) {
    found.assign(names.size(), Span{});
    Members members(object);
    if (members.kind() != OBJECT) return;
    while (members.next()) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (is_name(members.key, names[i])) {
                found[i] = members.value;
                break;
            }
        }
    }
}

inline unsigned unit_at(Cursor digits) noexcept {
    unsigned unit = 0;
    for (int i = 0; i < 4; ++i) {
        const char c = digits[i];
        unit = unit * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return unit;
}

inline bool is_space(unsigned point) noexcept {
    return (point >= 9 && point <= 13) || point == 0x20 || point == 0x85 || point == 0xA0 || point == 0x1680 ||
           (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 || point == 0x202F ||
           point == 0x205F || point == 0x3000 || point == 0xFEFF;
}

// Length of the white space (escaped or not) that starts at `at`, 0 if there is none.
inline std::size_t space_length(Cursor at, Cursor end) noexcept {
    const auto byte = [&](int i) { return static_cast<unsigned>(static_cast<unsigned char>(at[i])); };
    if (at == end) return 0;
    if (*at == ' ') return 1;
    if (*at == '\\') {
        if (end - at < 2) return 0;
        if (at[1] == 'n' || at[1] == 't' || at[1] == 'r' || at[1] == 'f') return 2;
        return at[1] == 'u' && end - at >= 6 && is_space(unit_at(at + 2)) ? 6 : 0;
    }
    if (byte(0) == 0xC2 && end - at >= 2) return is_space(byte(1)) ? 2 : 0;
    if (byte(0) >= 0xE1 && byte(0) <= 0xEF && end - at >= 3) {
        return is_space((byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F)) ? 3 : 0;
    }
    return 0;
}

// The inside of a string literal without white space (Unicode White_Space, U+FEFF) at both ends; linear.
inline Span trim(Span inside) noexcept {
    while (const std::size_t length = space_length(inside.begin, inside.end)) inside.begin += length;
    while (inside.begin < inside.end) {
        std::size_t length = 0;
        for (const std::size_t candidate : {1, 2, 3, 6}) {
            if (inside.size() < candidate) break;
            const Cursor at = inside.end - candidate;
            if (space_length(at, inside.end) != candidate) continue;
            if (*at == '\\') {
                // A backslash that is itself escaped starts nothing.
                Cursor before = at;
                while (before > inside.begin && before[-1] == '\\') --before;
                if (((at - before) & 1) != 0) continue;
            }
            length = candidate;
            break;
        }
        if (length == 0) break;
        inside.end -= length;
    }
    return inside;
}

// Decodes the inside of a string literal, run by run; a lone surrogate becomes its three bytes.
inline void decode(Span inside, std::string& text) {
    Cursor at = inside.begin;
    text.reserve(inside.size());
    while (at < inside.end) {
        const auto left = static_cast<std::size_t>(inside.end - at);
        const auto* escape = static_cast<Cursor>(std::memchr(at, '\\', left));
        if (escape == nullptr) {
            text.append(at, left);
            return;
        }
        text.append(at, static_cast<std::size_t>(escape - at));
        at = escape + 2;
        switch (escape[1]) {
            case 'b': text += '\b'; break;
            case 'f': text += '\f'; break;
            case 'n': text += '\n'; break;
            case 'r': text += '\r'; break;
            case 't': text += '\t'; break;
            case 'u': {
                const unsigned unit = unit_at(at);
                at += 4;
                if (unit < 0x80) {
                    text += static_cast<char>(unit);
                } else {
                    text += static_cast<char>(0xE0 | unit >> 12);
                    text += static_cast<char>(0x80 | (unit >> 6 & 0x3F));
                    text += static_cast<char>(0x80 | (unit & 0x3F));
                }
                break;
            }
            default: text += escape[1];
        }
    }
}

struct Result {
    bool shaped = false;
    bool is_error = false;
    Span details;      // an object, or empty
    Span content;
    std::string text;  // a string literal with its quotes
};

inline void append_texts(Span content, std::string& text) {
    Members parts(content);
    bool first = true;
    text = '"';
    while (parts.next()) {
        if (kind_of(parts.value) != OBJECT) continue;
        Span own;
        bool typed = false;
        Members members(parts.value);
        while (members.next()) {
            if (kind_of(members.value) != STRING) continue;
            if (is_name(members.key, "\"type\"")) typed = true;
            else if (is_name(members.key, "\"text\"")) own = members.value;
        }
        if (!typed || own.begin == nullptr) continue;
        if (!first) text += "\\n";
        first = false;
        text.append(own.begin + 1, own.size() - 2);
    }
    const Span inside = trim({text.data() + 1, text.data() + text.size()});
    text.resize(static_cast<std::size_t>(inside.end - text.data()));
    text.erase(1, static_cast<std::size_t>(inside.begin - text.data()) - 1);
    text += '"';
}

// Reads a result in the shape of MCP or OpenClaw: `content`, `details` or `structuredContent`, `isError`, `_meta`.
// Of another one only `is_error` is set.
inline void read_result(Span whole, Result& result) {
    Span details, structured;
    bool other = false;
    Members members(whole);
    if (members.kind() != OBJECT) return;
    while (members.next()) {
        if (is_name(members.key, "\"content\"")) result.content = members.value;
        else if (is_name(members.key, "\"details\"")) details = members.value;
        else if (is_name(members.key, "\"structuredContent\"")) structured = members.value;
        else if (is_name(members.key, "\"isError\"")) result.is_error = *members.value.begin == 't';
        else if (!is_name(members.key, "\"_meta\"")) other = true;
    }
    if (result.content.begin != nullptr) {
        result.shaped = kind_of(result.content) == ARRAY;
    } else {
        result.shaped = details.begin != nullptr || structured.begin != nullptr || !other;
    }
    if (!result.shaped) return;
    if (kind_of(details) == OBJECT) result.details = details;
    else if (kind_of(structured) == OBJECT) result.details = structured;
    append_texts(result.content, result.text);
}

struct Typed {
    std::string_view name;
    Kind kind;
};

// Leaves out, at every depth, the member `key` of an object that has all members in `all` and one of `any`, each of its
// kind. What it writes is canonical again.
class Pruner {
public:
    Typed key;
    std::vector<Typed> all;
    std::vector<Typed> any;
    std::string out;
    bool pruned = false;

    void write(Span value) {
        const Kind kind = kind_of(value);
        if (kind == ARRAY) write_array(value);
        else if (kind == OBJECT) write_object(value);
        else out.append(value.begin, value.size());
    }

private:
    void write_array(Span value) {
        Members items(value);
        out += '[';
        for (bool first = true; items.next(); first = false) {
            if (!first) out += ',';
            write(items.value);
        }
        out += ']';
    }

    void write_object(Span value) {
        const std::size_t start = out.size();
        std::size_t named_from = 0, named_to = 0;
        std::vector<Kind> kinds(1 + all.size() + any.size(), ABSENT);
        Members members(value);
        while (members.next()) {
            const std::size_t from = out.size();
            out += ',';
            out.append(members.key.begin, members.key.size());
            out += ':';
            write(members.value);
            const Kind kind = kind_of(members.value);
            if (is_name(members.key, key.name)) {
                named_from = from;
                named_to = out.size();
                kinds[0] = kind;
            }
            for (std::size_t i = 0; i < all.size(); ++i) {
                if (is_name(members.key, all[i].name)) kinds[1 + i] = kind;
            }
            for (std::size_t i = 0; i < any.size(); ++i) {
                if (is_name(members.key, any[i].name)) kinds[1 + all.size() + i] = kind;
            }
        }
        if (applies(kinds)) {
            out.erase(named_from, named_to - named_from);
            pruned = true;
        }
        if (out.size() == start) out += '{';
        else out[start] = '{';  // where the first member's comma stands
        out += '}';
    }

    bool applies(const std::vector<Kind>& kinds) const noexcept {
        if (kinds[0] != key.kind) return false;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (kinds[1 + i] != all[i].kind) return false;
        }
        for (std::size_t i = 0; i < any.size(); ++i) {
            if (kinds[1 + all.size() + i] == any[i].kind) return true;
        }
        return any.empty();
    }
};

}  // namespace loopguard::outcome
