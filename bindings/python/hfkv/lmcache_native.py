"""LMCache's `native_plugin`: one descriptor, batches in, completions out. LMCache keeps locks and usage itself.

LMCache calls submit_* under its lock: they never block. It logs the parameters, so a literal token is refused.
"""

import json

from . import _hfkv


class NativeClient:
    """The shape that LMCache's NativeConnectorL2Adapter expects. Keys are MP keys without 0x."""

    core_type = ""

    def __init__(self, **params):
        document = {**params, "type": self.core_type}
        try:
            self._core = _hfkv.Connector(json.dumps(document), literal_token_refused=True)
        except _hfkv.Error as error:
            raise ValueError(f"{type(self).__name__}: {error}") from None

    def event_fd(self):
        return self._core.event_fd()

    def submit_batch_set(self, keys, views):
        return self._core.submit(_hfkv.PUT, keys, views)

    def submit_batch_get(self, keys, views):
        return self._core.submit(_hfkv.GET, keys, views)

    def submit_batch_exists(self, keys):
        return self._core.submit(_hfkv.EXISTS, keys)

    def submit_batch_delete(self, keys):
        return self._core.submit(_hfkv.REMOVE, keys)

    def drain_completions(self):
        """[(id, whole batch ok, why not, one bool a key)]; clears the descriptor first."""
        return [
            (batch, outcome[0] == _hfkv.OK, outcome[5], _flags(operation, outcome[1]))
            for batch, operation, outcome in self._core.drain()
        ]

    def close(self):
        """Returns when no thread touches a caller's buffer any more."""
        self._core.close()


def _flags(operation, statuses):
    if operation == _hfkv.PUT:
        return None
    good = (_hfkv.OK, _hfkv.NOT_FOUND) if operation == _hfkv.REMOVE else (_hfkv.OK,)
    return [status in good for status in statuses]


class BucketNativeClient(NativeClient):
    """KV chunks in a bucket; adapter_params are those of the hfbucket L2 adapter."""

    core_type = "hfbucket"


class FsNativeClient(NativeClient):
    """KV chunks in a directory; adapter_params are those of the fs L2 adapter. The files carry the rank as 0x."""

    core_type = "fs"
