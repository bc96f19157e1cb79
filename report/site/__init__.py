"""From Markdown to a site: build, policy, check, serve, push."""
