// The side of the platform that takes port notices, with the ways in which it can fail.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { type PortNotice, portNoticesRequest } from '../../src/contract/port-notices.ts';

/**
 * `up`: stores and answers. `mute`: stores and never answers. `down`: 503. `busy`: 429 that asks for a pause of a second, then for one of a minute.
 * `locked`: 401. `fenced`: 409, as to a copy of the machine. `picky`: 400 for a request with a notice of the port `pickyAbout`.
 */
export type NoticePlatformMode = 'up' | 'mute' | 'down' | 'busy' | 'locked' | 'fenced' | 'picky';

export interface NoticePlatform {
  readonly url: string;
  mode: NoticePlatformMode;
  pickyAbout: number;
  /** Every notice that arrived and was stored, also a second time. */
  readonly arrived: readonly PortNotice[];
  /** What was asked, whatever came of it. */
  readonly requests: readonly {
    readonly target: string;
    readonly authorization: string | undefined;
    readonly at_ms: number;
  }[];
  /** Notices of these ports by id, first arrival, as `+port` and `-port`. */
  told(...ports: number[]): string[];
}

export async function openNoticePlatform(mode: NoticePlatformMode = 'up'): Promise<NoticePlatform> {
  const arrived: PortNotice[] = [];
  const requests: { target: string; authorization: string | undefined; at_ms: number }[] = [];
  const server = createServer(async (request, response) => {
    requests.push({
      target: `${request.method} ${request.url}`,
      authorization: request.headers.authorization,
      at_ms: performance.now(),
    });
    let text = '';
    for await (const chunk of request) text += chunk;
    take(portNoticesRequest.parse(JSON.parse(text)).notices, response);
  });
  const platform: NoticePlatform = {
    url: '',
    mode,
    pickyAbout: 0,
    arrived,
    requests,
    told(...ports) {
      const first = new Map(arrived.toReversed().map((notice) => [notice.id, notice]));
      return [...first.values()]
        .toReversed()
        .filter((notice) => ports.includes(notice.port))
        .map((notice) => `${notice.type === 'port_opened' ? '+' : '-'}${notice.port}`);
    },
  };

  function take(notices: readonly PortNotice[], response: ServerResponse): void {
    const answer = (status: number, body: unknown, headers = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
    };
    switch (platform.mode) {
      case 'mute':
        arrived.push(...notices);
        break;
      case 'down':
        answer(503, { error: 'not_ready', message: 'the platform is being repaired' });
        break;
      case 'busy':
        answer(
          429,
          { error: 'too_many_requests', message: 'later' },
          { 'retry-after': requests.length === 1 ? '1' : '60' },
        );
        break;
      case 'locked':
        answer(401, { error: 'unauthorized', message: 'the token is not known' });
        break;
      case 'fenced':
        answer(409, { error: 'rewound', message: 'this machine was resumed later' });
        break;
      case 'up':
      case 'picky':
        if (platform.mode === 'picky' && notices.some((notice) => notice.port === platform.pickyAbout)) {
          answer(400, { error: 'invalid_request', message: 'this port is not to our taste' });
          break;
        }
        arrived.push(...notices);
        answer(200, { accepted: notices.length });
    }
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return Object.assign(platform, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}
