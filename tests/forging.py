"""Forge results of every kind, and test whether ``ioopt check`` detects them.

``python tests/forging.py [SEED] [WAY...]`` applies every way of forging, or those whose
names contain one of the words, to true results of all kinds, and prints counts. Before
that it tests that no true result is refused. ``IOOPT_FORGED_KEEP`` is a folder in which
forged documents that pass undetected are kept.
"""

import os
import sys
import tempfile
from pathlib import Path

from damage.forger import (
    MORE,
    QUICK,
    WAYS,
    forgeries,
    judged,
    tried,
    true_results,
    written,
)


def main(words: list[str]) -> int:
    """Print the counts; return 1 if a forged result passes undetected or a true one is
    refused.
    """
    seed = int(words[0]) if words else 0
    keep = os.environ.get("IOOPT_FORGED_KEEP")
    results = true_results((*QUICK, *MORE), seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        refused = [
            f"{result['solver']} on {source}"
            for source, result in results
            if judged(source, result, result["settings"], folder)[0] != 0
        ]
        forged = list(forgeries(results, seed))
        if words[1:]:
            forged = [
                one for one in forged if any(word in one.way for word in words[1:])
            ]
        counts = tried(forged, folder)
        if keep is not None:
            for number, one in enumerate(forged):
                if (
                    f"{one.way} of {one.document.get('solver')} on {one.source}"
                    in counts.silent
                ):
                    place = Path(keep) / f"{number}__{one.source}__{one.way}.json"
                    place.write_text(written(one.document), "utf-8")
    print(f"{len(results)} true results, {len(refused)} refused; {len(WAYS)} ways")
    print(
        f"{counts.tried} false results: {counts.found} found, {counts.told} named as "
        f"not recomputed, {len(counts.silent)} silent, {len(counts.broken)} broken"
    )
    unused = sorted(WAYS.keys() - counts.by_way.keys())
    print(f"ways without a result: {', '.join(unused) or 'none'}")
    for line in (*refused, *counts.broken, *counts.silent):
        print(f"  {line}")
    return int(bool(refused or counts.broken or counts.silent))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
