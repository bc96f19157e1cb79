"""The workers of a run: as many as the cluster has room for, replaced when they die."""

import time
from dataclasses import dataclass

from report.errors import ReportError
from report.measuring.cluster.summary import Share
from report.measuring.cluster.worker import Worker

PATIENCE = 60
"""Seconds for which a cluster may have no room for any worker, where none was promised."""
LOOK = 2
"""Seconds between looks at which machines there are."""
STARTS = 3
"""How often in a row a worker may fail to start."""


@dataclass(eq=False)
class Member:
    """One worker."""

    actor: object
    awaited: object
    """Reference to what it is doing: starting, or measuring; None while it is idle."""
    began: float
    """When it was asked for."""
    share: Share | None = None
    """What it did; None while it starts."""
    node: str = ""
    """Id of its machine in the cluster."""
    held: int | None = None
    """Number of the task whose model it has."""
    attempt: object = None
    """What it measures."""


class Workforce:
    """Starts workers, gives them pieces, and hears from them."""

    def __init__(self, ray, spec, device, announce):
        """spec: `ClusterSpec`; device: of the study, see `FrontMatter.device`"""
        self.ray, self.spec, self.announce = ray, spec, announce
        self.gpus = self._gpus(device)
        self.members, self.shares = [], []
        self._failed_starts = 0
        self._looked, self._room, self._roomless = 0.0, 0, None
        self._waiting_since, self._told = None, False

    def close(self):
        """End all workers."""
        for member in list(self.members):
            self.dismiss(member, lost=False)

    def held(self):
        """dict of a task's number to how many workers have its model, or load it."""
        found = {}
        for member in self.members:
            if member.held is not None:
                found[member.held] = found.get(member.held, 0) + 1
        return found

    @property
    def idle(self):
        """Workers that have started and have nothing to do, list of `Member`."""
        return [each for each in self.members if each.awaited is None]

    def fill(self, pieces):
        """Start workers while there is room and fewer are there than pieces to measure."""
        most = min(self.spec.workers or self.room(), pieces)
        while len(self.members) < most:
            self._start()
        self._be_patient()

    def begin(self, member, attempt, task):
        """Let an idle worker measure a piece; task: reference to the `Task` in Ray's store."""
        member.held, member.attempt = attempt.number, attempt
        member.awaited = member.actor.measure.remote(attempt.number, task, attempt.piece)

    def heard(self, seconds):
        """The members that something was heard of within so many seconds, list of `Member`."""
        awaited = {each.awaited: each for each in self.members if each.awaited is not None}
        if not awaited:
            time.sleep(min(seconds, 0.1))
            return []
        ready, _ = self.ray.wait(list(awaited), num_returns=1, timeout=seconds)
        return [awaited[each] for each in ready]

    def answer(self, member):
        """What a worker that was heard of says of its piece.

        returns: `Answer`; or None if it has just started
        raises: LostError if it died
        """
        errors = self.ray.exceptions
        try:
            value = self.ray.get(member.awaited)
        except errors.LocalRayletDiedError as error:
            raise ReportError(
                "this machine lost its connection to the Ray cluster; run the same command again: "
                "what is finished is kept"
            ) from error
        except (errors.RayError, ModuleNotFoundError) as error:
            gone = not self._is_there(member, error)
            starting = member.share is None
            self.dismiss(member, lost=True)
            if starting and not gone:
                self._count_failed_start(error)
            raise LostError(_sentence(error), gone) from error
        member.awaited = None
        if member.share is None:
            member.node = value["node"]
            member.share = Share(value["host"], value["pid"])
            self.shares.append(member.share)
            self._failed_starts = 0
            member.began = time.perf_counter()
            return None
        return value

    def dismiss(self, member, lost=True):
        """End a worker."""
        self.members.remove(member)
        if member.share is not None:
            member.share.there = time.perf_counter() - member.began
            member.share.lost = lost
        self.ray.kill(member.actor)

    def room(self):
        """How many workers the machines of the cluster have room for, busy or not."""
        now = time.monotonic()
        if now - self._looked > LOOK:
            self._looked = now
            self._room = sum(self._fitting(node["Resources"]) for node in self._nodes())
        return self._room

    def _nodes(self):
        return [node for node in self.ray.nodes() if node["Alive"]]

    def _fitting(self, resources):
        asked = {"CPU": self.spec.num_cpus, "GPU": self.gpus}
        return min(int(resources.get(n, 0) / each + 1e-9) for n, each in asked.items() if each)

    def _gpus(self, device):
        """How many GPUs a worker asks for."""
        if device.startswith("cuda:"):
            raise ReportError(
                f"device {device!r} names a GPU of one machine; on a cluster say cuda or auto"
            )
        if self.spec.num_gpus is not None:
            return self.spec.num_gpus
        some = any(node["Resources"].get("GPU", 0) >= 1 for node in self._nodes())
        return int(device == "cuda" or (device == "auto" and some))

    @property
    def asked(self):
        """What a worker asks for, in words."""
        gpus = f" and {self.gpus:g} GPU{'s' if self.gpus != 1 else ''}" if self.gpus else ""
        return f"{self.spec.num_cpus:g} CPU{'s' if self.spec.num_cpus != 1 else ''}{gpus}"

    def _start(self):
        threads = max(1, int(self.spec.num_cpus))
        actor = (
            self.ray.remote(Worker)
            .options(
                num_cpus=self.spec.num_cpus,
                num_gpus=self.gpus,
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy="SPREAD",
            )
            .remote(threads, self.gpus)
        )
        self.members.append(Member(actor, actor.about.remote(), time.perf_counter()))

    def _be_patient(self):
        """Say that no worker can start; after a while, without hope of more machines, stop."""
        if any(member.share for member in self.members):
            self._waiting_since, self._told = None, False
            return
        now = time.monotonic()
        self._waiting_since = self._waiting_since or now
        hopeless = not self.room() and self.spec.workers is None
        machines = len(self._nodes())
        has = f"of its {machines} machine{'s' if machines != 1 else ''} none has so much"
        if hopeless and (not self.shares or now - self._waiting_since > PATIENCE):
            raise ReportError(
                f"a worker asks for {self.asked}, and the cluster has no room for one: {has}. Ask "
                "for less, or say how many machines will come: `cluster: {num_cpus: …, num_gpus: "
                "…, workers: …}`"
            )
        if now - self._waiting_since > 10 and not self._told:
            self._told = True
            self.announce(f"Waiting for room in the cluster: a worker asks for {self.asked}.")

    def _is_there(self, member, error):
        """Whether the machine of a worker that died is still there."""
        if "node has died" in str(error) or "node was terminated" in str(error):
            return False
        return not member.node or member.node in {node["NodeID"] for node in self._nodes()}

    def _count_failed_start(self, error):
        self._failed_starts += 1
        if self._failed_starts >= STARTS:
            raise ReportError(
                f"workers cannot be started: {_sentence(error)}; every machine of the cluster "
                "needs this project and what it needs, installed for the Python that runs Ray there"
            ) from error


class LostError(Exception):
    """A worker died. `gone`: together with its machine."""

    def __init__(self, reason, gone):
        super().__init__(reason)
        self.gone = gone


def _sentence(error):
    """What an error of Ray says, in one line."""
    cause = getattr(error, "cause", None) or error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    text = lines[-1] if type(cause).__name__ == "RayTaskError" else lines[0] if lines else ""
    return (text or type(cause).__name__)[:300].rstrip(".")
