// What a call asks, as numbers to compare: its arguments without what may vary between two tries, their words,
// its program, its target, the lines it reads.
//
// Takes JSON that the canonical writer has accepted. Objects are hashed by their members in any order. One or two passes over
// the bytes; memory is reused by thread.
#pragma once

#include <algorithm>
#include <array>

#include "facts_command.hpp"
#include "facts_wording.hpp"

namespace loopguard::facts {

enum class ToolClass : int { OTHER, READ, WRITE, POLL, SHELL, SPAWN, SEND, NOTE, MOVE, REJECT };

enum CallFlag : unsigned { CHANGES = 1, WAITS = 2, FREE_TEXT = 4, BARE = 8, VOLATILE = 16, VIEWS = 32, INLINE_CODE = 64 };

struct CallFacts {
    std::uint64_t near = 0;     // arguments without what may vary
    std::uint64_t program = 0;  // of a shell's command; the operation of an editor
    std::uint64_t family = 0;   // the program's first word
    std::uint64_t target = 0;
    long first_line = 0, end_line = 0;
    long pause_s = 0;  // how long it says that it waits
    std::uint64_t numbers = 0;  // of what `near` leaves out
    unsigned flags = 0;
    Wording wording;
};

constexpr View COMMAND_KEYS[] = {
    "command", "cmd", "code", "script", "input", "query", "sql", "arg", "action_input", "bash", "source",
    "q", "search", "keywords", "question", "jql", "filter", "prompt", "instruction", "instructions", "task",
};
constexpr View CHATTER_KEYS[] = {"explanation", "reason", "title", "description", "thought", "justification", "rationale", "comment", "intent", "tool_summary", "security_risk"};
constexpr View VOLATILE_KEYS[] = {"timestamp", "request_id", "requestid", "trace_id", "nonce", "idempotency_key", "idempotencykey", "ts"};
constexpr View PAGE_KEYS[] = {
    "offset", "limit", "page", "start", "end", "line", "lines", "timeout", "max", "n", "count", "top_k", "k", "size", "skip", "page_size",
    "per_page", "max_results", "start_line", "end_line", "wait", "seconds", "view_range", "num", "head_limit", "timeout_ms", "line_start",
    "line_end", "yield_time_ms", "max_output_tokens", "insert_line",
};
constexpr View TARGET_KEYS[] = {
    "path", "file", "file_path", "filepath", "filename", "notebook_path", "target_file", "absolute_path", "uri", "url", "dir", "directory",
    "to", "target", "sessionkey", "session_key", "channel", "recipient", "conversation", "address",
};
constexpr View VIEWING[] = {"view", "read", "list", "get", "open", "show"};

// A number that stands by itself becomes `#`; `strict` also looks for signs, dots, slashes and colons beside it.
inline std::size_t put_number(View text, std::size_t at, bool strict, std::string& out) {
    std::size_t end = at;
    while (end < text.size() && (is_digit(text[end]) || (text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1]) && end > at))) ++end;
    const char before = at > 0 ? text[at - 1] : ' ', after = end < text.size() ? text[end] : ' ';
    const auto joins = [strict](char c) { return is_word(c) || c == '.' || (strict && (c == '-' || c == '/' || c == ':')); };
    if (joins(before) || (joins(after) && !(after == '.' && end + 1 >= text.size()))) out.append(text.substr(at, end - at));
    else out += '#';
    return end;
}

// The text of an edit: only white space and standing numbers may vary, since what stands in quotes is the change.
inline std::uint64_t near_edit(View text, std::string& out) {
    out.clear();
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (is_blank(c)) {
            if (!out.empty() && out.back() != ' ') out += ' ';
            ++at;
        } else if (is_digit(c)) {
            at = put_number(text, at, false, out);
        } else {
            out += c;
            ++at;
        }
    }
    return hash(trimmed(out), K0);
}

// A question or a look: quotes, blanks, slashes at the end, the order of short flags and standing numbers may vary.
inline std::uint64_t near_command(View text, std::string& out, std::string& word) {
    out.clear();
    std::size_t at = 0;
    while (at < text.size()) {
        while (at < text.size() && is_blank(text[at])) ++at;
        word.clear();
        while (at < text.size() && !is_blank(text[at])) {
            const char c = text[at];
            if (c == '\'' || c == '"' || c == '`') {
                ++at;
            } else if (is_digit(c)) {
                at = put_number(text, at, true, word);
            } else {
                if (!(c == '/' && !word.empty() && word.back() == '/' && word.size() > 1 && word[word.size() - 2] != ':')) word += c;
                ++at;
            }
        }
        std::size_t skip = 0;
        while (word.size() > skip + 2 && word[skip] == '.' && word[skip + 1] == '/') skip += 2;
        while (word.size() > skip + 1 && (word.back() == '/' || word.back() == ';')) word.pop_back();
        if (word.size() - skip >= 3 && word.size() - skip <= 7 && word[skip] == '-' && std::all_of(word.begin() + 1, word.end(), is_letter)) {
            std::sort(word.begin() + 1, word.end());
        }
        if (word.size() == skip || (word == ";" && skip == 0)) continue;
        if (!out.empty()) out += ' ';
        out.append(word, skip);
    }
    return hash(out, K1);
}

struct Own {
    std::string text, out, word, key;
    std::uint64_t numbers = 0;  // of the numbers left out so far
};

inline Own& own_memory() {
    thread_local Own own;
    return own;
}

// A key in lower case; names in the tables are.
inline View key_of(View key, std::string& out) {
    lower_into(inner(key), out);
    return out;
}

// Whether what stands under a key is made anew for each call. Seconds with their fraction in a text name a message of a chat.
inline bool is_volatile(View key, View value) noexcept {
    if (!is_one_of(key, VOLATILE_KEYS)) return false;
    if (kind_of(value) != Json::STRING || (key != "ts" && key != "timestamp")) return true;
    const View text = inner(value);
    const std::size_t point = text.find('.');
    const auto plain = [](char c) { return is_digit(c) || c == '.'; };
    return !(point != View::npos && point >= 9 && text.find('.', point + 1) == View::npos && std::all_of(text.begin(), text.end(), plain));
}

// A value without what may vary. `edit`: it changes something, so only the texts in it are loosened.
inline std::uint64_t near_value(View value, bool numbers_vary, bool edit, unsigned& flags, bool top) {
    Own& own = own_memory();
    switch (kind_of(value)) {
        case Json::STRING: {
            own.text.clear();
            append_decoded(value, own.text);
            if (edit && own.text.find_first_of(" \n\t") != std::string::npos) return near_edit(own.text, own.out);
            own.out.clear();
            for (const char c : trimmed(own.text)) {
                if (!is_blank(c)) own.out += c;
                else if (own.out.back() != ' ') own.out += ' ';
            }
            View text = own.out;
            while (starts(text, "./")) text.remove_prefix(2);
            while (text.size() > 1 && text.back() == '/') text.remove_suffix(1);
            return hash(text, K0);
        }
        case Json::NUMBER:
            if (!numbers_vary) return hash(value, K1);
            own.numbers = mix(own.numbers ^ hash(value, K1), K2);
            return K2;
        case Json::ARRAY: {
            std::uint64_t all = K1;
            for (Members items(value); items.next();) all = mix(all ^ near_value(items.value, numbers_vary, edit, flags, false), K2);
            return all;
        }
        case Json::OBJECT: break;
        default: return hash(value, K2);
    }
    std::uint64_t all = K0;
    for (Members members(value); members.next();) {
        const View key = key_of(members.key, own.key);
        if (is_volatile(key, members.value)) {
            if (top) flags |= VOLATILE;
            continue;
        }
        const std::uint64_t name = hash(key, K2);
        const bool page = is_one_of(key, PAGE_KEYS);
        all += mix(name ^ near_value(members.value, page, edit, flags, false), name | 1);
    }
    return all;
}

inline long whole_number(View value) noexcept {
    long number = 0;
    for (const char c : value) {
        if (!is_digit(c) || number > 100000000) return -1;
        number = number * 10 + (c - '0');
    }
    return value.empty() ? -1 : number;
}

// The first word of a text that looks like a file's name.
inline View file_in(View text) noexcept {
    for (std::size_t at = 0; at < text.size();) {
        while (at < text.size() && !is_word(text[at]) && text[at] != '/' && text[at] != '.' && text[at] != '~') ++at;
        const std::size_t begin = at;
        while (at < text.size() && (is_word(text[at]) || text[at] == '/' || text[at] == '.' || text[at] == '-' || text[at] == '~')) ++at;
        View word = text.substr(begin, at - begin);
        while (!word.empty() && (word.back() == '.' || word.back() == '/')) word.remove_suffix(1);
        const std::size_t dot = word.rfind('.'), slash = word.rfind('/');
        if (slash != View::npos && slash > 0 && word.size() > 3) return word;
        if (dot != View::npos && dot > 0 && word.size() - dot >= 2 && word.size() - dot <= 6 && is_letter(word[dot + 1])) return word;
    }
    return {};
}

struct Arguments {
    View command, target, offset, limit, end, range;
    std::size_t count = 0;
    long pause_s = 0;
};

constexpr View WAIT_KEYS[] = {"seconds", "secs", "duration", "time", "timeout", "wait", "delay", "minutes", "ms", "milliseconds"};

// How long a call says that it waits: under a key that says so, or under any key of a tool that only waits.
inline long pause_of(View key, View value, bool waits) noexcept {
    const bool named = starts(key, "wait") || starts(key, "sleep") || starts(key, "delay");
    std::size_t behind = key.rfind('_');
    const View word = key.substr(behind == View::npos ? 0 : behind + 1);
    if (!named && !(waits && (is_one_of(word, WAIT_KEYS) || word == "s"))) return 0;
    const long number = whole_number(value.substr(0, value.find('.')));
    if (number <= 0) return 0;
    if (word == "ms" || word == "milliseconds") return number / 1000;
    return std::min(word == "minutes" ? number * 60 : number, 1000000L);
}

inline Arguments read_arguments(View args, bool shell, bool waits) {
    Arguments found;
    std::size_t command_rank = 99, target_rank = 99;
    Own& own = own_memory();
    View only;
    for (Members members(args); members.next(); ++found.count) {
        const View key = key_of(members.key, own.key);
        const auto kind = kind_of(members.value);
        if (kind == Json::STRING) {
            only = members.value;
            // One word is a name or an id, but for a shell.
            const bool text = shell || has(members.value, " ") || has(members.value, "\\n");
            for (std::size_t i = 0; text && i < command_rank && i < std::size(COMMAND_KEYS); ++i) {
                if (key == COMMAND_KEYS[i]) command_rank = i, found.command = members.value;
            }
            for (std::size_t i = 0; i < target_rank && i < std::size(TARGET_KEYS); ++i) {
                if (key == TARGET_KEYS[i]) target_rank = i, found.target = members.value;
            }
        } else if (kind == Json::NUMBER) {
            found.pause_s = std::max(found.pause_s, pause_of(key, members.value, waits));
            if (key == "offset" || key == "start_line" || key == "line_start") found.offset = members.value;
            if (key == "limit") found.limit = members.value;
            if (key == "end_line" || key == "line_end") found.end = members.value;
        } else if (kind == Json::ARRAY && key == "view_range") {
            found.range = members.value;
        }
    }
    if (found.command.empty() && found.count == 1 && !only.empty() && has(only, " ")) found.command = only;
    return found;
}

inline void read_lines(const Arguments& members, CallFacts& facts) {
    long first = whole_number(members.offset), end = whole_number(members.end);
    if (first >= 0 && whole_number(members.limit) > 0) end = first + whole_number(members.limit) - 1;
    if (!members.range.empty()) {
        int place = 0;
        for (Members items(members.range); items.next(); ++place) (place == 0 ? first : end) = whole_number(items.value);
        if (first >= 0 && end < 0) end = 1000000000;
    }
    if (first >= 0 && end >= first) facts.first_line = first, facts.end_line = end + 1;
}

// `sed -n '10,20p' file` reads lines.
inline void read_sed(View text, CallFacts& facts) {
    const std::size_t sed = text.find("sed -n ");
    if (sed == View::npos) return;
    std::size_t at = sed + 7;
    while (at < text.size() && (text[at] == '\'' || text[at] == '"')) ++at;
    long numbers[2] = {0, 0};
    for (int i = 0; i < 2; ++i, ++at) {
        const std::size_t begin = at;
        while (at < text.size() && is_digit(text[at]) && at - begin < 9) numbers[i] = numbers[i] * 10 + (text[at++] - '0');
        if (at == begin || at == text.size() || text[at] != (i == 0 ? ',' : 'p')) return;
    }
    if (numbers[1] < numbers[0]) return;
    facts.first_line = numbers[0], facts.end_line = numbers[1] + 1;
    const View file = file_in(text.substr(at));
    facts.target = file.empty() ? 0 : hash(file, K1);
}

// Whether a text is a statement of SQL that changes something; a question to a search may begin with the same word.
inline bool changes_by_sql(View text, std::string& out) {
    lower_into(trimmed(text).substr(0, 400), out);
    Words words(out);
    if (!words.next()) return false;
    const View verb = words.word;
    if (!words.next()) return false;
    const View next = words.word;
    if (verb == "insert" || verb == "merge" || verb == "replace") return next == "into";
    if (verb == "delete") return next == "from";
    if (verb == "update") return has(out, " set ") || has(out, "\nset ");
    const bool thing = next == "table" || next == "index" || next == "view" || next == "schema" || next == "database" || next == "column" || next == "unique" || next == "or" || next == "temporary";
    return thing && (verb == "create" || verb == "alter" || verb == "drop" || verb == "truncate");
}

inline void describe_shell(View text, CallFacts& facts) {
    const Command command = describe_command(text);
    facts.program = hash(command.program, K0);
    const View first = View(command.program).substr(0, command.program.find(' '));
    const bool interpreter = first == "code" || first == "python" || first == "python3" || first == "node" || first == "bash" || first == "sh" || first == "perl" || first == "ruby";
    if (interpreter) facts.flags |= INLINE_CODE;
    facts.family = hash(first, K0);
    if (command.changes) facts.flags |= CHANGES;
    if (command.waits || trimmed(text).empty()) facts.flags |= WAITS;
    facts.pause_s += command.pause_s;
}

// `json` is any accepted JSON; bytes that are none (`readable` false) are the text of a command.
inline CallFacts describe_call(const char* json, std::size_t size, bool readable, ToolClass tool) {
    CallFacts facts;
    Own& own = own_memory();
    own.numbers = 0;
    thread_local std::string command;
    const View whole(json, size);
    const auto kind = readable ? kind_of(whole) : Json::STRING;
    Arguments members;
    bool has_command = false;
    command.clear();
    if (!readable) {
        command.assign(json, size);
        has_command = true;
    } else if (kind == Json::STRING) {
        append_decoded(whole, command);
        has_command = true;
    } else if (kind == Json::OBJECT) {
        members = read_arguments(whole, tool == ToolClass::SHELL, tool == ToolClass::POLL);
        facts.pause_s = members.pause_s;
        if (!members.command.empty()) {
            append_decoded(members.command, command);
            has_command = true;
        }
        if (members.count == 0) facts.flags |= BARE;
    }
    if (has_command && (tool == ToolClass::WRITE || tool == ToolClass::READ || tool == ToolClass::OTHER) && !members.target.empty() &&
        command.find(' ') == std::string::npos) {
        facts.program = hash(command, K0);
        if (is_one_of(View(command), VIEWING)) facts.flags |= VIEWS;
        has_command = false;
    }
    if (tool == ToolClass::WRITE || tool == ToolClass::SEND || tool == ToolClass::SPAWN) {
        if (!(facts.flags & VIEWS)) facts.flags |= CHANGES;
    }
    if (has_command) {
        facts.flags |= FREE_TEXT;
        strip_fences(command, own.text);
        command.assign(trimmed(own.text));
        if (tool == ToolClass::SHELL) describe_shell(command, facts);
        else if (changes_by_sql(command, own.out)) facts.flags |= CHANGES;
    }
    if (!members.target.empty()) {
        own.text.clear();
        append_decoded(members.target, own.text);
        View target = trimmed(own.text);
        while (starts(target, "./")) target.remove_prefix(2);
        facts.target = hash(target, K1);
    } else if (has_command) {
        const View file = file_in(command);
        if (!file.empty()) facts.target = hash(file, K1);
    }
    read_lines(members, facts);
    if (tool == ToolClass::SHELL && facts.end_line == 0) read_sed(command, facts);

    if (has_command && tool != ToolClass::WRITE) {
        const bool edit = (facts.flags & CHANGES) != 0;
        facts.near = edit ? near_edit(command, own.out) : near_command(command, own.out, own.word);
        if (kind == Json::OBJECT) {
            for (Members rest(whole); rest.next();) {
                if (rest.value.data() == members.command.data() || is_one_of(key_of(rest.key, own.key), CHATTER_KEYS)) continue;
                const View key = key_of(rest.key, own.key);
                if (is_volatile(key, rest.value)) {
                    facts.flags |= VOLATILE;
                    continue;
                }
                const std::uint64_t name = hash(key, K2);
                facts.near += mix(name ^ near_value(rest.value, is_one_of(key, PAGE_KEYS), edit, facts.flags, false), name | 1);
            }
        }
    } else if (readable) {
        facts.near = near_value(whole, false, (facts.flags & CHANGES) != 0, facts.flags, true);
    }
    facts.numbers = own.numbers;
    facts.wording.read(has_command ? View(command) : View(json, size));
    return facts;
}

}  // namespace loopguard::facts
