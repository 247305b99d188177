// Every operation of the platform that may stay open, once the token of its caller has ended: each is open at an edge that has all of them.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Operation, Operations } from '../../src/contract/operation.ts';
import { platformOperations } from '../../src/contract/platform-operations.ts';
import { RemoraError } from '../../src/core/remora-error.ts';
import { createEdge } from '../../src/http/edge.ts';
import type { EdgeHandlers } from '../../src/http/handler.ts';
import { listenOnPath } from '../../src/http/listen-on-path.ts';
import { PassOn } from '../../src/http/pass-on.ts';
import { staysOpen } from '../../src/http/staying-calls.ts';
import { OPERATOR_TOKEN } from '../../src/platform/tokens/authenticate-operator.ts';
import { createEndCallers } from '../../src/platform/tokens/end-callers.ts';
import type { Principal } from '../../src/platform/tokens/principal.ts';
import { eventually } from '../support/eventually.ts';
import { openRaw } from '../support/raw-http.ts';
import { silentLog } from '../support/silent-log.ts';
import { tempDir } from '../support/temp-dir.ts';

/** How each operation is called: what it takes beside its path is of no interest here. */
const operations: Operations = Object.fromEntries(
  Object.entries(platformOperations as Operations).map(
    ([id, { params: _, query: _q, body: _b, rawBody: _r, ...rest }]) => [id, rest],
  ),
);
const staying = Object.entries(operations).filter(([, operation]) => staysOpen(operation));
/** Each of these has a part of its own that ends its calls; nobody is known at the pages of the sign-on, which answer at once. */
const elsewhere = ['gateway', 'openChannel', 'openLane'];
const isNobodys = ([, { access }]: (typeof staying)[number]) => access === 'none';

const organization = {
  id: 'org_1',
  slug: 'acme',
  display_name: null,
  running_limit: null,
  warm_limit: null,
  creation_limit: null,
};

function toPrincipal(token_id: string): Principal {
  return { type: 'organization', organization, token: { ...OPERATOR_TOKEN, id: token_id } };
}

/** Begins an answer that never ends by itself, and says over an upgraded connection why it is to end. */
const goOn = new PassOn<Principal>(async ({ upgrade }, response) => {
  if (upgrade === undefined) response.writeHead(200).flushHeaders();
  else {
    upgrade.accept([]);
    const { socket, stopping } = upgrade;
    socket.on('error', () => undefined);
    stopping.addEventListener('abort', () => socket.end(`stopping: ${stopping.reason.code}`));
  }
});

function toHandler({ answer }: Operation) {
  if (answer.kind === 'stream') return (_call: unknown, sink: { open(): void }) => sink.open();
  return answer.kind === 'raw' ? goOn : () => new Promise(() => undefined);
}

async function openEdge() {
  const handlers = Object.fromEntries(Object.entries(operations).map(([id, each]) => [id, toHandler(each)]));
  const edge = createEdge<Operations, Principal>({
    operations,
    handlers: handlers as EdgeHandlers<Operations, Principal>,
    authenticate: ({ headers }, { access }) =>
      access === 'none' ? { type: 'anonymous' } : toPrincipal(String(headers.authorization)),
    log: silentLog,
  });
  const path = join(tempDir(), 'edge.sock');
  const listening = await listenOnPath(edge.createServer('tcp'), { path, mode: 0o600 });
  onTestFinished(async () => {
    await edge.drain(0);
    listening[Symbol.dispose]();
  });
  const open = (id: string, token: string) => {
    const { method, path: target, upgrade, answer } = operations[id] ?? { method: 'GET', path: '/', answer: undefined };
    const filled = target.replaceAll(/\{[^}]+\}/g, 'x');
    const lines = [
      `${method === '*' ? 'GET' : method} ${filled} HTTP/1.1`,
      'host: a',
      `authorization: ${token}`,
      ...(answer?.kind === 'stream' ? ['accept: application/x-ndjson'] : []),
      ...(method === 'GET' || method === '*' ? [] : ['content-length: 0']),
      ...(upgrade === undefined ? [] : ['connection: upgrade', `upgrade: ${upgrade}`]),
    ];
    return openRaw(path, `${lines.join('\r\n')}\r\n\r\n`);
  };
  return { edge, open };
}

const ended = async () => {
  throw new RemoraError('unauthorized', 'the token is not valid any more');
};

test('what may stay open is all that streams, is raw or is upgraded', () => {
  const kinds = new Set(
    Object.values(operations)
      .filter((each) => !staysOpen(each))
      .map(({ answer }) => answer.kind),
  );
  expect([...kinds].toSorted()).toEqual(['empty', 'json', 'text']);
  expect(staying.length).toBeGreaterThan(30);
});

test.each(staying.filter((each) => !isNobodys(each) && !elsewhere.includes(each[0])))(
  '%s ends with the token of its caller',
  async (id, { answer, upgrade }) => {
    const { edge, open } = await openEdge();
    const call = open(id, 'one');
    await call.until(/^HTTP\/1\.1 (?:200|101) [\s\S]*\r\n\r\n/);
    await createEndCallers({ open: edge.staying, recheck: ended })();
    if (answer.kind === 'stream') {
      expect(await call.until(/0\r\n\r\n$/)).toContain('{"type":"error","error":"unauthorized",');
      return;
    }
    const text = await call.ended;
    if (upgrade === undefined) expect(text).not.toMatch(/0\r\n\r\n$/);
    else expect(text).toMatch(/stopping: unauthorized$/);
  },
);

test.each([...elsewhere, ...staying.filter(isNobodys).map(([id]) => id)])(
  '%s is not ended by a look at tokens alone',
  async (id) => {
    const { edge, open } = await openEdge();
    const [call, other] = [open(id, 'one'), open('watchSprites', 'one')];
    await call.until(/^HTTP\/1\.1 (?:200|101) /);
    await other.until(/^HTTP\/1\.1 200 /);
    await createEndCallers({ open: edge.staying, recheck: ended })();
    await other.until(/unauthorized/);
    expect(call.text).not.toMatch(/unauthorized|stopping/);
    expect(call.socket.destroyed).toBe(false);
  },
);

test('a token is looked up once for all its calls, and what is open with another one, or by the operator, goes on', async () => {
  const { edge, open } = await openEdge();
  const callers = ['one', 'one', 'two', OPERATOR_TOKEN.id];
  const calls = callers.map((token) => open('watchSprites', token));
  for (const call of calls) await call.until(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\n/);
  const looked: string[] = [];
  const endCallers = createEndCallers({
    open: edge.staying,
    async recheck(caller) {
      looked.push(caller.token.id);
      return caller.token.id === 'one' ? await ended() : caller;
    },
  });
  await Promise.all([endCallers(), endCallers()]);
  expect(looked.toSorted()).toEqual(['one', 'two']);
  await eventually(() => calls.slice(0, 2).every(({ text }) => text.includes('unauthorized')));
  expect(calls.slice(2).some(({ text }) => text.includes('unauthorized'))).toBe(false);
});

test('a call that answers in one piece is let finish', async () => {
  const { edge, open } = await openEdge();
  const answering = open('waitMachine', 'one');
  const stream = open('watchSprites', 'one');
  await stream.until(/^HTTP\/1\.1 200 /);
  await createEndCallers({ open: edge.staying, recheck: ended })();
  await stream.until(/unauthorized/);
  expect([answering.text, answering.socket.destroyed]).toEqual(['', false]);
});
