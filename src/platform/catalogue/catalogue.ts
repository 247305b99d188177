// Every provider of one platform, checked as a whole when it is made.
import { toFieldProblem } from '../../contract/field-problem.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { type CatalogueEntry, catalogueEntry, type NewCatalogueEntry } from './catalogue-entry.ts';
import { providers } from './providers.ts';

export interface Catalogue {
  find(provider: string): CatalogueEntry | undefined;
  /** Sorted by name. */
  readonly entries: readonly CatalogueEntry[];
}

/** `additional` entries take the place of built-in ones of the same name. Throws `not_configured` with every problem at once. */
export function createCatalogue(additional: readonly NewCatalogueEntry[] = []): Catalogue {
  const byName = new Map<string, CatalogueEntry>();
  const problems: string[] = [];
  for (const given of [...providers, ...additional]) {
    const parsed = catalogueEntry.safeParse(given, { error: toFieldProblem });
    if (parsed.success) byName.set(parsed.data.provider, parsed.data);
    else {
      const issues = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
      problems.push(`${given.provider}: ${issues.join(', ')}`);
    }
  }
  if (problems.length > 0) {
    throw new RemoraError('not_configured', `the provider catalogue cannot be used:\n${problems.join('\n')}`);
  }
  const entries = [...byName.values()].sort((one, other) => (one.provider < other.provider ? -1 : 1));
  return { entries, find: (provider) => byName.get(provider) };
}
