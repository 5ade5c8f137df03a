// Hooks: the answer to a request, kept up to date.
import { useEffect, useRef, useState } from "preact/hooks";
import { paused, versions } from "./live.mjs";
import { pollInterval, request, takePrefetched } from "./request.mjs";
import { queryOf } from "./route.mjs";

/** @import { AnswerTo } from "../../api" */
/** @import { RequestError } from "./request.mjs" */
/** @import { Parameters } from "./route.mjs" */

/** @typedef {string | number} Version what an answer belongs to: another one asks again */

/**
 * @template T
 * @typedef {object} State
 * @property {T | null} answer
 * @property {RequestError | null} error
 * @property {string | null} key path and query that were answered
 * @property {Version | null} version
 */

/**
 * useAnswer requests a path, again whenever path, parameters or version change, and while
 * the server has not read all trials. The previous answer stays until the next one arrives:
 * stale says that it belongs to another request, behind that it belongs to another request
 * or version. Nothing is requested while path is null.
 * @template {string} Path
 * @param {Path | null} path
 * @param {Parameters} [parameters]
 * @param {Version} [version]
 */
export function useAnswer(path, parameters = {}, version = 0) {
  const key = path === null ? null : path + queryOf(parameters);
  const [state, setState] = useState(
    /** @type {State<AnswerTo<Path>>} */ ({ answer: null, error: null, key: null, version: null }),
  );
  useEffect(() => {
    if (path === null || key === null) return undefined;
    let ended = false;
    let timer = 0;
    const abort = new AbortController();
    const retry = () => {
      if (paused.value || document.hidden) timer = setTimeout(retry, 1000);
      else load();
    };
    const load = async () => {
      try {
        const prefetched = takePrefetched(key);
        const options = { signal: abort.signal };
        const answer = await (prefetched || request(path, parameters, options));
        if (ended) return;
        setState({ answer, error: null, key, version });
        const read = answer && answer.read;
        if (read && !read.complete) timer = setTimeout(load, 700);
        // Trials change that no event is sent for.
        else if (read && read.again) timer = setTimeout(retry, pollInterval() + 1000);
      } catch (thrown) {
        const error = /** @type {RequestError} */ (thrown);
        if (ended || error.name === "AbortError") return;
        setState((old) => ({ ...old, error, key, version }));
        // The server's trouble may pass.
        if (error.status >= 500) timer = setTimeout(retry, pollInterval() + 1000);
      }
    };
    load();
    return () => {
      ended = true;
      clearTimeout(timer);
      abort.abort();
    };
  }, [key, version]);
  const stale = state.key !== key;
  return {
    answer: state.answer,
    error: state.error,
    stale,
    behind: stale || state.version !== version,
  };
}

/**
 * useVersion returns a number that grows when a sweep has changed, at most every third
 * second. The sweep's progress comes with the changes themselves, every second.
 * @param {string} id a sweep's, or "all"
 */
export function useVersion(id) {
  const newest = versions.value[id] || 0;
  const [version, setVersion] = useState(newest);
  const changedAt = useRef(Date.now());
  useEffect(() => {
    if (paused.value || newest === version) return undefined;
    const wait = Math.max(0, pollInterval() - (Date.now() - changedAt.current));
    const timer = setTimeout(() => {
      changedAt.current = Date.now();
      setVersion(newest);
    }, wait);
    return () => clearTimeout(timer);
  }, [newest, version, paused.value]);
  return version;
}
