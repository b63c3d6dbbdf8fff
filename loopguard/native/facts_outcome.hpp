// What an outcome says, as numbers to compare: its lines as a bag, its lines without digits, its error's signatures,
// and whether it is empty, a bare acknowledgement, a failure, a rejection by the harness.
//
// Takes canonical JSON whose volatile parts are masked already. Two passes over the bytes at most; phrases are looked for in
// short texts and at the ends of long ones only. Memory is reused by thread.
#pragma once

#include <algorithm>
#include <vector>

#include "facts_empty.hpp"
#include "facts_error.hpp"
#include "facts_line.hpp"
#include "facts_numbers.hpp"
#include "facts_shown.hpp"

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
