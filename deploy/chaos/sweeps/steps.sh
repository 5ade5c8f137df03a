rate=${1#*=}
for step in 1 2 3 4 5 6 7 8; do
  loss=$(awk "BEGIN { r = $rate; printf \"%.9g\", (r - 0.3)^2 + 1/$step }")
  echo "{\"step\": $step, \"loss\": $loss}" >> "$SWEEP_EVENTS"
  sleep 0.1
done
