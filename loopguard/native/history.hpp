// A run's newest records, packed, and the counts that can be walked from them. Facts only: thresholds are elsewhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace loopguard::history {

enum RecordKind : uint32_t { kPending, kDone, kReject, kVeto };

enum RecordMark : uint32_t { kFailed = 1, kStuck = 2, kIdentified = 4 };

struct Digest {
    uint8_t bytes[16];

    static Digest of(const uint8_t* bytes) {
        Digest digest;
        std::memcpy(digest.bytes, bytes, sizeof digest.bytes);
        return digest;
    }
    uint32_t hash() const {
        uint32_t word;
        std::memcpy(&word, bytes, sizeof word);
        return word;
    }
    bool operator==(const Digest& other) const { return std::memcmp(bytes, other.bytes, sizeof bytes) == 0; }
    bool operator!=(const Digest& other) const { return !(*this == other); }
};

// What every walk reads of every record; 8 bytes, so that 30 records are four cache lines.
struct RecordHead {
    uint32_t arguments_hash;
    uint32_t tool : 24;
    uint32_t kind : 2;
    uint32_t marks : 3;
};

// What is only read of records that match.
struct RecordBody {
    Digest arguments;
    Digest outcome;
    uint32_t id_at;
    // Index of the missing tool's name, and of the names of what was stripped; 0 is none.
    uint32_t missing;
    uint32_t stripped;
};

struct Signature {
    uint32_t tool;
    Digest arguments;
};

// Which records a count is made of, as positions from the oldest; filled from new to old.
using Trail = std::vector<uint32_t>;

struct Survey {
    uint32_t records = 0;
    uint32_t no_progress = 0;
    uint32_t exec_failures = 0;
    uint32_t unknown = 0;
    uint32_t alternation = 0;
    uint32_t churn = 0;
    uint32_t variants = 0;
    bool proven = false;
    // Positions of the streak's anchor, of the newest record of the other call, of the newest record that is no veto.
    int32_t anchor = -1;
    int32_t paired = -1;
    int32_t newest = -1;

    uint32_t peak() const {
        return std::max({records, no_progress, exec_failures, unknown, alternation, churn});
    }
};

class Ring {
public:
    explicit Ring(uint32_t limit = 1) : limit_(limit) {}

    uint32_t limit() const { return limit_; }
    uint32_t size() const { return size_; }
    uint64_t appended() const { return appended_; }
    // Goes on numbering as if so many records had been appended.
    void count_from(uint64_t appended) { appended_ = appended; }
    size_t capacity() const { return heads_.capacity(); }
    const RecordHead& head(uint32_t position) const { return heads_[slot(position)]; }
    const RecordBody& body(uint32_t position) const { return bodies_[slot(position)]; }
    RecordHead& head(uint32_t position) { return heads_[slot(position)]; }
    RecordBody& body(uint32_t position) { return bodies_[slot(position)]; }
    uint64_t identity(uint32_t position) const { return identities_.empty() ? 0 : identities_[slot(position)]; }

    // Appends a record without outcome; the oldest one makes room.
    void append(const Signature& signature, RecordKind kind, const uint8_t* id, size_t id_size) {
        if (size_ == heads_.size() && size_ < limit_) grow();
        if (size_ == limit_) {
            start_ = start_ + 1 == size_ ? 0 : start_ + 1;
        } else {
            ++size_;
        }
        ++appended_;
        const uint32_t at = size_ - 1;
        RecordHead& head = this->head(at);
        head.arguments_hash = signature.arguments.hash();
        head.tool = signature.tool;
        head.kind = kind;
        head.marks = 0;
        RecordBody& body = this->body(at);
        body.arguments = signature.arguments;
        body.missing = 0;
        body.stripped = 0;
        body.id_at = keep_id(id, id_size);
    }

    void settle(uint32_t position, RecordKind kind, uint32_t marks, const Digest& outcome, uint64_t identity,
                uint32_t missing, uint32_t stripped) {
        RecordHead& head = this->head(position);
        head.kind = kind;
        head.marks = marks;
        RecordBody& body = this->body(position);
        body.outcome = outcome;
        body.missing = missing;
        body.stripped = stripped;
        if (marks & kIdentified) {
            if (identities_.empty()) identities_.resize(heads_.size());
            identities_[slot(position)] = identity;
        }
    }

    // The id of a record: its length comes before its bytes, seven bits a byte.
    const uint8_t* id(uint32_t position, size_t* size) const {
        const uint8_t* at = ids_.data() + (body(position).id_at - ids_dropped_);
        size_t length = 0;
        for (int shift = 0;; shift += 7) {
            length |= static_cast<size_t>(*at & 0x7F) << shift;
            if (!(*at++ & 0x80)) break;
        }
        *size = length;
        return at;
    }

    Survey survey(const Signature& call, bool exec) const {
        Survey found;
        if (size_ == 0) return found;
        count_no_progress(call, found, nullptr);
        if (exec) found.exec_failures = count_exec_failures(call, nullptr);
        found.unknown = count_unknown(call, found, nullptr);
        // Y, X, … needs an X.
        if (found.records != 0) count_alternation(call, found, nullptr);
        if (found.records >= 3) count_churn(call, found, nullptr);
        return found;
    }

    bool is(uint32_t position, const Signature& signature) const {
        const RecordHead& record = head(position);
        return record.arguments_hash == signature.arguments.hash() &&
           record.tool == signature.tool && body(position).arguments == signature.arguments;
    }

    void list_records(const Signature& call, Trail& trail) const {
        for (uint32_t at = size_; at-- > 0;) {
            if (is(at, call)) trail.push_back(at);
        }
    }

    // Other signatures and pending records are skipped; vetoes count where an equal outcome lies behind them.
    void count_no_progress(const Signature& call, Survey& found, Trail* trail) const {
        Trail put_by_trail;
        uint32_t put_by = 0;
        bool open = true;
        for (uint32_t at = size_; at-- > 0;) {
            if (!is(at, call)) continue;
            ++found.records;
            if (!open || head(at).kind == kPending) continue;
            if (head(at).kind == kVeto) {
                ++put_by;
                if (trail) put_by_trail.push_back(at);
                continue;
            }
            if (found.anchor < 0) found.anchor = static_cast<int32_t>(at);
            if (body(at).outcome != body(static_cast<uint32_t>(found.anchor)).outcome) {
                open = false;
                continue;
            }
            found.no_progress += 1 + put_by;
            put_by = 0;
            if (trail) {
                trail->insert(trail->end(), put_by_trail.begin(), put_by_trail.end());
                trail->push_back(at);
                put_by_trail.clear();
            }
        }
        if (found.anchor < 0) {
            found.no_progress = put_by;
            if (trail) *trail = put_by_trail;
        }
    }

    // The newest failed commands with one and the same failure, over any arguments.
    uint32_t count_exec_failures(const Signature& call, Trail* trail) const {
        uint32_t count = 0;
        int32_t anchor = -1;
        bool met_another = false;
        for (uint32_t at = size_; at-- > 0;) {
            const RecordHead& record = head(at);
            if (record.kind == kVeto || record.kind == kReject) continue;
            if (record.tool != call.tool) break;
            if (record.kind == kPending) continue;
            const bool own = body(at).arguments == call.arguments;
            if (!(record.marks & kIdentified) || (own && met_another)) break;
            if (anchor < 0) anchor = static_cast<int32_t>(at);
            const uint32_t first = static_cast<uint32_t>(anchor);
            if (body(at).outcome != body(first).outcome && identity(at) != identity(first)) break;
            met_another |= !own;
            ++count;
            if (trail) trail->push_back(at);
        }
        return count;
    }

    uint32_t count_unknown(const Signature& call, Survey& found, Trail* trail) const {
        uint32_t count = 0;
        for (uint32_t at = size_; at-- > 0;) {
            if (head(at).kind == kVeto) continue;
            if (found.newest < 0) found.newest = static_cast<int32_t>(at);
            const uint32_t missing = body(static_cast<uint32_t>(found.newest)).missing;
            if (head(at).tool != call.tool || missing == 0 || body(at).missing != missing) break;
            ++count;
            if (trail) trail->push_back(at);
        }
        return count;
    }

    // Steps from new to old: a step is at most one record that is no veto, and the vetoes next to it.
    void count_alternation(const Signature& call, Survey& found, Trail* trail) const {
        for (uint32_t at = size_; at-- > 0 && found.paired < 0;) {
            if (head(at).kind != kVeto && !is(at, call)) found.paired = static_cast<int32_t>(at);
        }
        if (found.paired < 0) return;
        const uint32_t paired = static_cast<uint32_t>(found.paired);
        const Signature other{head(paired).tool, body(paired).arguments};
        uint32_t steps = 0;
        bool filled = false;
        bool constant = true;
        int32_t anchors[2] = {-1, -1};
        for (uint32_t at = size_; at-- > 0;) {
            const bool veto = head(at).kind == kVeto;
            const bool own = is(at, call);
            const bool theirs = !own && is(at, other);
            // Vetoes of third calls are no steps, and neither is a newest one that only retried the vetoed call.
            if (veto && ((!own && !theirs) || (own && steps == 0))) continue;
            // Odd steps are Y, even ones X.
            const bool same_step = steps != 0 && (steps % 2 == 1 ? theirs : own);
            if (!same_step) {
                if (!(steps % 2 == 0 ? theirs : own)) break;
                ++steps;
                filled = false;
            } else if (!veto && filled) {
                break;
            }
            if (trail) trail->push_back(at);
            if (veto) continue;
            filled = true;
            int32_t& anchor = anchors[steps % 2];
            if (head(at).kind == kPending) {
                constant = false;
            } else if (anchor < 0) {
                anchor = static_cast<int32_t>(at);
            } else if (body(at).outcome != body(static_cast<uint32_t>(anchor)).outcome) {
                constant = false;
            }
        }
        if (steps < 2) return;
        found.alternation = steps + 1;
        found.proven = constant && anchors[0] >= 0 && anchors[1] >= 0;
    }

    // A few sets of arguments of one tool, each at least three times, all with one and the same stuck outcome.
    void count_churn(const Signature& call, Survey& found, Trail* trail) const {
        struct Variant {
            Digest arguments;
            uint32_t count;
        };
        std::vector<Variant> variants;
        uint32_t total = 0;
        int32_t anchor = -1;
        bool one_outcome = true;
        for (uint32_t at = size_; at-- > 0;) {
            const RecordHead& record = head(at);
            if (record.kind == kVeto) continue;
            if (record.tool != call.tool) break;
            if (record.kind == kPending) continue;
            if (!(record.marks & kStuck)) break;
            if (anchor < 0) anchor = static_cast<int32_t>(at);
            const RecordBody& it = body(at);
            const bool same = it.outcome == body(static_cast<uint32_t>(anchor)).outcome;
            auto variant = std::find_if(variants.begin(), variants.end(),
                                  [&it](const Variant& seen) { return seen.arguments == it.arguments; });
            if (variant == variants.end()) {
                // With two outcomes among the records walked the total is 0, however the walk goes on.
                if (!same) {
                    one_outcome = false;
                    break;
                }
                variants.push_back({it.arguments, 1});
            } else {
                if (!same) break;
                ++variant->count;
            }
            ++total;
            if (trail) trail->push_back(at);
        }
        bool own = false;
        for (const Variant& variant : variants) {
            if (variant.count < 3) return;
            own |= variant.arguments == call.arguments;
        }
        if (variants.size() < 2 || !one_outcome || !own) return;
        found.variants = static_cast<uint32_t>(variants.size());
        found.churn = total;
    }

private:
    uint32_t slot(uint32_t position) const {
        const uint32_t at = start_ + position;
        return at < heads_.size() ? at : at - static_cast<uint32_t>(heads_.size());
    }

    // Only a ring that was never full grows, so its oldest record is the first.
    void grow() {
        const uint32_t wanted = std::min<uint64_t>(limit_, std::max<uint64_t>(4, static_cast<uint64_t>(size_) * 2));
        std::vector<RecordHead> heads;
        std::vector<RecordBody> bodies;
        heads.reserve(wanted);
        bodies.reserve(wanted);
        heads.assign(heads_.begin(), heads_.end());
        bodies.assign(bodies_.begin(), bodies_.end());
        heads.resize(wanted);
        bodies.resize(wanted);
        if (!identities_.empty()) identities_.resize(wanted);
        heads_.swap(heads);
        bodies_.swap(bodies);
    }

    uint32_t keep_id(const uint8_t* id, size_t size) {
        const size_t needed = size + 10;
        if (ids_.size() + needed > ids_.capacity()) {
            // Ids leave in the order in which they came, so the dead ones are all at the front.
            const uint32_t dead = size_ > 1 ? body(0).id_at - ids_dropped_ : static_cast<uint32_t>(ids_.size());
            ids_.erase(ids_.begin(), ids_.begin() + dead);
            ids_dropped_ += dead;
            // An eighth to spare keeps the moves few.
            if (ids_.size() + needed > ids_.capacity() || dead < ids_.size() / 8) {
                ids_.reserve(ids_.size() + needed + ids_.size() / 8 + 8);
            }
        }
        const uint32_t at = ids_dropped_ + static_cast<uint32_t>(ids_.size());
        size_t length = size;
        for (; length >= 0x80; length >>= 7) ids_.push_back(static_cast<uint8_t>(length | 0x80));
        ids_.push_back(static_cast<uint8_t>(length));
        ids_.insert(ids_.end(), id, id + size);
        return at;
    }

    uint32_t limit_;
    uint32_t size_ = 0;
    uint32_t start_ = 0;
    uint32_t ids_dropped_ = 0;
    uint64_t appended_ = 0;
    std::vector<RecordHead> heads_;
    std::vector<RecordBody> bodies_;
    // Of failed commands; most runs have none.
    std::vector<uint64_t> identities_;
    std::vector<uint8_t> ids_;
};

}  // namespace loopguard::history
