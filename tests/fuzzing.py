"""Run damaged inputs for every reader through the command line; one seeded mutator
makes them.

A reader has a name, intact inputs to damage, and commands for the damaged file. Each
reader runs in a child process with limited memory, and the CPU time of every input is
measured. Faults are: a traceback (exit code 1), more than one line of error, or more
than the allowed CPU time or memory.

``nice python tests/fuzzing.py 100000 [READER...]`` runs that many inputs over all
readers, or over those whose names contain one of the words. ``IOOPT_FUZZ_SEED`` is the
seed (default 0). ``IOOPT_FUZZ_KEEP`` is a folder in which inputs that cause faults are
kept. If the shared data is missing, samples and exports of the project are damaged
instead, so that every reader has inputs in a bare clone.
"""

import os
import sys
from collections.abc import Iterator

from damage.inputs import (
    CONFIG,
    CYTOSCAPE_PAGE,
    DAG,
    INSTANCES,
    MERMAID_DAG,
    MERMAID_PAGE,
    SOLVERS,
    TRACE,
    WFFORMAT_1_4,
    answers_of,
    batsim,
    bundled_inputs,
    comparisons,
    data,
    estee_graphs,
    sample,
    stores,
)
from damage.mutators import mutate_json, mutate_store, mutate_text
from damage.running import SOLVED_CODES, Command, Found, Reader, run_reader
from damage.service import conversations, mutate_messages, serve_lines


def _solves(kind: str) -> tuple[Command, ...]:
    return tuple(
        lambda path, out, solver=solver: [
            "solve",
            path,
            "--solver",
            solver,
            "--time-limit",
            "1",
            "-o",
            out,
        ]
        for solver in SOLVERS[kind]
    )


def _of_kind(kind: str) -> Iterator[Reader]:
    instances = lambda: bundled_inputs(kind)  # noqa: E731
    answers = lambda: list(answers_of(kind))  # noqa: E731
    name = f"{kind}.json"
    share = (
        0.3 if kind in ("perturbation", "quantum-selection") else 2
    )  # each run of these takes half a second
    yield Reader(
        f"{kind} instance", instances, mutate_json, (lambda p, o: ["check", p],), 8
    )
    if kind not in SOLVERS:
        measure: Command = lambda p, o: ["measure", p, "--time-limit", "1"]  # noqa: E731
        yield Reader(
            f"{kind} measured",
            instances,
            mutate_json,
            (measure,),
            share,
            codes=SOLVED_CODES,
        )
        return
    yield Reader(
        f"{kind} solved",
        instances,
        mutate_json,
        _solves(kind),
        share,
        codes=SOLVED_CODES,
    )
    commands: tuple[Command, ...] = (lambda p, o: ["check", name, p],) * 4
    from ioopt.registry import KINDS

    if KINDS[kind].simulates:
        commands += (
            lambda p, o: ["simulate", name, p],
            lambda p, o: ["simulate", name, p, "--timeline", o + ".json"],
        )
    beside = {name: bundled_inputs(kind)[0]}
    yield Reader(f"{kind} result", answers, mutate_json, commands, 4, beside=beside)
    drawings: tuple[Command, ...] = (lambda p, o: ["plot", p, "-o", o + ".svg"],)
    if "gantt" in KINDS[kind].pictures():
        drawings += (lambda p, o: ["plot", p, "--picture", "gantt", "-o", o + ".svg"],)
    yield Reader(f"{kind} drawn", answers, mutate_json, drawings, 0.5)
    if KINDS[kind].decision:
        decide: Command = lambda p, o: ["solve", p, "--now", "--time-limit", "1"]  # noqa: E731
        yield Reader(f"{kind} snapshot", instances, mutate_json, (decide,), 1.5)


def all_readers() -> list[Reader]:
    """Return every reader of the project."""
    swf = [
        "KTH-SP2-1996-2.1-cln.first20000.swf",
        "NASA-iPSC-1993-3.1-cln.swf",
        "HPC2N-2002-excerpt-alea.swf",
        "lublin_256.swf",
        "cqsim-test.swf",
    ]
    darshan = [
        "mpi-io-test-dxt-32procs.v3.parser.txt",
        "edison-vpicio-2048procs.v3.parser.txt",
        "empty.v3.parser.txt",
    ]
    write = lambda *words: lambda path, out: ["import", *words, path, "-o", out]  # noqa: E731
    readers = [reader for kind in INSTANCES for reader in _of_kind(kind)]
    plot: Command = lambda p, o: ["plot", p, "-o", o + ".svg"]  # noqa: E731
    readers += [
        Reader("comparison", comparisons, mutate_json, (plot,), 0.5),
        Reader(
            "swf",
            data("swf", swf, 60),
            mutate_text,
            (write("swf"), write("swf", "--family", "gang")),
            8,
        ),
        Reader(
            "sacct",
            sample("sacct.txt"),
            mutate_text,
            (write("sacct"), write("sacct", "--skip-bad", "1")),
            4,
        ),
        Reader(
            "pbs",
            sample("pbs-accounting.txt"),
            mutate_text,
            (write("pbs"), write("pbs", "--skip-bad", "1")),
            4,
        ),
        Reader(
            "darshan",
            data("darshan", darshan, 450),
            mutate_text,
            (write("darshan"),),
            4,
        ),
        Reader("batsim", batsim, mutate_json, (write("batsim"),), 4),
        Reader(
            "wfformat",
            data("wfformat", ["helloworld-forkjoin-10-chameleon.json"]),
            mutate_json,
            (write("wfformat"), write("wfformat", "--flatten")),
            4,
        ),
        Reader(
            "estee",
            estee_graphs,
            mutate_json,
            (write("estee", "--graph", "a"), write("estee", "--graph", "1")),
            4,
        ),
        Reader(
            "saga",
            data("dagbench", ["synthetic--branching_3x2.json"]),
            mutate_json,
            (write("saga"),),
            2,
        ),
        Reader(
            "nextflow-trace",
            lambda: [TRACE],
            mutate_text,
            (write("nextflow-trace", "--dag", "dag"), write("nextflow-trace")),
            4,
            beside={"dag": DAG},
        ),
        Reader(
            "wfformat 1.4", lambda: [WFFORMAT_1_4], mutate_json, (write("wfformat"),), 2
        ),
        Reader(
            "nextflow dag",
            lambda: [DAG, MERMAID_DAG, MERMAID_PAGE, CYTOSCAPE_PAGE],
            mutate_text,
            (lambda p, o: ["import", "nextflow-trace", "trace", "--dag", p, "-o", o],),
            2,
            beside={"trace": TRACE},
        ),
        Reader(
            "sweep",
            lambda: [CONFIG],
            mutate_text,
            (lambda p, o: ["sweep", p, "--store", o + ".sqlite", "--dry-run"],),
            4,
        ),
        Reader(
            "store reported",
            stores,
            mutate_store,
            (lambda p, o: ["plot", p, "-o", o + ".html"],),
            0.1,
        ),
        Reader(
            "store listed",
            stores,
            mutate_store,
            (
                lambda p, o: ["plot", p, "-o", o + ".csv"],
                lambda p, o: ["plot", p, "--picture", "gantt", "-o", o + ".svg"],
                lambda p, o: ["plot", p, "-o", o + ".svg"],
            ),
            0.5,
        ),
        Reader("serve", conversations, mutate_messages, direct=serve_lines, weight=8),
    ]
    return readers


def run_all(
    total: int, seed: int, names: list[str], keep: str | None = None
) -> list[Found]:
    """Run *total* inputs over the readers whose names contain one of *names* (none:
    all).

    Each reader gets a share by its weight. *keep* is a folder for inputs that cause
    faults.
    """
    readers = [
        reader
        for reader in all_readers()
        if not names or any(name in reader.name for name in names)
    ]
    whole = sum(reader.weight for reader in readers)
    results = []
    for reader in readers:
        count = max(1, round(total * reader.weight / whole))
        results.append(run_reader(reader, count, seed, keep))
        found = results[-1]
        codes = ", ".join(
            f"{code}: {number}" for code, number in sorted(found.codes.items())
        )
        print(
            f"{found.reader:26} {codes}; {found.seconds:.1f} CPU s, at most "
            f"{found.most_seconds:.2f} s and {found.most_bytes >> 20} MB an input; "
            f"{len(found.faults)} faults",
            flush=True,
        )
    return results


if __name__ == "__main__":
    folder = os.environ.get("IOOPT_FUZZ_KEEP")
    everything = run_all(
        int(sys.argv[1]),
        int(os.environ.get("IOOPT_FUZZ_SEED", "0")),
        sys.argv[2:],
        folder,
    )
    faults = [fault for found in everything for fault in found.faults]
    print(*faults, sep="\n")
    inputs = sum(sum(found.codes.values()) for found in everything)
    print(f"{inputs} inputs, {len(faults)} faults")
    raise SystemExit(bool(faults))
