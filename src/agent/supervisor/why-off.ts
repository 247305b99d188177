// Why nothing can run for people here: whom to run it as is not set, or cannot be.
import { findUser } from '../../linux/users.ts';

const ROOT = 0;

/** A message for people, or undefined when the user is good. @param uid the user of the agent. */
export function whyOff(user: string | undefined, uid: number): string | undefined {
  if (user === undefined) {
    const why = 'services, files and processes are off, because root runs the agent';
    return uid === ROOT ? `${why}; set REMORA_USER to the user of this sprite` : undefined;
  }
  const found = findUser(user);
  const off = `services, files and processes are off, because REMORA_USER is ${user}`;
  if (found === undefined) return `${off}, and there is no such user; create it or name another`;
  if (uid !== ROOT && found.uid !== uid) return `${off}, and only root can run programs as another user`;
  return undefined;
}
