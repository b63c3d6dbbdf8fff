// What the facts about calls and outcomes are made with: a 64-bit hash, and words.
//
// The hash guards nothing: equal means "looks the same to a reader". Snapshots carry it, so their version rises when it
// changes. One pass over the bytes each; no state, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "facts_json.hpp"

namespace loopguard::facts {

constexpr std::uint64_t K0 = 0xA0761D6478BD642FULL, K1 = 0xE7037ED1A0B428DBULL, K2 = 0x8EBC6AF09C88C6E3ULL;

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// `TAIL_AGAIN` reads the last eight bytes whole, some of them again: quicker for long texts, another number.
template <bool TAIL_AGAIN = false>
inline std::uint64_t hash(View text, std::uint64_t seed = 0) noexcept {
    const char* at = text.data();
    std::size_t left = text.size();
    std::uint64_t state = seed ^ mix(K0, left + 1), word;
    if (left >= 32) {
        // Two chains, since each step of one waits for its multiplication.
        std::uint64_t other = state ^ K2, second;
        for (; left >= 16; at += 16, left -= 16) {
            std::memcpy(&word, at, 8);
            std::memcpy(&second, at + 8, 8);
            state = mix(state ^ word, K1);
            other = mix(other ^ second, K0);
        }
        state ^= other;
    }
    for (; left >= 8; at += 8, left -= 8) {
        std::memcpy(&word, at, 8);
        state = mix(state ^ word, K1);
    }
    word = 0;
    if (TAIL_AGAIN && left != 0 && text.size() >= 8) std::memcpy(&word, at + left - 8, 8);
    else if (left != 0) std::memcpy(&word, at, left);
    return mix(state ^ word, K2);
}

// One hash for two, in their order.
inline std::uint64_t pair(std::uint64_t one, std::uint64_t other) noexcept { return mix(mix(one ^ K0, K1) ^ other, K2); }

inline std::uint64_t hash_bytes(const char* data, std::size_t size) noexcept { return hash({data, size}, K1); }

// What a byte is, looked up: bytes beyond ASCII belong to words, since a name in another script is one.
enum ByteClass : std::uint8_t { DIGIT = 1, UPPER = 2, LETTER = 4, WORD = 8, BLANK = 16 };

struct ByteTable {
    std::uint8_t classes[256] = {};
    char lowered[256] = {};
    constexpr ByteTable() {
        for (int i = 0; i < 256; ++i) {
            const bool upper = i >= 'A' && i <= 'Z', digit = i >= '0' && i <= '9', letter = upper || (i >= 'a' && i <= 'z');
            const bool blank = i == ' ' || (i >= '\t' && i <= '\r');
            classes[i] = static_cast<std::uint8_t>(
                (digit ? DIGIT : 0) | (upper ? UPPER : 0) | (letter ? LETTER : 0) | (letter || digit || i == '_' || i >= 128 ? WORD : 0) |
                (blank ? BLANK : 0));
            lowered[i] = static_cast<char>(upper ? i | 0x20 : i);
        }
    }
};
inline constexpr ByteTable BYTES;

inline std::uint8_t class_of(char c) noexcept { return BYTES.classes[static_cast<unsigned char>(c)]; }
inline char lower(char c) noexcept { return BYTES.lowered[static_cast<unsigned char>(c)]; }
inline bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) noexcept { return (class_of(c) & LETTER) != 0; }
inline bool is_word(char c) noexcept { return (class_of(c) & WORD) != 0; }
inline bool is_blank(char c) noexcept { return (class_of(c) & BLANK) != 0; }

inline View trimmed(View text) noexcept {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

inline bool starts(View text, View with) noexcept { return text.substr(0, with.size()) == with; }
inline bool ends(View text, View with) noexcept {
    return text.size() >= with.size() && text.substr(text.size() - with.size()) == with;
}
// Looks for a part by its rarest letter, which `rare` is the place of; quick where that letter hardly comes.
inline bool has_by(View text, View part, std::size_t rare) noexcept {
    for (std::size_t at = rare; at < text.size(); ++at) {
        const auto* found = static_cast<const char*>(std::memchr(text.data() + at, part[rare], text.size() - at));
        if (found == nullptr) return false;
        at = static_cast<std::size_t>(found - text.data());
        if (starts(text.substr(at - rare), part)) return true;
    }
    return false;
}
inline bool has(View text, View part) noexcept { return text.find(part) != View::npos; }

template <std::size_t N>
inline bool is_one_of(View word, const View (&list)[N]) noexcept {
    for (const View one : list) {
        if (word == one) return true;
    }
    return false;
}

template <std::size_t N>
inline bool has_one_of(View text, const View (&list)[N]) noexcept {
    for (const View one : list) {
        if (has(text, one)) return true;
    }
    return false;
}

inline void lower_into(View text, std::string& out) {
    out.resize(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) out[i] = lower(text[i]);
}

// An opaque word is a random identifier by its looks: letters and digits in turn, where a name has them apart.
// Returns the end of the word at `at`; `opaque` says what it looks like.
inline std::size_t word_end(View text, std::size_t at, bool& opaque) noexcept {
    constexpr std::size_t SHORTEST_HEX = 8, TURNS_HEX = 2, SHORTEST = 12, TURNS = 5;
    const std::size_t begin = at;
    std::size_t turns = 0;
    bool hex = true;
    std::uint8_t before = 0;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        const std::uint8_t kind = class_of(c) & (DIGIT | LETTER);
        if (kind == 0 && c != '_' && c != '-') break;
        turns += (kind ^ before) == (DIGIT | LETTER);
        hex = hex && kind != 0 && (kind == DIGIT || (c | 0x20) <= 'f');
        before = kind;
    }
    const std::size_t size = at - begin;
    opaque = hex ? size >= SHORTEST_HEX && turns >= TURNS_HEX : size >= SHORTEST && turns >= TURNS;
    return at;
}

// The words of a text: letters, digits, underscores, and an apostrophe between two of them.
class Words {
public:
    explicit Words(View text) noexcept : text_(text) {}
    bool next() noexcept {
        while (at_ < text_.size() && !is_word(text_[at_])) ++at_;
        const std::size_t begin = at_;
        while (at_ < text_.size() && (is_word(text_[at_]) || is_apostrophe())) ++at_;
        word = text_.substr(begin, at_ - begin);
        return !word.empty();
    }
    View word;

private:
    bool is_apostrophe() const noexcept {
        return text_[at_] == '\'' && at_ + 1 < text_.size() && is_letter(text_[at_ + 1]) && at_ > 0 && is_letter(text_[at_ - 1]);
    }
    View text_;
    std::size_t at_ = 0;
};

}  // namespace loopguard::facts
