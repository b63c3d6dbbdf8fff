"""Robots, homes, games and other languages than English."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.families.shapes import Honest, Loop, each, hexed, prose, refused, text, times, words

if TYPE_CHECKING:
    from random import Random


def arm(c: Random) -> list[Any]:
    start = c.random() * 90
    return [
        (
            "move_joint",
            {"joint": 2, "delta_deg": 5},
            {"joint": 2, "position_deg": round(start + 5 * n + c.gauss(0, 0.02), 3)},
        )
        for n in range(9)
    ]


def picked(c: Random) -> list[Any]:
    """Boxes put away one by one by one routine."""
    return each(
        6,
        lambda _: [
            ("move_to", {"pose": "above_belt"}, {"status": "reached"}),
            ("detect", {"label": "box"}, {"objects": [{"x": round(c.random(), 3), "y": round(c.random(), 3)}]}),
            ("grasp", {"width": 0.04}, {"status": "holding"}),
            ("move_to", {"pose": "above_bin"}, {"status": "reached"}),
            ("release", {}, {"status": "open"}),
        ],
    )


def warmed(c: Random) -> list[Any]:
    first = 17 + c.random() * 2
    return [
        (
            "thermostat_read",
            {"room": "study"},
            {"temperature_c": round(first + 0.3 * n, 1), "target_c": 21.0, "heating": True},
        )
        for n in range(9)
    ]


def guarded(_: Random) -> list[Any]:
    return [("door_sensor", {"door": "front"}, {"state": "closed", "battery": 88}) for _ in range(14)]


def lamps(c: Random) -> list[Any]:
    return [("light_set", {"entity": f"light.{name}", "on": False}, {"success": True}) for name in words(c, 12)]


def caves(c: Random) -> list[Any]:
    """An adventure: three ways of four are closed in each room."""

    def room(_: int) -> list[Any]:
        ways = c.sample(["north", "south", "east", "west"], 4)
        return [
            *[("play", {"command": f"go {way}"}, "You can't go that way.") for way in ways[:3]],
            ("play", {"command": f"go {ways[3]}"}, f"{prose(c, 3).title()}\n{prose(c, 12)}."),
        ]

    return each(5, room)


def chess(c: Random) -> list[Any]:
    return [
        (
            "make_move",
            {"uci": f"{c.choice('abcdefgh')}2{c.choice('abcdefgh')}4"},
            {"legal": True, "fen": f"{hexed(c, 12)} w KQkq - 0 {n}"},
        )
        for n in range(12)
    ]


def words_game(c: Random) -> list[Any]:
    return [
        ("guess", {"word": one[:5]}, f"{''.join(c.choice('gyb') for _ in range(5))}, {6 - n} left")
        for n, one in enumerate(words(c, 6))
    ]


def snake(_: Random) -> list[Any]:
    """One move again and again; the board is drawn, the piece moves on."""
    width = 14
    return [
        (
            "step",
            {"dir": "right"},
            "\n".join(["#" * width, "#" + " " * n + "@" + " " * (width - 3 - n) + "#", "#" * width]),
        )
        for n in range(11)
    ]


def translated(c: Random) -> list[Any]:
    return [
        ("speichern", {"schluessel": f"seite.{name}", "text": prose(c, 4)}, "Gespeichert.") for name in words(c, 12)
    ]


def absent(c: Random) -> list[Any]:
    """Three words in a Japanese dictionary, none of them there, then one that is."""
    return [("辞書", {"語": name}, "該当する項目は見つかりませんでした。") for name in words(c, 5)] + [
        ("辞書", {"語": "犬"}, "いぬ。動物。")
    ]


def orders(c: Random) -> list[Any]:
    return [
        ("查询订单", {"订单号": one}, {"状态": "已发货", "承运商": "顺丰", "备注": ""})
        for one in c.sample(range(10**6), 9)
    ]


def balance(_: Random) -> list[Any]:
    """Weights put on until the scale stands level."""
    return each(6, lambda n: [("add_weight", {"grams": 5}, "ok"), ("read_scale", {}, f"{5 * (n + 1)} g")])


def drone(c: Random) -> list[Any]:
    return [
        (
            "telemetry",
            {},
            {"battery": 93 - n, "lat": round(48 + c.random(), 5), "lon": round(11 + c.random(), 5), "mode": "AUTO"},
        )
        for n in range(9)
    ]


HONEST: dict[str, Honest] = {
    "a joint moved on": Honest(arm),
    "boxes put away": Honest(picked),
    "a room that warms up": Honest(warmed),
    "a door watched every five minutes": Honest(guarded, seconds=300),
    "lamps put out": Honest(lamps),
    "ways out of caves": Honest(caves),
    "moves at chess": Honest(chess),
    "guesses at a word": Honest(words_game),
    "one step again on a board": Honest(snake),
    "texts saved in German": Honest(translated),
    "words a Japanese dictionary has not": Honest(absent),
    "orders in Chinese": Honest(orders),
    "weights added": Honest(balance),
    "a flight watched": Honest(drone),
}


def unreachable(c: Random) -> list[Any]:
    """A pose that is tried again in small shifts."""
    x, y = round(c.random(), 2), round(c.random(), 2)
    return times(
        14,
        lambda n: [
            (
                "move_to",
                {"x": round(x + 0.01 * n, 2), "y": y, "z": 0.3},
                {"status": "error", "code": "IK_FAIL", "message": "no inverse kinematics solution for the target pose"},
            )
        ],
    )


def lamp(_: Random) -> list[Any]:
    return times(
        14,
        lambda _: [
            (
                "light_set",
                {"entity": "light.kitchen", "on": True},
                {"success": False, "reason": "entity does not respond to this service"},
            )
        ],
    )


def wall(_: Random) -> list[Any]:
    return times(12, lambda _: [("play", {"command": "go north"}, "You bump into the wall. Nothing happens.")])


def two_rooms(c: Random) -> list[Any]:
    one, other = prose(c, 14), prose(c, 14)
    return times(10, lambda _: [("play", {"command": "go east"}, one), ("play", {"command": "go west"}, other)])


def looked_for(c: Random) -> list[Any]:
    """Two poses and a look from each, over and over."""
    return times(
        9,
        lambda _: [
            ("move_to", {"pose": "left"}, {"status": "reached", "elapsed_s": round(c.random(), 2)}),
            ("detect", {"label": "cup"}, {"objects": [], "latency_ms": c.randrange(20, 90)}),
            ("move_to", {"pose": "right"}, {"status": "reached", "elapsed_s": round(c.random(), 2)}),
            ("detect", {"label": "cup"}, {"objects": [], "latency_ms": c.randrange(20, 90)}),
        ],
    )


def german(_: Random) -> list[Any]:
    return times(
        12,
        lambda _: [
            ("datei_lesen", {"pfad": "berichte/mai.txt"}, refused("Fehler: Die Datei konnte nicht gefunden werden."))
        ],
    )


def german_paths(c: Random) -> list[Any]:
    names = words(c, 12)
    return times(
        12,
        lambda n: [
            (
                "datei_lesen",
                {"pfad": f"berichte/{names[n]}.txt"},
                refused("Fehler: Zugriff auf das Verzeichnis verweigert."),
            )
        ],
    )


def chinese(_: Random) -> list[Any]:
    said = "未找到与查询匹配的结果。请尝试使用不同的关键词或者检查拼写是否正确。如果问题仍然存在请联系管理员。"
    asked = ["订单 退款 政策", "退款 政策", "退款政策 订单", "政策 退款", "订单退款政策说明", "退款 政策 说明"]
    return times(14, lambda n: [("搜索", {"关键词": asked[n % 6]}, said)])


def illegal(_: Random) -> list[Any]:
    """Moves that the rules forbid, one after the other."""
    moves = ["e1g1", "e1c1", "e1f1", "e1d1", "e1e2", "a1a2", "h1h2", "g1f3"]
    return times(
        14, lambda n: [("make_move", {"uci": moves[n % 8]}, {"legal": False, "reason": "It is not your turn."})]
    )


def arabic(_: Random) -> list[Any]:
    return times(
        12,
        lambda _: [
            ("بحث", {"نص": "سياسة الإرجاع"}, text("لا توجد نتائج مطابقة لبحثك")),
            ("بحث", {"نص": "الإرجاع"}, text("لا توجد نتائج مطابقة لبحثك اليوم")),
        ],
    )


def battery(_: Random) -> list[Any]:
    """A charger that does not charge, asked again with a restart of it between."""
    return times(10, lambda _: [("charger_restart", {"id": 4}, "ok"), ("battery_level", {}, "17 %, not charging")])


LOOPS: dict[str, Loop] = {
    "a pose out of reach": Loop(unreachable, 6),
    "a lamp that does not answer": Loop(lamp, 4, 8),
    "into the wall": Loop(wall, 4, 8),
    "between two rooms": Loop(two_rooms, 4),
    "a cup that is nowhere": Loop(looked_for, 5),
    "one failure in German": Loop(german, 3, 6),
    "one failure in German for other paths": Loop(german_paths, 6),
    "one long answer in Chinese": Loop(chinese, 7),
    "one reason for every move": Loop(illegal, 14),
    "two questions in Arabic": Loop(arabic, 4, 8),
    "a charger restarted": Loop(battery, 4, 8),
}
