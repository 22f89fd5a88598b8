"""The commands of `bookstore`."""

import argparse
import os
import sys
from pathlib import Path

from control.folders import install, missing_packages
from control.runs import begin, end, run
from control.shop import Shop
from driver.__main__ import arguments as drive_arguments
from faults import FAULTS

DRIVER = "driver"


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="bookstore", description="A small web shop that can be broken in known ways.")
    data = Path(os.environ.get("BOOKSTORE_DATA", "bookstore-data"))
    top.add_argument("--data", type=Path, default=data, help="data folder (%(default)s)")
    top.add_argument("--port", type=int, default=8400, help="the first of 14 ports (%(default)s)")
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("missing", help="list the Debian packages that must be installed first")
    commands.add_parser("install", help="install the pinned libraries; `up` does it as well")
    up = commands.add_parser("up", help="start everything")
    up.add_argument("--otlp", default="http://127.0.0.1:4318", help="where traces and metrics are sent (%(default)s)")
    telemetry = up.add_mutually_exclusive_group()
    telemetry.add_argument("--record", action="store_true", help="write them to recording/ as well, for `laggard diagnose`")
    telemetry.add_argument("--no-telemetry", action="store_true", help="send none: the shop is not instrumented")
    drive = commands.add_parser("drive", parents=[drive_arguments()], add_help=False, help="send load until it is stopped")
    drive.add_argument("--detach", action="store_true", help="do it in the background; `down` stops it")
    listing = commands.add_parser("faults", help="list the faults")
    listing.add_argument("--kind", choices=("all", "faults", "harmless"), default="all", help="which (%(default)s)")
    for name, text in (("break", "break it"), ("mend", "end a fault")):
        command = commands.add_parser(name, help=text)
        command.add_argument("fault", choices=FAULTS, metavar="FAULT")
    whole = commands.add_parser("run", help="normal operation, a fault, and again normal operation, with its truth")
    whole.add_argument("fault", choices=FAULTS, metavar="FAULT")
    for option, seconds in (("before", 600), ("during", 300), ("after", 0)):
        whole.add_argument(f"--{option}", type=float, default=seconds, help="seconds (%(default)s)")
    commands.add_parser("status", help="what runs, and what is broken")
    commands.add_parser("down", help="stop everything; the data stay")
    return top


def drive(shop: Shop, options: argparse.Namespace) -> None:
    """Replaces this process by the driver, or starts the driver in the background."""
    values = {name: getattr(options, name) for name in ("mix", "clients", "think", "paper", "rate", "seconds", "seed")}
    words = [word for name, value in values.items() if value is not None for word in (f"--{name}", str(value))]
    words += ["--data", str(shop.layout.data), "--port", str(shop.layout.front)]
    command = [sys.executable, "-m", DRIVER, *words]
    if options.detach:
        shop.processes.start(DRIVER, command, os.environ)
    else:
        os.execv(sys.executable, command)


def main() -> None:
    options = parser().parse_args()
    if options.command == "missing":
        return print(*missing_packages())
    if options.command == "install":
        return install()
    if options.command == "faults":
        wanted = {"all": (True, False), "faults": (False,), "harmless": (True,)}[options.kind]
        for fault in (fault for fault in FAULTS.values() if fault.truth.is_harmless in wanted):
            print(f"{fault.name:<24} {fault.summary}")
        return
    shop = Shop(options.data, options.port)
    match options.command:
        case "up":
            shop.up(None if options.no_telemetry else options.otlp, options.record)
            print(f"the shop is at http://127.0.0.1:{shop.layout.front}/home?item=1")
        case "down":
            shop.down()
        case "drive":
            drive(shop, options)
        case "break":
            print(begin(shop, FAULTS[options.fault]))
        case "mend":
            end(shop, FAULTS[options.fault])
        case "run":
            print(run(shop, FAULTS[options.fault], options.before, options.during, options.after))
        case "status":
            for name in sorted(shop.processes.names()):
                print(f"{name:<16} {shop.processes.pid(name) or 'ended'}")
            print(shop.layout.switches.read_text())


if __name__ == "__main__":
    main()
