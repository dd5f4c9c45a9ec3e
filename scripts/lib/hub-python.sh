# Sourced by the scripts: a Python that has the public clients, huggingface_hub and hf_xet.
# shellcheck shell=bash

# hub_python: exports HFKV_HF_PYTHON, a Python with huggingface_hub and hf_xet: the one it names already, else one of a
# virtual environment kept under $HFKV_VENVS (default ~/.cache/hfkv), made from PyPI when missing. False when there can
# be none; hub_python_reason says why.
hub_python() {
	local venv log
	[ -z "${HFKV_HF_PYTHON:-}" ] || return 0
	venv=${HFKV_VENVS:-$HOME/.cache/hfkv}/hub-$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	if ! "$venv/bin/python" -c 'import huggingface_hub, hf_xet' 2>/dev/null; then
		if ! /usr/bin/python3 -c 'import ensurepip, venv' 2>/dev/null; then
			hub_python_reason="Debian's python3-venv is missing"
			[ "$(id -u)" = 0 ] || return 1
			apt_quietly install -y --no-install-recommends python3-venv || return 1
		fi
		say "fetching huggingface_hub and hf_xet from PyPI"
		log=$(mktemp)
		rm -rf "$venv"
		mkdir -p "$(dirname "$venv")"
		{ /usr/bin/python3 -m venv "$venv" && "$venv/bin/pip" install -q --retries 1 --timeout 60 'huggingface_hub>=2.0,<3' 'hf_xet>=1.8,<2'; } \
			</dev/null >"$log" 2>&1 || {
			# shellcheck disable=SC2034 # for the caller
			hub_python_reason="PyPI is not reachable: $(grep -v '^ ' "$log" | tail -n 1 | cut -c 1-120)"
			rm -rf "$venv" "$log"
			return 1
		}
		rm -f "$log"
	fi
	export HFKV_HF_PYTHON=$venv/bin/python
}
