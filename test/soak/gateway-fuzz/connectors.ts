// The connectors of the fuzz with their policies, and what may reach a provider through each, by a reading of paths that shares no
// code with the sources.

export interface FuzzedConnector {
  readonly id: string;
  readonly access_policy: object;
  /** `form`: a path in one form, as some server might come to see it. */
  readonly mayReach: (form: string) => boolean;
}

const within = (form: string, ...names: readonly string[]) => {
  const lower = form.toLowerCase();
  return names.some((name) => lower.startsWith(name));
};

export const fuzzedConnectors: readonly FuzzedConnector[] = [
  {
    id: 'conn_1',
    access_policy: {
      allow_all: true,
      allowed_endpoints: ['/v1/chat/*', '/v1/models'],
      blocked_endpoints: ['/v1/chat/admin*', '/v1/chat/x/secret'],
    },
    mayReach: (form) =>
      (form.startsWith('/v1/chat/') || form === '/v1/models') &&
      !within(form, '/v1/chat/admin') &&
      form.toLowerCase() !== '/v1/chat/x/secret',
  },
  {
    id: 'conn_2',
    access_policy: { name_prefix: 'dev-', allowed_endpoints: ['/v1/images', '/v1/x;v=*'] },
    mayReach: (form) => form === '/v1/images' || form.startsWith('/v1/x;v='),
  },
  {
    id: 'conn_open',
    access_policy: { sprite_labels: ['blue'], blocked_endpoints: ['/v1/files*', '/v1/Keys'] },
    mayReach: (form) => !within(form, '/v1/files') && form.toLowerCase() !== '/v1/keys',
  },
  { id: 'conn_closed', access_policy: { name_prefix: 'prod-' }, mayReach: () => false },
];

/** Each layer of decoding, with each of the usual repairs in turn. */
const changes: readonly ((text: string) => string)[] = [
  (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  },
  (text) => text.replaceAll('\\', '/'),
  (text) => text.replaceAll(/%c0%af|%e0%80%af/gi, '/').replaceAll(/%c0%ae/gi, '.'),
  (text) => text.replaceAll(/;[^/]*/g, ''),
  (text) => text.replaceAll(/\/+/g, '/'),
  (text) => text.replace(/[?#\0].*$/s, ''),
  (text) => text.normalize('NFKC'),
  (text) => new URL(`http://a${text.startsWith('/') ? text : `/${text}`}`).pathname,
];
const ROUNDS = 4;

function toForms(path: string): ReadonlySet<string> {
  const forms = new Set([path]);
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = forms.size;
    for (const form of [...forms]) for (const change of changes) forms.add(change(form));
    if (forms.size === before) break;
  }
  return forms;
}

/** What is wrong with this target having reached the provider of this connector; `target` with its query. */
export function findPathBreach(connector: FuzzedConnector, target: string): string | undefined {
  const path = target.split('?')[0] ?? '';
  if (path.includes('%') && changes[0]?.(path) === path) return 'it has an escape that cannot be decoded';
  for (const form of toForms(path)) {
    if (!connector.mayReach(form)) return `${connector.id} does not allow ${JSON.stringify(form)}`;
  }
  return undefined;
}
