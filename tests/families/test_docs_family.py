"""The family that the documentation shows is measured, and measured right."""

import shutil

from report import families
from report.families import overview
from tests.documents import blocks


def test_the_family_of_the_documentation_is_right(tmp_path, monkeypatch):
    folder = shutil.copytree(families.FOLDER, tmp_path / "families")
    (folder / "arcee.toml").write_text(blocks("how-to/families", "toml")[0])
    monkeypatch.setattr(families, "FOLDER", folder)
    lines = list(overview.overview("arcee"))
    assert [line.split()[0] for line in lines[1:3]] == ["arcee/own-keys", "arcee/grouped-query"]
    *_, verdict = overview.parity("arcee")  # raises if a number is off
    assert verdict.startswith("All 2 models are within")
