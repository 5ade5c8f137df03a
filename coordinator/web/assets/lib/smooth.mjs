// Smoothing of curves.

/**
 * smooth returns the exponential moving average of values, unbiased at the start as in Adam
 * (Kingma and Ba 2015, section 3). Gaps stay, and do not count.
 * @param {(number | null)[]} values
 * @param {number} weight of the previous average, 0 for none
 */
export function smooth(values, weight) {
  if (weight === 0) return values;
  let average = 0;
  let share = 0; // of the average that is values
  return values.map((value) => {
    if (value === null) return null;
    average = weight * average + (1 - weight) * value;
    share = weight * share + (1 - weight);
    return average / share;
  });
}
