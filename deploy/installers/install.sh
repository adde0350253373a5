#!/bin/sh
# Installs isthmus @VERSION@ for this user, and its plugin for the Pulumi CLI:
#
#   curl --fail --silent --show-error --location @URL@/install.sh | sh
#   curl … | sh -s -- [--directory DIRECTORY] [--no-plugin]
#
#   --directory DIRECTORY   where `isthmus` goes (default: ~/.local/bin)
#   --no-plugin             installs the command line alone, without `isthmus install --plugin`
#
# It changes nothing before the signature of the checksums and the checksum of the archive are right, and replaces no file but an
# isthmus.
set -eu
# Otherwise `cd` may go elsewhere, and prints where it went.
unset CDPATH

url='@URL@'
version='@VERSION@'
key='@KEY@'
targets='@TARGETS@'

fail() {
  echo "install.sh: $1" >&2
  shift
  for help in "$@"; do echo "help: $help" >&2; done
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

download() {
  if has curl; then
    curl --fail --silent --show-error --location --output "$scratch/$1" "$url/$1"
  else
    wget -q -O "$scratch/$1" "$url/$1"
  fi || fail "failed to download $url/$1" "if there is no space left: make room in $scratch, or set TMPDIR to another directory"
}

checksum() {
  if has sha256sum; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# The target whose archive runs on this machine.
target() {
  processor=$(uname -m)
  case $(uname -s) in
    Linux) system=linux ;;
    Darwin)
      system=darwin
      # A shell for Intel on a Mac with another processor.
      [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" != 1 ] || processor=arm64
      ;;
    *) fail "there is no archive for $(uname -s)" "on Windows: install.ps1, in PowerShell" ;;
  esac
  case $processor in
    x86_64 | amd64) processor=amd64 ;;
    aarch64 | arm64) processor=arm64 ;;
  esac
  case " $targets " in
    *" $system-$processor "*) echo "$system-$processor" ;;
    *) fail "there is no archive for $system-$processor" ;;
  esac
}

# Fails unless a file may be replaced: there is none, or it is an isthmus.
require_own() {
  if [ -L "$1" ] || [ -e "$1" ]; then
    { [ -f "$1" ] && [ ! -L "$1" ] && LC_ALL=C grep -q 'isthmus created this directory for' "$1"; } ||
      fail "$1 is not isthmus, so nothing was changed" "name another directory: --directory DIRECTORY"
  fi
}

# Removes what killed runs have left: a directory of this user, a day old, with nothing in it but a program that got no name.
sweep() {
  {
    find "$1" -maxdepth 1 -type d -user "$(id -u)" -name '.isthmus-install-??????' -mtime +0 \
      -exec sh -c 'rm -f -- "$1/isthmus"; rmdir -- "$1"' sh {} \;
  } 2>/dev/null || true
}

# A function, so that a script that arrives in part does nothing.
main() {
  directory=
  plugin=yes
  while [ "$#" -gt 0 ]; do
    case $1 in
      --directory)
        [ -n "${2:-}" ] || fail "--directory needs a value"
        directory=$2
        shift
        ;;
      --no-plugin) plugin= ;;
      *) fail "unknown argument $1" "--directory DIRECTORY, --no-plugin" ;;
    esac
    shift
  done
  if [ -z "$directory" ]; then
    [ -n "${HOME:-}" ] || fail "HOME is not set" "name a directory: --directory DIRECTORY"
    directory=$HOME/.local/bin
  fi
  has curl || has wget || fail "neither curl nor wget is on PATH"
  has sha256sum || has shasum || fail "neither sha256sum nor shasum is on PATH"
  has ssh-keygen || fail "ssh-keygen is not on PATH, so the release cannot be verified" "install OpenSSH's client, 8.1 or newer"
  target=$(target)
  archive=isthmus-$version-$target.tar.gz

  require_own "$directory/isthmus"
  scratch=$(mktemp -d)
  beside=
  trap 'rm -rf "$scratch" ${beside:+"$beside"}' EXIT
  trap 'exit 1' HUP INT TERM

  download SHA256SUMS
  download SHA256SUMS.sig
  echo "releases@isthmus $key" >"$scratch/allowed_signers"
  ssh-keygen -Y verify -f "$scratch/allowed_signers" -I releases@isthmus -n isthmus-release -s "$scratch/SHA256SUMS.sig" \
    <"$scratch/SHA256SUMS" >"$scratch/log" 2>&1 || {
    ! grep -q ' option -- Y' "$scratch/log" ||
      fail "ssh-keygen is too old to verify the release" "install OpenSSH's client, 8.1 or newer"
    fail "the signature of $url/SHA256SUMS is not valid: $(cat "$scratch/log")"
  }
  expected=$(awk -v file="$archive" '$2 == file { print $1 }' "$scratch/SHA256SUMS")
  [ -n "$expected" ] || fail "$url/SHA256SUMS has no checksum of $archive"
  download "$archive"
  found=$(checksum "$scratch/$archive")
  [ "$found" = "$expected" ] || fail "$url/$archive has the checksum $found, not $expected"

  elsewhere="or name another directory: --directory DIRECTORY"
  mkdir -p -- "$directory" || fail "failed to create $directory" "allow it, $elsewhere"
  directory=$(cd -- "$directory" && pwd)
  sweep "$directory"
  # Beside the place of the program, to which it is renamed when it is whole.
  beside=$(mktemp -d "$directory/.isthmus-install-XXXXXX") || fail "failed to write to $directory" "allow it, $elsewhere"
  tar -xzf "$scratch/$archive" -C "$beside" isthmus || fail "failed to unpack $archive in $directory" "make room there, $elsewhere"
  chmod 755 "$beside/isthmus"
  found=$("$beside/isthmus" --version) ||
    fail "the program in $archive does not start in $directory" "see that its file system is not mounted with noexec, $elsewhere"
  [ "$found" = "isthmus $version" ] || fail "the program in $archive is $found"
  require_own "$directory/isthmus"
  mv -f "$beside/isthmus" "$directory/isthmus"
  echo "installed $directory/isthmus"

  [ -z "$plugin" ] || "$directory/isthmus" install --plugin </dev/null ||
    fail "isthmus is installed, and its plugin is not (see above)" \
      "when you have done what the error above says: $directory/isthmus install --plugin"
  case :$PATH: in
    *:"$directory":*) ;;
    *) echo "note: $directory is not in PATH" ;;
  esac
}

# In braces, so that no beginning of this line is a command.
{ main "$@"; }
