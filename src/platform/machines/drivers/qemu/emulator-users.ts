// The users that emulators run as: each machine has one of its own, so that a guest that gets out of its emulator reaches no other machine.
import { RemoraError } from '../../../../core/remora-error.ts';

/** Lies above the users of the system, of people and of containers; in no file of users. */
export const FIRST_USER = 0x7000_0000;
const USERS = 65_536;

/** The lowest one that nobody has. Throws `limit_reached`. */
export function chooseUser(taken: ReadonlySet<number>): number {
  for (let uid = FIRST_USER; uid < FIRST_USER + USERS; uid += 1) if (!taken.has(uid)) return uid;
  throw new RemoraError('limit_reached', `this host has ${USERS} machines; delete some`);
}
