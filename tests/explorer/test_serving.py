"""The process behind the pages: where it listens, who may ask it, and when it ends."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import http.client
import importlib.util
import os
import re
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

import pytest
from explored import unused_port

import laplex as lx
from laplex.errors import InputError, LaplexError
from laplex.explorer import launching
from laplex.explorer.launching import explore, free_port
from laplex.explorer.serving import Guard, is_ours, page, policy


def ask(explorer, path="/", **headers):
    address = urlsplit(explorer.url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


def test_a_port_that_is_taken_gives_the_next():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert free_port(port) > port


def test_an_answer_that_is_its_own_request_is_none():
    """While nobody listens, the system may connect the port of the request to itself."""

    def echo():
        connection, _ = listener.accept()
        with connection:
            connection.sendall(connection.recv(1024))
        listener.close()

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        threading.Thread(target=echo, daemon=True).start()
        script = "import sys, time; time.sleep(2); sys.exit('no model')"
        process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        with pytest.raises(LaplexError, match="the explorer did not start: no model"):
            launching._wait_for_answer(launching.Explorer(process, url, None), quiet=True)


@pytest.mark.parametrize("port", [0, -1, 65_536, "8501", 1.5])
def test_a_port_that_is_none_is_refused(port):
    with pytest.raises(InputError, match="port="):
        free_port(port)


def test_a_missing_extra_is_named(saved, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'pip install "laplex\[explorer\]"'):
        explore(saved)


def test_a_model_that_is_none_is_refused_and_nothing_runs_on(tmp_path, monkeypatch):
    started = []
    original = subprocess.Popen
    monkeypatch.setattr(launching.subprocess, "Popen", lambda *a, **k: started.append(original(*a, **k)) or started[-1])
    with pytest.raises(lx.StorageError, match="does not exist"):
        explore(tmp_path / "none.laplex", browser=False)
    assert [process.poll() is None for process in started] == [False]


def test_more_than_two_models_are_refused(saved):
    with pytest.raises(InputError, match="one model or two side by side, not 3"):
        explore(saved, saved, saved, browser=False)


def test_what_is_no_model_is_refused():
    with pytest.raises(InputError, match="a fitted model or the folder of a saved one, not int"):
        explore(3, browser=False)


def test_it_listens_on_this_machine_only(explorer):
    port = urlsplit(explorer.url).port
    address = socket.gethostbyname(socket.gethostname())
    if address.startswith("127."):
        pytest.skip("this machine has no other address")
    with socket.socket() as probe:
        probe.settimeout(2)
        assert probe.connect_ex((address, port)) != 0


def test_another_name_or_page_is_refused(explorer):
    assert ask(explorer)[0] == 200
    assert ask(explorer, Host="evil.example")[0] == 403
    assert ask(explorer, Origin="http://evil.example")[0] == 403
    assert ask(explorer, Origin=explorer.url)[0] == 200


def test_a_socket_of_another_page_is_refused(explorer):
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    upgrade |= {"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Protocol": "streamlit"}
    assert ask(explorer, "/_stcore/stream", Origin="http://evil.example", **upgrade)[0] == 403
    address = urlsplit(explorer.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        lines = {"Host": address.netloc, "Origin": explorer.url, **upgrade}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        connection.sendall(f"GET /_stcore/stream HTTP/1.1\r\n{head}\r\n".encode())
        assert b" 101 " in connection.recv(100)


def test_what_it_sends_lets_the_browser_load_nothing_from_elsewhere(explorer):
    headers = {name.lower(): value for name, value in ask(explorer)[1].items()}
    assert headers["content-security-policy"] == policy()
    for part in policy().split("; "):
        assert "http" not in part
        assert "*" not in part.replace(":*", "")
    assert "'unsafe-inline'" not in policy().split("script-src")[1].split(";")[0]
    assert headers["x-frame-options"] == "DENY"


def test_every_page_has_an_address_and_the_script_that_its_policy_allows(explorer):
    status, headers, body = ask(explorer, "/word?word=tax")
    assert (status, body.decode()) == (200, page())
    script = re.search(r"<script>(.*?)</script>", page(), re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in {name.lower(): value for name, value in headers.items()}["content-security-policy"]
    status, headers, _ = ask(explorer, "/overview?model=2")
    assert (status, headers["location"]) == (307, "/?model=2")


@pytest.mark.parametrize(
    ("host", "origin"),
    [(None, None), ("", None), ("127.0.0.1.evil.example", None), ("localhost:1", "null"), ("[", None)]
    + [("localhost:8501", "https://localhost:8501"), ("127.0.0.1:8501", "http://127.0.0.1:9000")],
)
def test_strangers_are_told_apart(host, origin):
    assert not is_ours(host, origin)


def test_the_guard_lets_the_start_of_the_server_through():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    asyncio.run(Guard(app)({"type": "lifespan"}, None, None))
    assert seen == ["lifespan"]


@pytest.mark.slow
def test_unsaved_embeddings_can_be_explored_and_leave_nothing_behind(fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(launching.tempfile, "tempdir", str(tmp_path))
    opened = []
    monkeypatch.setattr(launching.webbrowser, "open", opened.append)
    running = explore(fitted, port=unused_port(), wait=False, quiet=True)
    assert opened == [running.url]
    assert ask(running, "/_stcore/health")[0] == 200
    assert list(tmp_path.iterdir())
    running.stop()
    assert not running.running
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_it_ends_with_the_process_that_started_it(saved):
    script = (
        "import sys, os; from laplex.explorer import explore\n"
        f"e = explore({str(saved)!r}, port={unused_port()}, browser=False, wait=False, quiet=True)\n"
        "print(e._process.pid, e.url, flush=True); os._exit(1)"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    url = urlsplit(output.stdout.split()[1])
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex((url.hostname, url.port)) != 0:
                return
        time.sleep(0.1)
    pytest.fail("the explorer goes on after its parent has ended")


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [False, True], ids=["--no-browser", "--browser"])
def test_the_command_takes_the_next_port_and_opens_the_browser_if_it_may(saved, tmp_path, wanted):
    """With a browser that writes down what it was to open."""
    seen, program = tmp_path / "seen", tmp_path / "browser"
    program.write_text(f'#!/bin/sh\necho "$1" > "{seen}"\n')
    program.chmod(0o755)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        command = [sys.executable, "-m", "laplex", "explore", str(saved), "--port", str(port)]
        command += [] if wanted else ["--no-browser"]
        environment = {**os.environ, "BROWSER": f"{program} %s", "COLUMNS": "200"}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as running:
            try:
                output = ""
                while "The explorer is at" not in output:
                    line = running.stderr.readline()
                    assert line, output
                    output += line
                url = re.search(r"http://127\.0\.0\.1:(\d+)", output)
                assert f"port {port} is taken: {url[1]} is used" in output
                with socket.create_connection(("127.0.0.1", int(url[1])), timeout=20):
                    pass
                for _ in range(50 if wanted else 10):
                    if seen.exists() and seen.read_text():
                        break
                    time.sleep(0.1)
                assert seen.exists() == wanted
                assert not wanted or seen.read_text().strip() == url[0]
            finally:
                running.terminate()  # the process that serves ends with it
                running.wait(30)
