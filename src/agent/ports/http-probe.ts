// Sends one HTTP request to a local port, to learn whether it answers.
import { nodeHttp } from '../../http/node-http.ts';

const PROBE_MS = 2_000;

/** True when GET `/` gets an HTTP answer of any status. Never throws. */
export function answersHttp(address: string, port: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = nodeHttp.request({
      host: toConnectAddress(address),
      port,
      path: '/',
      agent: false,
      headers: { host: `localhost:${port}`, 'user-agent': 'remora' },
      signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]),
    });
    probe.once('response', (response) => {
      response.destroy();
      resolve(true);
    });
    probe.once('error', () => resolve(false));
    probe.once('close', () => resolve(false));
    probe.end();
  });
}

function toConnectAddress(bind: string): string {
  if (bind === '0.0.0.0') return '127.0.0.1';
  return bind === '::' ? '::1' : bind;
}
