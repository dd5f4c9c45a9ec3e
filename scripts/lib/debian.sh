# Sourced by the scripts: Debian's own tools first, the package list, and its installation.
# shellcheck shell=bash

# pyenv, conda and the like put their own python3, meson and ninja first on PATH; we use the system's.
export PATH="/usr/bin:/usr/sbin:/bin:/sbin:$PATH"

HFKV_SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '%s\n' "$*" >&2; }

# packages GROUP...: the names in those groups of scripts/debian-packages.
packages() {
	local group
	for group in "$@"; do
		awk -v group="$group" '$1 == group { print $2 }' "$HFKV_SOURCE/scripts/debian-packages"
	done
}

# missing_packages GROUP...: those of them that are not installed.
missing_packages() {
	local package
	for package in $(packages "$@"); do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
	done
}

# require_packages GROUP...: installs what is missing when root, else says in one line what to install.
require_packages() {
	local missing
	command -v dpkg-query >/dev/null || { say "this is not Debian: make sure that you have what scripts/debian-packages lists"; return 0; }
	missing=$(missing_packages "$@" | tr '\n' ' ')
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" != 0 ]; then
		say "these Debian packages are missing; install them as root: apt-get install $missing"
		return 1
	fi
	say "installing Debian packages: $missing"
	apt_quietly update || return 1
	# shellcheck disable=SC2086 # a list of names
	apt_quietly install -y --no-install-recommends $missing
}

# apt-get, silent unless it fails.
apt_quietly() {
	local log
	log=$(mktemp)
	if DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 "$@" </dev/null >"$log" 2>&1; then
		rm -f "$log"
		return 0
	fi
	say "apt-get $1 failed:"
	tail -n 15 "$log" >&2
	rm -f "$log"
	return 1
}
