"""What a browser does not run or load because of a page's policy, told to a test."""

SAID = "policy violated: "

LISTEN = f"""document.addEventListener('securitypolicyviolation', (event) => console.error(
    `{SAID}${{event.effectiveDirective}} ${{event.blockedURI}} ${{event.sample}}`.trim()));"""


def watch(context, problems):
    """Append every violation on any page of a browser context to a list of texts."""
    context.add_init_script(LISTEN)
    context.on("console", lambda said: said.text.startswith(SAID) and problems.append(said.text))
