"""How long a short question takes beside forty long ones of another client, on a running `laggard serve`.

    python3 lab/experiments/examples/faults/fairness.py target/release/laggard [ROUNDS]

Imports some millions of simulated spans, asks about one minute of them, alone and then again while another client (127.0.0.2)
always has forty questions about all of them, and compares the times. Also asks for pages: the services, and a search.
"""

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
MINUTE = {"since": "2026-01-12T10:30:00Z", "until": "2026-01-12T10:31:00Z"}


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


def times(server, rounds, method, path, body):
    found = []
    for _ in range(rounds):
        began = time.monotonic()
        status = ask(server, "127.0.0.3", method, path, body)
        assert status == 200, (path, status)
        found.append(time.monotonic() - began)
        time.sleep(0.3)
    return found


def main():
    binary, rounds = sys.argv[1], int((sys.argv + ["20"])[2])
    span = f"since={WINDOW['since']}&until={WINDOW['until']}"
    questions = {
        "diagnose, one minute": ("POST", "/api/v1/diagnose?wait=true", MINUTE),
        "services": ("GET", f"/api/v1/services?{span}", None),
        "search": ("GET", f"/api/v1/search?since={MINUTE['since']}&until={MINUTE['until']}", None),
    }
    with tempfile.TemporaryDirectory() as folder:
        server = Server(binary, f"{folder}/data")
        try:
            import_traces(server, binary, folder)
            alone = {name: times(server, rounds, *question) for name, question in questions.items()}
            statuses, end = {}, threading.Event()
            threads = [threading.Thread(target=attack, args=(server, statuses, end)) for _ in range(HEAVY)]
            [thread.start() for thread in threads]
            time.sleep(5)
            beside = {name: times(server, rounds, *question) for name, question in questions.items()}
            end.set()
            [thread.join() for thread in threads]
            print("| question | alone: median, longest, s | beside forty: median, longest, s | ratio of medians, of longest |\n|---|---|---|---|")
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
