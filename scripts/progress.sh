# Shows that a step of a set-up still runs. To be read by another script with `.`; it needs a function `say`.

ticker=

# Prints a line every 10 s with the step, the seconds since it began, and, where the step writes a log, its last line: apt, npm and go are
# silent for minutes or write only there.
#
#   start_progress WHAT [LOG]
start_progress() {
  stop_progress
  (
    # A lock that the caller holds must not outlive the caller.
    exec 6>&- 7>&- 8>&- 9>&-
    what=$1
    log=${2:-}
    seconds=0
    # A caller that is killed ends it too. A sleep that is left behind must not hold the output of the caller open.
    while sleep "${HERALD_PROGRESS_SECONDS:-10}" >/dev/null 2>&1 </dev/null && kill -0 $$ 2>/dev/null; do
      seconds=$((seconds + ${HERALD_PROGRESS_SECONDS:-10}))
      last=
      [ -z "$log" ] || last=$(tail -n 1 "$log" 2>/dev/null | tr -d '\r' | cut -c1-100)
      say "$what: $seconds s${last:+ ($last)}"
    done
  ) &
  ticker=$!
}

# SIGTERM would be lost in a shell that has just begun and still has its caller's trap: dash runs neither the trap nor the default action then,
# and the wait would have no end.
stop_progress() {
  [ -z "$ticker" ] || kill -KILL "$ticker" 2>/dev/null || true
  [ -z "$ticker" ] || wait "$ticker" 2>/dev/null || true
  ticker=
}
