"""Sums arrays over the ranks of a gang through TCP: every rank sends to rank 0, which adds and answers.

The gang is described by MASTER_ADDR MASTER_PORT WORLD_SIZE RANK; without WORLD_SIZE there is one rank and no
socket. Rank 0 adds in the order of ranks, so a sum is the same in every run. Every wait has a limit; when a peer
is gone PeerLost says which one, and the caller ends with an error, so that the whole gang is started again.
"""
import os
import socket
import struct
import time

import numpy as np

HELLO = struct.Struct("!8sIII")  # magic, world, rank, restart
MAGIC = b"digits1\n"
LENGTH = struct.Struct("!Q")
MAX_BYTES = 1 << 26


class PeerLost(Exception):
    pass


def _env_int(name):
    try:
        return int(os.environ[name])
    except (KeyError, ValueError):
        raise SystemExit(f"{name} is {os.environ.get(name, 'not set')!r}: WORLD_SIZE is set, so {name} must be a "
                         "number; start this under dove, or unset WORLD_SIZE to run alone") from None


class Ranks:
    def __init__(self, join_s=60.0, peer_s=30.0):
        self.world, self.rank = 1, 0
        self._peers = []  # rank 0: sockets of ranks 1, 2, ...; others: the socket to rank 0
        self._peer_s = peer_s
        self._restart = int(os.environ.get("DOVE_RESTART_COUNT") or 0)
        if not os.environ.get("WORLD_SIZE"):
            return
        self.world, self.rank = _env_int("WORLD_SIZE"), _env_int("RANK")
        if not 0 <= self.rank < self.world:
            raise SystemExit(f"RANK is {self.rank}, WORLD_SIZE is {self.world}: RANK must be below WORLD_SIZE")
        if self.world == 1:
            return
        where = (os.environ.get("MASTER_ADDR") or "127.0.0.1", _env_int("MASTER_PORT"))
        deadline = time.monotonic() + join_s
        if self.rank == 0:
            self._gather(where, deadline)
        else:
            self._join(where, deadline)

    def _gather(self, where, deadline):
        found = {}
        with self._listen(where, deadline) as listener:
            while len(found) < self.world - 1:
                missing = sorted(set(range(1, self.world)) - set(found))
                listener.settimeout(max(deadline - time.monotonic(), 0.01))
                try:
                    peer, _ = listener.accept()
                except TimeoutError:
                    raise PeerLost(f"ranks {missing} did not join in time at {where[0]}:{where[1]}") from None
                peer.settimeout(5.0)
                try:
                    magic, world, rank, restart = HELLO.unpack(_receive(peer, HELLO.size))
                except OSError:
                    peer.close()
                    continue
                if (magic, world, restart) != (MAGIC, self.world, self._restart) or rank not in missing:
                    peer.close()  # a stranger, or a rank of an earlier attempt
                    continue
                found[rank] = peer
        self._peers = [found[rank] for rank in sorted(found)]
        for peer in self._peers:
            self._tune(peer)

    @staticmethod
    def _listen(where, deadline):
        while True:
            try:
                return socket.create_server(where, backlog=1024)
            except OSError as error:  # the port of an attempt that is just ending becomes free soon
                if time.monotonic() + 30 > deadline:
                    raise SystemExit(f"rank 0 cannot listen at {where[0]}:{where[1]}: {error}; is MASTER_ADDR an "
                                     "address of this machine, and MASTER_PORT free?") from None
                time.sleep(0.2)

    def _join(self, where, deadline):
        while True:
            try:
                peer = socket.create_connection(where, timeout=5.0)
                break
            except OSError as error:
                if time.monotonic() > deadline:
                    raise PeerLost(f"rank 0 was not reached at {where[0]}:{where[1]}: {error}") from None
                time.sleep(0.1)
        self._tune(peer)
        peer.sendall(HELLO.pack(MAGIC, self.world, self.rank, self._restart))
        self._peers = [peer]

    def _tune(self, peer):
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.settimeout(self._peer_s)

    def _guard(self, index, action, *rest):
        rank = index + 1 if self.rank == 0 else 0
        try:
            return action(self._peers[index], *rest)
        except TimeoutError:
            raise PeerLost(f"rank {rank} was silent for {self._peer_s:g} s") from None
        except OSError as error:
            raise PeerLost(f"rank {rank} is gone ({error})") from None

    def sum(self, array):
        """The sum of array over all ranks, the same bits on each of them."""
        if self.world == 1:
            return array
        if self.rank != 0:
            self._guard(0, _send_array, array)
            return self._guard(0, _receive_array, array)
        total = array.copy()
        for index in range(len(self._peers)):
            total += self._guard(index, _receive_array, array)
        return self.from_first(total)

    def from_first(self, array):
        """Rank 0's array, on every rank; the shape and type must agree."""
        if self.rank != 0:
            return self._guard(0, _receive_array, array)
        for index in range(len(self._peers)):
            self._guard(index, _send_array, array)
        return array


def _send_array(peer, array):
    data = np.ascontiguousarray(array).tobytes()
    peer.sendall(LENGTH.pack(len(data)) + data)


def _receive_array(peer, like):
    (length,) = LENGTH.unpack(_receive(peer, LENGTH.size))
    if length != like.nbytes or length > MAX_BYTES:
        raise OSError(f"it sent {length} bytes where {like.nbytes} were due")
    return np.frombuffer(_receive(peer, length), like.dtype).reshape(like.shape).copy()


def _receive(peer, length):
    data = bytearray(length)
    view, have = memoryview(data), 0
    while have < length:
        got = peer.recv_into(view[have:])
        if got == 0:
            raise OSError("it closed the connection")
        have += got
    return bytes(data)
