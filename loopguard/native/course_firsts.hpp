// Where things came that came once so far: for the hash of what is counted, the step of its one occurrence. The oldest is
// forgotten by its owner. Constant work a thing; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "index.hpp"

namespace loopguard::course {

class Firsts {
    struct Entry {
        std::uint64_t thing, where;
    };

    auto at() const noexcept {
        return [this](std::uint32_t place) { return entries_[place].thing; };
    }

public:
    std::size_t size() const noexcept { return entries_.size() - free_.size(); }

    // Returns where a thing came, or `otherwise`.
    std::uint64_t find(std::uint64_t thing, std::uint64_t otherwise) const noexcept {
        const std::uint32_t place = index_.find(thing, at());
        return place == Index::NONE ? otherwise : entries_[place].where;
    }

    // Adds a thing that is not there.
    void add(std::uint64_t thing, std::uint64_t where) {
        auto place = static_cast<std::uint32_t>(entries_.size());
        if (free_.empty()) {
            entries_.push_back({thing, where});
        } else {
            place = free_.back();
            free_.pop_back();
            entries_[place] = {thing, where};
        }
        index_.meet(thing, place, at());
    }

    // Drops a thing that is there.
    void drop(std::uint64_t thing) {
        const std::uint32_t place = index_.find(thing, at());
        index_.drop(place, at());
        free_.push_back(place);
    }

private:
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> free_;
    Index index_;
};

}  // namespace loopguard::course
