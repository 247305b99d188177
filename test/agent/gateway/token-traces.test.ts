// A capability token is for the agent alone: wherever a caller writes it, no other server sees it, and no log does.
import { describe, expect, it } from 'vitest';
import { ask } from '../../support/ask.ts';
import { SPRITE_TOKEN } from '../../support/gateway-agent.ts';
import { readGatewayLog } from '../../support/gateway-log.ts';
import { openModelStack } from '../../support/model-stack.ts';
import { farEnds, openRawGateway } from '../../support/raw-gateway.ts';
import { openRaw } from '../../support/raw-http.ts';

const TOKEN = 'remora_cap_Zm9vYmFy';
const ENCODED = 'remora%5Fcap%5FZm9vYmFy';
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

describe.each(farEnds)('on its way to %s', (farEnd) => {
  it('a token goes with no header', async () => {
    const gateway = await openRawGateway(farEnd);
    const headers = [`X-Custom: ${TOKEN}`, `Referer: http://x/?key=${ENCODED}`, `X-${TOKEN}: 1`, 'X-Kept: 1'];
    const caller = openRaw(
      gateway.agent.path,
      `GET ${gateway.prefix}/x HTTP/1.1\r\nHost: a\r\n${headers.join('\r\n')}\r\n\r\n`,
    );
    const call = await gateway.call(0);
    call.socket.write(ok);
    await caller.until(/ok$/);
    expect(call.headerNames).toContain('x-kept');
    expect(call.headerNames.join(' ')).not.toMatch(/x-custom|referer|remora.cap/);
  });

  it.each([`/x/${TOKEN}`, `/x/${ENCODED}`, '/x/%72emora%5Fcap%255Fabc'])(
    'a token in a path ends the call: %s',
    async (path) => {
      const gateway = await openRawGateway(farEnd);
      const answer = await ask(gateway.agent.path, { target: gateway.prefix + path });
      expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_target' } });
      expect(gateway.count).toBe(0);
      const log = await readGatewayLog(gateway.agent.path);
      expect(log.text).toContain('[capability token]');
      expect(gateway.agent.written() + log.text).not.toMatch(/cap_Zm9v|%5Fcap%5F|%255Fabc/);
    },
  );
});

it('a token that is encoded in a query is taken out, and the rest of the query stays', async () => {
  const stack = await openModelStack();
  const token = await stack.createToken('conn_openai');
  const encoded = token.replaceAll('_', '%5F');
  const target = `/v1/gateway/openai/conn_openai/v1/models?a=%2F&x=${encoded}&b`;
  const answer = await fetch(stack.origin + target, { headers: { authorization: `Bearer ${token}` } });
  expect(answer.status).toBe(200);
  expect(stack.provider.calls.map((sent) => sent.target)).toEqual(['/v1/models?a=%2F&b']);
});

it('the token of the sprite does not come back from what answers in place of the platform', async () => {
  const gateway = await openRawGateway('the platform');
  const caller = openRaw(gateway.agent.path, `GET ${gateway.prefix}/x HTTP/1.1\r\nHost: a\r\n\r\n`);
  const call = await gateway.call(0);
  call.socket.write(`HTTP/1.1 200 OK\r\nX-Seen: Bearer ${SPRITE_TOKEN}\r\nX-Kept: 1\r\nContent-Length: 2\r\n\r\nok`);
  expect(await caller.until(/ok$/)).toContain('X-Kept: 1');
  expect(caller.text).not.toContain(SPRITE_TOKEN);
});
