// The form that signs in with a token.
import { useState } from "preact/hooks";
import { Problem } from "./problem.mjs";
import { html } from "../lib/html.mjs";
import { connect } from "../lib/live.mjs";
import { loadSession, post } from "../lib/request.mjs";

/** @param {{done: () => void}} props */
export function SignIn({ done }) {
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  /** @param {SubmitEvent & {target: HTMLFormElement}} event */
  const submit = async (event) => {
    event.preventDefault();
    try {
      await post("session", { token: new FormData(event.target).get("token") });
      await loadSession();
      connect();
      done();
    } catch (thrown) {
      setError(/** @type {Error} */ (thrown));
    }
  };
  return html`<form onSubmit=${submit}>
    <p>
      A token lets you read results from other machines, and retry or cancel trials.${" "}
      <code>sweep token create NAME</code> creates one.
    </p>
    <${Problem} error=${error} />
    <p class="controls">
      <label>
        Token${" "}
        <input
          name="token"
          type="password"
          autocomplete="current-password"
          required
          size="40"
        />
      </label>
      <button class="primary">Sign in</button>
    </p>
  </form>`;
}
