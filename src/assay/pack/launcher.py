"""`run`: the one command of a pack. It holds no path but what it finds itself in."""

from __future__ import annotations

LAUNCHER_TEXT = """\
#!/bin/sh
# Runs Assay out of this folder, under this host's own Python and torch.
# PYTHON names another python than python3; evidence goes to ASSAY_HOME, else to evidence/ here.
here=$(dirname -- "$(readlink -f -- "$0")")
python=${PYTHON:-python3}
if ! command -v "$python" >/dev/null; then
    echo "assay: no $python here (set PYTHON to the python that has torch)" >&2
    exit 69
fi
"$python" "$here/site/assay/pack/arrival.py" "$here" || exit 69
# -P: a folder called torch where the user stands is not torch.
paths=$("$python" -P "$here/site/assay/pack/unpack.py" "$here") || exit 69
PYTHONPATH=$paths${PYTHONPATH:+:$PYTHONPATH}
# Last: the host's own programs come first.
PATH=$PATH:$here/extra/site-packages/bin
ASSAY_HOME=${ASSAY_HOME:-$here/evidence}
export PYTHONPATH PATH ASSAY_HOME
[ "$#" -gt 0 ] || set -- doctor
exec "$python" -P -m assay "$@"
"""
