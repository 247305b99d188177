// What ends a call at its connection: an answer that is no HTTP, a connection that broke, or a deadline.

/** `code`: as the parser of Node and undici have it for the same. */
export class AnswerFault extends Error {
  override readonly name = 'AnswerFault';
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
