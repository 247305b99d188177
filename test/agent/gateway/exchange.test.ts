// What a caller of the gateway and a provider see of one another, byte by byte, with the agent alone and with a platform between.
import { describe, expect, it } from 'vitest';
import { readGatewayLog } from '../../support/gateway-log.ts';
import { farEnds, openRawGateway, type RawGateway } from '../../support/raw-gateway.ts';
import { openRaw } from '../../support/raw-http.ts';
import { soon } from '../../support/soon.ts';

const head = (gateway: RawGateway, method = 'GET', more = '') =>
  `${method} ${gateway.prefix}/x HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

async function lastRecord({ agent }: RawGateway) {
  return (await readGatewayLog(agent.path, '?limit=1')).records[0];
}

/** `body` goes with the head: the far end hears of a body in chunks with its first one. */
async function begin(farEnd: (typeof farEnds)[number], method = 'GET', more = '', body = '') {
  const gateway = await openRawGateway(farEnd);
  const caller = openRaw(gateway.agent.path, head(gateway, method, more) + body);
  return { gateway, caller, call: await gateway.call(0) };
}

describe.each(farEnds)('between a caller and %s', (farEnd) => {
  it('early hints come at once, trailers at the end, both with hygiene', async () => {
    const { caller, call } = await begin(farEnd);
    call.socket.write(
      'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nSet-Cookie: a\r\nX-Hop: 1\r\nConnection: x-hop\r\n\r\n',
    );
    expect(await caller.until(/\r\n\r\n$/)).toBe('HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n');
    call.socket.write('HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n');
    await caller.until(/2\r\nok\r\n$/);
    call.socket.write('0\r\nX-Sum: 1\r\nset_cookie: a\r\nProxy-Status: b\r\nX-Sum: 2\r\n\r\n');
    expect(await caller.until(/\r\n0\r\n.*\r\n\r\n$/s)).toMatch(/\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\nX-Sum: 2\r\n\r\n$/);
    expect(caller.text).not.toMatch(/set.cookie|proxy-status|x-hop/i);
  });

  it.each([
    [
      'HEAD',
      'HTTP/1.1 200 OK\r\nContent-Length: 99\r\nETag: "a"\r\n\r\n',
      /^HTTP\/1.1 200 OK\r\n.*Content-Length: 99\r\n.*\r\n\r\n$/s,
    ],
    [
      'GET',
      'HTTP/1.1 204 No Content\r\nETag: "a"\r\n\r\n',
      /^HTTP\/1.1 204 No Content\r\n(?!.*(?:Transfer-Encoding|Content-Length)).*\r\n\r\n$/s,
    ],
    ['GET', 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n', /^HTTP\/1.1 304 Not Modified\r\n.*ETag: "a".*\r\n\r\n$/s],
  ])('%s answered with %j has no body, and the connection serves on', async (method, answer, expected) => {
    const { gateway, caller, call } = await begin(farEnd, method);
    call.socket.write(answer);
    expect(await caller.until(expected)).toBe(caller.text);
    await soon(() => expect(gateway.agent.gateway.openStreams()).toBe(0));
    caller.socket.write(`GET ${gateway.prefix}/blocked HTTP/1.1\r\nHost: a\r\n\r\n`);
    await caller.until(/\r\n\r\nHTTP\/1.1 403 /);
  });

  it('a body that waits for 100 gets it once, and only when the call is allowed', async () => {
    const gateway = await openRawGateway(farEnd);
    const expectation = 'Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n';
    const refused = openRaw(gateway.agent.path, head(gateway, 'POST', expectation).replace('/x ', '/blocked '));
    expect(await refused.until(/\}\n$/)).toMatch(/^HTTP\/1.1 403 /);
    const caller = openRaw(gateway.agent.path, head(gateway, 'POST', expectation));
    expect(await caller.until(/\r\n\r\n$/)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    caller.socket.write('3\r\nabc\r\n');
    const call = await gateway.call(0);
    await call.body(/abc/);
    expect(call.headerNames).not.toContain('expect');
    caller.socket.write('3\r\ndef\r\n0\r\n\r\n');
    await call.body(/def/);
    call.socket.write(ok);
    expect(await caller.until(/ok$/)).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK\r\n/);
  });

  it('trailers of a request are dropped, and its body is whole', async () => {
    const headers = 'TE: trailers\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n';
    const body = '3\r\nabc\r\n3\r\ndef\r\n0\r\nX-Sum: 1\r\nX-Api-Key: forged\r\n\r\n';
    const { caller, call } = await begin(farEnd, 'POST', headers, body);
    expect(await call.body(/def/)).not.toMatch(/x-sum|forged/i);
    for (const name of ['te', 'trailer', 'x-sum']) expect(call.headerNames).not.toContain(name);
    call.socket.write(ok);
    await caller.until(/ok$/);
  });

  it('each event passes at the moment it is sent', async () => {
    const { caller, call } = await begin(farEnd, 'GET', 'Accept: text/event-stream\r\n');
    call.socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
    await caller.until(/Content-Type: text\/event-stream\r\n.*\r\n\r\n$/s);
    for (const event of ['data: 1\n\n', ': ping\n\n', 'data: 2\n\n']) {
      call.socket.write(`${event.length.toString(16)}\r\n${event}\r\n`);
      await caller.until(new RegExp(`${event}\r\n$`));
    }
  });
});

describe.each(farEnds)('a caller that goes away from %s', (farEnd) => {
  it.each(['before', 'during'] as const)('%s the answer ends the call', async (when) => {
    const { gateway, caller, call } = await begin(farEnd);
    if (when === 'during') {
      call.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart');
      await caller.until(/part$/);
    }
    caller.socket.destroy();
    await call.closed;
    await soon(() => expect(gateway.agent.gateway.openStreams()).toBe(0));
    const status = when === 'before' ? null : 200;
    expect(await lastRecord(gateway)).toMatchObject({
      ended: 'caller_gone',
      status,
      response_bytes: when === 'before' ? 0 : 4,
    });
  });

  it('during its own body ends the call', async () => {
    const { gateway, caller, call } = await begin(farEnd, 'POST', 'Transfer-Encoding: chunked\r\n', '3\r\nabc\r\n');
    await call.body(/abc/);
    caller.socket.destroy();
    await call.closed;
    await soon(async () => expect(await lastRecord(gateway)).toMatchObject({ ended: 'caller_gone', request_bytes: 3 }));
  });

  it('after the answer leaves a call that is complete', async () => {
    const { gateway, caller, call } = await begin(farEnd);
    call.socket.write(ok);
    await caller.until(/ok$/);
    caller.socket.destroy();
    await soon(() => expect(gateway.agent.gateway.openStreams()).toBe(0));
    expect(await lastRecord(gateway)).toMatchObject({ ended: 'complete', status: 200, response_bytes: 2 });
  });
});

describe.each(farEnds)('when %s breaks off', (farEnd) => {
  it.each([
    ['a body of a known length', 'Content-Length: 100\r\n\r\npart'],
    ['a body in chunks', 'Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n'],
    ['the middle of a chunk', 'Transfer-Encoding: chunked\r\n\r\n40\r\npart'],
    ['a body in chunks by an end without a last one', 'Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n', 'end'],
  ])('in %s, the answer breaks off too', async (_name, text, how = 'destroy') => {
    const { gateway, caller, call } = await begin(farEnd);
    call.socket.write(`HTTP/1.1 200 OK\r\n${text}`);
    await caller.until(/part/);
    if (how === 'end') call.socket.end();
    else call.socket.destroy();
    expect(await caller.ended).not.toMatch(/\r\n0\r\n|Content-Length: 4\r/);
    await soon(async () =>
      expect(await lastRecord(gateway)).toMatchObject({ ended: 'upstream_broke', status: 200, response_bytes: 4 }),
    );
  });

  it.each([
    ['GET', '', 2],
    ['HEAD', '', 2],
    ['POST', 'a', 1],
    ['DELETE', '', 1],
    ['GET', 'a', 1],
  ])('before a byte of its answer, %s with the body %j is sent %i times in all', async (method, body, times) => {
    const gateway = await openRawGateway(farEnd);
    const length = body === '' ? '' : `Content-Length: ${body.length}\r\n`;
    const caller = openRaw(gateway.agent.path, head(gateway, method, length) + body);
    for (let index = 0; index < times; index += 1) (await gateway.call(index)).socket.destroy();
    expect(await caller.until(/^HTTP\/1.1 502 .*\r\n\r\n/s)).toMatch(/remora-error: upstream_failed\r\n/);
    await soon(() => expect(gateway.agent.gateway.openStreams()).toBe(0));
    expect(gateway.count).toBe(times);
  });

  it('after the first byte of its answer, nothing is sent again', async () => {
    const { gateway, caller, call } = await begin(farEnd);
    call.socket.end('HTTP/1.1 200 OK\r\n');
    await caller.until(/^HTTP\/1.1 502 /);
    expect(gateway.count).toBe(1);
  });
});

describe('silence', () => {
  it('in the middle of an answer breaks it off after the idle limit', async () => {
    const gateway = await openRawGateway('the platform', { idleTimeout_ms: 1_000 });
    const caller = openRaw(gateway.agent.path, head(gateway));
    (await gateway.call(0)).socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart');
    await caller.ended;
    await soon(async () =>
      expect(await lastRecord(gateway)).toMatchObject({ ended: 'upstream_broke', response_bytes: 4 }),
    );
  });
});
