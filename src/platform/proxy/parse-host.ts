// Reads what a host name names: a sprite, a port of a sprite, or an app. Names are exact. Pure.
import { appName } from '../../contract/app-name.ts';
import { spriteName } from '../../contract/sprites.ts';

export type NamedHost =
  | {
      readonly type: 'sprite';
      readonly organization: string;
      readonly sprite: string;
      /** Undefined for the URL of the sprite. */
      readonly port: number | undefined;
    }
  | { readonly type: 'app'; readonly app: string };

/** The label under which apps are served. An organization cannot have it as its slug. */
export const APPS_LABEL = 'apps';

const HOST = /^([a-z0-9.-]{1,253})\.?(?::\d{1,5})?$/;
const PORT_LABEL = /^([1-9]\d{0,4})--(.+)$/;
const DIGITS_LABEL = /^\d+--/;
const PORT_MAX = 65_535;
const LABEL_BYTES = 63;

/** The name in a `Host` header: in lower case, without a port and a dot at its end. Undefined for what is no name. */
export function toHostName(header: string): string | undefined {
  const name = HOST.exec(header)?.[1] ?? HOST.exec(header.toLowerCase())?.[1];
  return name?.endsWith('.') === true ? name.slice(0, -1) : name;
}

/** `{sprite}.{organization}.DOMAIN`, `{port}--{sprite}.{organization}.DOMAIN` or `{app}.apps.DOMAIN`; undefined for every other name. */
export function parseHost(name: string, domain: string): NamedHost | undefined {
  if (!name.endsWith(`.${domain}`)) return undefined;
  const [first = '', second = '', ...others] = name.slice(0, -domain.length - 1).split('.');
  if (others.length > 0 || !isLabel(first) || !isLabel(second)) return undefined;
  if (second === APPS_LABEL) return appName.safeParse(first).success ? { type: 'app', app: first } : undefined;
  const [, digits, rest] = PORT_LABEL.exec(first) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  const sprite = rest ?? first;
  if ((port ?? 1) > PORT_MAX || DIGITS_LABEL.test(sprite) || !spriteName.safeParse(sprite).success) return undefined;
  return { type: 'sprite', organization: second, sprite, port };
}

/** The name at which an app is served. */
export function toAppHost(app: string, domain: string): string {
  return `${app}.${APPS_LABEL}.${domain}`;
}

/** Whether the URL of every port of the sprite fits into a label of DNS. */
export function hasPortNames(sprite: string): boolean {
  return `${PORT_MAX}--${sprite}`.length <= LABEL_BYTES;
}

function isLabel(text: string): boolean {
  return text.length > 0 && text.length <= LABEL_BYTES;
}
