"""A file system that can be made to hang: one directory `work` with files, in memory, over /dev/fuse.

    hung_mount.py MOUNTPOINT FLAG       # serves until it is ended; while the file FLAG exists it answers nothing

It speaks the kernel's protocol itself (linux/fuse.h), so nothing needs to be installed; to mount needs root. A process
of its own, as whoever looks at a file system that hangs, hangs. Prints `ready` once it is mounted.
"""
import ctypes
import errno
import os
import select
import struct
import sys
import time

LOOKUP, FORGET, GETATTR, SETATTR, MKDIR, OPEN, READ, WRITE, STATFS, RELEASE, FLUSH = 1, 2, 3, 4, 9, 14, 15, 16, 17, 18, 25
INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS, CREATE, INTERRUPT, DESTROY, BATCH_FORGET = 26, 27, 28, 29, 34, 35, 36, 38, 42
SILENT = {FORGET, INTERRUPT, BATCH_FORGET}
DIRECTORY, FILE = 0o040777, 0o100666


class Files:
    def __init__(self):
        self.names = {(1, b"work"): 2}  # (parent, name): node
        self.data = {1: None, 2: None}  # of a file its bytes

    def attr(self, node):
        data = self.data[node]
        size, mode = (0, DIRECTORY) if data is None else (len(data), FILE)
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0)

    def entry(self, node):
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + self.attr(node)

    def answer(self, code, node, body):
        """Bytes, or an error's number."""
        if code == INIT:
            return struct.pack("<IIIIHHIIHHI7I", 7, 31, 65536, 0, 0, 0, 65536, 1, 0, 0, 0, *[0] * 7)
        if code == LOOKUP:
            found = self.names.get((node, body.rstrip(b"\0")))
            return self.entry(found) if found else errno.ENOENT
        if code in (GETATTR, SETATTR):
            if code == SETATTR and struct.unpack_from("<I", body)[0] & 8:  # the size
                size = struct.unpack_from("<Q", body, 16)[0]
                self.data[node] = self.data[node][:size].ljust(size, b"\0")
            return struct.pack("<QII", 0, 0, 0) + self.attr(node)
        if code == CREATE:
            made = len(self.data) + 1
            self.names[(node, body[16:].rstrip(b"\0"))] = made
            self.data[made] = b""
            return self.entry(made) + struct.pack("<QII", 0, 1, 0)  # direct I/O
        if code in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, 1 if code == OPEN else 0, 0)
        if code == READ:
            offset, size = struct.unpack_from("<8xQI", body)
            return self.data[node][offset:offset + size]
        if code == WRITE:
            offset, size = struct.unpack_from("<8xQI", body)
            old = self.data[node].ljust(offset, b"\0")
            self.data[node] = old[:offset] + body[40:40 + size] + old[offset + size:]
            return struct.pack("<II", size, 0)
        if code in (RELEASE, RELEASEDIR, FLUSH, ACCESS, DESTROY, READDIR):
            return b""
        if code == STATFS:
            return struct.pack("<QQQQQIIII24x", 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 4096, 255, 4096, 0)
        return errno.ENOSYS


def mount(point):
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"hung", point.encode(), b"fuse", 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), point)
    return fd


def serve(fd, flag):
    files, held = Files(), []
    while True:
        if select.select([fd], [], [], 0.02)[0]:
            try:
                held.append(os.read(fd, 1 << 17))
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return  # unmounted
                if error.errno not in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                    raise
        if os.path.exists(flag):
            continue
        for request in held:
            _, code, unique, node = struct.unpack_from("<IIQQ", request)
            if code in SILENT:
                continue
            said = files.answer(code, node, request[40:])
            body = b"" if isinstance(said, int) else said
            error = -said if isinstance(said, int) else 0
            try:
                os.write(fd, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
            except OSError as problem:
                if problem.errno != errno.ENOENT:  # whoever asked is gone
                    raise
        held.clear()


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    device = mount(sys.argv[1])
    print("ready", flush=True)
    serve(device, sys.argv[2])
    time.sleep(0)
