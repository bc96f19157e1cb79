"""What a page of `explore` needs of no model, made in a process of its own while models load.

The chart library and the compiler of charts take a second or two to come to life, and let no other
thread of Python work meanwhile.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from report import files
from report.datasets.write import processes
from report.figures.build.vega import vega
from report.pages.assets import LOCAL, write_assets

FIRST = {"mark": "point", "usermeta": {"report": {"figure": "none"}}}
"""A chart, so that the compiler is there for the next one."""


@dataclass(frozen=True)
class Prepared:
    """A folder of scripts and styles, and a compiler of charts, which may not be there yet."""

    folder: Path
    vega: Callable[[dict], dict]
    """As `report.figures.build.vega.vega`."""
    wait: Callable[[], object]
    """Returns once the folder is filled; raises what went wrong."""


@contextmanager
def prepared() -> Iterator[Prepared]:
    """Make both, and remove them when the block ends.

    raises: ReportError if there is no room for them, or no process can be started
    """
    with (
        files.own_folder("explore") as folder,
        ThreadPoolExecutor(1) as thread,
        processes.beside() as call,
    ):
        assets = thread.submit(call, write_assets, folder, LOCAL)
        thread.submit(call, vega, FIRST)
        yield Prepared(folder, lambda spec: call(vega, spec), assets.result)
