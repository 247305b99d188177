// A platform with a proxy in the process of the test, whose machines are played: each test says what the program in its machine does with a
// connection, byte by byte.
import type { ServerHttp2Stream } from 'node:http2';
import { HTTP_AUTHORITY } from '../../../src/contract/channel.ts';
import { atEnd } from '../at-end.ts';
import { openTestPlatform, type TestPlatformOptions } from '../open-platform.ts';
import { askProxy, type ProxyQuestion } from '../proxied-machine.ts';
import { createPlayedAgents } from './played-agents.ts';
import { createPlayedDriver, type PlayedDriver } from './played-driver.ts';

/** Gets each connection, with the head of its first request. */
export type PlayedProgram = (stream: ServerHttp2Stream, head: string) => void;

export interface PlayedSprite {
  readonly id: string;
  readonly host: string;
  /** The heads of the requests that came. */
  readonly heads: readonly string[];
  readonly starts: () => number;
  ask(question?: ProxyQuestion): ReturnType<typeof askProxy>;
  state(): Promise<string>;
  /** The machine ends by itself. */
  crash(): Promise<void>;
}

export interface PlayedSpriteOptions {
  readonly program?: PlayedProgram;
  /** What its machine takes to boot and to thaw. */
  readonly rising?: () => Promise<void>;
  /** Whether its agent reports after a boot. */
  readonly comesUp?: () => boolean;
}

const answerShort: PlayedProgram = (stream) =>
  stream.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok');

export async function openPlayedPlatform(options: TestPlatformOptions = {}) {
  const sprites = new Map<string, PlayedSpriteOptions & { readonly heads: string[] }>();
  let driver: PlayedDriver | undefined;
  let url = '';
  const agents = createPlayedAgents({
    url: () => url,
    rising: (sprite) => sprites.get(sprite)?.rising?.() ?? Promise.resolve(),
    comesUp: (sprite) => sprites.get(sprite)?.comesUp?.() ?? true,
    serve(sprite, authority, stream) {
      if (authority !== HTTP_AUTHORITY) return false;
      stream.respond({ ':status': 200 });
      readHead(stream, (head) => {
        const { program = answerShort, heads } = sprites.get(sprite) ?? { heads: [] };
        heads.push(head);
        program(stream, head);
      });
      return true;
    },
  });
  const platform = await openTestPlatform({
    trustMachines: true,
    freezeDelay_ms: 0,
    proxy: { listen: { host: '127.0.0.1', port: 0 } },
    driver(createToken) {
      driver = createPlayedDriver(createToken, agents);
      return driver;
    },
    ...options,
  });
  ({ url } = platform);
  atEnd(() => agents[Symbol.dispose]());

  return {
    platform,
    /** Makes a public sprite that was never started. */
    async create(name: string, given: PlayedSpriteOptions = {}): Promise<PlayedSprite & { readonly port: number }> {
      const heads: string[] = [];
      sprites.set(name, { ...given, heads });
      const made = await platform.admin.createSprite({
        organization: 'acme',
        name,
        url_settings: { auth: 'public' },
      });
      const port = Number(new URL(made.url).port);
      const { id } = await platform.admin.readMachine({ organization: 'acme', sprite: name });
      const host = `${name}.acme.localhost`;
      return {
        id,
        host,
        port,
        heads,
        starts: () => agents.starts.get(name) ?? 0,
        ask: (question = {}) => askProxy(port, { host, ...question }),
        state: async () => (await platform.call({ path: `/v1/apps/acme/machines/${id}` })).json.state,
        crash: async () => await driver?.crash(id),
      };
    },
  };
}

/** The platform looks first whether somebody listens, and sends nothing then. */
function readHead(stream: ServerHttp2Stream, onHead: (head: string) => void): void {
  let text = '';
  const onData = (piece: Buffer) => {
    text += piece.toString('latin1');
    if (!text.includes('\r\n\r\n')) return;
    stream.off('data', onData);
    onHead(text);
  };
  stream.on('data', onData).on('error', () => undefined);
}
