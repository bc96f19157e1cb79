"""From datasets to Markdown: the article, its figures, lists, feed, assets and provenance."""
