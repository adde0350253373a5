# Compares what the suite did under Wine with its table, for deploy/test-windows.
#
# Reads the table (tests/contract/windows.txt), the names of Linux's tests, and lines with a test and `ok` or `FAILED`. The variable
# `filters` is the number of filters: with any, rows of other tests are none of the run's.

FNR == 1 { file++ }
file == 1 && /^#|^$/ { next }
file == 1 && /^[^ ]/ { reason = $0; next }
file == 1 { reasons[$1] = reason; order[++rows] = $1; next }
file == 2 { tests[++count] = $1; known[$1] = 1; next }
{
  outcome[$1] = $2
  if (!($1 in known)) fault($1 " is no test of Linux")
}

END {
  for (number = 1; number <= count; number++) {
    name = tests[number]
    row = row_of(name)
    if (row != "") used[row] = 1
    if (name in outcome) run++
    if (outcome[name] == "ok") {
      passed++
      if (row != "") fault(name " passes, and is left out by the row " row)
    } else if (row != "") {
      left[reasons[row]]++
      left_out++
    } else {
      fault(name (name in outcome ? " fails" : " was not run") ", and no row leaves it out")
    }
  }
  for (number = 1; number <= rows; number++)
    if (!filters && !(order[number] in used)) fault("the row " order[number] " leaves out no test")
  for (reason in left) printf "%5d left out: %s\n", left[reason], reason | "sort -rn"
  close("sort -rn")
  printf "%d tests, %d run, %d passed, %d left out: %.1f %% pass\n", count, run, passed, left_out, 100 * passed / count
  exit faults > 0
}

# The row of a test: its own, or that of a module that it is in.
function row_of(name,    prefix) {
  if (name in reasons) return name
  prefix = name
  while (sub(/::[^:]*$/, "", prefix))
    if ((prefix "::*") in reasons) return prefix "::*"
  return ""
}

function fault(text) {
  faults++
  print "fault: " text
}
