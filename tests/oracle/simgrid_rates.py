"""Ends of a list of flows according to SimGrid; run by the system's Python, which has it.

Reads {"capacity": [bytes per second], "flows": [{"start", "bytes", "links": [...]}]} from standard
input and prints the list of ends in seconds. Every flow gets two hosts of its own, joined by a
route over its links.
"""

import json
import sys

from simgrid import Actor, Comm, Engine, LinkInRoute, NetZone, this_actor


def main() -> None:
    data = json.load(sys.stdin)
    engine = Engine(
        [
            "rates",
            "--cfg=network/model:CM02",
            "--cfg=network/crosstraffic:0",
            "--cfg=surf/precision:1e-12",
            "--cfg=maxmin/precision:1e-12",
            "--log=root.thresh:critical",
        ]
    )
    world = NetZone.create_full_zone("world")
    links = []
    for number, rate in enumerate(data["capacity"]):
        link = world.create_link(f"link{number}", rate)
        link.set_latency(0)
        links.append(link.seal())
    ends = [0.0] * len(data["flows"])

    def send(number: int, source: object, target: object) -> None:
        flow = data["flows"][number]
        this_actor.sleep_until(flow["start"])
        Comm.sendto(source, target, flow["bytes"])
        ends[number] = engine.clock

    pairs = []
    for number, flow in enumerate(data["flows"]):
        source = world.create_host(f"from{number}", 1e9)
        target = world.create_host(f"to{number}", 1e9)
        route = [LinkInRoute(links[at]) for at in flow["links"]]
        world.add_route(source.netpoint, target.netpoint, None, None, route, True)
        pairs.append((source, target))
    world.seal()
    for number, (source, target) in enumerate(pairs):
        Actor.create(f"flow{number}", source, send, number, source, target)
    engine.run()
    print(json.dumps(ends))


main()
