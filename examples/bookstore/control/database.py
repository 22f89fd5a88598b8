"""The database cluster of a data folder, created once with the data of the shop."""

import os
import pwd
import shutil
import subprocess
import time
from pathlib import Path

from control.folders import postgres_programs
from control.processes import POSTGRES_USER
from shop.layout import HOST, Layout

READY_S = 60
SETTINGS = {
    "listen_addresses": f"'{HOST}'",
    "shared_buffers": "'64MB'",
    "max_connections": "80",
    "fsync": "off",
    "autovacuum": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "log_min_duration_statement": "'1s'",
}


def user() -> str | None:
    """PostgreSQL refuses to run as root, so root runs it as the user created by its package."""
    return POSTGRES_USER if os.geteuid() == 0 else None


def make(layout: Layout) -> None:
    """Creates the cluster unless it exists."""
    cluster = layout.data / "postgres"
    if (cluster / "PG_VERSION").is_file():
        return
    cluster.mkdir(parents=True, exist_ok=True)
    if user() is not None:
        owner = pwd.getpwnam(POSTGRES_USER)
        os.chown(cluster, owner.pw_uid, owner.pw_gid)
    made = subprocess.run(
        [programs() / "initdb", "--no-sync", "--auth=trust", "--username=bookstore", "--encoding=UTF8", "-D", cluster],
        capture_output=True, text=True, user=user(), group=user(), cwd="/",
    )
    if made.returncode != 0:
        shutil.rmtree(cluster)
        raise SystemExit(f"initdb failed; can the user {POSTGRES_USER} enter {cluster}? {made.stderr.strip()}")
    lines = [f"{name} = {value}" for name, value in SETTINGS.items()]
    lines += [f"port = {layout.postgres}", f"unix_socket_directories = '{cluster}'"]
    with open(cluster / "postgresql.conf", "a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def command(layout: Layout) -> list[object]:
    return [programs() / "postgres", "-D", layout.data / "postgres"]


def wait_until_ready(layout: Layout) -> None:
    """The port is open before the database accepts connections."""
    deadline = time.monotonic() + READY_S
    while subprocess.run(["pg_isready", "--quiet", f"--host={HOST}", f"--port={layout.postgres}"]).returncode != 0:
        if time.monotonic() > deadline:
            raise RuntimeError(f"postgres accepts no connections after {READY_S} s")
        time.sleep(0.1)


def fill(layout: Layout) -> None:
    """Creates the tables and their rows unless they exist."""
    wait_until_ready(layout)
    if "bookstore" in sql(layout, "SELECT datname FROM pg_database", "postgres").split():
        return
    sql(layout, "CREATE DATABASE bookstore", "postgres")
    sql(layout, Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"))


def sql(layout: Layout, text: str, database: str = "bookstore") -> str:
    """Output of psql for statements, which are one transaction unless there is only one."""
    address = f"host={HOST} port={layout.postgres} user=bookstore dbname={database}"
    done = subprocess.run(
        ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", address],
        input=text, capture_output=True, text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"psql: {done.stderr.strip()}")
    return done.stdout


def programs() -> Path:
    folder = postgres_programs()
    assert folder is not None, "missing packages are reported before"
    return folder
