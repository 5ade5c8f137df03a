// Hooks: the answer to a request, kept up to date.
import { useEffect, useRef, useState } from "preact/hooks";
import { paused, versions } from "./live.mjs";
import { pollInterval, prefetched, request } from "./request.mjs";
import { hrefOf } from "./route.mjs";

// useAnswer asks, again whenever the question or the version (a signal's value) is
// another one, and while not all trials were read. An older answer stays until the
// next one is there: stale is one to another question, behind one of an earlier version too.
export function useAnswer(path, values = {}, version = 0) {
  const key = path === null ? null : path + hrefOf([], values);
  const [state, set] = useState({ answer: null, error: null, key: null, version: null });
  useEffect(() => {
    if (key === null) return undefined;
    let ended = false,
      timer = 0;
    const stop = new AbortController();
    const later = () =>
      paused.value || document.hidden ? (timer = setTimeout(later, 1000)) : once();
    const once = async () => {
      try {
        const early = prefetched.get(key);
        prefetched.delete(key);
        const answer = await (early || request(path, values, { signal: stop.signal }));
        if (ended) return;
        set({ answer, error: null, key, version });
        if (answer && answer.read && !answer.read.complete) timer = setTimeout(once, 700);
        else if (answer && answer.read && answer.read.again)
          timer = setTimeout(later, pollInterval() + 1000); // unless a change comes before
      } catch (error) {
        if (ended || error.name === "AbortError") return;
        set((old) => ({ ...old, error, key, version }));
        if (error.status >= 500) timer = setTimeout(later, pollInterval() + 1000); // the server's trouble may pass
      }
    };
    once();
    return () => {
      ended = true;
      clearTimeout(timer);
      stop.abort();
    };
  }, [key, version]);
  return {
    ...state,
    stale: state.key !== key,
    behind: state.key !== key || state.version !== version,
  };
}

// useVersion returns a number that grows when a sweep has changed, at most every third
// second. How far a sweep is comes with the changes themselves, each second.
export function useVersion(id) {
  const now = versions.value[id] || 0;
  const [version, set] = useState(now);
  const last = useRef(Date.now());
  useEffect(() => {
    if (paused.value || now === version) return undefined;
    const wait = Math.max(0, pollInterval() - (Date.now() - last.current));
    const timer = setTimeout(() => {
      last.current = Date.now();
      set(now);
    }, wait);
    return () => clearTimeout(timer);
  }, [now, version, paused.value]);
  return version;
}
