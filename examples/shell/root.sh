#!/bin/sh
# Bisects for the square root of number in some steps, and reports each.
# Arguments are number=N steps=N.
for argument in "$@"; do
  case $argument in
    number=*) number=${argument#*=} ;;
    steps=*) steps=${argument#*=} ;;
    *) echo "unknown argument $argument" >&2; exit 2 ;;
  esac
done
echo "the square root of $number in $steps steps"
awk -v number="$number" -v steps="$steps" 'BEGIN {
  low = 0; high = number
  for (step = 1; step <= steps; step++) {
    middle = (low + high) / 2
    if (middle * middle < number) low = middle; else high = middle
    printf "{\"step\": %d, \"root\": %.9f, \"error\": %.9f}\n", step, middle, (middle * middle - number) ^ 2
  }
}' >> "$SWEEP_EVENTS"
