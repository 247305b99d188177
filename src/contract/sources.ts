// The names by which operations and comments cite their sources. `Sandbox API, AccessPolicy` = that paragraph of that
// specification.

export interface Source {
  /**
   * `specification`: Remora implements it. `service`: a public service whose paths and shapes fill the gaps of the
   * specifications.
   */
  readonly kind: 'specification' | 'service' | 'own';
  /** The title by which a reader finds it. */
  readonly title: string;
  readonly covers: string;
}

export const sources = {
  'Sandbox API': {
    kind: 'specification',
    title: 'Sandbox Environment Management API',
    covers: 'sprites, connectors and their policies, the gateway, ports, services, files, processes, checkpoints',
  },
  'Extensions API': {
    kind: 'specification',
    title: 'Extensions Provisioning API and Webhooks',
    covers: 'resources at a provider, signed requests, webhooks in both directions, single sign-on',
  },
  'Suspend and Replication': {
    kind: 'specification',
    title: 'Machine Suspend and Resume, and the Replication Event Stream',
    covers: 'states of a machine, conditions of a suspend, the event stream of a database node',
  },
  'Sprites API': {
    kind: 'service',
    title: 'the public API of sprites, as the package `@fly/sprites` calls it',
    covers: 'paths and frames that the Sandbox API does not show',
  },
  'Fly Machines API': {
    kind: 'service',
    title: 'the public machines API of Fly.io',
    covers: 'answers that Suspend and Replication does not show',
  },
  LiteFS: {
    kind: 'service',
    title: 'LiteFS, a replicated SQLite file system, and the package `litefs-js`',
    covers: 'headers, files and requests of a database node',
  },
  Remora: {
    kind: 'own',
    title: 'Remora itself',
    covers: 'operations that no specification asks for; `src/contract/DECISIONS.md` has the reasons',
  },
} as const satisfies Record<string, Source>;

export type SourceName = keyof typeof sources;

/** What a `source` field cites: parts between semicolons, each a name and, after a comma, a paragraph. */
export function citedSources(source: string): string[] {
  return source.split('; ').map((part) => part.split(',', 1)[0] ?? '');
}
