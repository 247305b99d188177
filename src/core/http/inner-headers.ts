// Which headers cross between two servers of Remora's own, when one passes an exchange on to the other. Lists are flat, name and value in
// turn, as they were sent. Pure.
import { toNominated } from './nominated-headers.ts';

/** These belong to one connection (RFC 9110, section 7.6.1), or are written again for the next one. */
const ofConnection: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The next server judges by what this one says, so that nothing of the caller's own may stand in for it. */
const ofCaller: ReadonlySet<string> = new Set(['authorization', 'cookie']);

export class InnerHeaders {
  readonly #injected: readonly string[];

  /** @param injected flat; added to the headers of every request. */
  constructor(injected: readonly string[] = []) {
    this.#injected = injected;
  }

  request(headers: readonly string[]): string[] {
    const kept = keep(headers, (name) => !ofCaller.has(name) && !name.startsWith('remora-'));
    kept.push(...this.#injected);
    return kept;
  }

  response(headers: readonly string[]): string[] {
    return keep(headers, () => true);
  }

  mayShow(): boolean {
    return true;
  }
}

function keep(headers: readonly string[], mayPass: (name: string) => boolean): string[] {
  const nominated = toNominated(headers);
  const kept: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = (headers[index] ?? '').toLowerCase();
    if (!ofConnection.has(name) && !nominated.has(name) && mayPass(name)) {
      kept.push(headers[index] ?? '', headers[index + 1] ?? '');
    }
  }
  return kept;
}
