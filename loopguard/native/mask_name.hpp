// What names say: a key, or the label before a value.
#pragma once

#include "mask_text.hpp"

namespace loopguard {

// A name's letters and digits in lower case; nothing of one that is too long.
struct PlainName {
    char text[32];
    size_t size = 0;

    PlainName(const uint8_t* name, size_t name_size) {
        if (name_size > sizeof text) return;
        for (size_t i = 0; i < name_size; ++i) {
            if (name[i] == '_' || name[i] == '-') continue;
            text[size++] = static_cast<char>(is_letter(name[i]) ? name[i] | 0x20 : name[i]);
        }
    }
    bool is(std::initializer_list<std::string_view> words) const {
        const std::string_view plain(text, size);
        for (const std::string_view word : words) {
            if (plain == word) return true;
        }
        return false;
    }
    bool ends_with(std::string_view word) const {
        return size >= word.size() && std::memcmp(text + size - word.size(), word.data(), word.size()) == 0;
    }
    bool starts_with(std::string_view word) const {
        return size >= word.size() && std::memcmp(text, word.data(), word.size()) == 0;
    }
    // What was set, not measured: it changes what happens.
    bool sets_a_limit() const {
        for (const std::string_view word : {"timeout", "ttl", "interval", "delay", "deadline", "expir", "offset", "limit", "retryafter"}) {
            if (has(word)) return true;
        }
        return false;
    }
    // A place in a list that is read in pieces.
    bool is_cursor() const {
        for (const std::string_view word : {"cursor", "pagetoken", "nexttoken", "continuationtoken", "paginationtoken", "startingafter",
                                            "endingbefore", "offset", "marker"}) {
            if (ends_with(word)) return true;
        }
        return false;
    }
    bool has(std::string_view word) const { return std::string_view(text, size).find(word) != std::string_view::npos; }
};

constexpr size_t kShortestTechnicalId = 4;  // etag

// Whether a key or a label names an id that is made anew for each request: its letters end with one of these.
inline bool names_technical_id(const uint8_t* name, size_t size) {
    char letters[32];
    size_t count = 0;
    for (size_t i = size; i-- > 0 && count < sizeof letters;) {
        if (name[i] != '_' && name[i] != '-') letters[count++] = static_cast<char>(is_letter(name[i]) ? name[i] | 0x20 : name[i]);
    }
    const std::string_view reversed(letters, count);
    for (const std::string_view ending : {"ditseuqer", "diecart", "dinaps", "dinoitalerroc"}) {
        if (reversed.substr(0, ending.size()) == ending) return true;
    }
    return reversed == "ecnon" || reversed == "gate";
}

// execution_time_ms and the like.
inline bool names_measured_ms(const uint8_t* name, size_t size) {
    return size > 3 && std::memcmp(name + size - 3, "_ms", 3) == 0 && !PlainName(name, size).sets_a_limit();
}

}  // namespace loopguard
