// Dates and clocks in text, and whether what stands round them says that they tell when something was written.
#pragma once

#include "mask_word.hpp"

namespace loopguard {

// The end of a date, a clock or both; what is a date only needs a better reason to go.
inline size_t moment_end(const TextView& text, size_t place, bool& clock) {
    size_t end = text.date_end(place);
    clock = false;
    if (end == place) {
        end = text.clock_end(place, false);
        if (end == place) return place;
        clock = true;
    } else {
        if (text.at(end) == 'T' || text.at(end) == ' ') {
            const size_t behind = text.clock_end(end + 1, false);
            clock = behind != end + 1;
            if (clock) end = behind;
        }
    }
    if (clock) end = text.zone_end(end);
    return is_word(text.at(end)) ? place : end;
}

// Aug 19 19:49:39, Tue Aug 19 19:49:39 UTC 2024, Aug 19, 2024 19:49:39, Tue, 19 Aug 2024 19:49:39 GMT; `place` is the day.
inline size_t named_month(const TextView& text, size_t place, size_t end, size_t& start, bool& clock) {
    size_t before = place;
    while (before > 0 && text.before(before) == ' ') --before;
    if (before < place && before >= 3 && text.is_month(before - 3) && !(before > 3 && is_word(text.before(before - 3)))) {
        start = before - 3;
        if (text.at(end) == ',') ++end;
        if (text.at(end) == ' ' && text.digits(end + 1, 4) == 4) end += 5;
    } else if (text.at(end) == ' ' && text.is_month(end + 1) && text.at(end + 4) == ' ' && text.digits(end + 5, 4) == 4) {
        end += 9;
    } else {
        return place;
    }
    if (text.at(end) != ' ') return place;
    const size_t behind = text.clock_end(end + 1, true);
    if (behind == end + 1) return place;
    clock = true;
    end = text.zone_end(behind);
    if (text.at(end) == ' ' && text.digits(end + 1, 4) == 4 && !is_word(text.at(end + 5))) end += 5;
    size_t weekday = start;
    if (weekday > 0 && text.before(weekday) == ' ') {
        --weekday;
        if (text.before(weekday) == ',') --weekday;
        if (weekday >= 3 && text.is_weekday(weekday - 3) && !is_word(text.before(weekday - 3))) start = weekday - 3;
    }
    return is_word(text.at(end)) ? place : end;
}

// Only blanks, two dashes and one bracket before it on its line.
inline bool opens_line(const TextView& text, size_t place) {
    if (is_any(text.before(place), "[(")) --place;
    if (text.ends_before(place, "--")) place -= 2;
    while (place > 0 && is_blank(text.before(place))) --place;
    return place == 0 || text.before(place) == '\n';
}

inline bool labels_moment(const TextView& text, size_t start) {
    const Word label(text, text.label_end(start));
    if (label.roles & kSaysMoment) return true;
    if ((label.roles & kSaysDate) && opens_line(text, label.start)) return true;
    if ((label.roles & (kJoinsMoment | kSaysOf)) == 0) return false;
    const uint32_t before = Word(text, text.blanks_start(label.start)).roles;
    return (label.roles & kSaysOf) ? (before & kSaysAs) != 0 : (before & kSaysHappened) != 0;
}

// A log line goes on behind its time; a value that is nothing but a time is data.
inline bool goes_on(const TextView& text, size_t start, size_t end, bool clock) {
    const bool bracket = text.before(start) == '[' && text.at(end) == ']';
    if (!clock && !bracket) return false;
    const size_t half = end + (text.at(end) == ' ');
    if (clock && is_any(text.at(half), "AaPp") && is_any(text.at(half + 1), "Mm") && !is_word(text.at(half + 2))) end = half + 2;
    if (text.has(end, "--")) {
        end += 2;
    } else if (is_any(text.at(end), "]):")) {
        ++end;
    }
    const size_t more = text.skip_blanks(end);
    return more > end && more < text.size() && text.at(more) != '\n';
}

}  // namespace loopguard
