"""A built site of which something was damaged: the check says so, and nothing it reads ends it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.errors import ReportError
from report.site import sums
from report.site.check import check_site
from tests.commands import contents
from tests.fuzz.damage import damaged_bytes, damaged_json
from tests.fuzz.profile import examples
from tests.site import small_site
from tests.site.small_site import damaged


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A small sound site. Every test puts back what it changes."""
    return small_site.write(tmp_path_factory.mktemp("small") / "site")


@pytest.mark.promise("check-damage")
@examples(200)
@given(st.data())
def test_a_bit_that_flips_and_a_file_that_is_gone_are_noticed(site, data):
    name = data.draw(st.sampled_from(sorted(contents(site))))
    way = data.draw(st.sampled_from(["flip", "delete"]))
    with damaged(site / name, way, data.draw(st.randoms())) as what:
        told = sums.problems(site)
        assert told, what
        assert name == sums.NAME or any(line.startswith(f"{name}: ") for line in told), what


@pytest.mark.promise("check-links")
@examples(25)
@given(st.data())
def test_whatever_a_listed_file_holds_is_a_finding_and_no_traceback(site, data):
    """As if the build itself had gone wrong: the list fits, what the files say may not."""
    files = contents(site)
    name = data.draw(st.sampled_from(sorted(files.keys() - {sums.NAME})))
    changed = damaged_bytes(files[name])
    if name.endswith(".json"):
        text = damaged_json(json.loads(files[name])).map(lambda text: text.encode())
        changed = st.one_of(changed, text)
    (site / name).write_bytes(data.draw(changed))
    try:
        sums.write_sums(site)
        check_site(site)
    except ReportError as error:
        said = str(error).splitlines()
        assert all(line.startswith("  ") for line in said[1:])
        assert len(said) <= 13
        assert "Traceback" not in str(error)
    finally:
        (site / name).write_bytes(files[name])
        (site / sums.NAME).write_bytes(files[sums.NAME])
