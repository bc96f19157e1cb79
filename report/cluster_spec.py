"""What an article asks of a Ray cluster: `cluster: {num_gpus: 1, num_cpus: 4}`."""

from pydantic import BaseModel, ConfigDict, Field


class ClusterSpec(BaseModel):
    """How the work is divided, and what each worker is given. It changes no number."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    num_cpus: float = Field(1, gt=0)
    """Processors a worker asks for, and threads that it computes with."""
    num_gpus: float | None = Field(None, ge=0)
    """GPUs a worker asks for; default: one where the cluster has any and `device` allows it."""
    workers: int | None = Field(None, ge=1)
    """How many there are at most; default: as many as fit. A cluster that grows on demand is asked
    for so many."""
    texts: int = Field(64, ge=1)
    """How many texts of a corpus are a shard, which is what is lost and measured again when a
    worker is."""
    retries: int = Field(2, ge=0)
    """How often a shard is tried again before its texts are."""
