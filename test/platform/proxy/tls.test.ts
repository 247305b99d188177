// The proxy with a certificate of its own: requests and WebSockets over TLS, secure cookies, and a certificate that is renewed.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { openAgentMachine } from '../../support/agent-machine.ts';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestPlatform } from '../../support/open-platform.ts';
import { SPRITE_HOST, startWeb } from '../../support/proxied-machine.ts';
import { openRaw } from '../../support/raw-http.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { hasNoOpenssl, makeTlsPair } from '../../support/tls-pair.ts';

describe.skipIf(hasNoOpenssl)('over TLS', () => {
  const opened = openOnce(async () => {
    const dir = tempDir();
    makeTlsPair(dir, 'first');
    const files = { cert: join(dir, 'cert.pem'), key: join(dir, 'key.pem'), look_ms: 50 };
    const proxy = { listen: { host: '127.0.0.1', port: 0 }, tls: files };
    const machine = await openAgentMachine({ trustMachines: true, proxy });
    const { platform } = machine;
    await startWeb(platform);
    const { url } = (await platform.call({ path: '/v1/sprites/dev-1' })).json;
    const { port: text } = new URL(url);
    const port = Number(text);
    const ask = (path: string, headers: Record<string, string> = {}) =>
      new Promise<{ status: number; text: string; headers: NodeJS.Dict<string | string[]> }>((resolve, reject) => {
        const target = { host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false };
        const call = request({ ...target, headers: { host: `${SPRITE_HOST}:${port}`, ...headers } }, (response) => {
          let all = '';
          response.setEncoding('utf8').on('data', (part: string) => {
            all += part;
          });
          response.once('end', () =>
            resolve({ status: response.statusCode ?? 0, text: all, headers: response.headers }),
          );
        });
        call.once('error', reject).end();
      });
    const bearer = { authorization: `Bearer ${platform.token.reveal()}` };
    await eventually(async () => (await ask('/', bearer)).status === 200);
    const subject = () =>
      new Promise<string | undefined>((resolve) => {
        const socket: TLSSocket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
          resolve(String(socket.getPeerCertificate().subject.CN));
          socket.destroy();
        });
        socket.once('error', () => resolve(undefined));
      });
    return { dir, url: url as string, port, ask, bearer, subject, files };
  });

  test('the server in the machine sees https, and the cookies are for this host only', async () => {
    const { url, port, ask, bearer } = opened();
    expect(url).toBe(`https://${SPRITE_HOST}:${port}`);
    const { rawHeaders } = JSON.parse((await ask('/describe', bearer)).text);
    expect(rawHeaders[rawHeaders.indexOf('x-forwarded-proto') + 1]).toBe('https');
    const page = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    const { status, headers } = await ask('/page', page);
    expect(status).toBe(302);
    expect(String(headers['set-cookie'])).toMatch(/^__Host-remora-url-way=.*; HttpOnly; SameSite=Lax; Secure$/);
  });

  test('a WebSocket passes', async () => {
    const { port, bearer } = opened();
    const headers = { host: `${SPRITE_HOST}:${port}`, ...bearer };
    const socket = new WebSocket(`wss://127.0.0.1:${port}/socket`, { headers, rejectUnauthorized: false });
    onTestFinished(() => socket.terminate());
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    socket.send('over TLS');
    expect(String(await new Promise((resolve) => socket.once('message', resolve)))).toBe('over TLS');
  });

  test('a certificate that was renewed is used, and one that cannot be is not', async () => {
    const { dir, subject, files, ask, bearer } = opened();
    expect(await subject()).toBe('first');
    makeTlsPair(dir, 'second');
    await eventually(async () => (await subject()) === 'second');
    writeFileSync(files.cert, 'no certificate');
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect([await subject(), (await ask('/', bearer)).status]).toEqual(['second', 200]);
  });

  test('the platform stops although a caller of its proxy has not begun the handshake', async () => {
    const dir = tempDir();
    makeTlsPair(dir, 'stopping');
    const tls = { cert: join(dir, 'cert.pem'), key: join(dir, 'key.pem') };
    const platform = await openTestPlatform({ proxy: { listen: { host: '127.0.0.1', port: 0 }, tls } });
    const port = Number(platform.log.find(({ message }) => message === 'proxy')?.port);
    const silent = openRaw(port, '');
    await once(silent.socket, 'connect');
    // Connections are accepted in their order.
    const later = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
    await once(later, 'secureConnect');
    later.destroy();
    await platform[Symbol.asyncDispose]();
    await silent.ended;
  });

  test('the platform does not start with a certificate that cannot be used', async () => {
    const { dir } = opened();
    const files = { cert: join(dir, 'nothing.pem'), key: join(dir, 'key.pem') };
    const opening = openTestPlatform({ proxy: { listen: { host: '127.0.0.1', port: 0 }, tls: files } });
    await expect(opening).rejects.toMatchObject({ code: 'not_configured' });
  });
});
