// Where a listener of this machine is connected to.
import { isLoopback } from '../../http/is-loopback.ts';

/** What listens at a port. */
export interface PortListener {
  readonly pid: number;
  /** Bind addresses, the widest first. */
  readonly addresses: readonly string[];
}

export function toListenerHost({ addresses }: PortListener): string {
  const first = addresses[0] ?? '127.0.0.1';
  if (first === '0.0.0.0' || isLoopback(first)) return first === '0.0.0.0' ? '127.0.0.1' : first;
  return first === '::' ? '::1' : first;
}
