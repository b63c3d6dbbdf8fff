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
#include "facts_numbers.hpp"

namespace loopguard::facts {

enum OutcomeFlag : unsigned {
    FAILED = 1, EMPTY = 2, ACKNOWLEDGED = 4, PENDING = 8, TRANSIENT = 16, VERDICT = 32, REJECTED = 64, LOOSE = 128, VAIN = 256, PICTURE = 512,
};

enum class Told : int { NOTHING, SUCCESS, FAILURE };

struct OutcomeFacts {
    std::uint64_t bag = 0;        // lines in any order
    std::uint64_t digitless = 0;  // set of lines without digits; of a short text all but its opaque words, 0 if it has none
    std::uint64_t last_error = 0, first_error = 0;
    std::size_t size = 0;
    unsigned flags = 0;
    Numbers numbers;  // of a long text
};

// What a reader sees before anything is masked.
struct Seen {
    std::uint64_t raw = 0;
    Numbers numbers;
};

constexpr std::size_t LONG_TEXT = 300, LINES_AT_ENDS = 20, SHORTEST_MESSAGE = 5;

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
// A search without a hit, a step without effect; "no issues" is a confirmation.
constexpr View VAIN_WORDS[] = {
    "no result", "no match", "no file", "no hit", "no record", "no entr", "no data", "no item", "no document", "nothing found", "not found", "none found",
    "0 result", "0 match", "0 hits", "nothing matched", "nothing to ", "unchanged", "no change", "not changed", "nothing changed",
};
constexpr View CODE_NAMES[] = {"<returncode>", "exit code", "exited with code", "exit status", "exited with status"};

struct Memory {
    std::string lowered, line, without, scratch;
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

// A first look for what wrapped_code looks for.
inline bool may_have_code(View text) noexcept {
    const std::size_t reach = std::min<std::size_t>(160, text.size());
    for (const View part : {text.substr(0, reach), text.substr(text.size() - reach)}) {
        if (has(part, "code") || has(part, "status")) return true;
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

// Marks, in the highest bit of their bytes, digits among eight bytes; the first mark is exact, later ones may be none.
inline std::uint64_t mark_digits(std::uint64_t word) noexcept {
    constexpr std::uint64_t ONES = 0x0101010101010101ULL;
    const std::uint64_t turned = word ^ (ONES * 0x30);
    const std::uint64_t others = (((turned & (ONES * 0x7F)) + ONES * 6) | turned) & (ONES * 0xF0);
    return (others - ONES) & ~others & (ONES * 0x80);
}

// Where the next digit is, or the end.
inline std::size_t find_digit(View line, std::size_t at) noexcept {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (; at + 8 <= line.size(); at += 8) {
        std::uint64_t word;
        std::memcpy(&word, line.data() + at, 8);
        const std::uint64_t marks = mark_digits(word);
        if (marks != 0) return at + static_cast<std::size_t>(__builtin_ctzll(marks) >> 3);
    }
#endif
    while (at < line.size() && !is_digit(line[at])) ++at;
    return at;
}

inline bool is_name(char c) noexcept { return (class_of(c) & (DIGIT | LETTER)) != 0 || c == '_' || c == '-'; }

// A line with `#` for each run of digits and each opaque word, the first digit being at `digit`; it lives in `out`, which
// only grows, since growing fills.
inline View without_digits(View line, std::size_t digit, std::string& out) {
    if (out.size() < line.size() + 8) out.resize(line.size() + 8);
    char* to = out.data();
    std::size_t at = 0;
    for (; digit < line.size(); digit = find_digit(line, at)) {
        std::memcpy(to, line.data() + at, digit - at);
        to += digit - at;
        at = digit;
        while (at < line.size() && is_digit(line[at])) ++at;
        const bool alone = (digit == 0 || !is_name(line[digit - 1])) && (at == line.size() || !is_name(line[at]));
        if (alone) {
            *to++ = '#';
            continue;
        }
        // What stands in the word before its first digit was taken as it is.
        std::size_t begin = digit;
        while (begin > 0 && is_name(line[begin - 1]) && !is_digit(line[begin - 1])) --begin;
        bool opaque = false;
        const std::size_t end = word_end(line, begin, opaque);
        if (opaque) {
            to -= digit - begin;
            *to++ = '#';
            at = end;
            continue;
        }
        bool before = false;
        for (at = digit; at < end; ++at) {
            const bool number = is_digit(line[at]);
            *to = number ? '#' : line[at];
            to += !(number & before);
            before = number;
        }
    }
    std::memcpy(to, line.data() + at, line.size() - at);
    to += line.size() - at;
    return {out.data(), static_cast<std::size_t>(to - out.data())};
}

// Words beside which an identifier is what matters: it leads on, or stands for a state.
constexpr View MEANT[] = {
    "cursor", "Cursor", "next", "Next", "page", "Page", "continu", "Continu", "EvaluatedKey", "sha", "commit", "digest", "hash", "checksum", "revision",
};

// A short text with `#` for each opaque word; returns whether there was any that says nothing.
inline bool without_opaque(View line, std::string& out) {
    out.clear();
    bool any = false;
    for (std::size_t at = 0; at < line.size();) {
        if (!(class_of(line[at]) & (DIGIT | LETTER))) {
            out += line[at++];
            continue;
        }
        bool opaque = false;
        const std::size_t end = word_end(line, at, opaque);
        if (opaque) out += '#';
        else out.append(line.substr(at, end - at));
        any = any || opaque;
        at = end;
    }
    return any && !has_one_of(line, MEANT);
}

constexpr View SPILLING[] = {"saved to", "saved in", "saved at", "written to", "stored in", "stored at", "full output", "spilled to"};

// A line without what a harness says of its own doing: under which temporary name it put an output, how long ago it was asked.
inline View steady_line(View line, std::string& out) {
    if (line.size() >= 500) return line;
    const std::size_t ago = line.find(" ago");
    if (ago != View::npos && ago > 0) {
        const std::size_t unit = line.rfind(' ', ago - 1), number = unit == View::npos || unit == 0 ? View::npos : line.rfind(' ', unit - 1);
        const View name = unit == View::npos ? View() : line.substr(unit + 1, ago - unit - 1);
        const bool time = starts(name, "second") || starts(name, "minute") || starts(name, "hour") || starts(name, "day");
        if (time && is_digit(line[unit - 1])) {
            out.assign(line.substr(0, number == View::npos ? 0 : number));
            out += line.substr(unit);
            return out;
        }
    }
    const std::size_t path = line.find("/tmp/");
    if (path == View::npos || !has_one_of(line, SPILLING)) return line;
    std::size_t end = path;
    while (end < line.size() && !is_blank(line[end]) && line[end] != '"' && line[end] != '\'' && line[end] != ',' && line[end] != ')') ++end;
    out.assign(line.substr(0, path));
    out += "/tmp/";
    out += line.substr(end);
    return out;
}

// Whether a text is a clock's answer and nothing else: such a one says only that time passes.
inline bool is_clock(View text) noexcept {
    if (text.size() < 8 || text.size() > 40) return false;
    std::size_t clocks = 0;
    for (std::size_t at = 0; at + 5 < text.size(); ++at) clocks += text[at] == ':' && is_digit(text[at + 1]) && is_digit(text[at + 2]) && text[at + 3] == ':';
    if (clocks != 1) return false;
    for (Words words(text); words.next();) {
        std::size_t letters = 0;
        for (const char c : words.word) letters += !is_digit(c);
        if (letters > 4) return false;
    }
    return true;
}

// Both signatures of an error: of the last line that tells of one, and of the first.
inline void sign_error(Memory& own, const Wording* asked, OutcomeFacts& facts) {
    const std::size_t count = own.lines.size();
    std::size_t first = count, last = count;
    for (std::size_t i = 0; i < std::min(count, LINES_AT_ENDS) && last == count; ++i) {
        lower_into(own.lines[count - 1 - i].substr(0, 500), own.line);
        if (is_error_line(own.line)) last = count - 1 - i;
    }
    for (std::size_t i = 0; i < std::min(count, LINES_AT_ENDS) && first == count; ++i) {
        lower_into(own.lines[i].substr(0, 500), own.without);
        if (is_error_line(own.without)) first = i;
    }
    if (last == count) last = first == count ? count - 1 : first;
    if (first == count) first = last;
    lower_into(own.lines[last].substr(0, 500), own.line);
    lower_into(own.lines[first].substr(0, 500), own.without);
    facts.last_error = signature(own.line, false, asked, own.scratch);
    // What is left of a mere path or number is no message.
    if (own.scratch.size() < SHORTEST_MESSAGE) facts.last_error = mix(facts.bag, K2);
    bool cut = false;
    for (const View opening : {View("could not "), View("cannot "), View("can't "), View("unable to "), View("failed to "),
                               View("no such "), View("unknown "), View("invalid ")}) {
        cut = cut || starts(own.without, opening);
    }
    facts.first_error = signature(own.without, cut, asked, own.scratch);
    if (own.scratch.size() < SHORTEST_MESSAGE) facts.first_error = facts.last_error;
}

inline bool shows_failure(const Memory& own, View body, std::size_t reach, std::string& scratch) {
    const std::size_t count = own.lines.size();
    for (std::size_t i = 0; i < count; ++i) {
        if (i >= reach && i + reach < count) i = count - reach;
        lower_into(own.lines[i].substr(0, 500), scratch);
        if (says_failed(scratch)) return true;
    }
    return reach > 1 && has(body, "Traceback (most recent call last)");
}

// Fills in what the text itself says; `text` lives in another buffer than memory()'s.
inline void describe_text(View text, Told told, bool coded, long code, bool shell, const Wording* asked, OutcomeFacts& facts) {
    Memory& own = memory();
    own.set.clear();
    own.lines.clear();
    const View body = unwrapped(text);
    facts.size = body.size();
    const bool is_long = facts.size > LONG_TEXT;
    // Looked for in all of the text at once, since hardly any has it.
    const bool unsteady = has_by(body, " ago", 2) || has_by(body, "/tmp/", 0);
    for (std::size_t at = 0; at < body.size();) {
        const auto* newline = static_cast<const char*>(std::memchr(body.data() + at, '\n', body.size() - at));
        const std::size_t end = newline == nullptr ? body.size() : static_cast<std::size_t>(newline - body.data());
        const View line = trimmed(body.substr(at, end - at));
        at = end + 1;
        if (line.empty()) continue;
        own.lines.push_back(line);
        const View steady = unsteady ? steady_line(line, own.line) : line;
        if (steady.data() != line.data()) facts.flags |= LOOSE;
        const std::uint64_t hashed = hash<true>(steady, K0);
        facts.bag += hashed;
        if (!is_long) continue;
        const std::size_t digit = find_digit(line, 0);
        // Without digits it need not be read again.
        const bool plain = digit == line.size() && steady.data() == line.data();
        own.set.push_back(plain ? mix(hashed, K1) : hash<true>(without_digits(line, digit, own.without), K1));
    }
    if (is_clock(body)) {
        facts.bag = K2;
        facts.flags |= LOOSE;
    }
    if (is_long) {
        read_numbers(body, facts.numbers);
        std::sort(own.set.begin(), own.set.end());
        own.set.erase(std::unique(own.set.begin(), own.set.end()), own.set.end());
        for (const std::uint64_t one : own.set) facts.digitless += one;
    } else if (without_opaque(body, own.without)) {
        facts.digitless = hash(own.without, K2);
    }
    if (!coded && may_have_code(text)) {
        lower_ends(text, 160, own.lowered, own.scratch);
        coded = wrapped_code(own.lowered, code);
    }
    bool failed = told == Told::FAILURE || (coded && code != 0);
    if (!failed && !coded && (told == Told::NOTHING || (shell && facts.size < 400))) {
        failed = shows_failure(own, body, told == Told::NOTHING ? 5 : 1, own.scratch);
    }
    if (failed) facts.flags |= FAILED;
    if (body.empty() || says_nothing(body)) facts.flags |= EMPTY;
    if (!failed && is_long && told != Told::NOTHING) return;

    lower_ends(body, failed ? 600 : 150, own.lowered, own.scratch);
    const View low = own.lowered;
    const Reading reading = read_words(low);
    if (!failed && !is_long && reading.goes_on) facts.flags |= PENDING;
    if (!failed && !(facts.flags & EMPTY) && facts.size < 80 && acknowledges(low)) facts.flags |= ACKNOWLEDGED;
    if (!failed && facts.size < 100 && has_one_of(low, VAIN_WORDS)) facts.flags |= VAIN;
    if (reading.format && facts.size < 6000 && has_one_of(low.substr(0, 300), REJECTIONS)) facts.flags |= REJECTED;
    if (!failed || own.lines.empty()) return;
    if (reading.red) facts.flags |= VERDICT;
    sign_error(own, asked, facts);
    Reading message = reading;
    if (own.lines.size() > 12) {
        // In a long output only the error itself tells why; a time-out in its log is history.
        message = read_words(own.line);
        const Reading other = read_words(own.without);
        message.passing = message.passing || other.passing;
        message.unpaid = message.unpaid || other.unpaid;
    }
    if (message.passing && !message.unpaid) facts.flags |= TRANSIENT;
}

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

// `json` is canonical, or any bytes where `readable` is false: those are a text. `asked` has the words of the call, or is null.
inline OutcomeFacts describe_outcome(const char* json, std::size_t size, bool readable, Told told, bool shell, const Wording* asked) {
    OutcomeFacts facts;
    Shown& shown = shown_memory();
    shown.coded = shown.error = false;
    shown.code = 0;
    const View whole(json, size);
    if (readable) read_result(whole, shown);
    else shown.assign({json, size});
    const View body = trimmed(shown.text);
    bool json_text = readable && !body.empty() && (body.front() == '{' || body.front() == '[') && body.size() < 4000;
    if (json_text) {
        std::size_t at = 0;
        json_text = skip_json(body, at, 16) && at == body.size();
        if (json_text && body.front() == '{' && refuses(body)) shown.error = true;
    }
    if (shown.error) told = Told::FAILURE;
    describe_text(shown.text, told, shown.coded, shown.code, shell, asked, facts);
    if (!(facts.flags & EMPTY) && json_text && is_vacant(body)) facts.flags |= EMPTY;
    if (!(facts.flags & FAILED) && json_text && body.front() == '{' && is_under_way(body, 2, memory().line)) facts.flags |= PENDING;
    if (shown.structured != 0) {
        facts.bag ^= shown.structured;
        // What stands there may be new however short the text is.
        facts.flags &= ~static_cast<unsigned>(EMPTY | ACKNOWLEDGED);
    }
    if (shown.payload != 0) facts.flags |= LOOSE | PICTURE;
    return facts;
}

// `json` is what an outcome was before anything was masked.
inline Seen look_at(const char* json, std::size_t size, bool readable) {
    Seen seen;
    Shown& shown = shown_memory();
    if (readable) read_result({json, size}, shown);
    else shown.assign({json, size});
    const View body = trimmed(shown.text);
    seen.raw = hash(body, K0) ^ shown.payload ^ shown.structured;
    read_numbers(body, seen.numbers);
    return seen;
}

}  // namespace loopguard::facts
