"""Turns what was measured of the conditions of a study into its folder of datasets."""

from report.datasets.formats import conditions
from report.datasets.write.folder import Folder


def write_conditions(folder, measured, provenance, progress=None):
    """Write every dataset of a study of conditions into an empty folder; the manifest comes last.

    measured: object with `conditions`, list of `ConditionStatistics`, the same for every prompt
    provenance: dict of the manifest's fields that are not about the files themselves
    progress: called with (done, total) after each layer
    raises: ReportError if a number is not finite, or the folder cannot be written
    """
    found, files = measured.conditions, Folder(folder)
    layers, heads = found[0].received.mean.shape[1:3]
    files.write("conditions.json", conditions.encode_texts(found))
    files.write("effects.json", conditions.encode_effects(found))
    for layer in range(layers):
        for head in range(heads):
            name = f"received/{layer}/{head}.json"
            files.write(name, conditions.encode_received(layer, head, found))
        if progress:
            progress(layer + 1, layers)
    files.write_manifest(provenance)
