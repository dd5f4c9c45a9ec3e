"""A Hub behind TLS with a certificate of one's own: --ca-file, and what is said without it."""

import select
import shutil
import socket
import ssl
import subprocess
import threading

import pytest

from harness import seconds


class TlsFront:
    """Ends TLS on a free port and passes the bytes to `port`. One thread per connection."""

    def __init__(self, directory, port):
        self.certificate, key = directory / "cert.pem", directory / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key,
                        "-out", self.certificate], check=True, capture_output=True, timeout=seconds(30))
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key)
        self.inner = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"https://localhost:{self.listener.getsockname()[1]}"
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self.threads[-1].start()

    def _serve(self, connection):
        connection.settimeout(seconds(20))
        try:
            with self.context.wrap_socket(connection, server_side=True) as outer, \
                    socket.create_connection(("127.0.0.1", self.inner), timeout=seconds(20)) as inner:
                while True:
                    ready = [outer] if outer.pending() else select.select([outer, inner], [], [], seconds(20))[0]
                    if not ready:
                        return
                    for source in ready:
                        piece = source.recv(1 << 16)
                        if not piece:
                            return
                        (inner if source is outer else outer).sendall(piece)
        except OSError:
            pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(seconds(30))


@pytest.fixture
def front(server, work):
    if not shutil.which("openssl"):
        pytest.skip("no openssl program to make a certificate with")
    front = TlsFront(work, int(server.endpoint.rsplit(":", 1)[1]))
    yield front
    front.close()


def test_certificate_of_ones_own(front, server, hfkv, url):
    trusted = hfkv("ls", "--endpoint", front.endpoint, "--ca-file", front.certificate, url)
    assert trusted.code == 0, trusted.err
    refused = hfkv("ls", "--endpoint", front.endpoint, url)
    assert refused.code not in (0, 3) and "--ca-file" in refused.err, refused.err
    assert len(refused.err.strip().splitlines()) == 1
    wrong_name = hfkv("ls", "--endpoint", front.endpoint.replace("localhost", "127.0.0.1"), "--ca-file", front.certificate, url)
    assert wrong_name.code not in (0, 3), wrong_name.err
