"""Clients that submit at a rate to controllers of which one leads, and what became of what they sent."""
import os
import threading
import time

CLIENTS = 4
HEAD = "Dove-Log-Head"
RATE = float(os.environ.get("RATE", "200"))  # submissions a second, of all together


class Client(threading.Thread):
    """Submits at its rate; notes when each was acknowledged, and under which id."""

    def __init__(self, number, api):
        super().__init__()
        self.number, self.api = number, api
        self.acknowledged, self.ids, self.error = [], [], None
        self.stops = threading.Event()

    def run(self):
        due = time.monotonic()
        while not self.stops.is_set():
            key = f"c{self.number}-{len(self.ids)}"
            try:
                self.ids.append(self.api.call("POST", "/v1/jobs", {"name": key, "command": ["true"]},
                                              {"Idempotency-Key": key})["id"])
            except Exception as error:  # told at the end
                self.error = error
                return
            self.acknowledged.append(time.monotonic())
            due += CLIENTS / RATE
            self.stops.wait(max(0.0, due - time.monotonic()))
            due = max(due, time.monotonic() - 1)


def gap_around(clients, at):
    """The longest wait between two acknowledgements of anybody that ended after `at`."""
    times = sorted(when for client in clients for when in client.acknowledged)
    return max((after - before for before, after in zip(times, times[1:]) if after > at), default=0.0)


def begin(cluster, timeout=5):
    """After `timeout` seconds without an answer they ask another controller."""
    clients = [Client(number, cluster.any_api(timeout)) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    return clients


def end(clients):
    """What failed."""
    for client in clients:
        client.stops.set()
    for client in clients:
        client.join(60)
    return [client.error for client in clients if client.error]


def count(cluster, clients):
    """(submitted, lost, doubled), by a list of all jobs."""
    sent = {f"c{client.number}-{i}": job for client in clients for i, job in enumerate(client.ids)}
    found, doubled, after = {}, 0, ""
    # Whichever controller answers: it is to have all that was acknowledged.
    head = max((client.api.written for client in clients if client.api.written), key=lambda one: int(one[HEAD]), default={})
    while True:
        page = cluster.api.call("GET", "/v1/jobs?limit=1000" + (f"&after={after}" if after else ""), headers=head)
        for job in page["jobs"]:
            if not job["name"].startswith("c"):
                continue
            doubled += job["name"] in found
            found[job["name"]] = job["id"]
        after = page.get("next")
        if not after:
            break
    return len(sent), len([key for key, job in sent.items() if found.get(key) != job]), doubled
