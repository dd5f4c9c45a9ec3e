# Sourced by the scripts: a Python that has LMCache 0.5, pytest, and this checkout's hfkv package.
# shellcheck shell=bash

# What LMCache 0.5.6 imports on a CPU; installed with --no-deps it asks for GPU packages in vain. Some 1.5 GB.
LMCACHE_PACKAGES="torch==2.13.0 numpy==2.2.6 numba PyYAML requests cachetools sortedcontainers prometheus-client py-cpuinfo
	psutil aiohttp aiofile aiofiles msgspec pyzmq transformers cryptography opentelemetry-sdk pytest"

# lmcache_python SITE: exports HFKV_LMCACHE_PYTHON, a Python with lmcache: the one it names already, else one of a virtual
# environment kept under $HFKV_VENVS (default ~/.cache/hfkv), made from PyPI when missing; and installs the hfkv package,
# built over the checkout's build/, in directory SITE, which is put on PYTHONPATH. False when there can be none;
# lmcache_python_reason says why. A download may take $HFKV_LMCACHE_SECONDS (300).
lmcache_python() {
	local site=$1 log venv=${HFKV_VENVS:-$HOME/.cache/hfkv}/lmcache limit=${HFKV_LMCACHE_SECONDS:-300}
	log=$(mktemp)
	if [ -z "${HFKV_LMCACHE_PYTHON:-}" ]; then
		if ! /usr/bin/python3 -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))'; then
			lmcache_python_reason="LMCache 0.5.6 has no build for this Python; name one in HFKV_LMCACHE_PYTHON"
			return 1
		fi
		if ! "$venv/bin/python" -c 'import lmcache, torch, pytest' 2>/dev/null; then
			say "fetching LMCache and torch from PyPI, up to $limit s"
			rm -rf "$venv"
			mkdir -p "$(dirname "$venv")"
			# shellcheck disable=SC2086 # a list of names
			{ /usr/bin/python3 -m venv "$venv" && timeout "$limit" "$venv/bin/pip" install -q --retries 1 --no-deps lmcache==0.5.6 &&
				timeout "$limit" "$venv/bin/pip" install -q --retries 1 $LMCACHE_PACKAGES; } </dev/null >"$log" 2>&1 || {
				lmcache_python_reason="LMCache cannot be had from PyPI within $limit s: $(grep -v '^ ' "$log" | tail -n 1 | cut -c 1-120)"
				rm -rf "$venv" "$log"
				return 1
			}
		fi
		export HFKV_LMCACHE_PYTHON=$venv/bin/python
	fi
	if ! "$HFKV_LMCACHE_PYTHON" -m pip install -q --no-deps --upgrade --target "$site" "$HFKV_SOURCE/bindings/python" \
		</dev/null >"$log" 2>&1; then
		tail -n 30 "$log" >&2
		# shellcheck disable=SC2034 # for the caller
		lmcache_python_reason="pip install ./bindings/python failed"
		rm -f "$log"
		return 2
	fi
	rm -f "$log"
	export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH}
}
