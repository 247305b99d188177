import { describe, expect, it } from 'vitest';
import {
  type FollowerEvent,
  followerEvents,
  followerTable,
  nextFollowerState,
} from '../../../../src/agent/replication/follow/follower-states.ts';
import { type FollowerState, followerState } from '../../../../src/contract/local/replication.ts';

const states = followerState.options;

/** Every move that is not "stay". The rest of the table follows from it. */
const moves: readonly (readonly [from: FollowerState, event: FollowerEvent, to: FollowerState])[] = [
  ['idle', 'start', 'waiting'],
  ['waiting', 'due', 'connecting'],
  ['waiting', 'fenced', 'held'],
  ['held', 'due', 'connecting'],
  ['held', 'resumed', 'waiting'],
  ['connecting', 'answered', 'opening'],
  ['connecting', 'lost', 'waiting'],
  ['connecting', 'resumed', 'waiting'],
  ['opening', 'init', 'following'],
  ['opening', 'lost', 'waiting'],
  ['opening', 'resumed', 'waiting'],
  ['following', 'silent', 'probing'],
  ['following', 'lost', 'waiting'],
  ['following', 'resumed', 'waiting'],
  ['probing', 'probe_ok', 'following'],
  ['probing', 'probe_failed', 'waiting'],
  ['probing', 'lost', 'waiting'],
  ['probing', 'resumed', 'waiting'],
];

describe('the states of the follower', () => {
  it.each(states.flatMap((state) => followerEvents.map((event) => ({ state, event }))))(
    '$state and $event',
    ({ state, event }) => {
      const move = moves.find(([from, by]) => from === state && by === event);
      const stops = event === 'stop' ? 'stopped' : state;
      expect(nextFollowerState(state, event)).toBe(move?.[2] ?? stops);
    },
  );

  it('are all reached from the beginning, and all but the last can be left', () => {
    const reached = new Set<FollowerState>(['idle']);
    for (const state of reached) for (const event of followerEvents) reached.add(followerTable[state][event]);
    expect([...reached].sort()).toEqual([...states].sort());
    expect(followerEvents.map((event) => followerTable.stopped[event])).toEqual(followerEvents.map(() => 'stopped'));
  });
});
