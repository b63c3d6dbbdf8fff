# A text's bytes, for the extensions that hash texts or keep them.
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8AndSize


cdef inline object utf8_of(str text, const char** begin, Py_ssize_t* size):
    """Find a text as UTF-8, lone surrogates as they are, and return what owns the bytes."""
    cdef bytes encoded
    try:
        begin[0] = PyUnicode_AsUTF8AndSize(text, size)
        return text
    except UnicodeEncodeError:
        encoded = text.encode("utf-8", "surrogatepass")
        begin[0], size[0] = PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded)
        return encoded
