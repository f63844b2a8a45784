# SPDX-License-Identifier: MIT
"""How tests run a command on a recorded host."""


def command(simhost, host, *options):
    """What comes before the command. These hosts are reviewed like code: whoever writes one can do
    all that the tests can."""
    return [str(simhost), "-q", "--trusted", *options, str(host), "--"]
