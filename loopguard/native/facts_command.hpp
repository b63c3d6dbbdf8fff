// What a shell command does, as far as its form tells: its program, whether it changes something, whether it only waits.
//
// Quotes, separators, redirections and here-documents are followed; nothing is expanded. No state, any thread.
#pragma once

#include <vector>

#include "facts_text.hpp"

namespace loopguard::facts {

constexpr View TWO_WORD_PROGRAMS[] = {
    "git", "pip", "pip3", "python", "python3", "npm", "npx", "yarn", "pnpm", "cargo", "go", "docker", "conda", "apt", "apt-get",
    "kubectl", "make", "poetry", "uv", "gh", "systemctl", "bash", "sh", "node", "brew", "mvn", "gradle", "helm", "terraform",
};
constexpr View CHANGING_PROGRAMS[] = {
    "rm", "mv", "cp", "mkdir", "rmdir", "touch", "tee", "patch", "chmod", "chown", "ln", "truncate", "dd", "unzip", "wget",
    "apply_patch", "kill", "pkill", "git add", "git commit", "git checkout", "git reset", "git apply", "git stash", "git push",
    "git pull", "git clone", "git bisect", "git switch", "git cherry-pick", "git revert", "git am", "git merge", "git rebase", "git rm", "git mv", "git restore", "git clean", "pip install",
    "pip3 install", "pip uninstall", "npm install", "npm ci", "yarn add", "pnpm add", "uv add", "poetry add", "apt install",
    "apt-get install", "conda install", "brew install", "cargo add", "go get",
};
constexpr View WAITING_PROGRAMS[] = {"sleep", "wait", "tail", "ps", "top", "squeue", "nvidia-smi", "watch", "jobs", "pgrep", "uptime", "free"};
constexpr View PREFIXES[] = {"sudo", "time", "nohup", "exec", "env", "command", "stdbuf"};
constexpr View SETTING_WORDS[] = {"cd", "export", "source", ".", "set", "unset", "ulimit"};
constexpr View CODE_WORDS[] = {"import", "from", "def", "class", "print", "with", "try", "return", "async", "const", "let", "var", "function"};

struct Command {
    std::string program;  // "git status", "pytest"; "code" for what is no command line; empty for nothing
    bool changes = false;
    bool waits = false;
    long pause_s = 0;  // what its `sleep` says
};

inline bool is_plain_name(View word) noexcept {
    if (word.empty() || !is_letter(word.front())) return false;
    for (const char c : word) {
        if (!is_word(c) && c != '.' && c != '-' && c != '+') return false;
    }
    return true;
}

// One simple command, from separator to separator, with its words and where it writes to.
struct Segment {
    std::vector<View> words;
    bool writes = false;
};

// Reads a command line. Words are views of `text` without their outer quotes.
inline void split_command(View text, std::vector<Segment>& segments) {
    segments.clear();
    segments.emplace_back();
    std::string heredoc;
    std::size_t at = 0;
    const auto cut = [&segments] {
        if (!segments.back().words.empty() || segments.back().writes) segments.emplace_back();
    };
    while (at < text.size() && segments.size() < 64) {
        const char c = text[at];
        if (c == '\n') {
            cut();
            ++at;
            if (!heredoc.empty()) {
                while (at < text.size()) {
                    const std::size_t end = std::min(text.find('\n', at), text.size());
                    const View line = trimmed(text.substr(at, end - at));
                    at = std::min(end + 1, text.size());
                    if (line == heredoc) break;
                }
                heredoc.clear();
            }
        } else if (c == ';' || c == '&' || c == '|') {
            cut();
            ++at;
        } else if (is_blank(c) || c == '(' || c == ')') {
            ++at;
        } else if (c == '#' && segments.back().words.empty()) {
            at = std::min(text.find('\n', at), text.size());
        } else if (c == '>') {
            const char before = at > 0 ? text[at - 1] : ' ';
            ++at;
            while (at < text.size() && (text[at] == '>' || text[at] == '|')) ++at;
            if (at < text.size() && text[at] == '&') {
                for (++at; at < text.size() && is_digit(text[at]);) ++at;
                continue;
            }
            while (at < text.size() && text[at] == ' ') ++at;
            const bool nowhere = starts(text.substr(at), "/dev/null");
            if (!nowhere && before != '-' && before != '=' && before != '2' && at < text.size() && text[at] != '=') segments.back().writes = true;
            while (at < text.size() && !is_blank(text[at]) && text[at] != ';' && text[at] != '&' && text[at] != '|') ++at;
        } else if (c == '<') {
            const bool document = starts(text.substr(at), "<<") && !starts(text.substr(at), "<<<");
            while (at < text.size() && (text[at] == '<' || text[at] == '-')) ++at;
            while (at < text.size() && (text[at] == ' ' || text[at] == '\'' || text[at] == '"')) ++at;
            const std::size_t begin = at;
            while (at < text.size() && is_word(text[at])) ++at;
            if (document) heredoc = text.substr(begin, at - begin);
            if (at < text.size() && (text[at] == '\'' || text[at] == '"')) ++at;
        } else {
            const std::size_t begin = at;
            bool quoted = false;
            while (at < text.size() && !is_blank(text[at]) && text[at] != ';' && text[at] != '&' && text[at] != '|' && text[at] != '>' && text[at] != '<' && text[at] != ')') {
                const char open = text[at];
                if (open == '\\') {
                    ++at;
                } else if (open == '\'' || open == '"' || open == '`') {
                    const std::size_t close = text.find(open, at + 1);
                    if (close == View::npos) {
                        at = text.size();
                        break;
                    }
                    quoted = quoted || at == begin;
                    at = close;
                }
                if (at < text.size()) ++at;
            }
            at = std::min(at, text.size());
            View word = text.substr(begin, at - begin);
            if (quoted && word.size() >= 2) word = word.substr(1, word.size() - 2);
            if (segments.back().words.size() < 24) segments.back().words.push_back(word);
            if (at == begin) ++at;
        }
    }
}

// The program of a segment, with its second word where that says what is done; `first` is where its words begin.
inline std::string program_of(const Segment& segment) {
    std::size_t first = 0;
    const auto& words = segment.words;
    for (; first < words.size(); ++first) {
        const View word = words[first];
        const std::size_t equals = word.find('=');
        if (equals != View::npos && equals > 0 && is_plain_name(word.substr(0, equals))) continue;
        if (is_one_of(word, PREFIXES)) continue;
        if (word == "timeout") {
            ++first;
            continue;
        }
        break;
    }
    if (first >= words.size()) return {};
    View name = words[first];
    if (name.rfind('/') != View::npos) name = name.substr(name.rfind('/') + 1);
    if (!is_plain_name(name) || is_one_of(name, CODE_WORDS)) return "code";
    if (first + 1 < words.size() && words[first + 1].front() == '=') return "code";
    std::string program(name);
    if (!is_one_of(name, TWO_WORD_PROGRAMS)) return program;
    for (std::size_t i = first + 1; i < words.size(); ++i) {
        View next = words[i];
        if (next == "-m" || next == "-C") {
            if (next == "-C") ++i;
            continue;
        }
        if (next.front() == '-') continue;
        if (next.rfind('/') != View::npos) next = next.substr(next.rfind('/') + 1);
        program += ' ';
        program += next.substr(0, 40);
        break;
    }
    return program;
}

inline bool edits_in_place(const Segment& segment) noexcept {
    bool editor = false;
    for (const View word : segment.words) {
        if (word == "sed" || word == "perl") editor = true;
        if (editor && word.size() >= 2 && word[0] == '-' && word[1] != '-' && has(word, "i") && word.find_first_of("/.") == View::npos) return true;
        if (editor && starts(word, "--in-place")) return true;
    }
    return false;
}

// Fences and the marks of a notebook's cell are no part of a command.
inline void strip_fences(View text, std::string& out) {
    out.clear();
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        View line = text.substr(at, end - at);
        at = end + 1;
        if (starts(trimmed(line), "```")) continue;
        while (!line.empty() && line.back() == '`' && ends(line, "```")) line.remove_suffix(3);
        if (!line.empty() && (line.front() == '!' || line.front() == '%' || starts(line, "$ "))) line.remove_prefix(1);
        out.append(line);
        out += '\n';
    }
}

// "90", "5m", "1h" in seconds; 0 for what is no such time.
inline long seconds(View text) noexcept {
    long value = 0;
    std::size_t at = 0;
    for (; at < text.size() && is_digit(text[at]) && at < 6; ++at) value = value * 10 + (text[at] - '0');
    const View unit = text.substr(at);
    if (unit == "m") return value * 60;
    if (unit == "h") return value * 3600;
    return unit.empty() || unit == "s" ? value : 0;
}

inline Command describe_command(View text) {
    thread_local std::vector<Segment> segments;
    Command command;
    split_command(text, segments);
    std::string first;
    for (const Segment& segment : segments) {
        const std::string program = program_of(segment);
        if (program.empty()) continue;
        if (first.empty()) first = program;
        const std::size_t blank = program.find(' ');
        if (command.program.empty() && !is_one_of(View(program).substr(0, blank), SETTING_WORDS)) command.program = program;
        if (is_one_of(View(program), CHANGING_PROGRAMS) || edits_in_place(segment)) command.changes = true;
        if (program == "sleep") {
            command.waits = true;
            command.pause_s += seconds(segment.words.back());
        }
    }
    if (command.program.empty()) {
        command.program = first;
        // It sets the stage for what comes, and nothing else.
        command.changes = command.changes || !first.empty();
    }
    if (command.program == "code") {
        command.changes = command.waits = false;
        return command;
    }
    for (const Segment& segment : segments) command.changes = command.changes || segment.writes;
    command.waits = command.waits || is_one_of(View(command.program), WAITING_PROGRAMS);
    return command;
}

}  // namespace loopguard::facts
