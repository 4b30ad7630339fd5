"""Jobs that go on until they are told to end, and how often each has begun, whoever restarts what: a mixin for tests."""
import os

from cluster import until


class JobsThatWait:
    """REQUIRES: self.cluster, and self.folder, which its nodes see."""

    def submit(self, name, **more):
        """A job that says that it began, and goes on until the file NAME.go is there."""
        script = (f"echo $DOVE_ATTEMPT >> {self.folder}/{name}.starts; "
                  f"while [ ! -e {self.folder}/{name}.go ]; do sleep 0.05; done")
        return self.cluster.submit({"name": name, "command": ["sh", "-c", script], **more})

    def starts(self, name):
        path = f"{self.folder}/{name}.starts"
        if not os.path.exists(path):
            return 0
        with open(path) as file:
            return len(file.readlines())

    def go(self, name):
        with open(f"{self.folder}/{name}.go", "w"):
            pass

    def began(self, name):
        until(lambda: self.starts(name) == 1, 20, name + " to begin")
