// What a failed outcome says: whether a line tells of a failure, what kind of failure it is, and its signature.
//
// English words of shells, compilers, interpreters, HTTP and agent harnesses, on lower-case text. A text in another
// language has none; it is then compared as a whole only. One pass over the words answers all questions at once.
#pragma once

#include <array>

#include "facts_wording.hpp"

namespace loopguard::facts {

// What a word may be part of. A bit with `AFTER` counts only behind certain words.
enum Sense : std::uint32_t {
    ERROR_WORD = 1, AFTER_NOT = 2, AFTER_NO = 4, PASSING = 8, AFTER_PASSING = 16, UNPAID = 32, RED = 64, AFTER_RED = 128, GOES_ON = 256,
    AFTER_GOES_ON = 512, FORMAT_WORD = 1024, NOT_WORD = 2048,
};

struct Entry {
    View word;
    std::uint32_t senses;
};

constexpr Entry ENTRIES[] = {
    {"failed", ERROR_WORD | AFTER_RED}, {"fail", ERROR_WORD}, {"fails", ERROR_WORD}, {"failure", ERROR_WORD}, {"failures", ERROR_WORD},
    {"fatal", ERROR_WORD}, {"cannot", ERROR_WORD}, {"can't", ERROR_WORD}, {"couldn't", ERROR_WORD}, {"denied", ERROR_WORD},
    {"invalid", ERROR_WORD}, {"unable", ERROR_WORD}, {"undefined", ERROR_WORD}, {"unrecognized", ERROR_WORD}, {"unexpected", ERROR_WORD},
    {"missing", ERROR_WORD}, {"unknown", ERROR_WORD}, {"must", ERROR_WORD}, {"refused", ERROR_WORD | AFTER_PASSING}, {"usage", ERROR_WORD},
    {"doesn't", ERROR_WORD}, {"isn't", ERROR_WORD}, {"errors", ERROR_WORD}, {"error", ERROR_WORD | AFTER_PASSING},
    {"exception", ERROR_WORD}, {"assertionerror", ERROR_WORD | RED},
    {"found", AFTER_NOT}, {"exist", AFTER_NOT}, {"available", AFTER_NOT}, {"defined", AFTER_NOT}, {"allowed", AFTER_NOT},
    {"permitted", AFTER_NOT}, {"supported", AFTER_NOT}, {"recognized", AFTER_NOT}, {"executable", AFTER_NOT}, {"valid", AFTER_NOT},
    {"such", AFTER_NO}, {"module", AFTER_NO}, {"not", NOT_WORD}, {"pass", AFTER_RED},
    {"timeout", PASSING}, {"econnreset", PASSING}, {"etimedout", PASSING}, {"eai_again", PASSING}, {"overloaded", PASSING},
    {"throttled", PASSING}, {"throttling", PASSING}, {"ratelimit", PASSING}, {"rate_limit", PASSING}, {"ratelimited", PASSING},
    {"temporarily", PASSING}, {"temporary", PASSING}, {"429", PASSING}, {"502", PASSING}, {"503", PASSING}, {"504", PASSING},
    {"limit", AFTER_PASSING}, {"limited", AFTER_PASSING}, {"limits", AFTER_PASSING}, {"many", AFTER_PASSING}, {"out", AFTER_PASSING},
    {"reset", AFTER_PASSING}, {"aborted", AFTER_PASSING}, {"closed", AFTER_PASSING}, {"unavailable", AFTER_PASSING},
    {"later", AFTER_PASSING}, {"gateway", AFTER_PASSING}, {"busy", AFTER_PASSING}, {"by", AFTER_PASSING},
    {"credit", UNPAID}, {"credits", UNPAID}, {"quota", UNPAID}, {"billing", UNPAID}, {"payment", UNPAID}, {"balance", UNPAID},
    {"subscription", UNPAID}, {"insufficient", UNPAID},
    {"running", GOES_ON}, {"pending", GOES_ON}, {"queued", GOES_ON}, {"waiting", GOES_ON}, {"processing", GOES_ON}, {"still", GOES_ON},
    {"building", GOES_ON}, {"starting", GOES_ON}, {"provisioning", GOES_ON}, {"deploying", GOES_ON}, {"compiling", GOES_ON}, {"downloading", GOES_ON}, {"installing", GOES_ON},
    {"scheduled", GOES_ON}, {"initializing", GOES_ON}, {"in_progress", GOES_ON}, {"creating", GOES_ON}, {"updating", GOES_ON}, {"preparing", GOES_ON},
    {"terminating", GOES_ON}, {"restarting", GOES_ON}, {"rebooting", GOES_ON}, {"uploading", GOES_ON}, {"syncing", GOES_ON}, {"migrating", GOES_ON},
    {"indexing", GOES_ON}, {"rendering", GOES_ON}, {"pulling", GOES_ON}, {"containercreating", GOES_ON}, {"podinitializing", GOES_ON},
    {"progress", AFTER_GOES_ON}, {"ready", AFTER_GOES_ON | AFTER_PASSING}, {"yet", AFTER_GOES_ON}, {"finished", AFTER_GOES_ON}, {"complete", AFTER_GOES_ON},
    {"output", AFTER_GOES_ON}, {"new", AFTER_GOES_ON},
    {"exactly", FORMAT_WORD}, {"format", FORMAT_WORD}, {"parse", FORMAT_WORD}, {"parsing", FORMAT_WORD}, {"extract", FORMAT_WORD},
    {"malformed", FORMAT_WORD}, {"action", FORMAT_WORD}, {"response", FORMAT_WORD}, {"reply", FORMAT_WORD}, {"call", FORMAT_WORD},
    {"block", FORMAT_WORD},
};

// Looks words up in a table with one probe or a few.
class Lexicon {
public:
    Lexicon() {
        for (const Entry& entry : ENTRIES) {
            std::size_t at = slot(entry.word);
            while (!table_[at].word.empty()) at = (at + 1) & MASK;
            table_[at] = entry;
        }
    }
    std::uint32_t operator[](View word) const noexcept {
        for (std::size_t at = slot(word); !table_[at].word.empty(); at = (at + 1) & MASK) {
            if (table_[at].word == word) return table_[at].senses;
        }
        return 0;
    }

private:
    static constexpr std::size_t MASK = 511;
    static std::size_t slot(View word) noexcept {
        const auto byte = [word](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(word[at])); };
        return (word.size() * 61 + byte(0) * 7 + byte(word.size() - 1) * 131 + byte(word.size() / 2) * 29) & MASK;
    }
    std::array<Entry, MASK + 1> table_{};
};

inline const Lexicon& lexicon() {
    static const Lexicon words;
    return words;
}

constexpr View BEFORE_PASSING[] = {
    "rate limit", "rate limited", "rate limits", "too many", "timed out", "connection reset", "was reset", "connection aborted",
    "connection closed", "connection refused", "service unavailable", "temporarily unavailable", "again later", "bad gateway", "server error", "resource busy",
    "is busy", "locked by", "not ready",
};
constexpr View BEFORE_GOES_ON[] = {"in progress", "not ready", "not yet", "not finished", "not complete", "new output", "no new", "nothing new"};

inline bool is_pair(View before, View word, View pair) noexcept {
    return pair.size() == before.size() + 1 + word.size() && starts(pair, before) && ends(pair, word);
}

template <std::size_t N>
inline bool is_one_pair(View before, View word, const View (&pairs)[N]) noexcept {
    for (const View pair : pairs) {
        if (is_pair(before, word, pair)) return true;
    }
    return false;
}

constexpr View NOT_UNDER_WAY[] = {"missing", "failing", "warning", "existing", "nothing"};
constexpr View NOT_BEGUN[] = {"enqueued", "submitted", "accepted", "runnable", "requested", "unstarted", "not_started", "notstarted", "not started", "in-progress", "in progress"};

// Whether a state, in lower case, is one on the way to another: a present participle, or something that has not begun.
inline bool goes_on_as_state(View state) noexcept {
    if (is_one_of(state, NOT_BEGUN) || starts(state, "await") || ends(state, "in_progress") || ends(state, "inprogress")) return true;
    return state.size() > 5 && ends(state, "ing") && !is_one_of(state, NOT_UNDER_WAY);
}

// What the words of a text say. `error`: it tells of a failure; `passing`: one that may pass by itself; `unpaid`: one that
// waiting does not cure; `red`: a test or an assertion that did not hold; `goes_on`: what was asked about is not finished.
struct Reading {
    bool error = false, passing = false, unpaid = false, red = false, goes_on = false, format = false;
};

inline Reading read_words(View low) noexcept {
    const Lexicon& words_known = lexicon();
    Reading reading;
    View earlier, before;
    for (Words words(low); words.next(); earlier = before, before = words.word) {
        const View word = words.word;
        const std::uint32_t senses = words_known[word];
        if (senses == 0) {
            const bool tail = word.size() > 5 && (word.back() == 'r' || word.back() == 'n');
            reading.error = reading.error || (tail && (ends(word, "error") || ends(word, "exception")));
            continue;
        }
        reading.error = reading.error || (senses & ERROR_WORD) || ((senses & AFTER_NOT) && before == "not") ||
                        ((senses & AFTER_NO) && before == "no") || ((senses & NOT_WORD) && (before == "could" || before == "does"));
        reading.passing = reading.passing || (senses & PASSING) || ((senses & AFTER_PASSING) && is_one_pair(before, word, BEFORE_PASSING));
        reading.unpaid = reading.unpaid || (senses & UNPAID);
        reading.goes_on = reading.goes_on || (senses & GOES_ON) || ((senses & AFTER_GOES_ON) && is_one_pair(before, word, BEFORE_GOES_ON) && earlier != "could" && earlier != "did");
        // "Not available yet", but not "yet another".
        const std::size_t behind = static_cast<std::size_t>(word.data() - low.data()) + word.size();
        reading.goes_on = reading.goes_on || (word == "yet" && low.substr(behind, 1) != " ");
        reading.format = reading.format || (senses & FORMAT_WORD);
        if (word == "fail" || word == "failed") {
            // The end of an address or a version counts nothing.
            const bool joined = !before.empty() && before.data() > low.data() && (before.data()[-1] == ':' || before.data()[-1] == '.');
            const bool counted = !before.empty() && is_digit(before.front()) && !joined;
            // A message that begins with what failed to be done tells of no test.
            const bool to_do = before.empty() && starts(low.substr(static_cast<std::size_t>(word.data() - low.data()) + word.size()), " to ");
            const bool line_start = !to_do && (before.empty() || word.data()[-1] == '\n');
            reading.red = reading.red || line_start || counted || before == "test" || before == "tests" || before == "assertion";
        }
        reading.red = reading.red || (senses & RED) || (word == "pass" && before == "not");
    }
    return reading;
}

constexpr View OPENINGS[] = {
    "error:", "error -", "error executing", "fatal:", "fatal error", "failed:", "failed to", "failure:", "exception:", "usage:",
    "missing required", "access denied", "permission denied", "unauthorized", "forbidden", "bad request", "request failed",
    "400 bad", "401 unauth", "403 forb", "404 not", "409 conf", "422 unp", "429 too", "500 int", "502 bad", "503 serv", "504 gate",
    "http 4", "http 5", "http error", "unhandled", "could not ", "cannot ", "can't ", "unable to ", "invalid ", "npm err!", "traceback (most recent call last)",
    "i could not ", "i couldn't ", "i cannot ", "i can't ", "i was unable ", "i am unable ", "i'm unable ", "i was not able ",
};
constexpr View BEHIND_COLON[] = {
    "command not found", "no such file or directory", "cannot execute", "permission denied", "syntax error",
};
constexpr View REJECTIONS[] = {
    "exactly one action", "exactly one tool", "exactly one command", "exactly one code", "correct format", "expected format",
    "required format", "right format", "valid format", "response format", "output format", "no action found", "no valid action",
    "no tool call", "no valid tool call", "no function call", "no code block", "could not parse your", "failed to parse your",
    "unable to parse your", "could not extract", "format your action", "format your response", "malformed response",
    "your response did not", "your last message did not", "your response could not", "parse llm output", "parsing llm output",
    "missing 'action:'",
};

// `line` is in lower case. A traceback's head is no message: it is the same for every error.
inline bool is_error_line(View line) noexcept {
    return read_words(line).error && !starts(line, "traceback (most recent");
}

// Whether a line, in lower case, says by its form that something failed; milder than a status, so few forms count.
inline bool says_failed(View line) noexcept {
    for (const View opening : OPENINGS) {
        if (line.front() == opening.front() && starts(line, opening)) return true;
    }
    const std::size_t first = line.find(':');
    if (first != View::npos && first < 60 && line.substr(0, first).find(' ') == View::npos) {
        const View name = line.substr(0, first);
        if (ends(name, "error") || ends(name, "exception")) return true;
    }
    if (line.size() < 400) {
        for (std::size_t colon = first; colon != View::npos; colon = line.find(':', colon + 1)) {
            const View rest = line.substr(std::min(colon + 2, line.size()));
            for (const View complaint : BEHIND_COLON) {
                if (starts(rest, complaint)) return true;
            }
        }
        if (has(line, "did not pass") || has(line, "returned non-zero exit status") || has(line, "introduced new syntax error")) return true;
    }
    if (line.size() < 120 && ends(line, ": not found")) return true;
    if (line.size() >= 80) return false;
    return ends(line, "does not exist") || ends(line, "does not exist.") || has(line, "not provided in the correct") || has(line, "no file open");
}

// Appends a line without what differs between two cases of one error: quoted names, paths, numbers, identifiers, case, and
// what the call itself named (`asked`, which may be null).
// `cut` ends at the first quoted name, for messages that begin with what could not be done.
inline std::uint64_t signature(View line, bool cut, const Wording* asked, std::string& out) {
    out.clear();
    std::size_t at = 0;
    while (at < line.size() && out.size() < 300) {
        const char c = line[at];
        const char before = at > 0 ? line[at - 1] : ' ';
        const bool quote = (c == '\'' && !is_word(before)) || c == '"' || c == '`' || c == '[';
        if (quote) {
            const std::size_t close = line.find(c == '[' ? ']' : c == '`' ? '\'' : c, at + 1);
            const std::size_t tick = c == '`' ? line.find('`', at + 1) : View::npos;
            const std::size_t behind = close < tick ? close : tick;
            if (cut) break;
            if (behind != View::npos && behind - at < 200) {
                out += 'q';
                at = behind + 1;
                continue;
            }
        }
        bool opaque = false;
        const std::size_t end_of_word = is_word(c) && !is_word(before) ? word_end(line, at, opaque) : at;
        if (opaque) {
            out += '#';
            at = end_of_word;
        } else if (is_blank(c)) {
            if (!out.empty() && out.back() != ' ') out += ' ';
            ++at;
        } else if (is_digit(c)) {
            while (at < line.size() && (is_digit(line[at]) || (line[at] == '.' && at + 1 < line.size() && is_digit(line[at + 1])))) ++at;
            out += '#';
        } else if (is_word(c) || c == '/' || c == '.') {
            std::size_t end = at;
            bool path = false;
            while (end < line.size() && (is_word(line[end]) || line[end] == '/' || line[end] == '.' || line[end] == '-')) {
                path = path || (line[end] == '/' && end + 1 < line.size());
                ++end;
            }
            const View word = line.substr(at, end - at);
            const std::size_t dot = word.rfind('.');
            path = path || (dot != View::npos && dot > 0 && word.size() - dot >= 2 && word.size() - dot <= 5 && is_letter(word[dot + 1]) && !has(word, "error"));
            if (path || (asked != nullptr && asked->has_all(word))) {
                out += 'p';
            } else {
                for (const char letter : word) {
                    if (!is_digit(letter)) out += letter;
                    else if (out.empty() || out.back() != '#') out += '#';
                }
            }
            at = end;
        } else {
            out += c;
            ++at;
        }
    }
    return hash(trimmed(out), K1);
}

}  // namespace loopguard::facts
