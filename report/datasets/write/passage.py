"""Turns the measurements of one article into its folder of datasets."""

from report.datasets.formats import attention, fields, head_statistics, passage, updates
from report.datasets.write.folder import Folder


def write_passage(folder, measured, provenance, progress=None):
    """Write every dataset of an article into an empty folder; the manifest comes last.

    measured: `report.measuring.kinds.passage.Measured`
    provenance: dict of the manifest's fields that are not about the files themselves
    progress: called with (done, total) after each layer
    raises: ReportError if a number is not finite, or the folder cannot be written
    """
    measurement = measured.measurement
    layers, heads = measurement.largest_targets.shape[:2]
    files, shards = Folder(folder), []
    files.write("passage.json", passage.encode(measured.passage, measured.pieces))
    sources = {"passage": measurement.statistics, "corpus": measured.corpus}
    files.write("head_statistics.json", head_statistics.encode(sources))
    for layer in range(layers):
        if measurement.magnitude is not None:
            files.write(f"updates/{layer}.json", _updates(measurement, layer))
        for head in range(heads):
            shard = attention_shard(measurement, layer, head)
            files.write(f"attention/{layer}/{head}.json", shard)
        shards.append(shard)  # one a layer tells which fields there are
        if progress:
            progress(layer + 1, layers)
    read = {"name": measured.passage.name, "tokens": len(measured.pieces)}
    described = {"passage": read, "fields": fields.described(shards)}
    files.write_manifest(provenance | described)


def _updates(measurement, layer):
    raw = None
    if measurement.raw_magnitude is not None:
        raw = measurement.raw_magnitude[layer], measurement.raw_alignment[layer]
    return updates.encode(
        layer,
        measurement.magnitude[layer],
        measurement.alignment[layer],
        measurement.largest_targets[layer, :, :, 0],
        raw,
    )


def attention_shard(measurement, layer, head):
    """The attention/3 dataset of one head; measurement: `PassageMeasurement`."""
    factors = measurement.factors[layer]
    return attention.encode(
        layer,
        head,
        measurement.terms(layer, head),
        measurement.probability(layer, head),
        measurement.marker_count[layer, head],
        measurement.largest_targets[layer, head],
        visible=measurement.visible(layer),
        softcap=factors.softcap,
        sink=None if factors.sink is None else float(factors.sink[head]),
    )
