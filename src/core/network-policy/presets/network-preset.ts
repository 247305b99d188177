// A named list of domains that a rule of a network policy includes.

export interface NetworkPreset {
  /** What `include` says. */
  readonly name: string;
  /** The day on which the list was last looked through. */
  readonly date: string;
  /** What is in it, for people. */
  readonly about: string;
  /** Patterns as in a rule. Each is allowed. */
  readonly domains: readonly string[];
}
