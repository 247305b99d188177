// Reads what `ss -tineH state established` prints: one connection a line, its details on the same line or on indented ones.
import type { TcpConnection } from './tcp-connection.ts';

export interface SsConnection extends TcpConnection {
  /** Payload in both directions since the connection was made; keep-alive probes do not count. */
  readonly bytes: number;
  /** Path of the cgroup that made the socket; undefined where this `ss` or kernel does not show it. */
  readonly cgroup: string | undefined;
  /** Both ends as `ss` writes them in its own filters. */
  readonly filter: { readonly src: string; readonly dst: string };
}

const ENDS = /^\d+ +\d+ +(\S+):(\d+) +(\S+):(\d+)(?: |$)/;

/** The connections that the output lists. Other lines are skipped: warnings, and what a later `ss` may add. */
export function parseSsConnections(text: string): SsConnection[] {
  const connections: SsConnection[] = [];
  for (const line of joinDetails(text)) {
    const [, local, localPort, peer, peerPort] = ENDS.exec(line) ?? [];
    const inode = numberAfter(line, 'ino:');
    if (local === undefined || peer === undefined || inode === undefined) continue;
    connections.push({
      local: toPlainAddress(local),
      local_port: Number(localPort),
      peer: toPlainAddress(peer),
      peer_port: Number(peerPort),
      inode,
      bytes: (numberAfter(line, 'bytes_received:') ?? 0) + (numberAfter(line, 'bytes_acked:') ?? 0),
      cgroup: / cgroup:(\/\S*)/.exec(line)?.[1],
      filter: { src: `${withoutScope(local)}:${localPort}`, dst: `${withoutScope(peer)}:${peerPort}` },
    });
  }
  return connections;
}

function* joinDetails(text: string): Generator<string> {
  let whole = '';
  for (const line of text.split('\n')) {
    if (/^\s/.test(line)) whole += ` ${line.trim()}`;
    else {
      if (whole !== '') yield whole;
      whole = line;
    }
  }
  if (whole !== '') yield whole;
}

function numberAfter(line: string, word: string): number | undefined {
  const at = line.indexOf(` ${word}`);
  const digits = at < 0 ? undefined : /^\d+/.exec(line.slice(at + word.length + 1))?.[0];
  return digits === undefined ? undefined : Number(digits);
}

/** `[::1]%lo` as `[::1]`: the filters of `ss` take no scope. */
function withoutScope(address: string): string {
  return address.replace(/%[^\]]*/, '');
}

function toPlainAddress(address: string): string {
  const plain = withoutScope(address).replace(/^\[|\]$/g, '');
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(plain) ? plain.slice('::ffff:'.length) : plain;
}
