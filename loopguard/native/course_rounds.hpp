// Rounds: sequences of two to ten calls that come again and again.
//
// Each step is compared with the one a round ago, for every length of a round at once: a count per length says how many
// newest steps in a row are as they were that many steps before. Work a step is constant. One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "pack.hpp"

namespace loopguard::course {

struct Round {
    std::int64_t times, length;
};

class Rounds {
public:
    // The longest round that is looked for; longer ones are found by the repeats in them.
    static constexpr std::size_t LONGEST = 10;
    // Two rounds are enough where every step is equal and something fails in them; longer rounds are left to the repeats.
    static constexpr std::size_t LONGEST_EQUAL = 5;
    static constexpr std::size_t KEPT = 3 * LONGEST;

    // Adds a step: the call however spelled, call and outcome, whether it failed with something to say.
    void add(std::uint64_t near, std::uint64_t same, std::uint64_t outcome, bool failed) {
        const Step step{near, same, outcome, failed};
        const std::size_t reach = std::min(steps_.size(), LONGEST);
        const bool seen = std::any_of(steps_.end() - static_cast<std::ptrdiff_t>(reach), steps_.end(), [near](const Step& one) { return one.near == near; });
        if (seen) compare(step, reach);
        else if (!none_) forget();
        if (steps_.size() == KEPT) steps_.erase(steps_.begin());
        steps_.push_back(step);
    }

    // What comes next has nothing to do with what was before.
    void reset() noexcept {
        steps_.clear();
        forget();
    }

    // How many rounds of like calls lie within so many newest steps.
    Round alike(std::int64_t within) const noexcept {
        if (none_) return {0, 0};
        for (std::size_t length = 2; length <= LONGEST; ++length) {
            const std::int64_t run = std::min(alike_[length], within), size = static_cast<std::int64_t>(length);
            if (run >= size && varied(length, is_near)) return {run / size + 1, size};
        }
        return {0, 0};
    }

    // How many rounds are equal in calls and outcomes, something failing in each.
    Round failing() const noexcept {
        if (none_) return {0, 0};
        for (std::size_t length = 2; length <= LONGEST_EQUAL; ++length) {
            const std::int64_t run = equal_[length], size = static_cast<std::int64_t>(length);
            const bool fails = run >= size && std::any_of(steps_.end() - size, steps_.end(), [](const Step& one) { return one.failed; });
            if (fails && varied(length, is_equal)) return {run / size + 1, size};
        }
        return {0, 0};
    }

    std::size_t size() const noexcept { return steps_.size(); }

    void pack(pack::Writer& out) const {
        out.number(steps_.size());
        std::uint64_t failed = 0;
        for (std::size_t i = 0; i < steps_.size(); ++i) failed |= static_cast<std::uint64_t>(steps_[i].failed) << i;
        out.number(failed);
        for (const Step& step : steps_) {
            out.mark(pack::ROUND_NEAR, step.near);
            out.mark(pack::ROUND_SAME, step.same);
            out.mark(pack::ROUND_OUTCOME, step.outcome);
        }
        out.flag(none_);
        if (none_) return;
        for (const std::int64_t count : alike_) out.number(static_cast<std::uint64_t>(count));
        for (const std::int64_t count : equal_) out.number(static_cast<std::uint64_t>(count));
    }

    void unpack(pack::Reader& data) {
        reset();
        const std::uint64_t count = data.small(KEPT), failed = data.number();
        steps_.reserve(count);
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t near = data.mark(pack::ROUND_NEAR), same = data.mark(pack::ROUND_SAME);
            steps_.push_back({near, same, data.mark(pack::ROUND_OUTCOME), (failed >> i & 1) != 0});
        }
        none_ = data.flag();
        if (none_) return;
        for (std::int64_t& run : alike_) run = static_cast<std::int64_t>(data.small(MANY));
        for (std::int64_t& run : equal_) run = static_cast<std::int64_t>(data.small(MANY));
        // So many steps have to be there where a count says that they were compared.
        for (std::size_t length = 0; length <= LONGEST; ++length) {
            const bool counted = alike_[length] != 0 || (length <= LONGEST_EQUAL && equal_[length] != 0);
            if (counted && length > steps_.size()) throw std::invalid_argument("rounds of more steps than there are");
        }
    }

private:
    static constexpr std::uint64_t MANY = std::uint64_t{1} << 56;

    struct Step {
        std::uint64_t near, same, outcome;
        bool failed;
    };

    static bool is_near(const Step& one, const Step& other) noexcept { return one.near == other.near; }
    static bool is_equal(const Step& one, const Step& other) noexcept { return one.same == other.same && one.outcome == other.outcome; }

    void compare(const Step& step, std::size_t reach) noexcept {
        none_ = false;
        for (std::size_t length = 1; length <= reach; ++length) {
            const Step& before = steps_[steps_.size() - length];
            alike_[length] = is_near(before, step) ? alike_[length] + 1 : 0;
            if (length <= LONGEST_EQUAL) equal_[length] = is_equal(before, step) ? equal_[length] + 1 : 0;
        }
    }

    void forget() noexcept {
        std::fill(std::begin(alike_), std::end(alike_), 0);
        std::fill(std::begin(equal_), std::end(equal_), 0);
        none_ = true;
    }

    // Whether not all of the newest steps are one and the same.
    template <class Same>
    bool varied(std::size_t length, const Same& same) const noexcept {
        return std::any_of(steps_.end() - static_cast<std::ptrdiff_t>(length), steps_.end() - 1, [&](const Step& one) { return !same(one, steps_.back()); });
    }

    std::vector<Step> steps_;
    std::int64_t alike_[LONGEST + 1] = {}, equal_[LONGEST_EQUAL + 1] = {};
    bool none_ = true;
};

}  // namespace loopguard::course
