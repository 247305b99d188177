// The text of a code with which a browser comes back to the URL of a sprite: it names the session in which it was made, so that what comes
// of the code ends with the session.
import { Secret } from '../../core/secret.ts';
import { drawSecret, toSecretHash } from './secret-hash.ts';

export function drawUrlCode(session: Secret): Secret {
  return new Secret(`${drawSecret().reveal()}.${toSecretHash(session)}`);
}

/** The hash of the session; empty for another code. */
export function readSessionHash(code: Secret): string {
  return code.reveal().split('.')[1] ?? '';
}
