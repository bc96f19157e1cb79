"""Of a site beyond a host's limits it is said by how much, and what to do."""

import pytest

from report.datasets import store
from report.site.build import FILE_BYTES, SITE_BYTES, too_heavy
from tests.figures import hand_made


@pytest.mark.parametrize(
    ("folders", "said"),
    [
        ([[FILE_BYTES] * 4, [FILE_BYTES] * 4, [FILE_BYTES, SITE_BYTES - 9 * FILE_BYTES]], None),
        ([[FILE_BYTES] * 10], "of this site are 1.05 GB; GitHub Pages takes at most 1.00 GB. Meas"),
        ([[FILE_BYTES + 1]], "0.json is 104.9 MB; GitHub takes files of at most 104.9 MB. Shorten"),
    ],
)
def test_what_is_beyond_a_limit_is_said_with_what_to_do(tmp_path, folders, said):
    for number, sizes in enumerate(folders):
        files = {f"{n}.json": {"bytes": size, "sha256": "0" * 64} for n, size in enumerate(sizes)}
        manifest = hand_made.manifest(hand_made.KINDS["alibi"]) | {"files": files}
        store.write(tmp_path / str(number) / "manifest.json", store.sealed(manifest))
    sentences = too_heavy(sorted(tmp_path.iterdir()))
    assert len(sentences) == (said is not None)
    assert all(said in sentence for sentence in sentences)
