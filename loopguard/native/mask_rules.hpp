// What is volatile in text, each kind only in a context that says so. Questions are asked at places the scanner picks.
#pragma once

#include "mask_duration.hpp"
#include "mask_edit.hpp"
#include "mask_kinds.hpp"
#include "mask_moment.hpp"
#include "mask_text.hpp"

namespace loopguard {

class TextMasks {
public:
    TextMasks(const uint8_t* text, size_t size, uint32_t mask, std::vector<Edit>& edits, Numbering& uuids, Numbering& ids)
        : text_(text, size), mask_(mask), edits_(edits), uuids_(uuids), ids_(ids) {}

    // Up to here everything is decided.
    size_t resume() const { return resume_; }

    // At the first digit of a run that no letter, digit or underscore precedes.
    void at_number(size_t place) {
        const size_t end = text_.skip_digits(place);
        const uint8_t next = text_.at(end);
        const uint8_t previous = text_.before(place);
        // Most numbers have a neighbour that no context has, so each question is asked only where its neighbour is.
        if ((mask_ & kTimestamp) && end - place <= 4 && timestamp(place, end)) return;
        if (previous == '[') {
            if ((mask_ & kProgress) && next == ':' && bar(place)) return;
        }
        if (next == 'x' && (mask_ & kAddress) && end - place == 1 && address(place)) return;
        if ((next == ']' || next == '.' || previous == '-') && (mask_ & kNotebook) && notebook(place, end)) return;
        if (is_any(previous, " \t#:=\"") && labelled(place, end)) return;
        if ((previous == '[' || previous == '/' || is_blank(previous)) && (mask_ & kProcessId) && process_id(place, end, previous)) return;
        if (next != '.' && next != ' ' && !is_letter(next) && next < 0x80) return;
        if ((mask_ & kProgress) && rate(place)) return;
        if (mask_ & kDuration) duration(place, previous);
    }

    // At a place with dashes 8, 13, 18 and 23 bytes on.
    void at_uuid(size_t place) {
        if (place < resume_ || !(mask_ & kUuid) || !is_uuid(place)) return;
        add(place, place + 36, kUuid, "<uuid:", uuids_.number(text_.data() + place, 36, true));
    }

    // At "/tm" or "/va".
    void at_path(size_t place) {
        if (place < resume_ || !(mask_ & kTempPath)) return;
        if (text_.has(place, "/tmp/")) return component(place + 5);
        if (!text_.has(place, "/var/folders/")) return;
        const size_t start = place + 13;
        const size_t first = component_end(start);
        if (first == start || text_.at(first) != '/') return;
        const size_t second = component_end(first + 1);
        if (second == first + 1) return;
        add(start, second, kTempPath, "<tmp>", 0);
        if (text_.has(second, "/T/")) component(second + 3);
    }

    // At a blank that no blank precedes and that a blank, a line's end or nothing follows.
    void at_blanks(size_t place) {
        if (place < resume_ || !(mask_ & kWhiteSpace)) return;
        const size_t end = text_.skip_blanks(place);
        const uint8_t next = text_.at(end);
        const bool trailing = end == text_.size() || next == '\n';
        if (trailing) {
            add_blank(place, end, false);
        } else if (end - place > 1 && place > 0 && text_.before(place) != '\n') {
            add_blank(place, end, true);
        }
    }

    // At a colon or equals sign behind a letter or quote that a technical id's name may end with.
    void at_assignment(size_t place) {
        if (place < resume_ || !(mask_ & kTechnicalId)) return;
        size_t end = place;
        if (end > 0 && text_.before(end) == '"') --end;
        size_t start = end;
        while (start > 0 && (is_word(text_.before(start)) || text_.before(start) == '-')) --start;
        if (!names_technical_id(text_.data() + start, end - start)) return;
        size_t value = text_.skip_blanks(place + 1);
        if (text_.at(value) == '"') ++value;
        size_t value_end = value;
        while (is_word(text_.at(value_end)) || is_any(text_.at(value_end), "-./+=")) ++value_end;
        if (value_end == value) return;
        if ((mask_ & kUuid) && value_end - value == 36 && is_uuid(value)) return;
        add(value, value_end, kTechnicalId, "<id:", ids_.number(text_.data() + value, value_end - value, false));
    }

    // At a frame of a spinner: a braille pattern, or one of | / - and backslash behind ": ".
    void at_spinner(size_t place, size_t size) {
        if (place < resume_ || !(mask_ & kProgress)) return;
        const uint8_t next = text_.at(place + size);
        if (size == 1 && place + size < text_.size() && !is_blank(next) && next != '\n') return;
        add(place, place + size, kProgress, "<progress>", 0);
    }

    // Line ends and blanks at the very end.
    void at_end() {
        if (!(mask_ & kWhiteSpace)) return;
        size_t start = text_.size();
        while (start > 0 && (is_blank(text_.before(start)) || text_.before(start) == '\n')) --start;
        if (start == text_.size()) return;
        while (!edits_.empty() && edits_.back().kind == kWhiteSpace && edits_.back().end > start) edits_.pop_back();
        if (!edits_.empty() && edits_.back().end > start) start = edits_.back().end;
        if (start < text_.size()) edits_.push_back({start, text_.size(), kWhiteSpace, 0, nullptr, false});
    }

    bool is_uuid(size_t place) const {
        if (is_word(text_.before(place)) && text_.before(place) != '_') return false;
        if (text_.size() < place + 36 || is_word(text_.at(place + 36))) return false;
        for (size_t i = 0; i < 36; ++i) {
            const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
            if (dash ? text_.at(place + i) != '-' : !is_hex(text_.at(place + i))) return false;
        }
        return true;
    }

    // Whether a key or a label names an id that is made anew for each request: its letters end with one of these.
    static bool names_technical_id(const uint8_t* name, size_t size) {
        char letters[32];
        size_t count = 0;
        for (size_t i = size; i-- > 0 && count < sizeof letters;) {
            if (name[i] != '_' && name[i] != '-') letters[count++] = static_cast<char>(is_letter(name[i]) ? name[i] | 0x20 : name[i]);
        }
        const std::string_view reversed(letters, count);
        for (const std::string_view ending : {"ditseuqer", "diecart", "dinaps", "dinoitalerroc"}) {
            if (reversed.substr(0, ending.size()) == ending) return true;
        }
        return reversed == "ecnon" || reversed == "gate";
    }

private:
    void add(size_t start, size_t end, uint32_t kind, const char* placeholder, uint32_t number) {
        // A date may begin before blanks that were cut already.
        while (!edits_.empty() && edits_.back().kind == kWhiteSpace && edits_.back().start >= start) edits_.pop_back();
        edits_.push_back({start, end, kind, number, placeholder, false});
        taken_ = end;
        resume_ = end;
    }
    void add_blank(size_t start, size_t end, bool blank) {
        edits_.push_back({start, end, kWhiteSpace, 0, nullptr, blank});
        resume_ = end;
    }

    // -- dates and clocks

    bool timestamp(size_t place, size_t digits_end) {
        const uint8_t next = text_.at(digits_end);
        const uint8_t previous = text_.before(place);
        const bool numeric = next == ':' || next == '-' || next == '/';
        size_t start = place;
        bool clock = false;
        size_t end = numeric ? moment_end(text_, place, clock) : place;
        if (end == place && digits_end - place <= 2 && (previous == ' ' || next == ' ')) {
            end = named_month(text_, place, digits_end, start, clock);
        }
        if (end == place || start < taken_) return false;
        if (!labels_moment(text_, start)) {
            if (!opens_line(text_, start) || !goes_on(text_, start, end, clock)) return false;
            stamped_end_ = end;
            while (stamped_end_ < text_.size() && text_.at(stamped_end_) != '\n') ++stamped_end_;
        }
        add(start, end, kTimestamp, "<time>", 0);
        return true;
    }

    // -- numbers with a label before them

    bool labelled(size_t place, size_t end) {
        const size_t label_end = text_.label_end(place);
        const uint8_t last = text_.before(label_end) | 0x20;
        // The letters that labels end with.
        constexpr uint32_t kLast = letter_set("dehnpsty");
        if (!is_letter(last) || (kLast >> (last - 'a') & 1) == 0) return false;
        const size_t label = text_.word_start(label_end);
        const size_t size = label_end - label;
        if (size < 2) return false;
        const auto is = [&](std::initializer_list<std::string_view> words) { return text_.is_one_of(label, label_end, words); };
        switch (last) {
            case 'd':
            case 's':
                if ((mask_ & kProcessId) && is({"pid", "ppid", "process"})) {
                    add(place, end, kProcessId, "<pid>", 0);
                    return true;
                }
                break;
            case 't':
            case 'y':
                if ((mask_ & kAttempt) && is({"attempt", "retry"})) {
                    add(place, end, kAttempt, "<attempt>", 0);
                    return true;
                }
                break;
            case 'e':
                if ((mask_ & kShellLine) && is({"line"}) && shell_line(place, end)) return true;
                break;
            default: break;
        }
        if ((mask_ & kEpoch) && is_epoch(place, end) && is({"timestamp", "ts", "epoch", "time"})) {
            add(place, text_.number_end(place), kEpoch, "<epoch>", 0);
            return true;
        }
        return (mask_ & kDuration) && bare_duration(place, label, label_end);
    }

    bool shell_line(size_t place, size_t end) {
        if (text_.at(end) != ':' || !text_.ends_before(place, "sh: line ")) return false;
        size_t start = place - 9;
        while (start > 0 && (is_word(text_.before(start)) || is_any(text_.before(start), "./-"))) --start;
        size_t name = place - 9;
        while (name > start && is_letter(text_.before(name))) --name;
        const bool shell = text_.is_one_of(name, place - 7, {"sh", "bash", "zsh", "dash", "ksh", "csh", "ash", "fish"});
        if (!shell || (start > 0 && text_.before(start) != '\n')) return false;
        add(place, end, kShellLine, "<line>", 0);
        return true;
    }

    bool is_epoch(size_t place, size_t end) const {
        const size_t size = end - place;
        return (size == 10 || size == 13 || size == 16 || size == 19) && text_.at(place) == '1';
    }

    // elapsed: 12.5, execution_time_ms=2.1: the label is the unit.
    bool bare_duration(size_t place, size_t label, size_t label_end) {
        if (!is_any(text_.at(label_end), ":=\"")) return false;
        const bool named = text_.is_one_of(label, label_end, {"duration", "elapsed", "latency"}) ||
                           (label_end - label > 3 && text_.ends_before(label_end, "_ms"));
        const size_t end = text_.number_end(place);
        if (!named || is_word(text_.at(end)) || text_.at(end) == '.' || text_.at(end) == ':') return false;
        if (unit_end(text_, text_.at(end) == ' ' ? end + 1 : end) != (text_.at(end) == ' ' ? end + 1 : end)) return false;
        add(place, end, kDuration, "<duration>", 0);
        return true;
    }

    // -- process ids and notebook cells

    bool process_id(size_t place, size_t end, uint8_t previous) {
        const uint8_t next = text_.at(end);
        bool found = false;
        if (previous == '[') {
            // A syslog line: time, host, name[N]:
            found = text_.has(end, "]:") && place >= 2 && is_word(text_.before(place - 1)) && place < stamped_end_;
        } else if (previous == '/') {
            found = next == '/' && text_.ends_before(place, "/proc/");
        } else if (is_blank(previous) && (end == text_.size() || is_blank(next) || next == '\n')) {
            found = is_job(place);
        }
        if (found) add(place, end, kProcessId, "<pid>", 0);
        return found;
    }

    // [n] before it, at the start of its line.
    bool is_job(size_t place) const {
        size_t end = place;
        while (end > 0 && is_blank(text_.before(end))) --end;
        if (text_.before(end) != ']') return false;
        size_t start = end - 1;
        while (start > 0 && is_digit(text_.before(start))) --start;
        if (start == end - 1 || text_.before(start) != '[') return false;
        return start == 1 || text_.at(start - 2) == '\n';
    }

    bool notebook(size_t place, size_t end) {
        const uint8_t previous = text_.before(place);
        bool found = false;
        if (previous == '[' && text_.at(end) == ']') {
            size_t word_end = place - 1;
            if (text_.before(word_end) == ' ') --word_end;
            const size_t word = text_.word_start(word_end);
            found = (word_end - word == 2 && text_.has(word, "In")) || (word_end - word == 3 && text_.has(word, "Out"));
        } else if (text_.at(end) == '.') {
            found = end - place >= 6 && text_.has(end, ".py") && !is_word(text_.at(end + 3));
        } else if (previous == '-') {
            found = text_.ends_before(place, "ipython-input-");
        }
        if (found) add(place, end, kNotebook, "<cell>", 0);
        return found;
    }

    // -- addresses

    bool address(size_t place) {
        if (text_.at(place) != '0') return false;
        size_t end = place + 2;
        while (is_hex(text_.at(end))) ++end;
        const size_t digits = end - place - 2;
        if (digits < 6 || digits > 16 || is_word(text_.at(end))) return false;
        if (!text_.ends_before(place, "at ") && !in_printed_object(place)) return false;
        add(place, end, kAddress, "<address>", 0);
        return true;
    }

    // Between < and > of one line.
    bool in_printed_object(size_t place) const {
        constexpr size_t kFar = 128;
        for (size_t back = 0; back < kFar && place > 0; ++back) {
            const uint8_t c = text_.before(place--);
            if (c == '<') return true;
            if (c == '>' || c == '\n') return false;
        }
        return false;
    }

    // -- progress

    // [00:01<00:04,  1.25s/it]
    bool bar(size_t place) {
        const auto span = [this](size_t at) {
            size_t digits = text_.digits(at, 3);
            if (digits < 1 || digits > 3) return at;
            size_t end = at + digits;
            if (text_.at(end) != ':' || text_.digits(end + 1, 2) != 2) return at;
            end += 3;
            return text_.at(end) == ':' && text_.digits(end + 1, 2) == 2 ? end + 3 : end;
        };
        size_t end = span(place);
        if (end == place || text_.at(end) != '<') return false;
        const size_t left = text_.at(end + 1) == '?' ? end + 2 : span(end + 1);
        if (left == end + 1 || text_.at(left) != ',') return false;
        constexpr size_t kLongest = 64;
        for (end = left; text_.at(end) != ']'; ++end) {
            if (end == text_.size() || end == left + kLongest || text_.at(end) == '\n') return false;
        }
        add(place, end, kProgress, "<progress>", 0);
        return true;
    }

    bool rate(size_t place) {
        size_t end = text_.number_end(place);
        if (text_.at(end) == ' ') ++end;
        if (!is_letter(text_.at(end))) return false;
        if (text_.has(end, "it/s") || text_.has(end, "s/it")) {
            end += 4;
        } else {
            const bool prefix = is_any(text_.at(end), "kKMGT");
            if (prefix) ++end;
            if (prefix && text_.at(end) == 'i') ++end;
            const bool unit = is_any(text_.at(end), "bB");
            if (unit) ++end;
            if ((!unit && !prefix) || !text_.has(end, "/s")) return false;
            end += 2;
        }
        if (is_word(text_.at(end))) return false;
        add(place, end, kProgress, "<progress>", 0);
        return true;
    }

    // -- durations

    bool duration(size_t place, uint8_t previous) {
        const size_t end = duration_end(text_, place);
        if (end == place || is_word(text_.at(end))) return false;
        const bool framed = (previous == '(' && text_.at(end) == ')') || text_.has(end, " elapsed") ||
                            labels_duration(text_, place, previous) || ends_go_test(text_, place, end, previous);
        if (framed) add(place, end, kDuration, "<duration>", 0);
        return framed;
    }

    // -- temporary paths

    size_t component_end(size_t place) const {
        while (is_word(text_.at(place)) || is_any(text_.at(place), ".-+")) ++place;
        return place;
    }

    // Masks the random part of a path's component, if it has one.
    void component(size_t start) {
        const size_t end = component_end(start);
        size_t stem = end;
        while (stem > start && is_letter(text_.before(stem))) --stem;
        const bool extension = end - stem >= 1 && end - stem <= 4 && stem > start && text_.before(stem) == '.';
        stem = extension ? stem - 1 : end;
        size_t from = start;
        bool random = false;
        if (text_.has(start, "tmp")) {
            from = start + (text_.at(start + 3) == '.' ? 4 : 3);
            size_t run = from;
            while (run < stem && is_word(text_.at(run))) ++run;
            random = run == stem && run >= from + 6;
        }
        if (!random) {
            size_t cut = stem;
            while (cut > start && !is_any(text_.before(cut), "-.+")) --cut;
            if (cut == start) {
                size_t line = start;
                while (line < stem && text_.at(line) != '_') ++line;
                cut = line < stem ? line + 1 : start;
            }
            from = cut;
            random = looks_random(from, stem);
        }
        if (!random) return;
        add(from, stem, kTempPath, "<tmp>", 0);
        resume_ = end;
    }

    // Six or more, and letters and digits change places at least twice; or a number of five digits that is no date.
    bool looks_random(size_t start, size_t end) const {
        const size_t size = end - start;
        if (end < start || size < 5) return false;
        size_t changes = 0;
        size_t digits = 0;
        uint8_t last = 0;
        for (size_t i = start; i < end; ++i) {
            const uint8_t c = text_.at(i);
            if (!is_word(c)) return false;
            if (c == '_') continue;
            digits += is_digit(c);
            changes += last != 0 && is_digit(c) != is_digit(last);
            last = c;
        }
        if (digits == size) return size != 8 || !(text_.has(start, "19") || text_.has(start, "20"));
        return size >= 6 && changes >= 2;
    }

    const TextView text_;
    const uint32_t mask_;
    std::vector<Edit>& edits_;
    Numbering& uuids_;
    Numbering& ids_;
    size_t resume_ = 0;
    size_t taken_ = 0;        // end of the last edit but blanks
    size_t stamped_end_ = 0;  // end of the last line that a time opened
};

}  // namespace loopguard
