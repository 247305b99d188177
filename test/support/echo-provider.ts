// A provider of a test: keeps every request as it arrived, byte for byte, and answers 200 with a short body.
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { NewCatalogueEntry } from '../../src/platform/catalogue/catalogue-entry.ts';
import { atEnd } from './at-end.ts';

export interface EchoProvider {
  readonly origin: string;
  /** The head of each request, in the order of arrival, one byte in each character. */
  readonly requests: readonly string[];
  /** A catalogue entry that points here; the credential goes into `authorization` unless said otherwise. */
  entry(provider: string, more?: Partial<NewCatalogueEntry>): NewCatalogueEntry;
}

const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok';

export async function startEchoProvider(): Promise<EchoProvider> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return;
      requests.push(text.slice(0, end + 2));
      text = '';
      socket.write(ANSWER);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  return {
    origin,
    requests,
    entry: (provider, more = {}) => ({
      provider,
      display_name: provider,
      description: 'a provider of a test',
      address: { type: 'fixed', url: origin },
      injection: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
      allow_http: true,
      sample_path: '/',
      ...more,
    }),
  };
}
