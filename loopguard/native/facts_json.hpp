// A walk over JSON with blanks between its tokens: values, members, strings.
//
// Takes JSON that was checked before, by the canonical writer or by `skip_json`; everything is bounded by the text's end all the
// same. No state, any thread.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace loopguard::facts {

using View = std::string_view;

enum class Json : int { ABSENT, STRING, NUMBER, BOOLEAN, NOTHING, OBJECT, ARRAY };

inline bool is_gap(char c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

inline std::size_t skip_gap(View text, std::size_t at) noexcept {
    while (at < text.size() && is_gap(text[at])) ++at;
    return at;
}

inline Json kind_of(View value) noexcept {
    if (value.empty()) return Json::ABSENT;
    switch (value.front()) {
        case '"': return Json::STRING;
        case '{': return Json::OBJECT;
        case '[': return Json::ARRAY;
        case 't': case 'f': return Json::BOOLEAN;
        case 'n': return Json::NOTHING;
        default: return Json::NUMBER;
    }
}

// `at` is the opening quote; returns the place behind the closing one.
inline std::size_t skip_string(View text, std::size_t at) noexcept {
    for (++at; at < text.size(); ++at) {
        at = text.find('"', at);
        if (at == View::npos) return text.size();
        std::size_t before = at;
        while (text[before - 1] == '\\') --before;  // stops at the opening quote at the latest
        if (((at - before) & 1) == 0) return at + 1;
    }
    return text.size();
}

inline std::size_t skip_value(View text, std::size_t at) noexcept {
    if (at >= text.size()) return text.size();
    if (text[at] == '"') return skip_string(text, at);
    if (text[at] != '{' && text[at] != '[') {
        while (at < text.size() && text[at] != ',' && text[at] != '}' && text[at] != ']' && !is_gap(text[at])) ++at;
        return at;
    }
    std::size_t depth = 0;
    while (at < text.size()) {
        const char c = text[at];
        if (c == '"') {
            at = skip_string(text, at);
            continue;
        }
        ++at;
        if (c == '{' || c == '[') ++depth;
        if ((c == '}' || c == ']') && --depth == 0) return at;
    }
    return text.size();
}

// Walks the members of an object or the items of an array; those have an empty key. Keys come with their quotes.
class Members {
public:
    explicit Members(View value) noexcept : text_(value), at_(skip_gap(value, 0)) {
        kind_ = kind_of(value.substr(at_ < value.size() ? at_ : value.size()));
        ++at_;
    }
    bool next() noexcept {
        if (kind_ != Json::OBJECT && kind_ != Json::ARRAY) return false;
        at_ = skip_gap(text_, at_);
        if (at_ < text_.size() && text_[at_] == ',') at_ = skip_gap(text_, at_ + 1);
        if (at_ >= text_.size() || text_[at_] == '}' || text_[at_] == ']') return false;
        if (kind_ == Json::OBJECT) {
            const std::size_t begin = at_;
            at_ = skip_string(text_, at_);
            key = text_.substr(begin, at_ - begin);
            at_ = skip_gap(text_, skip_gap(text_, at_) + 1);
        }
        if (at_ >= text_.size()) return false;
        const std::size_t begin = at_;
        at_ = skip_value(text_, at_);
        value = text_.substr(begin, at_ - begin);
        return true;
    }
    View key, value;

private:
    View text_;
    std::size_t at_;
    Json kind_;
};

// What stands between a string's quotes, escapes as they are.
inline View inner(View quoted) noexcept { return quoted.size() < 2 ? View() : quoted.substr(1, quoted.size() - 2); }

inline int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    const char low = static_cast<char>(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : 0;
}

inline unsigned unit_at(View text, std::size_t at) noexcept {
    unsigned unit = 0;
    for (std::size_t i = 0; i < 4; ++i) unit = unit * 16 + static_cast<unsigned>(at + i < text.size() ? hex_digit(text[at + i]) : 0);
    return unit;
}

inline void append_utf8(unsigned code, std::string& out) {
    const auto tail = [&out, code](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xC0 | code >> 6);
        tail(0);
    } else if (code < 0x10000) {
        out += static_cast<char>(0xE0 | code >> 12);
        tail(6);
        tail(0);
    } else {
        out += static_cast<char>(0xF0 | code >> 18);
        tail(12);
        tail(6);
        tail(0);
    }
}

// Appends the value of a string with its quotes; lone surrogates stay as three bytes each.
inline void append_decoded(View quoted, std::string& out) {
    const View text = inner(quoted);
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t escape = text.find('\\', at);
        if (escape == View::npos || escape + 1 >= text.size()) {
            out.append(text.substr(at));
            return;
        }
        out.append(text.substr(at, escape - at));
        at = escape + 2;
        switch (text[escape + 1]) {
            case 'n': out += '\n'; break;
            case 't': out += '\t'; break;
            case 'r': out += '\r'; break;
            case 'b': out += '\b'; break;
            case 'f': out += '\f'; break;
            case 'u': {
                unsigned code = unit_at(text, at);
                at += 4;
                if (code >= 0xD800 && code < 0xDC00 && at + 6 <= text.size() && text[at] == '\\' && text[at + 1] == 'u') {
                    const unsigned low = unit_at(text, at + 2);
                    if (low >= 0xDC00 && low < 0xE000) {
                        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                        at += 6;
                    }
                }
                append_utf8(code, out);
                break;
            }
            default: out += text[escape + 1];
        }
    }
}

// Checks a JSON value inside a text, so that it may be walked. Returns whether it is one; `at` then stands behind it.
inline bool skip_json(View text, std::size_t& at, int depth) noexcept {
    at = skip_gap(text, at);
    if (at == text.size() || depth == 0) return false;
    if (text[at] == '"') {
        for (++at; at < text.size() && text[at] != '"'; ++at) {
            if (text[at] == '\\' && ++at == text.size()) return false;
        }
        return at++ < text.size();
    }
    if (text[at] != '{' && text[at] != '[') {
        const View rest = text.substr(at);
        for (const View word : {View("true"), View("false"), View("null")}) {
            if (rest.substr(0, word.size()) == word) return (at += word.size()) > 0;
        }
        if (text[at] == '<') {
            // What a mask left of a number.
            at = text.find('>', at);
            return at != View::npos && ++at > 0;
        }
        const std::size_t begin = at;
        while (at < text.size() && (std::strchr("+-.eE", text[at]) != nullptr || (text[at] >= '0' && text[at] <= '9')) && text[at] != '\0') ++at;
        return at > begin;
    }
    const bool object = text[at] == '{';
    const char close = object ? '}' : ']';
    at = skip_gap(text, at + 1);
    if (at < text.size() && text[at] == close) return ++at > 0;
    while (true) {
        if (object) {
            at = skip_gap(text, at);
            if (at == text.size() || text[at] != '"' || !skip_json(text, at, depth - 1)) return false;
            at = skip_gap(text, at);
            if (at == text.size() || text[at++] != ':') return false;
        }
        if (!skip_json(text, at, depth - 1)) return false;
        at = skip_gap(text, at);
        if (at == text.size() || (text[at] != ',' && text[at] != close)) return false;
        if (text[at++] == close) return true;
    }
}

}  // namespace loopguard::facts
