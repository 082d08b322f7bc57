# gone.sh: promise: no rank waits for ranks that have died or left, and no memory is kept for them.
. "$(dirname "$0")/lib.sh"

held() { grep -qx held "$WORK/out"; }

ternrun -n 2 --on-failure return "$PROG/gone_job" memory
check "the memory of a dead rank is given back when the others free the region" all_of 'status_is 137' held
check_clean memory quiet

ternrun -n 2 -x TERN_CMA=off -x TERN_TIMEOUT=2.5 "$PROG/gone_job" left
check "a bounced put to a rank that has left ends with TERN_ERR_PEER" all_of 'status_is 0' held
check_clean left quiet

ternrun -n 2 -x TERN_CMA=off "$PROG/gone_job" detail
check "tern_quiet tells which operation failed" all_of 'status_is 0' held
check_clean detail quiet
finish
