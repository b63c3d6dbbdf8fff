// What is volatile in text, each kind only in a context that says so. Questions are asked at places the scanner picks.
#pragma once

#include "mask_number.hpp"

namespace loopguard {

class TextMasks : public NumberMasks {
public:
    TextMasks(const uint8_t* text, size_t size, uint32_t mask, EditStack& edits, Numbering& uuids, Numbering& ids)
        : NumberMasks(text, size, mask, edits), uuids_(uuids), ids_(ids) {}

    // At a number that is not decided yet; `asks` is what is left to ask.
    void number(size_t place, uint32_t asks) {
        if (text_.at(place + 8) == '-') at_uuid(place);
        if (place >= resume_) at_number(place, asks);
    }

    // At anything else.
    void mark(size_t place, uint32_t asks) {
        if (asks & kAskBlanks) return at_blanks(place);
        if (asks & kAskAssignment) return at_assignment(place);
        if (asks & kAskPath) at_path(place);
        // At a UUID's first dash.
        if ((asks & kAskUuid) && text_.at(place + 10) == '-' && text_.at(place + 15) == '-' && place >= 8) at_uuid(place - 8);
        if ((asks & kAskSpinner) && place >= resume_) at_spinner(place);
    }

    // Line ends and blanks at the very end.
    void at_end() {
        if (!(mask_ & kWhiteSpace)) return;
        size_t start = text_.size();
        while (start > 0 && (is_blank(text_.before(start)) || text_.before(start) == '\n')) --start;
        if (start == text_.size()) return;
        while (!edits_.empty() && edits_.last().kind == kWhiteSpace && edits_.last().end > start) edits_.remove_last();
        if (!edits_.empty() && edits_.last().end > start) start = edits_.last().end;
        if (start < text_.size()) edits_.put(start, text_.size(), kWhiteSpace, 0, false);
    }


private:
    // Where a UUID may begin.
    [[gnu::noinline]] void at_uuid(size_t place) {
        if (place < resume_ || !(mask_ & kUuid) || !is_uuid(place) || is_in_cursor(place)) return;
        add(place, place + 36, kUuid, uuids_.number(text_.data() + place, 36, true));
    }

    // At a slash.
    [[gnu::noinline]] void at_path(size_t place) {
        if (text_.has(place, "/tmp/")) {
            if (!is_in_cursor(place)) component(place + 5);
            return;
        }
        if (!text_.has(place, "/var/folders/") || is_in_cursor(place)) return;
        const size_t start = place + 13;
        const size_t first = component_end(start);
        if (first == start || text_.at(first) != '/') return;
        const size_t second = component_end(first + 1);
        if (second == first + 1) return;
        add(start, second, kTempPath);
        if (text_.has(second, "/T/")) component(second + 3);
    }

    // At a blank.
    [[gnu::noinline]] void at_blanks(size_t place) {
        const size_t end = text_.skip_blanks(place);
        const uint8_t next = text_.at(end);
        const bool trailing = end == text_.size() || next == '\n';
        if (trailing) {
            add_blank(place, end, false);
        } else if (place > 0 && text_.before(place) != '\n' && end - place > (text_.at(place) == '\t' ? kTabSize : 1)) {
            add_blank(place, end, true);
        }
    }

    // At a colon or equals sign; a letter or quote before it is what a technical id's name may end with.
    [[gnu::noinline]] void at_assignment(size_t place) {
        size_t end = place;
        if (text_.before(end) == '"') end -= kQuoteSize;
        size_t start = end;
        while (is_word(text_.before(start)) || text_.before(start) == '-') --start;
        if (end - start < kShortestTechnicalId || !names_technical_id(text_.data() + start, end - start)) return;
        size_t value = text_.skip_blanks(place + 1);
        if (text_.at(value) == '"') value += kQuoteSize;
        size_t value_end = value;
        while (is_word(text_.at(value_end)) || is_any(text_.at(value_end), "-./+=")) ++value_end;
        if (value_end == value) return;
        if ((mask_ & kUuid) && value_end - value == 36 && is_uuid(value)) return;
        add(value, value_end, kTechnicalId, ids_.number(text_.data() + value, value_end - value, false));
    }

    // At a frame of a spinner: a braille pattern, or one of | / - and backslash between blanks, behind what is being done.
    [[gnu::noinline]] void at_spinner(size_t place) {
        const uint8_t c = text_.at(place);
        size_t end = place + 3;
        if (c == 0xE2) {
            if ((text_.at(place + 1) & 0xFC) != 0xA0) return;
        } else {
            // solving: /
            if (!text_.ends_before(place, "ing: ") && !text_.ends_before(place, "ING: ")) return;
            end = place + (c == '\\' ? kBackslashSize : 1);
            if (!is_blank(text_.at(end))) return;
        }
        add(place, end, kProgress);
    }

    void add_blank(size_t start, size_t end, bool blank) {
        edits_.put(start, end, kWhiteSpace, 0, blank);
        resume_ = end;
    }

    size_t component_end(size_t place) const {
        place = text_.skip_word(place);
        while (is_any(text_.at(place), ".-+")) place = text_.skip_word(place + 1);
        return place;
    }

    // Whether the value at `place` is that of a name for a place in a list, which tells one page from the next.
    bool is_in_cursor(size_t place) const {
        constexpr size_t kFar = 256;
        size_t start = place;
        while (place - start < kFar && (is_word(text_.before(start)) || is_any(text_.before(start), "-./+%<>"))) --start;
        const size_t end = text_.label_end(start);
        if (end == start) return false;
        // The last letters of such names.
        if (!is_any(text_.before(end) | 0x20, "rnte\x7F-")) return false;
        size_t name = end;
        while (is_word(text_.before(name)) || text_.before(name) == '-') --name;
        return PlainName(text_.data() + name, end - name).is_cursor();
    }

    // Masks what stands before a name's random part as a look at the masked text would: /tmp/ipython-input-7-<tmp>.
    [[gnu::noinline]] void numbers(size_t start, size_t end) {
        for (size_t at = start; at < end; ++at) {
            if (at < resume_ || !is_digit(text_.at(at)) || is_word(text_.before(at))) continue;
            const uint32_t asks = asks_of_number(text_.data() + at, asks_of(mask_));
            if (asks != 0) at_number(at, asks);
        }
    }

    // Masks the random part of a path's component, if it has one.
    void component(size_t start) {
        const size_t end = component_end(start);
        for (size_t at = start; (mask_ & kUuid) && at + 36 <= end; ++at) {
            if (is_uuid(at)) return;
        }
        constexpr size_t kLongestExtension = 4;
        size_t stem = end;
        while (stem > start && end - stem <= kLongestExtension && is_letter(text_.before(stem))) --stem;
        const bool extension = end - stem >= 1 && end - stem <= kLongestExtension && stem > start && text_.before(stem) == '.';
        stem = extension ? stem - 1 : end;
        size_t from = start;
        bool random = false;
        if (text_.has(start, "tmp")) {
            from = start + (text_.at(start + 3) == '.' ? 4 : 3);
            random = text_.skip_word(from) >= stem && stem >= from + 6;
        } else if (text_.has(start, "ipykernel_")) {
            from = start + 10;
            random = from < stem && text_.skip_digits(from) == stem;
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
            if (random) numbers(start, from);
        }
        if (!random) return;
        add(from, stem, kTempPath);
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

    Numbering& uuids_;
    Numbering& ids_;
};

}  // namespace loopguard
