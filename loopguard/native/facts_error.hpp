// What a failed outcome says: whether a line tells of a failure, what kind of failure it is, and its signature.
//
// English phrases of shells, compilers, interpreters, HTTP and agent harnesses, on lower-case text. A text in another
// language has no phrases; it is then compared as a whole only.
#pragma once

#include "facts_text.hpp"

namespace loopguard::facts {

constexpr View ERROR_WORDS[] = {
    "failed", "fail", "fails", "failure", "failures", "fatal", "cannot", "can't", "couldn't", "denied", "invalid", "unable",
    "undefined", "unrecognized", "unexpected", "missing", "unknown", "must", "refused", "usage", "doesn't", "isn't", "errors",
};
constexpr View AFTER_NOT[] = {
    "found", "exist", "available", "defined", "allowed", "permitted", "supported", "recognized", "executable", "valid",
};
constexpr View OPENINGS[] = {
    "error:", "error -", "error executing", "fatal:", "fatal error", "failed:", "failed to", "failure:", "exception:", "usage:",
    "unhandled", "could not ", "cannot ", "can't ", "unable to ", "invalid ", "npm err!", "traceback (most recent call last)",
};
constexpr View COMPLAINTS[] = {
    ": command not found", ": no such file or directory", ": cannot execute", ": permission denied", ": syntax error",
    "did not pass", "returned non-zero exit status", "introduced new syntax error", "no file open",
};
constexpr View TRANSIENT_PHRASES[] = {
    "rate limit", "rate-limit", "rate_limit", "ratelimit", "too many requests", "timed out", "timeout", "connection reset",
    "connection was reset", "connection aborted", "connection closed", "econnreset", "etimedout", "eai_again", "temporar",
    "service unavailable", "overloaded", "try again later", "try again in ", "bad gateway", "gateway time", "throttl",
    "internal server error", "resource busy", "is busy", "locked by another",
};
constexpr View TRANSIENT_CODES[] = {"429", "502", "503", "504"};
constexpr View UNPAID[] = {"credit", "quota", "billing", "payment", "balance", "subscription", "insufficient"};
constexpr View VERDICT_PHRASES[] = {
    "assertionerror", "failed test case", "did not pass", "test failed", "tests failed", "failures=", "assertion failed",
};
constexpr View REJECTIONS[] = {
    "exactly one action", "exactly one tool", "exactly one command", "exactly one code", "correct format", "expected format",
    "required format", "right format", "valid format", "response format", "output format", "no action found", "no valid action",
    "no tool call", "no valid tool call", "no function call", "no code block", "could not parse your", "failed to parse your",
    "unable to parse your", "could not extract", "format your action", "format your response", "malformed response",
    "your response did not", "your last message did not", "your output was not", "your response could not", "parse llm output",
    "parsing llm output", "invalid response format", "missing 'action:'", "invalid format",
};

inline bool ends_like_error(View word) noexcept { return ends(word, "error") || ends(word, "exception"); }

// `line` is in lower case. A traceback's head is no message: it is the same for every error.
inline bool is_error_line(View line) noexcept {
    if (has(line, "traceback (most recent call last)")) return false;
    View before;
    for (Words words(line); words.next();) {
        const View word = words.word;
        if (ends_like_error(word) || is_one_of(word, ERROR_WORDS)) return true;
        if (before == "not" && is_one_of(word, AFTER_NOT)) return true;
        if ((before == "no" && (word == "such" || word == "module")) || (before == "could" && word == "not") ||
            (before == "does" && word == "not")) {
            return true;
        }
        before = word;
    }
    return false;
}

// Whether a line, in lower case, says by its form that something failed; milder than a status, so few forms count.
inline bool says_failed(View line) noexcept {
    for (const View opening : OPENINGS) {
        if (starts(line, opening)) return true;
    }
    const std::size_t colon = line.find(':');
    if (colon != View::npos && colon < 60 && ends_like_error(line.substr(0, colon)) && !has(line.substr(0, colon), " ")) return true;
    if (line.size() < 400 && has_one_of(line, COMPLAINTS)) return true;
    if (line.size() < 120 && ends(line, ": not found")) return true;
    return line.size() < 80 && (ends(line, "does not exist") || ends(line, "does not exist.") || has(line, "not provided in the correct"));
}

inline bool is_transient(View text) noexcept {
    if (has_one_of(text, UNPAID)) return false;
    if (has_one_of(text, TRANSIENT_PHRASES)) return true;
    for (Words words(text); words.next();) {
        if (is_one_of(words.word, TRANSIENT_CODES)) return true;
    }
    return false;
}

// A red test or an assertion: the tool worked, and its answer is that something is wrong.
inline bool is_verdict(View text) noexcept {
    if (has_one_of(text, VERDICT_PHRASES) || starts(text, "failed ") || starts(text, "fail: ") || has(text, "\nfailed ") ||
        has(text, "\nfail: ")) {
        return true;
    }
    View before;
    for (Words words(text); words.next();) {
        if (words.word == "failed" && !before.empty() && is_digit(before.front())) return true;
        before = words.word;
    }
    return false;
}

// Appends a line without what differs between two cases of one error: quoted names, paths, numbers, case.
// `cut` ends at the first quoted name, for messages that begin with what could not be done.
inline std::uint64_t signature(View line, bool cut, std::string& out) {
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
        if (is_blank(c)) {
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
            if (path) {
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
