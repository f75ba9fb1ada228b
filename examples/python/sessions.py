#!/usr/bin/env python3
"""Prints every training session of the caller, page by page: none twice and none missed, even while others are added.

    LOCKSTEP_URL=http://127.0.0.1:5625 LOCKSTEP_TOKEN=lks_… python3 sessions.py

Needs only the standard library.
"""

import json
import os
import signal
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ.get("LOCKSTEP_URL", "http://127.0.0.1:5625").rstrip("/")
HEADERS = {"Authorization": "Bearer " + os.environ["LOCKSTEP_TOKEN"]}

# A reader that closes the pipe, as `head` does, ends the program without an error.
if hasattr(signal, "SIGPIPE"):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def read(path, **parameters):
    address = URL + path + "?" + urllib.parse.urlencode(parameters, quote_via=urllib.parse.quote)
    for attempt in range(5):
        try:
            with urllib.request.urlopen(urllib.request.Request(address, headers=HEADERS), timeout=30) as response:
                return json.load(response)["data"]
        except urllib.error.HTTPError as error:
            # The service is busy, or the limit of the key is reached.
            if error.code not in (429, 503) or attempt == 4:
                raise
            time.sleep(int(error.headers.get("Retry-After", 1)))


def read_all(path, **filters):
    cursor = ""
    while cursor is not None:
        page = read(path, limit=100, cursor=cursor, **filters)
        yield from page["data"]
        cursor = page["pagination"]["nextCursor"]


try:
    for session in read_all("/api/v1/dtt/sessions", ownerId="me"):
        # The distance is absent where it is not known.
        print(session["created_at"], session["passed"], session["repsMeasured"], session.get("distanceTravelled"), sep="\t")
except urllib.error.HTTPError as error:
    body = json.load(error)
    sys.exit(body["code"] + ": " + body["error"])
