#!/bin/sh
# Entrypoint of a container that is one mesh: the foreground "cotal up" replaces this shell, so that it gets the container's
# SIGTERM and stops daemon and broker itself. Give the container at least 60 s to stop (docker stop --time 60), an init
# that reaps orphans (docker run --init), and a volume on $COTAL_ROOT.
#
#   COTAL_ROOT   workspace, default /data
#   COTAL_SPACE  space, default main
#   COTAL_HOST   address to listen on, default 0.0.0.0, which is why TLS is on unless COTAL_TLS=off
set -eu
root=${COTAL_ROOT:-/data}
space=${COTAL_SPACE:-main}
mkdir -p "$root"
export COTAL_HOME="${COTAL_HOME:-$root/.home}"
set -- --root "$root" --space "$space" --host "${COTAL_HOST:-0.0.0.0}" "$@"
[ "${COTAL_TLS:-on}" = off ] || set -- --tls "$@"
exec "$(dirname "$(readlink -f "$0")")/../bin/cotal" up "$@"
