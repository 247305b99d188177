// The connector that a word of the command line names.

export interface NamedConnector {
  readonly id: string;
  readonly name?: string | null | undefined;
}

/** Finds it by its id, or else by its name. Undefined when there is none. */
export function findConnector<T extends NamedConnector>(connectors: readonly T[], word: string): T | undefined {
  return connectors.find(({ id }) => id === word) ?? connectors.find(({ name }) => name === word);
}
