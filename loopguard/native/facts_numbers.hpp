// The whole numbers that stand first in a text, to tell a counter that moves on from mere noise.
//
// Decimals are left out, since measured values go up and down, and digits within words: they are names. Bounded by how far is looked; no state, any thread.
#pragma once

#include <algorithm>
#include <array>

#include "facts_text.hpp"

namespace loopguard::facts {

constexpr std::size_t NUMBERS = 16, NUMBERS_REACH = 2000;

struct Numbers {
    std::array<std::uint64_t, NUMBERS> values{};
    std::size_t count = 0;
    std::size_t size = 0;  // of the whole text
};

inline void read_numbers(View text, Numbers& numbers) noexcept {
    numbers.count = 0;
    numbers.size = text.size();
    const std::size_t reach = std::min(text.size(), NUMBERS_REACH);
    for (std::size_t at = 0; at < reach && numbers.count < NUMBERS;) {
        if (!is_digit(text[at])) {
            ++at;
            continue;
        }
        const bool behind_point = at > 1 && text[at - 1] == '.' && is_digit(text[at - 2]);
        std::uint64_t value = 0;
        const std::size_t begin = at;
        for (; at < text.size() && is_digit(text[at]) && at - begin < 18; ++at) value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
        const bool before_point = at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1]);
        const bool in_word = begin > 0 && is_word(text[begin - 1]);
        if (!behind_point && !before_point && !in_word) numbers.values[numbers.count++] = value;
    }
}

// Where the first number that differs went, or the size where none does: 1 up, -1 down, 0 for neither.
inline int moved(const Numbers& before, const Numbers& now) noexcept {
    for (std::size_t i = 0; i < std::min({before.count, now.count, NUMBERS}); ++i) {
        if (before.values[i] != now.values[i]) return before.values[i] < now.values[i] ? 1 : -1;
    }
    return before.size == now.size ? 0 : before.size < now.size ? 1 : -1;
}

}  // namespace loopguard::facts
