"""Browsers, mail, calendars and searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.families.shapes import (
    Honest,
    Loop,
    blob,
    hexed,
    prose,
    refused,
    times,
    token,
    word,
    words,
)

if TYPE_CHECKING:
    from random import Random


def snapshot(url: str, title: str, *lines: str) -> str:
    """The tree of a page, as a browser's tool shows it."""
    return "\n".join(
        [
            f"- Page URL: {url}",
            f"- Page Title: {title}",
            "- Page Snapshot:",
            "```yaml",
            "- banner [ref=e2]:",
            '  - link "Home" [ref=e3] [cursor=pointer]',
            '  - link "Products" [ref=e4] [cursor=pointer]',
            '  - searchbox "Search the shop" [ref=e5]',
            "- main [ref=e9]:",
            *(f"  {line}" for line in lines),
            "- contentinfo [ref=e90]: All prices include tax",
            "```",
        ]
    )


def _form(filled: dict[str, str], fields: list[str]) -> str:
    return snapshot(
        "https://shop.example/signup",
        "Sign up",
        *(f'- textbox "{name}" [ref=e{10 + n}]: {filled.get(name, "")}' for n, name in enumerate(fields)),
        '- button "Continue" [ref=e40]',
    )


def fill(c: Random) -> list[Any]:
    fields = words(c, 7)
    filled: dict[str, str] = {}
    steps: list[Any] = []
    for n, name in enumerate(fields):
        filled[name] = word(c)
        steps.append(("browser_type", {"ref": f"e{10 + n}", "text": filled[name]}, _form(filled, fields)))
    return steps


def ticks(c: Random) -> list[Any]:
    names = words(c, 8)
    return [
        (
            "browser_click",
            {"element": f"{name} checkbox", "ref": f"e{20 + n}"},
            snapshot(
                "https://shop.example/options",
                "Options",
                *(f'- checkbox "{one}" [ref=e{20 + k}]{" [checked]" * (k <= n)}' for k, one in enumerate(names)),
            ),
        )
        for n, name in enumerate(names)
    ]


def products(c: Random) -> list[Any]:
    return [
        ("browser_navigate", {"url": f"https://shop.example/p/{number}"}, product(number, c.randrange(900, 9000)))
        for number in c.sample(range(100, 999), 10)
    ]


def product(number: int, cents: int) -> str:
    return snapshot(
        f"https://shop.example/p/{number}",
        f"Article {number}",
        f'- heading "Article {number}" [level=1] [ref=e11]',
        f"- text: {cents / 100:.2f} EUR, ships in {number % 5 + 1} days",
        '- button "Add to basket" [ref=e14]',
    )


def wizard(c: Random) -> list[Any]:
    return [
        (
            "browser_click",
            {"element": "Next", "ref": "e40"},
            snapshot("https://shop.example/setup", "Setup", f"- heading {prose(c, 4)}", '- button "Next" [ref=e40]'),
        )
        for _ in range(8)
    ]


def mails(c: Random) -> list[Any]:
    found = [
        ("gmail_get", {"id": one}, {"id": one, "snippet": prose(c, 8), "labelIds": ["INBOX", "UNREAD"]})
        for one in (hexed(c, 16) for _ in range(6))
    ]
    return [
        *[
            ("gmail_search", {"q": f"from:{name}@example.com newer_than:7d"}, {"messages": [], "resultSizeEstimate": 0})
            for name in words(c, 7)
        ],
        *found,
    ]


def slots(c: Random) -> list[Any]:
    first = c.randrange(1, 10)
    answer = {
        "available": False,
        "reason": "There is no time between 09:00 and 17:00 at which all five attendees are free.",
    }
    asked = [
        ("find_meeting_time", {"date": f"2031-05-{first + n:02}", "minutes": 45, "attendees": ["a", "b", "c"]}, answer)
        for n in range(7)
    ]
    return [*asked, ("find_meeting_time", {"date": "2031-05-28", "minutes": 45}, {"available": True, "at": "10:15"})]


def busy(c: Random) -> list[Any]:
    return [
        ("calendar_freebusy", {"email": f"{name}@example.com", "day": "2031-05-06"}, {"busy": []})
        for name in words(c, 10)
    ]


def results(c: Random, query: str, start: int) -> str:
    rows = [f"{start + n + 1}. {prose(c, 5)}\n   https://{word(c)}.example/{word(c)}" for n in range(5)]
    return f"Results for {query}\n" + "\n".join(rows)


def deeper(c: Random) -> list[Any]:
    query = prose(c, 3)
    return [("web_search", {"query": query, "start": 10 * n}, results(c, query, 10 * n)) for n in range(8)]


def fetched(c: Random) -> list[Any]:
    return [
        (
            "fetch",
            {"url": f"https://{word(c)}.example/{word(c)}"},
            refused("HTTP 403 Forbidden") if n % 3 else prose(c, 60),
        )
        for n in range(9)
    ]


def screenshots(c: Random) -> list[Any]:
    return [
        (
            "computer",
            {"action": "left_click", "coordinate": [c.randrange(1200), c.randrange(800)]},
            {"content": [{"type": "image", "data": blob(c), "mimeType": "image/png"}]},
        )
        for _ in range(9)
    ]


def tables(c: Random) -> list[Any]:
    """Selectors tried on a page until one of them hits."""
    tried = [
        (
            "browser_evaluate",
            {"function": f"() => document.querySelector('.{name}').innerText"},
            refused("TypeError: Cannot read properties of null (reading 'innerText')"),
        )
        for name in words(c, 3)
    ]
    return [
        *tried,
        ("browser_snapshot", {}, snapshot("u", "t", "- cell 4")),
        ("browser_evaluate", {"function": "() => 4"}, "4"),
    ]


HONEST: dict[str, Honest] = {
    "a form whose page is shown after each field": Honest(fill),
    "boxes ticked on one page": Honest(ticks),
    "products of one shop": Honest(products),
    "the button that leads on": Honest(wizard),
    "mail searched and read": Honest(mails),
    "a day looked for that suits all": Honest(slots),
    "diaries of many people": Honest(busy),
    "further results of one search": Honest(deeper),
    "pages that may not be read among others that may": Honest(fetched),
    "clicks about a screen": Honest(screenshots),
    "selectors tried until one hits": Honest(tables),
    "one letter to many": Honest(
        lambda c: [
            (
                "gmail_send",
                {"to": f"{name}@example.com", "subject": "Your invoice", "body": "Please find it attached."},
                {"id": hexed(c, 16), "threadId": hexed(c, 16), "labelIds": ["SENT"]},
            )
            for name in words(c, 11)
        ]
    ),
    "letters archived": Honest(
        lambda c: [
            (
                "gmail_modify",
                {"id": hexed(c, 16), "removeLabelIds": ["INBOX"]},
                {
                    "success": True,
                    "labelIds": ["IMPORTANT", "CATEGORY_UPDATES", "Label_19"],
                    "message": (
                        "The labels of this message were changed as asked; it is no longer in the inbox and can "
                        "be found under All Mail."
                    ),
                },
            )
            for _ in range(10)
        ]
    ),
}


def same_button(c: Random) -> list[Any]:
    page = snapshot("https://shop.example/pay", "Payment", '- button "Pay" [ref=e40]', f"- text: {prose(c, 9)}")
    return times(14, lambda _: [("browser_click", {"element": "Pay", "ref": "e40"}, page)])


def other_buttons(c: Random) -> list[Any]:
    page = snapshot("https://shop.example/pay", "Payment", f"- text: {prose(c, 30)}")
    return times(14, lambda n: [("browser_click", {"element": word(c), "ref": f"e{30 + n}"}, page)])


def login(c: Random) -> list[Any]:
    def page(*more: str) -> str:
        return snapshot(
            "https://shop.example/login",
            "Login",
            '- textbox "User" [ref=e10]',
            f"- hidden csrf_token={hexed(c, 32)}",
            "- text: We use cookies to make the shop work and to learn how it is used",
            *more,
        )

    return times(
        10,
        lambda _: [
            ("browser_navigate", {"url": "https://shop.example/login"}, page()),
            ("browser_type", {"ref": "e10", "text": "ann"}, page("- text: ann")),
            ("browser_click", {"ref": "e12"}, page("- alert: Wrong user or password")),
        ],
    )


def guarded(c: Random) -> list[Any]:
    def page() -> Any:
        return refused(
            "<html><head><title>Just a moment</title></head><body>Checking that you are human before you go on."
            f" This may take a few seconds. Access denied. <p>Ray ID: {hexed(c, 16)}</p></body></html>"
        )

    url = f"https://{word(c)}.example/{word(c)}"
    return times(12, lambda _: [("fetch", {"url": url}, page())])


def reworded(c: Random) -> list[Any]:
    hits = results(c, "", 0)
    subject = words(c, 3)
    return times(
        12,
        lambda n: [
            ("web_search", {"query": " ".join(c.sample(subject, 3)) + ["", " docs", " guide", " 2031"][n % 4]}, hits)
        ],
    )


def one_mail(c: Random) -> list[Any]:
    hit = {"messages": [{"id": hexed(c, 16), "threadId": hexed(c, 16)}], "resultSizeEstimate": 1}
    who = word(c)
    asked = [
        "from:{0}",
        "from: {0}",
        "{0}",
        "from:{0} in:inbox",
        "from:{0} in:anywhere",
        "{0} invoice",
        "subject:{0}",
        "to:me {0}",
    ]
    return times(14, lambda n: [("gmail_search", {"q": asked[n % 8].format(who)}, hit)])


def same_event(c: Random) -> list[Any]:
    args = {"summary": word(c), "start": "2031-05-06T10:00", "attendees": ["ann@example.com"]}
    return times(
        12,
        lambda _: [
            (
                "calendar_create_event",
                args,
                {
                    "id": hexed(c, 26),
                    "htmlLink": f"https://cal.example/e?eid={token(c)}",
                    "status": "confirmed",
                    **args,
                },
            ),
            ("calendar_list_events", {"day": "2031-05-06"}, {"items": []}),
        ],
    )


def same_letter(c: Random) -> list[Any]:
    args = {"to": "ann@example.com", "subject": word(c), "body": prose(c, 20)}
    return times(
        12, lambda _: [("gmail_send", args, {"id": hexed(c, 16), "threadId": hexed(c, 16), "labelIds": ["SENT"]})]
    )


def same_screen(c: Random) -> list[Any]:
    shown = {"content": [{"type": "image", "data": blob(c), "mimeType": "image/png"}]}
    return times(12, lambda _: [("computer", {"action": "left_click", "coordinate": [410, 220]}, shown)])


def past_the_end(c: Random) -> list[Any]:
    total, first = c.randrange(20, 90), c.randrange(4, 9)
    return times(
        14, lambda n: [("list_messages", {"page": first + n}, {"items": [], "page": first + n, "total": total})]
    )


def stale_refs(c: Random) -> list[Any]:
    return times(
        12,
        lambda n: [
            (
                "browser_click",
                {"element": "Search", "ref": f"s{n + 1}e{c.randrange(20, 90)}"},
                refused(
                    f"Error: Ref s{n + 1}e{c.randrange(20, 90)} not found in the current page snapshot. Try "
                    "capturing new snapshot."
                ),
            )
        ],
    )


def typed_again(c: Random) -> list[Any]:
    """A field that does not keep what is typed, with a look between."""
    page = snapshot("https://shop.example/form", "Form", '- textbox "Date" [ref=e10]', f"- text: {prose(c, 12)}")
    forms = ["2031-05-06", "05/06/2031", "6 May 2031", "06.05.2031", "2031/05/06", "May 6, 2031"]
    return times(
        12,
        lambda n: [
            ("browser_type", {"ref": "e10", "text": forms[n % 6]}, "Typed into the element"),
            ("browser_snapshot", {}, page),
        ],
    )


LOOPS: dict[str, Loop] = {
    "one button, one page": Loop(same_button, 3, 6),
    "many buttons, one page": Loop(other_buttons, 6),
    "a login that is refused, with fresh tokens in the page": Loop(login, 4, 10),
    "a wall with a fresh mark": Loop(guarded, 4, 8),
    "one search in other words": Loop(reworded, 5),
    "one mail found again in other words": Loop(one_mail, 7),
    "one event made again": Loop(same_event, 4, 8),
    "one letter sent again": Loop(same_letter, 3, 6),
    "one click, one picture": Loop(same_screen, 4, 8),
    "pages past the end of a list": Loop(past_the_end, 9),
    "references of an older page": Loop(stale_refs, 6),
    "a field that keeps nothing": Loop(typed_again, 5),
}
