// The moving parts of a failed command's output (date and time, clock, attempt, duration, process id), each put out of
// the comparison by one and the same mark.
//
// Five passes in a fixed order, each over the text that the one before left, as if five regular expressions were
// substituted one after another (ASCII digits, letters, white space and word boundaries; letters in any case). Each pass
// stops at its own trigger and decides there without going back, so a pass is linear. No state, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace loopguard::failure {

using Cursor = const char*;

// U+FFFC in UTF-8: bytes that are no part of an ASCII word, so that the mark itself is a boundary.
constexpr std::string_view MARK = "\xEF\xBF\xBC";

inline bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
inline char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }
inline bool is_word(char c) noexcept { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || c == '_'; }
inline bool is_blank(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

// A text with its ends; every reader below takes and returns a position, `nullptr` for "does not match".
struct Text {
    Cursor begin;
    Cursor end;

    bool word_at(Cursor at) const noexcept { return at < end && is_word(*at); }
    bool starts_word(Cursor at) const noexcept { return at == begin || !is_word(at[-1]); }

    Cursor digits(Cursor at) const noexcept {
        while (at < end && is_digit(*at)) ++at;
        return at;
    }
    Cursor exactly(Cursor at, int count) const noexcept {
        for (int i = 0; i < count; ++i, ++at) {
            if (at >= end || !is_digit(*at)) return nullptr;
        }
        return at;
    }
    Cursor one(Cursor at, char c) const noexcept { return at != nullptr && at < end && lower(*at) == c ? at + 1 : nullptr; }
    // `hh:mm:ss` behind its first digits.
    Cursor minutes_seconds(Cursor at) const noexcept {
        for (int i = 0; i < 2 && at != nullptr; ++i) {
            at = one(at, ':');
            if (at != nullptr) at = exactly(at, 2);
        }
        return at;
    }
    // All digits of a fraction of one to six, or `nullptr`: a part of them would end inside a word.
    Cursor fraction(Cursor at) const noexcept {
        const Cursor point = one(at, '.');
        if (point == nullptr) return nullptr;
        const Cursor behind = digits(point);
        return behind > point && behind - point <= 6 ? behind : nullptr;
    }
};

inline Cursor match_offset(const Text& text, Cursor at) noexcept {
    if (const Cursor z = text.one(at, 'z')) {
        if (!text.word_at(z)) return z;
    }
    if (at < text.end && (*at == '+' || *at == '-')) {
        Cursor behind = text.exactly(at + 1, 2);
        behind = text.one(behind, ':');
        if (behind != nullptr) behind = text.exactly(behind, 2);
        if (behind != nullptr && !text.word_at(behind)) return behind;
    }
    return text.word_at(at) ? nullptr : at;
}

inline Cursor match_date_time(const Text& text, Cursor at) noexcept {
    at = text.exactly(at, 4);
    for (int i = 0; i < 2 && at != nullptr; ++i) {
        at = text.one(at, '-');
        if (at != nullptr) at = text.exactly(at, 2);
    }
    if (at == nullptr || at == text.end || (lower(*at) != 't' && *at != ' ')) return nullptr;
    at = text.exactly(at + 1, 2);
    at = text.minutes_seconds(at);
    if (at == nullptr) return nullptr;
    if (const Cursor behind = text.fraction(at)) {
        if (const Cursor offset = match_offset(text, behind)) return offset;
    }
    return match_offset(text, at);
}

inline Cursor match_clock(const Text& text, Cursor at) noexcept {
    const Cursor hours = text.digits(at);
    if (hours - at > 2) return nullptr;
    at = text.minutes_seconds(hours);
    if (at == nullptr) return nullptr;
    const Cursor behind = text.fraction(at);
    if (behind != nullptr && !text.word_at(behind)) return behind;
    return text.word_at(at) ? nullptr : at;
}

inline Cursor match_duration(const Text& text, Cursor at) noexcept {
    constexpr std::string_view UNITS[] = {"ns",     "us",      "ms",     "s",     "second",
                                          "seconds", "minute", "minutes", "hour", "hours"};
    at = text.digits(at);
    if (const Cursor point = text.one(at, '.')) {
        if (text.digits(point) > point) at = text.digits(point);
    }
    if (at < text.end && is_blank(*at)) ++at;
    char unit[8];
    std::size_t size = 0;
    for (; text.word_at(at); ++at) {
        if (size == sizeof unit) return nullptr;
        unit[size++] = lower(*at);
    }
    for (const std::string_view candidate : UNITS) {
        if (candidate == std::string_view(unit, size)) return at;
    }
    return nullptr;
}

// One of two whole words, then any of white space `#` `:` `=`, then digits.
inline Cursor match_counter(const Text& text, Cursor at, std::string_view first, std::string_view second) noexcept {
    Cursor behind = nullptr;
    for (const std::string_view word : {first, second}) {
        if (static_cast<std::size_t>(text.end - at) <= word.size()) continue;
        std::size_t i = 0;
        while (i < word.size() && lower(at[i]) == word[i]) ++i;
        if (i == word.size() && !text.word_at(at + i)) behind = at + i;
    }
    if (behind == nullptr) return nullptr;
    while (behind < text.end && (is_blank(*behind) || *behind == '#' || *behind == ':' || *behind == '=')) ++behind;
    const Cursor number = text.digits(behind);
    return number > behind ? number : nullptr;
}

// Replaces every match that starts at the beginning of a word whose first character `may_start` accepts; false if there
// is none.
template <typename MayStart, typename Match>
bool replace(std::string& text, std::string& scratch, MayStart may_start, Match match) {
    const Text view{text.data(), text.data() + text.size()};
    Cursor kept = view.begin;
    for (Cursor at = view.begin; at < view.end; ++at) {
        while (at < view.end && !may_start(*at)) ++at;
        if (at == view.end) break;
        if (!view.starts_word(at)) continue;
        const Cursor behind = match(view, at);
        if (behind == nullptr) continue;
        if (kept == view.begin) scratch.clear();
        scratch.append(kept, static_cast<std::size_t>(at - kept));
        scratch += MARK;
        kept = behind;
        at = behind - 1;
    }
    if (kept == view.begin) return false;
    scratch.append(kept, static_cast<std::size_t>(view.end - kept));
    text.swap(scratch);
    return true;
}

// What each pass is about, in their order; where a mask has the same kind, by its name.
inline constexpr const char* MOVING_KINDS[] = {"timestamp", "clock", "attempt", "duration", "process_id"};

// Returns a bit for each pass that found something.
inline uint32_t blank_moving_parts(std::string& text) {
    bool moving = false;
    for (const char c : text) moving |= is_digit(c);
    if (!moving) return 0;
    std::string scratch;
    const auto starts_with = [](char letter, char other) {
        return [=](char c) { return (c | 0x20) == letter || (c | 0x20) == other; };
    };
    uint32_t found = replace(text, scratch, is_digit, match_date_time) ? 1u : 0u;
    if (replace(text, scratch, is_digit, match_clock)) found |= 1u << 1;
    if (replace(text, scratch, starts_with('a', 'r'),
                [](const Text& view, Cursor at) { return match_counter(view, at, "attempt", "retry"); })) {
        found |= 1u << 2;
    }
    if (replace(text, scratch, is_digit, match_duration)) found |= 1u << 3;
    if (replace(text, scratch, starts_with('p', 'p'),
                [](const Text& view, Cursor at) { return match_counter(view, at, "pid", "ppid"); })) {
        found |= 1u << 4;
    }
    return found;
}

}  // namespace loopguard::failure
