"""The crates that the program is linked with, for packaging/notices and packaging/sbom."""

import json
import subprocess

# Normal dependencies only, and for this machine's kind.
TREE = ["cargo", "tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"]
METADATA = ["cargo", "metadata", "--locked", "--format-version", "1"]
# What a crate brings along: its folder in the crate, which has its own notice.
BUNDLED = {"hirofa-quickjs-sys": "bellard/quickjs"}


def output(command, folder):
    return subprocess.run(command, check=True, cwd=folder, stdout=subprocess.PIPE, text=True).stdout


def metadata(folder):
    return json.loads(output(METADATA, folder))


def linked(folder, known):
    """Those of the packages in `known`, the metadata of `folder`, that are linked, ptunnel's own left out."""
    wanted = {tuple(line.split()[:2]) for line in output(TREE, folder).splitlines() if line}
    found = [p for p in known["packages"] if (p["name"], "v" + p["version"]) in wanted]
    missing = wanted - {(p["name"], "v" + p["version"]) for p in found}
    if missing:
        raise SystemExit(f"not among the packages: {sorted(missing)}")
    return [p for p in found if p["source"]]
