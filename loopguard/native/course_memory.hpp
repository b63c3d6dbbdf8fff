// What a run remembers of its calls to tell news from what it knows: members of sets, counters that move on, lines read,
// pauses between repeats.
//
// Each has a bound, beyond which the oldest is forgotten; within it, work is constant or linear in a few dozen entries.
// One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "facts_numbers.hpp"
#include "index.hpp"
#include "pack.hpp"

namespace loopguard::course {

// The newest members of a set.
class Recent {
public:
    Recent() = default;
    explicit Recent(std::uint32_t limit) : limit_(limit) {}

    // Remembers a member. Returns whether it is new.
    bool meet(std::uint64_t member) {
        const auto at = [this](std::uint32_t place) { return members_[place]; };
        if (members_.size() < limit_) {
            const auto place = static_cast<std::uint32_t>(members_.size());
            if (index_.meet(member, place, at) != place) return false;
            members_.push_back(member);
            return true;
        }
        if (index_.find(member, at) != Index::NONE) return false;
        index_.drop(oldest_, at);
        members_[oldest_] = member;
        index_.meet(member, oldest_, at);
        oldest_ = (oldest_ + 1) % limit_;
        return true;
    }

    bool has(std::uint64_t member) const noexcept {
        return index_.find(member, [this](std::uint32_t place) { return members_[place]; }) != Index::NONE;
    }

    void clear() noexcept {
        members_.clear();
        index_.clear();
        oldest_ = 0;
    }

    void pack(pack::Writer& out, pack::Lane lane) const {
        out.number(members_.size());
        for (std::size_t i = 0; i < members_.size(); ++i) out.mark(lane, members_[(oldest_ + i) % members_.size()]);
    }

    void unpack(pack::Reader& data, pack::Lane lane) {
        const std::uint64_t count = data.small(limit_);
        for (std::uint64_t i = 0; i < count; ++i) {
            if (!meet(data.mark(lane))) throw std::invalid_argument("a member that is there twice");
        }
    }

private:
    std::uint32_t limit_ = 1, oldest_ = 0;
    std::vector<std::uint64_t> members_;
    Index index_;
};

// Entries found by walking over them; each use makes one the newest.
template <class Entry>
class Newest {
public:
    Newest() = default;
    explicit Newest(std::size_t limit) : limit_(limit) {}

    // Returns the entry that `fits`, or none.
    template <class Fits>
    Entry* find(const Fits& fits) noexcept {
        for (Entry& entry : entries_) {
            if (!fits(entry)) continue;
            entry.used = ++clock_;
            return &entry;
        }
        return nullptr;
    }

    // Adds an entry, in place of the oldest one where there are too many.
    Entry& add() {
        Entry* place = nullptr;
        if (entries_.size() < limit_) {
            place = &entries_.emplace_back();
        } else {
            place = &*std::min_element(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
            *place = Entry{};
        }
        place->used = ++clock_;
        return *place;
    }

    template <class Fits>
    void drop(const Fits& fits) {
        entries_.erase(std::remove_if(entries_.begin(), entries_.end(), fits), entries_.end());
    }

    void clear() noexcept { entries_.clear(); }

    // The oldest first.
    template <class Put>
    void pack(pack::Writer& out, const Put& put) const {
        std::vector<const Entry*> sorted;
        sorted.reserve(entries_.size());
        for (const Entry& entry : entries_) sorted.push_back(&entry);
        std::sort(sorted.begin(), sorted.end(), [](const Entry* a, const Entry* b) { return a->used < b->used; });
        out.number(sorted.size());
        for (const Entry* entry : sorted) put(*entry);
    }

    template <class Take>
    void unpack(pack::Reader& data, const Take& take) {
        entries_.clear();
        const std::uint64_t count = data.small(limit_);
        entries_.reserve(count);
        for (std::uint64_t i = 0; i < count; ++i) take(add());
    }

private:
    std::size_t limit_ = 1;
    std::uint64_t clock_ = 0;
    std::vector<Entry> entries_;
};

// Tells counters that move on in one direction from noise, call by call.
class Trends {
public:
    Trends() = default;
    explicit Trends(std::size_t limit) : calls_(limit) {}

    // Takes what a call counted. Returns in how many steps it went on the same way: as many steps down where negative.
    std::int64_t take(std::uint64_t call, std::uint64_t outcome, const facts::Numbers& counted) {
        Entry* known = calls_.find([&](const Entry& one) { return one.call == call && one.outcome == outcome; });
        const bool fresh = known == nullptr;
        if (fresh) known = &calls_.add(), known->call = call, known->outcome = outcome;
        const int now = fresh ? 0 : moved(known->counted, counted);
        if (now != 0) {
            known->steps = now == known->way ? known->steps + 1 : 1;
            known->way = now;
        }
        known->counted = counted;
        return now * known->steps;
    }

    void pack(pack::Writer& out) const {
        calls_.pack(out, [&out](const Entry& one) {
            out.mark(pack::SAME, one.call);
            out.mark(pack::TREND, one.outcome);
            out.number(static_cast<std::uint64_t>(one.steps) << 1 | (one.way < 0));
            out.number(one.counted.size);
            out.number(one.counted.count);
            for (std::size_t i = 0; i < one.counted.count; ++i) out.number(one.counted.values[i]);
        });
    }

    void unpack(pack::Reader& data) {
        calls_.unpack(data, [&data](Entry& one) {
            one.call = data.mark(pack::SAME);
            one.outcome = data.mark(pack::TREND);
            const std::uint64_t steps = data.small(MANY);
            one.steps = static_cast<std::int64_t>(steps >> 1);
            one.way = one.steps == 0 ? 0 : steps & 1 ? -1 : 1;
            one.counted.size = data.number();
            one.counted.count = data.small(facts::NUMBERS);
            for (std::size_t i = 0; i < one.counted.count; ++i) one.counted.values[i] = data.number();
        });
    }

private:
    static constexpr std::uint64_t MANY = std::uint64_t{1} << 56;

    struct Entry {
        std::uint64_t call = 0, outcome = 0, used = 0;
        facts::Numbers counted;
        std::int64_t steps = 0;
        int way = 0;
    };

    Newest<Entry> calls_;
};

// What calls answered, up to so many values of each.
class Values {
public:
    Values() = default;
    Values(std::size_t limit, std::size_t most) : calls_(limit), most_(most) {}

    // Takes an answer. Returns how many different ones its call gave.
    std::size_t take(std::uint64_t call, std::uint64_t answer) {
        Entry* known = calls_.find([call](const Entry& one) { return one.call == call; });
        if (known == nullptr) known = &calls_.add(), known->call = call;
        std::vector<std::uint64_t>& answers = known->answers;
        if (answers.size() < most_ && std::find(answers.begin(), answers.end(), answer) == answers.end()) answers.push_back(answer);
        return answers.size();
    }

    void clear() noexcept { calls_.clear(); }

    void pack(pack::Writer& out) const {
        calls_.pack(out, [&out](const Entry& one) {
            out.mark(pack::SAME, one.call);
            out.number(one.answers.size());
            for (const std::uint64_t answer : one.answers) out.mark(pack::OUTCOME, answer);
        });
    }

    void unpack(pack::Reader& data) {
        calls_.unpack(data, [this, &data](Entry& one) {
            one.call = data.mark(pack::SAME);
            const std::uint64_t count = data.small(most_);
            for (std::uint64_t i = 0; i < count; ++i) one.answers.push_back(data.mark(pack::OUTCOME));
        });
    }

private:
    struct Entry {
        std::uint64_t call = 0, used = 0;
        std::vector<std::uint64_t> answers;
    };

    Newest<Entry> calls_;
    std::size_t most_ = 1;
};

// How often programs worked.
class Worked {
public:
    Worked() = default;
    explicit Worked(std::size_t limit) : programs_(limit) {}

    std::uint64_t times(std::uint64_t program) noexcept {
        const Entry* known = find(program);
        return known == nullptr ? 0 : known->times;
    }

    void add(std::uint64_t program) {
        Entry* known = find(program);
        if (known == nullptr) known = &programs_.add(), known->program = program;
        ++known->times;
    }

    void clear() noexcept { programs_.clear(); }

    void pack(pack::Writer& out) const {
        programs_.pack(out, [&out](const Entry& one) {
            out.mark(pack::PROGRAM, one.program);
            out.number(one.times);
        });
    }

    void unpack(pack::Reader& data) {
        programs_.unpack(data, [&data](Entry& one) {
            one.program = data.mark(pack::PROGRAM);
            one.times = data.number();
        });
    }

private:
    struct Entry {
        std::uint64_t program = 0, used = 0, times = 0;
    };

    Entry* find(std::uint64_t program) noexcept {
        return programs_.find([program](const Entry& one) { return one.program == program; });
    }

    Newest<Entry> programs_;
};

// Which lines of which files were read.
class Pages {
public:
    Pages() = default;
    Pages(std::size_t files, std::size_t pieces) : files_(files), pieces_(pieces) {}

    // Remembers lines of a file, from `first` to before `end`. Returns whether all of them had been read.
    bool read(std::uint64_t file, std::int64_t first, std::int64_t end) {
        Entry* known = files_.find([file](const Entry& one) { return one.file == file; });
        if (known == nullptr) known = &files_.add(), known->file = file;
        std::vector<Piece>& pieces = known->pieces;
        for (const Piece& piece : pieces) {
            if (piece.first <= first && end <= piece.second) return true;
        }
        pieces.emplace_back(first, end);
        std::sort(pieces.begin(), pieces.end());
        std::size_t last = 0;
        for (std::size_t i = 1; i < pieces.size(); ++i) {
            if (pieces[i].first <= pieces[last].second) pieces[last].second = std::max(pieces[last].second, pieces[i].second);
            else pieces[++last] = pieces[i];
        }
        pieces.resize(last + 1);
        if (pieces.size() > pieces_) pieces.erase(pieces.begin());
        return false;
    }

    // Forgets what was read of a file, since it was changed; 0 may be any file.
    void forget(std::uint64_t file) {
        if (file == 0) files_.clear();
        else files_.drop([file](const Entry& one) { return one.file == file; });
    }

    void pack(pack::Writer& out) const {
        files_.pack(out, [&out](const Entry& one) {
            out.mark(pack::TARGET, one.file);
            out.number(one.pieces.size());
            for (const Piece& piece : one.pieces) {
                out.number(static_cast<std::uint64_t>(piece.first));
                out.number(static_cast<std::uint64_t>(piece.second));
            }
        });
    }

    void unpack(pack::Reader& data) {
        files_.unpack(data, [this, &data](Entry& one) {
            one.file = data.mark(pack::TARGET);
            const std::uint64_t count = data.small(pieces_);
            for (std::uint64_t i = 0; i < count; ++i) {
                const auto first = static_cast<std::int64_t>(data.number());
                one.pieces.emplace_back(first, static_cast<std::int64_t>(data.number()));
            }
        });
    }

private:
    using Piece = std::pair<std::int64_t, std::int64_t>;

    struct Entry {
        std::uint64_t file = 0, used = 0;
        std::vector<Piece> pieces;
    };

    Newest<Entry> files_;
    std::size_t pieces_ = 1;
};

// From which pause on waiting is patient: this one, or one that is so much longer than the one before.
struct Manners {
    std::int64_t long_pause_us, most;
    double growth;
    std::size_t kept;
};

// How many repeats of a call were patient, since it last brought news.
class Patience {
public:
    Patience() = default;
    explicit Patience(const Manners& manners) : manners_(manners), calls_(manners.kept) {}

    // Notes when a call was asked and how long it says that it waits. Returns how many of its repeats in this span were patient.
    std::int64_t take(std::uint64_t call, std::int64_t span, std::int64_t at_us, std::int64_t pause_us) {
        Entry* known = calls_.find([call](const Entry& one) { return one.call == call; });
        if (known == nullptr) {
            known = &calls_.add();
            known->call = call;
            pause_us = 0;
        } else {
            if (known->span != span) known->pause_us = known->patient = 0;
            pause_us = std::max(at_us - known->at_us, pause_us);
        }
        const bool grows = known->pause_us > 0 && static_cast<double>(pause_us) >= manners_.growth * static_cast<double>(known->pause_us);
        if (pause_us >= manners_.long_pause_us || grows) known->patient = std::min(known->patient + 1, manners_.most);
        known->span = span, known->at_us = at_us, known->pause_us = pause_us;
        return known->patient;
    }

    void pack(pack::Writer& out) const {
        std::int64_t before = 0;
        calls_.pack(out, [&out, &before](const Entry& one) {
            out.mark(pack::SAME, one.call);
            out.number(static_cast<std::uint64_t>(one.span));
            out.distance(static_cast<std::uint64_t>(before), static_cast<std::uint64_t>(one.at_us));
            out.number(static_cast<std::uint64_t>(one.pause_us));
            out.number(static_cast<std::uint64_t>(one.patient));
            before = one.at_us;
        });
    }

    void unpack(pack::Reader& data) {
        std::int64_t before = 0;
        calls_.unpack(data, [this, &data, &before](Entry& one) {
            one.call = data.mark(pack::SAME);
            one.span = static_cast<std::int64_t>(data.number());
            before = one.at_us = before + static_cast<std::int64_t>(pack::unfold(data.small(LATEST)));
            one.pause_us = static_cast<std::int64_t>(data.small(LATEST));
            one.patient = static_cast<std::int64_t>(data.small(static_cast<std::uint64_t>(manners_.most)));
        });
    }

private:
    // Far beyond any time of a run, so that sums of these stay numbers.
    static constexpr std::uint64_t LATEST = std::uint64_t{1} << 56;

    struct Entry {
        std::uint64_t call = 0, used = 0;
        std::int64_t span = 0, at_us = 0, pause_us = 0, patient = 0;
    };

    Manners manners_{0, 0, 0.0, 1};
    Newest<Entry> calls_;
};

}  // namespace loopguard::course
