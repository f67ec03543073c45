#!/bin/sh
# Makes the environment:  scripts/make_venv.sh .venv
# with the first Python of 3.11 or newer that can; PYTHON=/path/to/python says which one.
set -u
folder=$1
if [ -n "${PYTHON:-}" ]; then set -- "$PYTHON"; else set -- python3.13 python3.12 python3.11 python3 python; fi

seen='' without_venv=''
for python in "$@"; do
    # run it rather than look for it: a version manager has commands for versions that it has not installed
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
    seen="$seen $python is $version;"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || continue
    if "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        echo "Making an environment in $folder with $python ($version)."
        exec "$python" -m venv --clear "$folder"
    fi
    without_venv=${without_venv:-$version}
done

if [ -n "$without_venv" ]; then
    echo "Python $without_venv is here but cannot make an environment: its venv part is missing. On Debian and Ubuntu:"
    echo "    sudo apt-get install python$without_venv-venv"
else
    echo "Python 3.11 or newer is needed. Tried: $*. Found:${seen:- none}"
    echo "Install one (python.org or your system's packages), or say where it is: make lab PYTHON=/path/to/python3"
fi >&2
exit 1
