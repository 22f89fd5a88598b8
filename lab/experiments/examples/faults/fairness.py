"""How long a short question takes beside forty long ones of another client, on a running `laggard serve`.

    python3 lab/experiments/examples/faults/fairness.py target/release/laggard [ROUNDS]

Imports some millions of simulated spans, asks about one minute of them, each time another, alone and then again while another
client (127.0.0.2) always has forty questions about all of them, and compares the times. Also asks for pages of that minute.
"""

import datetime
import http.client
import json
import statistics
import sys
import tempfile
import threading
import time

from cancellations import Server, import_traces

HEAVY = 40
WINDOW = {"since": "2026-01-12T00:00:00Z", "until": "2026-01-13T00:00:00Z"}


def ask(server, address, method, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600, source_address=(address, 0))
    try:
        connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        return response.status
    finally:
        connection.close()


def attack(server, statuses, end):
    while not end.is_set():
        status = ask(server, "127.0.0.2", "POST", "/api/v1/diagnose?wait=true", WINDOW)
        statuses[status] = statuses.get(status, 0) + 1
        time.sleep(0 if status == 200 else 0.1)


def stored_times(server):
    """First and last start of a span, Unix seconds."""
    lines = server.request("GET", "/metrics")[1].decode().splitlines()
    values = [[float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"laggard_store_{end}_timestamp_seconds{{")] for end in ("oldest", "newest")]
    return values[0][0], values[1][0]


def minutes(server, number):
    """Minutes at equal distances."""
    first, last = stored_times(server)
    text = lambda at: datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    starts = [first + (last - 60 - first) * (index + 0.5) / number for index in range(number)]
    return [{"since": text(start), "until": text(start + 60)} for start in starts]


def times(server, minutes, method, path):
    found = []
    for minute in minutes:
        began = time.monotonic()
        query = "" if method == "POST" else f"?since={minute['since']}&until={minute['until']}"
        status = ask(server, "127.0.0.3", method, path + query, minute if method == "POST" else None)
        assert status == 200, (path, status)
        found.append(time.monotonic() - began)
        time.sleep(0.3)
    return found


def main():
    binary, rounds = sys.argv[1], int((sys.argv + ["20"])[2])
    questions = {
        "diagnose": ("POST", "/api/v1/diagnose?wait=true"),
        "services": ("GET", "/api/v1/services"),
        "overview": ("GET", "/api/v1/overview"),
        "search": ("GET", "/api/v1/search"),
    }
    with tempfile.TemporaryDirectory() as folder:
        server = Server(binary, f"{folder}/data")
        try:
            import_traces(server, binary, folder)
            asked = minutes(server, 2 * rounds)
            alone = {name: times(server, asked[::2], *question) for name, question in questions.items()}
            statuses, end = {}, threading.Event()
            threads = [threading.Thread(target=attack, args=(server, statuses, end)) for _ in range(HEAVY)]
            [thread.start() for thread in threads]
            time.sleep(5)
            beside = {name: times(server, asked[1::2], *question) for name, question in questions.items()}
            end.set()
            [thread.join() for thread in threads]
            print("| question about a minute | alone: median, longest, s | beside forty: median, longest, s | ratio of medians, of longest |\n|---|---|---|---|")
            for name in questions:
                figures = [statistics.median(alone[name]), max(alone[name]), statistics.median(beside[name]), max(beside[name])]
                a, b, c, d = figures
                print(f"| {name} | {a:.3f}, {b:.3f} | {c:.3f}, {d:.3f} | {c / a:.1f}, {d / b:.1f} |")
            print(f"answers to the forty, by status: {statuses}")
        finally:
            server.process.terminate()
            server.process.wait(60)


if __name__ == "__main__":
    main()
