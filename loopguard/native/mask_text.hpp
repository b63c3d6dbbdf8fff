// What the masks ask about a place in text: the word before it, the line it is in, whether a number, clock or date stands there.
#pragma once

#include <array>
#include <initializer_list>
#include <string_view>

#include "number.hpp"

namespace loopguard {

enum CharClass : uint8_t { kWordChar = 1, kHexChar = 2, kSeparatorChar = 4 };

constexpr std::array<uint8_t, 256> make_char_classes() {
    std::array<uint8_t, 256> table{};
    for (int c = '0'; c <= '9'; ++c) table[c] = kWordChar | kHexChar;
    for (int c = 'a'; c <= 'z'; ++c) table[c] = table[c - 32] = c <= 'f' ? kWordChar | kHexChar : kWordChar;
    table['_'] = kWordChar;
    for (const char c : {' ', '\t', '#', ':', '=', '"'}) table[static_cast<uint8_t>(c)] = kSeparatorChar;
    return table;
}

inline constexpr std::array<uint8_t, 256> kCharClass = make_char_classes();

inline bool is_letter(uint8_t c) { return static_cast<uint8_t>((c | 0x20) - 'a') < 26; }
inline bool is_word(uint8_t c) { return (kCharClass[c] & kWordChar) != 0; }
inline bool is_hex(uint8_t c) { return (kCharClass[c] & kHexChar) != 0; }
inline bool is_blank(uint8_t c) { return c == ' ' || c == '\t'; }
// What may stand between a label and its value: blanks, # : = and quotes.
inline bool is_separator(uint8_t c) { return (kCharClass[c] & kSeparatorChar) != 0; }

// Of eight characters those that are no hexadecimal digits, a bit each.
inline uint64_t not_hex(uint64_t word) {
    const uint64_t values = word ^ 0x3030303030303030u;
    const uint64_t not_digits = (values + 0x7676767676767676u) | values;
    const uint64_t letters = ((word | 0x2020202020202020u) ^ 0x6060606060606060u) & 0x7F7F7F7F7F7F7F7Fu;  // a is 1
    const uint64_t not_letters = ~(letters + 0x7F7F7F7F7F7F7F7Fu) | (letters + 0x7979797979797979u) | word;
    return not_digits & not_letters & 0x8080808080808080u;
}

// Of eight characters those that are no letters, digits or underscores, a bit each.
inline uint64_t not_word(uint64_t word) {
    const uint64_t values = word ^ 0x3030303030303030u;
    // Without their highest bits no sum spills into the next character.
    const uint64_t not_digits = ((values & 0x7F7F7F7F7F7F7F7Fu) + 0x7676767676767676u) | values;
    const uint64_t letters = ((word | 0x2020202020202020u) ^ 0x6060606060606060u) & 0x7F7F7F7F7F7F7F7Fu;  // a is 1
    const uint64_t not_letters = ~(letters + 0x7F7F7F7F7F7F7F7Fu) | (letters + 0x6565656565656565u) | word;
    const uint64_t not_underscores = ((word ^ 0x5F5F5F5F5F5F5F5Fu) & 0x7F7F7F7F7F7F7F7Fu) + 0x7F7F7F7F7F7F7F7Fu;
    return not_digits & not_letters & (not_underscores | word) & 0x8080808080808080u;
}

// Eight characters, digits where the pattern has zeros, and else the pattern's own.
class Pattern {
public:
    explicit constexpr Pattern(const char (&pattern)[9]) : word_(0), zeros_(0) {
        for (int i = 7; i >= 0; --i) {
            word_ = word_ << 8 | static_cast<uint8_t>(pattern[i]);
            zeros_ = zeros_ << 8 | (pattern[i] == '0' ? 0xFFu : 0u);
        }
    }
    bool matches(const uint8_t* text) const {
        const uint64_t values = load_eight(text) ^ word_;
        return (((values + 0x7676767676767676u) | values) & 0x8080808080808080u & zeros_) == 0 && (values & ~zeros_) == 0;
    }

private:
    uint64_t word_;
    uint64_t zeros_;
};

inline constexpr Pattern kDashedDate("0000-00-");
inline constexpr Pattern kSlashedDate("0000/00/");
inline constexpr Pattern kFullClock("00:00:00");

// Whether `c` is one of a few characters; unrolled, where a search would be a call.
template <size_t kSize>
inline bool is_any(uint8_t c, const char (&set)[kSize]) {
    bool found = false;
    for (size_t i = 0; i + 1 < kSize; ++i) found |= c == static_cast<uint8_t>(set[i]);
    return found;
}

constexpr uint32_t letter_set(const char* letters) {
    uint32_t set = 0;
    for (; *letters != 0; ++letters) set |= 1u << (*letters - 'a');
    return set;
}

constexpr uint32_t pack3(const char* name) {
    return static_cast<uint32_t>(static_cast<uint8_t>(name[0])) << 16 | static_cast<uint32_t>(static_cast<uint8_t>(name[1])) << 8 |
           static_cast<uint32_t>(static_cast<uint8_t>(name[2]));
}

constexpr uint64_t kEightBlanks = 0x2020202020202020u;

// Escapes take as much room here as in canonical text, their character is repeated.
constexpr size_t kTabSize = 2;
constexpr size_t kQuoteSize = 2;
constexpr size_t kBackslashSize = 2;

// Decoded text of one string, a zero before it and one behind it: questions need no bounds, since none is met by a zero. Up to
// 32 bytes before and 64 behind are there to be read. All questions take and give offsets.
class TextView {
public:
    TextView(const uint8_t* text, size_t size) : text_(text), size_(size) {}

    size_t size() const { return size_; }
    uint8_t at(size_t place) const { return text_[place]; }
    uint8_t before(size_t place) const { return *(text_ + place - 1); }
    const uint8_t* data() const { return text_; }

    // The sizes are known where these are called, so that a comparison is a few loads and no call.
    template <size_t kSize>
    bool has(size_t place, const char (&what)[kSize]) const {
        return std::memcmp(text_ + place, what, kSize - 1) == 0;
    }
    template <size_t kSize>
    bool ends_before(size_t place, const char (&what)[kSize]) const {
        return std::memcmp(text_ + place - (kSize - 1), what, kSize - 1) == 0;
    }
    size_t skip_digits(size_t place) const {
        unsigned count = 8;
        for (; count == 8; place += count) count = leading_digits(load_eight(text_ + place));
        return place;
    }
    size_t skip_hex(size_t place) const {
        for (;; place += 8) {
            const uint64_t others = not_hex(load_eight(text_ + place));
            if (others != 0) return place + static_cast<size_t>(__builtin_ctzll(others)) / 8;
        }
    }
    size_t skip_blanks(size_t place) const {
        while (load_eight(text_ + place) == kEightBlanks) place += 8;
        while (is_blank(at(place))) ++place;
        return place;
    }
    // Behind one blank or several, which white space masked would be one; not behind a tab alone, which stands between columns.
    size_t skip_gap(size_t place) const {
        const size_t end = skip_blanks(place);
        return at(place) == '\t' && end - place == kTabSize ? place : end;
    }
    // Back over blanks.
    size_t blanks_start(size_t place) const {
        while (is_blank(before(place))) --place;
        return place;
    }
    // How many digits stand at `place`; looks at no more than `most` + 1.
    size_t digits(size_t place, size_t most) const {
        size_t count = 0;
        while (count <= most && is_digit(at(place + count))) ++count;
        return count;
    }
    // Back over what may stand between a label and its value: blanks, # : = and quotes.
    size_t label_end(size_t place) const {
        while (is_separator(before(place))) --place;
        return place;
    }
    size_t skip_word(size_t place) const {
        for (;; place += 8) {
            const uint64_t others = not_word(load_eight(text_ + place));
            if (others != 0) return place + static_cast<size_t>(__builtin_ctzll(others)) / 8;
        }
    }
    size_t word_start(size_t end) const {
        for (;; end -= 8) {
            const uint64_t others = not_word(load_eight(text_ + end - 8));
            if (others != 0) return end - static_cast<size_t>(__builtin_clzll(others)) / 8;
        }
    }
    size_t line_start(size_t place) const {
        while (place > 0 && text_[place - 1] != '\n') --place;
        return place;
    }

    // The end of `digits[.digits]`.
    size_t number_end(size_t place) const {
        place = skip_digits(place);
        if (at(place) == '.' && is_digit(at(place + 1))) place = skip_digits(place + 1);
        return place;
    }

    // The end of a clock h:mm or h:mm:ss with at most nine fraction digits; `place` itself if there is none.
    size_t clock_end(size_t place, bool seconds_required) const {
        size_t end = place;
        bool seconds = kFullClock.matches(text_ + place) && !is_digit(at(place + 8));
        if (seconds) {
            end += 8;
        } else {
            const size_t hours = digits(place, 2);
            end += hours;
            if (hours < 1 || hours > 2 || at(end) != ':' || digits(end + 1, 2) != 2) return place;
            end += 3;
            seconds = at(end) == ':' && digits(end + 1, 2) == 2;
            if (seconds) end += 3;
        }
        if (seconds) {
            const size_t fraction = digits(end + 1, 9);
            if ((at(end) == '.' || at(end) == ',') && fraction >= 1 && fraction <= 9) end += 1 + fraction;
        } else if (seconds_required) {
            return place;
        }
        return at(end) == ':' || is_digit(at(end)) ? place : end;
    }

    // The end of a time zone with an optional blank before it; `place` itself if there is none.
    size_t zone_end(size_t place) const {
        const size_t start = at(place) == ' ' ? place + 1 : place;
        if (at(start) == 'Z' && !is_word(at(start + 1))) return start + 1;
        if ((has(start, "UTC") || has(start, "GMT")) && !is_word(at(start + 3))) return start + 3;
        if ((at(start) == '+' || at(start) == '-') && digits(start + 1, 4) == 4) return start + 5;
        if ((at(start) == '+' || at(start) == '-') && digits(start + 1, 2) == 2 && at(start + 3) == ':' &&
            digits(start + 4, 2) == 2) {
            return start + 6;
        }
        return place;
    }

    // The end of yyyy-mm-dd, yyyy/mm/dd or mm/dd/yyyy; `place` itself if there is none.
    size_t date_end(size_t place) const {
        if (kDashedDate.matches(text_ + place) || kSlashedDate.matches(text_ + place)) {
            return digits(place + 8, 2) == 2 ? place + 10 : place;
        }
        if (digits(place, 2) == 2 && at(place + 2) == '/' && digits(place + 3, 2) == 2 && at(place + 5) == '/' &&
                   digits(place + 6, 4) == 4) {
            return place + 10;
        }
        return place;
    }

    bool is_month(size_t place) const {
        switch (pack3(reinterpret_cast<const char*>(text_) + place)) {
            case pack3("Jan"): case pack3("Feb"): case pack3("Mar"): case pack3("Apr"): case pack3("May"): case pack3("Jun"):
            case pack3("Jul"): case pack3("Aug"): case pack3("Sep"): case pack3("Oct"): case pack3("Nov"): case pack3("Dec"):
                return true;
            default: return false;
        }
    }
    bool is_weekday(size_t place) const {
        switch (pack3(reinterpret_cast<const char*>(text_) + place)) {
            case pack3("Mon"): case pack3("Tue"): case pack3("Wed"): case pack3("Thu"): case pack3("Fri"): case pack3("Sat"):
            case pack3("Sun"):
                return true;
            default: return false;
        }
    }

private:
    const uint8_t* text_;
    size_t size_;
};

}  // namespace loopguard
