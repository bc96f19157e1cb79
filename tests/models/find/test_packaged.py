"""Models whose file comes in a Python package: found by its list of files, and never imported."""

import sys
import tomllib

import pytest

from report.errors import ReportError
from report.measuring import plan, settings
from report.models.find import known, names
from tests import packaged
from tests.commands import ROOT

pytestmark = pytest.mark.promise("packaged-models")

(NAME, *_) = known.packaged()
PRESET = known.packaged()[NAME]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The made-up package of a preset, before whatever is installed here."""
    monkeypatch.syspath_prepend(tmp_path)
    return packaged.install(tmp_path, PRESET)


def test_the_file_of_an_installed_package_is_found_and_none_of_its_code_is_run(installed):
    source = names.find(NAME)
    assert (source.name, source.origin, source.revision) == (NAME, "package", None)
    assert source.folder == installed.resolve()
    assert source.command_name == NAME
    assert names.is_here(NAME)
    assert names.absent(NAME) == ""
    assert settings.preset_of(source) == PRESET
    assert installed.parent.name not in sys.modules


def test_a_model_in_a_package_that_is_not_installed_is_refused_with_what_to_do(monkeypatch):
    packaged.hide(monkeypatch)
    with pytest.raises(ReportError) as refused:
        names.find(NAME)
    assert str(refused.value) == (
        f"{NAME} is not on this machine, as its package {PRESET.package} is not installed; run "
        "`make setup`"
    )
    assert not names.is_here(NAME)


def test_datasets_of_a_package_that_is_gone_are_still_known_to_be_of_it(monkeypatch):
    packaged.hide(monkeypatch)
    before = {"model": {"file": PRESET.file}, "model_name": NAME}
    assert plan._source(NAME, None, before, None).title == NAME
    other = before | {"model": {"file": "other.gguf"}}
    assert plan._source(NAME, None, other, None) is None


def test_a_package_that_lacks_the_file_it_lists_does_not_count(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    packaged.install(tmp_path, PRESET, content=None)
    assert known.packaged_file(PRESET) is None


def test_of_alternatives_the_one_in_a_package_counts_where_it_is_here(installed, monkeypatch):
    both = f"{NAME} or falcon-8x8"
    assert names.find_first(both).name == NAME
    packaged.hide(monkeypatch)
    assert names.find_first(both) == names.find("falcon-8x8")
    assert names.absent("falcon-8x8") == ""


@pytest.mark.parametrize(
    ("named", "left"),
    [
        (f"owner/large or {NAME} or falcon-8x8", "owner/large or falcon-8x8"),
        (NAME, NAME),
    ],
)
def test_models_in_packages_can_be_left_out_where_there_is_another(named, left):
    assert names.without_packaged(named) == left


def test_every_package_of_a_preset_is_locked_and_nothing_else():
    from tests.test_locks import locked

    presets = tomllib.loads(known.PRESETS.read_text("utf-8")).values()
    wanted = {preset["package"] for preset in presets if "package" in preset}
    assert {requirement.name for requirement in locked("models")} == wanted
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "$(LOCKED) --only-binary :all: --retries 2 -r $<" in makefile


def test_a_model_in_a_package_has_its_makers_name_beside_its_own():
    in_package = {"name": "smollm2-135m", "source": "package"}
    assert known.preset_of(in_package).title == "SmolLM2 135M Instruct"
    labelled = in_package | {"name": "Mine", "own_name": "smollm2-135m"}
    assert known.preset_of(labelled) == known.preset_of(in_package)
    assert known.preset_of(in_package | {"source": "folder"}) is None
    assert known.preset_of(in_package | {"name": "falcon-8x8"}) is None
