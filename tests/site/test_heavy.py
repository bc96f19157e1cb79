"""A site beyond a host's limits is told so, with the numbers and what to do."""

import pytest

from report.datasets import store
from report.site.weight import FILE_BYTES, SITE_BYTES, too_heavy
from tests.figures import hand_made


def folder(path, *sizes):
    files = {f"{n}.json": {"bytes": size, "sha256": "0" * 64} for n, size in enumerate(sizes)}
    manifest = hand_made.manifest(hand_made.KINDS["alibi"]) | {"files": files}
    store.write(path / "manifest.json", store.sealed(manifest))
    return path


def test_within_the_limits_nothing_is_said(tmp_path):
    some = [FILE_BYTES] * 4
    folders = [folder(tmp_path / name, *some) for name in "ab"]
    assert (
        too_heavy([*folders, folder(tmp_path / "c", FILE_BYTES, SITE_BYTES - 9 * FILE_BYTES)]) == []
    )


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        (
            [FILE_BYTES] * 10,
            "of this site are 1.05 GB; GitHub Pages takes at most 1.00 GB. Measure",
        ),
        ([FILE_BYTES + 1], "0.json is 104.9 MB; GitHub takes files of at most 104.9 MB. Shorten"),
    ],
)
def test_what_is_beyond_a_limit_is_said_with_what_to_do(tmp_path, sizes, said):
    [sentence] = too_heavy([folder(tmp_path, *sizes)])
    assert said in sentence
