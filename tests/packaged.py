"""A made-up package of pure data, as pip leaves one in a folder that Python looks into."""

from report.models.find import known

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.1\n"
LOUD = 'raise AssertionError("the code of a package of data was run")\n'


def install(folder, preset, content=b"GGUF"):
    """Lay out the package of a preset below a folder; returns the Path of the file that it holds.

    content: bytes of the file; None: the package lists the file and lacks it
    """
    name = preset.package.replace("-", "_")
    about = folder / f"{name}-0.0.1.dist-info"
    about.mkdir(parents=True)
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(LOUD)
    (about / "METADATA").write_text(METADATA.format(name=preset.package))
    (about / "RECORD").write_text(f"{name}/__init__.py,,\n{name}/{preset.file},,\n")
    if content is not None:
        (folder / name / preset.file).write_bytes(content)
    return folder / name / preset.file


def hide(monkeypatch):
    """Let no preset in a package be on this machine."""
    monkeypatch.setattr(known, "packaged_file", lambda preset: None)
