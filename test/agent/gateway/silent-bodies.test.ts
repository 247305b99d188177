// Bodies that were promised and do not come: each holds a place that others wait for.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openGatewayAgent } from '../../support/gateway-agent.ts';
import { openPlatformBefore } from '../../support/platform-before.ts';
import { openRaw, type RawConnection } from '../../support/raw-http.ts';
import { openRawUpstream } from '../../support/raw-upstream.ts';
import { openStandInPlatform } from '../../support/stand-in-platform.ts';

const IDLE_MS = 1_200;
/** The same for bodies that come slowly. */
const SLOW_MS = 1_600;
const access_policy = { allow_all: true };
const inFlight = 2;

interface Door {
  /** Opens a call with these bytes after the first line of the request and the headers that let it in. */
  open(rest: string): RawConnection;
}

async function openAgentDoor(bodyIdle_ms = IDLE_MS): Promise<Door> {
  const connectors = [{ id: 'conn_1', provider: 'openai', access_policy }];
  const platform = await openStandInPlatform({
    connectors,
    onGateway: (request, response) => {
      request.resume().once('end', () => response.end('done'));
    },
  });
  const agent = await openGatewayAgent(platform.url, { callsInFlight: inFlight, bodyIdle_ms });
  return { open: (rest) => openRaw(agent.path, `POST /v1/gateway/openai/conn_1/x HTTP/1.1\r\nHost: a\r\n${rest}`) };
}

async function openPlatformDoor(bodyIdle_ms = IDLE_MS): Promise<Door> {
  const provider = await openRawUpstream();
  const limit = { perSecond: 1_000, inFlight };
  const { url, token } = await openPlatformBefore(provider.origin, access_policy, {
    gatewayLimits: { connector: limit, sprite: { ...limit, inFlight: 10 }, bodyIdle_ms },
  });
  void answerAll();
  async function answerAll(): Promise<void> {
    for (let index = 0; ; index += 1) {
      const connection = await provider.connection(index);
      const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone';
      void connection.until(/\r\n\r\n(abcde|.*\r\n0\r\n\r\n)$/s).then(() => connection.socket.end(answer));
    }
  }
  const head = `POST /v1/gateway/openai/conn_1/x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token.reveal()}\r\n`;
  return { open: (rest) => openRaw(Number(new URL(url).port), head + rest) };
}

describe.each([
  ['agent', openAgentDoor],
  ['platform', openPlatformDoor],
])('a body that stays away, at the %s', (_name, openDoor) => {
  it.each([
    ['a short one', 'Content-Length: 5\r\n\r\na'],
    ['a long one', 'Content-Length: 500000\r\n\r\na'],
    ['a chunked one', 'Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n'],
  ])('is 408, and its place is free: %s', async (_kind, rest) => {
    const door = await openDoor();
    let silent = [door.open(rest), door.open(rest)];
    await eventually(async () => {
      // Where the machine stood still they are over before another call was refused.
      if (silent.every(({ socket }) => socket.destroyed)) silent = [door.open(rest), door.open(rest)];
      const answer = await door.open('Content-Length: 0\r\n\r\n').until(/\r\n\r\n/);
      return answer.startsWith('HTTP/1.1 429 ');
    });
    for (const caller of silent) {
      expect(await caller.ended).toMatch(/^HTTP\/1.1 408 .*remora-error: timeout.*connection: close/is);
    }
    expect(await door.open('Content-Length: 5\r\n\r\nabcde').until(/done/)).toMatch(/^HTTP\/1.1 200 /);
  });

  it.each([
    ['Content-Length: 5\r\n\r\n', (letter: string) => letter, ''],
    ['Transfer-Encoding: chunked\r\n\r\n', (letter: string) => `1\r\n${letter}\r\n`, '0\r\n\r\n'],
  ])('is waited for while it comes slowly: %j', async (rest, toPiece, last) => {
    const door = await openDoor(SLOW_MS);
    /** Its answer, and the longest time that the door had to wait for a piece, or the answer was waited for. */
    async function send() {
      const caller = door.open(rest);
      let [last_ms, longest_ms] = [performance.now(), 0];
      const look = () => {
        const now_ms = performance.now();
        longest_ms = Math.max(longest_ms, now_ms - last_ms);
        last_ms = now_ms;
      };
      for (const letter of 'abcde') {
        await sleep(SLOW_MS / 4);
        caller.socket.write(toPiece(letter));
        look();
      }
      caller.socket.write(last);
      const answer = await caller.until(/done|HTTP\/1.1 408 /);
      look();
      return { answer, longest_ms };
    }
    let sent = await send();
    // A piece came too late because the machine stood still.
    for (let times = 1; times < 5 && sent.longest_ms > SLOW_MS / 2; times += 1) sent = await send();
    expect(sent.answer).toMatch(/^HTTP\/1.1 200 /);
  });
});
