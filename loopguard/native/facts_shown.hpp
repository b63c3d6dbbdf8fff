// The text that a result shows, out of whatever wrapper it comes in, and what stands beside the text.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "facts_empty.hpp"
#include "facts_error.hpp"

namespace loopguard::facts {

// The text of a result, and beside it what is compared but not read: a hash of structured content, one of pictures.
struct Shown {
    std::string text;
    std::uint64_t structured = 0, payload = 0;
    bool coded = false, error = false;
    long code = 0;

    void assign(View plain) {
        text.assign(plain);
        structured = payload = 0;
    }
};

inline Shown& shown_memory() {
    thread_local Shown own;
    return own;
}

constexpr View STATE_KEYS[] = {"status", "state", "phase", "stage"};
constexpr View END_KEYS[] = {"done", "finished", "complete", "completed", "ready", "is_done", "is_finished", "is_complete", "is_completed", "is_ready"};
constexpr View SHARE_KEYS[] = {"progress", "percent", "percentage", "progress_percent", "percent_complete", "pct"};

// Whether an answer, a JSON object, tells of something that is under way: a state, an end that is not reached, a share of the whole.
inline bool is_under_way(View object, int depth, std::string& out) {
    for (Members members(object); members.next();) {
        const auto kind = kind_of(members.value);
        if (kind == Json::OBJECT) {
            if (depth > 1 && is_under_way(members.value, depth - 1, out)) return true;
            continue;
        }
        if (kind == Json::ARRAY || members.value.size() > 42) continue;
        lower_into(inner(members.key), out);
        if (kind == Json::BOOLEAN && members.value == "false" && is_one_of(View(out), END_KEYS)) return true;
        if (kind == Json::NUMBER && is_one_of(View(out), SHARE_KEYS) && members.value != "100" && members.value != "1") return true;
        if (kind != Json::STRING || std::none_of(std::begin(STATE_KEYS), std::end(STATE_KEYS), [&out](View key) { return ends(out, key); })) continue;
        lower_into(inner(members.value), out);
        if (goes_on_as_state(out) || read_words(out).goes_on) return true;
    }
    return false;
}

// Whether an answer says of itself that the call failed. What a job or a thing is said to be ("failed", "legal": false) is an answer.
inline bool refuses(View object) {
    for (Members members(object); members.next();) {
        const View key = inner(members.key);
        if (key == "isError" && members.value.front() == 't') return true;
        if (key == "error" && !is_vacant(members.value)) return true;
        if ((key == "success" || key == "ok") && members.value == "false") return true;
        if (key == "status" && members.value == "\"error\"") return true;
        // What HTTP calls an error of the client or of the server.
        const bool code = members.value.size() == 3 && (members.value[0] == '4' || members.value[0] == '5') && is_digit(members.value[1]) && is_digit(members.value[2]);
        if (code && (key == "status" || key == "status_code" || key == "statusCode" || key == "http_status")) return true;
    }
    return false;
}

inline void read_code(View object, Shown& shown) {
    for (Members members(object); members.next();) {
        const bool named = inner(members.key) == "exitCode" || inner(members.key) == "exit_code" ||
                           inner(members.key) == "returncode";
        if (named && kind_of(members.value) == Json::NUMBER) {
            shown.coded = true;
            shown.code = members.value.front() == '0' && members.value.size() == 1 ? 0 : 1;
        }
    }
    shown.error = shown.error || refuses(object);
}

// A plain wrapper's texts, where what else it tells is bookkeeping: what a command wrote to either stream.
inline bool read_streams(View object, std::string& out) {
    bool any = false;
    for (Members members(object); members.next();) {
        const bool stream = inner(members.key) == "stdout" || inner(members.key) == "stderr" || inner(members.key) == "output";
        if (stream && kind_of(members.value) == Json::STRING) any = true;
        else if (!is_vacant(members.value) && (kind_of(members.value) == Json::OBJECT || kind_of(members.value) == Json::ARRAY)) return false;
    }
    if (!any) return false;
    for (const View name : {View("output"), View("stdout"), View("stderr")}) {
        for (Members members(object); members.next();) {
            if (inner(members.key) != name || kind_of(members.value) != Json::STRING) continue;
            if (!out.empty()) out += '\n';
            append_decoded(members.value, out);
        }
    }
    return true;
}

// Text parts as they are; of other parts type and size class, if text stands beside them, else the part itself.
inline void read_content(View content, Shown& shown) {
    std::string& text = shown.text;
    std::string others;
    bool worded = false;
    for (Members parts(content); parts.next();) {
        View words, type;
        for (Members members(parts.value); members.next();) {
            if (inner(members.key) == "text" && kind_of(members.value) == Json::STRING) words = members.value;
            if (inner(members.key) == "type") type = members.value;
        }
        if (!words.empty()) {
            if (!text.empty()) text += '\n';
            append_decoded(words, text);
            worded = worded || words.size() > 2;
        } else {
            others += '\n';
            others += type;
            others += '\0';
            others += parts.value;
        }
    }
    if (worded && !others.empty()) shown.payload = hash(others, K1);
    for (std::size_t at = 0; at < others.size();) {
        const std::size_t mark = others.find('\0', at), next = std::min(others.find('\n', mark), others.size());
        text += worded ? others.substr(at, mark - at) + std::to_string(std::ilogb(static_cast<double>(next - mark))) : others.substr(at, next - at);
        at = next;
    }
}

inline void read_result(View result, Shown& shown) {
    shown.text.clear();
    shown.structured = shown.payload = 0;
    const auto kind = kind_of(result);
    if (kind == Json::STRING) return append_decoded(result, shown.text);
    if (kind != Json::OBJECT) {
        shown.text = result;
        return;
    }
    View content, details, structured;
    for (Members members(result); members.next();) {
        const auto held = kind_of(members.value);
        if (held == Json::ARRAY && inner(members.key) == "content") content = members.value;
        if (held == Json::OBJECT && (inner(members.key) == "details" || (details.empty() && inner(members.key) == "structuredContent"))) {
            details = members.value;
        }
        if (held == Json::OBJECT && inner(members.key) == "structuredContent") structured = members.value;
        if (inner(members.key) == "isError" && members.value.front() == 't') shown.error = true;
    }
    if (content.empty() && details.empty()) {
        read_code(result, shown);
        if (!shown.coded || !read_streams(result, shown.text)) shown.text = result;
        return;
    }
    if (!content.empty()) read_content(content, shown);
    // A text that is no JSON may be a mere caption of the structured content.
    const View said = trimmed(shown.text);
    const bool caption = !said.empty() && said.front() != '{' && said.front() != '[';
    if (caption && !structured.empty() && !is_vacant(structured)) shown.structured = hash(structured, K2) | 1;
    if (details.empty()) return;
    read_code(details, shown);
    if (!trimmed(shown.text).empty()) return;
    for (Members members(details); members.next();) {
        const bool output = inner(members.key) == "aggregated" || inner(members.key) == "stdout";
        if (output && kind_of(members.value) == Json::STRING) append_decoded(members.value, shown.text);
    }
    if (trimmed(shown.text).empty() && !shown.coded && details.size() > 2) shown.text = details;
}

}  // namespace loopguard::facts
