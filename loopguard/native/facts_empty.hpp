// Whether a text or a JSON value says nothing, or no more than that something was done.
#pragma once

#include <algorithm>
#include <string>

#include "facts_json.hpp"
#include "facts_text.hpp"

namespace loopguard::facts {

constexpr View NO_OUTPUT[] = {"no output", "produce any output", "without output", "without any output", "return any output"};
constexpr View NOTHING_WORDS[] = {"none", "null", "nil", "undefined", "empty", "empty set", "empty result", "0 rows", "0 row", "''", "\"\"", "[]", "{}", "()"};
constexpr View ACKNOWLEDGEMENTS[] = {
    "ok", "okay", "done", "success", "successful", "successfully", "succeeded", "true", "complete", "completed", "accepted",
    "acknowledged", "noted", "saved", "sent", "queued", "updated", "created", "inserted", "written", "added", "deleted", "removed",
    "recorded", "stored", "submitted", "received", "applied", "closed", "posted", "confirmed", "booked",
};
constexpr View ENDS_OF_ACKNOWLEDGEMENTS[] = {
    "successful", "successfully", "saved", "updated", "created", "queued", "recorded", "noted", "inserted", "deleted", "sent",
    "stored", "added", "removed", "written", "submitted", "applied", "posted", "accepted", "acknowledged", "confirmed", "received",
};
constexpr View STARTS_OF_ACKNOWLEDGEMENTS[] = {"wrote", "saved", "updated", "created", "deleted", "sent", "added"};

inline bool says_nothing(View text) {
    text = trimmed(text);
    if (text.empty()) return true;
    if (text.size() > 160) return false;
    std::string low;
    lower_into(text, low);
    if (has_one_of(low, NO_OUTPUT)) return true;
    View core = low;
    while (!core.empty() && (core.back() == '.' || core.back() == ')')) core.remove_suffix(1);
    while (!core.empty() && core.front() == '(') core.remove_prefix(1);
    return is_one_of(core, NOTHING_WORDS) || is_one_of(View(low), NOTHING_WORDS);
}

// Whether a JSON value holds nothing: numbers, booleans and short words beside an empty list are bookkeeping.
inline bool is_vacant(View value) {
    switch (kind_of(value)) {
        case Json::ABSENT: case Json::NOTHING: return true;
        case Json::BOOLEAN: return value.front() == 'f';
        case Json::NUMBER: return false;
        case Json::STRING: return says_nothing(inner(value));
        case Json::ARRAY:
            for (Members items(value); items.next();) {
                if (!is_vacant(items.value)) return false;
            }
            return true;
        case Json::OBJECT: break;
    }
    bool held = false, any = false;
    for (Members members(value); members.next();) {
        any = true;
        const auto kind = kind_of(members.value);
        const bool box = kind == Json::OBJECT || kind == Json::ARRAY;
        if (box || (kind == Json::STRING && members.value.size() > 14)) {
            if (!is_vacant(members.value)) return false;
            held = true;
        }
        if (members.value == "0") held = held || has(members.key, "count") || has(members.key, "total");
    }
    return held || !any;
}

constexpr View COUNTED[] = {
    "row", "rows", "record", "records", "line", "lines", "file", "files", "item", "items", "affected", "query", "insert", "update", "delete",
    "status", "result", "replacement", "replacements", "occurrence", "occurrences", "edited", "changed", "was", "were", "has", "have", "been", "and",
};

// Whether a short text, in lower case, says no more than that something was done, however often.
inline bool acknowledges(View low) noexcept {
    while (!low.empty() && (!is_word(low.back()) || is_digit(low.back()))) low.remove_suffix(1);
    while (!low.empty() && !is_word(low.front())) low.remove_prefix(1);
    std::size_t count = 0, done = 0, others = 0;
    View first, last;
    for (Words words(low); words.next(); ++count) {
        if (count == 0) first = words.word;
        last = words.word;
        if (is_one_of(last, ACKNOWLEDGEMENTS) || last == "replacement" || last == "affected" || last == "insert" || last == "edited") ++done;
        else others += !is_one_of(last, COUNTED) && !std::all_of(last.begin(), last.end(), is_digit);
    }
    if (done > 0 && others == 0) return true;
    if (low.size() <= 45 && count > 1 && is_one_of(last, ENDS_OF_ACKNOWLEDGEMENTS)) return true;
    const std::size_t blank = low.find(' ');
    return blank != View::npos && low.find(' ', blank + 1) == View::npos && is_one_of(first, STARTS_OF_ACKNOWLEDGEMENTS);
}

}  // namespace loopguard::facts
