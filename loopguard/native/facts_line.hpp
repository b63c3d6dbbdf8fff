// A line without what is of no matter when two are compared: its digits, its opaque words, what a harness says of itself.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "facts_text.hpp"

namespace loopguard::facts {

// Marks, in the highest bit of their bytes, digits among eight bytes; the first mark is exact, later ones may be none.
inline std::uint64_t mark_digits(std::uint64_t word) noexcept {
    constexpr std::uint64_t ONES = 0x0101010101010101ULL;
    const std::uint64_t turned = word ^ (ONES * 0x30);
    const std::uint64_t others = (((turned & (ONES * 0x7F)) + ONES * 6) | turned) & (ONES * 0xF0);
    return (others - ONES) & ~others & (ONES * 0x80);
}

// Where the next digit is, or the end.
inline std::size_t find_digit(View line, std::size_t at) noexcept {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (; at + 8 <= line.size(); at += 8) {
        std::uint64_t word;
        std::memcpy(&word, line.data() + at, 8);
        const std::uint64_t marks = mark_digits(word);
        if (marks != 0) return at + static_cast<std::size_t>(__builtin_ctzll(marks) >> 3);
    }
#endif
    while (at < line.size() && !is_digit(line[at])) ++at;
    return at;
}

inline bool is_name(char c) noexcept { return (class_of(c) & (DIGIT | LETTER)) != 0 || c == '_' || c == '-'; }

// A line with `#` for each run of digits and each opaque word, the first digit being at `digit`; it lives in `out`, which
// only grows, since growing fills.
inline View without_digits(View line, std::size_t digit, std::string& out) {
    if (out.size() < line.size() + 8) out.resize(line.size() + 8);
    char* to = out.data();
    std::size_t at = 0;
    for (; digit < line.size(); digit = find_digit(line, at)) {
        std::memcpy(to, line.data() + at, digit - at);
        to += digit - at;
        at = digit;
        while (at < line.size() && is_digit(line[at])) ++at;
        const bool alone = (digit == 0 || !is_name(line[digit - 1])) && (at == line.size() || !is_name(line[at]));
        if (alone) {
            *to++ = '#';
            continue;
        }
        // What stands in the word before its first digit was taken as it is.
        std::size_t begin = digit;
        while (begin > 0 && is_name(line[begin - 1]) && !is_digit(line[begin - 1])) --begin;
        bool opaque = false;
        const std::size_t end = word_end(line, begin, opaque);
        if (opaque) {
            to -= digit - begin;
            *to++ = '#';
            at = end;
            continue;
        }
        bool before = false;
        for (at = digit; at < end; ++at) {
            const bool number = is_digit(line[at]);
            *to = number ? '#' : line[at];
            to += !(number & before);
            before = number;
        }
    }
    std::memcpy(to, line.data() + at, line.size() - at);
    to += line.size() - at;
    return {out.data(), static_cast<std::size_t>(to - out.data())};
}

// Words beside which an identifier is what matters: it leads on, or stands for a state.
constexpr View MEANT[] = {
    "cursor", "Cursor", "next", "Next", "page", "Page", "continu", "Continu", "EvaluatedKey", "sha", "commit", "digest", "hash", "checksum", "revision",
};

// A short text with `#` for each opaque word; returns whether there was any that says nothing.
inline bool without_opaque(View line, std::string& out) {
    out.clear();
    bool any = false;
    for (std::size_t at = 0; at < line.size();) {
        if (!(class_of(line[at]) & (DIGIT | LETTER))) {
            out += line[at++];
            continue;
        }
        bool opaque = false;
        const std::size_t end = word_end(line, at, opaque);
        if (opaque) out += '#';
        else out.append(line.substr(at, end - at));
        any = any || opaque;
        at = end;
    }
    return any && !has_one_of(line, MEANT);
}

constexpr View SPILLING[] = {"saved to", "saved in", "saved at", "written to", "stored in", "stored at", "full output", "spilled to"};

// A line without what a harness says of its own doing: under which temporary name it put an output, how long ago it was asked.
inline View steady_line(View line, std::string& out) {
    if (line.size() >= 500) return line;
    const std::size_t ago = line.find(" ago");
    if (ago != View::npos && ago > 0) {
        const std::size_t unit = line.rfind(' ', ago - 1), number = unit == View::npos || unit == 0 ? View::npos : line.rfind(' ', unit - 1);
        const View name = unit == View::npos ? View() : line.substr(unit + 1, ago - unit - 1);
        const bool time = starts(name, "second") || starts(name, "minute") || starts(name, "hour") || starts(name, "day");
        if (time && is_digit(line[unit - 1])) {
            out.assign(line.substr(0, number == View::npos ? 0 : number));
            out += line.substr(unit);
            return out;
        }
    }
    const std::size_t path = line.find("/tmp/");
    if (path == View::npos || !has_one_of(line, SPILLING)) return line;
    std::size_t end = path;
    while (end < line.size() && !is_blank(line[end]) && line[end] != '"' && line[end] != '\'' && line[end] != ',' && line[end] != ')') ++end;
    out.assign(line.substr(0, path));
    out += "/tmp/";
    out += line.substr(end);
    return out;
}

// Whether a text is a clock's answer and nothing else: such a one says only that time passes.
inline bool is_clock(View text) noexcept {
    if (text.size() < 8 || text.size() > 40) return false;
    std::size_t clocks = 0;
    for (std::size_t at = 0; at + 5 < text.size(); ++at) clocks += text[at] == ':' && is_digit(text[at + 1]) && is_digit(text[at + 2]) && text[at + 3] == ':';
    if (clocks != 1) return false;
    for (Words words(text); words.next();) {
        std::size_t letters = 0;
        for (const char c : words.word) letters += !is_digit(c);
        if (letters > 4) return false;
    }
    return true;
}

}  // namespace loopguard::facts
