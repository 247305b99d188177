// The end of a machine that is played: it reports and dials its channel as an agent does.
import { dialChannel } from '../../src/agent/channel/dial-channel.ts';
import { randomHex } from '../../src/core/urandom.ts';
import type { PlayedMachine } from './channel-tenants.ts';

/** The headers with which this machine may dial: those of an incarnation that it has just reported. */
export async function reportMachine(url: string, { app, id, token }: PlayedMachine, generation = 1) {
  const incarnation = randomHex(16);
  const identity = { 'remora-generation': String(generation), 'remora-incarnation': incarnation };
  const answer = await fetch(`${url}/v1/apps/${app}/machines/${id}/resumed`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...identity },
    body: JSON.stringify({ generation, incarnation, reason: 'restore', gap_ms: 1, wall_skew_ms: 1, holds: [] }),
  });
  const { nonce } = (await answer.json()) as { nonce: string };
  return { ...identity, 'remora-nonce': nonce };
}

export async function dialAs(url: string, { app, id, token }: PlayedMachine, identity: Record<string, string>) {
  return await dialChannel({
    baseUrl: url,
    app,
    machine: id,
    headers: { ...identity, authorization: `Bearer ${token}` },
    deadline_ms: 10_000,
    mayHandshake: () => true,
    signal: new AbortController().signal,
  });
}
