# cython: language_level=3, binding=True, auto_pickle=False, autotestdict=False, embedsignature=False
# cython: boundscheck=True, wraparound=False, freethreading_compatible=True
"""What a run's settled calls left behind: what it has seen, and how often what came. Data in, data out, no policy.

Everything has a bound, beyond which the oldest is forgotten; each call is constant work. A run has its own of all of
these; not thread-safe.
"""
cimport cython
from libc.stdint cimport int64_t, uint64_t
from libcpp.vector cimport vector

from loopguard cimport _course_native as native
from loopguard cimport _facts_native as text
from loopguard cimport _pack_native as pack
from loopguard._facts cimport CallFacts, Counters, OutcomeFacts, read_call
from loopguard._pack cimport Reader, Writer

cdef enum:
    # Counters and first occurrences that a run keeps; calls that each counter names; members of its sets.
    KEPT = 512
    EVIDENCE = 32
    MEMBERS = 512
    # Grounds a step has for being counted: bits in the order in which they are noted.
    EQUAL_BIT = 0
    NEAR_BIT
    SHIFTING_BIT
    DIGITLESS_BIT
    LAST_LIKE_BIT
    FIRST_LIKE_BIT
    ERROR_BIT
    LAST_SIGNATURE_BIT
    FIRST_SIGNATURE_BIT
    ANSWER_BIT
    SPREAD_BIT
    GROUNDS
    PLACE_BITS = 4
    GROUND_BITS = 3
    # Of those, the ones whose counters compare how calls are worded.
    WORDED = 1 << NEAR_BIT | 1 << ERROR_BIT | 1 << ANSWER_BIT
    # Those whose counters tell outcomes by what they were before anything was masked.
    WITH_RAW = 1 << EQUAL_BIT | 1 << NEAR_BIT
    # How an origin's outcome was.
    FAILED = 1
    HAS_RAW = 2
    IS_SHORT = 4
    HAS_TWO_SIGNATURES = 8
    VERDICT = 16
    INFORMATIVE = 32
    HOW_BITS = 6
    # What there is to read of a packed counter.
    HAS_EARLIER = 1
    HAS_RAWS = 2
    HAS_NEWEST = 4
    IS_ALIKE = 8
    HAS_FRESH = 16
    REPEATS = 32
    IDS_AS_BEFORE = 64
    HAS_MOVES = 128
    TALLIES = 255
    # Longer texts, in bytes, are known by what is not masked.
    TEXT = 100

#: What a counter is of.
EQUAL, NEAR, SHIFTING, LIKE, ERROR, SIGNATURE, ANSWER, SPREAD = range(8)

cdef enum Ground:
    OF_EQUAL, OF_NEAR, OF_SHIFTING, OF_LIKE, OF_ERROR, OF_SIGNATURE, OF_ANSWER, OF_SPREAD

#: No step or number of a response is larger.
cdef uint64_t LATEST = <uint64_t>1 << 56
cdef uint64_t NOWHERE = <uint64_t>-1


@cython.no_gc
@cython.final
cdef class Recent:
    """The newest members of a set of hashes."""
    cdef native.Recent members

    def __cinit__(self, unsigned limit):
        if limit == 0:
            raise ValueError("nothing to keep")
        self.members = native.Recent(limit)

    def meet(self, uint64_t member):
        """Remember a member. Returns whether it is new."""
        return self.members.meet(member)

    def has(self, uint64_t member):
        """Whether it is among the newest members."""
        return self.members.has(member)

    def clear(self):
        """Forget all of them."""
        self.members.clear()

    def pack(self, Writer out not None):
        """Write it into a snapshot."""
        self.members.pack(out.to, pack.OTHER)

    def unpack(self, Reader data not None):
        """Take over in an empty set what was packed. Raises `ValueError`."""
        self.members.unpack(data.source, pack.OTHER)


@cython.no_gc
@cython.final
cdef class Trends:
    """Tells counters that move on in one direction from noise, for each of the newest calls."""
    cdef native.Trends calls

    def __cinit__(self, size_t limit):
        if limit == 0:
            raise ValueError("nothing to keep")
        self.calls = native.Trends(limit)

    def take(self, uint64_t call, uint64_t outcome, Counters counted not None):
        """Take what a call counted.

        Returns how many steps it has gone on the same way, negative for down; 0 if it stands still.
        """
        return self.calls.take(call, outcome, counted.numbers)

    def pack(self, Writer out not None):
        """Write it into a snapshot."""
        self.calls.pack(out.to)

    def unpack(self, Reader data not None):
        """Take over what was packed. Raises `ValueError`."""
        self.calls.unpack(data.source)


@cython.no_gc
@cython.final
cdef class Values:
    """What the newest calls answered, up to `most` values of each."""
    cdef native.Values calls

    def __cinit__(self, size_t limit, size_t most):
        if limit == 0 or most == 0:
            raise ValueError("nothing to keep")
        self.calls = native.Values(limit, most)

    def take(self, CallFacts call not None, OutcomeFacts outcome not None):
        """Take an answer. Returns how many different ones its call gave."""
        return self.calls.take(call.same, outcome.same)

    def clear(self):
        """Forget all of them."""
        self.calls.clear()

    def pack(self, Writer out not None):
        """Write it into a snapshot."""
        self.calls.pack(out.to)

    def unpack(self, Reader data not None):
        """Take over what was packed. Raises `ValueError`."""
        self.calls.unpack(data.source)


@cython.no_gc
@cython.final
cdef class Worked:
    """How often the newest programs worked."""
    cdef native.Worked programs

    def __cinit__(self, size_t limit):
        if limit == 0:
            raise ValueError("nothing to keep")
        self.programs = native.Worked(limit)

    def times(self, CallFacts call not None):
        """Return how often the program of a call worked."""
        return self.programs.times(call.program)

    def add(self, CallFacts call not None):
        """Count a call that worked."""
        self.programs.add(call.program)

    def clear(self):
        """Forget all of them."""
        self.programs.clear()

    def pack(self, Writer out not None):
        """Write it into a snapshot."""
        self.programs.pack(out.to)

    def unpack(self, Reader data not None):
        """Take over what was packed. Raises `ValueError`."""
        self.programs.unpack(data.source)


@cython.no_gc
@cython.final
cdef class Pages:
    """Which lines of the newest files were read."""
    cdef native.Pages files

    def __cinit__(self, size_t files, size_t pieces):
        if files == 0 or pieces == 0:
            raise ValueError("nothing to keep")
        self.files = native.Pages(files, pieces)

    def read(self, CallFacts call not None):
        """Remember the lines that a call reads. Returns whether all of them had been read; of no lines, `False`."""
        return call.end_line != 0 and self.files.read(call.target, call.first_line, call.end_line)

    def forget(self, uint64_t file):
        """Forget what was read of a file, since it was changed; 0 may be any file."""
        self.files.forget(file)

    def pack(self, Writer out not None):
        """Write it into a snapshot."""
        self.files.pack(out.to)

    def unpack(self, Reader data not None):
        """Take over what was packed. Raises `ValueError`."""
        self.files.unpack(data.source)


@cython.no_gc
@cython.final
cdef class Pauses:
    """How many repeats of a call were patient, since it last brought news.

    A repeat is, from a pause of `long_pause_s` on or where each pause is `growth` times the one before; at most `most`
    count, of the newest calls.
    """
    cdef native.Patience calls

    def __cinit__(self, double long_pause_s, double growth, int most, size_t kept):
        if kept == 0:
            raise ValueError("nothing to keep")
        cdef native.Manners manners
        manners.long_pause_us, manners.growth = microseconds(long_pause_s), growth
        manners.most, manners.kept = most, kept
        self.calls = native.Patience(manners)

    def take(self, CallFacts call not None, int64_t span, double at):
        """Note when a call was asked, in seconds. Returns how many of its repeats in this span were patient."""
        return self.calls.take(call.same, span, microseconds(at), call.pause_s * 1000000)

    def pack(self, Writer out not None):
        """Write it into a snapshot."""
        self.calls.pack(out.to)

    def unpack(self, Reader data not None):
        """Take over what was packed. Raises `ValueError`."""
        self.calls.unpack(data.source)


cdef int64_t microseconds(double seconds) noexcept nogil:
    # Beyond that there is no time; sums of a few of these are still numbers.
    cdef double latest = 1e16
    cdef double found = seconds * 1e6
    if not found > -latest:
        return <int64_t>-latest
    return <int64_t>(found if found < latest else latest)


@cython.final
cdef class Rounds:
    """Looks for rounds: sequences of two to ten calls that come again and again."""
    cdef native.Rounds steps
    cdef list ids

    def __cinit__(self):
        self.ids = []

    def add(self, uint64_t spelling, CallFacts call not None, OutcomeFacts outcome not None, str call_id not None):
        """Add a step; `spelling` is what makes calls alike."""
        self.steps.add(spelling, call.same, outcome.same, outcome.failed and not outcome.empty)
        if len(self.ids) == <Py_ssize_t>native.KEPT:
            del self.ids[0]
        self.ids.append(call_id)

    def reset(self):
        """Start over: what comes next has nothing to do with what was before."""
        self.steps.reset()
        self.ids = []

    def alike(self, int64_t since_news):
        """Return how many rounds of like calls lie within the newest `since_news` steps, and the ids of their calls."""
        return self.found(self.steps.alike(since_news))

    def failing(self):
        """Return how many rounds are equal in calls and outcomes, something failing in each, and their calls' ids."""
        return self.found(self.steps.failing())

    cdef tuple found(self, native.Round found):
        if found.times == 0:
            return (0, ())
        cdef Py_ssize_t first = max(len(self.ids) - <Py_ssize_t>(found.times * found.length), 0)
        return (found.times, self.ids[first:])

    def pack(self, Writer out not None):
        """Write it into a snapshot."""
        self.steps.pack(out.to)
        for call_id in self.ids:
            out.put_name(pack.NAME, call_id)

    def unpack(self, Reader data not None):
        """Take over what was packed. Raises `ValueError`."""
        self.steps.unpack(data.source)
        cdef size_t count = self.steps.size()
        self.ids = [data.take_name(pack.NAME) for _ in range(count)]


# A step that brought something that has not come again: what it is known by, and which of that is still to come.
@cython.no_gc
@cython.final
@cython.freelist(64)
cdef class _Origin:
    cdef CallFacts call
    cdef str call_id
    cdef uint64_t step, turn, worked
    cdef uint64_t same, raw, digitless, last, first
    cdef unsigned how, awaited

    cdef unsigned grounds(self):
        """What the step could be known by, as bits."""
        cdef unsigned how = self.how
        cdef unsigned found = 1 << EQUAL_BIT | 1 << SPREAD_BIT
        if self.call.near != self.call.same:
            found |= 1 << NEAR_BIT
        if how & HAS_RAW:
            found |= 1 << SHIFTING_BIT
        if self.digitless:
            found |= 1 << DIGITLESS_BIT
        if not how & FAILED:
            return found | 1 << ANSWER_BIT if how & INFORMATIVE else found
        found |= 1 << ERROR_BIT | 1 << LAST_SIGNATURE_BIT
        if how & HAS_TWO_SIGNATURES:
            found |= 1 << FIRST_SIGNATURE_BIT
        if not how & VERDICT:
            found |= 1 << LAST_LIKE_BIT
            if how & HAS_TWO_SIGNATURES:
                found |= 1 << FIRST_LIKE_BIT
        return found

    cdef uint64_t thing(self, int bit):
        cdef CallFacts call = self.call
        if bit == EQUAL_BIT:
            return thing_of(OF_EQUAL, call.same, self.same, 0)
        if bit == NEAR_BIT:
            return thing_of(OF_NEAR, call.near, self.same, 0)
        if bit == SHIFTING_BIT:
            return thing_of(OF_SHIFTING, call.same, 0, 0)
        if bit == DIGITLESS_BIT:
            return thing_of(OF_LIKE, call.same, self.digitless, 0)
        if bit == LAST_LIKE_BIT:
            return thing_of(OF_LIKE, call.same, self.last, 0)
        if bit == FIRST_LIKE_BIT:
            return thing_of(OF_LIKE, call.same, self.first, 0)
        if bit == ERROR_BIT:
            return thing_of(OF_ERROR, call.number, self.same, self.worked)
        if bit == LAST_SIGNATURE_BIT:
            return thing_of(OF_SIGNATURE, call.program, self.last, self.worked)
        if bit == FIRST_SIGNATURE_BIT:
            return thing_of(OF_SIGNATURE, call.program, self.first, self.worked)
        cdef uint64_t answer = self.raw if self.how & IS_SHORT else self.same
        if bit == ANSWER_BIT:
            return thing_of(OF_ANSWER, call.family or call.number, answer, 0)
        return thing_of(OF_SPREAD, call.same, answer, 0)

    cdef int put(self, Writer out) except -1:
        # Mostly all of it is still awaited.
        out.to.number(<uint64_t>(self.grounds() & ~self.awaited) << HOW_BITS | self.how)
        self.call.put(out, True)
        out.put_name(pack.NAME, self.call_id)
        out.to.distance(self.step, self.turn)
        out.to.mark(pack.OUTCOME, self.same)
        out.to.mark(pack.DIGITLESS, self.digitless)
        if self.how & HAS_RAW:
            out.to.mark(pack.RAW, self.raw)
        if self.how & FAILED:
            out.to.number(self.worked)
            out.to.mark(pack.SIGNATURE, self.last)
        if self.how & HAS_TWO_SIGNATURES:
            out.to.mark(pack.SIGNATURE, self.first)
        return 0

    cdef int take(self, Reader data, uint64_t step) except -1:
        """Read what was put; return what was awaited."""
        cdef uint64_t head = data.source.small(<uint64_t>1 << GROUNDS + HOW_BITS)
        self.step, self.how = step, head & ((1 << HOW_BITS) - 1)
        self.call = read_call(data)
        self.call_id = data.take_name(pack.NAME)
        self.turn = data.source.distance(step, LATEST)
        self.same = self.raw = data.source.mark(pack.OUTCOME)
        self.digitless = data.source.mark(pack.DIGITLESS)
        if self.how & HAS_RAW:
            self.raw = data.source.mark(pack.RAW)
        if self.how & FAILED:
            self.worked = data.source.number()
            self.last = data.source.mark(pack.SIGNATURE)
        if self.how & HAS_TWO_SIGNATURES:
            self.first = data.source.mark(pack.SIGNATURE)
        return self.grounds() & ~<unsigned>(head >> HOW_BITS)


cdef uint64_t thing_of(Ground ground, uint64_t one, uint64_t other, uint64_t third) noexcept:
    return text.pair(text.pair(one, other), third << GROUND_BITS | ground) & pack.MARKS


@cython.no_gc
@cython.final
cdef class Tally:
    """How often something came within a span, and where it came last before.

    A batch counts once: its calls were asked before any of them ran. `earlier` is the step before the span at which it
    came, `step` the newest one at all, -1 never; `alike` says how many of the newest calls counted are worded alike,
    `repeats` whether one of them came twice, `fresh` how many were about something else than all before, `moves` how
    many named another page or line than the one before.
    """
    cdef readonly int64_t span, count, earlier, step, turn, alike, fresh, moves
    cdef readonly bint repeats
    cdef readonly list call_ids
    cdef uint64_t raw, earlier_raw
    cdef CallFacts newest
    # Calls counted, and what they are about; outcomes as they were before anything was masked, and how often each came.
    cdef vector[uint64_t] same, targets, raws, raw_counts

    def firm(self, uint64_t raw, int64_t number):
        """Return how many of `number` counted gave this very outcome, nothing masked."""
        cdef int64_t found = 1 if number > self.count and self.earlier_raw == raw else 0
        cdef int64_t place = place_in(self.raws, raw)
        if place >= 0:
            found += <int64_t>self.raw_counts[place]
        return min(number, found)

    def compare(self, CallFacts call not None, double likeness, bint by_form, double unlike):
        """Take the call that raised it: is it worded like the one before?

        Returns whether it asks about something that none of those counted asked about; `by_form`: one form filled in
        with other words is enough for that, or a likeness below `unlike`.
        """
        cdef CallFacts before = self.newest
        cdef bint seen, fresh = False
        if before is None:
            self.alike = 1
        else:
            self.alike = self.alike + 1 if before.alike(call) >= likeness else 1
            self.moves += before.worded and call.worded and before.numbers != call.numbers
            add_member(self.same, before.same)
            add_member(self.targets, before.target)
        self.newest = call
        seen = place_in(self.same, call.same) >= 0
        self.repeats = self.repeats or seen
        if before is not None and not seen:
            fresh = asks_about_other(before, call, self.targets, by_form, unlike)
            self.fresh += fresh
        add_member(self.same, call.same)
        return fresh

    cdef int begin(self, int64_t span, bint earlier) except -1:
        """Count anew in another span; `earlier` says whether what was counted so far may be its first occurrence."""
        self.earlier = self.step if earlier else -1
        self.earlier_raw = self.raw if earlier else 0
        self.span = span
        self.count = self.fresh = self.moves = 0
        self.alike = 1
        self.repeats = False
        self.raws.clear()
        self.raw_counts.clear()
        self.same.clear()
        self.targets.clear()
        del self.call_ids[:-1]
        return 0

    cdef int add(self, int64_t step, int64_t turn, str call_id, bint has_raw, uint64_t raw) except -1:
        cdef int64_t place
        if self.turn != turn or self.count == 0:
            self.count += 1
            if has_raw:
                place = place_in(self.raws, raw)
                if self.raws.size() == EVIDENCE:
                    pass
                elif place >= 0:
                    self.raw_counts[place] += 1
                else:
                    self.raws.push_back(raw)
                    self.raw_counts.push_back(1)
        self.step, self.turn, self.raw = step, turn, raw if has_raw else 0
        if len(self.call_ids) == EVIDENCE:
            del self.call_ids[0]
        self.call_ids.append(call_id)
        return 0

    cdef int put(self, Writer out, Tally before) except -1:
        """Write what it counted beside what another one did: many are counted at one step."""
        cdef bint has_raws = self.raws.size() or self.raw or self.earlier_raw
        cdef bint as_before = self.call_ids == before.call_ids
        out.to.number(
            (HAS_EARLIER if self.earlier >= 0 else 0)
            | (HAS_RAWS if has_raws else 0)
            | (HAS_NEWEST if self.newest is not None else 0)
            | (IS_ALIKE if self.alike != 1 else 0)
            | (HAS_FRESH if self.fresh else 0)
            | (REPEATS if self.repeats else 0)
            | (IDS_AS_BEFORE if as_before else 0)
            | (HAS_MOVES if self.moves else 0)
        )
        out.to.distance(before.span, self.span)
        out.to.distance(before.step, self.step)
        out.to.distance(self.step, self.turn)
        out.to.number(self.count)
        if self.earlier >= 0:
            out.to.distance(self.step, self.earlier)
        if self.alike != 1:
            out.to.number(self.alike)
        if self.fresh:
            out.to.number(self.fresh)
        if self.moves:
            out.to.number(self.moves)
        if not as_before:
            out.put_names(self.call_ids)
        cdef size_t place
        if has_raws:
            out.to.mark(pack.RAW, self.raw)
            out.to.mark(pack.RAW, self.earlier_raw)
            out.to.number(self.raws.size())
            for place in range(self.raws.size()):
                out.to.mark(pack.RAW, self.raws[place])
                out.to.number(self.raw_counts[place])
        if self.newest is not None:
            self.newest.put(out, True)
            put_members(out, pack.SAME, self.same)
            put_members(out, pack.TARGET, self.targets)
        return 0

    cdef int take(self, Reader data, Tally before) except -1:
        cdef uint64_t count, there = data.source.small(TALLIES)
        self.span = data.source.distance(before.span, LATEST)
        self.step = data.source.distance(before.step, LATEST)
        self.turn = data.source.distance(self.step, LATEST)
        self.count = data.source.small(LATEST)
        self.earlier = data.source.distance(self.step, LATEST) if there & HAS_EARLIER else -1
        self.alike = data.source.small(LATEST) if there & IS_ALIKE else 1
        self.fresh = data.source.small(LATEST) if there & HAS_FRESH else 0
        self.moves = data.source.small(LATEST) if there & HAS_MOVES else 0
        self.repeats = (there & REPEATS) != 0
        self.call_ids = list(before.call_ids) if there & IDS_AS_BEFORE else data.take_names()
        if len(self.call_ids) > EVIDENCE:
            raise ValueError("more evidence than is kept")
        if there & HAS_RAWS:
            self.raw = data.source.mark(pack.RAW)
            self.earlier_raw = data.source.mark(pack.RAW)
            count = data.source.small(EVIDENCE)
            for _ in range(count):
                self.raws.push_back(data.source.mark(pack.RAW))
                self.raw_counts.push_back(data.source.small(LATEST))
        if there & HAS_NEWEST:
            self.newest = read_call(data)
            take_members(data, pack.SAME, self.same)
            take_members(data, pack.TARGET, self.targets)
        return 0


cdef int64_t place_in(const vector[uint64_t]& members, uint64_t member) noexcept:
    cdef size_t place
    for place in range(members.size()):
        if members[place] == member:
            return place
    return -1


cdef int add_member(vector[uint64_t]& members, uint64_t member) except -1:
    if place_in(members, member) >= 0:
        return 0
    if members.size() == MEMBERS:
        members.erase(members.begin())
    members.push_back(member)
    return 0


cdef int put_members(Writer out, pack.Lane lane, const vector[uint64_t]& members) except -1:
    cdef size_t place
    out.to.number(members.size())
    for place in range(members.size()):
        out.to.mark(lane, members[place])
    return 0


cdef int take_members(Reader data, pack.Lane lane, vector[uint64_t]& members) except -1:
    cdef uint64_t count = data.source.small(MEMBERS)
    for _ in range(count):
        members.push_back(data.source.mark(lane))
    return 0


cdef bint asks_about_other(
    CallFacts before, CallFacts call, const vector[uint64_t]& targets, bint by_form, double unlike
) noexcept:
    """Whether a call asks the same of something else: another target or arguments, other words in one place."""
    if not (call.worded and before.worded):
        return False
    if call.near != before.near:
        if not call.free_text:
            return True
        if call.target and place_in(targets, call.target) < 0:
            return True
    if not (by_form and call.free_text):
        return False
    return before.alike(call) < unlike or call.wording.fills_form(before.wording)


# Its dictionaries hold no more than calls and texts, which make no cycle.
@cython.no_gc
@cython.final
cdef class Tallies:
    """The counters of a run by what they are of: a ground, the call and its outcome. The oldest is forgotten first.

    What came once so far, which most things stay at, is kept by step.
    """
    cdef dict tallies
    cdef dict origins
    cdef native.Firsts firsts

    def __cinit__(self):
        self.tallies = {}
        self.origins = {}

    def note(
        self, CallFacts call not None, OutcomeFacts outcome not None, uint64_t worked, uint64_t step, uint64_t turn,
        str call_id not None, bint spread,
    ):
        """Remember a step that starts a stretch, for all that it can be known by; `spread`: for that too.

        `worked` is how often the call's program did before.
        """
        cdef _Origin origin = _Origin.__new__(_Origin)
        origin.call, origin.call_id = call, call_id
        origin.step, origin.turn = step, turn
        origin.same, origin.raw, origin.digitless = outcome.same, outcome.raw, outcome.digitless
        origin.how = (
            (HAS_RAW if outcome.raw != outcome.same else 0)
            | (IS_SHORT if outcome.size < TEXT else 0)
            | (VERDICT if outcome.verdict else 0)
            | (INFORMATIVE if outcome.informative else 0)
        )
        if outcome.failed:
            origin.worked = worked
            origin.last = outcome.signatures[0]
            origin.how |= FAILED
            if len(outcome.signatures) > 1:
                origin.first = outcome.signatures[1]
                origin.how |= HAS_TWO_SIGNATURES
        cdef unsigned grounds = origin.grounds()
        if not spread:
            grounds &= ~<unsigned>(1 << SPREAD_BIT)
        self.origins[step] = origin
        cdef int bit
        cdef Tally tally
        for bit in range(GROUNDS):
            if not grounds >> bit & 1:
                continue
            tally = self.tallies.get(origin.thing(bit))
            if tally is None:
                self.expect(origin, bit)
                continue
            tally.step, tally.turn = step, turn
            tally.call_ids = [call_id]
            tally.newest = call if WORDED >> bit & 1 else None
            tally.raw = outcome.raw if WITH_RAW >> bit & 1 else 0
        if not origin.awaited:
            del self.origins[step]
        self.sweep()

    def count(
        self, Ground ground, CallFacts call not None, OutcomeFacts outcome not None, uint64_t detail, uint64_t worked,
        int64_t span, uint64_t step, uint64_t turn, str call_id not None, int64_t within=0,
    ):
        """Count something within a span; in another span, or more than `within` steps later, the count starts anew.

        `detail` is the likeness of a LIKE and the signature of a SIGNATURE, `worked` how often the program of an ERROR
        or a SIGNATURE did before.
        """
        cdef uint64_t thing
        if ground == OF_EQUAL:
            thing = thing_of(ground, call.same, outcome.same, 0)
        elif ground == OF_NEAR:
            thing = thing_of(ground, call.near, outcome.same, 0)
        elif ground == OF_SHIFTING:
            thing = thing_of(ground, call.same, 0, 0)
        elif ground == OF_LIKE:
            thing = thing_of(ground, call.same, detail, 0)
        elif ground == OF_ERROR:
            thing = thing_of(ground, call.number, outcome.same, worked)
        elif ground == OF_SIGNATURE:
            thing = thing_of(ground, call.program, detail, worked)
        elif ground == OF_ANSWER:
            thing = thing_of(ground, call.family or call.number, answer_of(outcome), 0)
        else:
            thing = thing_of(ground, call.same, answer_of(outcome), 0)
        cdef Tally tally = self.tallies.get(thing)
        if tally is None:
            tally = self.begin(thing, span)
        elif tally.span != span:
            tally.begin(span, True)
        elif within > 0 and <int64_t>step - tally.step > within:
            tally.begin(span, False)
        tally.add(step, turn, call_id, ground == OF_EQUAL or ground == OF_NEAR, outcome.raw)
        return tally

    cdef Tally begin(self, uint64_t thing, int64_t span):
        """Make a counter; what came once before is its first occurrence."""
        cdef Tally tally = Tally.__new__(Tally)
        tally.span, tally.alike = span, 1
        tally.earlier = tally.step = tally.turn = -1
        cdef uint64_t place = self.firsts.find(thing, NOWHERE)
        cdef _Origin origin
        cdef int bit
        if place == NOWHERE:
            tally.call_ids = []
        else:
            origin, bit = self.origins[place >> PLACE_BITS], place & ((1 << PLACE_BITS) - 1)
            tally.earlier, tally.turn, tally.call_ids = origin.step, origin.turn, [origin.call_id]
            if WORDED >> bit & 1:
                tally.newest = origin.call
            if WITH_RAW >> bit & 1:
                tally.raw = tally.earlier_raw = origin.raw
            self.forget(origin, bit)
        self.tallies[thing] = tally
        if len(self.tallies) > KEPT:
            del self.tallies[next(iter(self.tallies))]
        return tally

    cdef int expect(self, _Origin origin, int bit) except -1:
        """Await a thing that came once; it may have come before and be forgotten since."""
        cdef uint64_t thing = origin.thing(bit)
        cdef uint64_t place = self.firsts.find(thing, NOWHERE)
        if place != NOWHERE:
            self.forget(self.origins[place >> PLACE_BITS], place & ((1 << PLACE_BITS) - 1))
        origin.awaited |= 1 << bit
        self.firsts.add(thing, origin.step << PLACE_BITS | <uint64_t>bit)
        return 0

    cdef int forget(self, _Origin origin, int bit) except -1:
        """Await a thing no more."""
        self.firsts.drop(origin.thing(bit))
        origin.awaited &= ~<unsigned>(1 << bit)
        if not origin.awaited:
            self.origins.pop(origin.step, None)
        return 0

    cdef int sweep(self) except -1:
        cdef _Origin oldest
        cdef int bit
        while self.firsts.size() > KEPT:
            oldest = next(iter(self.origins.values()))
            bit = 0
            while not oldest.awaited >> bit & 1:
                bit += 1
            self.forget(oldest, bit)
        return 0

    def pack(self, Writer out not None):
        """Write them into a snapshot."""
        cdef _Origin origin
        cdef uint64_t before = 0
        out.to.number(len(self.origins))
        for origin in self.origins.values():
            out.to.number(origin.step - before)
            origin.put(out)
            before = origin.step
        cdef Tally tally, last = NO_TALLY
        out.to.number(len(self.tallies))
        for thing, tally in self.tallies.items():
            out.to.lone(thing)
            tally.put(out, last)
            last = tally

    def unpack(self, Reader data not None, uint64_t newest):
        """Take over in empty ones what was packed; `newest` is the step that came last. Raises `ValueError`."""
        cdef _Origin origin
        cdef int bit
        cdef unsigned awaited
        cdef uint64_t step = 0, thing
        cdef uint64_t count = data.source.count()
        cdef uint64_t place
        for place in range(count):
            step += data.source.small(newest - step)
            if place and step == origin.step:
                raise ValueError(f"step {step} twice")
            origin = _Origin.__new__(_Origin)
            awaited = origin.take(data, step)
            self.origins[step] = origin
            for bit in range(GROUNDS):
                if awaited >> bit & 1:
                    self.expect(origin, bit)
            if not origin.awaited:
                raise ValueError("a step that nothing is awaited of")
        self.sweep()
        cdef Tally tally, last = NO_TALLY
        count = data.source.small(KEPT)
        for _ in range(count):
            thing = data.source.lone()
            tally = Tally.__new__(Tally)
            tally.take(data, last)
            self.tallies[thing] = last = tally


cdef Tally NO_TALLY = Tally.__new__(Tally)
NO_TALLY.call_ids = []


cdef uint64_t answer_of(OutcomeFacts outcome) noexcept:
    """What an answer is known by: a short one by all of it, since what is masked may be what was asked for."""
    return outcome.raw if outcome.size < TEXT else outcome.same
