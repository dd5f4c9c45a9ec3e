"""LMCache configurations for `hfkv kv`, written as files. JSON text is YAML too, so none of them needs a YAML writer."""

import json


def yaml_file(directory, plugins, extra, name="lmcache.yaml", **top_level):
    """An in-process configuration: `plugins` are instance names, `extra` is extra_config."""
    path = directory / name
    path.write_text(json.dumps({"remote_storage_plugins": plugins, "extra_config": extra, **top_level}))
    return path


def fs_yaml(directory, base_path, instance="fs", name="fs.yaml", **extra):
    """The fs connector on `base_path` (text, or a path), without a metadata header unless `extra` says otherwise."""
    return yaml_file(directory, [instance], {f"remote_storage_plugin.{instance}.base_path": str(base_path),
                                             "save_chunk_meta": False, **extra}, name)


def bucket_yaml(directory, handle, instance="hfbucket", name="bucket.yaml", **settings):
    """The hfbucket connector on `handle`; `settings` are keys of the instance."""
    own = {"bucket_handle": handle, "download_tmp_dir": str(directory / "staging"), **settings}
    return yaml_file(directory, [instance],
                     {f"remote_storage_plugin.{instance}.{key}": value for key, value in own.items()}, name)


def l2_json(directory, name="l2.json", **settings):
    """An L2 adapter's JSON."""
    path = directory / name
    path.write_text(json.dumps(settings))
    return path


def bucket_l2(directory, handle, name="bucket-l2.json", **settings):
    return l2_json(directory, name, type="hfbucket", bucket_handle=handle, download_tmp_dir=str(directory / "staging"),
                   **settings)
