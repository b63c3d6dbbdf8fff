// Key rules compiled to an automaton over keys: which members stay, which go, and which masks hold below them.
#pragma once

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

#include "text.hpp"

namespace loopguard {

// One place in a document, or many that the rules can't tell apart.
struct RuleState {
    // A key that leads elsewhere than the others do; canonical text.
    struct Branch {
        uint64_t prefix;
        std::string key;
        int32_t state;
    };

    std::vector<Branch> branches;
    int32_t other = 0;   // where other keys and all indices lead
    uint32_t mask = 0;   // for strings here, beyond the caller's
    bool kept = true;    // false: a scalar here goes, a container stays only for the sake of what it leads to
    bool inert = false;  // no rule says anything about what is below

    int32_t next(const uint8_t* key, size_t size) const {
        if (branches.empty()) return other;
        const uint64_t prefix = key_prefix(key, size);
        for (const Branch& branch : branches) {
            if (branch.prefix == prefix && branch.key.size() == size && std::memcmp(branch.key.data(), key, size) == 0) {
                return branch.state;
            }
        }
        return other;
    }

    // A word that decides nearly every comparison.
    static uint64_t key_prefix(const uint8_t* key, size_t size) {
        uint64_t prefix = 0;
        std::memcpy(&prefix, key, size < 8 ? size : 8);
        return prefix;
    }
};

// Paths are added, then compiled once; after that any number of threads may read.
class Rules {
public:
    static constexpr int32_t kDropped = -1;
    static constexpr size_t kMaxStates = 4096;

    enum PathKind { kDrop, kKeep, kMask };
    enum SegmentKind { kLiteral, kAny, kDeep };

    // Begins a path; its segments follow.
    void add_path(PathKind kind, uint32_t mask) {
        paths_.push_back({kind, mask, {}});
        if (kind == kKeep) has_keep_ = true;
    }

    // `key` is canonical text without quotes.
    void add_segment(SegmentKind kind, const std::string& key) { paths_.back().segments.push_back({kind, key}); }

    void compile() {
        Places places;
        for (uint32_t path = 0; path < paths_.size(); ++path) add(places, path, 0);
        state_of(settle(places, !has_keep_, -1));
        // state_of appends what it meets for the first time, so this ends when nothing new comes up.
        for (size_t id = 0; id < states_.size(); ++id) connect(id);
        for (const RuleState& state : states_) masks_ |= state.mask;
    }

    const RuleState& state(int32_t id) const { return states_[static_cast<size_t>(id)]; }
    uint32_t masks() const { return masks_; }

private:
    struct Segment {
        SegmentKind kind;
        std::string key;
    };
    struct Path {
        PathKind kind;
        uint32_t mask;
        std::vector<Segment> segments;
    };
    // (path, segments behind us), sorted and without repetition.
    using Places = std::vector<std::pair<uint32_t, uint32_t>>;
    // Live places, whether what is here is kept, the mask path in force (-1: none).
    using Identity = std::tuple<Places, bool, int32_t>;

    void add(Places& places, uint32_t path, uint32_t behind) const {
        const auto& segments = paths_[path].segments;
        for (;; ++behind) {
            const std::pair<uint32_t, uint32_t> place{path, behind};
            if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
            // Any depth includes none.
            if (behind == segments.size() || segments[behind].kind != kDeep) return;
        }
    }

    // More literal keys, then more segments that are exactly one key, then later in the list.
    bool more_specific(int32_t a, int32_t b) const {
        const auto rank = [this](int32_t path) {
            size_t literal = 0;
            size_t any = 0;
            for (const Segment& segment : paths_[static_cast<size_t>(path)].segments) {
                literal += segment.kind == kLiteral;
                any += segment.kind == kAny;
            }
            return std::tuple(literal, any, path);
        };
        return b < 0 || rank(a) > rank(b);
    }

    // What the places mean where they were reached. Gone if `places` comes back empty and `kept` false.
    Identity settle(const Places& reached, bool kept, int32_t mask) const {
        Places live;
        for (const auto& [path, behind] : reached) {
            const bool ends = behind == paths_[path].segments.size();
            if (!ends) {
                live.emplace_back(path, behind);
            } else if (paths_[path].kind == kKeep) {
                kept = true;
            } else if (paths_[path].kind == kMask && more_specific(static_cast<int32_t>(path), mask)) {
                mask = static_cast<int32_t>(path);
            }
        }
        if (kept) {
            const auto is_keep = [this](const auto& place) { return paths_[place.first].kind == kKeep; };
            live.erase(std::remove_if(live.begin(), live.end(), is_keep), live.end());
        }
        std::sort(live.begin(), live.end());
        return {live, kept, mask};
    }

    int32_t state_of(const Identity& identity) {
        const auto known = ids_.find(identity);
        if (known != ids_.end()) return known->second;
        if (states_.size() == kMaxStates) throw std::length_error("the paths together are too many to compile");
        const auto& [places, kept, mask] = identity;
        RuleState state;
        state.kept = kept;
        state.mask = mask < 0 ? 0 : paths_[static_cast<size_t>(mask)].mask;
        state.inert = kept && places.empty();
        const int32_t id = static_cast<int32_t>(states_.size());
        states_.push_back(state);
        ids_.emplace(identity, id);
        identities_.push_back(identity);
        return id;
    }

    // Where `key` (null: one that no path names) leads.
    int32_t step(const Identity& from, const std::string* key) {
        const auto& [places, kept, mask] = from;
        Places reached;
        for (const auto& [path, behind] : places) {
            const Segment& segment = paths_[path].segments[behind];
            if (segment.kind == kDeep) {
                add(reached, path, behind);
            } else if (segment.kind == kAny || (key != nullptr && segment.key == *key)) {
                add(reached, path, behind + 1);
            }
        }
        bool can_be_kept = kept;
        for (const auto& [path, behind] : reached) {
            if (paths_[path].kind == kDrop && behind == paths_[path].segments.size()) return kDropped;
            can_be_kept |= paths_[path].kind == kKeep;
        }
        return can_be_kept ? state_of(settle(reached, kept, mask)) : kDropped;
    }

    void connect(size_t id) {
        const Identity identity = identities_[id];
        const int32_t other = step(identity, nullptr);
        std::vector<RuleState::Branch> branches;
        for (const auto& [path, behind] : std::get<0>(identity)) {
            const Segment& segment = paths_[path].segments[behind];
            const auto same = [&segment](const RuleState::Branch& branch) { return branch.key == segment.key; };
            if (segment.kind != kLiteral || std::any_of(branches.begin(), branches.end(), same)) continue;
            const auto* const key = reinterpret_cast<const uint8_t*>(segment.key.data());
            branches.push_back(
                {RuleState::key_prefix(key, segment.key.size()), segment.key, step(identity, &segment.key)});
        }
        states_[id].other = other;
        states_[id].branches = std::move(branches);
    }

    std::vector<Path> paths_;
    std::vector<RuleState> states_;
    std::vector<Identity> identities_;
    std::map<Identity, int32_t> ids_;
    uint32_t masks_ = 0;
    bool has_keep_ = false;
};

}  // namespace loopguard
