// The width of charts drawn as SVG: that of the page, so that their text is as large as the page's.
import { signal } from "@preact/signals";

const margins = 40;
const narrowest = 320;
const widest = 1000;

const measured = () => Math.min(Math.max(innerWidth - margins, narrowest), widest);

/** Pixels; a wider page magnifies the charts. */
export const chartWidth = signal(measured());

addEventListener("resize", () => {
  chartWidth.value = measured();
});
