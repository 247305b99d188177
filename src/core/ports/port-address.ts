// The `address` of a port as it is announced: the proxy URL, from a template or the sprite's URL, or the bind address.
import type { OpenPort } from './port-table.ts';

export interface PortAddressSettings {
  /** A template with `{port}` and `{sprite}`, or `bind`. Absent: the URL that the platform serves, or the sprite's URL with the port. */
  readonly portAddress?: string | undefined;
  readonly sprite?: string | undefined;
  /** The URLs of the ports of the sprite, with `{port}`, once the platform has sent them; null where its name is too long for them. */
  readonly served?: string | null | undefined;
  /** The URL of the sprite, once the platform has sent it. */
  readonly spriteUrl?: string | undefined;
}

/** The proxy URL (Sandbox API, Port notification message). A path or query of the sprite's URL is not kept. */
export function toPortAddress(open: OpenPort, settings: PortAddressSettings): string {
  const { portAddress, sprite, served, spriteUrl } = settings;
  if (portAddress === 'bind') return open.addresses[0] ?? '';
  if (portAddress !== undefined) {
    return portAddress.replaceAll('{port}', String(open.port)).replaceAll('{sprite}', sprite ?? 'localhost');
  }
  if (served != null) return served.replaceAll('{port}', String(open.port));
  // No URL leads there: what it is bound to says at least where it is.
  if (served === null) return open.addresses[0] ?? '';
  const url = spriteUrl !== undefined && URL.canParse(spriteUrl) ? new URL(spriteUrl) : undefined;
  if (url === undefined) return `http://${sprite ?? 'localhost'}:${open.port}`;
  return `${url.protocol}//${url.hostname}:${open.port}`;
}
