// Informational answers that have no end: they pass at once, so that they have to be few.
import { describe, expect, it } from 'vitest';
import { farEnds, openRawGateway } from '../../support/raw-gateway.ts';
import { openRaw } from '../../support/raw-http.ts';

const hint = (bytes: number) => `HTTP/1.1 103 Early Hints\r\nLink: ${'a'.repeat(bytes)}\r\n\r\n`;

describe.each(farEnds)('informational answers of %s', (farEnd) => {
  it.each([
    ['seventeen small ones', hint(10), 17, 16],
    ['more than 64 KB of them', hint(12_000), 6, 5],
  ])('are 502 after %s', async (_name, text, count, passed) => {
    const { agent, prefix, call } = await openRawGateway(farEnd);
    const caller = openRaw(agent.path, `GET ${prefix}/v1/x HTTP/1.1\r\nHost: a\r\n\r\n`);
    const { socket, closed } = await call(0);
    for (let sent = 0; sent < count; sent += 1) socket.write(text);
    const answer = await caller.until(/\}\n$/);
    expect(answer.match(/HTTP\/1.1 103 /g) ?? []).toHaveLength(passed);
    expect(answer).toMatch(/HTTP\/1.1 502 .*remora-error: upstream_failed/s);
    await closed;
  });

  it('pass while they are few, with the answer after them', async () => {
    const { agent, prefix, call } = await openRawGateway(farEnd);
    const caller = openRaw(agent.path, `GET ${prefix}/v1/x HTTP/1.1\r\nHost: a\r\n\r\n`);
    const { socket } = await call(0);
    socket.write(`${hint(10).repeat(16)}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`);
    expect((await caller.until(/ok$/)).match(/HTTP\/1.1 103 /g)).toHaveLength(16);
  });
});
