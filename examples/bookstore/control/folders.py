"""Folders of the sources, installed dependencies, and missing packages."""

import fcntl
import glob
import os
import shutil
import subprocess
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent
PACKAGES = {
    "nginx": "nginx-light",
    "redis-server": "redis-server",
    "redis-cli": "redis-tools",
    "psql": "postgresql-client",
    "node": "nodejs",
    "npm": "npm",
}


def installed() -> Path:
    """The folder with the virtual environment and the modules of Node; it may be deleted."""
    return Path(os.environ.get("BOOKSTORE_INSTALLED", SOURCES / "installed")).resolve()


def python() -> Path:
    return installed() / "venv/bin/python"


def postgres_programs() -> Path | None:
    """Debian's folder of `initdb` and `postgres`, which are not on the path."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    known = folders[-1] if folders else shutil.which("postgres")
    return Path(known).parent if known else None


def program(name: str) -> str | None:
    """Path of nginx, which may be in a folder outside of PATH."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def missing_packages() -> list[str]:
    """The Debian packages that must be installed first."""
    packages = [package for name, package in PACKAGES.items() if program(name) is None]
    if postgres_programs() is None:
        packages.append("postgresql")
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        packages.append("python3-venv")
    return packages


def install() -> None:
    """The pinned libraries, from PyPI and npm, once for every state of the lists, even if several shops start at once."""
    if packages := missing_packages():
        raise SystemExit(f"these packages are missing: apt-get install {' '.join(packages)}")
    folder = installed()
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        install_into(folder)


def install_into(folder: Path) -> None:
    venv, requirements = folder / "venv", SOURCES / "requirements.txt"
    pip = [python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", requirements]
    if once(venv, requirements):
        run(["python3", "-m", "venv", "--clear", venv])
        run(pip)
        mark(venv, requirements)
    node = folder / "recommendations"
    shutil.copytree(SOURCES / "recommendations", node, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
    versions = node / "package-lock.json"
    if once(node / "node_modules", versions):
        run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], cwd=node)
        mark(node / "node_modules", versions)


def once(folder: Path, source: Path) -> bool:
    known = folder / ".installed-from"
    return not known.is_file() or known.read_bytes() != source.read_bytes()


def mark(folder: Path, source: Path) -> None:
    (folder / ".installed-from").write_bytes(source.read_bytes())


def run(command: list[object], cwd: Path | None = None) -> None:
    subprocess.run([str(part) for part in command], check=True, cwd=cwd, stdin=subprocess.DEVNULL)
