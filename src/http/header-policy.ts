// Which headers cross the streaming proxy. What may pass is for its user to say; the proxy changes none. Lists are flat, name and
// value in turn, as they were sent.

export interface HeaderPolicy {
  /** The headers that go upstream, from those of the caller. */
  request(headers: readonly string[]): string[];
  /** The headers of an answer that go to the caller; those of informational answers and the trailers pass it as well. */
  response(headers: readonly string[]): string[];
  /** Whether the caller may read the reason phrase of an answer. */
  mayShow(phrase: string): boolean;
}
