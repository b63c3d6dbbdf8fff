// Finds values in an array that somebody else keeps: places by open addressing, four bytes each. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace loopguard {

class Index {
public:
    static constexpr std::uint32_t NONE = 0xFFFFFFFF;

    // Makes room for so many places, a power of two, in an empty index.
    void reserve(std::size_t places) { slots_.assign(2 * places, NONE); }

    // `at(place)` is the value that stands there.
    template <class At>
    std::uint32_t find(std::uint64_t value, const At& at) const noexcept {
        if (slots_.empty()) return NONE;
        for (std::size_t slot = home(value);; slot = next(slot)) {
            const std::uint32_t place = slots_[slot];
            if (place == NONE || at(place) == value) return place;
        }
    }

    // Returns the place of a value; where it has none, it is the one that is given, at which it will stand.
    template <class At>
    std::uint32_t meet(std::uint64_t value, std::uint32_t place, const At& at) {
        if (2 * (used_ + 1) > slots_.size()) grow(at);
        std::size_t slot = home(value);
        for (; slots_[slot] != NONE; slot = next(slot)) {
            if (at(slots_[slot]) == value) return slots_[slot];
        }
        slots_[slot] = place;
        ++used_;
        return place;
    }

    // Drops a place that is there; those behind it move up, so that no search ends too early.
    template <class At>
    void drop(std::uint32_t place, const At& at) noexcept {
        std::size_t hole = home(at(place));
        while (slots_[hole] != place) hole = next(hole);
        for (std::size_t slot = next(hole); slots_[slot] != NONE; slot = next(slot)) {
            if (((slot - home(at(slots_[slot]))) & mask()) < ((slot - hole) & mask())) continue;
            slots_[hole] = slots_[slot];
            hole = slot;
        }
        slots_[hole] = NONE;
        --used_;
    }

    void clear() noexcept {
        slots_.clear();
        used_ = 0;
    }

private:
    static constexpr std::size_t LEAST = 16;

    std::size_t mask() const noexcept { return slots_.size() - 1; }
    std::size_t next(std::size_t slot) const noexcept { return (slot + 1) & mask(); }
    std::size_t home(std::uint64_t value) const noexcept { return static_cast<std::size_t>((value * 0x9E3779B97F4A7C15ULL) >> 32) & mask(); }

    void settle(std::uint32_t place, std::uint64_t value) noexcept {
        std::size_t slot = home(value);
        while (slots_[slot] != NONE) slot = next(slot);
        slots_[slot] = place;
    }

    template <class At>
    void grow(const At& at) {
        std::vector<std::uint32_t> old(slots_.empty() ? LEAST : 2 * slots_.size(), NONE);
        old.swap(slots_);
        for (const std::uint32_t place : old) {
            if (place != NONE) settle(place, at(place));
        }
    }

    std::vector<std::uint32_t> slots_;
    std::size_t used_ = 0;
};

// Values in the order in which they came, each once.
class Table {
public:
    // With the first value room is made for so many, a power of two.
    explicit Table(std::size_t expected) : expected_(expected) {}

    // Returns the place of a value, and whether it was there before.
    std::pair<std::uint32_t, bool> meet(std::uint64_t value) {
        if (values_.empty()) {
            values_.reserve(expected_);
            index_.reserve(expected_);
        }
        const auto fresh = static_cast<std::uint32_t>(values_.size());
        const std::uint32_t place = index_.meet(value, fresh, [this](std::uint32_t one) { return values_[one]; });
        if (place != fresh) return {place, true};
        values_.push_back(value);
        return {place, false};
    }

private:
    std::size_t expected_;
    std::vector<std::uint64_t> values_;
    Index index_;
};

}  // namespace loopguard
