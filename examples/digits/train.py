"""Data-parallel training of a small network on pictures of digits; see README.md.

Every rank holds the whole network and computes the gradient of its part of each batch; the gradients are summed
over TCP (ranks.py). After each epoch rank 0 writes a checkpoint into $DOVE_CHECKPOINT_DIR; a restarted gang goes on
from the newest whole one and ends with the same numbers as a run that was never disturbed.
"""
import argparse
import glob
import os
import signal
import sys
import time
import zipfile

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: a rank is one task on its own core

import numpy as np

import digits
from ranks import PeerLost, Ranks

LAYERS = (64, 96, 10)
CHECKPOINTS_KEPT = 3


def say(text):
    print(text, flush=True)


class Network:
    """One hidden layer; parameters and their velocity are flat vectors, so that a sum or a file is one array."""

    def __init__(self, seed):
        inputs, hidden, outputs = LAYERS
        random = np.random.Generator(np.random.PCG64(seed))
        self.weights = np.concatenate([
            random.normal(0, np.sqrt(2 / inputs), inputs * hidden), np.zeros(hidden),
            random.normal(0, np.sqrt(2 / hidden), hidden * outputs), np.zeros(outputs)]).astype(np.float64)
        self.velocity = np.zeros_like(self.weights)

    def _views(self, flat):
        inputs, hidden, outputs = LAYERS
        a, b, c = inputs * hidden, inputs * hidden + hidden, inputs * hidden + hidden + hidden * outputs
        return flat[:a].reshape(inputs, hidden), flat[a:b], flat[b:c].reshape(hidden, outputs), flat[c:]

    def forward(self, pixels):
        w1, b1, w2, b2 = self._views(self.weights)
        hidden = np.maximum(pixels @ w1 + b1, 0)
        scores = hidden @ w2 + b2
        scores = np.exp(scores - scores.max(1, keepdims=True))
        return hidden, scores / scores.sum(1, keepdims=True)

    def gradient(self, pixels, labels):
        """[gradient..., loss], summed over the rows given; the caller divides by the rows of the whole batch."""
        _, _, w2, _ = self._views(self.weights)
        out = np.zeros(len(self.weights) + 1)
        g1, gb1, g2, gb2 = self._views(out[:-1])
        hidden, chances = self.forward(pixels)
        rows = np.arange(len(labels))
        out[-1] = -np.log(np.maximum(chances[rows, labels], 1e-12)).sum()
        chances[rows, labels] -= 1
        g2[:], gb2[:] = hidden.T @ chances, chances.sum(0)
        back = (chances @ w2.T) * (hidden > 0)
        g1[:], gb1[:] = pixels.T @ back, back.sum(0)
        return out

    def step(self, gradient, rate, decay=1e-4, momentum=0.9):
        self.velocity = momentum * self.velocity - rate * (gradient + decay * self.weights)
        self.weights = self.weights + self.velocity

    def accuracy(self, pixels, labels):
        return float((self.forward(pixels)[1].argmax(1) == labels).mean())


def save(folder, epoch, network):
    """Whole or not at all: written aside, flushed, renamed."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"epoch-{epoch:05d}.npz")
    with open(path + ".tmp", "wb") as file:
        np.savez(file, epoch=epoch, weights=network.weights, velocity=network.velocity)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".tmp", path)
    for old in sorted(glob.glob(os.path.join(folder, "epoch-*.npz")))[:-CHECKPOINTS_KEPT]:
        os.unlink(old)


def restore(folder, network):
    """The epoch of the newest readable checkpoint, now in network; 0 without one."""
    for path in sorted(glob.glob(os.path.join(folder, "epoch-*.npz")), reverse=True):
        try:
            with np.load(path) as file:
                epoch, weights, velocity = int(file["epoch"]), file["weights"], file["velocity"]
            if weights.shape != network.weights.shape or velocity.shape != weights.shape:
                raise ValueError("it is of another network")
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            say(f"checkpoint {path} is skipped: {error}")
            continue
        network.weights, network.velocity = weights, velocity
        return epoch
    return 0


def resume(ranks, folder, network, restarts):
    """Rank 0 reads, all others get its state: the folder need not be shared between nodes."""
    done = restore(folder, network) if ranks.rank == 0 and folder else 0
    state = ranks.from_first(np.concatenate([[done], network.weights, network.velocity]))
    done, size = int(state[0]), len(network.weights)
    network.weights, network.velocity = state[1:1 + size], state[1 + size:]
    if done and ranks.rank == 0:
        say(f"resumed from epoch {done} (restart {restarts})")
    return done


def train_epoch(ranks, network, pixels, labels, epoch, options):
    """The mean loss. The order of rows depends on seed and epoch only, never on the number of ranks."""
    order = np.random.Generator(np.random.PCG64([options.seed, epoch])).permutation(len(labels))
    rate = options.rate * (0.5 + 0.5 * np.cos(np.pi * (epoch - 1) / options.epochs))
    loss = 0.0
    for start in range(0, len(order), options.batch):
        batch = order[start:start + options.batch]
        mine = batch[ranks.rank::ranks.world]
        total = ranks.sum(network.gradient(pixels[mine], labels[mine]))
        network.step(total[:-1] / len(batch), rate)
        loss += total[-1]
    return loss / len(order)


def parse():
    parser = argparse.ArgumentParser(description="Trains on pictures of digits, data-parallel over the ranks of a gang.")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--min-epoch-seconds", type=float, default=0.0, help="an epoch lasts at least this long")
    parser.add_argument("--batch", type=int, default=64, help="rows of a batch, over all ranks")
    parser.add_argument("--rate", type=float, default=0.1, help="learning rate at the start")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checkpoints", default=os.environ.get("DOVE_CHECKPOINT_DIR", ""),
                        help="folder of checkpoints (default $DOVE_CHECKPOINT_DIR; empty: none)")
    parser.add_argument("--peer-timeout", type=float, default=30.0, help="seconds until a silent rank counts as lost")
    options = parser.parse_args()
    if options.epochs < 1 or options.batch < 1 or not 0 <= options.min_epoch_seconds < options.peer_timeout:
        parser.error("--epochs and --batch must be at least 1, --min-epoch-seconds from 0 to below --peer-timeout")
    return options


def run(options):
    restarts = int(os.environ.get("DOVE_RESTART_COUNT") or 0)
    ranks = Ranks(peer_s=options.peer_timeout)
    node = os.environ.get("DOVE_NODE") or os.environ.get("SLURMD_NODENAME") or os.uname().nodename
    say(f"rank {ranks.rank} of {ranks.world} on {node}, GPUs {os.environ.get('CUDA_VISIBLE_DEVICES') or 'none'}")
    pixels, labels, test_pixels, test_labels = digits.load()
    first = ranks.rank == 0
    if first:
        say(f"data: UCI's digits; {len(labels)} rows to train on, {len(test_labels)} held out")
    network = Network(options.seed)
    done = resume(ranks, options.checkpoints, network, restarts)
    for epoch in range(done + 1, options.epochs + 1):
        began = time.monotonic()
        loss = train_epoch(ranks, network, pixels, labels, epoch, options)
        time.sleep(max(0.0, options.min_epoch_seconds - (time.monotonic() - began)))
        if first:
            if options.checkpoints:
                save(options.checkpoints, epoch, network)
            say(f"epoch {epoch}/{options.epochs}: loss {loss:.4f}, accuracy "
                f"{network.accuracy(test_pixels, test_labels):.4f}, {time.monotonic() - began:.2f} s")
    if first:
        say(f"final accuracy: {network.accuracy(test_pixels, test_labels):.4f} "
            f"({ranks.world} ranks, {options.epochs} epochs, attempt {restarts + 1})")


def stop(*_):
    sys.exit(128 + signal.SIGTERM)  # the last whole epoch is on disk already


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    try:
        run(parse())
    except PeerLost as lost:
        sys.exit(f"rank {os.environ.get('RANK', '0')}: {lost}; ending, so that the gang is started again")
