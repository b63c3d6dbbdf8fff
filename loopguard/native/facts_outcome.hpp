// What an outcome says, as numbers to compare: its lines as a bag, its lines without digits, its error's signatures,
// and whether it is empty, a bare acknowledgement, a failure, a rejection by the harness.
//
// Takes canonical JSON whose volatile parts are masked already. Two passes over the bytes at most; phrases are looked for in
// short texts and at the ends of long ones only. Memory is reused by thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "facts_error.hpp"

namespace loopguard::facts {

enum OutcomeFlag : unsigned {
    FAILED = 1, EMPTY = 2, ACKNOWLEDGED = 4, PENDING = 8, TRANSIENT = 16, VERDICT = 32, REJECTED = 64,
};

enum class Told : int { NOTHING, SUCCESS, FAILURE };

struct OutcomeFacts {
    std::uint64_t bag = 0;        // lines in any order
    std::uint64_t digitless = 0;  // set of lines without digits; 0 for short texts
    std::uint64_t shape = 0;      // lines without digits and codes
    std::uint64_t last_error = 0, first_error = 0;
    std::size_t size = 0;
    unsigned flags = 0;
};

constexpr std::size_t LONG_TEXT = 300, PHRASES_AT_ENDS = 40;

constexpr View NO_OUTPUT[] = {"no output", "produce any output", "without output", "without any output", "return any output"};
constexpr View NOTHING_WORDS[] = {"none", "null", "nil", "undefined", "empty", "empty set", "empty result", "0 rows", "0 row", "''", "\"\"", "[]", "{}", "()"};
constexpr View ACKNOWLEDGEMENTS[] = {
    "ok", "okay", "done", "success", "successful", "successfully", "succeeded", "true", "complete", "completed", "accepted",
    "acknowledged", "noted", "saved", "sent", "queued", "updated", "created", "inserted", "written", "added", "deleted", "removed",
    "recorded", "stored", "submitted", "received", "applied", "1 row affected",
};
constexpr View ENDS_OF_ACKNOWLEDGEMENTS[] = {
    "successful", "successfully", "saved", "updated", "created", "queued", "recorded", "noted", "inserted", "deleted", "sent",
};
constexpr View STARTS_OF_ACKNOWLEDGEMENTS[] = {"wrote", "saved", "updated", "created", "deleted", "sent", "added"};
constexpr View UNFINISHED[] = {
    "running", "pending", "queued", "waiting", "processing", "still", "building", "starting", "provisioning", "deploying", "in_progress",
};
constexpr View UNFINISHED_PHRASES[] = {"in progress", "in-progress", "not ready", "not yet", "not finished", "not complete", "no new output"};
constexpr View CODE_NAMES[] = {"<returncode>", "exit code", "exited with code", "exit status", "exited with status"};

struct Memory {
    std::string text, lowered, line, without, coded, scratch;
    std::vector<std::uint64_t> set;
    std::vector<View> lines;
};

inline Memory& memory() {
    thread_local Memory own;
    return own;
}

// Finds the exit code that a wrapper wrote round the output. `ends` are both ends of the text in lower case.
inline bool wrapped_code(View ends, long& code) noexcept {
    for (const View name : CODE_NAMES) {
        std::size_t at = ends.find(name);
        if (at == View::npos) continue;
        at += name.size();
        while (at < ends.size() && (ends[at] == ' ' || ends[at] == ':' || ends[at] == '=')) ++at;
        const bool minus = at < ends.size() && ends[at] == '-';
        if (minus) ++at;
        if (at == ends.size() || !is_digit(ends[at])) continue;
        for (code = 0; at < ends.size() && is_digit(ends[at]) && code < 100000; ++at) code = code * 10 + (ends[at] - '0');
        return true;
    }
    return false;
}

// Lower-case copies of the ends of a text, `reach` bytes each; of the whole where it is short.
inline void lower_ends(View text, std::size_t reach, std::string& out, std::string& scratch) {
    if (text.size() <= 2 * reach) return lower_into(text, out);
    lower_into(text.substr(0, reach), out);
    lower_into(text.substr(text.size() - reach), scratch);
    out += '\n';
    out += scratch;
}

// Leaves out the tags that a harness writes round an output, and the code inside one.
inline View unwrapped(View text) noexcept {
    for (text = trimmed(text); !text.empty() && text.front() == '<'; text = trimmed(text)) {
        const std::size_t close = text.find('>');
        if (close == View::npos || close > 18) break;
        const View name = text.substr(1, close - 1);
        text.remove_prefix(close + 1);
        if (name == "returncode" || name == "exit_code") {
            while (!text.empty() && text.front() != '<') text.remove_prefix(1);
        }
    }
    while (ends(text, ">")) {
        const std::size_t open = text.rfind("</");
        if (open == View::npos || text.size() - open > 19) break;
        text = trimmed(text.substr(0, open));
    }
    return text;
}

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

inline bool acknowledges(View low) noexcept {
    while (!low.empty() && (!is_word(low.back()) || is_digit(low.back()))) low.remove_suffix(1);
    while (!low.empty() && !is_word(low.front())) low.remove_prefix(1);
    if (is_one_of(low, ACKNOWLEDGEMENTS)) return true;
    std::size_t count = 0;
    View first, last;
    for (Words words(low); words.next(); ++count) {
        if (count == 0) first = words.word;
        last = words.word;
    }
    if (low.size() <= 45 && count > 1 && is_one_of(last, ENDS_OF_ACKNOWLEDGEMENTS)) return true;
    const std::size_t blank = low.find(' ');
    return blank != View::npos && low.find(' ', blank + 1) == View::npos && is_one_of(first, STARTS_OF_ACKNOWLEDGEMENTS);
}

inline bool is_unfinished(View low) noexcept {
    if (has_one_of(low, UNFINISHED_PHRASES)) return true;
    for (Words words(low); words.next();) {
        if (is_one_of(words.word, UNFINISHED)) return true;
    }
    return false;
}

// One line: `line` gets single blanks, `without` has `#` for each run of digits.
inline void fold_line(View raw, std::string& line, std::string& without) {
    line.resize(raw.size());
    without.resize(raw.size());
    char* plain = line.data();
    char* bare = without.data();
    bool blank = false, digit = false;
    for (const char c : raw) {
        const bool is_gap = is_blank(c);
        if (is_gap && blank) continue;
        blank = is_gap;
        const char out = is_gap ? ' ' : c;
        *plain++ = out;
        const bool number = is_digit(c);
        *bare = number ? '#' : out;
        bare += !(number && digit);
        digit = number;
    }
    line.resize(static_cast<std::size_t>(plain - line.data()));
    without.resize(static_cast<std::size_t>(bare - without.data()));
}

// A line without its codes: a word that holds a digit, or five or more capitals and digits, is one.
inline std::uint64_t shape_of(View line, std::string& out) {
    out.clear();
    for (std::size_t at = 0; at < line.size();) {
        if (!is_word(line[at])) {
            out += line[at++];
            continue;
        }
        std::size_t end = at;
        bool digit = false, capitals = true;
        for (; end < line.size() && (is_word(line[end]) || line[end] == '-'); ++end) {
            digit = digit || is_digit(line[end]);
            capitals = capitals && (is_upper(line[end]) || is_digit(line[end]));
        }
        if (digit || (capitals && end - at >= 5)) out += '#';
        else out.append(line.data() + at, end - at);
        at = end;
    }
    return hash(out, K2);
}

// Fills in what the text itself says; `text` lives in memory().text.
inline void describe_text(View text, Told told, bool coded, long code, bool shell, OutcomeFacts& facts) {
    Memory& own = memory();
    own.set.clear();
    own.lines.clear();
    const View body = unwrapped(text);
    facts.size = body.size();
    for (std::size_t at = 0; at < body.size();) {
        const auto* newline = static_cast<const char*>(std::memchr(body.data() + at, '\n', body.size() - at));
        const std::size_t end = newline == nullptr ? body.size() : static_cast<std::size_t>(newline - body.data());
        const View raw = trimmed(body.substr(at, end - at));
        at = end + 1;
        if (raw.empty()) continue;
        own.lines.push_back(raw);
        fold_line(raw, own.line, own.without);
        facts.bag += hash(own.line, K0);
        if (facts.size > LONG_TEXT) own.set.push_back(hash(own.without, K1));
        else facts.shape += shape_of(own.line, own.scratch);
    }
    if (facts.size > LONG_TEXT) {
        std::sort(own.set.begin(), own.set.end());
        own.set.erase(std::unique(own.set.begin(), own.set.end()), own.set.end());
        for (const std::uint64_t one : own.set) facts.digitless += one;
        facts.shape = facts.digitless;
    }
    if (!coded) {
        lower_ends(text, 160, own.coded, own.scratch);
        coded = wrapped_code(own.coded, code);
    }
    lower_ends(body, 1000, own.lowered, own.scratch);
    const View low = own.lowered;
    bool failed = told == Told::FAILURE || (coded && code != 0);
    if (!failed && !coded && (told == Told::NOTHING || (shell && facts.size < 400))) {
        const std::size_t count = own.lines.size();
        const std::size_t reach = told == Told::NOTHING ? 5 : 1;
        for (std::size_t i = 0; i < count && !failed; ++i) {
            if (i >= reach && i + reach < count) i = count - reach;
            lower_into(own.lines[i].substr(0, 500), own.line);
            failed = says_failed(own.line);
        }
        failed = failed || (told == Told::NOTHING && has(body, "Traceback (most recent call last)"));
    }
    if (failed) facts.flags |= FAILED;
    if (body.empty() || says_nothing(body)) facts.flags |= EMPTY;
    else if (!failed && facts.size < 80 && acknowledges(low)) facts.flags |= ACKNOWLEDGED;
    if (!failed && facts.size < LONG_TEXT && is_unfinished(low)) facts.flags |= PENDING;
    if ((failed || told == Told::NOTHING) && facts.size < 6000 && has_one_of(low.substr(0, 300), REJECTIONS)) facts.flags |= REJECTED;
    if (!failed || own.lines.empty()) return;

    const std::size_t count = own.lines.size();
    std::size_t first = count, last = count;
    for (std::size_t i = 0; i < std::min(count, PHRASES_AT_ENDS) && first == count; ++i) {
        lower_into(own.lines[i].substr(0, 500), own.line);
        if (is_error_line(own.line)) first = i;
    }
    for (std::size_t i = 0; i < std::min(count, PHRASES_AT_ENDS) && last == count; ++i) {
        lower_into(own.lines[count - 1 - i].substr(0, 500), own.line);
        if (is_error_line(own.line)) last = count - 1 - i;
    }
    if (last == count) last = first == count ? count - 1 : first;
    if (first == count) first = last;
    lower_into(own.lines[last].substr(0, 500), own.line);
    lower_into(own.lines[first].substr(0, 500), own.without);
    facts.last_error = signature(own.line, false, own.scratch);
    const View opening = own.without;
    const bool cut = starts(opening, "could not ") || starts(opening, "cannot ") || starts(opening, "can't ") ||
                     starts(opening, "unable to ") || starts(opening, "failed to ") || starts(opening, "no such ") ||
                     starts(opening, "unknown ") || starts(opening, "invalid ");
    facts.first_error = signature(opening, cut, own.scratch);
    if (count > 12) {
        own.coded = own.line + "\n" + own.without;
        if (is_transient(own.coded)) facts.flags |= TRANSIENT;
    } else if (is_transient(low)) {
        facts.flags |= TRANSIENT;
    }
    if (is_verdict(low)) facts.flags |= VERDICT;
}

// What a reader sees of a result.
struct Seen {
    std::string text;
    bool coded = false, error = false;
    long code = 0;
};

inline void read_code(View object, Seen& seen) {
    for (Members members(object); members.next();) {
        const bool named = inner(members.key) == "exitCode" || inner(members.key) == "exit_code" ||
                           inner(members.key) == "returncode";
        if (named && kind_of(members.value) == Json::NUMBER) {
            seen.coded = true;
            seen.code = members.value.front() == '0' && members.value.size() == 1 ? 0 : 1;
        }
        if (inner(members.key) == "isError" && members.value.front() == 't') seen.error = true;
        if (inner(members.key) == "error" && !is_vacant(members.value)) seen.error = true;
    }
}

// Text parts as they are; of other parts type and size class, if text stands beside them, else the part itself.
inline void read_content(View content, std::string& text) {
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
    for (std::size_t at = 0; at < others.size();) {
        const std::size_t mark = others.find('\0', at), next = std::min(others.find('\n', mark), others.size());
        text += worded ? others.substr(at, mark - at) + std::to_string(std::ilogb(static_cast<double>(next - mark))) : others.substr(at, next - at);
        at = next;
    }
}

inline void read_result(View result, Seen& seen) {
    seen.text.clear();
    const auto kind = kind_of(result);
    if (kind == Json::STRING) return append_decoded(result, seen.text);
    if (kind != Json::OBJECT) {
        seen.text = result;
        return;
    }
    View content, details;
    for (Members members(result); members.next();) {
        const auto held = kind_of(members.value);
        if (held == Json::ARRAY && inner(members.key) == "content") content = members.value;
        if (held == Json::OBJECT && (inner(members.key) == "details" || (details.empty() && inner(members.key) == "structuredContent"))) {
            details = members.value;
        }
        if (inner(members.key) == "isError" && members.value.front() == 't') seen.error = true;
    }
    if (content.empty() && details.empty()) {
        read_code(result, seen);
        seen.text = result;
        return;
    }
    if (!content.empty()) read_content(content, seen.text);
    if (details.empty()) return;
    read_code(details, seen);
    if (!trimmed(seen.text).empty()) return;
    for (Members members(details); members.next();) {
        const bool output = inner(members.key) == "aggregated" || inner(members.key) == "stdout";
        if (output && kind_of(members.value) == Json::STRING) append_decoded(members.value, seen.text);
    }
    if (trimmed(seen.text).empty() && !seen.coded && details.size() > 2) seen.text = details;
}

// `json` is canonical, or any bytes where `readable` is false: those are a text.
inline OutcomeFacts describe_outcome(const char* json, std::size_t size, bool readable, Told told, bool shell) {
    OutcomeFacts facts;
    thread_local Seen seen;
    seen.coded = seen.error = false;
    seen.code = 0;
    const View whole(json, size);
    if (readable) read_result(whole, seen);
    else seen.text.assign(json, size);
    if (seen.error && told != Told::FAILURE) told = Told::FAILURE;
    describe_text(seen.text, told, seen.coded, seen.code, shell, facts);
    const View body = trimmed(seen.text);
    if (!(facts.flags & EMPTY) && readable && !body.empty() && (body.front() == '{' || body.front() == '[') && body.size() < 4000) {
        std::size_t at = 0;
        if (skip_json(body, at, 16) && at == body.size() && is_vacant(body)) facts.flags |= EMPTY;
    }
    return facts;
}

}  // namespace loopguard::facts
