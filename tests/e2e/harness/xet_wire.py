"""The CAS of a server, spoken by hand: recorded xorbs and shards go in, reconstructions and byte ranges come out.

Nothing here hashes or chunks: bodies are those that hf_xet uploaded (tests/vectors/captured), and changed copies of them.
"""

import dataclasses
import json
import struct

from .program import CHECKOUT

VECTORS = CHECKOUT / "tests" / "vectors"
ZERO_HASH = "0" * 64
RECORD = 48


def generate(pieces):
    """The bytes that a `gen` list of the vectors stands for (tests/vectors/README.md)."""
    return b"".join(_PIECES[piece["op"]](piece) for piece in pieces)


def _splitmix(piece):
    out, state, mask = bytearray(), piece["seed"], (1 << 64) - 1
    while len(out) < piece["len"]:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
        out += struct.pack("<Q", z ^ z >> 31)
    return bytes(out[:piece["len"]])


def _lines(piece):
    out, number = bytearray(), piece["start"]
    while len(out) < piece["len"]:
        out += b"%08d the quick brown fox jumps over the lazy dog\n" % number
        number += 1
    return bytes(out[:piece["len"]])


def _ramp(piece):
    return b"".join(struct.pack("<f", (piece["start"] + i) / 1024) for i in range(piece["len"] // 4 + 1))[:piece["len"]]


def _repeat(piece):
    pattern = bytes.fromhex(piece["hex"])
    return (pattern * (piece["len"] // len(pattern) + 1))[:piece["len"]]


_PIECES = {"splitmix64": _splitmix, "lines": _lines, "f32ramp": _ramp, "repeat": _repeat}


@dataclasses.dataclass(frozen=True)
class Upload:
    """One recorded upload: a xorb, its shard, and the files they hold as (hash, body)."""

    xorb_hash: str
    xorb: bytes
    shard: bytes
    files: tuple

    @property
    def xorb_records(self):
        """[(start, end)] of the chunk records in the xorb."""
        ranges, at = [], 0
        while at < len(self.xorb):
            end = at + 8 + int.from_bytes(self.xorb[at + 1:at + 4], "little")
            ranges.append((at, end))
            at = end
        return ranges


def recorded_upload(name):
    record = next(each for each in json.loads((VECTORS / "captured.json").read_text())["uploads"] if each["name"] == name)
    return Upload(record["xorbs"][0]["hash"], (VECTORS / record["xorbs"][0]["file"]).read_bytes(),
                  (VECTORS / record["shard"]["file"]).read_bytes(),
                  tuple((each["hash"], generate(each["gen"])) for each in record["files"]))


def raw_hash(text):
    """The bytes of a hash in its text form: every group of eight reversed."""
    raw = bytes.fromhex(text)
    return b"".join(raw[i:i + 8][::-1] for i in range(0, 32, 8))


# ---- BLAKE3 of at most one of its chunks: enough for the range hashes of small terms ----

RANGE_KEY = bytes.fromhex("7f1857d6ce56ed66127ff913e7a5c3f3a4cd26d5b5db49e64124987f28fb94c3")
_IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A)
_ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
_COLUMNS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15), (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
_START, _END, _ROOT, _KEYED = 1, 2, 8, 16


def _rotate(word, bits):
    return (word >> bits | word << 32 - bits) & 0xFFFFFFFF


def _mix(state, a, b, c, d, x, y):
    for word, first, second in ((x, 16, 12), (y, 8, 7)):
        state[a] = (state[a] + state[b] + word) & 0xFFFFFFFF
        state[d] = _rotate(state[d] ^ state[a], first)
        state[c] = (state[c] + state[d]) & 0xFFFFFFFF
        state[b] = _rotate(state[b] ^ state[c], second)


def _compress(chain, block, flags):
    words = struct.unpack("<16I", block.ljust(64, b"\0"))
    state = [*chain, *_IV, 0, 0, len(block), flags]
    for _ in range(7):
        for number, columns in enumerate(_COLUMNS):
            _mix(state, *columns, words[2 * number], words[2 * number + 1])
        words = [words[at] for at in _ORDER]
    return [state[i] ^ state[i + 8] for i in range(8)]


def range_hash(chunk_hashes):
    """The verification hash of a term over at most 32 chunks; hashes as raw bytes."""
    message = b"".join(chunk_hashes)
    assert len(message) <= 1024
    chain = struct.unpack("<8I", RANGE_KEY)
    for at in range(0, len(message), 64):
        last = at + 64 >= len(message)
        chain = _compress(chain, message[at:at + 64], _KEYED | (_START if at == 0 else 0) | (_END | _ROOT if last else 0))
    return struct.pack("<8I", *chain)


def make_shard(file_hash, terms):
    """A shard of one file; terms are (xorb, first chunk, end chunk, raw bytes, raw hashes of the chunks)."""
    tag = (VECTORS / "shard" / "upload_empty.bin").read_bytes()[:RECORD]
    bookend = b"\xff" * 32 + bytes(16)
    entries = b"".join(raw_hash(xorb) + struct.pack("<4I", 0, size, first, end) for xorb, first, end, size, _ in terms)
    checks = b"".join(range_hash(hashes) + bytes(16) for *_, hashes in terms)
    return tag + raw_hash(file_hash) + struct.pack("<IIQ", 1 << 31, len(terms), 0) + entries + checks + bookend + bookend


class Cas:
    """Calls to the CAS of `server` with a token of one bucket; each returns (status, headers, body)."""

    def __init__(self, server, bucket, right="write"):
        self.server = server
        self.token = server.api("GET", f"/api/buckets/{bucket}/xet-{right}-token")["accessToken"]

    def call(self, method, path, body=None, **headers):
        return self.server.http(method, path, body, {"Authorization": f"Bearer {self.token}", **headers})

    def put_xorb(self, name, body):
        return self.call("POST", f"/v1/xorbs/default/{name}", body)

    def put_shard(self, body, version=2):
        return self.call("POST", f"/v{version}/shards", body)

    def reconstruction(self, file_hash, first=None, last=None, version=2):
        headers = {} if first is None else {"Range": f"bytes={first}-{'' if last is None else last}"}
        return self.call("GET", f"/v{version}/reconstructions/{file_hash}", **headers)

    def store(self, upload):
        """The whole upload; every call must succeed."""
        assert self.put_xorb(upload.xorb_hash, upload.xorb)[0] == 200
        status, _, body = self.put_shard(upload.shard)
        assert status == 200 and json.loads(body.splitlines()[-1])["type"] == "result", body

    def fetch(self, url, *ranges):
        """GETs a data URL with a Range of inclusive (first, last) pairs; none: without the header."""
        path = url[len(self.server.endpoint):]
        headers = {"Range": "bytes=" + ",".join(f"{first}-{last}" for first, last in ranges)} if ranges else {}
        return self.server.http("GET", path, None, headers)


def batch_lines(*operations):
    return b"".join(json.dumps(operation).encode() + b"\n" for operation in operations)


def add_file(path, file_hash=ZERO_HASH, mtime=1_700_000_000_000, **fields):
    return {"type": "addFile", "path": path, "xetHash": file_hash, "mtime": mtime, **fields}


def delete_file(path):
    return {"type": "deleteFile", "path": path}
