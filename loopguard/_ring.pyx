# cython: language_level=3, binding=True, auto_pickle=False, autotestdict=False, embedsignature=False
# cython: boundscheck=True, freethreading_compatible=True
"""One run's newest records, packed, with the names that they share.

Work is bounded by the size of the ring. A ring belongs to one run: nothing here may be called by two threads at once.
"""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.string cimport string
from libcpp.vector cimport vector

from loopguard cimport _history
from loopguard._utf8 cimport utf8_of

cdef enum:
    DIGEST_SIZE = 16
    # Dead names are swept once there are this many more than records.
    SPARE_NAMES = 16


cdef inline _history.Digest digest_of(bytes digest) except *:
    if PyBytes_GET_SIZE(digest) != DIGEST_SIZE:
        raise ValueError(f"a digest has {DIGEST_SIZE} bytes, not {PyBytes_GET_SIZE(digest)}")
    return _history.Digest.of(<const uint8_t*>PyBytes_AS_STRING(digest))


# A ring holds names only: no cycle can go through it, and without the collector's header a run is smaller.
@cython.no_gc
cdef class Ring:
    """The newest records of one run, packed, and the counts that are walked from them.

    Not thread-safe. `kind` is 0 pending, 1 done, 2 reject, 3 veto; a position counts from the oldest record.
    """

    def __cinit__(self, size):
        if size < 1:
            raise ValueError(f"size must be at least 1, not {size}")
        self.ring = _history.Ring(<uint32_t>min(size, 0xFFFFFFFF))
        self.names = [""]

    def __len__(self):
        return self.ring.size()

    def append(self, str tool not None, bytes digest not None, str call_id not None="", int kind=0):
        """Append a record without outcome and return its number; the oldest one falls out of a full ring."""
        return self.add(tool, digest, call_id, kind)

    cdef uint64_t add(self, str tool, bytes digest, str call_id, int kind) except? 0:
        self.sweep_names()
        cdef _history.Signature signature = self.signature(self.index(tool), digest)
        cdef Py_ssize_t id_size
        cdef const char* id_bytes
        cdef object _owner = utf8_of(call_id, &id_bytes, &id_size)
        self.ring.append(signature, <_history.RecordKind>(kind & 3), <const uint8_t*>id_bytes, id_size)
        return self.ring.appended()

    def settle(
        self, uint64_t number, int kind, bytes result, bytes identity, bint failed, bint stuck,
        str missing_tool not None, tuple stripped not None,
    ):
        """Write an outcome into the record of that number; False if it is gone.

        `identity` says that a command failed, and how; only its first eight bytes are kept.
        """
        return self.write_outcome(number, kind, result, identity, failed, stuck, missing_tool, stripped)

    cdef bint write_outcome(
        self, uint64_t number, int kind, bytes result, bytes identity, bint failed, bint stuck, str missing_tool,
        tuple stripped,
    ) except -1:
        cdef uint64_t behind = self.ring.appended() - number
        if behind >= self.ring.size():
            return False
        self.sweep_names()
        cdef _history.Digest digest
        cdef uint64_t identity_word = 0
        cdef uint32_t marks = (_history.kFailed if failed else 0) | (_history.kStuck if stuck else 0)
        if result is None:
            memset(digest.bytes, 0, sizeof(digest.bytes))
        else:
            digest = digest_of(result)
        if identity is not None:
            if PyBytes_GET_SIZE(identity) < 8:
                raise ValueError("an identity has at least 8 bytes")
            memcpy(&identity_word, PyBytes_AS_STRING(identity), 8)
            marks |= _history.kIdentified
        self.ring.settle(
            <uint32_t>(self.ring.size() - 1 - behind), <_history.RecordKind>(kind & 3), marks, digest, identity_word,
            self.index(missing_tool) if missing_tool else 0, self.index(stripped) if stripped else 0,
        )
        return True

    def survey(self, str tool not None, bytes digest not None, bint commands, Py_ssize_t lowest):
        """Return what the records say about a call that is about to run; `None` if no count reaches `lowest`.

        (records, no_progress, exec_failures, unknown, alternation, proven, churn, variants) and three positions, -1 for
        none: the no-progress anchor, the newest record of the other call, the newest record that is no veto.
        """
        cdef _history.Survey found
        if not self.look(tool, digest, commands, lowest, &found):
            return None
        return (
            found.records, found.no_progress, found.exec_failures, found.unknown, found.alternation, found.proven,
            found.churn, found.variants, found.anchor, found.paired, found.newest,
        )

    cdef bint look(self, str tool, bytes digest, bint commands, Py_ssize_t lowest, _history.Survey* found) except -1:
        """Survey the records; False if no count reaches `lowest`."""
        cdef Py_ssize_t index = self.find(tool)
        if index < 0:
            return False
        found[0] = self.ring.survey(self.signature(index, digest), commands)
        return <Py_ssize_t>found.peak() >= lowest

    def trail(self, str kind not None, str tool not None, bytes digest not None):
        """Return the positions of the records behind a count, oldest first."""
        cdef vector[uint32_t] trail
        cdef _history.Survey found
        cdef Py_ssize_t index = self.find(tool)
        if index < 0:
            return []
        cdef _history.Signature signature = self.signature(index, digest)
        if kind == "records":
            self.ring.list_records(signature, trail)
        elif kind == "no_progress":
            self.ring.count_no_progress(signature, found, &trail)
        elif kind == "exec_failures":
            self.ring.count_exec_failures(signature, &trail)
        elif kind == "unknown":
            self.ring.count_unknown(signature, found, &trail)
        elif kind == "alternation":
            self.ring.count_alternation(signature, found, &trail)
        elif kind == "churn":
            self.ring.count_churn(signature, found, &trail)
        else:
            raise ValueError(f"no count is called {kind!r}")
        return list(reversed(trail))

    def record(self, Py_ssize_t position):
        """Return (tool, digest, call_id, kind, outcome, failed, stuck, missing_tool, stripped)."""
        if not 0 <= position < self.ring.size():
            raise IndexError(f"no record at {position}")
        cdef _history.RecordHead* head = &self.ring.head(<uint32_t>position)
        cdef _history.RecordBody* body = &self.ring.body(<uint32_t>position)
        cdef size_t id_size = 0
        cdef const uint8_t* id_bytes = self.ring.id(<uint32_t>position, &id_size)
        has_outcome = head.kind == _history.kDone or head.kind == _history.kReject
        return (
            self.names[head.tool],
            PyBytes_FromStringAndSize(<const char*>body.arguments.bytes, DIGEST_SIZE),
            PyUnicode_DecodeUTF8(<const char*>id_bytes, id_size, "surrogatepass"),
            head.kind,
            PyBytes_FromStringAndSize(<const char*>body.outcome.bytes, DIGEST_SIZE) if has_outcome else None,
            bool(head.marks & _history.kFailed),
            bool(head.marks & _history.kStuck),
            self.names[body.missing],
            self.names[body.stripped] or (),
        )

    def copy(self):
        """Return a ring with the same records, of the same class."""
        cdef Ring twin = type(self).__new__(type(self), 1)
        twin.ring = self.ring
        twin.names = self.names.copy()
        return twin

    def pack(self):
        """Return (texts, pairs, records): the names that records have, tools and others, and the records as bytes.

        A pair is what was stripped of an outcome.
        """
        cdef vector[uint32_t] moved
        cdef list texts = []
        cdef list pairs = []
        cdef uint32_t position
        cdef _history.RecordBody* body
        moved.resize(len(self.names))
        for position in range(self.ring.size()):
            body = &self.ring.body(position)
            for index in (self.ring.head(position).tool, body.missing):
                if index and not moved[index]:
                    texts.append(self.names[index])
                    moved[index] = <uint32_t>len(texts)
        for position in range(self.ring.size()):
            index = self.ring.body(position).stripped
            if index and not moved[index]:
                pairs.append(self.names[index])
                moved[index] = <uint32_t>(len(texts) + len(pairs))
        cdef string records = _history.pack(self.ring, moved)
        return texts, pairs, PyBytes_FromStringAndSize(records.data(), records.size())

    @classmethod
    def unpack(cls, list texts not None, list pairs not None, bytes records not None):
        """Return the ring that `pack` took apart. Raises `ValueError` for records that can't be."""
        cdef Ring ring = cls.__new__(cls, 1)
        cdef uint32_t position
        cdef size_t id_size = 0
        cdef const uint8_t* id_bytes
        cdef _history.PackedRing* packed = new _history.PackedRing(
            <const uint8_t*>PyBytes_AS_STRING(records), PyBytes_GET_SIZE(records)
        )
        try:
            if not packed.unpack(<uint32_t>(len(texts) + len(pairs)), <uint32_t>len(texts), ring.ring):
                raise ValueError("records that are none")
        finally:
            del packed
        for position in range(ring.ring.size()):
            id_bytes = ring.ring.id(position, &id_size)
            PyUnicode_DecodeUTF8(<const char*>id_bytes, id_size, "surrogatepass")
        ring.names += texts
        ring.names += pairs
        return ring

    cdef _history.Signature signature(self, Py_ssize_t tool, bytes digest) except *:
        cdef _history.Signature signature
        signature.tool = <uint32_t>tool
        signature.arguments = digest_of(digest)
        return signature

    cdef Py_ssize_t find(self, object name) except -2:
        cdef Py_ssize_t index
        cdef Py_ssize_t count = len(self.names)
        # Most names are one object for the whole process.
        for index in range(1, count):
            if self.names[index] is name:
                return index
        for index in range(1, count):
            if self.names[index] == name:
                return index
        return -1

    cdef Py_ssize_t index(self, object name) except -1:
        cdef Py_ssize_t index = self.find(name)
        if index < 0:
            index = len(self.names)
            self.names.append(name)
        return index

    cdef int sweep_names(self) except -1:
        """Drop the names that no record has any longer, if they may be many."""
        if len(self.names) <= 3 * <Py_ssize_t>self.ring.size() + SPARE_NAMES:
            return 0
        cdef list kept = [""]
        cdef dict moved = {0: 0}
        cdef uint32_t position
        for position in range(self.ring.size()):
            for index in (
                self.ring.head(position).tool, self.ring.body(position).missing, self.ring.body(position).stripped
            ):
                if index not in moved:
                    moved[index] = len(kept)
                    kept.append(self.names[index])
            self.ring.head(position).tool = <uint32_t>moved[self.ring.head(position).tool]
            self.ring.body(position).missing = <uint32_t>moved[self.ring.body(position).missing]
            self.ring.body(position).stripped = <uint32_t>moved[self.ring.body(position).stripped]
        self.names = kept
        return 0
