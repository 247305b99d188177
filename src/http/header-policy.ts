// What the streaming proxy asks about headers. Its user implements it and decides what may pass; the proxy changes no header by
// itself, and adds one only where its user has it do so (`asksNotToHold`). Lists are flat, name and value in turn, as they were sent.

export interface HeaderPolicy {
  /** The headers that go upstream, from those of the caller. */
  request(headers: readonly string[]): string[];
  /** The headers of an answer that go to the caller; those of informational answers and the trailers pass it as well. */
  response(headers: readonly string[]): string[];
  /** Whether the caller may read the reason phrase of an answer. */
  mayShow(phrase: string): boolean;
}
