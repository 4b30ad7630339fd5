"""Ports of 127.0.0.1 for the programs of tests to listen on.

They lie below those that the kernel gives to outgoing connections (from 32768 on): a port that was merely found free there
could be an outgoing connection's before the program listens. While this process runs, no other test gets the same, by a name
among the abstract sockets.
"""
import random
import socket

FIRST, END = 10100, 16800  # browsers refuse 10080; the labs of Slurm have those above
_claims = []


def free_ports(count):
    """The first of `count` in a row."""
    while True:
        first = random.randrange(FIRST, END - count)
        claims = [claim for port in range(first, first + count) if (claim := _claim(port))]
        if len(claims) == count:
            _claims.extend(claims)
            return first
        for claim in claims:
            claim.close()


def free_port():
    return free_ports(1)


def _claim(port):
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0dove-test-port-{port}")
        socket.create_server(("127.0.0.1", port)).close()
        return claim
    except OSError:
        claim.close()
        return None
