"""Clusters, containers, queues and pipelines."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from tests.unit.families.shapes import Honest, Loop, each, ended, hexed, plain, prose, refused, times, word, words

if TYPE_CHECKING:
    from random import Random


def age(seconds: int) -> str:
    """A span as kubectl writes it."""
    return f"{seconds}s" if seconds < 120 else f"{seconds // 60}m{seconds % 60}s"


def applied(c: Random) -> list[Any]:
    return [
        ("kubectl", {"args": f"apply -f k8s/{name}.yaml"}, ended("deployment.apps/web configured"))
        for name in words(c, 9)
    ]


def mended(c: Random) -> list[Any]:
    """A manifest changed until its pod runs: the error stays for a while."""
    said = ended("Error: ImagePullBackOff\nBack-off pulling image registry.example/web", 1)
    return each(
        5,
        lambda _: [
            ("edit_file", {"path": "k8s/web.yaml", "old": word(c), "new": word(c)}, "1 replacement"),
            ("bash", {"command": "kubectl apply -f k8s/web.yaml"}, ended("deployment.apps/web configured")),
            ("bash", {"command": "kubectl describe pod -l app=web | tail -2"}, said),
        ],
    )


def lag(c: Random) -> list[Any]:
    total, steps = 90_000, []
    for _ in range(9):
        total -= c.randrange(2_000, 9_000) * (1 if c.random() < 0.8 else -1)
        parts = [total // 3 + c.randrange(400) for _ in range(3)]
        steps.append(("kafka_lag", {"group": "billing"}, [{"partition": n, "lag": one} for n, one in enumerate(parts)]))
    return steps


def healthy(c: Random) -> list[Any]:
    first = c.randrange(2, 9)
    shown = [f"web   Up {first + 5 * n} seconds (health: starting)   0.0.0.0:80->80/tcp" for n in range(6)]
    return [
        ("bash", {"command": "docker ps --format '{{.Names}} {{.Status}}'"}, ended(one))
        for one in [*shown, "web   Up 40 seconds (healthy)"]
    ]


def layers(c: Random) -> list[Any]:
    """A Dockerfile mended line by line."""
    return each(
        6,
        lambda n: [
            ("edit_file", {"path": "Dockerfile", "old": f"RUN {word(c)}", "new": f"RUN {word(c)}"}, "1 replacement"),
            (
                "bash",
                {"command": "docker build -t web ."},
                ended(f"Step {n + 3}/12 : RUN {word(c)}\nThe command returned a non-zero code: {n + 1}", 1),
            ),
        ],
    )


def pipeline(c: Random) -> list[Any]:
    number = c.randrange(10**8)
    states = ["queued"] * 2 + ["in_progress"] * 6
    asked = [("ci_get_run", {"run_id": number}, {"id": number, "status": one, "conclusion": None}) for one in states]
    return [*asked, ("ci_get_run", {"run_id": number}, {"id": number, "status": "completed", "conclusion": "success"})]


def watched(_: Random) -> list[Any]:
    """Checks of a pull request: only the clock of those that run moves."""
    return [
        (
            "bash",
            {"command": "gh pr checks 41"},
            ended(f"lint\tpass\t31s\nbuild\tpending\t{age(60 + 30 * n)}\ntest\tpending\t{age(58 + 30 * n)}"),
        )
        for n in range(7)
    ] + [("bash", {"command": "gh pr checks 41"}, ended("lint\tpass\t31s\nbuild\tpass\t4m2s\ntest\tpass\t4m9s"))]


def regions(_: Random) -> list[Any]:
    told = (
        "Uploading code package\nCreating the function version\nUpdating the alias live\nWarming "
        "up 3 instances\nChecking the health end point: 200\nRemoving versions older than the "
        "last five\nDone. The alias live now points to the new version.\nNext: watch the "
        "dashboard for a quarter of an hour before going on to the next region."
    )
    places = [
        "eu-west-1",
        "eu-central-1",
        "us-east-1",
        "us-west-2",
        "ap-south-1",
        "sa-east-1",
        "ca-central-1",
        "af-south-1",
    ]
    return [("deploy", {"region": place, "version": "1.9.2"}, told) for place in places]


def nodes(c: Random) -> list[Any]:
    return [
        ("ssh_exec", {"host": f"node-{name}", "command": "sudo systemctl restart agent"}, plain("", 0))
        for name in words(c, 12)
    ]


def deleted(c: Random) -> list[Any]:
    return [
        ("kubectl", {"args": f"delete pod web-{hexed(c, 8)}-{hexed(c, 5)} -n shop"}, ended('pod "web" deleted'))
        for _ in range(9)
    ]


def plans(c: Random) -> list[Any]:
    """A plan read after each change of the code."""
    return each(
        6,
        lambda n: [
            ("write_file", {"path": f"{word(c)}.tf", "content": prose(c, 30)}, "ok"),
            (
                "bash",
                {"command": "terraform plan -no-color"},
                ended(f"Plan: {2 * n + 1} to add, {n % 2} to change, 0 to destroy."),
            ),
        ],
    )


def log_quiet(c: Random) -> list[Any]:
    """A log that says nothing new for some looks, with sleeps between."""
    line = f"2031-05-06 10:00:01 INFO {prose(c, 6)}"
    looks = [line] * 4 + [f"{line}\n2031-05-06 10:09:40 INFO {prose(c, 6)}"]
    return [
        step
        for one in looks
        for step in (
            ("bash", {"command": "sleep 45"}, ended("")),
            ("bash", {"command": "tail -n 5 app.log"}, ended(one)),
        )
    ]


def drained(_: Random) -> list[Any]:
    return each(
        5,
        lambda n: [
            ("bash", {"command": f"kubectl drain node-{n} --ignore-daemonsets"}, ended(f"node/node-{n} drained")),
            (
                "bash",
                {"command": "kubectl get nodes"},
                ended("\n".join(f"node-{k}  Ready{',SchedulingDisabled' * (k <= n)}" for k in range(5))),
            ),
            ("bash", {"command": f"kubectl uncordon node-{n}"}, ended(f"node/node-{n} uncordoned")),
        ],
    )


HONEST: dict[str, Honest] = {
    "manifests applied": Honest(applied),
    "one manifest mended": Honest(mended),
    "a lag that falls, not steadily": Honest(lag),
    "a container that starts": Honest(healthy),
    "an image built further each time": Honest(layers),
    "a pipeline waited for": Honest(pipeline, seconds=60),
    "checks waited for, without a clock": Honest(watched),
    "one version in all regions": Honest(regions),
    "one service restarted on many nodes": Honest(nodes),
    "pods deleted": Honest(deleted),
    "plans after changes": Honest(plans),
    "a log that is silent for a while": Honest(log_quiet),
    "nodes drained in turn": Honest(drained),
}


def locked(c: Random) -> list[Any]:
    def said(n: int) -> Any:
        return ended(
            (
                "Error: Error acquiring the state lock\n\nError message: "
                "ConditionalCheckFailedException: The conditional request failed\nLock Info:\n  ID:      "
                f"  {uuid.UUID(int=c.getrandbits(128))}\n  Path:      tf-state/prod.tfstate\n  Who:       "
                "ci@runner\n  Created:   2031-05-06 "
                f"10:{n:02}:{c.randrange(60):02}.{c.randrange(10**6):06} +0000 UTC\n"
            ),
            1,
        )

    return times(12, lambda n: [("bash", {"command": "terraform apply -auto-approve"}, said(n))])


def taken(c: Random) -> list[Any]:
    def said() -> Any:
        return ended(
            (
                f"{hexed(c, 64)}\ndocker: Error response from daemon: driver failed programming external "
                f"connectivity on endpoint web ({hexed(c, 64)}): Bind for 0.0.0.0:80 failed: port is "
                "already allocated."
            ),
            125,
        )

    return times(12, lambda _: [("bash", {"command": "docker run -d -p 80:80 --name web web:latest"}, said())])


def stuck_lag(c: Random) -> list[Any]:
    parts = [c.randrange(100, 90_000) for _ in range(3)]
    return times(
        26,
        lambda n: [
            (
                "kafka_lag",
                {"group": "billing"},
                {
                    "as_of": f"2031-05-06T10:{n:02}:{c.randrange(60):02}Z",
                    "partitions": [{"partition": k, "lag": one} for k, one in enumerate(parts)],
                },
            )
        ],
    )


def applied_again(c: Random) -> list[Any]:
    first = c.randrange(60, 200)
    return times(
        12,
        lambda n: [
            (
                "bash",
                {"command": "kubectl apply -f k8s/web.yaml"},
                ended("deployment.apps/web unchanged\nservice/web unchanged"),
            ),
            (
                "bash",
                {"command": "kubectl get pods -l app=web"},
                ended(
                    "NAME          READY   STATUS             RESTARTS   AGE\nweb-7d4b9c-a  0/1     "
                    f"ImagePullBackOff   0          {age(first + 11 * n)}"
                ),
            ),
        ],
    )


def restarted(c: Random) -> list[Any]:
    """A service restarted over and over; its log ends alike but for the process."""
    return times(
        12,
        lambda n: [
            ("bash", {"command": "systemctl restart web"}, ended("")),
            (
                "bash",
                {"command": "systemctl status web --no-pager"},
                ended(
                    (
                        "web.service - The web\n   Loaded: loaded (/etc/systemd/system/web.service; enabled)\n   "
                        f"Active: failed (Result: exit-code) since Tue 2031-05-06 10:{n:02}:{c.randrange(60):02} "
                        f"UTC; {c.randrange(2, 9)}s ago\n  Process: {4000 + 13 * n} ExecStart=/usr/bin/web "
                        f"(code=exited, status=203/EXEC)\n Main PID: {4000 + 13 * n} (code=exited, "
                        "status=203/EXEC)"
                    ),
                    3,
                ),
            ),
        ],
    )


def longer_waits(_: Random) -> list[Any]:
    return times(
        12,
        lambda n: [
            (
                "run_job",
                {"name": "import", "timeout_seconds": 60 * (n + 1)},
                refused(
                    f"Job import was stopped after {60 * (n + 1)} seconds: the source could not be opened "
                    "(permission denied)"
                ),
            )
        ],
    )


def more_lines(c: Random) -> list[Any]:
    shown = "\n".join(f"{prose(c, 7)}" for _ in range(8))
    return times(14, lambda n: [("bash", {"command": f"kubectl logs web-0 --tail={50 * (n + 1)}"}, ended(shown))])


def running(_: Random) -> list[Any]:
    return times(
        26,
        lambda _: [
            ("bash", {"command": "sleep 5; pgrep -fa import.py || echo gone"}, ended("4711 python import.py --all"))
        ],
    )


def pushed(_: Random) -> list[Any]:
    return times(
        12,
        lambda _: [
            (
                "bash",
                {"command": "git push origin main"},
                ended(
                    (
                        "To git.example:o/r.git\n ! [rejected]        main -> main (non-fast-forward)\nerror: "
                        "failed to push some refs to 'git.example:o/r.git'"
                    ),
                    1,
                ),
            ),
            (
                "bash",
                {"command": "git pull origin main"},
                ended("From git.example:o/r\n * branch            main       -> FETCH_HEAD\nAlready up to date."),
            ),
        ],
    )


def many_flags(_: Random) -> list[Any]:
    flags = ["", " --force", " --no-cache", " --verbose", " --debug", " -v", " --retry", " --plain"]
    return times(
        14,
        lambda n: [
            (
                "bash",
                {"command": f"helm upgrade web ./chart{flags[n % 8]}"},
                ended('Error: UPGRADE FAILED: "web" has no deployed releases', 1),
            )
        ],
    )


LOOPS: dict[str, Loop] = {
    "a lock that is held": Loop(locked, 4, 8),
    "a port that is taken": Loop(taken, 4, 8),
    "a lag that stands": Loop(stuck_lag, 8),
    "a manifest applied again": Loop(applied_again, 5),
    "a service restarted again": Loop(restarted, 5),
    "a job given ever more time": Loop(longer_waits, 6),
    "ever more lines of a short log": Loop(more_lines, 6),
    "a process that runs on": Loop(running, 8, 24),
    "pushed, pulled, pushed": Loop(pushed, 3, 7),
    "one failure under many flags": Loop(many_flags, 5, 12),
}
