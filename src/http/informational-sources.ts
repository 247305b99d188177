// Where an informational head came from. The parser of undici cannot be paused before the head of the answer, so the connection is
// paused before the parser.
import type { AnswerSource } from './answer-writer.ts';

/** The sources by the raw headers of the head, as undici gives them to the handler of the request. */
export const informationalSources = new WeakMap<object, AnswerSource>();
