// The words of a call, as little of them as tells which calls are worded alike and which fill in one form.
//
// The first words are kept one by one, 32 bits of each one's hash: its place in a sketch, and what the sketch keeps the
// least of. Of a longer text the sketch of all of them is kept too, 16 bits a place. No state; copies own their memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "facts_text.hpp"

namespace loopguard::facts {

class Wording {
public:
    static constexpr std::size_t MOST = 24, LOOKED_AT = 400, PLACES = 32;
    static constexpr std::uint32_t NO_WORD = 0xFFFFFFFF, NARROW = 0xFFFF;

    void read(View text) {
        std::size_t count = 0;
        Sketch all;
        all.fill(NO_WORD);
        std::array<std::uint32_t, MOST> kept;
        for (Words parts(text); count < LOOKED_AT && parts.next(); ++count) {
            const std::uint32_t word = number_of(parts.word);
            add(all, word);
            if (count >= MOST) continue;
            kept[count] = word;
            const char* before = parts.word.data();
            if (before > text.data() && before[-1] == '-') options |= 1U << count;
        }
        words.assign(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(std::min(count, MOST)));
        if (count <= MOST) return;
        sketch.assign(all.begin(), all.end());
        for (std::uint32_t& least : sketch) least = narrow(least);
    }

    // About which share of their words two texts have in common.
    double likeness(const Wording& other) const noexcept {
        const bool narrowly = is_long() || other.is_long();
        const Sketch ours = look(narrowly), theirs = other.look(narrowly);
        int used = 0, equal = 0;
        for (std::size_t i = 0; i < PLACES; ++i) {
            used += ours[i] != NO_WORD || theirs[i] != NO_WORD;
            equal += ours[i] == theirs[i] && ours[i] != NO_WORD;
        }
        return used == 0 ? 1.0 : static_cast<double>(equal) / used;
    }

    // Whether two texts are one form that is filled in with other words: up to two in a row, and no options.
    bool fills_form(const Wording& other) const noexcept {
        constexpr std::size_t SLOT = 2;
        const std::size_t a = words.size(), b = other.words.size();
        if (is_long() || other.is_long() || a < 2 || b < 2) return false;
        const std::size_t least = std::min(a, b);
        std::size_t head = 0, tail = 0;
        while (head < least && words[head] == other.words[head]) ++head;
        while (tail < least - head && words[a - 1 - tail] == other.words[b - 1 - tail]) ++tail;
        const std::size_t slot_a = a - head - tail, slot_b = b - head - tail;
        if (slot_a == 0 || slot_b == 0 || slot_a > SLOT || slot_b > SLOT || head + tail == 0) return false;
        const auto has_options = [head](const Wording& text, std::size_t slot) { return (text.options >> head & ((1U << slot) - 1)) != 0; };
        return !has_options(*this, slot_a) && !has_options(other, slot_b);
    }

    // Whether all words of a text are among the first ones.
    bool has_all(View text) const noexcept {
        std::size_t found = 0;
        for (Words parts(text); parts.next(); ++found) {
            if (std::find(words.begin(), words.end(), number_of(parts.word)) == words.end()) return false;
        }
        return found > 0;
    }

    bool is_long() const noexcept { return !sketch.empty(); }

    // The first ones in their order; of a long text that has been answered they count no more.
    std::vector<std::uint32_t> words;
    std::uint32_t options = 0;  // bit i: word i follows a dash
    // Of a long text the least ones of each place, narrow.
    std::vector<std::uint32_t> sketch;

private:
    using Sketch = std::array<std::uint32_t, PLACES>;
    static constexpr unsigned PLACE_BITS = 5;

    static std::uint32_t number_of(View word) noexcept {
        const std::uint64_t hashed = hash(word, K2);
        return static_cast<std::uint32_t>(hashed >> 36 << PLACE_BITS | (hashed & (PLACES - 1)));
    }

    static void add(Sketch& all, std::uint32_t word) noexcept {
        std::uint32_t& least = all[word & (PLACES - 1)];
        least = std::min(least, word >> PLACE_BITS);
    }

    // What is left of the least one of a place; the largest number stands for none.
    static std::uint32_t narrow(std::uint32_t least) noexcept {
        return least == NO_WORD ? NO_WORD : std::min(least & NARROW, NARROW - 1);
    }

    Sketch look(bool narrowly) const noexcept {
        Sketch made;
        if (is_long()) {
            std::copy(sketch.begin(), sketch.end(), made.begin());
            return made;
        }
        made.fill(NO_WORD);
        for (const std::uint32_t word : words) add(made, word);
        if (narrowly) {
            for (std::uint32_t& least : made) least = narrow(least);
        }
        return made;
    }
};

}  // namespace loopguard::facts
