// The states of the connection to the node as a total table: the next state for each state and event.
//
//   idle ─start▶ waiting ─due▶ connecting ─answered▶ opening ─init▶ following ─silent▶ probing ─probe_ok▶ following
//                  ▲ │fenced▶ held ─due▶                  lost, probe_failed, resumed: back to waiting
import type { FollowerState } from '../../../contract/local/replication.ts';

/**
 * `due`: the time to connect has come. `fenced`: it has come, but a suspend is under way. `answered`: the node answered 200.
 * `silent`: nothing was read for too long. `lost`: the connection ended, cleanly or not, or an attempt failed.
 */
export const followerEvents = [
  'start',
  'due',
  'fenced',
  'answered',
  'init',
  'silent',
  'probe_ok',
  'probe_failed',
  'lost',
  'resumed',
  'stop',
] as const;
export type FollowerEvent = (typeof followerEvents)[number];

type Row = Readonly<Record<FollowerEvent, FollowerState>>;

const STOP = { stop: 'stopped' } as const;

/** An event without a meaning in a state does not change it. */
export const followerTable: Readonly<Record<FollowerState, Row>> = {
  idle: { ...stay('idle'), start: 'waiting', ...STOP },
  waiting: { ...stay('waiting'), due: 'connecting', fenced: 'held', ...STOP },
  held: { ...stay('held'), due: 'connecting', resumed: 'waiting', ...STOP },
  connecting: { ...stay('connecting'), answered: 'opening', lost: 'waiting', resumed: 'waiting', ...STOP },
  opening: { ...stay('opening'), init: 'following', lost: 'waiting', resumed: 'waiting', ...STOP },
  following: { ...stay('following'), silent: 'probing', lost: 'waiting', resumed: 'waiting', ...STOP },
  probing: {
    ...stay('probing'),
    probe_ok: 'following',
    probe_failed: 'waiting',
    lost: 'waiting',
    resumed: 'waiting',
    ...STOP,
  },
  stopped: stay('stopped'),
};

export function nextFollowerState(state: FollowerState, event: FollowerEvent): FollowerState {
  return followerTable[state][event];
}

function stay(state: FollowerState): Row {
  return {
    start: state,
    due: state,
    fenced: state,
    answered: state,
    init: state,
    silent: state,
    probe_ok: state,
    probe_failed: state,
    lost: state,
    resumed: state,
    stop: state,
  };
}
