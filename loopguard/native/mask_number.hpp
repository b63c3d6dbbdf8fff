// What a number in text is, in a context that says so: a moment, a duration, a process id, and so on.
#pragma once

#include "mask_ask.hpp"
#include "mask_duration.hpp"
#include "mask_edit.hpp"
#include "mask_moment.hpp"

namespace loopguard {

// One string's text and what is taken out of it so far.
class MaskedText {
public:
    MaskedText(const uint8_t* text, size_t size, uint32_t mask, EditStack& edits) : text_(text, size), mask_(mask), edits_(edits) {}

    // Up to here everything is decided.
    size_t resume() const { return resume_; }

    bool is_uuid(size_t place) const {
        const uint8_t* const at = text_.data() + place;
        if (at[8] != '-' || at[13] != '-' || at[18] != '-' || at[23] != '-') return false;
        if (is_word(at[-1]) && at[-1] != '_') return false;
        // Its dashes, which are right, become zeros.
        constexpr uint64_t kDash = '-' ^ '0';
        const uint64_t others = not_hex(load_eight(at)) | not_hex(load_eight(at + 8) ^ (kDash | kDash << 40)) |
                                not_hex(load_eight(at + 16) ^ (kDash << 16 | kDash << 56)) | not_hex(load_eight(at + 24)) |
                                not_hex(load_eight(at + 28));
        return others == 0 && !is_word(at[36]);
    }

protected:
    void add(size_t start, size_t end, uint32_t kind, uint32_t number = 0) {
        // A date may begin before blanks that were cut already.
        while (!edits_.empty() && edits_.last().kind == kWhiteSpace && edits_.last().start >= start) edits_.remove_last();
        edits_.put(start, end, kind, number, false);
        taken_ = end;
        resume_ = end;
    }

    const TextView text_;
    const uint32_t mask_;
    EditStack& edits_;
    size_t resume_ = 0;
    size_t taken_ = 0;  // end of the last edit but blanks
};

class NumberMasks : public MaskedText {
public:
    using MaskedText::MaskedText;

    // At the first digit of a run that no letter, digit or underscore precedes.
    [[gnu::noinline]] void at_number(size_t place, uint32_t asks) {
        const size_t end = text_.skip_digits(place);
        if ((asks & (kAskMoment | kAskNamedMoment)) && timestamp(place, end, asks)) return;
        if ((asks & kAskBar) && bar(place)) return;
        if ((asks & (kAskElapsed | kAskLeft)) && counted(place, asks)) return;
        if ((asks & kAskAddress) && address(place)) return;
        if ((asks & (kAskCell | kAskCellFile | kAskCellInput)) && notebook(place, end)) return;
        if ((asks & (kAskProcess | kAskAttempt | kAskShellLine | kAskEpoch | kAskBareDuration)) && labelled(place, end, asks)) return;
        if ((asks & (kAskSyslog | kAskProc | kAskJob)) && process_id(place, end)) return;
        if ((asks & kAskRate) && rate(place)) return;
        if (asks & kAskDuration) duration(place, asks);
    }

private:
    [[gnu::noinline]] bool timestamp(size_t place, size_t digits_end, uint32_t asks) {
        size_t start = place;
        bool clock = false;
        size_t end = place;
        if (asks & kAskMoment) {
            end = moment_end(text_, place, clock);
        } else {
            end = named_month(text_, place, digits_end, start, clock);
        }
        if (end == place || start < taken_) return false;
        if (!labels_moment(text_, start)) {
            if (!opens_line(text_, start) || !goes_on(text_, start, end, clock)) return false;
            stamped_end_ = end;
        }
        add(start, end, kTimestamp);
        return true;
    }

    // A number with a label before it.
    [[gnu::noinline]] bool labelled(size_t place, size_t end, uint32_t asks) {
        const Word label(text_, text_.label_end(place));
        if ((asks & kAskProcess) && ((label.roles & kSaysProcess) || ((label.roles & kMaySayProcess) && !is_counted(end)))) {
            add(place, end, kProcessId);
            return true;
        }
        if ((asks & kAskAttempt) && (label.roles & kSaysAttempt)) {
            add(place, end, kAttempt);
            return true;
        }
        if ((asks & kAskShellLine) && shell_line(place, end, label.start)) return true;
        if ((asks & kAskEpoch) && is_epoch(place, end) && (label.roles & kSaysEpoch)) {
            add(place, text_.number_end(place), kEpoch);
            return true;
        }
        return (asks & kAskBareDuration) && bare_duration(place, label);
    }

    // bash: line 33: at the start of a line, whose path may stand before the shell's name.
    bool shell_line(size_t place, size_t end, size_t label) {
        const size_t colon = text_.blanks_start(label);
        if (text_.at(end) != ':' || !text_.has(label, "line") || text_.blanks_start(place) != label + 4) return false;
        if (colon == label || text_.before(colon) != ':' || !text_.ends_before(colon - 1, "sh")) return false;
        size_t name = colon - 1;
        while (is_letter(text_.before(name))) --name;
        size_t start = name;
        while (is_word(text_.before(start)) || is_any(text_.before(start), "./-")) --start;
        if (!(Word(text_, name, colon - 1).roles & kNamesShell) || (start > 0 && text_.before(start) != '\n')) return false;
        add(place, end, kShellLine);
        return true;
    }

    bool is_epoch(size_t place, size_t end) const {
        const size_t size = end - place;
        return (size == 10 || size == 13 || size == 16 || size == 19) && text_.at(place) == '1';
    }

    // elapsed: 12.5, execution_time_ms=2.1: the label is the unit.
    bool bare_duration(size_t place, const Word& label) {
        if (!is_any(text_.at(label.end), ":=\"")) return false;
        const bool named = (label.roles & kSaysDuration) || names_measured_ms(text_.data() + label.start, label.end - label.start);
        const size_t end = text_.number_end(place);
        if (!named || is_word(text_.at(end)) || text_.at(end) == '.' || text_.at(end) == ':') return false;
        if (unit_end(text_, text_.at(end) == ' ' ? end + 1 : end) != (text_.at(end) == ' ' ? end + 1 : end)) return false;
        add(place, end, kDuration);
        return true;
    }

    // Process 3 of 10, 3/10.
    bool is_counted(size_t end) const {
        return (text_.has(end, " of ") && is_digit(text_.at(end + 4))) || (text_.at(end) == '/' && is_digit(text_.at(end + 1)));
    }

    [[gnu::noinline]] bool process_id(size_t place, size_t end) {
        const uint8_t previous = text_.before(place);
        bool found = false;
        if (previous == '[') {
            // A syslog line: time, host, name[N]:
            found = text_.at(end + 1) == ':' && is_word(text_.before(place - 1)) && in_stamped_line(place);
        } else if (previous == '/') {
            found = text_.ends_before(place, "/proc/");
        } else {
            found = (text_.at(end) != 0 || end == text_.size()) && is_job(place);
        }
        if (found) add(place, end, kProcessId);
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

    [[gnu::noinline]] bool notebook(size_t place, size_t end) {
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
        if (found) add(place, end, kNotebook);
        return found;
    }

    [[gnu::noinline]] bool address(size_t place) {
        if (text_.at(place) != '0') return false;
        const size_t end = text_.skip_hex(place + 2);
        const size_t digits = end - place - 2;
        if (digits < 6 || digits > 16 || is_word(text_.at(end))) return false;
        const size_t word_end = text_.blanks_start(place);
        if ((word_end == place || !text_.ends_before(word_end, "at")) && !in_printed_object(place)) return false;
        add(place, end, kAddress);
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

    // [00:01<00:04,  1.25s/it]
    [[gnu::noinline]] bool bar(size_t place) {
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
        add(place, end, kProgress);
        return true;
    }

    // Elapsed: 00:01:02; and behind a speed, eta 00:05.
    [[gnu::noinline]] bool counted(size_t place, uint32_t asks) {
        const Word label(text_, text_.label_end(place));
        size_t end = text_.clock_end(place, false);
        if ((asks & kAskElapsed) && end > place && !is_word(text_.at(end)) && (label.roles & kCountsUp)) {
            add(place, end, kDuration);
            return true;
        }
        if (!(asks & kAskLeft) || !(label.roles & kSaysLeft)) return false;
        size_t before = label.start;
        while (is_blank(text_.before(before)) || text_.before(before) == ',') --before;
        if (before == 0 || before != rate_end_) return false;
        if (end == place) end = duration_end(text_, place);
        if (end == place || is_word(text_.at(end))) return false;
        add(place, end, kProgress);
        return true;
    }

    [[gnu::noinline]] bool rate(size_t place) {
        size_t end = text_.skip_gap(text_.number_end(place));
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
        add(place, end, kProgress);
        rate_end_ = end;
        return true;
    }

    [[gnu::noinline]] bool duration(size_t place, uint32_t asks) {
        const uint8_t previous = text_.before(place);
        const Duration found = read_duration(text_, place);
        const size_t end = found.end;
        if (end == place || is_word(text_.at(end))) return false;
        const bool labelled = is_separator(previous) && labels_duration(text_, Word(text_, text_.label_end(place)), found);
        const bool framed = labelled || (previous == '(' && text_.at(end) == ')' && !found.coarse) || (is_blank(text_.at(end)) && text_.has(text_.skip_blanks(end), "elapsed")) ||
                            ends_go_test(text_, place, end, previous);
        if (framed) add(place, end, kDuration);
        return framed;
    }

    // Whether a time opened the line. Where that line ends is looked for once, and only if somebody asks.
    bool in_stamped_line(size_t place) {
        if (stamped_end_ == 0) return false;
        while (stamped_end_ < place && text_.at(stamped_end_) != '\n') ++stamped_end_;
        return stamped_end_ >= place;
    }

    size_t rate_end_ = 0;     // of the last speed
    size_t stamped_end_ = 0;  // from the last time that opened its line to here there is no line end
};

}  // namespace loopguard
