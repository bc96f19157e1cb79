"""Tables of heads of other programs that are damaged: compared as they are, or refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.kinds.atlas.agreement import agreement, page
from report.kinds.atlas.release import release
from tests.figures import hand_atlas
from tests.fuzz.damage import damaged_bytes, damaged_json
from tests.fuzz.profile import examples
from tests.fuzz.refusals import tried
from tests.measuring.kinds.test_agreement import headvis


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    return hand_atlas.study(tmp_path_factory.mktemp("made") / "datasets" / "heads")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("read")


def compared(path, content, atlas):
    path.write_bytes(content)
    found, said = tried(agreement, path, atlas)
    if said is not None:
        assert str(path) in said or path.name in said
        return
    for each in found:
        assert each.heads <= hand_atlas.LAYERS * hand_atlas.HEADS
        assert not abs(each.rank) > 1 + 1e-9
        each.sentence.encode()
        each.most.encode()


@examples(200)
@given(st.data())
def test_bytes_that_were_changed(folder, atlas, data):
    files = dict(release(atlas))
    name = data.draw(st.sampled_from([*files]))
    content = files[name] if isinstance(files[name], str) else json.dumps(files[name])
    compared(folder / name, data.draw(damaged_bytes(content.encode())), atlas)


@examples(300)
@given(st.data())
def test_values_that_were_changed(folder, atlas, data):
    rows = data.draw(st.sampled_from([headvis(), dict(release(atlas))["0123456789ab.json"]]))
    compared(folder / "a.json", data.draw(damaged_json(rows)).encode(), atlas)


@examples(20)
@given(st.data())
def test_what_is_compared_can_be_drawn(folder, atlas, data):
    path = folder / "b.json"
    value = data.draw(st.sampled_from([0.5, 1e300, -1e308, 1e-320, 0, None]))
    rows = headvis(lambda row: row | {"self_attention_score": value})
    path.write_text(json.dumps(rows))
    assert "<svg" in page(agreement(path, atlas), atlas, path)
