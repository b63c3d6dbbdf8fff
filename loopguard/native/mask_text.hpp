// What the masks ask about a place in text: the word before it, the line it is in, whether a number, clock or date stands there.
#pragma once

#include <initializer_list>
#include <string_view>

#include "text.hpp"

namespace loopguard {

inline bool is_letter(uint8_t c) { return static_cast<uint8_t>((c | 0x20) - 'a') < 26; }
inline bool is_word(uint8_t c) { return is_letter(c) || is_digit(c) || c == '_'; }
inline bool is_hex(uint8_t c) { return is_digit(c) || static_cast<uint8_t>((c | 0x20) - 'a') < 6; }
inline bool is_blank(uint8_t c) { return c == ' ' || c == '\t'; }

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

// Decoded text of one string. All questions take and give offsets; reading outside gives 0.
class TextView {
public:
    TextView(const uint8_t* text, size_t size) : text_(text), size_(size) {}

    size_t size() const { return size_; }
    uint8_t at(size_t place) const { return place < size_ ? text_[place] : 0; }
    uint8_t before(size_t place) const { return place == 0 ? 0 : text_[place - 1]; }
    const uint8_t* data() const { return text_; }

    // The sizes are known where these are called, so that a comparison is a few loads and no call.
    template <size_t kSize>
    bool has(size_t place, const char (&what)[kSize]) const {
        return place + kSize - 1 <= size_ && std::memcmp(text_ + place, what, kSize - 1) == 0;
    }
    template <size_t kSize>
    bool ends_before(size_t place, const char (&what)[kSize]) const {
        return place >= kSize - 1 && std::memcmp(text_ + place - (kSize - 1), what, kSize - 1) == 0;
    }
    // Whether one of the words stands at [start, end), in any case; the words are lower-case.
    bool is_one_of(size_t start, size_t end, std::initializer_list<std::string_view> words) const {
        for (const std::string_view word : words) {
            if (word.size() != end - start || lower(text_[start]) != static_cast<uint8_t>(word[0])) continue;
            size_t same = 0;
            while (same < word.size() && lower(text_[start + same]) == static_cast<uint8_t>(word[same])) ++same;
            if (same == word.size()) return true;
        }
        return false;
    }

    size_t skip_digits(size_t place) const {
        while (is_digit(at(place))) ++place;
        return place;
    }
    size_t skip_blanks(size_t place) const {
        while (is_blank(at(place))) ++place;
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
        while (place > 0 && (is_blank(text_[place - 1]) || text_[place - 1] == '#' || text_[place - 1] == ':' ||
                             text_[place - 1] == '=' || text_[place - 1] == '"')) {
            --place;
        }
        return place;
    }
    size_t word_start(size_t end) const {
        while (end > 0 && is_word(text_[end - 1])) --end;
        return end;
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
        const size_t hours = digits(place, 2);
        size_t end = place + hours;
        if (hours < 1 || hours > 2 || at(end) != ':' || digits(end + 1, 2) != 2) return place;
        end += 3;
        if (at(end) == ':' && digits(end + 1, 2) == 2) {
            end += 3;
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
        const size_t first = digits(place, 4);
        if (first == 4) {
            const uint8_t mark = at(place + 4);
            if ((mark == '-' || mark == '/') && digits(place + 5, 2) == 2 && at(place + 7) == mark &&
                digits(place + 8, 2) == 2) {
                return place + 10;
            }
        } else if (first == 2 && at(place + 2) == '/' && digits(place + 3, 2) == 2 && at(place + 5) == '/' &&
                   digits(place + 6, 4) == 4) {
            return place + 10;
        }
        return place;
    }

    bool is_month(size_t place) const {
        if (place + 3 > size_) return false;
        switch (pack3(reinterpret_cast<const char*>(text_) + place)) {
            case pack3("Jan"): case pack3("Feb"): case pack3("Mar"): case pack3("Apr"): case pack3("May"): case pack3("Jun"):
            case pack3("Jul"): case pack3("Aug"): case pack3("Sep"): case pack3("Oct"): case pack3("Nov"): case pack3("Dec"):
                return true;
            default: return false;
        }
    }
    bool is_weekday(size_t place) const {
        if (place + 3 > size_) return false;
        switch (pack3(reinterpret_cast<const char*>(text_) + place)) {
            case pack3("Mon"): case pack3("Tue"): case pack3("Wed"): case pack3("Thu"): case pack3("Fri"): case pack3("Sat"):
            case pack3("Sun"):
                return true;
            default: return false;
        }
    }

private:
    static uint8_t lower(uint8_t c) { return is_letter(c) ? c | 0x20 : c; }

    const uint8_t* text_;
    size_t size_;
};

}  // namespace loopguard
