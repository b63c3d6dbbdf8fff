// Text that masks read, as long as canonical text: an escape becomes its character, repeated. Terminal control is taken out.
#pragma once

#include "mask_rules.hpp"

namespace loopguard {

// The character that a short escape stands for; 0 for any other letter.
constexpr std::array<uint8_t, 256> make_escaped_characters() {
    std::array<uint8_t, 256> table{};
    constexpr std::string_view letters = "bfnrt\"\\";
    constexpr std::string_view characters = "\b\f\n\r\t\"\\";
    for (size_t i = 0; i < letters.size(); ++i) table[static_cast<uint8_t>(letters[i])] = static_cast<uint8_t>(characters[i]);
    return table;
}

inline constexpr std::array<uint8_t, 256> kEscapedCharacter = make_escaped_characters();

// A terminal control sequence: where it ends, and what it does to the line.
struct ControlSequence {
    const uint8_t* end;
    uint8_t action;  // 'K' erases, 'G' goes to a column, 0 does neither
    uint32_t argument;
};

// The size of a control sequence that sets a colour, with its escape character, in canonical text; most are such. 0: another.
inline size_t colour_size(const uint8_t* in, const uint8_t* end) {
    constexpr char kStart[] = "\\u001b[";
    constexpr size_t kLongest = 16;
    if (end - in < static_cast<std::ptrdiff_t>(kLongest) || std::memcmp(in, kStart, 7) != 0) return 0;
    size_t size = 7;
    while (size < kLongest - 1 && (is_digit(in[size]) || in[size] == ';')) ++size;
    return in[size] == 'm' ? size + 1 : 0;
}

// Behind the escape character, in canonical text.
inline ControlSequence read_control_sequence(const uint8_t* in, const uint8_t* end) {
    const auto peek = [&end](const uint8_t* at, const uint8_t*& behind) -> uint32_t {
        behind = at;
        return at < end ? next_point(behind) : 0;
    };
    const uint8_t* behind = in;
    uint32_t c = peek(in, behind);
    if (c == '[') {
        in = behind;
        uint32_t argument = 0;
        for (c = peek(in, behind); c >= 0x20 && c < 0x40; c = peek(in, behind)) {
            if (c >= '0' && c <= '9' && argument < 10000) argument = argument * 10 + (c - '0');
            in = behind;
        }
        if (c < 0x40 || c >= 0x7F) return {in, 0, 0};
        return {behind, static_cast<uint8_t>(c == 'K' || c == 'G' ? c : 0), argument};
    }
    if (c == ']') {
        constexpr int kLongest = 4096;
        for (int i = 0; i < kLongest && in < end; ++i) {
            c = peek(in, behind);
            if (c == 7) return {behind, 0, 0};
            if (c == 0x1B) {
                const uint8_t* const escape = behind;
                return {peek(escape, behind) == '\\' ? behind : escape, 0, 0};
            }
            if (c == '\n') break;
            in = behind;
        }
        return {in, 0, 0};
    }
    while (c >= 0x20 && c < 0x30) {
        in = behind;
        c = peek(in, behind);
    }
    return {c >= 0x30 && c < 0x7F ? behind : in, 0, 0};
}

// What a reader sees of text that moves about in its lines: carriage returns, backspaces and two control sequences move or
// erase, and what is written over is gone.
class Screen {
public:
    // Replays canonical text; `cells` are what is left of it, in order.
    void play(const uint8_t* text, const uint8_t* end, std::vector<Cell>& cells) {
        cells.clear();
        for (const uint8_t* in = text; in < end;) {
            const uint8_t* const from = in;
            const uint32_t point = next_point(in);
            if (point == 0x1B) {
                const ControlSequence sequence = read_control_sequence(in, end);
                in = sequence.end;
                if (sequence.action == 'K') erase(cells, sequence.argument);
                if (sequence.action == 'G') column_ = sequence.argument == 0 ? 0 : sequence.argument - 1;
            } else if (point == '\r') {
                column_ = 0;
            } else if (point == '\b') {
                column_ -= column_ > 0;
            } else {
                put(cells, {static_cast<size_t>(from - text), static_cast<size_t>(in - from)}, point == '\n');
            }
        }
    }

private:
    // Beyond the line's end there is nothing to stand on: text goes on where the line ends.
    void put(std::vector<Cell>& cells, Cell cell, bool line_end) {
        if (line_end || line_ + column_ >= cells.size()) {
            cells.push_back(cell);
            column_ = cells.size() - line_;
        } else {
            cells[line_ + column_++] = cell;
        }
        if (!line_end) return;
        line_ = cells.size();
        column_ = 0;
    }
    void erase(std::vector<Cell>& cells, uint32_t what) const {
        if (what == 0) cells.resize(std::min(line_ + column_, cells.size()));
        if (what == 2) cells.resize(line_);
    }

    size_t line_ = 0;    // where the line begins
    size_t column_ = 0;  // in it
};

// One escape \r, \b or \u of text that is cleaned: moves behind it, and behind all that goes with it. False if it changes what
// stands before it, which is for `Screen` to replay.
inline bool cut_escape(const uint8_t*& in, const uint8_t* end, bool line_empty) {
    const uint32_t point = next_point(in);
    if (point == 0x1B) {
        const ControlSequence sequence = read_control_sequence(in, end);
        in = sequence.end;
        return sequence.action == 0 || line_empty || (sequence.action == 'K' && sequence.argument == 0);
    }
    if (line_empty) return true;
    if (point == '\b') return false;
    while (end - in >= 2 && in[0] == '\\' && in[1] == 'r') in += 2;
    return in == end || (in[0] == '\\' && in[1] == 'n');
}

// The six characters of a \u escape: a control character, or what a lone surrogate is in UTF-8.
inline uint8_t* put_repeated_unit(uint8_t* out, uint32_t unit) {
    std::memset(out, unit < 0x20 ? static_cast<int>(unit) : 0x80, 6);
    if (unit >= 0x20) put_utf8(out, unit);
    return out + 6;
}

// What stands for a kind, as wide as one load.
struct Placeholder {
    char text[16];
    size_t size;
};

constexpr std::array<Placeholder, 16> make_placeholders() {
    std::array<Placeholder, 16> table{};
    for (size_t i = 0; i < table.size(); ++i) {
        for (const char* c = kMaskKinds[i].placeholder; *c != 0; ++c) table[i].text[table[i].size++] = *c;
    }
    return table;
}

inline constexpr std::array<Placeholder, 16> kPlaceholders = make_placeholders();

// Writes up to kLongestPlaceholder bytes.
inline uint8_t* put_placeholder(uint8_t* out, uint32_t kind, uint32_t number) {
    const Placeholder& placeholder = kPlaceholders[static_cast<size_t>(__builtin_ctz(kind))];
    std::memcpy(out, placeholder.text, sizeof placeholder.text);
    out += placeholder.size;
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

}  // namespace loopguard
