// String text, a character at a time: escapes, UTF-8, and back from canonical text. The vector loops come here for what is rare.
#pragma once

#include <array>

#include "arena.hpp"

namespace loopguard {

constexpr std::array<uint8_t, 256> make_simple_escapes() {
    std::array<uint8_t, 256> table{};
    for (const char c : {'b', 'f', 'n', 'r', 't', '"', '\\'}) table[static_cast<uint8_t>(c)] = 1;
    return table;
}

// Escapes that are canonical as they stand.
inline constexpr std::array<uint8_t, 256> kSimpleEscape = make_simple_escapes();

constexpr char kHex[] = "0123456789abcdef";

inline bool is_digit(uint8_t c) { return static_cast<uint8_t>(c - '0') < 10; }

inline bool is_space(uint8_t c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

inline int hex_value(uint8_t c) {
    if (is_digit(c)) return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The four hexadecimal digits of a \u escape as a number, -1 if they are not that. The caller has checked that they are there.
inline int code_unit(const uint8_t* digits) {
    int unit = 0;
    for (int i = 0; i < 4; ++i) {
        const int value = hex_value(digits[i]);
        if (value < 0) return -1;
        unit = unit * 16 + value;
    }
    return unit;
}

inline uint8_t* put_utf8(uint8_t* out, uint32_t point) {
    if (point < 0x80) {
        *out++ = static_cast<uint8_t>(point);
    } else if (point < 0x800) {
        *out++ = static_cast<uint8_t>(0xC0 | (point >> 6));
        *out++ = static_cast<uint8_t>(0x80 | (point & 63));
    } else if (point < 0x10000) {
        *out++ = static_cast<uint8_t>(0xE0 | (point >> 12));
        *out++ = static_cast<uint8_t>(0x80 | ((point >> 6) & 63));
        *out++ = static_cast<uint8_t>(0x80 | (point & 63));
    } else {
        *out++ = static_cast<uint8_t>(0xF0 | (point >> 18));
        *out++ = static_cast<uint8_t>(0x80 | ((point >> 12) & 63));
        *out++ = static_cast<uint8_t>(0x80 | ((point >> 6) & 63));
        *out++ = static_cast<uint8_t>(0x80 | (point & 63));
    }
    return out;
}

inline uint8_t* put_escaped_unit(uint8_t* out, uint32_t unit) {
    out[0] = '\\';
    out[1] = 'u';
    out[2] = kHex[unit >> 12];
    out[3] = kHex[(unit >> 8) & 15];
    out[4] = kHex[(unit >> 4) & 15];
    out[5] = kHex[unit & 15];
    return out + 6;
}

// Copies a run of multi-byte characters, checking them as RFC 3629 has it (no overlong forms, no surrogates, up to U+10FFFF).
inline Cursor copy_utf8(const uint8_t* in, const uint8_t* end, uint8_t* out) {
    const auto continues = [](uint8_t c) { return (c & 0xC0) == 0x80; };
    do {
        const uint8_t lead = *in;
        const size_t left = static_cast<size_t>(end - in);
        if (lead >= 0xC2 && lead <= 0xDF) {
            if (left < 2 || !continues(in[1])) return kNotJson;
            std::memcpy(out, in, 2);
            in += 2;
            out += 2;
        } else if ((lead & 0xF0) == 0xE0) {
            if (left < 3 || !continues(in[1]) || !continues(in[2])) return kNotJson;
            if ((lead == 0xE0 && in[1] < 0xA0) || (lead == 0xED && in[1] >= 0xA0)) return kNotJson;
            std::memcpy(out, in, 3);
            in += 3;
            out += 3;
        } else if (lead >= 0xF0 && lead <= 0xF4) {
            if (left < 4 || !continues(in[1]) || !continues(in[2]) || !continues(in[3])) return kNotJson;
            if ((lead == 0xF0 && in[1] < 0x90) || (lead == 0xF4 && in[1] >= 0x90)) return kNotJson;
            std::memcpy(out, in, 4);
            in += 4;
            out += 4;
        } else {
            return kNotJson;
        }
    } while (in < end && *in >= 0x80);
    return {in, out};
}

// Behind the backslash of a control character that has no shorter form, in lower case.
inline bool is_canonical_control(const uint8_t* in, const uint8_t* end) {
    if (end - in < 5 || std::memcmp(in, "u00", 3) != 0 || (in[3] | 1) != '1') return false;
    const int low = hex_value(in[4]);
    if (low < 0 || (in[4] & 0xE0) == 0x40) return false;
    return in[3] == '1' || (0x3700 >> low & 1) == 0;
}

// Rewrites one escape that is not canonical as it stands; `in` is at the backslash.
inline Cursor rewrite_escape(const uint8_t* in, const uint8_t* end, uint8_t* out, uint32_t& flags) {
    if (end - in < 2) return kNotJson;
    if (in[1] == '/') {
        *out++ = '/';
        return {in + 2, out};
    }
    if (in[1] != 'u' || end - in < 6) return kNotJson;
    const int unit = code_unit(in + 2);
    if (unit < 0) return kNotJson;
    in += 6;
    uint32_t point = static_cast<uint32_t>(unit);
    if (point >= 0xD800 && point < 0xE000) {
        int low = -1;
        if (point < 0xDC00 && end - in >= 6 && in[0] == '\\' && in[1] == 'u') low = code_unit(in + 2);
        if (low < 0xDC00 || low >= 0xE000) {
            flags |= kSurrogate;
            return {in, put_escaped_unit(out, point)};
        }
        point = 0x10000 + ((point - 0xD800) << 10) + (static_cast<uint32_t>(low) - 0xDC00);
        return {in + 6, put_utf8(out, point)};
    }
    if (point < 0x20) {
        const char letter = "uuuuuuuubtnufruuuuuuuuuuuuuuuuuu"[point];
        if (letter == 'u') return {in, put_escaped_unit(out, point)};
        out[0] = '\\';
        out[1] = static_cast<uint8_t>(letter);
        return {in, out + 2};
    }
    if (point == '"' || point == '\\') *out++ = '\\';
    return {in, put_utf8(out, point)};
}

// One code point (a lone surrogate counts as one) of canonical text; moves `in` behind it.
inline uint32_t next_point(const uint8_t*& in) {
    const uint8_t c = *in++;
    if (c == '\\') {
        const uint8_t letter = *in++;
        switch (letter) {
            case 'b': return 8;
            case 't': return 9;
            case 'n': return 10;
            case 'f': return 12;
            case 'r': return 13;
            case 'u': in += 4; return static_cast<uint32_t>(code_unit(in - 4));
            default: return letter;
        }
    }
    if (c < 0x80) return c;
    if (c < 0xE0) {
        in += 1;
        return ((c & 31u) << 6) | (in[-1] & 63u);
    }
    if (c < 0xF0) {
        in += 2;
        return ((c & 15u) << 12) | ((in[-2] & 63u) << 6) | (in[-1] & 63u);
    }
    in += 3;
    return ((c & 7u) << 18) | ((in[-3] & 63u) << 12) | ((in[-2] & 63u) << 6) | (in[-1] & 63u);
}

// Canonical text without its escapes, as UTF-8 where a lone surrogate has its three-byte form; returns the size. Never
// longer than the text, so it may be done in place.
inline size_t decode_text(const uint8_t* text, size_t size, uint8_t* out) {
    const uint8_t* const end = text + size;
    uint8_t* const start = out;
    while (text < end) out = put_utf8(out, next_point(text));
    return static_cast<size_t>(out - start);
}

}  // namespace loopguard
