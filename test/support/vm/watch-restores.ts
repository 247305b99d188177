// What the agent of a guest tells of its resumes, and what passed its doors.
import type { AgentEventLine } from '../../../src/contract/local/events.ts';
import type { RunningGuest } from './golden-guest.ts';

export const ofType = (events: readonly AgentEventLine[], type: string): readonly AgentEventLine[] =>
  events.filter((event) => event.type === type);

/** Its `resumed` events, as soon as there are so many. */
export async function awaitResumed({ agent }: RunningGuest, count = 1): Promise<readonly AgentEventLine[]> {
  return ofType(await agent.events(0, (events) => ofType(events, 'resumed').length >= count), 'resumed');
}

/** The generations that calls of the agent to its platform name, in the order of their connections. */
export function listGenerations(sent: readonly { readonly sent: string }[]): readonly number[] {
  return sent.flatMap((passage) =>
    [...passage.sent.matchAll(/^remora-generation: (\d+)\r$/gm)].map(([, number]) => Number(number)),
  );
}

/** Run time of the guest, in seconds. */
export async function readUptime_s({ guest }: RunningGuest): Promise<number> {
  return Number((await guest.run('cut -d" " -f1 /proc/uptime')).trim());
}
