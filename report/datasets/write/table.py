"""Turns what was measured of a table into its folder of datasets."""

from report.datasets.formats import class_shares, fields, passage, renderings
from report.datasets.write.folder import Folder
from report.datasets.write.passage import attention_shard


def write_table(folder, measured, provenance, progress=None):
    """Write every dataset of an article about a table into an empty folder, the manifest last.

    measured: `Measured` (see report.measuring.kinds.table)
    provenance: dict of the manifest's fields that are not about the files themselves
    progress: called with (done, total) after each layer
    raises: ReportError if a number is not finite, or the folder cannot be written
    """
    first, measurement = measured.texts[0], measured.measurement
    layers, heads = measurement.largest_targets.shape[:2]
    files, shards = Folder(folder), []
    files.write("passage.json", passage.encode(measured.passage, first.tokens))
    files.write("renderings.json", renderings.encode(measured.table, measured.texts))
    shares = zip(measured.texts, measured.shares, strict=True)
    files.write("class_shares.json", class_shares.encode({t.name: each for t, each in shares}))
    for layer in range(layers):
        for head in range(heads):
            shard = attention_shard(measurement, layer, head)
            files.write(f"attention/{layer}/{head}.json", shard)
        shards.append(shard)  # one a layer tells which fields there are
        if progress:
            progress(layer + 1, layers)
    read = {"name": measured.passage.name, "tokens": len(first.tokens)}
    described = {"passage": read, "fields": fields.described(shards)}
    files.write_manifest(provenance | described)
