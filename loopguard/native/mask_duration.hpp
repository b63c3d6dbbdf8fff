// Durations in text, and whether what stands round them says that they were measured.
#pragma once

#include "mask_text.hpp"

namespace loopguard {

// The end of a unit of time at `place` that no word goes on; a digit may follow (1m2s).
inline size_t unit_end(const TextView& text, size_t place) {
    const auto ends = [&text](size_t end) { return !is_letter(text.at(end)) && text.at(end) != '_'; };
    const auto is = [&](const auto& unit) { return text.has(place, unit) && ends(place + sizeof unit - 1); };
    switch (text.at(place)) {
        case 'n': return is("ns") ? place + 2 : place;
        case 'u': return is("us") ? place + 2 : place;
        case 0xC2: return is("\xC2\xB5s") ? place + 3 : place;
        case 0xCE: return is("\xCE\xBCs") ? place + 3 : place;
        case 'm':
            if (ends(place + 1)) return place + 1;
            if (is("ms")) return place + 2;
            if (is("min")) return place + 3;
            if (is("mins")) return place + 4;
            if (is("minute")) return place + 6;
            return is("minutes") ? place + 7 : place;
        case 's':
            if (ends(place + 1)) return place + 1;
            if (is("sec")) return place + 3;
            if (is("secs")) return place + 4;
            if (is("second")) return place + 6;
            return is("seconds") ? place + 7 : place;
        case 'h':
            if (ends(place + 1)) return place + 1;
            if (is("hr")) return place + 2;
            if (is("hrs")) return place + 3;
            if (is("hour")) return place + 4;
            return is("hours") ? place + 5 : place;
        default: return place;
    }
}

// The end of a duration with units, like 0.53s, 12 ms, 0m1.2s; `place` itself if there is none.
inline size_t duration_end(const TextView& text, size_t place) {
    size_t end = place;
    for (;;) {
        const size_t from = end == place || text.at(end) != ' ' ? end : end + 1;
        if (!is_digit(text.at(from))) return end;
        size_t unit = text.number_end(from);
        if (text.at(unit) == ' ') ++unit;
        const size_t behind = unit_end(text, unit);
        if (behind == unit) return end;
        end = behind;
    }
}

inline bool labels_duration(const TextView& text, size_t place, uint8_t previous) {
    if (!is_any(previous, " \t#:=\"")) return false;
    const size_t end = text.label_end(place);
    const size_t word = text.word_start(end);
    return text.is_one_of(word, end,
                           {"in", "took", "elapsed", "duration", "latency", "time", "real", "user", "sys", "after"}) ||
           (end - word > 3 && text.ends_before(end, "_ms"));
}

// ok  <tab> package <tab> 0.005s
inline bool ends_go_test(const TextView& text, size_t place, size_t end, uint8_t previous) {
    if (previous != '\t' || (end < text.size() && text.at(end) != '\n')) return false;
    const size_t line = text.line_start(place);
    return text.has(line, "ok ") || text.has(line, "FAIL\t");
}

}  // namespace loopguard
