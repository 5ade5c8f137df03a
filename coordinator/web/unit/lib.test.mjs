// Unit tests of the modules of assets/lib that need no browser: node --test unit
import assert from "node:assert/strict";
import test from "node:test";

import { axisOf } from "../assets/lib/axis.mjs";
import { bestOf, lostOf } from "../assets/lib/cells.mjs";
import {
  conditionsOf,
  filterOf,
  rangeOf,
  subjectOf,
  whereOf,
  without,
} from "../assets/lib/filter.mjs";
import { bytes, count, counted, duration, exact, number } from "../assets/lib/format.mjs";
import { logTicks, marksOf, scaleOf, spacingOf, ticks, wantsLog } from "../assets/lib/scale.mjs";
import { smooth } from "../assets/lib/smooth.mjs";

/**
 * cases checks a function by pairs of arguments and answers.
 * @param {string} name
 * @param {(...values: any[]) => unknown} tested
 * @param {[any[], unknown][]} pairs
 */
function cases(name, tested, pairs) {
  test(name, () => {
    for (const [values, want] of pairs)
      assert.deepEqual(tested(...values), want, `${name}(${JSON.stringify(values)})`);
  });
}

cases("count", count, [
  [[1234567], "1,234,567"],
  [[0], "0"],
  [[null], ""],
]);
cases("counted", counted, [
  [[1, "trial"], "1 trial"],
  [[1200, "trial"], "1,200 trials"],
]);
cases("number", number, [
  [[null], ""],
  [["text"], "text"],
  [[true], "true"],
  [[123456], "123456"],
  [[0.123456], "0.1235"],
  [[0.00001], "1e-5"],
  [[12345678], "1.235e7"],
  [[-0.00012345, 2], "-0.00012"],
]);
cases("exact", exact, [
  [[undefined], "none"],
  [["1"], "1"],
  [[0.1 + 0.2], "0.30000000000000004"],
]);
cases("duration", duration, [
  [[null], ""],
  [[NaN], ""],
  [[1.5], "1.5 s"],
  [[61], "1 min 1 s"],
  [[7260], "2 h 1 min"],
]);
cases("bytes", bytes, [
  [[1023], "1023 B"],
  [[1536], "1.5 KiB"],
  [[5 * 2 ** 50], "5120 TiB"],
]);

cases("subjectOf", subjectOf, [
  [["lr"], "lr"],
  [["metric.a>b"], 'metric."a>b"'],
  [['"a>b"'], '"a>b"'],
]);
cases("whereOf", whereOf, [
  [["lr", 0.1], "lr=0.1"],
  [["lr", "0.1"], 'lr="0.1"'],
  [["lr", null], "lr=null"],
  [["lr", undefined], "lr="],
  [["model", "rnn"], "model=rnn"],
  [["a=b", "x y"], '"a=b"=x y'],
]);
cases("conditionsOf", conditionsOf, [
  [["lr<1 and model=rnn"], ["lr<1", "model=rnn"]],
  [["salt and pepper=1"], ["salt and pepper=1"]],
]);
cases("rangeOf", rangeOf, [
  [
    [["lr>0.1", "lr <= 3", "other<1"], "lr"],
    [0.1, 3],
  ],
  [
    [["lr=2"], "lr"],
    [2, 2],
  ],
  [
    [["lr<x", "lrs<1"], "lr"],
    [-Infinity, Infinity],
  ],
]);
cases("without", without, [[[["lr<1", "lrs=2", " lr=3"], "lr"], ["lrs=2"]]]);
cases("filterOf", (text) => filterOf(new URLSearchParams(text)), [
  [["state=failed&where=lr%3C1&where=a%3D1"], { state: ["failed"], where: ["lr<1", "a=1"] }],
]);

cases("ticks", ticks, [
  [
    [0, 1],
    [0, 0.2, 0.4, 0.6, 0.8, 1],
  ],
  [
    [-0.3, 0.3, 3],
    [-0.2, 0, 0.2],
  ],
  [[5, 5], [5]],
]);
cases("logTicks", logTicks, [
  [
    [1, 1000],
    [1, 10, 100, 1000],
  ],
  [
    [1, 5],
    [1, 2, 5],
  ],
  [
    [3, 4],
    [3, 4],
  ],
]);
cases("marksOf", marksOf, [
  [
    [0.05, 0.95, false],
    [0.2, 0.4, 0.6, 0.8],
  ],
]);
cases("spacingOf", spacingOf, [
  [[[1, 10, 100]], "log"],
  [[[1, 2, 3]], "linear"],
  [[[0, 1, 10]], "linear"],
  [[[1, 100]], "log"],
]);
cases("wantsLog", wantsLog, [
  [[1, 50], true],
  [[0, 50], false],
]);
test("scaleOf", () => {
  assert.equal(scaleOf(2, 4, false)(3), 0.5);
  assert.equal(scaleOf(1, 100, true)(10), 0.5);
  assert.equal(scaleOf(3, 3, false)(3), 0.5);
  assert.equal(scaleOf(3, 3, true)(3), 0.5);
});

cases("smooth", smooth, [
  [
    [[1, 2], 0],
    [1, 2],
  ],
  [
    [[4, null, 4], 0.5],
    [4, null, 4],
  ],
]);
test("smooth weighs later values more", () => {
  const [first, second] = smooth([0, 3], 0.5);
  assert.equal(first, 0);
  assert.ok(Math.abs((second ?? 0) - 2) < 1e-12);
});

test("axisOf", () => {
  const { xs, over } = axisOf([[1, 3], null, [2, 3]]);
  assert.deepEqual(xs, [1, 2, 3]);
  assert.deepEqual(over([2, 3], [5, null]), [undefined, 5, null]);
  assert.deepEqual(over(null, []), [undefined, undefined, undefined]);
});

cases("bestOf", bestOf, [
  [[{ min: 1, max: 2 }, "maximize"], 2],
  [[{ min: 1, max: 2 }, "minimize"], 1],
]);
cases("lostOf", lostOf, [
  [[{ failed: 1, diverged: 2, completed: 5 }], 3],
  [[{}], 0],
]);
