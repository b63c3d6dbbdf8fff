// Durations in text, and whether what stands round them says that they were measured.
#pragma once

#include "mask_moment.hpp"
#include "mask_name.hpp"

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

// A duration with units, like 0.53s, 12 ms, 0m1.2s.
struct Duration {
    size_t end;    // the place where it was looked for, if there is none
    bool precise;  // it has a fraction or a unit below the second: somebody measured it
    bool coarse;   // its last unit is above the second
};

inline Duration read_duration(const TextView& text, size_t place) {
    Duration found{place, false, false};
    for (;;) {
        const size_t from = found.end == place ? place : text.skip_gap(found.end);
        if (!is_digit(text.at(from))) return found;
        const size_t number = text.number_end(from);
        const size_t unit = text.skip_gap(number);
        const size_t behind = unit_end(text, unit);
        if (behind == unit) return found;
        const uint8_t first = text.at(unit);
        const bool parts = first != 's' && text.at(behind - 1) == 's' && behind - unit <= 3 && first != 'h' && !text.has(unit, "min");
        found.precise |= parts || text.skip_digits(from) != number;
        found.coarse = first == 'h' || (first == 'm' && !parts);
        found.end = behind;
    }
}

inline size_t duration_end(const TextView& text, size_t place) { return read_duration(text, place).end; }

// Whether the label says that what follows was measured. How long something may take, or will take, is no noise: a time-out, an
// expiry, a countdown.
inline bool labels_duration(const TextView& text, const Word& label, const Duration& duration) {
    if (label.roles & kMeasures) return true;
    if (label.roles & kReports) return opens_line(text, label.start);
    if (label.roles & (kSaysTime | kSaysIn)) {
        const uint32_t before = Word(text, text.blanks_start(label.start)).roles;
        if (label.roles & kSaysTime) return (before & kNamesTime) != 0 || opens_line(text, label.start);
        return duration.precise ? (before & kIsAhead) == 0 : (before & kIsDone) != 0;
    }
    return names_measured_ms(text.data() + label.start, label.end - label.start);
}

// ok  <tab> package <tab> 0.005s
inline bool ends_go_test(const TextView& text, size_t place, size_t end, uint8_t previous) {
    if (previous != '\t' || (end < text.size() && text.at(end) != '\n')) return false;
    const size_t line = text.line_start(place);
    return text.has(line, "ok ") || text.has(line, "FAIL\t");
}

}  // namespace loopguard
