"""Makes a large trace.dat out of a small one: its pages again and again, each time later.

    python3 lab/benches/kernel/repeat.py SMALL LARGE TIMES

SMALL is of version 6 (`trace-cmd convert --file-version 6`), little endian, with 64-bit longs; LARGE too. The head stays as it is, so
any tool reads the result as a recording of a longer run of the same work.
"""

import struct
import sys

PAUSE_NS = 1_000_000_000


def skip_head(data):
    """Position just behind the word `flyrecord`, and the number of CPUs."""
    at = data.index(b"\0", 10) + 1 + 2 + 4

    def number(form):
        nonlocal at
        value = struct.unpack_from(form, data, at)[0]
        at += struct.calcsize(form)
        return value

    def text():
        nonlocal at
        at = data.index(b"\0", at) + 1

    def skip(form):
        nonlocal at
        count = number(form)
        at += count

    for _ in range(2):
        text()
        skip("<Q")
    for _ in range(number("<I")):
        skip("<Q")
    for _ in range(number("<I")):
        text()
        for _ in range(number("<I")):
            skip("<Q")
    for form in ("<I", "<I", "<Q"):
        skip(form)
    cpus = number("<I")
    if data[at:at + 7] == b"options":
        at += 10
        while number("<H"):
            skip("<I")
    if data[at:at + 9] != b"flyrecord":
        raise SystemExit("not a recording of events")
    return at + 10, cpus


def main(small, large, times):
    data = open(small, "rb").read()
    page_bytes = struct.unpack_from("<I", data, data.index(b"\0", 10) + 3)[0]
    table, cpus = skip_head(data)
    places = [struct.unpack_from("<QQ", data, table + 16 * cpu) for cpu in range(cpus)]
    head_end = min(offset for offset, size in places if size)
    stamps = [struct.unpack_from("<Q", data, at)[0]
              for offset, size in places for at in range(offset, offset + size, page_bytes)]
    step = max(stamps) - min(stamps) + PAUSE_NS
    with open(large, "wb") as out:
        head, offset = bytearray(data[:head_end]), head_end
        for cpu, (_, size) in enumerate(places):
            struct.pack_into("<QQ", head, table + 16 * cpu, offset, size * times)
            offset += size * times
        out.write(head)
        for start, size in places:
            pages = bytearray(data[start:start + size])
            for _ in range(times):
                out.write(pages)
                for at in range(0, size, page_bytes):
                    struct.pack_into("<Q", pages, at, struct.unpack_from("<Q", pages, at)[0] + step)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
