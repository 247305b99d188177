// What to do with notices that the platform did not accept.

/**
 * `retry`: later, in the same order. `split`: one of them may be at fault, send them one by one. `set_aside`: this one will
 * never be accepted, go on with the next.
 */
export type NoticeVerdict = 'retry' | 'split' | 'set_aside';

/**
 * These statuses say something about the agent or the moment, not about a notice: a wrong token must not cost a single one, and
 * neither must being refused as the copy of another machine (409), which people can settle.
 */
const notAboutTheNotice = new Set([401, 403, 404, 405, 407, 408, 409, 421, 425, 426, 429]);

/** `status` is undefined when no answer came. */
export function judgeRefusal(status: number | undefined, notices: number): NoticeVerdict {
  if (status === undefined || status < 400 || status >= 500 || notAboutTheNotice.has(status)) return 'retry';
  return notices > 1 ? 'split' : 'set_aside';
}
