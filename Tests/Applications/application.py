"""What an application is to Tests/Applications/run: two machines have one each, and write with it."""

import http.server
import os
import pathlib
import shutil
import sqlite3
import subprocess
import textwrap
import threading

PATIENCE = 120
# The interpreter that Debian's Python packages are for.
PYTHON = "/usr/bin/python3"
# Where what Debian has not is installed.
ENVIRONMENT = pathlib.Path(__file__).resolve().parents[2] / ".build-apps"
# Where applications are unpacked that are neither Debian's nor pip's, each in a folder of its name.
SOURCES = ENVIRONMENT / "sources"


class Failure(Exception):
    pass


class Machine:
    def __init__(self, root, name, binary):
        self.name, self.binary = name, binary
        self.home = root / name
        self.home.mkdir()
        self.shared = root / "shared"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", "TZ": "UTC",
            "XDG_DATA_HOME": str(self.home / "data"), "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_STATE_HOME": str(self.home / "state"), "XDG_CACHE_HOME": str(self.home / "cache"),
        }

    def run(self, *command, input=None):
        """What the application prints; it has to succeed."""
        ended = subprocess.run(
            [str(part) for part in command], cwd=self.home, env=self.environment, input=input, text=True,
            stdin=subprocess.DEVNULL if input is None else None, capture_output=True, timeout=PATIENCE)
        if ended.returncode != 0:
            said = (ended.stderr or ended.stdout).strip()[-300:]
            raise Failure(f"{command[0]} ended with {ended.returncode}: {said}")
        return ended.stdout

    def python(self, program, *arguments, interpreter=PYTHON):
        return self.run(interpreter, "-c", textwrap.dedent(program), *arguments)

    def logsync(self, *arguments):
        return self.run(self.binary, *arguments)


class Application:
    """One application. `tag` is what a write is known by."""

    packages, command, module = (), None, None
    # Folders of ``SOURCES`` that it needs.
    sources = ()
    # Whether its packages are pip's.
    is_of_pip = False
    # What the owner has to run where the application has written, as its recipe says.
    afterwards = ()
    # What `init` is told where it asks.
    decisions = ()

    def missing(self):
        if self.command and shutil.which(self.command) is None:
            return self.command
        if self.module and not self.has_module():
            return self.module
        return next((name for name in self.sources if not (SOURCES / name).is_dir()), None)

    @property
    def interpreter(self):
        return str(ENVIRONMENT / "bin/python") if self.is_of_pip else PYTHON

    def has_module(self):
        try:
            tried = [self.interpreter, "-c", f"import {self.module}"]
            return subprocess.run(tried, capture_output=True).returncode == 0
        except FileNotFoundError:
            return False

    @property
    def advice(self):
        installer = "pip" if self.is_of_pip else "apt-get"
        steps = [f"{installer} install {' '.join(self.packages)}"] if self.packages else []
        steps += [f"unpack {name} into {SOURCES}" for name in self.sources if not (SOURCES / name).is_dir()]
        return "; ".join(steps)

    def install(self):
        def run(*command):
            subprocess.run(
                command, capture_output=True, timeout=900, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        if not self.packages:
            return None
        if not self.is_of_pip:
            return run("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", *self.packages)
        if not os.path.exists(self.interpreter):
            run("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "python3-venv")
            run(PYTHON, "-m", "venv", str(ENVIRONMENT))
        if os.path.exists(self.interpreter):
            run(self.interpreter, "-m", "pip", "install", "--quiet", *self.packages)

    def prepare(self, machine):
        """What the application needs beside the database."""

    def begin(self, machine):
        """Makes the database, as the application does at its first start."""

    def migrate(self, machine):
        """Has the next version of the application, or its user, change the schema."""


def query(path, sql):
    connection = sqlite3.connect(path)
    # Anki's own, without which its indexes cannot be checked.
    connection.create_collation("unicase", lambda a, b: (a.casefold() > b.casefold()) - (a.casefold() < b.casefold()))
    try:
        return "\n".join(sorted("|".join(str(cell) for cell in row) for row in connection.execute(sql)))
    finally:
        connection.close()


class Feeds:
    """Feeds at addresses of this machine, which both fetch from."""

    def __init__(self):
        texts = self.texts = {}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                text = texts.get(self.path, "").encode()
                self.send_response(200 if text else 404)
                self.send_header("Content-Type", "application/rss+xml")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{server.server_address[1]}"

    def publish(self, name, count=3):
        """The address of a feed with so many articles."""
        address = f"{self.address}/{name}.xml"
        items = "".join(
            f"""<item><title>{number} of {name}</title><guid isPermaLink="false">{name}{number}</guid>
            <link>{self.address}/{name}{number}</link><description>x</description>
            <enclosure url="{self.address}/{name}{number}.mp3" length="3" type="audio/mpeg"/>
            <pubDate>Mon, 02 Nov 2026 0{number}:00:00 GMT</pubDate></item>""" for number in range(count))
        self.texts[f"/{name}.xml"] = f"""<?xml version="1.0"?><rss version="2.0"><channel><title>of {name}</title>
            <link>{self.address}/{name}</link><description>x</description>{items}</channel></rss>"""
        return address
