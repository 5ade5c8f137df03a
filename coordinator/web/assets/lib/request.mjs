// Requests to the server, and the session with it.
import { signal } from "@preact/signals";
import { hrefOf } from "./route.mjs";

class RequestError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export const session = signal({
  reads: true,
  acts: false,
  can_sign_in: false,
  cluster: false,
});

export async function request(path, values = {}, options = {}) {
  const query = hrefOf([], values).slice(2);
  const begin = performance.now();
  const response = await fetch("api/" + path + query, options);
  const answer = await response.json().catch(() => ({ error: response.statusText }));
  slowestAnswer = Math.max(0.8 * slowestAnswer, performance.now() - begin);
  if (!response.ok) {
    if (response.status === 401 && !options.method) loadSession();
    throw new RequestError(response.status, answer.error);
  }
  return answer;
}

export const post = (path, body, method = "POST") =>
  request(
    path,
    {},
    {
      method,
      body: JSON.stringify(body),
      headers: {
        "Content-Type": "application/json",
        "X-Sweep-CSRF": session.value.csrf || "",
      },
    },
  );

export async function loadSession() {
  const response = await fetch("api/session");
  if (response.ok) session.value = await response.json();
}

// prefetch asks before the view is there that wants the answer.
export const prefetched = new Map();

export function prefetch(path, values = {}) {
  const asked = request(path, values);
  asked.catch(() => {}); // who takes it hears of it
  prefetched.set(path + hrefOf([], values), asked);
}

// slowestAnswer is how long answers took lately, in milliseconds: what takes long is asked
// for less often, so that an open page costs a server that trains one part in two hundred at most.
let slowestAnswer = 0;

export const pollInterval = () => Math.min(Math.max(3000, 200 * slowestAnswer), 20000);
