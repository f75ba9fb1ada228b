"""Reads tables of training sessions by other means than the program: one JSON line for each file, with the rows that are right.

python3 table_oracle.py ZONE FILE...    a file ends in its delimiter: 0.comma, 1.semicolon, 2.tab
"""

import csv
import json
import re
import sys
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

zone, *paths = sys.argv[1:]


def number(text, delimiter, whole=False):
    if text == "":
        return 0
    sign, text = (-1, text[1:]) if text[0] == "-" else (1, text.removeprefix("+"))
    marks = [letter for letter in text if letter in ".,"]
    if len(marks) > 1 or not re.fullmatch(r"[0-9]+([.,][0-9]+)?", text):
        raise ValueError
    if marks:
        before, after = text.split(marks[0])
        if len(after) == 3 and not before.startswith("0") and not (marks[0] == "." and delimiter == ","):
            raise ValueError
    value = sign * float(text.replace(",", "."))
    if value < 0 or (whole and value != int(value)):
        raise ValueError
    return int(value) if value == int(value) else value


def instant(text):
    for form in ("%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H:%M"):
        try:
            read = datetime.strptime(text, form).replace(tzinfo=ZoneInfo(zone))
        except ValueError:
            continue
        if read.astimezone(timezone.utc).astimezone(ZoneInfo(zone)).replace(tzinfo=None) != read.replace(tzinfo=None):
            raise ValueError
        return read.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    raise ValueError


def grade(text, delimiter):
    value = number(text.removesuffix("%").removesuffix(" "), delimiter, whole=True)
    if value > 100:
        raise ValueError
    return value


def passed(text):
    return {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}[text.lower()]


def session(cells, delimiter):
    return {
        "at": instant(cells["Recorded"]),
        "passed": passed(cells["Passed"]),
        "name": cells["Program"],
        "grade": grade(cells["Grade"], delimiter),
        "reps": number(cells["Repetitions"], delimiter, whole=True),
        "distance": number(cells["Distance (m)"], delimiter),
    }


for path in paths:
    delimiter = {"comma": ",", "semicolon": ";", "tab": "\t"}[path.rsplit(".", 1)[1]]
    sessions = []
    with open(path, encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file, delimiter=delimiter, strict=True):
            try:
                sessions.append(session({key: value.strip() for key, value in row.items()}, delimiter))
            except (ValueError, KeyError):
                pass
    print(json.dumps(sessions))
