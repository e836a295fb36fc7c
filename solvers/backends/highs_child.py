"""HiGHS on a model file, in a process of its own: ``highs_child.py MODEL.mps JOB.json ANSWER.json``.

HiGHS looks at its clock only between certain steps, on large models half a minute apart; a process
can be ended on time. The best solution so far is written whenever it improves.
"""

import json
import os
import sys
from typing import Any


def main(model: str, job_file: str, answer_file: str) -> None:
    """Read, solve, write."""
    import highspy

    with open(job_file, encoding="utf-8") as stream:
        job: dict[str, Any] = json.load(stream)
    highs = highspy.Highs()
    # Under a limit HiGHS cuts the reading short, and calls the model that it has then, empty, optimal.
    limit = job["options"].pop("time_limit")
    for name, value in job["options"].items():
        highs.setOptionValue(name, value)
    highs.readModel(model)
    highs.setOptionValue("time_limit", limit)
    if job["maximize"]:
        highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
    names = [highs.getColName(k)[1] for k in range(highs.getNumCol())]
    if job["start"] is not None:
        begin = highspy.HighsSolution()
        begin.col_value = [job["start"].get(name, 0.0) for name in names]
        highs.setSolution(begin)

    def write(status: str, columns: Any, bound: float) -> None:
        answer = {
            "status": status,
            "values": dict(zip(names, [float(value) for value in columns], strict=False)),
            "bound": bound,
            "version": highs.version(),
        }
        with open(f"{answer_file}.part", "w", encoding="utf-8") as out:
            json.dump(answer, out)
        os.replace(f"{answer_file}.part", answer_file)

    def improved(event: Any) -> None:
        write("kTimeLimit", event.data_out.mip_solution, event.data_out.mip_dual_bound)

    highs.cbMipImprovingSolution.subscribe(improved)
    highs.run()
    write(
        highs.getModelStatus().name, highs.getSolution().col_value, highs.getInfo().mip_dual_bound
    )


if __name__ == "__main__":
    main(*sys.argv[1:4])
