// Whether two host names are on one site, as browsers see it: a page of the one may then send cookies to the other. Pure.

/** Second labels under which everybody may register a name, where the last one is that of a country. */
const PUBLIC_SECONDS: ReadonlySet<string> = new Set(['ac', 'co', 'com', 'edu', 'gov', 'ne', 'net', 'nom', 'or', 'org']);
const COUNTRY_LENGTH = 2;

/**
 * Whether a name below `domain` may be on one site with `host`. Without the list of public suffixes, which changes each week, this
 * is true for more names than browsers take for one site.
 */
export function sharesSite(domain: string, host: string): boolean {
  if (/^[\d.]+$|:/.test(host)) return false;
  if (host === domain || host.endsWith(`.${domain}`)) return host !== 'localhost';
  const shared = countShared(domain.split('.'), host.split('.'));
  return shared.length > 1 && !isPublic(shared);
}

/** The labels at the end that both have. */
function countShared(one: readonly string[], other: readonly string[]): string[] {
  const shared: string[] = [];
  for (let index = 1; index <= Math.min(one.length, other.length); index += 1) {
    const label = one.at(-index);
    if (label === undefined || label !== other.at(-index)) break;
    shared.unshift(label);
  }
  return shared;
}

function isPublic(labels: readonly string[]): boolean {
  const [first = '', second = ''] = labels;
  return labels.length === 2 && second.length === COUNTRY_LENGTH && PUBLIC_SECONDS.has(first);
}
