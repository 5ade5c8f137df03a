// Requests to the server, and the session with it.
import { signal } from "@preact/signals";
import { changeRoute, queryOf } from "./route.mjs";

/** @import { AnswerTo, Session } from "../../api" */
/** @import { Parameters } from "./route.mjs" */

/** RequestError is a request that the server answered with an error. */
export class RequestError extends Error {
  /**
   * @param {number} status
   * @param {string} text
   */
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** Who the user is to the server, and what that user may do. */
export const session = signal(
  /** @type {Session} */ ({ reads: true, acts: false, can_sign_in: false, cluster: false }),
);

/**
 * request asks the server for a path under api/.
 * @template {string} Path
 * @param {Path} path
 * @param {Parameters} [parameters]
 * @param {RequestInit} [options]
 * @returns {Promise<AnswerTo<Path>>}
 */
export async function request(path, parameters = {}, options = {}) {
  const begin = performance.now();
  const response = await fetch("api/" + path + queryOf(parameters), options);
  const answer = await response.json().catch(() => ({ error: response.statusText }));
  slowestAnswer = Math.max(0.8 * slowestAnswer, performance.now() - begin);
  if (!response.ok) {
    if (response.status === 401 && !options.method) loadSession();
    throw new RequestError(response.status, answer.error);
  }
  return answer;
}

/**
 * post sends a change to the server, with the session's word against forgery.
 * @template {string} Path
 * @param {Path} path
 * @param {object} body
 * @param {string} [method]
 */
export function post(path, body, method = "POST") {
  const headers = {
    "Content-Type": "application/json",
    "X-Sweep-CSRF": session.value.csrf || "",
  };
  return request(path, {}, { method, body: JSON.stringify(body), headers });
}

export async function loadSession() {
  const response = await fetch("api/session");
  if (response.ok) session.value = await response.json();
}

/**
 * useTicket exchanges the ticket of an address that a terminal showed for a session that may act,
 * and removes it from the address. One that was used before leaves the session as it is.
 * @param {string | null} ticket
 */
export async function useTicket(ticket) {
  if (!ticket) return;
  changeRoute({ ticket: null });
  await post("session", { ticket }).catch(() => {});
}

/**
 * Answers that were requested before the view that needs them is there, by path and query.
 * @type {Map<string, Promise<any>>}
 */
const prefetched = new Map();

/**
 * prefetch requests what a view will need.
 * @param {string} path
 */
export function prefetch(path) {
  const answer = request(path);
  answer.catch(() => {}); // takePrefetched's caller reports it
  prefetched.set(path, answer);
}

/**
 * takePrefetched returns a prefetched answer, once.
 * @param {string} key path and query
 */
export function takePrefetched(key) {
  const answer = prefetched.get(key);
  prefetched.delete(key);
  return answer;
}

// How long answers took lately, in milliseconds.
let slowestAnswer = 0;

/**
 * pollInterval is how long a page waits between two questions, in milliseconds: it asks for
 * slow answers less often, so that an open page costs a server that trains at most one part
 * in two hundred.
 */
export const pollInterval = () => Math.min(Math.max(3000, 200 * slowestAnswer), 20000);
