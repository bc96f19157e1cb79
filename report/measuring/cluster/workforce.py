"""The workers of a run: as many as the cluster has room for, replaced when they die."""

import time
from collections import Counter
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from report.errors import ReportError
from report.inputs.specs import ClusterSpec
from report.measuring.cluster.scheduling import Attempt
from report.measuring.cluster.summary import Share
from report.measuring.cluster.worker import Answer, Worker
from report.measuring.kind import Announce

PATIENCE = 60
"""Seconds to wait for room for a first worker, unless `workers` says that machines will come."""
LOOK = 2
"""Seconds between two looks at the machines of the cluster."""
STARTS = 3
"""Failed starts of workers in a row after which a run stops."""


@dataclass(eq=False)
class Member:
    """One worker."""

    actor: Any
    """Ray's handle of the `Worker`."""
    awaited: Any
    """Ray's reference to the result of its start or its piece; None while it is idle."""
    began: float
    """When it was requested; once it has started, when it started."""
    share: Share | None = None
    """What it did; None while it starts."""
    node: str = ""
    """Id of its machine in the cluster."""
    held: int | None = None
    """Number of the task whose model it has."""
    attempt: Attempt | None = None
    """What it measures."""


class Workforce:
    """Starts workers, gives them pieces, and hears from them."""

    def __init__(self, ray: ModuleType, spec: ClusterSpec, device: str, announce: Announce):
        """device: of the study, see `FrontMatter.device`

        raises: ReportError if that is a GPU of one machine
        """
        self.ray, self.spec, self.announce = ray, spec, announce
        self.gpus = self._gpus(device)
        self.members, self.shares = [], []
        self._failed_starts = 0
        self._looked, self._room = 0.0, 0
        self._waiting_since, self._told = None, False

    def close(self) -> None:
        """End all workers."""
        for member in list(self.members):
            self.dismiss(member, lost=False)

    def held(self) -> dict[int, int]:
        """Number of a task -> how many workers have its model or load it."""
        return Counter(member.held for member in self.members if member.held is not None)

    @property
    def idle(self) -> list[Member]:
        """Workers that have started and have nothing to do."""
        return [member for member in self.members if member.awaited is None]

    def fill(self, pieces: int) -> None:
        """Start workers while there is room, at most one a piece.

        raises: ReportError if no worker fits into the cluster
        """
        most = min(self.spec.workers or self.room(), pieces)
        while len(self.members) < most:
            self._start()
        self._be_patient()

    def begin(self, member: Member, attempt: Attempt, task: Any) -> None:
        """Let an idle worker measure a piece; task: reference to the `Task` in Ray's store."""
        member.held, member.attempt = attempt.number, attempt
        member.awaited = member.actor.measure.remote(attempt.number, task, attempt.piece)

    def heard(self, seconds: float) -> list[Member]:
        """Wait up to so many seconds for answers: the members that answered or died."""
        awaited = {m.awaited: m for m in self.members if m.awaited is not None}
        if not awaited:
            time.sleep(min(seconds, 0.1))
            return []
        ready, _ = self.ray.wait(list(awaited), num_returns=1, timeout=seconds)
        return [awaited[reference] for reference in ready]

    def answer(self, member: Member) -> Answer | None:
        """The answer of a worker that was heard of; None if it has just started.

        raises: LostError if it died; ReportError if the cluster is gone or no worker starts
        """
        errors = self.ray.exceptions
        try:
            value = self.ray.get(member.awaited)
        except errors.LocalRayletDiedError as error:
            raise ReportError(
                "this machine lost its connection to the Ray cluster; run the same command again: "
                "finished batches are kept"
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

    def dismiss(self, member: Member, lost: bool = True) -> None:
        """End a worker; lost: whether the summary calls it lost."""
        self.members.remove(member)
        if member.share is not None:
            member.share.there = time.perf_counter() - member.began
            member.share.lost = lost
        self.ray.kill(member.actor)

    def room(self) -> int:
        """How many workers fit onto the machines of the cluster, whatever else runs there."""
        now = time.monotonic()
        if now - self._looked > LOOK:
            self._looked = now
            self._room = sum(self._fitting(node["Resources"]) for node in self._nodes())
        return self._room

    def _nodes(self):
        return [node for node in self.ray.nodes() if node["Alive"]]

    def _fitting(self, resources):
        asked = {"CPU": self.spec.num_cpus, "GPU": self.gpus}
        return min(int(resources.get(n, 0) / most + 1e-9) for n, most in asked.items() if most)

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
    def asked(self) -> str:
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
        """Say that no worker can start yet; stop after PATIENCE if no machines are expected."""
        if any(member.share for member in self.members):
            self._waiting_since, self._told = None, False
            return
        now = time.monotonic()
        self._waiting_since = self._waiting_since or now
        hopeless = not self.room() and self.spec.workers is None
        machines = len(self._nodes())
        has = f"none of its {machines} machine{'s' if machines != 1 else ''} has so much"
        if hopeless and (not self.shares or now - self._waiting_since > PATIENCE):
            raise ReportError(
                f"a worker asks for {self.asked}, and the cluster has no room for one: {has}. Ask "
                "for less, or say how many workers will fit once machines are added: "
                "`cluster: {num_cpus: …, num_gpus: …, workers: …}`"
            )
        if now - self._waiting_since > 10 and not self._told:
            self._told = True
            self.announce(f"Waiting for room in the cluster: a worker asks for {self.asked}.")

    def _is_there(self, member, error):
        """Whether the machine of a worker that died is still part of the cluster."""
        if "node has died" in str(error) or "node was terminated" in str(error):
            return False
        return not member.node or member.node in {node["NodeID"] for node in self._nodes()}

    def _count_failed_start(self, error):
        self._failed_starts += 1
        if self._failed_starts >= STARTS:
            raise ReportError(
                f"workers cannot be started: {_sentence(error)}; install this project and its "
                "packages on every machine of the cluster, for the Python that runs Ray there"
            ) from error


class LostError(Exception):
    """A worker died; `gone`: together with its machine."""

    def __init__(self, reason: str, gone: bool):
        super().__init__(reason)
        self.gone = gone


def _sentence(error):
    """The message of Ray's error, in one line."""
    cause = getattr(error, "cause", None) or error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    text = lines[-1] if type(cause).__name__ == "RayTaskError" else lines[0] if lines else ""
    return (text or type(cause).__name__)[:300].rstrip(".")
