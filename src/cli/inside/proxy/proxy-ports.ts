// Which ports `remora proxy` connects. Pure.
import { UsageError } from '../../exit-code.ts';

export interface ProxyPorts {
  /** Here; 0 for a free one. */
  readonly local: number;
  /** The port in the sprite. */
  readonly remote: number;
}

const PORT_MAX = 65_535;

/** `PORT` for the same on both sides, or `LOCAL:REMOTE`. Throws UsageError for anything else. */
export function parseProxyPorts(text: string): ProxyPorts {
  const [, first = '', second] = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(text) ?? [];
  const [local, remote] = [Number(first), Number(second ?? first)];
  if (first !== '' && local <= PORT_MAX && remote >= 1 && remote <= PORT_MAX) return { local, remote };
  throw new UsageError(`proxy: expected PORT or LOCAL:REMOTE, numbers up to ${PORT_MAX}, not ${text}`);
}
