"""The rates of all transfers for the slow reference, by rules 5 to 17 and 24 to 29."""

import itertools
from fractions import Fraction
from typing import Any

INF = float("inf")
Request = dict[str, Any]
Rates = dict[Any, Fraction]


def decided(sim: Any) -> list[tuple[Request, Fraction]]:
    """Return every request with the rate that the policy grants, reduced by
    interference (29).
    """
    queue = sorted(sim.requests, key=lambda r: (r["record"]["request"], r["id"]))
    rates = dict.fromkeys((r["id"] for r in queue), Fraction(0)) | policy_rates(
        sim, queue
    )
    if sim.policy != "no-congestion":
        active = sum(rate > 0 for rate in rates.values())
        cap = sim.bw / (1 + sim.interference * max(active - 1, 0))
        total = sum(rates.values())
        if total > cap:
            rates = {name: rate * cap / total for name, rate in rates.items()}
    return [(request, rates[request["id"]]) for request in queue]


def policy_rates(sim: Any, queue: list[Request]) -> Rates:
    name = sim.policy.removesuffix("+top")
    if name == "no-congestion":
        return peaks(queue)
    if name == "base-line":
        # With interference, two requests are congestion already.
        all_fit = not sim.interference and sum(r["peak"] for r in queue) <= sim.bw
        if sim.share == "even-if-congested" and all_fit:
            return peaks(queue)
        if sim.share in ("even-split", "even-if-congested"):
            return {r["id"]: min(r["peak"], sim.bw / len(queue)) for r in queue}
        if sim.share == "per-application":
            return by_nodes([{**r, "n": 1} for r in queue], sim.bw)
        return by_nodes(queue, sim.bw)
    if name == "adaptive":
        return by_nodes(adaptive(sim.bw, queue), sim.bw)
    if name == "fill":
        # Compare squares of R / N^alpha, since alpha is a multiple of 1/2.
        power = int(2 * sim.alpha)
        return in_turn(
            sorted(queue, key=lambda r: r["left"] ** 2 / r["n"] ** power), sim.bw
        )
    if name == "set-10":
        order, rates = queue, sets(sim, queue)
    elif name == "cons-max-util":
        order, rates = queue, peaks(fullest(sim.bw, queue))
    else:
        keys = {
            "cons-fcfs": None,
            "cons-min-inst-sld": instant,
            "cons-min-aggr-sld": aggregate,
        }
        key = keys[name]
        order = sorted(queue, key=lambda r: sim.sign * key(sim, r)) if key else queue
        rates, left = {}, sim.bw
        for request in order:
            if request["peak"] <= left:
                rates[request["id"]] = request["peak"]
                left -= request["peak"]
    if sim.policy.endswith("+top"):  # (11), (28)
        rest = [request for request in order if request["id"] not in rates]
        rates |= in_turn(rest, sim.bw - sum(rates.values()))
    return rates


def peaks(requests: list[Request]) -> Rates:
    return {request["id"]: request["peak"] for request in requests}


def in_turn(order: list[Request], left: Fraction) -> Rates:
    rates = {}
    for request in order:
        rates[request["id"]] = min(request["peak"], left)
        left -= rates[request["id"]]
    return rates


def by_nodes(requests: list[Request], left: Fraction) -> Rates:
    """Return rates in proportion to the nodes, each limited by its peak (7), (25).

    The rate of request i is min(r_i, rho N_i) for peak r_i and N_i nodes, where rho is
    as large as the bandwidth *left* allows.
    """
    rates, nodes = {}, sum(request["n"] for request in requests)
    for request in sorted(requests, key=lambda r: r["peak"] / Fraction(r["n"])):
        rates[request["id"]] = min(request["peak"], request["n"] * left / nodes)
        left -= rates[request["id"]]
        nodes -= request["n"]
    return rates


def sets(sim: Any, queue: list[Request]) -> Rates:
    """Return rates by rule 16: the first request of set k gets a share of weight 10^-k.

    What a request cannot use because of its peak is divided again among the others.
    """
    heads: dict[int, Request] = {}
    for request in queue:
        heads.setdefault(set_of(request["job"]), request)
    rates: Rates = {}
    left = sim.bw
    while heads:
        whole = sum(Fraction(10) ** -k for k in heads)
        parts = {k: left * Fraction(10) ** -k / whole for k in heads}
        capped = [k for k, request in heads.items() if request["peak"] <= parts[k]]
        for k in capped or list(heads):
            request = heads.pop(k)
            rates[request["id"]] = request["peak"] if capped else parts[k]
            left -= rates[request["id"]]
    return rates


def set_of(job: dict[str, Any]) -> int:
    """Return the set of a job by rule 28: k with 10^(k-1/2) < w <= 10^(k+1/2).

    Here w is the mean time of a phase without congestion.
    """
    moved, peak = sum(v for _, v in job["phases"]), job["peak"]
    mean = (sum(c for c, _ in job["phases"]) + moved / peak) / len(job["phases"])
    k = -30
    while mean**2 > Fraction(10) ** (2 * k + 1):
        k += 1
    return k


def instant(sim: Any, request: Request) -> Any:
    moved = request["volume"] - request["left"]
    waited = sim.now - request["record"]["request"]
    return request["peak"] * waited / moved if moved else (1 if waited == 0 else INF)


def aggregate(sim: Any, request: Request) -> Any:
    job = request["job"]
    below = sum(c for c, _ in job["phases"][: job["k"] + 1])
    below += sum(v for _, v in job["phases"][: job["k"]]) / request["peak"]
    lived = sim.now - job["start"]
    return lived / below if below else (1 if lived == 0 else INF)


def fullest(storage: Fraction, queue: list[Request]) -> list[Request]:
    """Return the requests with the most nodes whose peaks fit the storage (12), (26).

    Of equal sets, the first in FCFS order is taken.
    """
    options = [
        chosen
        for size in range(len(queue) + 1)
        for chosen in itertools.combinations(range(len(queue)), size)
        if sum(queue[k]["peak"] for k in chosen) <= storage
    ]
    most = max(sum(queue[k]["n"] for k in chosen) for chosen in options)
    first = min(c for c in options if sum(queue[k]["n"] for k in c) == most)
    return [queue[k] for k in first]


def adaptive(storage: Fraction, queue: list[Request]) -> list[Request]:
    chosen: list[Request] = []
    room = storage
    for request in queue:
        if request["peak"] <= room:
            chosen.append(request)
            room -= request["peak"]
            continue
        ends = play(storage, chosen)
        start = min(
            time
            for time in ends.values()
            if sum(r["peak"] for r in chosen if ends[r["id"]] > time) + request["peak"]
            <= storage
        )
        alone = sum(ends.values()) + start + request["left"] / request["peak"]
        if sum(play(storage, [*chosen, request]).values()) < alone:
            chosen.append(request)
            room = Fraction(0)
    return chosen


def play(storage: Fraction, requests: list[Request]) -> Rates:
    """Return the seconds until each of *requests* ends, if these share the storage and
    no other request arrives (15).
    """
    left = {request["id"]: request["left"] for request in requests}
    ends: Rates = {}
    now = Fraction(0)
    while len(ends) < len(requests):
        rates = by_nodes([r for r in requests if r["id"] not in ends], storage)
        step = min(left[name] / rate for name, rate in rates.items())
        now += step
        for name, rate in rates.items():
            left[name] -= rate * step
            if left[name] == 0:
                ends[name] = now
    return ends
