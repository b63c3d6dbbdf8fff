// Between canonical and decoded text, a character at a time: terminal control sequences, and where decoded bytes come from.
#pragma once

#include "mask_rules.hpp"

namespace loopguard {

// Behind a terminal control sequence whose escape character has been read.
inline const uint8_t* skip_control_sequence(const uint8_t* in, const uint8_t* end) {
    const auto peek = [&end](const uint8_t* at, const uint8_t*& behind) -> uint32_t {
        behind = at;
        return at < end ? next_point(behind) : 0;
    };
    const uint8_t* behind = in;
    uint32_t c = peek(in, behind);
    if (c == '[') {
        in = behind;
        for (c = peek(in, behind); c >= 0x20 && c < 0x40; c = peek(in, behind)) in = behind;
        return c >= 0x40 && c < 0x7F ? behind : in;
    }
    if (c == ']') {
        constexpr int kLongest = 4096;
        for (int i = 0; i < kLongest && in < end; ++i) {
            c = peek(in, behind);
            if (c == 7) return behind;
            if (c == 0x1B) return peek(behind, in) == '\\' ? in : behind;
            if (c == '\n') break;
            in = behind;
        }
        return in;
    }
    while (c >= 0x20 && c < 0x30) {
        in = behind;
        c = peek(in, behind);
    }
    return c >= 0x30 && c < 0x7F ? behind : in;
}

// One escape \r, \b or \u of text that is cleaned; `out` moves, back too. Returns where to go on.
inline const uint8_t* clean_escape(const uint8_t* in, const uint8_t* end, const uint8_t* start, uint8_t*& out) {
    const uint32_t point = next_point(in);
    if (point == 0x1B) return skip_control_sequence(in, end);
    if (point == '\r') {
        while (end - in >= 2 && in[0] == '\\' && in[1] == 'r') in += 2;
        const bool line_end = in == end || (in[0] == '\\' && in[1] == 'n');
        // A reader sees what was written over it.
        if (!line_end) {
            while (out > start && out[-1] != '\n') --out;
        }
        return in;
    }
    if (point == '\b') {
        if (out > start && out[-1] != '\n') {
            --out;
            while (out > start && (*out & 0xC0) == 0x80) --out;
        }
        return in;
    }
    out = put_utf8(out, point);
    return in;
}

// What a block stopped at: a character that has to be escaped, or a run of bytes that may stay.
inline uint8_t* put_special(const uint8_t*& in, const uint8_t* end, uint8_t* out) {
    const uint8_t c = *in++;
    if (c == 0xED && *in >= 0xA0) {
        const uint32_t unit = 0xD000u | ((in[0] & 63u) << 6) | (in[1] & 63u);
        in += 2;
        return put_escaped_unit(out, unit);
    }
    if (c >= 0x80) {
        *out++ = c;
        while (in < end && *in >= 0x80 && *in != 0xED) *out++ = *in++;
        return out;
    }
    if (c == '"' || c == '\\') {
        out[0] = '\\';
        out[1] = c;
        return out + 2;
    }
    const char letter = "uuuuuuuubtnufruuuuuuuuuuuuuuuuuu"[c];
    if (letter == 'u') return put_escaped_unit(out, c);
    out[0] = '\\';
    out[1] = static_cast<uint8_t>(letter);
    return out + 2;
}

inline uint8_t* put_placeholder(uint8_t* out, const char* placeholder, uint32_t number) {
    const size_t size = std::strlen(placeholder);
    std::memcpy(out, placeholder, size);
    out += size;
    if (number == 0) return out;
    char digits[12];
    size_t count = 0;
    for (; number != 0; number /= 10) digits[count++] = static_cast<char>('0' + number % 10);
    while (count > 0) *out++ = static_cast<uint8_t>(digits[--count]);
    *out++ = '>';
    return out;
}

constexpr size_t kLongestPlaceholder = 32;

// For each byte of a string's canonical text the place in the input that it comes from, and one entry for the end. `input` is
// the string's text without quotes, known to be right.
inline void trace_canonical(const uint8_t* input, const uint8_t* end, std::vector<size_t>& origins) {
    uint8_t written[16];
    uint32_t flags = 0;
    origins.clear();
    for (const uint8_t* in = input; in < end;) {
        const size_t from = static_cast<size_t>(in - input);
        size_t size = 1;
        if (*in == '\\' && kSimpleEscape[in[1]]) {
            in += 2;
            size = 2;
        } else if (*in == '\\') {
            const Cursor next = rewrite_escape(in, end, written, flags);
            size = static_cast<size_t>(next.out - written);
            in = next.in;
        } else {
            ++in;
        }
        origins.insert(origins.end(), size, from);
    }
    origins.push_back(static_cast<size_t>(end - input));
}

// Decodes as masks do, with the place in canonical text that each byte comes from, and one entry for the end. What cleaning
// took away is appended to `cut` as places in canonical text.
inline size_t trace_decoded(const uint8_t* text, const uint8_t* end, uint8_t* out, bool clean, std::vector<size_t>& origins,
                            std::vector<Edit>& cut) {
    uint8_t* const start = out;
    origins.clear();
    for (const uint8_t* in = text; in < end;) {
        const uint8_t* const from = in;
        uint8_t* const before = out;
        if (clean && *in == '\\' && (in[1] == 'r' || in[1] == 'b' || in[1] == 'u')) {
            in = clean_escape(in, end, start, out);
        } else {
            out = put_utf8(out, next_point(in));
        }
        if (out > before) {
            origins.insert(origins.end(), static_cast<size_t>(out - before), static_cast<size_t>(from - text));
            continue;
        }
        size_t first = static_cast<size_t>(from - text);
        if (out < before) {
            first = origins[static_cast<size_t>(out - start)];
            origins.resize(static_cast<size_t>(out - start));
        }
        while (!cut.empty() && cut.back().start >= first) cut.pop_back();
        cut.push_back({first, static_cast<size_t>(in - text), kAnsi, 0, nullptr, false});
    }
    origins.push_back(static_cast<size_t>(end - text));
    return static_cast<size_t>(out - start);
}

}  // namespace loopguard
